//! What ends the apps when we cannot: a shell that outlives us by a moment.
//!
//! Nothing of ours runs after `kill -9`. So one small process waits for the other end of a pipe to close, which the
//! system does for us however we end, and then kills whatever carries our mark. Without `sh` and `grep` there is none,
//! and an app outlives a killed harness.

use std::process::{Child, Command, Stdio};
use std::sync::LazyLock;

use std::os::unix::process::CommandExt;

use rustix::process::Pid;

use super::environment::MARK;
use super::tree::Awaited;

/// `$0` is the mark's name, `$1` our process id. Again, for what was forked while the first were being killed.
const SCRIPT: &str = r#"
cat >/dev/null
for round in 1 2 3; do
  for environ in $(grep -lzE "^$0=.*#$1[.][0-9]+$" /proc/[0-9]*/environ 2>/dev/null); do
    pid=${environ#/proc/}
    kill -9 "${pid%/environ}" 2>/dev/null
  done
done
"#;

/// Starts the guard, once for the whole process. Not in our group, so that what ends the group spares it.
pub(super) fn post() {
    static GUARD: LazyLock<Option<(Child, Awaited)>> = LazyLock::new(|| {
        let child = Command::new("sh")
            .args(["-c", SCRIPT, MARK, &std::process::id().to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()
            .ok()?;
        let awaited = Awaited::new(Pid::from_child(&child));
        Some((child, awaited))
    });
    LazyLock::force(&GUARD);
}
