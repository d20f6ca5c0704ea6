//! mocktrial puts a multi-agent app on trial and says what each worker really did.
//!
//! # The flow of one trial
//!
//! ```text
//! contract + scenario ──load, check──▶ plan
//!  plan ─▶ world (SQLite clone / upstreams)    plan ─▶ channels (one per worker, token in the address)
//!  plan ─▶ span receiver (OTLP)                plan ─▶ model endpoint (scripted / replay / none)
//!       └─────────▶ app process: addresses and endpoints in its environment
//!  turns ─▶ app ─▶ replies      app ─▶ channels ─▶ world      app ─▶ spans
//!  settle ─▶ stop ─▶ drain
//!  spans ─▶ events    channels ─▶ actions    world ─▶ changes
//!  grade(scenario, evidence) ─▶ verdicts     everything ─▶ sealed record ─▶ reports
//! ```
//!
//! [`trial`] tells it top to bottom.
//!
//! # The map
//!
//! Every room has a rank and imports only rooms of a lower one; `tests/architecture.rs` keeps it so.
//!
//! | rank | rooms | what they answer |
//! |---|---|---|
//! | 0 | [`name`] [`clock`] [`verdict`] [`roster`] | ids as types · the only file that reads the time · how absence is written · agents' cards as cleaned text |
//! | 1 | [`scenario`] [`spans`] [`journal`] [`a2a`] | what was asked · what the app said · append-only rows and their chain · A2A on the wire |
//! | 2 | [`permit`] [`events`] | may this worker do this now · spans read as hand-offs and calls |
//! | 3 | [`world`] | what tools act on; takes a [`permit::Permit`] |
//! | 4 | [`proxy`] [`model`] [`target`] | channels and their faces · what the app's model is told · the app process |
//! | 5 | [`grade`] | what may be concluded |
//! | 6 | [`record`] | seal, verify, read |
//! | 7 | [`trial`] [`proof`] [`report`] | the story of one trial · scenarios proved without the app · readers of records |
//! | 8 | [`scheduler`] | many trials |
//! | 9 | [`cli`] | one file per verb |
//!
//! # What is never so
//!
//! - Nothing reaches the world without a `Permit`, and only [`permit::decide`] makes one.
//! - `events` does not know `proxy`: a span says what the app claims, a channel says what happened; only `grade` sees both.
//! - `report` does not know `trial`: whatever is printed can be printed again from the record.
//! - No verdict is a bool, and absence is never written as a fact: see [`verdict::Reason`].
//! - No call goes through whose attempt is not on record.
//!
//! Channels and records protect against a careless app and a careless author, and detect a lying one where evidence
//! disagrees. They do not contain a hostile program that runs as the same user.
#![forbid(unsafe_code)]
#![warn(missing_docs)]
// They panic where the reader has left; `cli::print` does not.
#![cfg_attr(not(test), deny(clippy::print_stdout, clippy::print_stderr))]

pub mod clock;
pub mod name;
pub mod roster;
pub mod verdict;

pub mod a2a;
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
