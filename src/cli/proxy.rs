//! `mocktrial proxy`: the channels of a contract alone, for trying things by hand.

use std::path::PathBuf;

use serde_json::{Map, Value, json};

use super::print::{complain, say};
use super::{Told, runtime, suite};
use crate::record::SigningKey;
use crate::trial::Bare;
use crate::verdict::Exit;

/// The channels of a contract alone, until Ctrl-C: for trying things by hand
#[derive(clap::Args)]
pub struct Args {
    /// The contract
    #[arg(long, value_name = "FILE")]
    contract: PathBuf,
    /// Where the record goes
    #[arg(long, value_name = "FILE")]
    record: PathBuf,
    /// Sign the seal with the secret key in this file, or in the variable of `env:NAME`
    #[arg(long, value_name = "FILE|env:NAME")]
    sign_key: Option<String>,
}

impl Args {
    pub(super) fn run(self) -> Result<Exit, Told> {
        let (contract, frozen) = suite::contract(&self.contract)?;
        let sign = self.sign_key.as_deref().map(SigningKey::load).transpose().map_err(Told::usage)?;
        runtime()?.block_on(async {
            let bare =
                Bare::open(&contract, &frozen, Some(&self.record), sign).await.map_err(Told::trouble)?;
            let mut workers = Map::new();
            let mut line = json!({});
            for (worker, address) in bare.channels.addresses() {
                match worker {
                    Some(id) => drop(workers.insert(id.to_string(), address.into())),
                    None => line["shared"] = address.into(),
                }
            }
            line["workers"] = Value::Object(workers);
            let tokens: Map<String, Value> =
                bare.channels.tokens().map(|(id, token)| (id.to_string(), token.expose().into())).collect();
            if !tokens.is_empty() {
                line["tokens"] = Value::Object(tokens);
            }
            say!("{line}");
            super::asked_to_stop().await?;
            let sealed = bare.close().await.map_err(Told::trouble)?;
            complain!("{} rows, sealed in {}", sealed.rows, self.record.display());
            Ok(Exit::Passed)
        })
    }
}
