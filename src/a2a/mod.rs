//! A2A as it stands on the wire, in 1.0 and 0.3: states, what a task came to, and how a refusal is said.
//!
//! Pure, and shared by whoever plays, proxies or drives an agent. A task is read leniently and told strictly: what the
//! official client passes over (a state nobody knows, news after the end, history told again) is named here.

mod refusal;
mod state;
mod task;

pub use refusal::Refused;
pub use state::{State, Version};
pub use task::{Disposition, Seen, Stamp, Status, Task, Told};
