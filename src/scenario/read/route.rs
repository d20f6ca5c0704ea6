//! Routes: `METHOD /path/{variable}`. Two that could both fit one request are a fault, since which tool was called must
//! never hang on order.

use serde_json::Value;

use super::reader::Reader;
use crate::scenario::file::At;
use crate::scenario::{Route, Segment, Tool};

const METHODS: &[&str] = &["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"];

/// The route; none, and a fault, where the text is none.
pub(super) fn route(reader: &mut Reader, written: &At<String>, args: Option<&Value>) -> Option<Route> {
    let Some((method, path)) = written.value.split_once(' ') else {
        return bad(reader, written, "a route is a method and a path");
    };
    let method = At { value: method.to_owned(), pos: written.pos };
    if !reader.known("route.method", "method", &method, METHODS.iter().copied()) {
        return None;
    }
    let Some(path) = path.trim().strip_prefix('/') else {
        return bad(reader, written, "the path of a route starts with a slash");
    };
    if path.contains(['?', '#']) || path.contains(char::is_whitespace) {
        return bad(reader, written, "a route has a path alone: no query, no fragment, no space");
    }
    let mut segments = Vec::new();
    for part in path.split('/') {
        let variable = part.strip_prefix('{').and_then(|rest| rest.strip_suffix('}'));
        match variable {
            Some(name) if crate::scenario::fill::is_name(name) => {
                segments.push(Segment::Variable(name.to_owned()));
            }
            None if !part.contains(['{', '}']) && (!part.is_empty() || path.is_empty()) => {
                segments.push(Segment::Literal(part.to_owned()));
            }
            _ => {
                return bad(reader, written, "each part of a path is a text or one `{name}`");
            }
        }
    }
    let route = Route { method: method.value, path: segments };
    variables(reader, written, &route, args);
    Some(route)
}

fn bad(reader: &mut Reader, written: &At<String>, why: &str) -> Option<Route> {
    reader
        .error(written.pos, "route.shape", format!("`{}` is no route: {why}", written.value))
        .help("write it as GET /orders/{order_id}".to_owned());
    None
}

/// Each variable once, and named by the arguments where these are declared.
fn variables(reader: &mut Reader, written: &At<String>, route: &Route, args: Option<&Value>) {
    let mut seen = std::collections::BTreeSet::new();
    for segment in &route.path {
        let Segment::Variable(name) = segment else {
            continue;
        };
        if !seen.insert(name.as_str()) {
            let what = format!("`{{{name}}}` stands twice in one path");
            reader.error(written.pos, "route.variable_repeated", what);
        }
        let declared = args.and_then(|schema| schema["properties"].as_object());
        if args.is_some() && declared.is_none_or(|known| !known.contains_key(name)) {
            let known = declared.into_iter().flat_map(|known| known.keys().map(String::as_str));
            let help = crate::scenario::names::near_miss(name, known);
            reader
                .error(written.pos, "route.variable", format!("the arguments do not name `{name}`"))
                .help(help);
        }
    }
}

/// Two tools of one name cannot be (YAML refuses a repeated key); two routes for one request can.
pub(super) fn ambiguous(reader: &mut Reader, tools: &[Tool]) {
    for (index, tool) in tools.iter().enumerate() {
        let Some(route) = &tool.route else { continue };
        let earlier = tools[..index]
            .iter()
            .find(|other| other.route.as_ref().is_some_and(|other| overlap(route, other)));
        if let Some(other) = earlier {
            let what =
                format!("a request could be `{}` or `{}`: their routes overlap", other.name, tool.name);
            reader.error(tool.pos, "route.ambiguous", what);
        }
    }
}

/// Whether some request fits both. `/orders/new` beside `/orders/{id}` is refused as well: an order named `new` is
/// somebody's order.
fn overlap(a: &Route, b: &Route) -> bool {
    a.method == b.method
        && a.path.len() == b.path.len()
        && a.path.iter().zip(&b.path).all(|pair| match pair {
            (Segment::Literal(a), Segment::Literal(b)) => a == b,
            _ => true,
        })
}
