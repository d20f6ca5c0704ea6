//! Statements with their places, and the `:name` parameters in them. No SQL is understood here beyond where a
//! parameter can stand: outside quotes and comments.

use std::collections::BTreeSet;

use serde_json::Value;

use super::reader::Reader;
use crate::scenario::file::At;
use crate::scenario::names::near_miss;
use crate::scenario::{Pos, Sql};

/// The world's own time; bound wherever a statement runs.
const NOW: &str = "now";

/// Which parameters may be bound.
pub(super) struct Known(Option<BTreeSet<String>>);

impl Known {
    /// The arguments a tool declares. Without a declaration any argument may come, so any name may stand.
    pub fn arguments(schema: Option<&Value>) -> Self {
        let properties = schema.and_then(|schema| schema["properties"].as_object());
        Self(properties.map(|names| names.keys().cloned().collect()))
    }

    /// Values of a case.
    pub fn values(names: BTreeSet<String>) -> Self {
        Self(Some(names))
    }

    /// A fault where `name` stands for nothing.
    pub fn check(&self, reader: &mut Reader, pos: Pos, name: &str) {
        let Some(known) = &self.0 else { return };
        if name == NOW || known.contains(name) {
            return;
        }
        let help = near_miss(name, known.iter().map(String::as_str));
        reader.error(pos, "sql.parameter", format!("nothing defines `:{name}`")).help(help);
    }
}

/// The statement, its parameters checked.
pub(super) fn sql(reader: &mut Reader, known: &Known, written: &At<String>) -> Sql {
    let pos = reader.text_pos(written.pos);
    if written.value.trim().is_empty() {
        reader.error(written.pos, "sql.blank", "a statement may not be blank");
    }
    let unique: BTreeSet<&str> = parameters(&written.value).into_iter().collect();
    for name in unique {
        known.check(reader, pos, name);
    }
    Sql { text: written.value.as_str().into(), pos }
}

/// Names after `:` outside quotes and comments, in order.
fn parameters(text: &str) -> Vec<&str> {
    let mut names = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let skip = match first {
            '\'' | '"' | '`' => after(rest, 1, &first.to_string()),
            '[' => after(rest, 1, "]"),
            '-' if rest.starts_with("--") => after(rest, 2, "\n"),
            '/' if rest.starts_with("/*") => after(rest, 2, "*/"),
            ':' => {
                let name = &rest[1..];
                let end = name.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(name.len());
                if end > 0 {
                    names.push(&name[..end]);
                }
                1 + end
            }
            other => other.len_utf8(),
        };
        rest = &rest[skip..];
    }
    names
}

/// Bytes up to and with the next `end`, looked for from `from` on.
fn after(text: &str, from: usize, end: &str) -> usize {
    text[from..].find(end).map_or(text.len(), |at| from + at + end.len())
}

#[cfg(test)]
mod tests {
    use super::parameters;

    #[test]
    fn parameters_stand_outside_quotes_and_comments() {
        let text = "SELECT ':a', \":b\", [:c], `:d` -- :e\n /* :f */ FROM t WHERE x = :g AND y=:h_1 AND 'it''s :i' = :g";
        assert_eq!(parameters(text), ["g", "h_1", "g"]);
        assert_eq!(parameters("'never closed :a"), [] as [&str; 0]);
        assert_eq!(parameters("é:ä:b"), ["b"]);
    }
}
