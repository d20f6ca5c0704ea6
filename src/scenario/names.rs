//! Names that were meant: near misses, and globs over the names there are. Decides nothing else about a name.

use globset::{GlobBuilder, GlobMatcher};

/// ``did you mean `x`?`` for the known name nearest to `written`, where one is near enough to be a slip.
pub fn near_miss<'a>(written: &str, known: impl IntoIterator<Item = &'a str>) -> Option<String> {
    // Bounded, since the distance is quadratic and the text is anyone's.
    if written.len() > 200 {
        return None;
    }
    let folded = written.to_lowercase().replace(['-', ' '], "_");
    known
        .into_iter()
        .filter(|name| name.len() <= 200 && *name != written)
        .map(|name| {
            let plain = name.to_lowercase().replace(['-', ' '], "_");
            (strsim::damerau_levenshtein(&folded, &plain), name)
        })
        .filter(|(distance, name)| *distance <= (name.chars().count().max(3) / 3).min(4))
        .min()
        .map(|(_, name)| format!("did you mean `{name}`?"))
}

/// Whether `text` is a pattern rather than a plain name.
pub fn is_pattern(text: &str) -> bool {
    text.contains(['*', '?', '[', '{', '\\'])
}

/// The pattern compiled as `permit` compiles it: `*` crosses slashes, a backslash only escapes.
pub fn glob(pattern: &str) -> Result<GlobMatcher, String> {
    GlobBuilder::new(pattern)
        .literal_separator(false)
        .backslash_escape(true)
        .build()
        .map(|glob| glob.compile_matcher())
        .map_err(|error| error.kind().to_string())
}
