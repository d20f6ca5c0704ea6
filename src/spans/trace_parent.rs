//! The span a call was made in, from its `traceparent` (W3C Trace Context, level 1). Read, never changed or invented.

use http::HeaderMap;

use super::{SpanId, TraceId};

/// Ids of the caller's span.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceParent {
    /// Never all zero.
    pub trace_id: TraceId,
    /// Never all zero.
    pub span_id: SpanId,
}

impl TraceParent {
    /// From the headers; none where there is no header, more than one, or one that breaks the format.
    pub fn of(headers: &HeaderMap) -> Option<Self> {
        let mut all = headers.get_all("traceparent").iter();
        let only = all.next().filter(|_| all.next().is_none())?;
        Self::parse(only.to_str().ok()?)
    }

    /// Of a header's text.
    pub fn parse(text: &str) -> Option<Self> {
        let bytes = text.as_bytes();
        let dash = |at: usize| bytes.get(at) == Some(&b'-');
        // A later version may be longer, after another dash.
        let end = bytes.len() == 55 || (bytes.len() > 55 && dash(55) && !text.starts_with("00"));
        if !(end && dash(2) && dash(35) && dash(52)) || text.starts_with("ff") {
            return None;
        }
        hex::<1>(&bytes[..2])?;
        hex::<1>(&bytes[53..55])?;
        let trace_id = TraceId(hex(&bytes[3..35])?);
        let span_id = SpanId(hex(&bytes[36..52])?);
        (trace_id != TraceId::default() && span_id != SpanId::default()).then_some(Self { trace_id, span_id })
    }
}

/// Lower-case hex only, as the format asks.
fn hex<const N: usize>(digits: &[u8]) -> Option<[u8; N]> {
    let value = |digit: u8| match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        _ => None,
    };
    let mut bytes = [0; N];
    for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
        *byte = value(pair[0])? << 4 | value(pair[1])?;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

    #[test]
    fn ids_are_read_from_a_good_header() {
        let parent = TraceParent::parse(GOOD).expect("good");
        assert_eq!(parent.trace_id.to_string(), "0af7651916cd43dd8448eb211c80319c");
        assert_eq!(parent.span_id.to_string(), "b7ad6b7169203331");
        assert!(TraceParent::parse(&format!("01{}-more", &GOOD[2..])).is_some());
    }

    #[test]
    fn a_header_that_breaks_the_format_names_no_span() {
        for bad in [
            "".to_owned(),
            GOOD[..54].to_owned(),
            format!("{GOOD}-more"),
            GOOD.to_uppercase(),
            GOOD.replacen("00", "ff", 1),
            "00-00000000000000000000000000000000-b7ad6b7169203331-01".to_owned(),
            "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01".to_owned(),
            GOOD.replace('-', "_"),
            format!("é{}", &GOOD[2..]),
        ] {
            assert_eq!(TraceParent::parse(&bad), None, "{bad}");
        }
    }
}
