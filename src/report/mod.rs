//! Readers of sealed records: one trial told as a story ([`show`]), a run told on a terminal ([`term`]) and for
//! machines (`junit`, `json`, `summary`, `annotations`, `sarif`), and
//! for people with a browser (`html`).
//!
//! Everything here is printed from rows and from nothing else, so it can be printed again. Nothing is graded, and no
//! report is kinder than the record: what is `unknown` is said in each of them.

pub mod annotations;
pub mod diff;
pub mod doctor;
pub mod html;
pub mod json;
pub mod junit;
mod pieces;
mod repeats;
pub mod sarif;
pub mod show;
mod story;
pub mod summary;
pub mod term;
mod totals;

pub use repeats::repeats;
pub use story::{Story, StoryError};
pub use totals::Totals;

#[cfg(test)]
mod tests;
