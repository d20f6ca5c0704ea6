//! Logfire: attributes of its own beside those of the convention it wraps, which are read as that convention.

use super::Dialect;
use super::genai;

pub(super) const DIALECT: Dialect =
    Dialect { scopes: &["logfire"], marks: &["logfire.msg_template"], role: genai::role, join: None };
