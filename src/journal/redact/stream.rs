//! Redaction of a stream that comes in pieces: a secret split over two writes is still one secret.

use std::sync::Arc;

use super::{Redactor, floor, replace};

/// Holds back what may still become a secret, and gives the rest out redacted. One per stream.
#[derive(Debug)]
pub struct StreamRedactor {
    redactor: Arc<Redactor>,
    pub(super) text: String,
    /// The first bytes of a character whose rest has not come.
    partial: Vec<u8>,
    hold: usize,
    /// The length at which to look again.
    look_at: usize,
    /// Inside a secret that was longer than [`Self::MOST`]: nothing more of its line is given out.
    dropping: bool,
}

impl StreamRedactor {
    /// The least that is held back: more than any shape that is recognised within a line and not secret as a whole.
    const HOLD: usize = 4 << 10;
    /// The longest secret of a known shape that is waited for.
    const MOST: usize = 64 << 10;
    /// The longest word that is kept whole without being secret.
    const WORD: usize = 1 << 10;

    /// Starts a stream.
    pub fn new(redactor: Arc<Redactor>) -> Self {
        // The longest spelling of a byte: six characters (`\\u00xx`), each percent-encoded twice more.
        let hold = redactor.longest.saturating_mul(54).max(Self::HOLD);
        Self { redactor, text: String::new(), partial: Vec::new(), hold, look_at: 2 * hold, dropping: false }
    }

    /// Takes a piece, gives out what can be given; bytes that are no UTF-8 become U+FFFD.
    pub fn push(&mut self, piece: &[u8]) -> String {
        self.decode(piece);
        // Looking only when as much again has come keeps the whole linear in the stream, however small the pieces.
        if self.text.len() < self.look_at {
            return String::new();
        }
        let shown = self.give(self.text.len() - self.hold);
        self.look_at = 2 * self.text.len().max(self.hold);
        shown
    }

    /// The end of the stream: gives out what was held.
    pub fn finish(mut self) -> String {
        if !self.partial.is_empty() {
            self.text.push(char::REPLACEMENT_CHARACTER);
        }
        self.give(self.text.len())
    }

    fn decode(&mut self, piece: &[u8]) {
        let mut bytes = std::mem::take(&mut self.partial);
        bytes.extend_from_slice(piece);
        let mut rest = &bytes[..];
        loop {
            let error = match std::str::from_utf8(rest) {
                Ok(text) => return self.text.push_str(text),
                Err(error) => error,
            };
            let (good, bad) = rest.split_at(error.valid_up_to());
            self.text.push_str(&String::from_utf8_lossy(good));
            let Some(length) = error.error_len() else {
                self.partial = bad.to_vec();
                return;
            };
            self.text.push(char::REPLACEMENT_CHARACTER);
            rest = &bad[length..];
        }
    }

    /// Gives out the first `cut` bytes or less: nothing is cut inside a secret or between it and what makes it one.
    fn give(&mut self, cut: usize) -> String {
        if self.dropping {
            match self.text.find('\n') {
                Some(end) => self.text.drain(..end),
                None => self.text.drain(..),
            };
            self.dropping = self.text.is_empty();
        }
        let mut found = self.redactor.find(&self.text);
        let mut cut = floor(&self.text, cut);
        if cut < self.text.len() {
            // What follows is looked at anew without what stood before: a word, unless it is endless, stays whole.
            let from = floor(&self.text, cut.saturating_sub(Self::WORD));
            let space = self.text[from..cut].rfind(char::is_whitespace);
            cut = space.map_or(cut, |space| from + space);
        }
        while let Some(hit) = found.iter().find(|hit| hit.context < cut && cut < hit.range.end) {
            if cut - hit.context > Self::MOST {
                let end = hit.range.end;
                found.retain(|hit| hit.range.end <= end);
                let shown = replace(&self.text[..end], &found);
                self.text.clear();
                self.dropping = true;
                return shown;
            }
            cut = hit.context;
        }
        found.retain(|hit| hit.range.end <= cut);
        let shown = replace(&self.text[..cut], &found);
        self.text.drain(..cut);
        shown
    }
}
