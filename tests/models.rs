//! Claims of `model`, shown on the official clients, on captured exchanges, and on many trials at once.

mod models {
    pub mod captured;
    pub mod clients;
    pub mod keys;
    pub mod parallel;
    pub mod sent;
    pub mod stage;
}
mod support;
