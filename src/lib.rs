//! mocktrial: a test-simulation harness for multi-agent apps.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

// The map, lowest rank first; a room imports only rooms of lower rank (`tests/architecture.rs`).
pub mod clock;
pub mod name;
pub mod verdict;

pub mod journal;
pub mod scenario;
pub mod spans;

pub mod events;
pub mod permit;

pub mod world;

pub mod model;
pub mod proxy;
pub mod target;

pub mod grade;

pub mod record;

pub mod proof;
pub mod report;
pub mod trial;

pub mod scheduler;

pub mod cli;
