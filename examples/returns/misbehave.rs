//! What goes wrong, as `MISBEHAVE` asks. A real app has no such file: its bugs are not written down.

use std::collections::HashMap;

const KNOWN: [&str; 12] = [
    "cancels_order",
    "refunds_twice",
    "wrong_amount",
    "lies",
    "lookup_address",
    "dies",
    "hangs",
    "slow_coordinator",
    "transfers",
    "leaves_child",
    "never_ready",
    "no_spans",
];

/// The words of `MISBEHAVE`, each with what stands behind its colon.
#[derive(Debug, Default)]
pub struct Ways(HashMap<String, String>);

impl Ways {
    /// Reads the environment; a word that is not known is an error, so that no misspelling makes a desk that behaves.
    pub fn from_env() -> Result<Self, String> {
        let text = std::env::var("MISBEHAVE").unwrap_or_default();
        let mut ways = HashMap::new();
        for word in text.split(',').map(str::trim).filter(|word| !word.is_empty()) {
            let (name, value) = word.split_once(':').unwrap_or((word, ""));
            if !KNOWN.contains(&name) {
                return Err(format!("MISBEHAVE: `{name}` is none of {}", KNOWN.join(", ")));
            }
            ways.insert(name.to_owned(), value.to_owned());
        }
        Ok(Self(ways))
    }

    /// Whether the word was given.
    pub fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// What stands behind its colon.
    pub fn value(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }
}
