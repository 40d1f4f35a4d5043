//! The path manager of Multipath TCP in user space, by generic netlink (linux/mptcp.h). It opens and
//! closes exactly the subflows of the scenario.

use crate::netlink::{attribute, word};
use crate::sys;
use std::io::{Error, ErrorKind, Result};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

const NETLINK_GENERIC: i32 = 16;
const SOL_NETLINK: i32 = 270;
const ADD_MEMBERSHIP: i32 = 1;
const REQUEST_ACK: u16 = 5;
/// Generic netlink's control family and its request.
const CONTROL: u16 = 16;
const GET_FAMILY: u8 = 3;
const FAMILY_ID: u16 = 1;
const FAMILY_NAME: u16 = 2;
const GROUPS: u16 = 7;
const GROUP_NAME: u16 = 1;
const GROUP_ID: u16 = 2;
/// Commands MPTCP_PM_CMD_SET_FLAGS and others.
const SET_FLAGS: u8 = 7;
const SUBFLOW_CREATE: u8 = 10;
const SUBFLOW_DESTROY: u8 = 11;
const ATTR_ADDRESS: u16 = 1;
const ATTR_TOKEN: u16 = 4;
const ATTR_REMOTE: u16 = 6;
const ADDRESS_FAMILY: u16 = 1;
const ADDRESS_ID: u16 = 2;
const ADDRESS_V4: u16 = 3;
const ADDRESS_PORT: u16 = 5;
const ADDRESS_FLAGS: u16 = 6;
const FLAG_BACKUP: u32 = 1 << 2;
const NESTED: u16 = 1 << 15;

/// One end of a subflow.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Endpoint {
    pub(crate) address: [u8; 4],
    pub(crate) port: u16,
    /// Address identifier (RFC 8684 §3.2).
    pub(crate) id: u8,
}

/// Path manager of one namespace, with a socket for requests and one for events.
pub(crate) struct PathManager {
    requests: OwnedFd,
    events: OwnedFd,
    family: u16,
}

fn put(message: &mut Vec<u8>, kind: u16, content: &[u8]) {
    message.extend((4 + content.len() as u16).to_ne_bytes());
    message.extend(kind.to_ne_bytes());
    message.extend(content);
    message.resize(message.len().next_multiple_of(4), 0);
}

fn nested(endpoint: Endpoint, flags: Option<u32>) -> Vec<u8> {
    let mut found = Vec::new();
    put(&mut found, ADDRESS_FAMILY, &(libc::AF_INET as u16).to_ne_bytes());
    put(&mut found, ADDRESS_ID, &[endpoint.id]);
    put(&mut found, ADDRESS_V4, &endpoint.address);
    put(&mut found, ADDRESS_PORT, &endpoint.port.to_ne_bytes());
    if let Some(flags) = flags {
        put(&mut found, ADDRESS_FLAGS, &flags.to_ne_bytes());
    }
    found
}

/// Sends a request and returns the attributes of the reply, if there are any.
fn ask(socket: BorrowedFd<'_>, family: u16, command: u8, attributes: &[u8]) -> Result<Vec<u8>> {
    let mut message = vec![0_u8; 16];
    message.extend([command, 1, 0, 0]);
    message.extend(attributes);
    let length = message.len() as u32;
    message[0..4].copy_from_slice(&length.to_ne_bytes());
    message[4..6].copy_from_slice(&family.to_ne_bytes());
    message[6..8].copy_from_slice(&REQUEST_ACK.to_ne_bytes());
    sys::send(socket, &message)?;
    let mut answer = Vec::new();
    let mut buffer = vec![0_u8; 1 << 14];
    loop {
        let length = sys::receive(socket, &mut buffer)?;
        let mut rest = &buffer[..length];
        while rest.len() >= 20 {
            let size = (word(rest, 0) as usize).clamp(16, rest.len());
            if u16::from_ne_bytes([rest[4], rest[5]]) == 2 {
                return match -(word(rest, 16) as i32) {
                    0 => Ok(answer),
                    code => Err(Error::from_raw_os_error(code)),
                };
            }
            answer = rest.get(20..size).unwrap_or(&[]).to_vec();
            rest = rest.get(size.next_multiple_of(4)..).unwrap_or(&[]);
        }
    }
}

