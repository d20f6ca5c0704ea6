//! What a process of the app finds in its environment, and what `${name}` stands for.
//!
//! An app under trial inherits nothing by accident: a key of the developer's shell that made it pass here would make
//! it fail elsewhere, or spend money. `setup` is not on trial and does inherit (see `setup.rs`).

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::scenario::App;

/// Carried by every process of a trial that did not clear its environment; how those are found again after they left
/// their parents.
pub(super) const MARK: &str = "MOCKTRIAL_TRIAL";

/// Variables without which ordinary programs do not work. `LC_*` is added to them.
const INHERITED: [&str; 5] = ["PATH", "HOME", "LANG", "TZ", "TMPDIR"];

/// The environment of a trial's app, later sources winning: ours as far as it may be inherited, `app.env`, the
/// scenario's, the harness's.
pub(super) fn clean(
    app: &App,
    fill: &Fill<'_>,
    scenario: &BTreeMap<String, String>,
    harness: &[(String, String)],
) -> BTreeMap<OsString, OsString> {
    let inherited =
        |name: &str| INHERITED.contains(&name) || name.starts_with("LC_") || app.env_pass.contains(name);
    let ours = std::env::vars_os().filter(|(name, _)| name.to_str().is_some_and(inherited));
    let written = app.env.iter().chain(scenario);
    let filled = written.map(|(name, value)| (name.into(), fill.text(value).into()));
    let last = harness.iter().map(|(n, v)| (n.into(), v.into()));
    ours.chain(filled).chain(last).collect()
}

/// What `${port}` and `${trial}` (and, in a turn, `${turn}` and `${history}`) stand for.
#[derive(Clone, Copy)]
pub(super) struct Fill<'a>(pub(super) &'a [(&'a str, &'a str)]);

impl Fill<'_> {
    /// `text` with every known `${name}` replaced, once: what is put in is not looked at again, and an unknown name
    /// stays as written, since it may be meant for a shell.
    pub(super) fn text(&self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(at) = rest.find("${") {
            let (before, from) = rest.split_at(at);
            out.push_str(before);
            let known = from.find('}').and_then(|end| {
                let value = self.0.iter().find(|(name, _)| *name == &from[2..end])?.1;
                Some((value, end + 1))
            });
            let (value, taken) = known.unwrap_or(("${", 2));
            out.push_str(value);
            rest = &from[taken..];
        }
        out.push_str(rest);
        out
    }

    /// Each of `texts`, filled in.
    pub(super) fn all(&self, texts: &[String]) -> Vec<String> {
        texts.iter().map(|text| self.text(text)).collect()
    }
}

/// Where `program` is: a path is relative to `cwd`, a bare name is looked up in `path`. `None` where there is no such
/// file. Looked up here because the standard library forks instead of spawning when it has to search a `PATH` that is
/// not its own, which costs a large harness milliseconds.
pub(super) fn program(program: &str, cwd: &Path, path: Option<&OsString>) -> Option<PathBuf> {
    if program.contains('/') {
        return Some(cwd.join(program)).filter(|file| file.is_file());
    }
    std::env::split_paths(path?).map(|folder| cwd.join(folder).join(program)).find(|file| executable(file))
}

fn executable(file: &Path) -> bool {
    file.is_file() && rustix::fs::access(file, rustix::fs::Access::EXEC_OK).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_filled_in_is_not_filled_in_again() {
        let fill = Fill(&[("turn", "${trial} ${"), ("trial", "t/0-1")]);
        assert_eq!(fill.text("a ${turn} b ${trial}"), "a ${trial} ${ b t/0-1");
    }

    #[test]
    fn unknown_names_are_left_for_the_shell() {
        let fill = Fill(&[("port", "80")]);
        for text in ["${HOME}", "$port", "${", "${port", "}${}", "$${x}é"] {
            assert_eq!(fill.text(text), text);
        }
        assert_eq!(fill.text("${${port}"), "${80");
    }
}
