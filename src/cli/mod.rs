//! One file per verb. (Filled in by its owner.)
pub mod events;