impl PathManager {
    /// Opens the path manager of this namespace. The kernel leaves path management to user space as
    /// long as a socket listens for events.
    pub(crate) fn open() -> Result<Self> {
        let requests = sys::socket(libc::AF_NETLINK, libc::SOCK_RAW, NETLINK_GENERIC)?;
        let events = sys::socket(libc::AF_NETLINK, libc::SOCK_RAW, NETLINK_GENERIC)?;
        let mut name = Vec::new();
        put(&mut name, FAMILY_NAME, b"mptcp_pm\0");
        // Sent on the event socket: the kernel delivers events only to sockets with an address.
        let known = ask(events.as_fd(), CONTROL, GET_FAMILY, &name).map_err(|error| {
            Error::other(format!("the kernel has no path manager of Multipath TCP: {error}"))
        })?;
        let family = attribute(&known, FAMILY_ID).and_then(|id| id.get(..2));
        let family = family.map_or(0, |id| u16::from_ne_bytes([id[0], id[1]]));
        let mut groups = attribute(&known, GROUPS).unwrap_or(&[]);
        while groups.len() >= 4 {
            let size = usize::from(u16::from_ne_bytes([groups[0], groups[1]]));
            let group = groups.get(4..size.clamp(4, groups.len())).unwrap_or(&[]);
            if attribute(group, GROUP_NAME).is_some_and(|name| name.starts_with(b"mptcp_pm_events"))
            {
                let id = word(attribute(group, GROUP_ID).unwrap_or(&[]), 0) as i32;
                sys::set_option(events.as_fd(), SOL_NETLINK, ADD_MEMBERSHIP, id)?;
            }
            groups = groups.get(size.max(4).next_multiple_of(4)..).unwrap_or(&[]);
        }
        Ok(Self { requests, events, family })
    }

    /// Descriptor that is readable if events wait.
    pub(crate) fn events(&self) -> BorrowedFd<'_> {
        self.events.as_fd()
    }

    /// Discards pending events. The caller reads the state from the connections.
    pub(crate) fn drain(&self) -> Result<()> {
        let mut buffer = vec![0_u8; 1 << 14];
        loop {
            match sys::receive(self.events.as_fd(), &mut buffer) {
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error),
            }
        }
    }

    fn subflow(
        &self,
        command: u8,
        token: u32,
        [local, remote]: [Endpoint; 2],
        flags: Option<u32>,
    ) -> Result<()> {
        let mut attributes = Vec::new();
        put(&mut attributes, ATTR_TOKEN, &token.to_ne_bytes());
        put(&mut attributes, ATTR_ADDRESS | NESTED, &nested(local, flags));
        put(&mut attributes, ATTR_REMOTE | NESTED, &nested(remote, None));
        ask(self.requests.as_fd(), self.family, command, &attributes).map(drop)
    }

    /// Joins a subflow to a connection. Before Linux 6.12 the SYN does not say that it is a backup.
    pub(crate) fn create(&self, token: u32, ends: [Endpoint; 2], backup: bool) -> Result<()> {
        self.subflow(SUBFLOW_CREATE, token, ends, backup.then_some(FLAG_BACKUP))
    }

    /// Signals to the other end that a subflow is a backup (MP_PRIO).
    pub(crate) fn make_backup(&self, token: u32, ends: [Endpoint; 2]) -> Result<()> {
        self.subflow(SET_FLAGS, token, ends, Some(FLAG_BACKUP))
    }

    /// Closes a subflow.
    pub(crate) fn destroy(&self, token: u32, ends: [Endpoint; 2]) -> Result<()> {
        self.subflow(SUBFLOW_DESTROY, token, ends, None)
    }
}
