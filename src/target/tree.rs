//! Which processes belong to a trial, and their end.
//!
//! A process belongs to it when its parents lead to the app, or, once it was left by its parents and came to us (we
//! are their subreaper), when it is in the app's process group, carries the trial's mark in its environment, or holds
//! one of the app's output pipes. A program that sheds all of these on purpose is not found: that is a hostile
//! program, which the threat model leaves out. Nothing here waits by looking again and again: a pidfd says when a
//! process has ended.

use std::collections::{HashMap, HashSet};
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::future::join_all;
use rustix::process::{Pid, PidfdFlags, Signal, WaitOptions};
use rustix::process::{getpid, pidfd_open, pidfd_send_signal, set_child_subreaper};
use tokio::io::unix::AsyncFd;

/// How often the tree is looked at again after everything in it was killed.
const ROUNDS: usize = 8;
/// How long a killed process may take to be gone; longer means that the kernel holds it (a dead network disk).
const KILLED_WITHIN: Duration = Duration::from_secs(2);
/// Most that is read of one file of `/proc`, in bytes: what an environment may take by default, and more.
const MOST: u64 = 4 << 20;
/// Longest command line that is kept of a process, in bytes.
const COMMAND: usize = 300;

/// A process that had to be named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Process {
    /// Its id.
    pub pid: i32,
    /// Its command line, bounded; the bare name where it has none.
    pub command: String,
}

/// The processes of one trial.
#[derive(Debug)]
pub(super) struct Tree {
    /// The app's first process, whose id is also that of its group.
    pub(super) root: Pid,
    /// `NAME=value`, as it stands in the environment.
    pub(super) mark: String,
    /// What `/proc/PID/fd/1` and `/2` of the app point to.
    pub(super) pipes: Vec<String>,
}

/// What became of a tree that was ended.
#[derive(Debug, Default)]
pub(super) struct Ended {
    /// Killed, the root not counted.
    pub(super) killed: Vec<Process>,
    /// Still there.
    pub(super) left: Vec<Process>,
}

/// Makes us the parent of everything that our descendants leave behind. Once for the whole process.
pub(super) fn adopt_orphans() {
    static ONCE: LazyLock<()> = LazyLock::new(|| {
        // A kernel without subreapers lets escapees go to init; then they are found by nobody, and only the group is.
        let _ = set_child_subreaper(Some(getpid()));
    });
    LazyLock::force(&ONCE);
}

/// Children of ours that somebody awaits by id. Never another trial's escapees, and never reaped here.
static AWAITED: Mutex<Vec<Pid>> = Mutex::new(Vec::new());

fn awaited() -> MutexGuard<'static, Vec<Pid>> {
    AWAITED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// As long as this lives, the child is awaited by whoever holds it.
#[derive(Debug)]
pub(super) struct Awaited(Pid);

impl Awaited {
    pub(super) fn new(pid: Pid) -> Self {
        awaited().push(pid);
        Self(pid)
    }
}

impl Drop for Awaited {
    fn drop(&mut self) {
        awaited().retain(|pid| *pid != self.0);
    }
}

/// A process that cannot be mistaken for a later one of the same id.
struct Held {
    pid: Pid,
    fd: OwnedFd,
}

impl Tree {
    /// Every living process of the trial. Zombies that nobody else will reap are reaped on the way.
    pub(super) fn members(&self) -> Vec<Pid> {
        let awaited = awaited().clone();
        let mut found = Vec::new();
        for pid in children("self") {
            if pid == self.root {
                found.push(pid);
            } else if !awaited.contains(&pid) {
                let Some(stat) = Stat::read(pid) else {
                    continue;
                };
                if stat.dead {
                    reap_orphan(pid, &stat, self.root);
                } else if self.claims(pid, &stat) {
                    found.push(pid);
                }
            }
        }
        let mut seen: HashSet<Pid> = found.iter().copied().collect();
        let mut next = 0;
        while next < found.len() {
            let below = children(&found[next].as_raw_nonzero().to_string());
            found.extend(below.into_iter().filter(|pid| seen.insert(*pid)));
            next += 1;
        }
        found.retain(|pid| Stat::read(*pid).is_some_and(|stat| !stat.dead));
        found
    }

    /// Whether a child that came to us from elsewhere is of this trial.
    fn claims(&self, pid: Pid, stat: &Stat) -> bool {
        let proc = format!("/proc/{}", pid.as_raw_nonzero());
        let marked = || {
            let environ = read(format!("{proc}/environ")).unwrap_or_default();
            environ.split(|b| *b == 0).any(|entry| entry == self.mark.as_bytes())
        };
        let holds = || {
            (0..3).any(|fd| {
                fs::read_link(format!("{proc}/fd/{fd}"))
                    .is_ok_and(|to| self.pipes.iter().any(|pipe| to.as_os_str() == pipe.as_str()))
            })
        };
        stat.group == self.root.as_raw_nonzero().get() || marked() || holds()
    }

    /// Sends `signal` to those members that are still in the app's group. Members, and not the group as such: its
    /// number may be somebody else's once the last member is gone.
    pub(super) fn signal_group(&self, signal: Signal) {
        for held in self.group() {
            let _ = pidfd_send_signal(&held.fd, signal);
        }
    }

    /// Resolves when no member is left in the app's group.
    pub(super) async fn group_gone(&self) {
        loop {
            let held = self.group();
            if held.is_empty() {
                return;
            }
            join_all(held.into_iter().map(Held::gone)).await;
        }
    }

