//! Redaction before hashing: no secret, token or header value of that kind reaches a stored byte.
//!
//! Each occurrence becomes a marker `«secret:1a2b3c4d»`: a digest keyed with random bytes of the run, so that one
//! secret shows as one marker throughout a run and guesses cannot be tried against a record. Found are: the contract's
//! secrets and the channels' tokens as they are, JSON-escaped or percent-encoded (each up to twice, and one in the
//! other, any case), form-encoded and in base64; common shapes of keys; and the values of `Authorization`, `Cookie`
//! and their like, as fields and as header lines. Time is linear in the text. What is not found: a secret that the app
//! encrypts, hashes or spells otherwise, and secrets shorter than [`Redactor::SHORTEST`] bytes.

mod patterns;
mod stream;
mod views;

pub use stream::StreamRedactor;

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};
use serde::Serialize;
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::canonical::{CanonicalError, to_vec};

pub(super) use patterns::is_secret_name;

/// The random key of a run's markers.
#[derive(Clone)]
pub struct RedactionKey([u8; 32]);

impl RedactionKey {
    /// A new one from the operating system's randomness.
    pub fn random() -> Result<Self, getrandom::Error> {
        let mut key = [0; 32];
        getrandom::fill(&mut key)?;
        Ok(Self(key))
    }

    /// The marker that stands for `text`. The key has a fixed length and the digest is cut, so that a plain hash over
    /// both is a keyed one.
    pub fn marker(&self, text: &[u8]) -> String {
        let digest = Sha256::new().chain_update(self.0).chain_update(text).finalize();
        let [a, b, c, d, ..] = digest[..] else {
            return "«secret»".to_owned();
        };
        format!("«secret:{a:02x}{b:02x}{c:02x}{d:02x}»")
    }
}

impl fmt::Debug for RedactionKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RedactionKey(…)")
    }
}

/// Whether `text` is nothing but a marker.
fn is_marker(text: &[u8]) -> bool {
    let inner = text.strip_prefix("«secret:".as_bytes()).and_then(|rest| rest.strip_suffix("»".as_bytes()));
    inner.is_some_and(|hex| hex.len() == 8 && hex.iter().all(u8::is_ascii_hexdigit))
}

