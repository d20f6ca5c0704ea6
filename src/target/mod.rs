//! The app under trial, from outside: it is started, talked to and ended as one process tree.
//!
//! One [`Launch`] starts one [`Running`] app for one trial; nothing of it outlives the trial. What the app says is
//! handed on as it came, and nothing here concludes anything from it: a reply is text, an exit is an exit. Needs Linux
//! (`/proc`, pidfds, a child subreaper), since "nothing is left running" cannot be shown without looking.

mod command;
mod environment;
mod guard;
mod http;
mod launch;
mod output;
mod port;
mod ready;
mod running;
mod service;
mod setup;
mod talk;
mod tree;

pub use command::SpawnError;
pub use launch::{Launch, NotStarted, StartError};
pub use output::{Filter, Filters, Output};
pub use running::{Exit, Running, Stopped};
pub use service::{Service, ServiceLaunch, reset};
pub use setup::{SetupError, setup};
pub use talk::{Reply, Said, TurnTrouble};
pub use tree::Process;
