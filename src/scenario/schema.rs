//! JSON Schemas of the files users write, from the wire structs themselves, so that an editor and the loader agree.

use serde_json::Value;

use super::file::{contract::ContractFile, model::ScriptFile, scenario::ScenarioFile};

/// Which file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SchemaKind {
    /// `contract.yaml`
    Contract,
    /// `NAME.scenario.yaml`
    Scenario,
    /// `model.yaml`
    Model,
}

/// The schema, draft 2020-12.
pub fn schema(kind: SchemaKind) -> Value {
    match kind {
        SchemaKind::Contract => schemars::schema_for!(ContractFile).to_value(),
        SchemaKind::Scenario => schemars::schema_for!(ScenarioFile).to_value(),
        SchemaKind::Model => schemars::schema_for!(ScriptFile).to_value(),
    }
}
