//! What was asked: the contract that pins the app under test, and the scenarios it is tried on.
//!
//! `file/` holds the wire forms (YAML, unknown keys refused), `load` turns files into the types below and collects
//! every fault of a file in one run, `diagnostic` is how a fault is told: where, what, what to do. The types here are
//! what the other rooms think in: all names resolved, all paths absolute, every default filled in, every check with
//! the place in the file that asked for it.

mod check;
mod contract;
mod diagnostic;
mod fail;
mod file;
mod fill;
mod load;
mod names;
pub mod openapi;
mod read;
mod schema;
mod script;
mod situation;
mod template;

pub use check::*;
pub use contract::*;
pub use diagnostic::{Diagnostic, Severity};
pub use fail::*;
pub use fill::{fill, fill_value};
pub use load::{CONTRACT_FILE, SCENARIO_SUFFIX, load, load_contract};
pub use read::{ReadFile, Reading, contract_from, read_contract, read_scenario, scenario_from};
pub use schema::{SchemaKind, schema};
pub use script::*;
pub use situation::*;
pub use template::{Template, TemplateError};
