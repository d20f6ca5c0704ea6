//! Whether a value fits a schema. The first misfit is told, in the order of the value.

use std::cmp::Ordering;

use serde_json::{Map, Number, Value};

use super::schema::{Node, Schema, Type};

/// Why arguments do not fit.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{what}", if at.is_empty() { String::new() } else { format!("{at}: ") })]
pub struct Misfit {
    /// JSON pointer into the arguments; empty for the whole.
    pub at: String,
    /// What was asked.
    pub what: String,
}

/// Schemas entered within one another: a schema that refers to itself without going deeper into the value ends here.
const MAX_DEPTH: usize = 512;

impl Schema {
    /// Whether `value` fits.
    pub fn fit(&self, value: &Value) -> Result<(), Misfit> {
        self.at(0, value, &mut String::new(), 0)
    }

    fn at(&self, node: usize, value: &Value, at: &mut String, depth: usize) -> Result<(), Misfit> {
        if depth > MAX_DEPTH {
            return Err(misfit(at, "nested too deep"));
        }
        let node = &self.nodes[node];
        if node.never {
            return Err(misfit(at, "not known here"));
        }
        if let Some(types) = &node.types
            && !types.iter().any(|one| is(*one, value))
        {
            let words: Vec<&str> = types.iter().map(|one| one.word()).collect();
            return Err(misfit(at, format!("{} is wanted", words.join(" or "))));
        }
        if let Some(allowed) = &node.allowed
            && !allowed.iter().any(|one| equal(one, value))
        {
            let words: Vec<String> = allowed.iter().map(Value::to_string).collect();
            return Err(misfit(at, format!("one of {} is wanted", words.join(", "))));
        }
        match value {
            Value::Object(fields) => self.fields(node, fields, at, depth)?,
            Value::Array(items) => self.items(node, items, at, depth)?,
            Value::Number(number) => within(node, number).map_err(|what| misfit(at, what))?,
            Value::String(text) => spelt(node, text).map_err(|what| misfit(at, what))?,
            Value::Null | Value::Bool(_) => {}
        }
        for child in &node.all_of {
            self.at(*child, value, at, depth + 1)?;
        }
        let mut fits = |children: &[usize]| {
            let fitting = children.iter().filter(|child| self.at(**child, value, at, depth + 1).is_ok());
            fitting.count()
        };
        if let Some(children) = &node.any_of
            && fits(children) == 0
        {
            return Err(misfit(at, "fits none of the forms it may have"));
        }
        if let Some(children) = &node.one_of
            && fits(children) != 1
        {
            return Err(misfit(at, "is to fit exactly one of the forms it may have"));
        }
        Ok(())
    }

    fn fields(
        &self,
        node: &Node,
        fields: &Map<String, Value>,
        at: &mut String,
        depth: usize,
    ) -> Result<(), Misfit> {
        for name in &node.required {
            if !fields.contains_key(name) {
                return Err(misfit(at, format!("`{name}` is missing")));
            }
        }
        for (name, field) in fields {
            let Some(child) = node.properties.get(name).or(node.additional.as_ref()) else {
                continue;
            };
            self.inside(*child, field, at, name, depth)?;
        }
        Ok(())
    }

    fn items(&self, node: &Node, items: &[Value], at: &mut String, depth: usize) -> Result<(), Misfit> {
        let count = items.len() as u64;
        if node.min_items.is_some_and(|min| count < min) || node.max_items.is_some_and(|max| count > max) {
            return Err(misfit(at, format!("{count} entries are too few or too many")));
        }
        if node.unique
            && items.iter().enumerate().any(|(i, one)| items[..i].iter().any(|other| equal(one, other)))
        {
            return Err(misfit(at, "no entry may stand twice"));
        }
        if let Some(child) = node.items {
            for (i, item) in items.iter().enumerate() {
                self.inside(child, item, at, &i.to_string(), depth)?;
            }
        }
        Ok(())
    }

    fn inside(
        &self,
        node: usize,
        value: &Value,
        at: &mut String,
        step: &str,
        depth: usize,
    ) -> Result<(), Misfit> {
        let outer = at.len();
        at.push('/');
        at.push_str(&step.replace('~', "~0").replace('/', "~1"));
        let result = self.at(node, value, at, depth + 1);
        at.truncate(outer);
        result
    }
}

fn misfit(at: &str, what: impl Into<String>) -> Misfit {
    Misfit { at: at.to_owned(), what: what.into() }
}

fn is(kind: Type, value: &Value) -> bool {
    match (kind, value) {
        (Type::Null, Value::Null)
        | (Type::Boolean, Value::Bool(_))
        | (Type::Number, Value::Number(_))
        | (Type::String, Value::String(_))
        | (Type::Array, Value::Array(_))
        | (Type::Object, Value::Object(_)) => true,
        (Type::Integer, Value::Number(number)) => {
            !number.is_f64() || number.as_f64().is_some_and(|real| real.fract() == 0.0)
        }
        _ => false,
    }
}

fn within(node: &Node, number: &Number) -> Result<(), String> {
    let asked = |bound: &Option<Number>, fits: fn(Ordering) -> bool, words: &str| match bound {
        Some(bound) if !compare(number, bound).is_some_and(fits) => Err(format!("{words} {bound} is wanted")),
        _ => Ok(()),
    };
    asked(&node.minimum, Ordering::is_ge, "at least")?;
    asked(&node.maximum, Ordering::is_le, "at most")?;
    asked(&node.above, Ordering::is_gt, "more than")?;
    asked(&node.below, Ordering::is_lt, "less than")
}

fn spelt(node: &Node, text: &str) -> Result<(), String> {
    let length = text.chars().count() as u64;
    if let Some(min) = node.min_length.filter(|min| length < *min) {
        return Err(format!("at least {min} characters are wanted"));
    }
    if let Some(max) = node.max_length.filter(|max| length > *max) {
        return Err(format!("at most {max} characters are wanted"));
    }
    match &node.pattern {
        Some(pattern) if !pattern.is_match(text) => Err(format!("does not match {pattern}")),
        _ => Ok(()),
    }
}

/// Integers exactly; where one is a real, as reals.
fn compare(a: &Number, b: &Number) -> Option<Ordering> {
    let whole = |number: &Number| number.as_i64().map(i128::from).or(number.as_u64().map(i128::from));
    match (whole(a), whole(b)) {
        (Some(a), Some(b)) => Some(a.cmp(&b)),
        _ => a.as_f64()?.partial_cmp(&b.as_f64()?),
    }
}

/// Equality of JSON values: 1 and 1.0 are one number.
fn equal(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => compare(a, b) == Some(Ordering::Equal),
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| equal(a, b)),
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(key, a)| b.get(key).is_some_and(|b| equal(a, b)))
        }
        _ => a == b,
    }
}
