//! What looks secret without being known: shapes of common keys, and values of headers that carry credentials.

use std::ops::Range;
use std::sync::LazyLock;

use regex::bytes::Regex;

/// Texts, in lower case, one of which stands in everything that [`find`] finds.
pub(super) const HINTS: &[&str] = &[
    "sk-",
    "sk_",
    "rk_",
    "ghp_",
    "gho_",
    "ghu_",
    "ghs_",
    "ghr_",
    "github_pat_",
    "glpat-",
    "akia",
    "asia",
    "xox",
    "aiza",
    "hf_",
    "npm_",
    "eyj",
    "private key-----",
    "bearer",
    "authorization",
    "cookie",
];

/// Names of fields and headers whose values are secret.
const NAMES: &[&str] = &[
    "authorization",
    "proxy-authorization",
    "cookie",
    "set-cookie",
    "x-api-key",
    "api-key",
    "x-goog-api-key",
];

/// Shapes of keys. The whole match is secret, or the group `secret` where there is one.
static SHAPES: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let shapes = [
        r"\bsk-[A-Za-z0-9_-]{16,}",
        r"\b[sr]k_(?:live|test)_[A-Za-z0-9]{10,}",
        r"\bgh[pousr]_[A-Za-z0-9]{20,}",
        r"\bgithub_pat_[A-Za-z0-9_]{20,}",
        r"\bglpat-[A-Za-z0-9_-]{16,}",
        r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b",
        r"\bxox[abeoprs]-[A-Za-z0-9-]{10,}",
        r"\bAIza[0-9A-Za-z_-]{30,}",
        r"\bhf_[A-Za-z0-9]{30,}",
        r"\bnpm_[A-Za-z0-9]{30,}",
        r"\beyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}",
        r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----(?s:.*?)(?:-----END [A-Z0-9 ]*PRIVATE KEY-----|\z)",
        r"(?i:\bbearer)(?:\s|%20|\+)+(?P<secret>[A-Za-z0-9._~+/=-]{8,})",
    ];
    Regex::new(&format!("(?-u){}", shapes.join("|"))).ok()
});

/// A header's name before its value, in a text.
static HEADER: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r#"(?-u)(?i:\b(?:proxy-)?authorization|\b(?:set-)?cookie)(?P<quote>\\*["'])?[ \t]*(?P<sign>[:=])[ \t]*"#)
        .ok()
});

/// Whether the value of a field of this name is secret. Of a dotted name (`http.request.header.authorization`) the
/// last part counts; `_` reads as `-`, and case does not matter.
pub(in crate::journal) fn is_secret_name(name: &str) -> bool {
    let last = name.rsplit('.').next().unwrap_or(name).as_bytes();
    let fold = |byte: &u8| match byte.to_ascii_lowercase() {
        b'_' => b'-',
        other => other,
    };
    (6..=19).contains(&last.len())
        && NAMES.iter().any(|known| known.len() == last.len() && last.iter().map(fold).eq(known.bytes()))
}

/// Calls `emit` with every stretch of `text` that looks secret, and with where the text begins that makes it look so.
pub(super) fn find(text: &[u8], mut emit: impl FnMut(usize, Range<usize>)) {
    if let Some(shapes) = &*SHAPES {
        for hit in shapes.captures_iter(text) {
            if let Some(secret) = hit.name("secret").or_else(|| hit.get(0)) {
                let context = hit.get(0).map_or(secret.start(), |all| all.start());
                emit(context, secret.range());
            }
        }
    }
    if let Some(header) = &*HEADER {
        let mut from = 0;
        while let Some(hit) = header.captures_at(text, from) {
            let Some(all) = hit.get(0) else { break };
            from = all.end();
            let range = value(text, all.end());
            // `cookie = x` is prose or arithmetic more often than a header; `cookie = "x"` is code.
            let assigned = hit.name("sign").is_some_and(|sign| sign.as_bytes() == b"=");
            let quoted = range.start > all.end();
            if !range.is_empty() && (quoted || !assigned) {
                from = range.end;
                emit(all.start(), range);
            }
        }
    }
}

/// The value that begins at `start`: up to the quote that ends it where it is quoted, else to the end of the line.
fn value(text: &[u8], start: usize) -> Range<usize> {
    let slashes = text[start..].iter().take_while(|&&b| b == b'\\').count();
    let quote = text.get(start + slashes).copied();
    let line = |from: usize| {
        let rest = &text[from..];
        from + rest.iter().position(|b| matches!(b, b'\r' | b'\n')).unwrap_or(rest.len())
    };
    let Some(quote @ (b'"' | b'\'')) = quote else {
        return start..line(start);
    };
    let from = start + slashes + 1;
    // A quote inside the value carries more backslashes than the one that opened it: with `n` before the opening one,
    // the closing one has `n` modulo `2(n + 1)`, the rest being escaped backslashes of the value.
    let mut run = 0;
    for (at, &byte) in text.iter().enumerate().skip(from) {
        match byte {
            b'\\' => run += 1,
            _ if byte == quote && run % (2 * (slashes + 1)) == slashes => {
                return from..(at - slashes).max(from);
            }
            _ => run = 0,
        }
    }
    from..text.len()
}
