//! What may be concluded from a trial: whose call it was ([`lanes`]), and what each sub-goal came to ([`grade`]).
//!
//! The only room that sees both what the app claims (spans) and what happened (channels, world, replies). It is pure
//! over the rows of a record, so that verdicts can be reached again, byte for byte, from the record alone; [`ask`] is
//! the one file that does anything, and what it hears becomes rows too. Nothing is concluded from names or from
//! order, and where evidence is missing the verdict is `unknown`, with a reason.

mod ask;
mod audit;
mod bindings;
mod builder;
mod claims;
mod closed;
mod course;
mod evidence;
mod goals;
mod lanes;
mod log;
mod question;
mod repeats;
mod roster;
mod tables;
mod value;
mod weigh;

pub use ask::ask;
pub use bindings::{needed_bindings, shown_bindings};
pub use builder::{EvidenceBuilder, TRACE, event};
pub use evidence::{Action, Evidence, EvidenceError, Said, Whose};
pub use goals::{ANSWERED, Grades, STAYED_PERMITTED, grade};
pub use lanes::lanes;
pub use repeats::{Range, Tally, difference, wilson};

#[cfg(test)]
mod tests;
