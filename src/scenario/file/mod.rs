//! The wire forms: what may be written, key by key. Their doc comments are the descriptions of the JSON Schemas.
//!
//! Structure only (known keys, types, places); whether names exist and numbers make sense is `read`'s to say.

pub mod check;
pub mod contract;
pub mod model;
pub mod scalar;
pub mod scenario;
pub mod world;
pub mod yaml;

pub use yaml::{At, Free, Misread, parse};
