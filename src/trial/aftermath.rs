//! When the app is gone: everything that was seen and is not on record yet goes there.

use crate::events;
use crate::journal::{EventRow, FindingRow, Journal, JournalError, OutputRow, RowKind, SpanRow, TrialError};
use crate::spans::{Received, Span, resource_to_json, scope_to_json, to_otlp_json};
use crate::target::{Output, Process, Stopped};
use crate::world::{World, WorldError};

use super::not_written;
use super::stage::Stage;

pub(super) struct Aftermath<'a> {
    pub(super) stage: &'a Stage,
    pub(super) journal: &'a Journal,
    pub(super) world: &'a World,
    pub(super) received: Received,
    /// None where the app is kept.
    pub(super) stopped: Option<Stopped>,
    /// Whether the telemetry fell quiet.
    pub(super) quiet: bool,
}

impl Aftermath<'_> {
    /// Writes it all. An error here is the record's or the world's, never the app's.
    pub(super) fn write(self) -> Result<(), TrialError> {
        if let Some(stopped) = &self.stopped {
            outputs(self.journal, &stopped.output);
            endings(self.journal, stopped).map_err(not_written)?;
        }
        self.findings().map_err(not_written)?;
        spans(self.journal, &self.received.spans).map_err(not_written)?;
        for event in events::read(&self.received.spans) {
            self.put(&EventRow::from(event)).map_err(not_written)?;
        }
        self.world()
    }

    fn put<R: RowKind>(&self, row: &R) -> Result<(), JournalError> {
        self.journal.append(row).map(|_| ())
    }

    fn found(&self, code: &str, detail: String) -> Result<(), JournalError> {
        found(self.journal, code, detail)
    }

    fn findings(&self) -> Result<(), JournalError> {
        let received = &self.received;
        if received.dropped > 0 {
            let limits = &self.stage.contract.limits;
            let detail = format!(
                "{} spans over the limit of {} spans or {} bytes were dropped",
                received.dropped, limits.spans, limits.span_bytes
            );
            self.found("record_incomplete", detail)?;
        }
        if !self.quiet {
            self.found("record_incomplete", "the app's telemetry never fell quiet".to_owned())?;
        }
        for (reason, count) in &received.rejected {
            self.found("spans_rejected", format!("{count}: {reason}"))?;
        }
        if received.foreign_spans > 0 {
            let detail = format!("{} spans came under no token or a dead one", received.foreign_spans);
            self.found("foreign_spans", detail)?;
        }
        if let Some(error) = self.journal.trouble() {
            self.found("log_unavailable", format!("calls were refused: {error}"))?;
        }
        Ok(())
    }

    fn world(&self) -> Result<(), TrialError> {
        let failed = |error: WorldError| TrialError {
            code: "world_failed".to_owned(),
            message: error.to_string(),
            line: None,
        };
        for table in self.world.tables().map_err(failed)? {
            self.put(&table).map_err(not_written)?;
        }
        for change in self.world.changes().map_err(failed)? {
            self.put(&change).map_err(not_written)?;
        }
        Ok(())
    }
}

pub(super) fn found(journal: &Journal, code: &str, detail: String) -> Result<(), JournalError> {
    journal.append(&FindingRow { code: code.to_owned(), worker: None, detail }).map(|_| ())
}

/// How the app ended, as far as that is worth saying.
pub(super) fn endings(journal: &Journal, stopped: &Stopped) -> Result<(), JournalError> {
    for process in &stopped.outlived {
        found(
            journal,
            "app_outlived",
            format!("{} outlived the app or left its group, and was killed", named(process)),
        )?;
    }
    for process in &stopped.left {
        found(journal, "app_left_running", format!("{} could not be ended", named(process)))?;
    }
    if !stopped.gone() && stopped.left.is_empty() {
        found(
            journal,
            "app_left_running",
            "the app is not proven gone: its output is still held open".to_owned(),
        )?;
    }
    if stopped.killed {
        found(journal, "app_killed", "the app ignored its stop signal and was killed".to_owned())?;
    }
    if let Some(trouble) = &stopped.trouble {
        found(journal, "stop_failed", trouble.clone())?;
    }
    Ok(())
}

fn named(process: &Process) -> String {
    format!("process {} ({})", process.pid, process.command)
}

/// Spans as received; a resource stands on the first span that has it, and is its number on the others.
fn spans(journal: &Journal, spans: &[Span]) -> Result<(), JournalError> {
    let mut resources = Vec::new();
    for span in spans {
        let known = resources.iter().position(|resource| *resource == &span.resource);
        let resource = known.map_or_else(
            || {
                resources.push(&span.resource);
                resource_to_json(&span.resource)
            },
            serde_json::Value::from,
        );
        journal.append(&SpanRow { span: to_otlp_json(span), scope: scope_to_json(&span.scope), resource })?;
    }
    Ok(())
}

/// The tails of the app's output. Best effort: it is for people, and nothing is concluded from it.
pub(super) fn outputs(journal: &Journal, outputs: &[Output]) {
    for output in outputs.iter().filter(|output| !output.text.is_empty()) {
        let _ = journal.append(&OutputRow {
            stream: output.stream.to_owned(),
            text: output.text.clone(),
            cut: output.cut,
        });
    }
}
