//! From spans to events: who handed work to whom, who called what, and where that cannot be told.
//!
//! [`read`] reads what the spans record and refuses to guess: names, order and nearness are no evidence, except where a
//! rule says so in the event's `basis` ([`basis`]). Which spans are agents, tools and hand-offs, and where they keep
//! what they know, is each framework's dialect (`dialect/`); what follows from it is `structure`, written once.

pub mod basis;
mod dialect;
mod event;
mod forest;
mod kin;
mod role;
mod structure;
mod tracers;
mod tree;

pub use event::{EndedWith, Event, Kind};
pub use kin::{Family, Kinship};
pub use tree::tree;

use crate::spans::Span;
use forest::Forest;
use role::Role;

/// The events that these spans show, in order of start. The order, the batches and the repetition of spans change
/// nothing.
pub fn read(spans: &[Span]) -> Vec<Event> {
    let mut forest = plant(spans, None);
    tracers::fold(&mut forest, |tracer| {
        let mut alone = plant(spans, Some(tracer));
        alone.look_up();
        structure::events(&alone)
    });
    forest.look_up();
    structure::events(&forest)
}

/// Every span in its place with its role; those of other tracers than `only` are blank.
fn plant(spans: &[Span], only: Option<u8>) -> Forest<'_> {
    let mut dialects = dialect::Chooser::default();
    let mut forest = Forest::new(spans.iter().map(|span| {
        let tracer = dialects.of(span);
        let reads = only.is_none_or(|only| only == tracer);
        (span, if reads { dialect::role(tracer, span) } else { Role::Blank }, tracer)
    }));
    dialect::join(&mut forest);
    forest.order();
    forest
}