    fn group(&self) -> Vec<Held> {
        let group = self.root.as_raw_nonzero().get();
        let ours = |pid: &Pid| Stat::read(*pid).is_some_and(|stat| stat.group == group);
        self.members().into_iter().filter(ours).filter_map(Held::new).collect()
    }

    /// Kills every member, looks again for what was forked meanwhile, and waits until all are gone.
    pub(super) async fn end(&self) -> Ended {
        let mut killed: HashMap<Pid, Process> = HashMap::new();
        for _ in 0..ROUNDS {
            let held = self.freeze();
            if held.is_empty() {
                break;
            }
            for one in &held {
                killed.entry(one.pid).or_insert_with(|| Process::read(one.pid));
                let _ = pidfd_send_signal(&one.fd, Signal::KILL);
            }
            let gone = join_all(held.into_iter().map(Held::gone));
            if tokio::time::timeout(KILLED_WITHIN, gone).await.is_err() {
                break;
            }
        }
        killed.remove(&self.root);
        let left: Vec<Process> = self.members().into_iter().map(Process::read).collect();
        let mut killed: Vec<Process> = killed.into_values().collect();
        killed.sort_by_key(|process| process.pid);
        Ended { killed, left }
    }

    /// Kills every member without waiting: for a harness that is being torn down itself.
    pub(super) fn kill(&self) {
        for _ in 0..2 {
            for held in self.freeze() {
                let _ = pidfd_send_signal(&held.fd, Signal::KILL);
            }
        }
    }

    /// Stops every member, so that none can fork while the others are being killed; again until there is none new.
    fn freeze(&self) -> Vec<Held> {
        let mut held: HashMap<Pid, Held> = HashMap::new();
        for _ in 0..ROUNDS {
            let mut new = false;
            for pid in self.members() {
                if held.contains_key(&pid) {
                    continue;
                }
                if let Some(one) = Held::new(pid) {
                    let _ = pidfd_send_signal(&one.fd, Signal::STOP);
                    held.insert(pid, one);
                    new = true;
                }
            }
            if !new {
                break;
            }
        }
        held.into_values().collect()
    }
}

impl Held {
    fn new(pid: Pid) -> Option<Self> {
        let fd = pidfd_open(pid, PidfdFlags::empty()).ok()?;
        Some(Self { pid, fd })
    }

    /// Resolves when the process has ended, and reaps it where that falls to us.
    #[expect(
        deprecated,
        reason = "its replacement is `unsafe`, which this crate forbids; an `OwnedFd` keeps the promise it asks for"
    )]
    async fn gone(self) {
        let Ok(fd) = AsyncFd::new(self.fd) else {
            return;
        };
        let _ = fd.readable().await;
        if !awaited().contains(&self.pid) {
            let _ = rustix::process::waitpid(Some(self.pid), WaitOptions::NOHANG);
        }
    }
}

impl Process {
    fn read(pid: Pid) -> Self {
        let pid = pid.as_raw_nonzero().get();
        let mut command = read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        if command.is_empty() {
            command = read(format!("/proc/{pid}/comm")).unwrap_or_default();
        }
        command.truncate(COMMAND);
        let command = String::from_utf8_lossy(&command).replace('\0', " ");
        Self { pid, command: command.trim().to_owned() }
    }
}

/// The part of `/proc/PID/stat` that matters here.
struct Stat {
    dead: bool,
    group: i32,
    session: i32,
}

impl Stat {
    fn read(pid: Pid) -> Option<Self> {
        Self::of(&pid.as_raw_nonzero().to_string())
    }

    /// `process` is an id, or `self`.
    fn of(process: &str) -> Option<Self> {
        let text = read(format!("/proc/{process}/stat")).ok()?;
        let text = String::from_utf8_lossy(&text);
        // The name in parentheses may hold anything, parentheses included.
        let mut fields = text.get(text.rfind(')')? + 1..)?.split_ascii_whitespace();
        let state = fields.next()?;
        let group = fields.nth(1)?.parse().ok()?;
        let session = fields.next()?.parse().ok()?;
        Some(Self { dead: matches!(state, "Z" | "X"), group, session })
    }
}

/// A zombie says no more than its group and session. It is reaped when it is of the app's group, or of a session that
/// is not ours, which no process has that we started ourselves.
fn reap_orphan(pid: Pid, stat: &Stat, root: Pid) {
    // Not `getsid`: in a container whose first process is outside, our session has the number 0 (a CI runner's usual
    // place), and rustix takes that for an impossible answer.
    let ours = Stat::of("self").map_or(0, |us| us.session);
    if stat.group == root.as_raw_nonzero().get() || stat.session != ours {
        let _ = rustix::process::waitpid(Some(pid), WaitOptions::NOHANG);
    }
}

/// A small file of `/proc`, read without the calls that ask for its size (it has none).
fn read(path: impl AsRef<Path>) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(4 << 10);
    File::open(path)?.take(MOST).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Children of all threads of `process` (`self` or an id).
fn children(process: &str) -> Vec<Pid> {
    let Ok(threads) = fs::read_dir(format!("/proc/{process}/task")) else {
        return Vec::new();
    };
    let mut found = Vec::new();
    for thread in threads.flatten() {
        let text = read(thread.path().join("children")).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let pids = text.split_ascii_whitespace().filter_map(|pid| pid.parse().ok());
        found.extend(pids.filter_map(Pid::from_raw));
    }
    found
}
