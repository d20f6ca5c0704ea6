//! `mocktrial mcp`: a worker's tools as an MCP server on standard input and output.

use std::path::PathBuf;

use super::{Told, suite};
use crate::name::WorkerId;
use crate::proxy::Bridge;
use crate::record::SigningKey;
use crate::trial::Bare;
use crate::verdict::Exit;

/// A worker's tools as an MCP server on standard input and output
#[derive(clap::Args)]
pub struct Args {
    /// In front of a trial's channel: the variable that holds its address
    #[arg(long, value_name = "NAME", conflicts_with_all = ["contract", "worker", "record"], required_unless_present = "contract")]
    channel_env: Option<String>,
    /// The variable that holds the worker's token, where workers share an address
    #[arg(long, value_name = "NAME", requires = "channel_env")]
    token_env: Option<String>,
    /// Without an app: the contract whose tools are served
    #[arg(long, value_name = "FILE", requires = "worker")]
    contract: Option<PathBuf>,
    /// Without an app: the worker whose channel it is
    #[arg(long, value_name = "ID", requires = "contract")]
    worker: Option<String>,
    /// Where the record goes; without it nothing is kept
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    /// Sign the seal with the secret key in this file, or in the variable of `env:NAME`
    #[arg(long, value_name = "FILE|env:NAME", requires = "record")]
    sign_key: Option<String>,
}

impl Args {
    pub(super) fn run(self) -> Result<Exit, Told> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| Told::trouble(format!("no runtime could be started: {error}")))?;
        let exit = runtime.block_on(async {
            match (&self.channel_env, &self.contract) {
                (Some(name), _) => self.in_front_of(name).await,
                (None, Some(path)) => self.without_an_app(path).await,
                (None, None) => Err(Told::usage("name a channel, or a contract and a worker")),
            }
        });
        // A read of standard input that nobody waits for any more holds nothing up.
        runtime.shutdown_background();
        exit
    }

    async fn in_front_of(&self, name: &str) -> Result<Exit, Told> {
        let read = |name: &str| {
            std::env::var(name).map_err(|_| {
                Told::usage(format!(
                    "the variable {name} is not set; an app under trial passes it on to its MCP servers"
                ))
            })
        };
        let token = self.token_env.as_deref().map(read).transpose()?;
        let bridge = Bridge::new(&read(name)?, token.as_deref())
            .map_err(|error| Told::usage(format!("{name} holds no address of a channel: {error}")))?;
        bridge.serve(tokio::io::stdin(), tokio::io::stdout()).await.map_err(Told::trouble)?;
        Ok(Exit::Passed)
    }

    async fn without_an_app(&self, path: &std::path::Path) -> Result<Exit, Told> {
        let (contract, frozen) = suite::contract(path)?;
        let id = self.worker.as_deref().unwrap_or_default();
        let worker = WorkerId::new(id).map_err(|error| Told::usage(format!("--worker {id}: {error}")))?;
        let sign = self.sign_key.as_deref().map(SigningKey::load).transpose().map_err(Told::usage)?;
        let bare =
            Bare::open(&contract, &frozen, self.record.as_deref(), sign).await.map_err(Told::trouble)?;
        let Some(face) = bare.channels.on_pipe(&worker) else {
            let known: Vec<_> = contract.workers.iter().map(|worker| worker.id.as_str()).collect();
            return Err(Told::usage(format!(
                "`{worker}` has no channel of its own in {} (its workers: {})",
                path.display(),
                known.join(", ")
            )));
        };
        let served = tokio::select! {
            served = face.serve(tokio::io::stdin(), tokio::io::stdout()) => served.map_err(Told::trouble),
            stopped = super::asked_to_stop() => stopped,
        };
        bare.close().await.map_err(Told::trouble)?;
        served.map(|()| Exit::Passed)
    }
}
