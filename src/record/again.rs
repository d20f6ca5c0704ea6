//! Grading a record again, from the record alone: no app, no network, no file beside it.
//!
//! The first row holds the contract, the scenario and every file they name, so both are read from there; the evidence is
//! every row before the first verdict. The same rows give the same bytes, so what comes out is compared with what was
//! sealed. Whether the record still holds is another question, which [`super::verify()`] answers first.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use super::read::{ReadError, Row, read};
use crate::grade::{Evidence, EvidenceError, Grades, grade};
use crate::journal::{EndRow, RowKind, TrialRow, VerdictRow};
use crate::scenario::{Diagnostic, Source, contract_from, scenario_from};

/// What grading a record again came to.
#[derive(Debug)]
pub struct Again {
    /// The verdicts and the end, as they come out now.
    pub grades: Grades,
    /// The verdicts that were sealed.
    pub sealed: Vec<VerdictRow>,
    /// The end that was sealed; none in a record that was cut off.
    pub sealed_end: Option<EndRow>,
}

impl Again {
    /// Whether the same came out, to the letter.
    pub fn agrees(&self) -> bool {
        let end = self.sealed_end.as_ref().map(same_form);
        self.grades.verdicts == self.sealed && end == Some(same_form(&self.grades.end))
    }

    /// Verdicts that came out otherwise, with what was sealed: none where it was not.
    pub fn differing(&self) -> impl Iterator<Item = (&VerdictRow, Option<&VerdictRow>)> {
        self.grades.verdicts.iter().filter_map(|now| {
            let same = |was: &&VerdictRow| was.sub_goal == now.sub_goal && was.subject == now.subject;
            let was = self.sealed.iter().find(same);
            (was != Some(now)).then_some((now, was))
        })
    }
}

fn same_form(end: &EndRow) -> Option<String> {
    serde_json::to_string(end).ok()
}

/// Why a record could not be graded again.
#[derive(Debug, thiserror::Error)]
pub enum AgainError {
    /// It could not be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// It is empty, or its first row is no `trial`.
    #[error("the record does not begin with a `trial`")]
    NoTrial,
    /// A row is not what it says it is.
    #[error(transparent)]
    Evidence(#[from] EvidenceError),
    /// Contract or scenario, as recorded, cannot be read any more: redaction changed them, or the format did.
    #[error("contract and scenario as recorded cannot be read: {}", first(.0))]
    Files(Vec<Diagnostic>),
    /// The scenario has no such case.
    #[error("the scenario has no case {0}")]
    NoCase(usize),
}

fn first(faults: &[Diagnostic]) -> String {
    faults.first().map_or_else(String::new, ToString::to_string)
}

/// Grades the record at `path` again. `scenario`, where given, stands in place of the one on record.
pub fn again(path: &Path, scenario: Option<Source>) -> Result<Again, AgainError> {
    let rows: Vec<Row> = read(path)?.collect::<Result<_, _>>()?;
    let trial: TrialRow = rows.first().ok_or(AgainError::NoTrial)?.parse()?;
    let files: BTreeMap<PathBuf, &String> =
        trial.files.iter().map(|(name, text)| (PathBuf::from(name), text)).collect();
    let source = |name: &str| Source {
        path: PathBuf::from(name),
        text: trial.files.get(name).map_or("", String::as_str).into(),
    };
    let kept = |path: &Path| -> io::Result<String> {
        let text = files.get(path).map(|text| (*text).clone());
        text.ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, "not on record"))
    };
    let contract = contract_from(source(&trial.contract), &kept).map_err(AgainError::Files)?;
    let scenario = scenario.unwrap_or_else(|| source(&trial.scenario_file));
    let scenario = scenario_from(scenario, &contract).map_err(AgainError::Files)?;
    let case = scenario.cases.get(trial.case).ok_or(AgainError::NoCase(trial.case))?;
    let of_kind = |kind: &'static str| rows.iter().filter(move |row| row.kind == kind);
    let sealed = of_kind(VerdictRow::ROW).map(Row::parse).collect::<Result<_, _>>()?;
    let sealed_end: Option<EndRow> = of_kind(EndRow::ROW).next().map(Row::parse).transpose()?;
    let before = rows.iter().filter(|row| row.kind != VerdictRow::ROW);
    let evidence = Evidence::from_rows(before.map(|row| (row.seq, row.at, row.kind.as_str(), &row.body)))?;
    Ok(Again { grades: grade(&contract, &scenario, case, &evidence), sealed, sealed_end })
}
