//! Bodies damaged as wires and hostile hands damage them: nothing panics or hangs, and what comes out is sound.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;
use prost::Message;

use super::arbitrary::spans;
use super::*;
use crate::spans::file::SpanReader;

const ATTRIBUTE: usize = 4096;

/// One damage done to a body.
#[derive(Clone, Debug)]
enum Damage {
    Flip(Index, u8),
    Set(Index, u8),
    Truncate(Index),
    /// A part of the body, copied to another place of it.
    Splice(Index, Index, Index),
    Remove(Index, Index),
}

fn damage() -> impl Strategy<Value = Damage> {
    let place = any::<Index>;
    prop_oneof![
        4 => (place(), 0..8u8).prop_map(|(at, bit)| Damage::Flip(at, bit)),
        2 => (place(), any::<u8>()).prop_map(|(at, byte)| Damage::Set(at, byte)),
        1 => place().prop_map(Damage::Truncate),
        2 => (place(), place(), place()).prop_map(|(from, to, at)| Damage::Splice(from, to, at)),
        1 => (place(), place()).prop_map(|(from, to)| Damage::Remove(from, to)),
    ]
}

fn damaged(mut body: Vec<u8>, damages: Vec<Damage>) -> Vec<u8> {
    for damage in damages {
        if body.is_empty() {
            break;
        }
        let len = body.len();
        let range = |from: Index, to: Index| {
            let (a, b) = (from.index(len), to.index(len));
            a.min(b)..a.max(b)
        };
        match damage {
            Damage::Flip(at, bit) => body[at.index(len)] ^= 1 << bit,
            Damage::Set(at, byte) => body[at.index(len)] = byte,
            Damage::Truncate(at) => body.truncate(at.index(len)),
            Damage::Splice(from, to, at) => {
                let part = body[range(from, to)].to_vec();
                let at = at.index(len);
                body.splice(at..at, part);
            }
            Damage::Remove(from, to) => drop(body.drain(range(from, to))),
        }
    }
    body
}

/// Two valid bodies, one put into the other at any place, or one of ours made up.
fn body(
    encode: fn(&ExportTraceServiceRequest) -> Vec<u8>,
    real: &'static [&'static [u8]],
) -> BoxedStrategy<Vec<u8>> {
    let made = spans().prop_map(move |spans| encode(&request(&spans)));
    let one = prop_oneof![made, proptest::sample::select(real).prop_map(<[u8]>::to_vec)];
    let spliced = (one.clone(), spans(), any::<Index>()).prop_map(move |(mut into, spans, at)| {
        let at = at.index(into.len() + 1);
        into.splice(at..at, encode(&request(&spans)));
        into
    });
    prop_oneof![3 => one, 1 => spliced].boxed()
}

fn protobuf() -> BoxedStrategy<Vec<u8>> {
    body(
        Message::encode_to_vec,
        &[
            include_bytes!("../../../tests/spans/adk.pb"),
            include_bytes!("../../../tests/spans/vercel.pb"),
            include_bytes!("../../../tests/spans/mastra.pb"),
        ],
    )
}

fn json() -> BoxedStrategy<Vec<u8>> {
    body(
        |request| serde_json::to_vec(request).expect("JSON"),
        &[include_bytes!("../../../tests/spans/adk.jsonl")],
    )
}

fn sound(batch: &Batch, body: &[u8]) -> Result<(), TestCaseError> {
    for span in &batch.spans {
        prop_assert!(!span.trace_id.is_zero() && !span.span_id.is_zero());
        prop_assert!(span.parent.is_none_or(|id| !id.is_zero()));
        prop_assert!(span.attributes.0.len() <= 16_384);
        for (key, value) in &span.attributes.0 {
            // Three bytes replace one where it is no UTF-8.
            prop_assert!(key.len() <= 3 * ATTRIBUTE);
            if let AttrValue::Str(text) = value {
                prop_assert!(text.len() <= 3 * ATTRIBUTE);
            }
        }
        // A span cannot weigh much more than the bytes that made it, whatever they say of themselves.
        prop_assert!(weight(span) <= 128 + 32 * body.len() as u64);
        let row = to_otlp_json(span);
        if !row.to_string().contains("NaN") {
            let back = span_from_json(&row, &span.scope, &span.resource);
            prop_assert_eq!(back.as_ref(), Ok(span));
        }
    }
    Ok(())
}

fn decoder() -> Decoder {
    Decoder::new(ATTRIBUTE, Ids::HexOrBase64)
}

proptest! {
    #[test]
    fn damaged_protobuf_is_read_or_refused(body in protobuf(), damages in vec(damage(), 1..8)) {
        let body = damaged(body, damages);
        if let Ok(batch) = decoder().protobuf(&body) {
            sound(&batch, &body)?;
        }
    }

    #[test]
    fn damaged_json_is_read_or_refused(body in json(), damages in vec(damage(), 1..8)) {
        let body = damaged(body, damages);
        if let Ok(batch) = decoder().json(&body) {
            sound(&batch, &body)?;
        }
    }

    #[test]
    fn a_damaged_file_comes_to_an_end(body in prop_oneof![protobuf(), json()], damages in vec(damage(), 0..8)) {
        let body = damaged(body, damages);
        let mut records = 0;
        for record in SpanReader::new(&body[..], ATTRIBUTE).expect("memory can be read") {
            records += 1;
            prop_assert!(records <= body.len() + 1);
            if let Ok(batch) = record {
                sound(&batch, &body)?;
            }
        }
    }

    #[test]
    fn bytes_of_no_kind_are_read_or_refused(body in vec(any::<u8>(), 0..400)) {
        let _ = decoder().protobuf(&body);
        let _ = decoder().json(&body);
        prop_assert!(SpanReader::new(&body[..], ATTRIBUTE).expect("memory").count() <= body.len() + 1);
    }
}
