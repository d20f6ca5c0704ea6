//! How much of one span is kept: the allowance every decoder draws on, whatever the encoding.
//!
//! Refuses to let a small body become a large memory: texts are cut at `attribute` bytes, the values of a span are
//! counted, nesting ends at [`DEPTH`]. What did not fit is not kept in part of a key, only marked.

use std::sync::Arc;

use super::{AttrValue, Attributes, Span};

/// Values inside values. Deeper ones are left out and the span marked `cut`; real exporters nest two or three.
pub(super) const DEPTH: usize = 16;

/// Attributes, events, links and nested values of one span together. Flattened chat histories reach a few thousand.
const ELEMENTS: usize = 16_384;

/// Texts up to this many bytes are shared between spans: keys, kinds, names of agents and tools.
const SHARED: usize = 64;

/// Recently seen short texts, so that a thousand spans with one key hold it once. Never grows: a slot is overwritten.
pub(super) struct Texts {
    slots: Vec<Option<Arc<str>>>,
}

impl Texts {
    const SLOTS: usize = 512;

    /// Makes room only when the first text comes: rows of a record are each read by a decoder of their own.
    pub(super) fn new() -> Self {
        Self { slots: Vec::new() }
    }

    fn share(&mut self, text: &str) -> Arc<str> {
        if text.len() > SHARED {
            return text.into();
        }
        if self.slots.is_empty() {
            self.slots.resize(Self::SLOTS, None);
        }
        let slot = &mut self.slots[spread(text.as_bytes()) % Self::SLOTS];
        match slot {
            Some(known) if **known == *text => Arc::clone(known),
            _ => Arc::clone(slot.insert(text.into())),
        }
    }
}

/// Where a text's slot is. Not a hash to defend: a collision costs one allocation.
fn spread(bytes: &[u8]) -> usize {
    let mut mixed = bytes.len() as u64;
    for chunk in bytes.chunks(8) {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        mixed = (mixed.rotate_left(5) ^ u64::from_le_bytes(word)).wrapping_mul(0x517c_c1b7_2722_0a95);
    }
    (mixed >> 32) as usize
}

/// What one span may still take. Made anew for each span, resource and scope.
pub(super) struct Allowance<'t> {
    texts: &'t mut Texts,
    /// Most bytes of one attribute, nested values included, and of one name.
    most: usize,
    /// What the attribute in hand may still take.
    left: usize,
    elements: usize,
    /// Whether something did not fit.
    pub(super) cut: bool,
}

impl<'t> Allowance<'t> {
    pub(super) fn new(texts: &'t mut Texts, attribute: usize) -> Self {
        Self { texts, most: attribute, left: attribute, elements: 0, cut: false }
    }

    /// Begins the next attribute, event name or other text of its own.
    pub(super) fn next(&mut self) {
        self.left = self.most;
    }

    /// Room for one more attribute, event, link or nested value; marks the span where there is none.
    pub(super) fn element(&mut self) -> bool {
        self.elements += 1;
        let fits = self.elements <= ELEMENTS;
        self.cut |= !fits;
        fits
    }

    /// A text of its own: a name, a key, a message.
    pub(super) fn own_text(&mut self, bytes: &[u8]) -> Arc<str> {
        self.next();
        self.text(bytes)
    }

    /// A text that counts towards the attribute in hand. What is no UTF-8 is replaced, and the span marked.
    pub(super) fn text(&mut self, bytes: &[u8]) -> Arc<str> {
        let mut kept = bytes;
        if bytes.len() > self.left {
            self.cut = true;
            // One character may straddle the bound: its first bytes go too.
            let mut end = self.left;
            while end > 0 && bytes[end] & 0xc0 == 0x80 {
                end -= 1;
            }
            kept = &bytes[..end];
        }
        self.left -= kept.len();
        match std::str::from_utf8(kept) {
            Ok(text) => self.texts.share(text),
            Err(_) => {
                self.cut = true;
                self.texts.share(&String::from_utf8_lossy(kept))
            }
        }
    }

    /// Bytes that count towards the attribute in hand.
    pub(super) fn bytes(&mut self, bytes: &[u8]) -> Arc<[u8]> {
        let kept = &bytes[..bytes.len().min(self.left)];
        self.cut |= kept.len() < bytes.len();
        self.left -= kept.len();
        kept.into()
    }
}

/// What a span weighs against `limits.span_bytes`: its texts and bytes, 32 for each value and 128 for itself.
///
/// About its size as protobuf for real spans, and never far below its size in memory for hostile ones.
pub fn weight(span: &Span) -> u64 {
    let events: usize =
        span.events.iter().map(|e| 32 + e.name.len() + attributes_weight(&e.attributes)).sum();
    let links: usize = span.links.iter().map(|l| 32 + attributes_weight(&l.attributes)).sum();
    let texts = span.name.len() + span.status_message.len() + span.trace_state.len();
    (128 + texts + attributes_weight(&span.attributes) + events + links) as u64
}

fn attributes_weight(attributes: &Attributes) -> usize {
    let pair = |(key, value): &(Arc<str>, AttrValue)| key.len() + value_weight(value);
    attributes.0.iter().map(pair).sum()
}

fn value_weight(value: &AttrValue) -> usize {
    32 + match value {
        AttrValue::Str(text) => text.len(),
        AttrValue::Bytes(bytes) => bytes.len(),
        AttrValue::List(values) => values.iter().map(value_weight).sum(),
        AttrValue::Map(pairs) => pairs.iter().map(|(k, v)| k.len() + value_weight(v)).sum(),
        AttrValue::Empty | AttrValue::Bool(_) | AttrValue::Int(_) | AttrValue::Double(_) => 0,
    }
}
