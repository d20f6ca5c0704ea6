//! `mocktrial grade RECORD…`: the verdicts again, from the record alone.

use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};

use super::Told;
use super::print::say;
use crate::record::{Options, again, verify};
use crate::scenario::Source;
use crate::verdict::Exit;

/// Grade records again, without the app
#[derive(clap::Args)]
pub struct Args {
    /// Records
    #[arg(value_name = "RECORD", required = true)]
    records: Vec<PathBuf>,
    /// Apply the checks of this scenario in place of the recorded one's; the seal stays what it is
    #[arg(long, value_name = "FILE")]
    scenario: Option<PathBuf>,
}

impl Args {
    pub(super) fn run(self) -> Result<Exit, Told> {
        let scenario = self.scenario.as_deref().map(source).transpose()?;
        let mut exit = Exit::Passed;
        for path in &self.records {
            exit = exit.worse(one(path, scenario.clone())?);
        }
        Ok(exit)
    }
}

fn source(path: &Path) -> Result<Source, Told> {
    let text =
        std::fs::read_to_string(path).map_err(|error| Told::usage(format!("{}: {error}", path.display())))?;
    Ok(Source { path: path.to_owned(), text: text.into() })
}

fn one(path: &Path, scenario: Option<Source>) -> Result<Exit, Told> {
    let name = path.display();
    let at = |error: &dyn std::fmt::Display| Told::usage(format!("{name}: {error}"));
    let file = File::open(path).map_err(|error| at(&error))?;
    // A record that does not hold is no evidence.
    let _ = verify(BufReader::new(file), Options::default()).map_err(|error| at(&error))?;
    let regraded = scenario.is_some();
    let again = again(path, scenario).map_err(|error| at(&error))?;
    for verdict in &again.grades.verdicts {
        let reason = verdict.reason.as_ref().map_or(String::new(), |reason| format!(": {reason}"));
        say!("{}{reason}  {} ({})", verdict.verdict, verdict.sub_goal, verdict.subject);
    }
    let outcome = again.grades.end.outcome;
    match (regraded, again.agrees()) {
        (false, true) => say!("{name}: {}, as sealed", outcome.word()),
        (false, false) => {
            for (now, was) in again.differing() {
                let was = was.map_or("nothing", |was| was.verdict.as_str());
                say!("{name}: {} is {} now, and was sealed as {was}", now.sub_goal, now.verdict);
            }
            return Err(at(&"the verdicts do not follow from the record"));
        }
        (true, _) => say!("{name}: {}, regraded; the seal is of the recorded scenario", outcome.word()),
    }
    Ok(outcome.into())
}
