//! The words of an SQL text, as far as they must be told apart before SQLite sees it: where a statement may end, and
//! whether a date function is given the wall clock. What a statement means is SQLite's to say, never decided here.

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A keyword, a name without quotes, or a number.
    Word,
    /// `'text'`.
    Text,
    /// A quoted name: `"a"`, `` `a` `` or `[a]`.
    Quoted,
    /// Any other single character.
    Symbol,
}

/// One token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Token<'a> {
    pub kind: Kind,
    /// As written, quotes included.
    pub text: &'a str,
    /// Byte offset.
    pub at: usize,
}

impl Token<'_> {
    fn is(&self, symbol: &str) -> bool {
        self.kind == Kind::Symbol && self.text == symbol
    }

    /// Whether it is one of these names, quoted or not.
    fn is_name(&self, names: &[&str]) -> bool {
        let bare = self.text.trim_matches(['"', '`', '[', ']']);
        matches!(self.kind, Kind::Word | Kind::Quoted)
            && names.iter().any(|name| name.eq_ignore_ascii_case(bare))
    }

    fn is_text(&self, words: &[&str]) -> bool {
        self.kind == Kind::Text
            && words.iter().any(|word| self.text.trim_matches('\'').eq_ignore_ascii_case(word))
    }
}

/// The tokens of `sql`, without white space and comments. An unterminated quote or comment runs to the end.
pub(super) fn tokens(sql: &str) -> Vec<Token<'_>> {
    let bytes = sql.as_bytes();
    let mut found = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let (end, kind) = match bytes[at] {
            b if b.is_ascii_whitespace() => (at + 1, None),
            b'-' if bytes.get(at + 1) == Some(&b'-') => (until(bytes, at, b"\n"), None),
            b'/' if bytes.get(at + 1) == Some(&b'*') => (until(bytes, at + 2, b"*/"), None),
            b'\'' => (quoted(bytes, at, b'\''), Some(Kind::Text)),
            quote @ (b'"' | b'`') => (quoted(bytes, at, quote), Some(Kind::Quoted)),
            b'[' => (until(bytes, at, b"]"), Some(Kind::Quoted)),
            b if is_word(b) => {
                let length = bytes[at..].iter().take_while(|b| is_word(**b)).count();
                (at + length, Some(Kind::Word))
            }
            _ => (at + 1, Some(Kind::Symbol)),
        };
        if let Some(kind) = kind {
            found.push(Token { kind, text: &sql[at..end], at });
        }
        at = end;
    }
    found
}

// SQLite's own rule for identifiers: every byte of a multi-byte character belongs to the word, so that no token can
// end inside one.
fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$' || byte >= 0x80
}

fn until(bytes: &[u8], from: usize, end: &[u8]) -> usize {
    bytes[from.min(bytes.len())..]
        .windows(end.len())
        .position(|window| window == end)
        .map_or(bytes.len(), |found| from + found + end.len())
}

fn quoted(bytes: &[u8], from: usize, quote: u8) -> usize {
    let mut at = from + 1;
    while at < bytes.len() {
        if bytes[at] == quote {
            if bytes.get(at + 1) != Some(&quote) {
                return at + 1;
            }
            at += 1;
        }
        at += 1;
    }
    bytes.len()
}

/// SQLite's date functions, each with the positions of its time values.
pub(super) const DATE_FUNCTIONS: &[(&str, &[usize])] = &[
    ("date", &[0]),
    ("time", &[0]),
    ("datetime", &[0]),
    ("julianday", &[0]),
    ("unixepoch", &[0]),
    ("strftime", &[1]),
    ("timediff", &[0, 1]),
];

/// Time values that mean the wall clock.
pub(super) const WALL_CLOCK: &[&str] = &["now", "subsec", "subsecond"];

/// Modifiers that mean the machine's time zone.
pub(super) const ZONED: &[&str] = &["localtime", "utc"];

/// Functions that may answer the same question differently: on another connection or version of SQLite, or each time.
pub(super) const INCONSTANT: &[&str] = &[
    "changes",
    "last_insert_rowid",
    "random",
    "randomblob",
    "sqlite_compileoption_get",
    "sqlite_compileoption_used",
    "sqlite_log",
    "sqlite_offset",
    "sqlite_source_id",
    "sqlite_version",
    "total_changes",
];

/// The time without a function.
pub(super) const CURRENT: &[&str] = &["current_date", "current_time", "current_timestamp"];

/// The first call, if any, of a function that gives no constant answer: its name as written.
pub(super) fn inconstant(sql: &str) -> Option<&str> {
    let tokens = tokens(sql);
    let calls = tokens.windows(2).filter(|pair| pair[1].is("(") && pair[0].is_name(INCONSTANT));
    calls.map(|pair| pair[0].text).next()
}

