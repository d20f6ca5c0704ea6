//! `mocktrial verify`: does a record, or a whole run, still hold.

use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};

use super::Told;
use super::print::say;
use crate::record::{Options, VerifyError, VerifyingKey, verify, verify_dir};
use crate::verdict::Exit;

/// Say whether records still hold, what that proves and what it does not
#[derive(clap::Args)]
pub struct Args {
    /// A record, or the folder of a run (with its run.json)
    #[arg(value_name = "RECORD|DIR")]
    path: PathBuf,
    /// The public key that must have signed; its text, or a file that holds it
    #[arg(long, value_name = "KEY")]
    key: Option<String>,
}

impl Args {
    pub(super) fn run(self) -> Result<Exit, Told> {
        let key = self.key.as_deref().map(key).transpose()?;
        if self.path.is_dir() {
            return folder(&self.path, key.as_ref());
        }
        let file = File::open(&self.path)
            .map_err(|error| Told::usage(format!("{}: {error}", self.path.display())))?;
        let options = Options { key: key.as_ref(), anchor: None };
        match verify(BufReader::new(file), options) {
            Ok(vouched) => {
                say!("{}: {vouched}", self.path.display());
                Ok(Exit::Passed)
            }
            Err(VerifyError::Broken(broken)) => {
                say!("{}:{}: {}", self.path.display(), broken.row, broken.why);
                Ok(Exit::Failed)
            }
            Err(error @ VerifyError::Io(_)) => Err(Told::usage(format!("{}: {error}", self.path.display()))),
        }
    }
}

fn key(given: &str) -> Result<VerifyingKey, Told> {
    VerifyingKey::load(given).map_err(|error| Told::usage(format!("--key: {error}")))
}

fn folder(path: &Path, key: Option<&VerifyingKey>) -> Result<Exit, Told> {
    let report = verify_dir(path, key).map_err(Told::usage)?;
    for (id, standing) in &report.trials {
        say!("{id}: {standing}");
    }
    for added in &report.added {
        say!("{}: nobody planned this trial", added.display());
    }
    Ok(if report.is_sound() { Exit::Passed } else { Exit::Failed })
}
