//! SARIF 2.1.0 for what concerns permissions: calls refused as not permitted, breaches found afterwards, calls that
//! no channel saw, calls whose worker is disputed. Each stands at the worker's declaration in the contract.

use std::collections::BTreeSet;
use std::path::Path;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Value, json};

use super::Story;
use crate::grade::{STAYED_PERMITTED, Whose};

/// Rule ids, with their level and what they mean.
const RULES: [(&str, &str, &str); 4] = [
    ("not_permitted", "warning", "A worker tried what it may not do, and was refused."),
    ("stayed_permitted", "error", "A worker on a shared address did what it may not do."),
    ("off_channel", "error", "A tool was called, and no channel saw the call."),
    ("lane_disputed", "error", "Channel and spans name different workers for one call."),
];

/// Collects results over trials; the same thing seen in many trials is one result.
#[derive(Debug, Default)]
pub struct Sarif {
    results: Vec<Value>,
    seen: BTreeSet<(String, String)>,
}

impl Sarif {
    /// Nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds what one trial shows. `base` is the contract's folder as seen from the repository's root.
    pub fn add(&mut self, story: &Story, base: &Path) {
        for action in &story.evidence.actions {
            if action.refusal() != Some("not_permitted") {
                continue;
            }
            let worker = match action.whose() {
                Whose::Worker(worker) | Whose::Disputed(worker, _) => Some(worker),
                Whose::Nobody => None,
            };
            let tool = action.attempt.tool.as_deref().unwrap_or("a tool");
            let who = worker.unwrap_or("somebody on the shared address");
            self.push(story, base, "not_permitted", worker, format!("{who} tried {tool}"));
        }
        for row in story.open_goals() {
            if row.sub_goal == STAYED_PERMITTED && row.verdict == "failed" {
                let worker = row.subject.strip_prefix("worker:");
                self.push(story, base, "stayed_permitted", worker, row.detail.clone());
            }
        }
        for finding in &story.evidence.findings {
            if matches!(finding.code.as_str(), "off_channel" | "lane_disputed") {
                let worker = finding.worker.as_deref();
                self.push(story, base, &finding.code, worker, finding.detail.clone());
            }
        }
    }

    fn push(&mut self, story: &Story, base: &Path, rule: &str, worker: Option<&str>, text: String) {
        if !self.seen.insert((rule.to_owned(), text.clone())) {
            return;
        }
        let level = RULES.iter().find(|(id, ..)| *id == rule).map_or("warning", |(_, level, _)| level);
        let contract = story.trial.files.get(&story.trial.contract);
        let line = contract.zip(worker).map_or(1, |(text, worker)| declared_at(text, worker));
        self.results.push(json!({
            "ruleId": rule,
            "level": level,
            "message": { "text": format!("{text} (in trial {})", story.id()) },
            "locations": [{ "physicalLocation": {
                "artifactLocation": { "uri": uri(&base.join(&story.trial.contract)) },
                "region": { "startLine": line },
            } }],
        }));
    }

    /// The log.
    pub fn to_json(&self) -> Value {
        let rules = RULES.map(|(id, level, text)| {
            json!({
                "id": id,
                "shortDescription": { "text": text },
                "defaultConfiguration": { "level": level },
            })
        });
        json!({
            "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
            "version": "2.1.0",
            "runs": [{
                "tool": { "driver": {
                    "name": "mocktrial",
                    "version": env!("CARGO_PKG_VERSION"),
                    "rules": rules,
                } },
                "results": self.results,
            }],
        })
    }
}

/// The line that declares the worker: `id: refund`, in either YAML style. The first line, where there is none.
fn declared_at(contract: &str, worker: &str) -> usize {
    let declares = |line: &str| {
        line.split(['{', ',', '}']).any(|part| {
            let part = part.trim().trim_start_matches("- ");
            let value = part.strip_prefix("id:").map(str::trim);
            value.map(|value| value.trim_matches(['"', '\''])) == Some(worker)
        })
    };
    contract.lines().position(declares).map_or(1, |at| at + 1)
}

/// What stands for itself in a URI's path.
const PATH: &AsciiSet = &NON_ALPHANUMERIC.remove(b'/').remove(b'.').remove(b'-').remove(b'_');

fn uri(path: &Path) -> String {
    utf8_percent_encode(&path.display().to_string(), PATH).to_string()
}
