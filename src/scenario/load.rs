//! Paths to suites: which files are scenarios, which contract is theirs, and every fault of all of them in one run.
//!
//! The only part of this room that touches the disk. What a file says is `read`'s business.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::read::{Reading, read_contract, read_scenario};
use super::{Contract, Diagnostic, Pos, Scenario, Severity, Source, Suite};

/// How a scenario's file name ends.
pub const SCENARIO_SUFFIX: &str = ".scenario.yaml";
/// The name of a contract's file.
pub const CONTRACT_FILE: &str = "contract.yaml";

/// No file a contract names may be larger, in bytes.
const MAX_FILE: u64 = 64 << 20;
/// Folders within folders; also what ends a loop of symbolic links.
const MAX_DEPTH: usize = 32;

/// Every scenario under `paths` (files or folders), with its contract: the `contract.yaml` beside it or in the nearest
/// folder above. Suites are sorted by their contract's path, scenarios by name. Warnings stand in each suite; on an
/// error, all diagnostics of all files come back, sorted by file and place.
pub fn load(paths: &[PathBuf]) -> Result<Vec<Suite>, Vec<Diagnostic>> {
    let mut faults = Vec::new();
    let mut found = BTreeMap::new();
    for path in paths {
        find(path, &mut found, &mut faults);
    }
    let mut suites = Suites::default();
    for path in found.into_values() {
        suites.add(path, &mut faults);
    }
    suites.finish(faults)
}

/// Reads one contract from the disk, for verbs that take no scenario.
pub fn load_contract(path: &Path) -> Result<Contract, Vec<Diagnostic>> {
    let source = source(path).map_err(|fault| vec![fault])?;
    read_contract(source, &read_file).into_result()
}

/// Adds the scenarios at `path`, by canonical path so that none is found twice.
fn find(path: &Path, found: &mut BTreeMap<PathBuf, PathBuf>, faults: &mut Vec<Diagnostic>) {
    let before = found.len();
    let result = match fs::metadata(path) {
        Err(error) => Err(error),
        Ok(meta) if meta.is_dir() => walk(path, MAX_DEPTH, found),
        Ok(_) if is_scenario(path) => add(path, found),
        Ok(_) => {
            let what = format!("this is no scenario: its name does not end in {SCENARIO_SUFFIX}");
            faults.push(whole_file(path, "path.kind", what));
            return;
        }
    };
    match result {
        Err(error) => faults.push(whole_file(path, "path.unreadable", error.to_string())),
        Ok(()) if found.len() == before && !found.values().any(|known| known.starts_with(path)) => {
            let what = format!("there is no file *{SCENARIO_SUFFIX} here");
            faults.push(whole_file(path, "path.empty", what));
        }
        Ok(()) => {}
    }
}

fn walk(folder: &Path, depth: usize, found: &mut BTreeMap<PathBuf, PathBuf>) -> io::Result<()> {
    if depth == 0 {
        return Ok(());
    }
    let mut entries =
        fs::read_dir(folder)?.map(|entry| entry.map(|entry| entry.path())).collect::<io::Result<Vec<_>>>()?;
    entries.sort();
    for path in entries {
        let hidden = path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
        // A link that leads nowhere is nobody's scenario.
        let Ok(meta) = fs::metadata(&path) else {
            continue;
        };
        if meta.is_dir() && !hidden {
            // Where a link leads back to a folder on the way here, the depth ends it.
            let looped = fs::canonicalize(&path)
                .is_ok_and(|real| fs::canonicalize(folder).is_ok_and(|here| here.starts_with(&real)));
            if !looped {
                walk(&path, depth - 1, found)?;
            }
        } else if meta.is_file() && is_scenario(&path) {
            add(&path, found)?;
        }
    }
    Ok(())
}

fn add(path: &Path, found: &mut BTreeMap<PathBuf, PathBuf>) -> io::Result<()> {
    let real = fs::canonicalize(path)?;
    found.entry(real).or_insert_with(|| path.to_path_buf());
    Ok(())
}

fn is_scenario(path: &Path) -> bool {
    path.file_name()
        .and_then(|name| name.to_str())
        .is_some_and(|name| name.len() > SCENARIO_SUFFIX.len() && name.ends_with(SCENARIO_SUFFIX))
}

