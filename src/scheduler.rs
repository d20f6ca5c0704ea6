//! Many trials: the plan, the pool that works it off, and what they come to together.
//!
//! The plan follows from the files alone and is the same on every machine. Trials share nothing that could carry
//! evidence; the pool bounds how many are in flight, and with them the memory. A trial that waits costs no core.

mod bindings;
mod ledger;
mod over;
mod plan;
mod pool;
#[cfg(feature = "cluster")]
pub mod queue;
mod resume;
mod settled;
mod shard;
mod slots;
mod tries;

pub use bindings::called;
pub use ledger::{Ledger, ended, entry};
pub use plan::{Plan, Selection, Task, Work, digest, plan, plan_bindings};
pub use pool::{Done, Hands, Progress, Ran, Settings, run};
pub use resume::{ResumeError, Resumed, resume};
pub use settled::FailFast;
pub use shard::{Shard, ShardError};
