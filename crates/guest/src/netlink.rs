//! Counters of queueing disciplines and interfaces by rtnetlink(7), and dumps of other families.

use crate::sys;
use std::io::{Error, Result};
use std::os::fd::{AsFd, OwnedFd};

const GET_LINK: u16 = 18;
const NEW_LINK: u16 = 16;
const GET_QDISC: u16 = 38;
const NEW_QDISC: u16 = 36;
const DONE: u16 = 3;
const REQUEST_DUMP: u16 = 0x301;
/// Request, acknowledged, of a new object, and of a change.
const REQUEST_NEW: u16 = 0x605;
const REQUEST_CHANGE: u16 = 0x5;
const ATTR_STATS2: u16 = 7;
const STATS_BASIC: u16 = 1;
const STATS_QUEUE: u16 = 3;
const STATS_APP: u16 = 4;
const ATTR_KIND: u16 = 1;
const LINK_STATS64: u16 = 23;

/// Counters of one queueing discipline.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Qdisc {
    /// Index of its interface.
    pub(crate) interface: i32,
    /// Major number in the upper 16 bits.
    pub(crate) handle: u32,
    pub(crate) sent_bytes: u64,
    pub(crate) sent_packets: u32,
    pub(crate) queued_packets: u32,
    pub(crate) queued_bytes: u32,
    pub(crate) dropped: u32,
    pub(crate) overlimits: u32,
    /// Name.
    pub(crate) kind: String,
    /// Statistics of its kind (`tc_…_xstats`).
    pub(crate) xstats: Vec<u8>,
}

/// Counters of packets that left an interface.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Interface {
    pub(crate) index: i32,
    pub(crate) sent_packets: u64,
    pub(crate) sent_bytes: u64,
}

/// A socket to the kernel's tables of one namespace.
pub(crate) struct Netlink {
    socket: OwnedFd,
}

pub(crate) fn text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}

pub(crate) fn word(bytes: &[u8], at: usize) -> u32 {
    let mut raw = [0; 4];
    if let Some(found) = bytes.get(at..at + 4) {
        raw.copy_from_slice(found);
    }
    u32::from_ne_bytes(raw)
}

/// Reads a 32-bit number; `None` beyond the end.
pub(crate) fn known_word(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..at + 4)?.try_into().ok().map(u32::from_ne_bytes)
}

fn short(bytes: &[u8], at: usize) -> u16 {
    word(bytes, at) as u16
}

pub(crate) fn long(bytes: &[u8], at: usize) -> u64 {
    u64::from(word(bytes, at)) | u64::from(word(bytes, at + 4)) << 32
}

/// Returns the content of an attribute.
pub(crate) fn attribute(mut bytes: &[u8], wanted: u16) -> Option<&[u8]> {
    while bytes.len() >= 4 {
        let length = usize::from(short(bytes, 0)).clamp(4, bytes.len());
        if bytes.get(2..4).map(|kind| u16::from_ne_bytes([kind[0], kind[1]]) & 0x3fff)
            == Some(wanted)
        {
            return bytes.get(4..length);
        }
        bytes = bytes.get(length.next_multiple_of(4)..)?;
    }
    None
}

/// Returns the contents of all attributes.
pub(crate) fn attributes(mut bytes: &[u8]) -> Vec<&[u8]> {
    let mut found = Vec::new();
    while bytes.len() >= 4 {
        let length = usize::from(short(bytes, 0)).clamp(4, bytes.len());
        found.push(&bytes[4..length]);
        bytes = bytes.get(length.next_multiple_of(4)..).unwrap_or(&[]);
    }
    found
}

/// Appends an attribute, padded to four bytes.
pub(crate) fn put_attribute(bytes: &mut Vec<u8>, kind: u16, content: &[u8]) {
    bytes.extend((4 + content.len() as u16).to_ne_bytes());
    bytes.extend(kind.to_ne_bytes());
    bytes.extend(content);
    bytes.resize(bytes.len().next_multiple_of(4), 0);
}

/// A message: `struct nlmsghdr` and the body.
fn request(kind: u16, flags: u16, body: &[u8]) -> Vec<u8> {
    let mut request = Vec::with_capacity(16 + body.len());
    request.extend((16 + body.len() as u32).to_ne_bytes());
    request.extend(kind.to_ne_bytes());
    request.extend(flags.to_ne_bytes());
    request.extend([0_u8; 8]);
    request.extend(body);
    request
}

impl Netlink {
    /// Opens a socket to the interfaces and queueing disciplines of this namespace.
    pub(crate) fn open() -> Result<Self> {
        Self::open_family(libc::NETLINK_ROUTE)
    }

    /// Opens a socket of another family of netlink.
    pub(crate) fn open_family(family: i32) -> Result<Self> {
        Ok(Self { socket: sys::socket(libc::AF_NETLINK, libc::SOCK_RAW, family)? })
    }

