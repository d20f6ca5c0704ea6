//! What of an OpenAPI 3 document makes tools: its operations, each with a name, a route, and arguments.
//!
//! Pure. A draft is made of it by `init`, and an upstream that names such a file has its operations as tools.

use serde_json::{Map, Value, json};

use super::file::{Free, parse};
use super::fill::is_name;

/// The methods of a path item (OpenAPI 3.1, Path Item Object), as far as routes know them.
const METHODS: [&str; 7] = ["get", "post", "put", "patch", "delete", "head", "options"];
/// References followed within one another.
const DEPTH: usize = 16;

/// One operation.
#[derive(Clone, Debug, PartialEq)]
pub struct Operation {
    /// `operationId` where that can be a tool's name, else of method and path. Unique in its document.
    pub name: String,
    /// `METHOD /path/{variable}`.
    pub route: String,
    /// Its summary, else its description; one line.
    pub description: Option<String>,
    /// Whether its method changes nothing (RFC 9110, 9.2.1).
    pub is_safe: bool,
    /// Its arguments: parameters of path and query, and the fields of its JSON body.
    pub args: Value,
}

/// The operations of a document, and the first absolute address among its servers.
#[derive(Clone, Debug, PartialEq)]
pub struct Described {
    /// In the order of the document.
    pub operations: Vec<Operation>,
    /// `http://…` or `https://…`.
    pub server: Option<String>,
}

/// Why a text is no such document.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoDocument {
    /// Neither JSON nor YAML.
    #[error("neither JSON nor YAML: {0}")]
    Text(String),
    /// Not of OpenAPI 3.
    #[error("no OpenAPI 3 document: {0}")]
    Shape(&'static str),
}

/// Reads a document, in JSON or YAML.
pub fn describe(text: &str) -> Result<Described, NoDocument> {
    let document = match serde_json::from_str::<Value>(text) {
        Ok(document) => document,
        Err(error) if text.trim_start().starts_with('{') => return Err(NoDocument::Text(error.to_string())),
        Err(_) => parse::<Free>(text).map_err(|fault| NoDocument::Text(fault.what))?.value(),
    };
    let version = document["openapi"].as_str().unwrap_or_default();
    if !version.starts_with("3.") {
        return Err(NoDocument::Shape("`openapi` is to be 3.x"));
    }
    let paths = document["paths"].as_object().ok_or(NoDocument::Shape("it has no `paths`"))?;
    let mut operations: Vec<Operation> = Vec::new();
    for (path, item) in paths {
        let item = resolved(&document, item, 0);
        for method in METHODS {
            if let Some(operation) = item.get(method) {
                let mut read = operation_of(&document, path, method, item, operation);
                let taken = |name: &str| operations.iter().any(|other| other.name == name);
                if taken(&read.name) {
                    read.name = name_of(method, path);
                }
                while taken(&read.name) {
                    read.name.push('_');
                }
                operations.push(read);
            }
        }
    }
    let servers = document["servers"].as_array().into_iter().flatten();
    let mut servers = servers.filter_map(|server| server["url"].as_str());
    let server = servers.find(|url| url.starts_with("http://") || url.starts_with("https://"));
    Ok(Described { operations, server: server.map(|url| url.trim_end_matches('/').to_owned()) })
}

fn operation_of(document: &Value, path: &str, method: &str, item: &Value, operation: &Value) -> Operation {
    let id = operation["operationId"].as_str().map(tidy).filter(|name| !name.is_empty());
    let said = ["summary", "description"].iter().find_map(|key| operation[*key].as_str());
    Operation {
        name: id.unwrap_or_else(|| name_of(method, path)),
        route: format!("{} {path}", method.to_ascii_uppercase()),
        description: said.map(|text| text.split_whitespace().collect::<Vec<_>>().join(" ")),
        is_safe: matches!(method, "get" | "head" | "options"),
        args: arguments(document, path, item, operation),
    }
}

/// A name out of method and path: `GET /orders/{id}` is `get_orders_id`.
pub fn name_of(method: &str, path: &str) -> String {
    let words = path.split(['/', '{', '}']).map(tidy).filter(|word| !word.is_empty());
    let mut name = method.to_ascii_lowercase();
    for word in words {
        name.push('_');
        name.push_str(&word);
    }
    name
}

/// As models and SDKs take names of tools: letters, digits, `_` and `-`.
fn tidy(text: &str) -> String {
    let tidy = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
    text.chars().map(tidy).collect::<String>().trim_matches('_').chars().take(64).collect()
}

