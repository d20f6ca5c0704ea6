//! Texts that say what a request said: Jinja templates, strict about what is not there, and bounded.

use std::sync::LazyLock;

use minijinja::value::{Serde, Value as Given};
use minijinja::{Environment, ErrorKind, UndefinedBehavior};
use regex::Regex;
use serde_json::Value;

/// Steps one template may take; and no pattern in it compiles to more bytes.
const FUEL: u64 = 100_000;
const PATTERN: usize = 1 << 20;

static ENVIRONMENT: LazyLock<Environment<'static>> = LazyLock::new(|| {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.set_fuel(Some(FUEL));
    environment.set_auto_escape_callback(|_| minijinja::AutoEscape::None);
    environment.add_filter("find", |text: String, pattern: String| {
        Ok::<_, minijinja::Error>(
            found(&text, &pattern)?.into_iter().next().map_or(Given::UNDEFINED, Given::from),
        )
    });
    environment.add_filter("find_all", |text: String, pattern: String| found(&text, &pattern));
    environment
});

/// The first group of each match, or the match where there is no group.
fn found(text: &str, pattern: &str) -> Result<Vec<String>, minijinja::Error> {
    let invalid = |error: regex::Error| minijinja::Error::new(ErrorKind::InvalidOperation, error.to_string());
    let regex = regex::RegexBuilder::new(pattern).size_limit(PATTERN).build().map_err(invalid)?;
    let group = |found: regex::Captures<'_>| {
        let part = found.get(1).or_else(|| found.get(0));
        part.map_or_else(String::new, |part| part.as_str().to_owned())
    };
    Ok(regex.captures_iter(text).map(group).collect())
}

/// A text that compiles.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template(String);

/// Why a template is none, or could not be filled in.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what}")]
pub struct TemplateError {
    /// Of the text, from 1; 0 where nobody can say.
    pub line: u32,
    /// For people.
    pub what: String,
}

impl From<minijinja::Error> for TemplateError {
    fn from(error: minijinja::Error) -> Self {
        let line = error.line().and_then(|line| u32::try_from(line).ok()).unwrap_or(0);
        let what = match error.detail() {
            Some(detail) => format!("{}: {detail}", error.kind()),
            None => error.kind().to_string(),
        };
        Self { line, what }
    }
}

impl Template {
    /// Checks that `text` compiles.
    pub fn new(text: &str) -> Result<Self, TemplateError> {
        match alone(text) {
            Some(expression) => drop(ENVIRONMENT.compile_expression(expression)?),
            None => drop(ENVIRONMENT.template_from_str(text)?),
        }
        Ok(Self(text.to_owned()))
    }

    /// Filled in, as text.
    pub fn text(&self, said: &Value) -> Result<String, TemplateError> {
        Ok(ENVIRONMENT.render_str(&self.0, Serde(said))?)
    }
    /// Filled in; `{{ … }}` alone keeps the type of its value.
    pub fn value(&self, said: &Value) -> Result<Value, TemplateError> {
        let Some(expression) = alone(&self.0) else {
            return self.text(said).map(Value::from);
        };
        let value = ENVIRONMENT.compile_expression(expression)?.eval(Serde(said))?;
        if value.is_undefined() {
            return Err(TemplateError { line: 1, what: format!("{} is not there", expression.trim()) });
        }
        serde_json::to_value(&value).map_err(|error| TemplateError { line: 1, what: error.to_string() })
    }

    /// Every text in `value` filled in; keys are not.
    pub fn fill(value: &Value, said: &Value) -> Result<Value, TemplateError> {
        Ok(match value {
            Value::String(text) => Self(text.clone()).value(said)?,
            Value::Array(items) => {
                items.iter().map(|item| Self::fill(item, said)).collect::<Result<_, _>>()?
            }
            Value::Object(entries) => {
                let filled = entries.iter().map(|(key, item)| Ok((key.clone(), Self::fill(item, said)?)));
                Value::Object(filled.collect::<Result<_, TemplateError>>()?)
            }
            other => other.clone(),
        })
    }
}

/// The expression of a text that is `{{ expression }}` and nothing else.
fn alone(text: &str) -> Option<&str> {
    static ALONE: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"(?s)^\{\{-?(.*?)-?\}\}$").ok());
    let inside = ALONE.as_ref()?.captures(text.trim())?.get(1)?.as_str();
    (!inside.contains("}}") && !inside.contains("{{")).then_some(inside)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_expression_alone_keeps_its_type_and_a_text_around_it_makes_text() {
        let said = json!({ "result": { "total_cents": 5990 }, "user": "order 1042, please" });
        let value = |text: &str| Template::new(text).and_then(|template| template.value(&said));
        assert_eq!(value("{{ result.total_cents }}"), Ok(json!(5990)));
        assert_eq!(value("{{ result.total_cents }} cents"), Ok(json!("5990 cents")));
        assert_eq!(value("{{ user | find('[0-9]+') }}"), Ok(json!("1042")));
        assert_eq!(value("{{ user | find('(\\w+) [0-9]+') }}{{ 1 }}"), Ok(json!("order1")));
    }

    #[test]
    fn what_is_not_there_is_an_error_and_never_an_empty_text() {
        let said = json!({ "user": "hello" });
        for text in
            ["{{ nobody }}", "a {{ nobody }}", "{{ user | find('[0-9]+') }}", "{{ user | find('[0-9]+') }}!"]
        {
            let filled = Template::new(text).expect("compiles").value(&said);
            assert!(filled.is_err(), "{text}: {filled:?}");
        }
    }

    #[test]
    fn a_text_that_does_not_compile_is_refused_and_an_endless_one_ends() {
        for text in ["{{ user", "{{ user | nofilter( }}", "{% for x in y %}"] {
            assert!(Template::new(text).is_err(), "{text}");
        }
        let endless =
            Template::new("{% for a in range(9999) %}{% for b in range(9999) %}.{% endfor %}{% endfor %}");
        assert!(endless.expect("compiles").text(&json!({})).is_err());
    }
}
