//! Reads an event stream (WHATWG HTML, 9.2.6): the `data` of each event, and nothing else of it.

/// Takes bytes as they come and gives events as they end. What no blank line has ended is no event.
#[derive(Default)]
pub(super) struct Parser {
    line: Vec<u8>,
    data: Option<Vec<u8>>,
    after_cr: bool,
    begun: bool,
}

impl Parser {
    /// The `data` of each event that ended within `bytes`. Lines end with CR, LF or both.
    pub(super) fn push(&mut self, bytes: &[u8]) -> Vec<Vec<u8>> {
        let mut events = Vec::new();
        for &byte in bytes {
            let second_half = byte == b'\n' && std::mem::take(&mut self.after_cr);
            self.after_cr = byte == b'\r';
            match byte {
                b'\n' if second_half => {}
                b'\n' | b'\r' => events.extend(self.end_line()),
                _ => self.line.push(byte),
            }
        }
        events
    }

    fn end_line(&mut self) -> Option<Vec<u8>> {
        let line = std::mem::take(&mut self.line);
        let mark: &[u8] = if std::mem::replace(&mut self.begun, true) { b"" } else { b"\xEF\xBB\xBF" };
        let line = line.strip_prefix(mark).unwrap_or(&line);
        if line.is_empty() {
            return self.data.take();
        }
        let colon = line.iter().position(|byte| *byte == b':').unwrap_or(line.len());
        if &line[..colon] == b"data" {
            let value = line.get(colon + 1..).unwrap_or_default();
            let value = value.strip_prefix(b" ").unwrap_or(value);
            match self.data.as_mut() {
                Some(data) => {
                    data.push(b'\n');
                    data.extend_from_slice(value);
                }
                None => self.data = Some(value.to_vec()),
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(text: &str) -> Vec<String> {
        let events = Parser::default().push(text.as_bytes());
        events.into_iter().map(|event| String::from_utf8(event).expect("utf-8")).collect()
    }

    #[test]
    fn only_the_data_of_ended_events_is_read() {
        assert_eq!(read("event: x\nid: 1\ndata: a\ndata:b\n\n: hello\n\ndata\n\n"), ["a\nb", ""]);
        assert_eq!(read("data: cut off"), [""; 0]);
        assert_eq!(read("data: cut off\n"), [""; 0]);
        assert_eq!(read("\u{feff}data:  two blanks\n\n"), [" two blanks"]);
    }

    #[test]
    fn all_three_line_ends_are_line_ends() {
        for end in ["\n", "\r", "\r\n"] {
            assert_eq!(read(&"data: a|data: b||data: c||".replace('|', end)), ["a\nb", "c"]);
        }
    }

    proptest! {
        #[test]
        fn where_the_bytes_are_split_does_not_matter(
            text in "(data: ?[ab]|event: x|:|\r\n|\n|\r){0,30}", at in 0usize..100,
        ) {
            let mut parser = Parser::default();
            let (one, two) = text.as_bytes().split_at(at.min(text.len()));
            let mut events = parser.push(one);
            events.extend(parser.push(two));
            prop_assert_eq!(events, Parser::default().push(text.as_bytes()));
        }
    }
}
