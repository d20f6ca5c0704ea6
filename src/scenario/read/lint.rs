//! What the typed reading cannot see: keys without a value, and numbers that YAML would have bent.

use serde_json::Value;

use super::reader::Reader;
use crate::scenario::Pos;
use crate::scenario::file::{Free, parse};

/// Keys below which anything may stand, null included.
pub(super) const CONTRACT: &[&str] = &["body", "value"];
/// The same, of a model's script.
pub(super) const SCRIPT: &[&str] = &["args"];
/// The same, of a scenario.
pub(super) const SCENARIO: &[&str] = &["args", "body", "equals", "cases"];

impl Reader {
    /// Looks at the whole file before it is read as anything.
    pub fn lint(&mut self, free_form: &[&str]) {
        // A text that is no YAML is told of by the typed reading.
        if let Ok(Free::Map(entries)) = parse::<Free>(&self.source.text.clone()) {
            for (key, item) in &entries {
                self.lint_value(free_form, false, &key.value, item.pos, &item.value);
            }
        }
    }

    fn lint_value(&mut self, free_form: &[&str], free: bool, key: &str, pos: Pos, value: &Free) {
        let free = free || free_form.contains(&key);
        match value {
            // A worker's blank id has a better message of its own.
            Free::Scalar(Value::Null) if !free && key != "id" => {
                self.error(pos, "key.blank", format!("`{key}` has no value"))
                    .help("leave the key out, or give it one".to_owned());
            }
            Free::Scalar(Value::String(text)) if free && self.bent(pos, text) => {
                self.warn(pos, "scalar.leading_zero", format!("{text} is taken as text, not as a number"))
                    .help(format!("write it in quotes: \"{text}\""));
            }
            Free::Scalar(_) => {}
            Free::List(items) => {
                for item in items {
                    self.lint_value(free_form, free, key, item.pos, &item.value);
                }
            }
            Free::Map(entries) => {
                for (key, item) in entries {
                    self.lint_value(free_form, free, &key.value, item.pos, &item.value);
                }
            }
        }
    }

    /// Whether the text stands unquoted in the file and has a leading zero: other readers of YAML take it as a number.
    fn bent(&self, pos: Pos, text: &str) -> bool {
        let digits = text.trim_start_matches(['-', '+']);
        let looks_bent =
            digits.len() > 1 && digits.starts_with('0') && digits.bytes().all(|b| b.is_ascii_digit());
        looks_bent && self.starts_at(pos, text)
    }

    fn starts_at(&self, pos: Pos, text: &str) -> bool {
        let line = usize::try_from(pos.line).ok().and_then(|n| n.checked_sub(1));
        let column = usize::try_from(pos.column.saturating_sub(1)).unwrap_or(usize::MAX);
        line.and_then(|line| self.source.text.lines().nth(line))
            .is_some_and(|line| line.chars().skip(column).collect::<String>().starts_with(text))
    }
}
