//! `mocktrial keygen`: a key for `run --sign-key`.

use std::path::PathBuf;

use super::Told;
use super::print::say;
use crate::record::keygen;
use crate::verdict::Exit;

/// Make an ed25519 key that seals can be signed with
#[derive(clap::Args)]
pub struct Args {
    /// Where the secret key is written; it must not exist. The public key goes to standard output
    #[arg(value_name = "FILE")]
    secret: PathBuf,
}

impl Args {
    pub(super) fn run(self) -> Result<Exit, Told> {
        use std::io::Write;
        use std::os::unix::fs::OpenOptionsExt;
        let (secret, public) = keygen().map_err(Told::trouble)?;
        let at = |error: std::io::Error| Told::usage(format!("{}: {error}", self.secret.display()));
        let mut file = std::fs::File::options()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&self.secret)
            .map_err(at)?;
        writeln!(file, "{secret}").map_err(at)?;
        say!("{public}");
        Ok(Exit::Passed)
    }
}
