//! A trial that is over and sealed, as its record tells it.

use std::path::Path;
use std::time::Duration;

use crate::clock::Moment;
use crate::grade::{Evidence, shown_bindings};
use crate::journal::{EndRow, RowKind, TrialRow, VerdictRow};
use crate::record::{self, ReadError, Sealed, Vouched};
use crate::trial::Finished;

/// How it began and how it ended. `vouched` is what verifying the record came to.
pub(super) fn over(path: &Path, vouched: &Vouched) -> Result<(TrialRow, Finished), ReadError> {
    let no_row = |why: &str| ReadError::NoRow { row: vouched.rows, why: why.to_owned() };
    let (mut trial, mut verdicts, mut end, mut rows) = (None, Vec::new(), None, Vec::new());
    for row in record::read(path)? {
        let row = row?;
        match row.kind.as_str() {
            TrialRow::ROW => trial = Some(row.parse()?),
            VerdictRow::ROW => verdicts.push(row.parse()?),
            EndRow::ROW => end = Some(row.parse()?),
            _ => {}
        }
        rows.push(row);
    }
    let trial = trial.ok_or_else(|| no_row("there is no first row"))?;
    let end = end.ok_or_else(|| no_row("there is no end"))?;
    let rows = rows.iter().map(|row| (row.seq, row.at, row.kind.as_str(), &row.body));
    let evidence = Evidence::from_rows(rows).map_err(|error| no_row(&error.to_string()))?;
    let sealed = Sealed { rows: vouched.rows, head: vouched.head.clone(), seal: vouched.seal.clone() };
    let finished = Finished {
        path: path.to_owned(),
        verdicts,
        end,
        sealed: Some(sealed),
        phases: Vec::new(),
        attempts: evidence.actions.len(),
        shown: shown_bindings(&evidence),
        began: Moment::default(),
        took: Duration::ZERO,
    };
    Ok((trial, finished))
}
