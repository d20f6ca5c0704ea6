//! What of an agent's card is read for the roster: its words, and nothing that leads anywhere.
//!
//! A2A 1.0 and 0.3 cards name these fields alike. URLs, interfaces, security schemes and extensions are not read here,
//! so that credentials in a URL cannot leak into a prompt.

use serde_json::Value;

/// The words of a card.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Card {
    /// `name`; empty where there is none.
    pub name: String,
    /// `description`; empty where there is none.
    pub description: String,
    /// `skills`, in the card's order.
    pub skills: Vec<Skill>,
    /// Lone surrogates (`\ud800`), which no text can hold and which were read as U+FFFD.
    pub lone_surrogates: usize,
}

/// One skill.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Skill {
    /// `name`.
    pub name: String,
    /// `description`.
    pub description: String,
}

/// A text that is no card.
#[derive(Debug, thiserror::Error)]
pub enum CardError {
    /// Not JSON at all.
    #[error("a card is JSON: {0}")]
    Json(#[from] serde_json::Error),
    /// JSON, but no object.
    #[error("a card is a JSON object")]
    NoObject,
    /// A field of another type than the protocol says.
    #[error("`{field}` of a card is {wanted}")]
    Field {
        /// Its name.
        field: &'static str,
        /// What it should be.
        wanted: &'static str,
    },
}

impl Card {
    /// Reads a card. Unknown fields are ignored and absent ones empty; a field of a wrong type is an error.
    pub fn read(json: &str) -> Result<Self, CardError> {
        let (mended, lone_surrogates) = mend_surrogates(json);
        let card: Value = serde_json::from_str(&mended)?;
        if !card.is_object() {
            return Err(CardError::NoObject);
        }
        let skills = match card.get("skills") {
            None | Some(Value::Null) => Vec::new(),
            Some(Value::Array(skills)) => skills.iter().map(skill).collect::<Result<_, _>>()?,
            Some(_) => return Err(CardError::Field { field: "skills", wanted: "a list" }),
        };
        Ok(Self {
            name: text(&card, "name")?,
            description: text(&card, "description")?,
            skills,
            lone_surrogates,
        })
    }
}

fn skill(skill: &Value) -> Result<Skill, CardError> {
    if !skill.is_object() {
        return Err(CardError::Field { field: "skills", wanted: "a list of objects" });
    }
    Ok(Skill { name: text(skill, "name")?, description: text(skill, "description")? })
}

fn text(of: &Value, field: &'static str) -> Result<String, CardError> {
    match of.get(field) {
        None | Some(Value::Null) => Ok(String::new()),
        Some(Value::String(text)) => Ok(text.clone()),
        Some(_) => Err(CardError::Field { field, wanted: "a string" }),
    }
}

/// Writes `\ufffd` for each escaped surrogate without its other half, and counts them. A backslash stands in JSON only
/// inside strings, so they need not be told apart.
fn mend_surrogates(json: &str) -> (String, usize) {
    let mut mended = String::with_capacity(json.len());
    let (mut rest, mut lone) = (json, 0);
    while let Some(at) = rest.find('\\') {
        mended.push_str(&rest[..at]);
        rest = &rest[at..];
        let length = match unit(rest) {
            Some(0xD800..=0xDBFF) if matches!(rest.get(6..).and_then(unit), Some(0xDC00..=0xDFFF)) => 12,
            Some(0xD800..=0xDFFF) => {
                lone += 1;
                mended.push_str("\\ufffd");
                rest = &rest[6..];
                continue;
            }
            // The backslash and what it escapes, so that `\\ud800` is a backslash and letters.
            _ => 1 + rest[1..].chars().next().map_or(0, char::len_utf8),
        };
        mended.push_str(&rest[..length]);
        rest = &rest[length..];
    }
    mended.push_str(rest);
    (mended, lone)
}

/// The UTF-16 code unit of a `\uXXXX` that `text` begins with.
fn unit(text: &str) -> Option<u16> {
    let digits = text.strip_prefix("\\u")?.get(..4)?;
    digits.bytes().all(|b| b.is_ascii_hexdigit()).then(|| u16::from_str_radix(digits, 16).ok())?
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn only_the_words_of_a_card_are_read() {
        let card = Card::read(
            r#"{"name":"Ledger","description":"Facts","url":"https://u:secret@host/","securitySchemes":{"k":"secret"},
                "skills":[{"id":"x","name":"get","description":"finds","tags":["secret"]}],"later":1}"#,
        )
        .expect("a card");
        assert!(!format!("{card:?}").contains("secret"));
        assert_eq!(card.skills, [Skill { name: "get".to_owned(), description: "finds".to_owned() }]);
    }

    #[test]
    fn an_absent_field_is_empty_and_a_wrong_one_an_error() {
        assert_eq!(Card::read("{}").expect("a card"), Card::default());
        for wrong in ["[]", "7", "{", r#"{"name":1}"#, r#"{"skills":{}}"#, r#"{"skills":["x"]}"#] {
            assert!(Card::read(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_lone_surrogate_is_read_as_the_replacement_and_counted() {
        for (name, read, lone) in [
            (r"a\ud800b", "a\u{FFFD}b", 1),
            (r"\udc00\ud800", "\u{FFFD}\u{FFFD}", 2),
            (r"\ud83d\ude00", "\u{1F600}", 0),
            (r"\ud800\ud83d\ude00", "\u{FFFD}\u{1F600}", 1),
            (r"\\ud800", r"\ud800", 0),
        ] {
            let card = Card::read(&format!(r#"{{"name":"{name}"}}"#)).expect(name);
            assert_eq!((card.name.as_str(), card.lone_surrogates), (read, lone), "{name}");
        }
    }

    proptest! {
        #[test]
        fn no_text_breaks_the_reader(text in any::<String>(), tail in "[\\\\ud8cf0-9\"{}:é]{0,40}") {
            let _ = Card::read(&text);
            let _ = Card::read(&tail);
        }

        #[test]
        fn any_name_is_read_as_it_is_written(name in any::<String>()) {
            let json = serde_json::json!({ "name": name }).to_string();
            prop_assert_eq!(Card::read(&json).expect("a card").name, name);
        }
    }
}
