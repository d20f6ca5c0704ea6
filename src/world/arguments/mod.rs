//! A tool's arguments: whether they fit its schema, and what the strings of a URL become under it.
//!
//! JSON Schema draft 2020-12, as much of it as tools are described with. A keyword that would restrict and is not known
//! here is refused at load: to ignore it would be to promise a check that never runs. Formats are annotations, as the
//! draft has it by default.

mod coerce;
mod fit;
mod schema;

#[cfg(test)]
mod tests;

pub use coerce::coerce;
pub use fit::Misfit;
pub use schema::{BadSchema, Schema};
