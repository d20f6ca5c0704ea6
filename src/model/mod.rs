//! What the app's model is told: one endpoint for all trials, one address per trial (and per worker, where the contract
//! gives one), in the APIs that official clients speak.
//!
//! ```text
//! Endpoint ── one listener            Endpoint::open(spec) ── one trial's addresses, a Session
//!  └─ address: token -> session -> API family, worker
//!      └─ dialect: body -> Asked -> script: rule -> Answer -> dialect: body or events -> Sent
//! ```
//!
//! What is answered depends on what a request says and on nothing else: no counter, no order. A request that no rule
//! fits is an error, told with the nearest rule, and a finding. Every call is a row; a client's retry is a row too, and
//! says whose.

mod answer;
mod asked;
mod dialect;
mod endpoint;
mod http;
mod script;
mod sent;
mod session;

pub use asked::{Asked, Called, Message};
pub use endpoint::{Endpoint, ModelTokens, SessionSpec};
pub use session::Session;
