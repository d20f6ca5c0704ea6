//! The tools as apps find them: an OpenAPI document for HTTP, a tool list for MCP.
//!
//! Pure: which tools a channel shows is the caller's to say, and no address or token is known here.

use serde_json::{Map, Value, json};

use crate::scenario::{Effect, Route, Segment, Tool};

/// An OpenAPI 3.1 document of the tools that have a route. `title` is the app's name.
pub fn openapi<'a>(title: &str, tools: impl IntoIterator<Item = &'a Tool>) -> Value {
    let mut paths: Map<String, Value> = Map::new();
    for tool in tools {
        let Some(route) = &tool.route else { continue };
        let path = paths.entry(template(route)).or_insert_with(|| json!({}));
        path[route.method.to_ascii_lowercase()] = operation(tool, route);
    }
    json!({
        "openapi": "3.1.0",
        "info": { "title": title, "version": "1" },
        // Beside the document, whatever the address.
        "servers": [{ "url": "." }],
        "paths": paths,
    })
}

/// The `tools` of an MCP `tools/list` result (MCP 2025-06-18, Tools).
pub fn mcp_tools<'a>(tools: impl IntoIterator<Item = &'a Tool>) -> Vec<Value> {
    tools
        .into_iter()
        .map(|tool| {
            let mut entry = json!({
                "name": tool.name.as_str(),
                "inputSchema": input_schema(tool),
                "annotations": {
                    "readOnlyHint": tool.effect == Effect::Read,
                    "openWorldHint": tool.effect == Effect::Net,
                },
            });
            if let Some(description) = &tool.description {
                entry["description"] = json!(description);
            }
            entry
        })
        .collect()
}

/// MCP wants an object schema in every case.
fn input_schema(tool: &Tool) -> Value {
    let mut schema = tool.args.as_deref().cloned().unwrap_or_else(|| json!({}));
    if let Value::Object(keywords) = &mut schema {
        keywords.entry("type").or_insert_with(|| json!("object"));
    }
    schema
}

fn template(route: &Route) -> String {
    let segments = route.path.iter().map(|segment| match segment {
        Segment::Literal(text) => format!("/{text}"),
        Segment::Variable(name) => format!("/{{{name}}}"),
    });
    let path: String = segments.collect();
    if path.is_empty() { "/".to_owned() } else { path }
}

fn operation(tool: &Tool, route: &Route) -> Value {
    let schema = input_schema(tool);
    let empty = Map::new();
    let properties = schema["properties"].as_object().unwrap_or(&empty);
    let required: Vec<&str> =
        schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let in_path = |name: &str| route.path.contains(&Segment::Variable(name.to_owned()));

    let variables = route.path.iter().filter_map(|segment| match segment {
        Segment::Variable(name) => {
            let schema = properties.get(name).cloned().unwrap_or_else(|| json!({ "type": "string" }));
            Some(json!({ "name": name, "in": "path", "required": true, "schema": schema }))
        }
        Segment::Literal(_) => None,
    });
    let mut parameters: Vec<Value> = variables.collect();
    let mut operation = json!({
        "operationId": tool.name.as_str(),
        "responses": { "default": { "description": "As the tool answers." } },
    });
    if let Some(description) = &tool.description {
        operation["description"] = json!(description);
    }
    // Only these methods have a body that clients and servers agree on (RFC 9110, 9.3).
    if matches!(route.method.as_str(), "POST" | "PUT" | "PATCH") {
        let mut body = schema.clone();
        if let Some(properties) = body.get_mut("properties").and_then(Value::as_object_mut) {
            properties.retain(|name, _| !in_path(name));
        }
        let names: Vec<&str> = required.iter().copied().filter(|name| !in_path(name)).collect();
        let body_required = !names.is_empty();
        body["required"] = json!(names);
        operation["requestBody"] =
            json!({ "required": body_required, "content": { "application/json": { "schema": body } } });
    } else {
        parameters.extend(properties.iter().filter(|(name, _)| !in_path(name)).map(|(name, schema)| {
            json!({ "name": name, "in": "query", "required": required.contains(&name.as_str()), "schema": schema })
        }));
    }
    operation["parameters"] = json!(parameters);
    operation
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::Arc;

    use super::*;
    use crate::name::ToolName;
    use crate::scenario::{Behaviour, Pos};

    fn tool(name: &str, effect: Effect, route: Option<(&str, &[Segment])>, args: Option<Value>) -> Tool {
        Tool {
            pos: Pos::default(),
            name: ToolName::new(name),
            description: (name != "ping").then(|| format!("To {name}.")),
            route: route.map(|(method, path)| Route { method: method.into(), path: path.to_vec() }),
            effect,
            args: args.map(Arc::new),
            behaviour: Behaviour::Upstream { name: "u".into(), tool: None },
        }
    }

    fn tools() -> Vec<Tool> {
        let literal = |text: &str| Segment::Literal(text.into());
        let variable = |name: &str| Segment::Variable(name.into());
        let order = json!({ "type": "object", "properties": { "id": { "type": "integer" }, "full": { "type": "boolean" } }, "required": ["id"] });
        let note = json!({ "type": "object", "properties": { "id": { "type": "integer" }, "text": { "type": "string" } }, "required": ["id", "text"] });
        vec![
            tool("get", Effect::Read, Some(("GET", &[literal("orders"), variable("id")])), Some(order)),
            tool("note", Effect::Write, Some(("POST", &[literal("orders"), variable("id")])), Some(note)),
            tool("ping", Effect::Net, Some(("GET", &[])), None),
            tool("inner", Effect::Write, None, None),
        ]
    }

    #[test]
    fn openapi_tells_path_query_and_body_apart() {
        let document = openapi("desk", &tools());
        let paths = document["paths"].as_object().expect("paths");
        assert_eq!(paths.keys().collect::<Vec<_>>(), ["/", "/orders/{id}"]);
        let both = &paths["/orders/{id}"];
        assert_eq!(
            both["get"]["parameters"],
            json!([
                { "name": "id", "in": "path", "required": true, "schema": { "type": "integer" } },
                { "name": "full", "in": "query", "required": false, "schema": { "type": "boolean" } },
            ])
        );
        assert_eq!(both["get"].get("requestBody"), None);
        assert_eq!(
            both["post"]["requestBody"],
            json!({ "required": true, "content": { "application/json": { "schema": {
                "type": "object", "properties": { "text": { "type": "string" } }, "required": ["text"],
            } } } })
        );
        assert_eq!(both["post"]["operationId"], "note");
        assert_eq!(both["post"]["description"], "To note.");
        assert_eq!(paths["/"]["get"]["parameters"], json!([]));
    }

    #[test]
    fn mcp_lists_every_tool_with_an_object_schema() {
        let list = mcp_tools(&tools());
        let by_name: BTreeMap<&str, &Value> =
            list.iter().map(|tool| (tool["name"].as_str().unwrap_or_default(), tool)).collect();
        assert_eq!(by_name.keys().copied().collect::<Vec<_>>(), ["get", "inner", "note", "ping"]);
        assert_eq!(by_name["inner"]["inputSchema"], json!({ "type": "object" }));
        assert_eq!(by_name["get"]["inputSchema"]["required"], json!(["id"]));
        assert_eq!(by_name["get"]["annotations"], json!({ "readOnlyHint": true, "openWorldHint": false }));
        assert_eq!(by_name["ping"]["annotations"], json!({ "readOnlyHint": false, "openWorldHint": true }));
        assert_eq!(by_name["ping"].get("description"), None);
    }
}
