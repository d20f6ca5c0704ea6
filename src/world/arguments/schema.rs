//! A JSON Schema, compiled: every keyword it holds is one that `fit` checks, every reference leads somewhere.

use std::collections::BTreeMap;

use regex::Regex;
use serde_json::{Map, Number, Value};

/// The schema of one tool's arguments.
#[derive(Clone, Debug)]
pub struct Schema {
    /// The root first; children by index, so that a schema may refer to itself.
    pub(super) nodes: Vec<Node>,
}

/// Why a value is no schema we can hold arguments against.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{at}: {what}")]
pub struct BadSchema {
    /// JSON pointer into the schema, as a URI fragment: `#/properties/a`.
    pub at: String,
    /// What is wrong.
    pub what: String,
}

/// What one schema asks. Absent is no restriction.
#[derive(Clone, Debug, Default)]
pub(super) struct Node {
    pub never: bool,
    pub types: Option<Vec<Type>>,
    pub allowed: Option<Vec<Value>>,
    pub properties: BTreeMap<String, usize>,
    pub required: Vec<String>,
    pub additional: Option<usize>,
    pub items: Option<usize>,
    pub min_items: Option<u64>,
    pub max_items: Option<u64>,
    pub unique: bool,
    pub minimum: Option<Number>,
    pub maximum: Option<Number>,
    pub above: Option<Number>,
    pub below: Option<Number>,
    pub min_length: Option<u64>,
    pub max_length: Option<u64>,
    pub pattern: Option<Regex>,
    pub all_of: Vec<usize>,
    pub any_of: Option<Vec<usize>>,
    pub one_of: Option<Vec<usize>>,
}

/// The types of JSON Schema; `integer` holds 1.0 as well as 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Type {
    Null,
    Boolean,
    Integer,
    Number,
    String,
    Array,
    Object,
}

impl Type {
    pub fn named(name: &str) -> Option<Self> {
        Some(match name {
            "null" => Self::Null,
            "boolean" => Self::Boolean,
            "integer" => Self::Integer,
            "number" => Self::Number,
            "string" => Self::String,
            "array" => Self::Array,
            "object" => Self::Object,
            _ => return None,
        })
    }

    /// As it stands in a message.
    pub fn word(self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Boolean => "a boolean",
            Self::Integer => "an integer",
            Self::Number => "a number",
            Self::String => "a string",
            Self::Array => "a list",
            Self::Object => "an object",
        }
    }
}

/// Keywords that say something about a value without restricting it.
const ANNOTATIONS: &[&str] = &[
    "$anchor",
    "$comment",
    "$defs",
    "$id",
    "$schema",
    "contentEncoding",
    "contentMediaType",
    "default",
    "definitions",
    "deprecated",
    "description",
    "example",
    "examples",
    "format",
    "readOnly",
    "title",
    "writeOnly",
];

/// Schemas in one document, references counted once: far above any tool's, far below what would hurt.
const MAX_NODES: usize = 10_000;

impl Schema {
    /// Compiles `root`, or says which keyword of which place cannot be kept.
    pub fn new(root: &Value) -> Result<Self, BadSchema> {
        let mut compiling = Compiling { root, nodes: Vec::new(), references: BTreeMap::new() };
        compiling.node(root, "#")?;
        let schema = Self { nodes: compiling.nodes };
        match schema.turning_in_place() {
            Some(at) => {
                let names = compiling.references.iter();
                let name = names.filter(|(_, index)| **index == at).map(|(name, _)| name.as_str()).next();
                Err(bad(name.unwrap_or("#"), "refers to itself without going deeper into the value"))
            }
            None => Ok(schema),
        }
    }

    /// A schema that asks itself about the same value: no value would ever be through with it.
    fn turning_in_place(&self) -> Option<usize> {
        #[derive(Clone, Copy, PartialEq)]
        enum Seen {
            Not,
            Entered,
            Left,
        }
        let mut seen = vec![Seen::Not; self.nodes.len()];
        for start in 0..self.nodes.len() {
            let mut path = vec![(start, self.nodes[start].same_value())];
            while let Some((node, children)) = path.last_mut() {
                if seen[*node] == Seen::Left {
                    path.pop();
                    continue;
                }
                seen[*node] = Seen::Entered;
                match children.pop() {
                    Some(child) if seen[child] == Seen::Entered => return Some(child),
                    Some(child) => path.push((child, self.nodes[child].same_value())),
                    None => seen[*node] = Seen::Left,
                }
            }
        }
        None
    }
}

impl Node {
    /// The schemas that this one holds the same value against.
    fn same_value(&self) -> Vec<usize> {
        let forms = self.any_of.iter().chain(&self.one_of).flatten();
        self.all_of.iter().chain(forms).copied().collect()
    }
}

struct Compiling<'a> {
    root: &'a Value,
    nodes: Vec<Node>,
    references: BTreeMap<String, usize>,
}

