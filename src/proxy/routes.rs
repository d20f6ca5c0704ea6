//! Which tool a method and path name: by the contract's routes, on the path exactly as it was received.
//!
//! Nothing is decoded, folded or normalised before matching, and a variable binds no segment that another reader could
//! take for several (`%2F`, a backslash) or for a step (`.`, `..`, `..;x`, `%2e`): a service that normalises would be
//! led through one tool's permit to another tool's route.

use percent_encoding::percent_decode_str;

use crate::scenario::{Route, Segment};

/// The routes of one contract, the more literal first, so that `/orders/search` is not an order of that name.
#[derive(Debug, Default)]
pub struct Routes {
    routes: Vec<(Route, usize)>,
}

/// What a path was matched to.
#[derive(Debug, PartialEq, Eq)]
pub struct Matched<'r, 'p> {
    /// Index of the tool.
    pub tool: usize,
    /// Path variables, as received.
    pub variables: Vec<(&'r str, &'p str)>,
}

impl Routes {
    /// Of the tools' routes, each with the index of its tool.
    pub fn new(routes: impl IntoIterator<Item = (usize, Route)>) -> Self {
        let mut routes: Vec<_> = routes.into_iter().map(|(tool, route)| (route, tool)).collect();
        let literal = |segment: &Segment| matches!(segment, Segment::Literal(_));
        routes.sort_by_cached_key(|(route, tool)| {
            let variables: Vec<bool> = route.path.iter().map(|one| !literal(one)).collect();
            (variables, *tool)
        });
        Self { routes }
    }

    /// The tool of `method` and `path`. `HEAD` is `GET` without the body (RFC 9110 9.3.2), unless it has a route.
    pub fn find<'p>(&self, method: &str, path: &'p str) -> Option<Matched<'_, 'p>> {
        self.find_exact(method, path).or_else(|| match method {
            "HEAD" => self.find_exact("GET", path),
            _ => None,
        })
    }

    fn find_exact<'p>(&self, method: &str, path: &'p str) -> Option<Matched<'_, 'p>> {
        self.routes
            .iter()
            .filter(|(route, _)| route.method == method)
            .find_map(|(route, tool)| Some(Matched { tool: *tool, variables: bind(&route.path, path)? }))
    }

    /// The methods that `path` has routes for, for an `Allow` header.
    pub fn methods(&self, path: &str) -> Vec<&str> {
        let mut methods: Vec<&str> = self
            .routes
            .iter()
            .filter(|(route, _)| bind(&route.path, path).is_some())
            .map(|(route, _)| route.method.as_str())
            .collect();
        methods.sort_unstable();
        methods.dedup();
        methods
    }
}

fn bind<'r, 'p>(template: &'r [Segment], path: &'p str) -> Option<Vec<(&'r str, &'p str)>> {
    let mut variables = Vec::new();
    let mut template = template.iter();
    let path = path.strip_prefix('/')?;
    if path.is_empty() {
        let root = match template.next() {
            None => true,
            Some(Segment::Literal(only)) => only.is_empty() && template.next().is_none(),
            Some(Segment::Variable(_)) => false,
        };
        return root.then_some(variables);
    }
    for received in path.split('/') {
        match template.next()? {
            Segment::Literal(literal) if literal == received => {}
            Segment::Variable(name) if is_one_value(received) => variables.push((name.as_str(), received)),
            _ => return None,
        }
    }
    template.next().is_none().then_some(variables)
}

/// Whether every reader takes this segment for one value.
pub fn is_one_value(segment: &str) -> bool {
    if segment.is_empty() {
        return false;
    }
    let decoded: Vec<u8> = percent_decode_str(segment).collect();
    let before_parameters = decoded.split(|byte| *byte == b';').next().unwrap_or_default();
    !decoded.iter().any(|byte| matches!(byte, b'/' | b'\\' | 0)) && !matches!(before_parameters, b"." | b"..")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn route(text: &str) -> Route {
        let (method, path) = text.split_once(' ').expect("method and path");
        let segment = |text: &str| match text.strip_prefix('{').and_then(|t| t.strip_suffix('}')) {
            Some(name) => Segment::Variable(name.to_owned()),
            None => Segment::Literal(text.to_owned()),
        };
        let path = path.strip_prefix('/').expect("a slash");
        Route { method: method.to_owned(), path: path.split('/').map(segment).collect() }
    }

    fn desk() -> Routes {
        let routes = [
            "GET /orders/{order_id}",
            "POST /refunds",
            "GET /orders/search",
            "DELETE /orders/{id}/notes/{n}",
        ];
        Routes::new(routes.iter().map(|text| route(text)).enumerate())
    }

    fn tool(method: &str, path: &str) -> Option<usize> {
        desk().find(method, path).map(|found| found.tool)
    }

    #[test]
    fn a_route_is_method_and_path_and_never_the_last_segment() {
        assert_eq!(tool("GET", "/orders/1042"), Some(0));
        assert_eq!(tool("POST", "/refunds"), Some(1));
        assert_eq!(tool("POST", "/other/refunds"), None);
        assert_eq!(tool("GET", "/refunds"), None);
        assert_eq!(tool("HEAD", "/orders/1042"), Some(0));
        assert_eq!(tool("HEAD", "/refunds"), None);
    }

    #[test]
    fn the_more_literal_route_wins_whatever_the_order_of_the_file() {
        assert_eq!(tool("GET", "/orders/search"), Some(2));
    }

    #[test]
    fn variables_are_bound_as_received() {
        let desk = desk();
        let found = desk.find("DELETE", "/orders/a%20b/notes/7").expect("a route");
        assert_eq!(found.variables, [("id", "a%20b"), ("n", "7")]);
    }

    #[test]
    fn what_another_reader_could_take_for_another_path_is_no_route() {
        for path in [
            "//orders/1042",
            "/orders//1042",
            "/orders/1042/",
            "/orders/",
            "/orders",
            "/Orders/1042",
            "/orders/.",
            "/orders/..",
            "/orders/%2e",
            "/orders/%2E%2e",
            "/orders/.%2e",
            "/orders/a%2Fb",
            "/orders/a%2fb",
            "/orders/a%5Cb",
            "/orders/a\\b",
            "/orders/..;x",
            "/orders/;/..",
            "/orders/a%00",
            "/%6frders/1042",
            "/orders/../refunds",
            "orders/1042",
            "",
        ] {
            assert_eq!(tool("GET", path), None, "{path}");
        }
        assert_eq!(tool("get", "/orders/1042"), None);
    }

    #[test]
    fn the_root_is_a_path_like_any_other() {
        let routes = Routes::new([(0, route("GET /"))]);
        assert!(routes.find("GET", "/").is_some());
        assert!(routes.find("GET", "//").is_none());
    }

    #[test]
    fn a_path_says_which_methods_it_has() {
        assert_eq!(desk().methods("/orders/search"), ["GET"]);
        assert_eq!(desk().methods("/nothing"), Vec::<&str>::new());
    }

    proptest! {
        /// Whatever is received, what is bound is part of it, byte for byte, and holds no separator.
        #[test]
        fn what_is_bound_was_received(path in "/[a-z./%;0-9A-F\\\\]{0,24}") {
            let desk = desk();
            if let Some(found) = desk.find("GET", &path) {
                for (_, value) in found.variables {
                    prop_assert!(path.contains(value) && !value.contains('/') && !value.is_empty());
                }
            }
        }
    }
}
