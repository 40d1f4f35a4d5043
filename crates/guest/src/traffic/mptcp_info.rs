//! State of a Multipath TCP socket (linux/mptcp.h): the connection and its subflows.

use crate::info::TcpInfo;
use crate::netlink::{long, word};
use crate::sys;
use std::io::Result;
use std::os::fd::BorrowedFd;

const SOL_MPTCP: i32 = 284;
const MPTCP_INFO: i32 = 1;
const MPTCP_TCPINFO: i32 = 2;
const MPTCP_SUBFLOW_ADDRS: i32 = 3;
/// Sizes of `struct mptcp_subflow_data` and of the structures per subflow that follow it.
const HEADER_BYTES: usize = 16;
const TCP_INFO_BYTES: usize = 256;
const ADDRESSES_BYTES: usize = 256;
const SUBFLOWS_MAX: usize = 64;

/// Used fields of `struct mptcp_info`.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Info {
    pub(super) flags: u32,
    pub(super) token: u32,
    pub(super) write_seq: u64,
    pub(super) snd_una: u64,
    pub(super) rcv_nxt: u64,
}

impl Info {
    /// Reads the state of a socket.
    pub(super) fn of(fd: BorrowedFd<'_>) -> Result<Self> {
        let mut bytes = [0_u8; 64];
        sys::get_option(fd, SOL_MPTCP, MPTCP_INFO, &mut bytes)?;
        Ok(Self {
            flags: word(&bytes, 8),
            token: word(&bytes, 12),
            write_seq: long(&bytes, 16),
            snd_una: long(&bytes, 24),
            rcv_nxt: long(&bytes, 32),
        })
    }

    /// Returns true if the connection fell back to TCP.
    pub(super) fn fell_back(&self) -> bool {
        self.flags & 1 != 0
    }
}

/// Reads client port and `tcp_info` of all subflows of a socket. `side`: 0 for the client's socket,
/// 1 for the server's.
pub(super) fn subflows(fd: BorrowedFd<'_>, side: usize) -> Result<Vec<(u16, TcpInfo)>> {
    let read = |option: i32, each: usize| -> Result<Vec<Vec<u8>>> {
        let mut bytes = vec![0_u8; HEADER_BYTES + SUBFLOWS_MAX * each];
        bytes[0..4].copy_from_slice(&(HEADER_BYTES as u32).to_ne_bytes());
        bytes[12..16].copy_from_slice(&(each as u32).to_ne_bytes());
        sys::get_option(fd, SOL_MPTCP, option, &mut bytes)?;
        let count = word(&bytes, 4) as usize;
        // The kernel's structure may be shorter.
        let each = (word(&bytes, 12) as usize).clamp(1, each);
        let all = bytes.split_off(HEADER_BYTES);
        Ok(all.chunks_exact(each).take(count).map(<[u8]>::to_vec).collect())
    };
    let addresses = read(MPTCP_SUBFLOW_ADDRS, ADDRESSES_BYTES)?;
    let infos = read(MPTCP_TCPINFO, TCP_INFO_BYTES)?;
    // Local and remote address, 128 bytes each: family, port.
    let at = side * ADDRESSES_BYTES / 2 + 2;
    let found = addresses.iter().zip(&infos).filter_map(|(address, info)| {
        let port = u16::from_be_bytes([*address.get(at)?, *address.get(at + 1)?]);
        Some((port, TcpInfo::of_bytes(info)))
    });
    Ok(found.collect())
}
