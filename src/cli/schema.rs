//! `mocktrial schema KIND`.

use super::Told;
use super::print::say;
use crate::report::json;
use crate::verdict::Exit;
use crate::{record, scenario};

/// Print the JSON Schema of a file format
#[derive(clap::Args)]
pub struct Args {
    /// Which format
    #[arg(value_enum)]
    kind: Kind,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum Kind {
    /// contract.yaml
    Contract,
    /// NAME.scenario.yaml
    Scenario,
    /// The script of a model
    Model,
    /// A row of a record
    Record,
    /// `report --json`
    Report,
}

impl Args {
    pub(super) fn run(self) -> Result<Exit, Told> {
        let schema = match self.kind {
            Kind::Contract => scenario::schema(scenario::SchemaKind::Contract),
            Kind::Scenario => scenario::schema(scenario::SchemaKind::Scenario),
            Kind::Model => scenario::schema(scenario::SchemaKind::Model),
            Kind::Record => record::schema(),
            Kind::Report => json::schema(),
        };
        say!("{schema:#}");
        Ok(Exit::Passed)
    }
}
