//! The port an app is given, and whose it is.
//!
//! A free port is free only while nobody else asks: trials of this process never share one, and for everybody else
//! the answer of a port counts only while its listener is not known to be a stranger's.

use std::collections::HashSet;
use std::fs;
use std::io;
use std::net::{IpAddr, TcpListener};
use std::sync::{Mutex, PoisonError};

use rustix::process::Pid;

/// Ports of living trials.
static TAKEN: Mutex<Vec<u16>> = Mutex::new(Vec::new());

/// A port no other trial of ours is given while this lives.
#[derive(Debug)]
pub(super) struct Port(u16);

impl Port {
    /// One that nobody listens at on `address` right now.
    pub(super) fn free(address: IpAddr) -> io::Result<Self> {
        // Held until one is found, so that the system does not offer the same one again.
        let mut offered = Vec::new();
        loop {
            let listener = TcpListener::bind((address, 0))?;
            let port = listener.local_addr()?.port();
            offered.push(listener);
            let mut taken = TAKEN.lock().unwrap_or_else(PoisonError::into_inner);
            if !taken.contains(&port) {
                taken.push(port);
                return Ok(Self(port));
            }
        }
    }

    pub(super) fn number(&self) -> u16 {
        self.0
    }

    /// Whether somebody listens there now.
    pub(super) fn in_use(&self, address: IpAddr) -> bool {
        TcpListener::bind((address, self.0))
            .is_err_and(|error| error.kind() == io::ErrorKind::AddrInUse)
    }
}

impl Drop for Port {
    fn drop(&mut self) {
        let mut taken = TAKEN.lock().unwrap_or_else(PoisonError::into_inner);
        taken.retain(|port| *port != self.0);
    }
}

/// Whether the listener at `port` is known to be none of `members`: there is one, everything the members hold open
/// could be read, and it is not among that. False where it cannot be known (another user's process, a listener in
/// another network namespace).
pub(super) fn is_strangers(port: u16, members: &[Pid]) -> bool {
    let listeners = listeners(port);
    if listeners.is_empty() || members.is_empty() {
        return false;
    }
    for member in members {
        let Ok(open) = fs::read_dir(format!("/proc/{}/fd", member.as_raw_nonzero())) else {
            return false;
        };
        for file in open.flatten() {
            let to = fs::read_link(file.path()).unwrap_or_default();
            if to.to_str().is_some_and(|to| listeners.contains(to)) {
                return false;
            }
        }
    }
    true
}

/// `socket:[INODE]` of everything that listens at `port`, on any address.
fn listeners(port: u16) -> HashSet<String> {
    const LISTEN: &str = "0A";
    let mut found = HashSet::new();
    for table in ["/proc/net/tcp", "/proc/net/tcp6"] {
        let text = fs::read_to_string(table).unwrap_or_default();
        for line in text.lines().skip(1) {
            let mut fields = line.split_ascii_whitespace().skip(1);
            let local = fields.next().and_then(|local| local.rsplit_once(':'));
            let here = local.and_then(|(_, hex)| u16::from_str_radix(hex, 16).ok());
            let state = fields.nth(1);
            if here == Some(port)
                && state == Some(LISTEN)
                && let Some(inode) = fields.nth(5)
            {
                found.insert(format!("socket:[{inode}]"));
            }
        }
    }
    found
}
