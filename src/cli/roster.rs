//! `mocktrial roster CARD…`: what a model is told of these agents.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use super::Told;
use super::print::{complain, say};
use crate::roster::{Card, Roster};
use crate::verdict::Exit;

/// Print the roster of A2A agent cards: what a model is told of these agents
#[derive(clap::Args)]
pub struct Args {
    /// Agent cards as JSON files; an agent's id is its file's name without the ending
    #[arg(value_name = "CARD", required = true)]
    cards: Vec<PathBuf>,
}

/// The largest card read, in bytes.
const LARGEST: u64 = 1 << 20;

impl Args {
    pub(super) fn run(self) -> Result<Exit, Told> {
        let mut cards = BTreeMap::new();
        for path in &self.cards {
            let wrong = |what: &dyn std::fmt::Display| Told::usage(format!("{}: {what}", path.display()));
            let id = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
            let text = text(path).map_err(|error| wrong(&error))?;
            let card = Card::read(&text).map_err(|error| wrong(&error))?;
            if card.lone_surrogates > 0 {
                let lone = card.lone_surrogates;
                complain!("mocktrial: {}: {lone} lone surrogates read as U+FFFD", path.display());
            }
            if cards.contains_key(&id) {
                return Err(wrong(&format!(
                    "there is an agent `{id}` already; give each file a name of its own"
                )));
            }
            cards.insert(id, card);
        }
        let roster = Roster::of(cards.iter().map(|(id, card)| (id.as_str(), card)));
        for (id, field) in &roster.truncated {
            complain!("mocktrial: {id}: {field} cut");
        }
        say!("{}", roster.text);
        Ok(Exit::Passed)
    }
}

fn text(path: &Path) -> Result<String, String> {
    let mut text = String::new();
    let read = File::open(path).and_then(|file| file.take(LARGEST + 1).read_to_string(&mut text));
    match read {
        Err(error) => Err(error.to_string()),
        Ok(length) if length as u64 > LARGEST => Err(format!("a card is at most {LARGEST} bytes")),
        Ok(_) => Ok(text),
    }
}