    /// Requests a dump and passes on each message without its header.
    pub(crate) fn dump(
        &self,
        kind: u16,
        body: &[u8],
        mut each: impl FnMut(u16, &[u8]),
    ) -> Result<()> {
        sys::send(self.socket.as_fd(), &request(kind, REQUEST_DUMP, body))?;
        let mut buffer = vec![0_u8; 1 << 16];
        loop {
            let length = sys::receive(self.socket.as_fd(), &mut buffer)?;
            let mut rest = &buffer[..length];
            while rest.len() >= 16 {
                let size = (word(rest, 0) as usize).clamp(16, rest.len());
                let found = u16::from_ne_bytes([rest[4], rest[5]]);
                if found == DONE {
                    return Ok(());
                }
                if found == 2 {
                    let code = -(word(rest, 16) as i32);
                    return Err(Error::from_raw_os_error(code));
                }
                each(found, &rest[16..size]);
                rest = rest.get(size.next_multiple_of(4)..).unwrap_or(&[]);
            }
        }
    }

    /// Adds a queueing discipline. `body`: `struct tcmsg` and its attributes.
    ///
    /// # Errors
    /// The kernel's answer.
    pub(crate) fn add_qdisc(&self, body: &[u8]) -> Result<()> {
        self.request_qdisc(REQUEST_NEW, body)
    }

    /// Changes a queueing discipline. `body`: as for a new one, with its handle.
    ///
    /// # Errors
    /// The kernel's answer.
    pub(crate) fn change_qdisc(&self, body: &[u8]) -> Result<()> {
        self.request_qdisc(REQUEST_CHANGE, body)
    }

    fn request_qdisc(&self, flags: u16, body: &[u8]) -> Result<()> {
        sys::send(self.socket.as_fd(), &request(NEW_QDISC, flags, body))?;
        let mut buffer = vec![0_u8; 1 << 13];
        let length = sys::receive(self.socket.as_fd(), &mut buffer)?;
        match known_word(&buffer[..length], 16) {
            Some(0) => Ok(()),
            Some(code) => Err(Error::from_raw_os_error(-(code as i32))),
            None => Err(Error::other("the kernel's answer is too short")),
        }
    }

    /// Passes on the message of each queueing discipline: `struct tcmsg` and attributes.
    pub(crate) fn qdisc_messages(&self, mut each: impl FnMut(&[u8])) -> Result<()> {
        self.dump(GET_QDISC, &[0; 20], |kind, message| {
            if kind == NEW_QDISC {
                each(message);
            }
        })
    }

    /// Returns all queueing disciplines of the namespace.
    pub(crate) fn qdiscs(&self) -> Result<Vec<Qdisc>> {
        let mut found = Vec::new();
        self.qdisc_messages(|message| {
            let attributes = message.get(20..).unwrap_or(&[]);
            let stats = attribute(attributes, ATTR_STATS2).unwrap_or(&[]);
            let basic = attribute(stats, STATS_BASIC).unwrap_or(&[]);
            let queue = attribute(stats, STATS_QUEUE).unwrap_or(&[]);
            found.push(Qdisc {
                interface: word(message, 4) as i32,
                handle: word(message, 8),
                sent_bytes: long(basic, 0),
                sent_packets: word(basic, 8),
                queued_packets: word(queue, 0),
                queued_bytes: word(queue, 4),
                dropped: word(queue, 8),
                overlimits: word(queue, 16),
                kind: text(attribute(attributes, ATTR_KIND).unwrap_or(&[])),
                xstats: attribute(stats, STATS_APP).unwrap_or(&[]).to_vec(),
            });
        })?;
        Ok(found)
    }

    /// Returns all interfaces of the namespace.
    pub(crate) fn interfaces(&self) -> Result<Vec<Interface>> {
        let mut found = Vec::new();
        self.dump(GET_LINK, &[0; 16], |kind, message| {
            if kind != NEW_LINK {
                return;
            }
            let attributes = message.get(16..).unwrap_or(&[]);
            let stats = attribute(attributes, LINK_STATS64).unwrap_or(&[]);
            found.push(Interface {
                index: word(message, 4) as i32,
                sent_packets: long(stats, 8),
                sent_bytes: long(stats, 24),
            });
        })?;
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_are_found_among_others_and_damage_ends_the_search() {
        let bytes = [6, 0, 1, 0, 9, 9, 0, 0, 8, 0, 7, 0, 1, 2, 3, 4];
        assert_eq!(attribute(&bytes, 7), Some(&[1, 2, 3, 4][..]));
        assert_eq!(attribute(&bytes, 5), None);
        assert_eq!(attributes(&bytes), [&[9, 9][..], &[1, 2, 3, 4]]);
        assert_eq!(attribute(&[255, 255, 7, 0, 1], 7), Some(&[1][..]));
        assert_eq!(attribute(&[0; 3], 0), None);
    }

    #[test]
    fn the_loopback_of_this_machine_is_listed() -> Result<()> {
        assert!(Netlink::open()?.interfaces()?.iter().any(|found| found.index == 1));
        Ok(())
    }
}
