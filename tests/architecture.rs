//! The house, kept as it is drawn in `src/lib.rs`: ranks, one direction of imports, small files, honest names.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Lowest first. A room imports only rooms of a lower rank; rooms of one rank do not import each other.
const RANKS: &[&[&str]] = &[
    &["clock", "name", "roster", "verdict"],
    &["a2a", "journal", "scenario", "spans"],
    &["events", "permit"],
    &["world"],
    &["model", "proxy", "target"],
    &["grade"],
    &["record"],
    &["proof", "report", "trial"],
    &["scheduler"],
    &["cli"],
];
const BANNED: &[&str] = &["utils", "util", "helpers", "common", "misc", "errors", "imp"];
const LONGEST: usize = 600;
const MEDIAN: usize = 150;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

fn sources(folder: &Path, into: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder of sources") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            sources(&path, into);
        } else if path.extension().is_some_and(|e| e == "rs") {
            into.push(path);
        }
    }
}

fn files() -> Vec<PathBuf> {
    let mut files = Vec::new();
    sources(&root(), &mut files);
    files.sort();
    files
}

/// The top-level module a file belongs to; none for `lib.rs` and `main.rs`.
fn room(file: &Path) -> Option<String> {
    let inside = file.strip_prefix(root()).expect("below src");
    let first = inside.components().next()?.as_os_str().to_str()?;
    let name = first.strip_suffix(".rs").unwrap_or(first);
    (name != "lib" && name != "main").then(|| name.to_owned())
}

/// Every `x` of `crate::x` and of `use crate::{x, y::z}`, comments left out.
fn imports(text: &str) -> BTreeSet<String> {
    let code: String =
        text.lines().map(|line| line.split("//").next().unwrap_or("")).collect::<Vec<_>>().join("\n");
    let word =
        |text: &str| -> String { text.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect() };
    let mut found = BTreeSet::new();
    for (at, _) in code.match_indices("crate::") {
        if code[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == '$') {
            continue;
        }
        let rest = &code[at + "crate::".len()..];
        let Some(list) = rest.strip_prefix('{') else {
            found.insert(word(rest));
            continue;
        };
        let (mut depth, mut fresh) = (0, true);
        for (i, c) in list.char_indices() {
            match c {
                '{' => depth += 1,
                '}' if depth == 0 => break,
                '}' => depth -= 1,
                ',' if depth == 0 => fresh = true,
                c if fresh && !c.is_whitespace() => {
                    found.insert(word(&list[i..]));
                    fresh = false;
                }
                _ => {}
            }
        }
    }
    found
}

fn ranks() -> BTreeMap<&'static str, usize> {
    RANKS.iter().enumerate().flat_map(|(rank, rooms)| rooms.iter().map(move |room| (*room, rank))).collect()
}

#[test]
fn the_scan_sees_every_form_of_import() {
    let text =
        "use crate::{name::{A, B}, clock};\nlet x = crate::spans::read(); // crate::cli\nuse crate::grade;";
    let seen: Vec<_> = imports(text).into_iter().collect();
    assert_eq!(seen, ["clock", "grade", "name", "spans"]);
}

#[test]
fn every_room_has_a_rank_and_imports_only_lower_ones() {
    let ranks = ranks();
    let mut faults = Vec::new();
    for file in files() {
        let Some(room) = room(&file) else { continue };
        let Some(rank) = ranks.get(room.as_str()) else {
            faults.push(format!("{}: `{room}` has no rank", file.display()));
            continue;
        };
        for import in imports(&fs::read_to_string(&file).expect("source text")) {
            match ranks.get(import.as_str()) {
                Some(_) if import == room => {}
                Some(other) if other < rank => {}
                Some(_) => faults.push(format!("{}: `{room}` imports `{import}`", file.display())),
                None => faults.push(format!("{}: `crate::{import}` is no room", file.display())),
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn files_are_small_and_named_for_what_they_hold() {
    let mut sizes: Vec<(usize, PathBuf)> = Vec::new();
    let mut faults = Vec::new();
    for file in files() {
        let lines = fs::read_to_string(&file).expect("source text").lines().count();
        let names = file.strip_prefix(root()).expect("below src").components();
        for part in names {
            let part = part.as_os_str().to_string_lossy();
            let stem = part.strip_suffix(".rs").unwrap_or(&part);
            if BANNED.contains(&stem) {
                faults.push(format!("{}: `{stem}` says nothing", file.display()));
            }
        }
        if lines > LONGEST {
            faults.push(format!("{}: {lines} lines, over {LONGEST}", file.display()));
        }
        if !file.components().any(|part| part.as_os_str().to_string_lossy().starts_with("tests")) {
            sizes.push((lines, file));
        }
    }
    sizes.sort();
    let median = sizes[sizes.len() / 2].0;
    println!("{} files, median {median} lines, longest {}", sizes.len(), sizes[sizes.len() - 1].0);
    if median >= MEDIAN {
        faults.push(format!("the median file has {median} lines, not under {MEDIAN}"));
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn a_newcomer_reads_four_files_and_under_600_lines() {
    let count = |path: &str| {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
        fs::read_to_string(path).map_or(0, |text| text.lines().count())
    };
    let way = count("README.md") + count("src/lib.rs") + count("src/trial.rs");
    let longest_map = files()
        .iter()
        .filter(|file| file.file_name().is_some_and(|name| name == "mod.rs"))
        .filter(|file| file.strip_prefix(root()).is_ok_and(|f| f.components().count() == 2))
        .map(|file| fs::read_to_string(file).expect("source text").lines().count())
        .max()
        .unwrap_or(0);
    assert!(way + longest_map < 600, "{way} + {longest_map} lines");
}