/// Why no redactor could be made.
#[derive(Debug, thiserror::Error)]
#[error("the secrets are too many or too long to be searched for: {0}")]
pub struct RedactorError(#[from] aho_corasick::BuildError);

/// Knows what is secret in one trial. Never shows it.
pub struct Redactor {
    key: RedactionKey,
    /// Anything at all to look at? All needles and hints, ignoring case: one pass over most texts is the whole cost.
    screen: AhoCorasick,
    needles: AhoCorasick,
    /// Of each needle, the marker of the secret it is a form of.
    markers: Vec<String>,
    /// Some secret holds a space, which forms write `+`.
    spaced: bool,
    longest: usize,
    skipped: usize,
}

impl Redactor {
    /// Secrets shorter than this are not searched for: they would turn up everywhere by chance.
    pub const SHORTEST: usize = 4;

    /// `secrets`: the values of the contract's secrets and the tokens of the trial. Those that are too short are left
    /// out and counted ([`Redactor::skipped`]).
    pub fn new<S: AsRef<str>>(
        key: RedactionKey,
        secrets: impl IntoIterator<Item = S>,
    ) -> Result<Self, RedactorError> {
        let mut needles: Vec<Vec<u8>> = Vec::new();
        let mut markers = Vec::new();
        let (mut spaced, mut longest, mut skipped) = (false, 0, 0);
        for secret in secrets {
            let secret = secret.as_ref();
            if secret.len() < Self::SHORTEST {
                skipped += usize::from(!secret.is_empty());
                continue;
            }
            spaced |= secret.contains(' ');
            longest = longest.max(secret.len());
            let marker = key.marker(secret.as_bytes());
            for needle in std::iter::once(secret.as_bytes().to_vec()).chain(views::base64(secret)) {
                needles.push(needle);
                markers.push(marker.clone());
            }
        }
        let hints = patterns::HINTS.iter().map(|hint| hint.as_bytes());
        let screened = needles.iter().map(Vec::as_slice).chain(hints);
        let size: usize = needles.iter().map(Vec::len).sum();
        // A DFA is the fastest and the largest; beyond this it would take megabytes.
        let kind = (size <= 64 << 10).then_some(AhoCorasickKind::DFA);
        let screen = AhoCorasick::builder().kind(kind).ascii_case_insensitive(true).build(screened)?;
        let needles = AhoCorasick::builder().match_kind(MatchKind::Standard).build(&needles)?;
        Ok(Self { key, screen, needles, markers, spaced, longest, skipped })
    }

    /// How many secrets were too short to be searched for.
    pub fn skipped(&self) -> usize {
        self.skipped
    }

    /// The marker that stands for `text` in this run.
    pub fn marker(&self, text: &str) -> String {
        self.key.marker(text.as_bytes())
    }

    /// `text` with every secret in it replaced.
    pub fn text<'t>(&self, text: &'t str) -> Cow<'t, str> {
        if text.len() < Self::SHORTEST {
            return Cow::Borrowed(text);
        }
        let found = self.find(text);
        if found.is_empty() {
            return Cow::Borrowed(text);
        }
        Cow::Owned(replace(text, &found))
    }

    /// `value` as a reader of the record will see it: redacted, integers that a double would round as texts. Who
    /// concludes from this while the trial runs concludes the same when it is read again.
    pub fn seen<T: Serialize + ?Sized>(&self, value: &T) -> Result<Value, CanonicalError> {
        let form = to_vec(value, Some(self))?;
        serde_json::from_slice(&form).map_err(|error| CanonicalError::Refused(error.to_string()))
    }

    /// A marker for all of `text`: the value of a field that is secret by name.
    pub(super) fn whole<'t>(&self, text: &'t str) -> Cow<'t, str> {
        if text.is_empty() || is_marker(text.as_bytes()) {
            return Cow::Borrowed(text);
        }
        Cow::Owned(self.marker(text))
    }

    /// What is secret in `text`, in order and without overlap.
    fn find(&self, text: &str) -> Vec<Found> {
        let mut found = Vec::new();
        self.search(text.as_bytes(), |hit| found.push(hit));
        views::each(text.as_bytes(), self.spaced, |view| {
            self.search(&view.bytes, |mut hit| {
                hit.context = view.original(hit.context..hit.context).start;
                hit.range = view.original(hit.range);
                found.push(hit);
            });
        });
        merge(text, found)
    }

    fn search(&self, text: &[u8], mut emit: impl FnMut(Found)) {
        if !self.screen.is_match(text) {
            return;
        }
        for hit in self.needles.find_overlapping_iter(text) {
            emit(Found {
                range: hit.range(),
                context: hit.start(),
                marker: self.markers[hit.pattern().as_usize()].clone(),
            });
        }
        patterns::find(text, |context, range| {
            let hit = &text[range.clone()];
            if !is_marker(hit) {
                let marker = self.key.marker(hit);
                emit(Found { range, context, marker });
            }
        });
    }
}

impl fmt::Debug for Redactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Redactor").finish_non_exhaustive()
    }
}

struct Found {
    range: Range<usize>,
    /// Where the text begins without which this would not have been found (a header's name).
    context: usize,
    marker: String,
}

/// `text` with markers in place of `found`, which is in order and without overlap.
fn replace(text: &str, found: &[Found]) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut done = 0;
    for hit in found {
        shown.push_str(&text[done..hit.range.start]);
        shown.push_str(&hit.marker);
        done = hit.range.end;
    }
    shown.push_str(&text[done..]);
    shown
}

/// The start of the character that `at` lies in.
fn floor(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0)
}

/// The end of the character that `at` lies in.
fn ceil(text: &str, at: usize) -> usize {
    (at..text.len()).find(|&at| text.is_char_boundary(at)).unwrap_or(text.len())
}

/// Sorts, unites what overlaps under the marker of the widest first one, and rounds outwards to whole characters.
fn merge(text: &str, mut found: Vec<Found>) -> Vec<Found> {
    found.sort_by_key(|hit| (hit.range.start, std::cmp::Reverse(hit.range.end)));
    let mut merged: Vec<Found> = Vec::new();
    for mut hit in found {
        hit.range = floor(text, hit.range.start)..ceil(text, hit.range.end);
        match merged.last_mut() {
            Some(last) if hit.range.start < last.range.end => {
                last.range.end = last.range.end.max(hit.range.end);
                last.context = last.context.min(hit.context);
            }
            _ => merged.push(hit),
        }
    }
    merged
}

#[cfg(test)]
mod tests;
