//! What keeps an app from being observed, told from the record of one trial: which instrumentation was seen, which
//! workers could not be told apart and why, and what to install or set.

mod advice;

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};
use std::path::Path;

use crate::grade::{Evidence, Whose};
use crate::journal::{EventRow, RowKind, SpanRow};
use crate::record::read;
use crate::scenario::{Contract, LaneSpec, Worker};

use super::StoryError;
use super::pieces::line;

/// Names of agents or scopes that are listed.
const LISTED: usize = 20;

/// What one trial showed.
#[derive(Debug, Default)]
pub struct Checkup {
    /// Spans by the scope that made them.
    scopes: BTreeMap<String, u64>,
    /// What could not be told, and what to do: empty where there is nothing to mend.
    troubles: Vec<Trouble>,
    /// One line for each worker.
    workers: Vec<String>,
}

/// One thing to mend.
#[derive(Debug)]
struct Trouble {
    what: String,
    mend: String,
}

impl Checkup {
    /// Looks through a record.
    pub fn read(path: &Path, contract: &Contract) -> Result<Self, StoryError> {
        let (mut rows, mut scopes, mut events) = (Vec::new(), BTreeMap::new(), Vec::<EventRow>::new());
        for row in read(path)? {
            let row = row?;
            match row.kind.as_str() {
                SpanRow::ROW => *scopes.entry(scope(&row.parse()?)).or_default() += 1,
                EventRow::ROW => events.push(row.parse()?),
                _ => {}
            }
            rows.push(row);
        }
        let seen = rows.iter().map(|row| (row.seq, row.at, row.kind.as_str(), &row.body));
        let evidence = Evidence::from_rows(seen)?;
        let mut checkup = Self { scopes, ..Self::default() };
        checkup.spans(&events);
        checkup.findings(&evidence);
        for worker in &contract.workers {
            checkup.worker(worker, contract, &events, &evidence);
        }
        checkup.unclear(&events);
        Ok(checkup)
    }

    /// Nothing is to be mended.
    pub fn is_well(&self) -> bool {
        self.troubles.is_empty()
    }

    fn trouble(&mut self, what: impl Into<String>, mend: impl Into<String>) {
        self.troubles.push(Trouble { what: what.into(), mend: mend.into() });
    }

    fn spans(&mut self, events: &[EventRow]) {
        if self.scopes.is_empty() {
            self.trouble("no span came from the app", advice::NO_SPANS);
        } else if events.is_empty() {
            self.trouble("spans came, and none of them tells of an agent or a tool", advice::NO_AGENTS);
        }
        for scope in self.scopes.keys().cloned().collect::<Vec<_>>() {
            if let Some(mend) = advice::of_scope(&scope) {
                self.trouble(format!("spans of {}", line(&scope, 80)), mend);
            }
        }
    }

    fn findings(&mut self, evidence: &Evidence) {
        for finding in &evidence.findings {
            let mend = match finding.code.as_str() {
                "spans_rejected" => {
                    "the exporter sends what OTLP does not allow: update it, or choose http/protobuf"
                }
                "foreign_spans" => {
                    "somebody exports under another address: leave OTEL_EXPORTER_OTLP_* to mocktrial, and set no endpoint in code"
                }
                "record_incomplete" => "raise `limits.spans` or `limits.span_bytes`, or sample less",
                "off_channel" => {
                    "a tool was called past its channel: have the worker's tool client read its `address_env`"
                }
                _ => continue,
            };
            self.trouble(format!("{}: {}", finding.code, line(&finding.detail, 200)), mend);
        }
    }

