//! The JSON Schema of a record's rows (`mocktrial schema record`): one definition per row kind.
//!
//! It says what a reader may rely on. Fields it does not name may be there: old readers ignore them.

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::{Value, json};

use crate::journal::{
    AnswerRow, AttemptRow, ChangeRow, EndRow, EventRow, FindingRow, LaneChangeRow, LaneRow, ModelRow,
    OutcomeRow, OutputRow, PhaseRow, ReplyRow, RowKind, SealRow, SpanRow, TableRow, TrialRow, TurnRow,
    VerdictRow,
};

/// The schema of one line of a record (draft 2020-12).
pub fn schema() -> Value {
    let mut generator = SchemaSettings::draft2020_12().into_generator();
    let rows = [
        row::<TrialRow>(&mut generator),
        row::<TurnRow>(&mut generator),
        row::<ReplyRow>(&mut generator),
        row::<AttemptRow>(&mut generator),
        row::<OutcomeRow>(&mut generator),
        row::<LaneRow>(&mut generator),
        row::<SpanRow>(&mut generator),
        row::<EventRow>(&mut generator),
        row::<TableRow>(&mut generator),
        row::<ChangeRow>(&mut generator),
        row::<LaneChangeRow>(&mut generator),
        row::<FindingRow>(&mut generator),
        row::<OutputRow>(&mut generator),
        row::<ModelRow>(&mut generator),
        row::<AnswerRow>(&mut generator),
        row::<PhaseRow>(&mut generator),
        row::<VerdictRow>(&mut generator),
        row::<EndRow>(&mut generator),
        row::<SealRow>(&mut generator),
    ];
    let definitions = generator.take_definitions(true);
    let digest = json!({ "type": "string", "pattern": "^[0-9a-f]{64}$" });
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A row of a mocktrial record",
        "description": "One line of a record, in RFC 8785 form. Integers beyond 2^53 are decimal strings.",
        "type": "object",
        "required": ["seq", "at", "row", "prev"],
        "properties": {
            "seq": { "type": "integer", "minimum": 1, "description": "The number of the line." },
            "at": { "type": "string", "pattern": "^[0-9]+$", "description": "Unix nanoseconds of harness time." },
            "row": { "type": "string", "description": "The kind of row." },
            "prev": {
                "allOf": [digest],
                "description": "SHA-256 of the line before, without its newline; zeros in the first row.",
            },
        },
        "oneOf": rows,
        "$defs": definitions,
    })
}

fn row<R: RowKind + JsonSchema>(generator: &mut SchemaGenerator) -> Value {
    let body: Schema = generator.subschema_for::<R>();
    json!({ "properties": { "row": { "const": R::ROW } }, "allOf": [body] })
}
