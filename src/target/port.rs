//! The port an app is given, and whose it is.
//!
//! A free port is free only while nobody else asks: trials of this process never share one, and for everybody else
//! the answer of a port counts only while its listener is not known to be a stranger's.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::net::{IpAddr, TcpListener};
use std::sync::{Mutex, PoisonError};

use rustix::net::netlink::SOCK_DIAG;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};
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
    let listeners = listeners(port).unwrap_or_default();
    if listeners.is_empty() {
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

/// `socket:[INODE]` of everything that listens at `port`, on any address. Asked by sock_diag(7) rather than read from
/// `/proc/net/tcp`, which lists every connection that lingers in `TIME_WAIT`: thousands, after some hundred trials.
fn listeners(port: u16) -> io::Result<HashSet<String>> {
    let mut found = HashSet::new();
    for family in [AddressFamily::INET, AddressFamily::INET6] {
        let (kind, flags) = (SocketType::DGRAM, SocketFlags::CLOEXEC);
        let socket = socket_with(AddressFamily::NETLINK, kind, flags, Some(SOCK_DIAG))?;
        let mut socket = File::from(socket);
        socket.write_all(&request(family, port))?;
        let mut buffer = vec![0; 32 << 10];
        loop {
            let size = socket.read(&mut buffer)?;
            let Some(inodes) = answer(&buffer[..size])? else {
                break;
            };
            found.extend(inodes.iter().map(|inode| format!("socket:[{inode}]")));
        }
    }
    Ok(found)
}

/// `nlmsghdr`, and the type of both the request and its answers (linux/netlink.h, linux/sock_diag.h).
const HEADER: usize = 16;
const SOCK_DIAG_BY_FAMILY: u16 = 20;

/// A `nlmsghdr` and an `inet_diag_req_v2` that ask for all listeners of one family at `port`.
fn request(family: AddressFamily, port: u16) -> [u8; 72] {
    const REQUEST_AND_DUMP: u16 = 0x301;
    const TCP: u8 = 6;
    const LISTEN: u32 = 1 << 10;
    let mut bytes = [0; 72];
    bytes[0..4].copy_from_slice(&72u32.to_ne_bytes());
    bytes[4..6].copy_from_slice(&SOCK_DIAG_BY_FAMILY.to_ne_bytes());
    bytes[6..8].copy_from_slice(&REQUEST_AND_DUMP.to_ne_bytes());
    bytes[16] = family.as_raw().to_ne_bytes()[0];
    bytes[17] = TCP;
    bytes[20..24].copy_from_slice(&LISTEN.to_ne_bytes());
    bytes[24..26].copy_from_slice(&port.to_be_bytes());
    bytes
}

/// The inodes of one datagram of answers (each a `nlmsghdr` and an `inet_diag_msg`); `None` at the end of the answer.
fn answer(mut bytes: &[u8]) -> io::Result<Option<Vec<u32>>> {
    const ERROR: u16 = 2;
    const DONE: u16 = 3;
    const INODE: usize = HEADER + 68;
    let mut inodes = Vec::new();
    while let Some((head, _)) = bytes.split_at_checked(HEADER) {
        let length = u32::from_ne_bytes([head[0], head[1], head[2], head[3]]) as usize;
        match u16::from_ne_bytes([head[4], head[5]]) {
            DONE => return Ok(None),
            ERROR => return Err(io::ErrorKind::Unsupported.into()),
            _ => {}
        }
        let inode = bytes.get(INODE..INODE + 4).and_then(|four| four.try_into().ok());
        inodes.push(inode.map(u32::from_ne_bytes).ok_or(io::ErrorKind::InvalidData)?);
        let next = length.next_multiple_of(4).max(HEADER);
        bytes = bytes.get(next..).unwrap_or_default();
    }
    if inodes.is_empty() {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(Some(inodes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listener_is_told_from_a_stranger() {
        let port = Port::free("127.0.0.1".parse().expect("an address")).expect("a port");
        let me = [rustix::process::getpid()];
        let init = [Pid::from_raw(1).expect("init")];
        assert!(!is_strangers(port.number(), &init), "nobody listens");
        for address in ["127.0.0.1", "::1"] {
            let Ok(_listener) = TcpListener::bind((address, port.number())) else {
                continue;
            };
            assert!(!is_strangers(port.number(), &me), "{address}");
            let mut child =
                std::process::Command::new("cat").stdin(std::process::Stdio::piped()).spawn().expect("cat");
            let other = [Pid::from_child(&child)];
            assert!(is_strangers(port.number(), &other), "{address}");
            assert!(!is_strangers(port.number(), &[other[0], me[0]]), "{address}");
            drop(child.stdin.take());
            child.wait().expect("cat ends");
        }
    }
}
