//! The captures beside this test, decoded.

use std::io::{BufRead, BufReader, Cursor};
use std::path::Path;
use std::sync::OnceLock;

use flate2::read::GzDecoder;
use mocktrial::spans::Span;
use mocktrial::spans::file::SpanReader;
use serde_json::Value;

pub struct Capture {
    /// `framework/instrumentation/case`.
    pub name: String,
    pub spans: Vec<Span>,
    pub expected: Vec<Value>,
}

impl std::fmt::Debug for Capture {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.name)
    }
}

/// Every capture, as its line stands in its file.
pub fn lines() -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/captures");
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .expect("captures")
        .map(|entry| entry.expect("entry").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "gz"))
        .collect();
    files.sort();
    let mut lines = Vec::new();
    for path in files {
        let name = path.file_name().and_then(|name| name.to_str()).expect("name");
        let folder = name.trim_end_matches(".jsonl.gz").replacen('-', "/", 1);
        let file = std::fs::File::open(&path).expect("file");
        for line in BufReader::new(GzDecoder::new(file)).lines() {
            lines.push((folder.clone(), line.expect("line")));
        }
    }
    lines
}

/// Every capture, decoded once.
pub fn all() -> &'static [Capture] {
    static ALL: OnceLock<Vec<Capture>> = OnceLock::new();
    ALL.get_or_init(|| lines().into_iter().map(|(folder, line)| parse(&folder, &line)).collect())
}

pub fn parse(folder: &str, line: &str) -> Capture {
    let mut line: Value = serde_json::from_str(line).expect("JSON");
    let case = line["case"].as_str().expect("case");
    let name = format!("{folder}/{case}");
    let requests = line["spans"].as_array().expect("spans");
    let text: String = requests.iter().map(|request| format!("{request}\n")).collect();
    let mut spans = Vec::new();
    for batch in SpanReader::new(Cursor::new(text), 1 << 20).expect("reader") {
        let batch = batch.expect("batch");
        assert_eq!(batch.rejected.total(), 0, "{name}");
        spans.extend(batch.spans);
    }
    let Value::Array(expected) = line["expected"].take() else { panic!("{name}: no rows") };
    Capture { name, spans, expected }
}
