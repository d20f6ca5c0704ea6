//! Append-only rows and their chain. (Filled in by its owner.)
mod rows;

pub use rows::*;