    fn worker(&mut self, worker: &Worker, contract: &Contract, events: &[EventRow], evidence: &Evidence) {
        let id = worker.id.as_str();
        let calls = evidence.actions.iter().filter(|action| action.whose() == Whose::Worker(id)).count();
        let named = |name: &Option<String>| name.as_ref().is_some_and(|name| worker.agents.contains(name));
        let acts = events.iter().filter(|e| named(&e.agent) || named(&e.from) || named(&e.to)).count();
        let lane = match &worker.lane {
            LaneSpec::Separate { address_env } => format!("{calls} calls at {address_env}"),
            LaneSpec::TokenHeader { token_env } => format!("{calls} calls with the token of {token_env}"),
            LaneSpec::Spans => format!("{calls} calls attributed from spans"),
            LaneSpec::None => "no channel".to_owned(),
        };
        self.workers.push(format!("{id}: {lane}, {acts} acts in spans"));
        if acts == 0 && !events.is_empty() {
            let mend = match strangers(contract, events) {
                names if names.is_empty() => {
                    "if it ran, its framework's spans do not name it: see the instrumentation's options"
                        .to_owned()
                }
                names => {
                    format!("if it ran, write its name in spans as `agent:`; names of nobody are {names}")
                }
            };
            self.trouble(format!("{id} is not in the spans ({})", worker.agents.join(", ")), mend);
        }
        if calls == 0 && matches!(worker.lane, LaneSpec::Separate { .. } | LaneSpec::TokenHeader { .. }) {
            self.trouble(
                format!("no call of {id} came through its channel"),
                "choose a scenario in which it calls a tool, or see with `mocktrial prove --binding` whether any does",
            );
        }
        let nobodys = evidence.actions.iter().filter(|action| action.whose() == Whose::Nobody).count();
        if worker.lane == LaneSpec::Spans && nobodys > 0 {
            self.trouble(
                format!("{nobodys} calls at the shared address could be given to nobody"),
                "have the tools' HTTP client send `traceparent` (its OpenTelemetry instrumentation does), or give the worker an address of its own",
            );
        }
    }

    /// What the spans leave open, by the rule that met it.
    fn unclear(&mut self, events: &[EventRow]) {
        let mut open: BTreeMap<(&str, &str), u64> = BTreeMap::new();
        for event in events.iter().filter(|event| event.relationship == crate::verdict::Relationship::Unknown)
        {
            *open.entry((event.kind.as_str(), event.basis.as_str())).or_default() += 1;
        }
        for ((kind, basis), count) in open {
            self.trouble(
                format!("{count} {kind} without a recorded cause ({basis})"),
                advice::of_basis(basis),
            );
        }
    }
}

/// Names in the spans that belong to no worker.
fn strangers(contract: &Contract, events: &[EventRow]) -> String {
    let known: BTreeSet<_> = contract.workers.iter().flat_map(|worker| &worker.agents).collect();
    let names = events.iter().flat_map(|event| [&event.agent, &event.from, &event.to]).flatten();
    let names: BTreeSet<_> =
        names.filter(|name| !known.contains(name) && !contract.peers.contains_key(*name)).collect();
    names.into_iter().take(LISTED).map(|name| format!("`{}`", line(name, 60))).collect::<Vec<_>>().join(", ")
}

fn scope(row: &SpanRow) -> String {
    let part = |name: &str| row.scope.get(name).and_then(serde_json::Value::as_str).unwrap_or_default();
    format!("{} {}", part("name"), part("version")).trim().to_owned()
}

/// Tells of it.
pub fn tell(out: &mut dyn Write, checkup: &Checkup) -> io::Result<()> {
    writeln!(out, "instrumentation")?;
    if checkup.scopes.is_empty() {
        writeln!(out, "  none")?;
    }
    for (scope, count) in checkup.scopes.iter().take(LISTED) {
        let scope = if scope.is_empty() { "a scope without a name" } else { scope };
        writeln!(out, "  {}: {count} spans", line(scope, 100))?;
    }
    writeln!(out, "workers")?;
    for worker in &checkup.workers {
        writeln!(out, "  {worker}")?;
    }
    if checkup.is_well() {
        return writeln!(out, "nothing keeps this app from being observed, as far as this trial shows");
    }
    writeln!(out, "to mend")?;
    for Trouble { what, mend } in &checkup.troubles {
        writeln!(out, "  {what}\n      {mend}")?;
    }
    Ok(())
}