fn arguments(document: &Value, path: &str, item: &Value, operation: &Value) -> Value {
    let mut properties = Map::new();
    let mut required = Vec::new();
    let mut add = |name: &str, schema: &Value, wanted: bool| {
        if properties.insert(name.to_owned(), inlined(document, schema, 0)).is_none() && wanted {
            required.push(json!(name));
        }
    };
    for list in [&item["parameters"], &operation["parameters"]] {
        for parameter in list.as_array().into_iter().flatten() {
            let parameter = resolved(document, parameter, 0);
            let place = parameter["in"].as_str().unwrap_or_default();
            if let (Some(name), "path" | "query") = (parameter["name"].as_str(), place) {
                add(name, &parameter["schema"], place == "path" || parameter["required"] == true);
            }
        }
    }
    // A variable that is in the path is an argument, whether the document says so or not.
    for part in path.split('/') {
        let variable = part.strip_prefix('{').and_then(|rest| rest.strip_suffix('}'));
        if let Some(name) = variable.filter(|name| is_name(name)) {
            add(name, &json!({ "type": "string" }), true);
        }
    }
    let body = resolved(document, &operation["requestBody"], 0);
    let body = body["content"].as_object().into_iter().flatten();
    let json_body = body.into_iter().find(|(kind, _)| kind.starts_with("application/json"));
    if let Some((_, content)) = json_body {
        let schema = resolved(document, &content["schema"], 0);
        let wanted: Vec<&str> =
            schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        for (name, field) in schema["properties"].as_object().into_iter().flatten() {
            add(name, field, wanted.contains(&name.as_str()));
        }
    }
    json!({ "type": "object", "properties": properties, "required": required })
}

fn resolved<'d>(document: &'d Value, value: &'d Value, depth: usize) -> &'d Value {
    let target = value.get("$ref").and_then(Value::as_str).and_then(|at| at.strip_prefix('#'));
    match target.and_then(|pointer| document.pointer(pointer)) {
        Some(found) if depth < DEPTH => resolved(document, found, depth + 1),
        _ => value,
    }
}

/// A schema without references; what refers to itself is anything from some depth on.
fn inlined(document: &Value, schema: &Value, depth: usize) -> Value {
    if depth > DEPTH {
        return json!({});
    }
    match resolved(document, schema, 0) {
        Value::Object(fields) => {
            let kept = fields.iter().filter(|(key, _)| {
                // Of OpenAPI alone, or words that a checker of arguments has no use for.
                !matches!(
                    key.as_str(),
                    "nullable"
                        | "xml"
                        | "example"
                        | "examples"
                        | "externalDocs"
                        | "discriminator"
                        | "deprecated"
                        | "readOnly"
                        | "writeOnly"
                        | "title"
                        | "default"
                        | "format"
                        | "$ref"
                ) && !key.starts_with("x-")
            });
            kept.map(|(key, value)| (key.clone(), inlined(document, value, depth + 1))).collect()
        }
        Value::Array(items) => items.iter().map(|item| inlined(document, item, depth + 1)).collect(),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DESK: &str = r##"
openapi: 3.0.3
info: { title: desk, version: "1" }
servers: [{ url: /v1 }, { url: "https://desk.example/" }]
paths:
  /orders/{order_id}:
    parameters: [{ $ref: "#/components/parameters/order" }]
    get:
      operationId: getOrder
      summary: Look one
        order up.
      parameters: [{ name: full, in: query, schema: { type: boolean } }, { name: x-trace, in: header }]
      responses: { 200: { description: ok } }
    delete: { responses: { "204": { description: gone } } }
  /refunds:
    post:
      operationId: "issue refund!"
      requestBody:
        content: { application/json: { schema: { $ref: "#/components/schemas/Refund" } } }
      responses: { default: { description: ok } }
components:
  parameters: { order: { name: order_id, in: path, required: true, schema: { type: string } } }
  schemas:
    Refund:
      type: object
      required: [order_id]
      properties:
        order_id: { type: string, example: "1042" }
        why: { $ref: "#/components/schemas/Why" }
    Why: { type: object, properties: { because: { $ref: "#/components/schemas/Why" } } }
"##;

    #[test]
    fn operations_are_tools_with_their_routes_and_arguments() {
        let described = describe(DESK).expect("a document");
        assert_eq!(described.server.as_deref(), Some("https://desk.example"));
        let brief: Vec<_> =
            described.operations.iter().map(|one| (one.name.as_str(), one.route.as_str())).collect();
        assert_eq!(
            brief,
            [
                ("getOrder", "GET /orders/{order_id}"),
                ("delete_orders_order_id", "DELETE /orders/{order_id}"),
                ("issue_refund", "POST /refunds"),
            ]
        );
        let get = &described.operations[0];
        assert_eq!((get.is_safe, get.description.as_deref()), (true, Some("Look one order up.")));
        assert_eq!(
            get.args,
            json!({ "type": "object", "required": ["order_id"], "properties": {
                "order_id": { "type": "string" }, "full": { "type": "boolean" } } })
        );
        let refund = &described.operations[2].args;
        assert_eq!(refund["properties"]["order_id"], json!({ "type": "string" }));
        assert_eq!(refund["properties"]["why"]["type"], "object");
        assert_eq!(refund["required"], json!(["order_id"]));
    }

    #[test]
    fn what_is_no_document_is_told() {
        for bad in ["{", "openapi: 2.0", "swagger: '2.0'", "openapi: 3.1.0", "[]", ""] {
            assert!(describe(bad).is_err(), "{bad}");
        }
    }
}