impl<'a> Compiling<'a> {
    fn node(&mut self, schema: &'a Value, at: &str) -> Result<usize, BadSchema> {
        if self.nodes.len() >= MAX_NODES {
            return Err(bad(at, format!("more than {MAX_NODES} schemas")));
        }
        let index = self.nodes.len();
        self.nodes.push(Node::default());
        self.references.entry(at.to_owned()).or_insert(index);
        self.nodes[index] = match schema {
            Value::Bool(allows) => Node { never: !allows, ..Node::default() },
            Value::Object(keywords) => self.keywords(keywords, at)?,
            _ => return Err(bad(at, "a schema is an object, true or false")),
        };
        Ok(index)
    }

    fn keywords(&mut self, keywords: &'a Map<String, Value>, at: &str) -> Result<Node, BadSchema> {
        let mut node = Node::default();
        for (keyword, value) in keywords {
            let here = format!("{at}/{}", escaped(keyword));
            match keyword.as_str() {
                "type" => node.types = Some(types(value, &here)?),
                "enum" => node.allowed = Some(list(value, &here)?.clone()),
                // `enum` beside it would have to hold as well.
                "const" if !keywords.contains_key("enum") => node.allowed = Some(vec![value.clone()]),
                "properties" => {
                    for (name, schema) in object(value, &here)? {
                        let child = self.node(schema, &format!("{here}/{}", escaped(name)))?;
                        node.properties.insert(name.clone(), child);
                    }
                }
                "required" => {
                    for name in list(value, &here)? {
                        let name = name.as_str().ok_or_else(|| bad(&here, "a list of names"))?;
                        node.required.push(name.to_owned());
                    }
                }
                "additionalProperties" => node.additional = Some(self.node(value, &here)?),
                "items" => node.items = Some(self.node(value, &here)?),
                "minItems" => node.min_items = Some(count(value, &here)?),
                "maxItems" => node.max_items = Some(count(value, &here)?),
                "uniqueItems" => {
                    node.unique = value.as_bool().ok_or_else(|| bad(&here, "true or false"))?;
                }
                "minimum" => node.minimum = Some(number(value, &here)?),
                "maximum" => node.maximum = Some(number(value, &here)?),
                "exclusiveMinimum" => node.above = Some(number(value, &here)?),
                "exclusiveMaximum" => node.below = Some(number(value, &here)?),
                "minLength" => node.min_length = Some(count(value, &here)?),
                "maxLength" => node.max_length = Some(count(value, &here)?),
                "pattern" => {
                    let pattern = value.as_str().ok_or_else(|| bad(&here, "a regular expression"))?;
                    let compiled = Regex::new(pattern).map_err(|e| bad(&here, e.to_string()))?;
                    node.pattern = Some(compiled);
                }
                "allOf" => node.all_of.extend(self.children(value, &here)?),
                "anyOf" => node.any_of = Some(self.children(value, &here)?),
                "oneOf" => node.one_of = Some(self.children(value, &here)?),
                "$ref" => {
                    let child = self.reference(value, &here)?;
                    node.all_of.push(child);
                }
                known if ANNOTATIONS.contains(&known) => {}
                unknown => {
                    return Err(bad(at, format!("the keyword `{unknown}` is not supported")));
                }
            }
        }
        Ok(node)
    }

    fn children(&mut self, value: &'a Value, at: &str) -> Result<Vec<usize>, BadSchema> {
        let schemas = list(value, at)?;
        if schemas.is_empty() {
            return Err(bad(at, "a list of at least one schema"));
        }
        let numbered = schemas.iter().enumerate();
        numbered.map(|(i, schema)| self.node(schema, &format!("{at}/{i}"))).collect()
    }

    fn reference(&mut self, value: &Value, at: &str) -> Result<usize, BadSchema> {
        let target = value.as_str().ok_or_else(|| bad(at, "a reference is text"))?;
        if let Some(known) = self.references.get(target) {
            return Ok(*known);
        }
        let schema = target
            .strip_prefix('#')
            .and_then(|pointer| self.root.pointer(pointer))
            .ok_or_else(|| bad(at, format!("`{target}` leads nowhere in this schema")))?;
        self.node(schema, target)
    }
}

fn bad(at: &str, what: impl Into<String>) -> BadSchema {
    BadSchema { at: at.to_owned(), what: what.into() }
}

fn escaped(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

fn list<'a>(value: &'a Value, at: &str) -> Result<&'a Vec<Value>, BadSchema> {
    value.as_array().ok_or_else(|| bad(at, "a list is wanted here"))
}

fn object<'a>(value: &'a Value, at: &str) -> Result<&'a Map<String, Value>, BadSchema> {
    value.as_object().ok_or_else(|| bad(at, "an object is wanted here"))
}

fn count(value: &Value, at: &str) -> Result<u64, BadSchema> {
    value.as_u64().ok_or_else(|| bad(at, "a count is wanted here"))
}

fn number(value: &Value, at: &str) -> Result<Number, BadSchema> {
    match value {
        Value::Number(number) => Ok(number.clone()),
        _ => Err(bad(at, "a number is wanted here")),
    }
}

fn types(value: &Value, at: &str) -> Result<Vec<Type>, BadSchema> {
    let names: Vec<&Value> = match value {
        Value::Array(names) => names.iter().collect(),
        one => vec![one],
    };
    names
        .into_iter()
        .map(|name| {
            let known = name.as_str().and_then(Type::named);
            known.ok_or_else(|| bad(at, format!("{name} is no JSON Schema type")))
        })
        .collect()
}
