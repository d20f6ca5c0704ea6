//! Many trials: the plan, the pool that works it off, and what they come to together.
//!
//! The plan follows from the files alone and is the same on every machine. Trials share nothing that could carry
//! evidence; the pool bounds how many are in flight, and with them the memory. A trial that waits costs no core.

mod bindings;
mod plan;
mod pool;
mod settled;
mod shard;

pub use bindings::called;
pub use plan::{Plan, Selection, plan, plan_bindings};
pub use pool::{Done, Progress, Ran, Settings, run};
pub use settled::FailFast;
pub use shard::{Shard, ShardError};