/// The first use of the current time, date or timestamp, as written.
pub(super) fn current_time(sql: &str) -> Option<&str> {
    let is_current = |token: &Token<'_>| token.kind == Kind::Word && token.is_name(CURRENT);
    tokens(sql).into_iter().find(is_current).map(|token| token.text)
}

/// The first call of a date function that plainly reads the wall clock or the machine's time zone: as written.
///
/// Only literals are seen here. A value that turns out to be `now` when the statement runs is refused then, by the
/// functions themselves.
pub(super) fn wall_clock(sql: &str) -> Option<String> {
    let tokens = tokens(sql);
    tokens.windows(2).enumerate().find_map(|(i, pair)| {
        let (_, positions) =
            DATE_FUNCTIONS.iter().find(|(function, _)| pair[1].is("(") && pair[0].is_name(&[*function]))?;
        let arguments = arguments(&tokens[i + 2..]);
        let reads_clock = |at: usize| match arguments.get(at) {
            None => true,
            Some(&[only]) => only.is_text(WALL_CLOCK),
            Some(_) => false,
        };
        let zoned = arguments.iter().any(|argument| matches!(argument, [only] if only.is_text(ZONED)));
        (zoned || positions.iter().any(|at| reads_clock(*at)))
            .then(|| call_text(sql, &tokens[i..], &arguments))
    })
}

/// The arguments of a call, given what follows its opening parenthesis.
fn arguments<'t, 'a>(tokens: &'t [Token<'a>]) -> Vec<&'t [Token<'a>]> {
    let mut found = Vec::new();
    let (mut depth, mut start) = (0usize, 0);
    for (i, token) in tokens.iter().enumerate() {
        if token.is("(") {
            depth += 1;
        } else if depth == 0 && (token.is(",") || token.is(")")) {
            if i > start || token.is(",") {
                found.push(&tokens[start..i]);
            }
            start = i + 1;
            if token.is(")") {
                break;
            }
        } else if token.is(")") {
            depth -= 1;
        }
    }
    found
}

fn call_text(sql: &str, from: &[Token<'_>], arguments: &[&[Token<'_>]]) -> String {
    let start = from[0].at;
    let end = arguments
        .last()
        .and_then(|last| last.last())
        .map_or(from[1].at + 1, |token| token.at + token.text.len());
    format!("{})", &sql[start..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(sql: &str) -> Vec<&str> {
        tokens(sql).iter().map(|token| token.text).collect()
    }

    #[test]
    fn quotes_and_comments_hold_no_statement_ends() {
        assert_eq!(
            texts("SELECT 'a;''b', \"c;\"\"d\", [e;f], `g;` -- h;\n/* i; */;"),
            ["SELECT", "'a;''b'", ",", "\"c;\"\"d\"", ",", "[e;f]", ",", "`g;`", ";"]
        );
    }

    #[test]
    fn what_never_closes_runs_to_the_end() {
        for sql in ["'a;", "\"a;", "[a;", "/* a;", "-- a;"] {
            assert!(tokens(sql).len() <= 1, "{sql}");
        }
    }

    #[test]
    fn only_calls_count_and_only_time_values_mean_the_clock() {
        for (sql, call) in [
            ("SELECT date('now')", Some("date('now')")),
            ("SELECT \"DATE\"('Now', '+1 day')", Some("\"DATE\"('Now', '+1 day')")),
            ("SELECT datetime()", Some("datetime()")),
            ("SELECT strftime('%s')", Some("strftime('%s')")),
            ("SELECT strftime('%s', 'subsec')", Some("strftime('%s', 'subsec')")),
            ("SELECT timediff(a, 'now')", Some("timediff(a, 'now')")),
            ("SELECT date(f(1, (2)), 'utc')", Some("date(f(1, (2)), 'utc')")),
            ("SELECT strftime('now', a), date(a, 'subsec'), date FROM time", None),
            ("SELECT 'date(''now'')' -- date('now')", None),
            ("SELECT update_('now'), date(a || 'now')", None),
        ] {
            assert_eq!(wall_clock(sql).as_deref(), call, "{sql}");
        }
        assert_eq!(inconstant("SELECT [RANDOM] (), random"), Some("[RANDOM]"));
        assert_eq!(inconstant("SELECT random, 'random()' FROM changes"), None);
        assert_eq!(current_time("SELECT Current_Date"), Some("Current_Date"));
        assert_eq!(current_time("SELECT \"current_date\", 'current_date'"), None);
    }

    proptest::proptest! {
        #[test]
        fn tokens_are_pieces_of_the_text_in_order(sql in "[a-zé'\"`\\[\\]*/;() \n-]{0,40}") {
            let mut at = 0;
            for token in tokens(&sql) {
                proptest::prop_assert!(token.at >= at && !token.text.is_empty());
                proptest::prop_assert_eq!(&sql[token.at..token.at + token.text.len()], token.text);
                at = token.at + token.text.len();
            }
            let _ = wall_clock(&sql);
        }
    }
}
