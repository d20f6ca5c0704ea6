//! `mocktrial completions SHELL`.

use std::io::Write;

use clap_complete::Shell;

use super::Told;
use super::print;
use crate::verdict::Exit;

/// Print a completion script for a shell
#[derive(clap::Args)]
pub struct Args {
    /// bash, elvish, fish, powershell or zsh
    shell: Shell,
}

impl Args {
    pub(super) fn run(self, command: &mut clap::Command) -> Result<Exit, Told> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, command, "mocktrial", &mut script);
        print::plain().write_all(&script).map_err(Told::trouble)?;
        Ok(Exit::Passed)
    }
}
