//! The order of keys: by UTF-16 code units (RFC 8785, 3.2.3). It differs from the order of bytes where a character
//! beyond U+FFFF meets one from U+E000 to U+FFFF.

use std::cmp::Ordering;

/// Compares two keys as they stand in a line, escaped and without quotes.
pub(super) fn escaped_keys(a: &[u8], b: &[u8]) -> Ordering {
    if plain(a) && plain(b) {
        return a.cmp(b);
    }
    units(a).cmp(&units(b))
}

fn plain(key: &[u8]) -> bool {
    key.iter().all(|&byte| byte < 0x80 && byte != b'\\')
}

/// The code units a key stands for. Keys come here only after they were written or checked as canonical, so a text
/// that is none cannot occur; it would compare by its own bytes.
fn units(key: &[u8]) -> Vec<u16> {
    let quoted = [b"\"", key, b"\""].concat();
    serde_json::from_slice::<String>(&quoted).map_or_else(
        |_| key.iter().map(|&byte| u16::from(byte)).collect(),
        |text| text.encode_utf16().collect(),
    )
}
