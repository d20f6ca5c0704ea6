//! The sealed record of a trial: sealing it, reading it again, and whether it still holds.
//!
//! [`seal`] ends a journal, [`read()`] goes through a record row by row, [`verify()`] says what a record can be trusted
//! for and what not, [`verify_dir`] whether a run's records are the ones its run file names. [`again()`] grades
//! a record once more, from what stands in it.

mod again;
mod folder;
mod keys;
mod merge;
mod read;
mod run_file;
mod run_log;
mod schema;
mod seal;
mod verify;
mod vouch;

pub use again::{Again, AgainError, again};
pub use folder::{FolderError, FolderReport, Standing, verify_dir};
pub use keys::{KeyError, SigningKey, VerifyingKey, keygen};
pub use merge::{MergeError, merge};
pub use read::{ReadError, Record, Row, read};
pub use run_file::{
    Host, LateCalls, PlannedTrial, RUN_FILE, RUN_FORMAT, RunFile, RunFileError, ScenarioTally, Share,
    TrialState, trial_file,
};
pub use run_log::{RUN_LOG, RunLock, RunLog};
pub use schema::schema;
pub use seal::{SealError, Sealed, seal};
pub use verify::verify;
pub use vouch::{Anchor, Broken, Flaw, Options, VerifyError, Vouched};

#[cfg(test)]
mod tests;