/// The contract beside a scenario, or in the nearest folder above.
fn contract_of(scenario: &Path) -> Option<PathBuf> {
    let here = std::env::current_dir().ok();
    let beside = scenario.parent()?.join(CONTRACT_FILE);
    if beside.is_file() {
        return Some(beside);
    }
    let absolute = fs::canonicalize(scenario).ok()?;
    let found =
        absolute.ancestors().skip(2).map(|folder| folder.join(CONTRACT_FILE)).find(|path| path.is_file())?;
    // As the user would name it: from where they stand, if it is below.
    let relative = here.and_then(|here| found.strip_prefix(here).ok().map(Path::to_path_buf));
    Some(relative.unwrap_or(found))
}

#[derive(Default)]
struct Suites {
    /// By canonical path: the contract if it could be read, and its scenarios.
    by_contract: BTreeMap<PathBuf, (Option<Arc<Contract>>, Vec<Arc<Scenario>>)>,
    /// Where each name was seen first.
    names: BTreeMap<String, PathBuf>,
}

impl Suites {
    fn add(&mut self, path: PathBuf, faults: &mut Vec<Diagnostic>) {
        let Some(contract_path) = contract_of(&path) else {
            let what = format!("there is no {CONTRACT_FILE} beside this file or above it");
            faults.push(whole_file(&path, "contract.missing", what));
            return;
        };
        let real = fs::canonicalize(&contract_path).unwrap_or_else(|_| contract_path.clone());
        let (contract, scenarios) =
            self.by_contract.entry(real).or_insert_with(|| (read_one(&contract_path, faults), Vec::new()));
        let Some(contract) = contract else { return };
        let source = match source(&path) {
            Ok(source) => source,
            Err(fault) => return faults.push(fault),
        };
        let Reading { value, diagnostics } = read_scenario(source, contract);
        faults.extend(diagnostics);
        let Some(scenario) = value else { return };
        if let Some(first) = self.names.get(&scenario.name) {
            let what = format!("there is a scenario `{}` already: {}", scenario.name, first.display());
            let mut fault = whole_file(&path, "scenario.repeated", what);
            fault.text = scenario.source.text.clone();
            faults.push(fault);
        } else {
            self.names.insert(scenario.name.clone(), path);
        }
        scenarios.push(Arc::new(scenario));
    }

    fn finish(self, mut faults: Vec<Diagnostic>) -> Result<Vec<Suite>, Vec<Diagnostic>> {
        faults.sort_by(|a, b| (&a.file, a.pos, a.severity).cmp(&(&b.file, b.pos, b.severity)));
        if faults.iter().any(|fault| fault.severity == Severity::Error) {
            return Err(faults);
        }
        let suites = self.by_contract.into_values();
        Ok(suites
            .filter_map(|(contract, mut scenarios)| {
                let contract = contract?;
                scenarios.sort_by(|a, b| a.name.cmp(&b.name));
                let of_suite = |fault: &&Diagnostic| {
                    fault.file == contract.source.path
                        || scenarios.iter().any(|scenario| scenario.source.path == fault.file)
                };
                let warnings = faults.iter().filter(of_suite).cloned().collect();
                Some(Suite { contract, scenarios, warnings })
            })
            .collect())
    }
}

fn read_one(path: &Path, faults: &mut Vec<Diagnostic>) -> Option<Arc<Contract>> {
    let source = source(path).map_err(|fault| faults.push(fault)).ok()?;
    let Reading { value, diagnostics } = read_contract(source, &read_file);
    faults.extend(diagnostics);
    value.map(Arc::new)
}

fn source(path: &Path) -> Result<Source, Diagnostic> {
    match read_file(path) {
        Ok(text) => Ok(Source { path: path.to_path_buf(), text: text.into() }),
        Err(error) => Err(whole_file(path, "path.unreadable", error.to_string())),
    }
}

fn read_file(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    let file = fs::File::open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("not a regular file"));
    }
    file.take(MAX_FILE + 1).read_to_string(&mut text)?;
    if u64::try_from(text.len()).is_ok_and(|length| length > MAX_FILE) {
        return Err(io::Error::other(format!("larger than {} MB", MAX_FILE >> 20)));
    }
    Ok(text)
}

fn whole_file(path: &Path, code: &'static str, what: String) -> Diagnostic {
    Diagnostic {
        file: path.to_path_buf(),
        pos: Pos { line: 1, column: 1 },
        severity: Severity::Error,
        code,
        what,
        help: None,
        text: "".into(),
    }
}
