//! Server-sent events (WHATWG HTML, 9.2), written and read as far as MCP uses them: the data of each event.

use hyper::body::Bytes;
use serde_json::Value;

/// One message as an event.
pub fn event(message: &Value) -> Bytes {
    // JSON text holds no line break.
    Bytes::from(format!("event: message\ndata: {message}\n\n"))
}

/// An event is longer than may be.
#[derive(Debug, PartialEq, Eq)]
pub struct TooLong;

/// Reads events out of pieces of any size.
#[derive(Debug)]
pub struct Events {
    line: Vec<u8>,
    data: Vec<u8>,
    has_data: bool,
    after_return: bool,
    at_most: usize,
    ready: std::collections::VecDeque<Vec<u8>>,
}

impl Events {
    /// `at_most`: bytes of one event.
    pub fn new(at_most: u64) -> Self {
        Self {
            line: Vec::new(),
            data: Vec::new(),
            has_data: false,
            after_return: false,
            at_most: usize::try_from(at_most).unwrap_or(usize::MAX),
            ready: std::collections::VecDeque::new(),
        }
    }

    /// Takes the next piece.
    pub fn push(&mut self, piece: &[u8]) -> Result<(), TooLong> {
        for byte in piece {
            // A line ends with CR, LF, or both.
            let second = std::mem::take(&mut self.after_return) && *byte == b'\n';
            match byte {
                _ if second => {}
                b'\r' | b'\n' => {
                    self.after_return = *byte == b'\r';
                    self.end_line();
                }
                _ => self.line.push(*byte),
            }
            if self.line.len() + self.data.len() > self.at_most {
                return Err(TooLong);
            }
        }
        Ok(())
    }

    fn end_line(&mut self) {
        let line = std::mem::take(&mut self.line);
        if line.is_empty() {
            let data = std::mem::take(&mut self.data);
            if std::mem::take(&mut self.has_data) && !data.is_empty() {
                self.ready.push_back(data);
            }
            return;
        }
        let line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&line);
        let value = match line.strip_prefix(b"data") {
            Some([]) => &[][..],
            Some([b':', b' ', rest @ ..] | [b':', rest @ ..]) => rest,
            _ => return,
        };
        if std::mem::replace(&mut self.has_data, true) {
            self.data.push(b'\n');
        }
        self.data.extend_from_slice(value);
    }

    /// The data of the next whole event.
    pub fn next(&mut self) -> Option<Vec<u8>> {
        self.ready.pop_front()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn read(text: &[u8], at: usize) -> Vec<String> {
        let mut events = Events::new(1 << 20);
        let (head, tail) = text.split_at(at.min(text.len()));
        events.push(head).expect("short");
        events.push(tail).expect("short");
        std::iter::from_fn(|| events.next()).map(|data| String::from_utf8(data).expect("UTF-8")).collect()
    }

    #[test]
    fn comments_ids_and_empty_events_say_nothing() {
        let text = b"\xef\xbb\xbf: ping\n\nid: 1\nretry: 5\ndata:\n\ndata: a\r\ndata:b\r\n\r\nevent: x\rdata: c\r\rdata: never ended";
        assert_eq!(read(text, 0), ["a\nb", "c"]);
    }

    #[test]
    fn an_event_without_end_is_bounded() {
        assert_eq!(Events::new(10).push(b"data: 0123456789"), Err(TooLong));
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_wherever_it_is_cut(texts in prop::collection::vec(".*", 1..4), at in 0usize..80) {
            let written: Vec<u8> = texts.iter().flat_map(|text| event(&json!({ "t": text })).to_vec()).collect();
            let wanted: Vec<String> = texts.iter().map(|text| json!({ "t": text }).to_string()).collect();
            prop_assert_eq!(read(&written, at), wanted);
        }
    }
}
