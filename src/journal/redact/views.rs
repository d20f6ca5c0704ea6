//! The ways a secret may be spelt: a text is searched as it stands and as it decodes, and what is found in a decoded
//! view is mapped back. Decoding finds every mixture of escapes in any case, which no list of encodings would.

use std::ops::Range;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE};

/// A decoded text, and where each of its bytes came from.
pub(super) struct View {
    pub(super) bytes: Vec<u8>,
    /// One more than `bytes`: the last is the end of the original.
    from: Vec<u32>,
}

impl View {
    /// The stretch of the original that a stretch of the view came from.
    pub(super) fn original(&self, range: Range<usize>) -> Range<usize> {
        self.from[range.start] as usize..self.from[range.end] as usize
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Code {
    Json,
    Percent,
    Form,
}

/// How many layers of escapes are taken off: a text escaped twice for JSON, in an address.
const LAYERS: u32 = 3;

/// Calls `look` with every view of `text` but itself: decoded up to [`LAYERS`] times, in every order.
pub(super) fn each(text: &[u8], spaced: bool, mut look: impl FnMut(&View)) {
    if u32::try_from(text.len()).is_ok() {
        deeper(text, None, spaced, LAYERS, &mut look);
    }
}

fn deeper(text: &[u8], outer: Option<&[u32]>, spaced: bool, layers: u32, look: &mut impl FnMut(&View)) {
    for code in codes(text, spaced) {
        let mut view = decode(text, code);
        if view.bytes == text {
            continue;
        }
        if let Some(outer) = outer {
            view.from.iter_mut().for_each(|from| *from = outer[*from as usize]);
        }
        look(&view);
        if layers > 1 {
            deeper(&view.bytes, Some(&view.from), spaced, layers - 1, look);
        }
    }
}

fn codes(text: &[u8], spaced: bool) -> impl Iterator<Item = Code> {
    let json = text.contains(&b'\\').then_some(Code::Json);
    let percent = text.contains(&b'%').then_some(Code::Percent);
    let form = (spaced && text.contains(&b'+')).then_some(Code::Form);
    [json, percent, form].into_iter().flatten()
}

fn decode(text: &[u8], code: Code) -> View {
    let mut view = View { bytes: Vec::with_capacity(text.len()), from: Vec::with_capacity(text.len() + 1) };
    let mut at = 0;
    while at < text.len() {
        let rest = &text[at..];
        let mut wide = [0; 4];
        let (bytes, took): (&[u8], usize) = match (code, rest[0]) {
            (Code::Json, b'\\') => json_escape(rest, &mut wide),
            (Code::Percent | Code::Form, b'%') => match rest.get(1..3).and_then(hex_byte) {
                Some(byte) => {
                    wide[0] = byte;
                    (&wide[..1], 3)
                }
                None => (&rest[..1], 1),
            },
            (Code::Form, b'+') => (b" ", 1),
            _ => (&rest[..1], 1),
        };
        view.bytes.extend_from_slice(bytes);
        // The length was checked to fit before.
        view.from.extend(std::iter::repeat_n(at as u32, bytes.len()));
        at += took;
    }
    view.from.push(text.len() as u32);
    view
}

/// What the escape at the start of `rest` stands for, and its length. What is no escape stands for itself.
fn json_escape<'a>(rest: &'a [u8], wide: &'a mut [u8; 4]) -> (&'a [u8], usize) {
    let short: &[u8] = match rest.get(1) {
        Some(b'"') => b"\"",
        Some(b'\\') => b"\\",
        Some(b'/') => b"/",
        Some(b'b') => b"\x08",
        Some(b'f') => b"\x0c",
        Some(b'n') => b"\n",
        Some(b'r') => b"\r",
        Some(b't') => b"\t",
        Some(b'u') => {
            let (unit, took) = match (unit(rest), rest.get(6..).and_then(unit)) {
                (Some(high @ 0xd800..0xdc00), Some(low @ 0xdc00..0xe000)) => {
                    (0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00), 12)
                }
                (Some(unit), _) => (unit, 6),
                (None, _) => return (&rest[..1], 1),
            };
            return match char::from_u32(unit) {
                Some(letter) => (letter.encode_utf8(wide).as_bytes(), took),
                None => (&rest[..1], 1),
            };
        }
        _ => return (&rest[..1], 1),
    };
    (short, 2)
}

/// The code unit of a `\uXXXX` at the start of `text`.
fn unit(text: &[u8]) -> Option<u32> {
    let digits = text.strip_prefix(b"\\u")?.get(..4)?;
    Some(u32::from(hex_byte(&digits[..2])?) << 8 | u32::from(hex_byte(&digits[2..])?))
}

fn hex_byte(digits: &[u8]) -> Option<u8> {
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let (high, low) = (digit(*digits.first()?)?, digit(*digits.get(1)?)?);
    u8::try_from(high << 4 | low).ok()
}

/// The characters of base64 that a secret alone decides, at each of the three places where it may begin in a group of
/// three bytes, in both alphabets. Short secrets have none that would not turn up by chance.
pub(super) fn base64(secret: &str) -> Vec<Vec<u8>> {
    if secret.len() < 8 {
        return Vec::new();
    }
    let mut forms = Vec::new();
    for lead in 0..3usize {
        let bytes = [&b"\0\0"[..lead], secret.as_bytes()].concat();
        // The first characters also hold bits of what stands before, the last ones of what comes after.
        let (skip, keep) = ((lead * 8).div_ceil(6), bytes.len() * 8 / 6);
        for text in [STANDARD.encode(&bytes), URL_SAFE.encode(&bytes)] {
            let form = text.as_bytes()[skip..keep].to_vec();
            if !forms.contains(&form) {
                forms.push(form);
            }
        }
    }
    forms
}
