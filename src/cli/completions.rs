//! `mocktrial completions SHELL`.

use clap_complete::Shell;

use super::Told;
use crate::verdict::Exit;

/// Print a completion script for a shell
#[derive(clap::Args)]
pub struct Args {
    /// bash, elvish, fish, powershell or zsh
    shell: Shell,
}

impl Args {
    pub(super) fn run(self, command: &mut clap::Command) -> Result<Exit, Told> {
        clap_complete::generate(self.shell, command, "mocktrial", &mut std::io::stdout());
        Ok(Exit::Passed)
    }
}
