//! Wire form to checked form: names resolved, defaults filled in, every fault collected.
//!
//! Each file of this folder reads one part. A part with a fault is left out or takes its default and reading goes on,
//! so that one run tells of all of them; what comes out is used only where no error was found. No file system here:
//! files that a contract names are asked of the caller, who may have them from a disk or from a record.

mod app;
mod args;
mod checks;
mod faults;
mod lint;
mod model;
mod reader;
mod route;
mod situation;
mod sql;
mod workers;
mod world;

use std::io;
use std::path::Path;

use super::file::{self, contract::ContractFile, scenario::ScenarioFile};
use super::{Contract, Diagnostic, Scenario, Severity, Source};
use reader::Reader;

/// What came of reading one file: the checked form if its structure could be read, and every fault found.
#[derive(Debug)]
pub struct Reading<T> {
    /// What the other rooms may use, but only if there is no error among the diagnostics.
    pub value: Option<T>,
    /// Sorted by place.
    pub diagnostics: Vec<Diagnostic>,
}

impl<T> Reading<T> {
    /// The value if nothing but warnings stood in its way; else every diagnostic.
    pub fn into_result(self) -> Result<T, Vec<Diagnostic>> {
        let broken = self.diagnostics.iter().any(|fault| fault.severity == Severity::Error);
        match self.value {
            Some(value) if !broken => Ok(value),
            _ => Err(self.diagnostics),
        }
    }
}

/// Hands out the text of a file that a contract names, by the path [`Source::path`] will hold.
pub type ReadFile<'a> = &'a dyn Fn(&Path) -> io::Result<String>;

/// Reads a contract from its text; files it names come from `read`.
pub fn read_contract(source: Source, read: ReadFile<'_>) -> Reading<Contract> {
    let mut reader = Reader::new(source);
    reader.lint(lint::CONTRACT);
    let value = match file::parse::<ContractFile>(&reader.source.text) {
        Ok(file) => Some(app::contract(&mut reader, read, file)),
        Err(misread) => {
            reader.misread(misread);
            None
        }
    };
    reader.finish(value)
}

/// Reads a scenario from its text, against the contract it is written for.
pub fn read_scenario(source: Source, contract: &Contract) -> Reading<Scenario> {
    let mut reader = Reader::new(source);
    reader.lint(lint::SCENARIO);
    let value = match file::parse::<ScenarioFile>(&reader.source.text) {
        Ok(file) => situation::scenario(&mut reader, contract, file),
        Err(misread) => {
            reader.misread(misread);
            None
        }
    };
    reader.finish(value)
}

/// [`read_contract`] for a caller who wants no warnings, such as the grading of a record.
pub fn contract_from(source: Source, read: ReadFile<'_>) -> Result<Contract, Vec<Diagnostic>> {
    read_contract(source, read).into_result()
}

/// [`read_scenario`] for a caller who wants no warnings, such as the grading of a record.
pub fn scenario_from(source: Source, contract: &Contract) -> Result<Scenario, Vec<Diagnostic>> {
    read_scenario(source, contract).into_result()
}
