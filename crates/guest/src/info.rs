//! State of a connection: `struct tcp_info` of linux/tcp.h, by offset. Later kernels write more fields.

use crate::sys;
use std::io::Result;
use std::os::fd::BorrowedFd;

/// `struct tcp_info` of a socket.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TcpInfo {
    bytes: [u8; 256],
    /// Bytes that the kernel wrote.
    length: usize,
}

macro_rules! fields {
    ($($(#[$meta:meta])* $name:ident: $kind:ty = $at:literal;)+) => {
        $($(#[$meta])*
        pub(crate) fn $name(&self) -> $kind {
            let mut raw = [0; size_of::<$kind>()];
            raw.copy_from_slice(&self.bytes[$at..$at + size_of::<$kind>()]);
            <$kind>::from_ne_bytes(raw)
        })+
    };
}

/// Defines fields that not every kernel writes.
macro_rules! later_fields {
    ($($(#[$meta:meta])* $name:ident: $kind:ty = $at:literal;)+) => {
        $($(#[$meta])*
        pub(crate) fn $name(&self) -> Option<$kind> {
            let field = self.bytes[..self.length].get($at..$at + size_of::<$kind>())?;
            field.try_into().ok().map(<$kind>::from_ne_bytes)
        })+
    };
}

impl TcpInfo {
    /// Reads the state of a socket.
    pub(crate) fn of(fd: BorrowedFd<'_>) -> Result<Self> {
        let mut bytes = [0; 256];
        let length = sys::get_option(fd, libc::IPPROTO_TCP, libc::TCP_INFO, &mut bytes)?;
        Ok(Self { bytes, length })
    }

    /// Makes it of a copy of the structure.
    pub(crate) fn of_bytes(copy: &[u8]) -> Self {
        let mut bytes = [0; 256];
        let length = copy.len().min(bytes.len());
        bytes[..length].copy_from_slice(&copy[..length]);
        Self { bytes, length }
    }

    fields! {
        /// TCP state; TCP_ESTABLISHED is 1.
        state: u8 = 0;
        /// Congestion state: Open, Disorder, CWR, Recovery, Loss.
        ca_state: u8 = 1;
        /// Window scales (8 bits), then a bit that is 1 if the delivery rate was
        /// application-limited.
        bits: u8 = 7;
        rto_us: u32 = 8;
        unacked: u32 = 24;
        sacked: u32 = 28;
        lost: u32 = 32;
        retrans: u32 = 36;
        /// Time since data last arrived, ms.
        last_data_received_ms: u32 = 52;
        rtt_us: u32 = 68;
        rttvar_us: u32 = 72;
        ssthresh: u32 = 76;
        cwnd: u32 = 80;
        reordering: u32 = 88;
        total_retrans: u32 = 100;
        /// Rate in bytes per second.
        pacing_rate: u64 = 104;
        bytes_acked: u64 = 120;
        bytes_received: u64 = 128;
        segments_out: u32 = 136;
        segments_in: u32 = 140;
        not_sent_bytes: u32 = 144;
        min_rtt_us: u32 = 148;
        data_segments_out: u32 = 156;
        /// Rate in bytes per second.
        delivery_rate: u64 = 160;
        busy_us: u64 = 168;
        rwnd_limited_us: u64 = 176;
        sndbuf_limited_us: u64 = 184;
    }

    later_fields! {
        /// Since Linux 4.18.
        delivered: u32 = 192;
        /// Since Linux 4.18.
        delivered_ce: u32 = 196;
        /// Since Linux 4.19.
        bytes_sent: u64 = 200;
        /// Since Linux 4.19.
        dsack_duplicates: u32 = 216;
        /// Since Linux 5.4 (`tcpi_snd_wnd`).
        send_window_bytes: u32 = 228;
    }

    /// Name of the congestion state in Linux.
    pub(crate) fn ca_state_name(&self) -> &'static str {
        ["Open", "Disorder", "CWR", "Recovery", "Loss"]
            .get(usize::from(self.ca_state()))
            .copied()
            .unwrap_or("")
    }

    /// Packets in flight: sent, less SACKed and lost, plus retransmitted (`tcp_packets_in_flight`).
    pub(crate) fn in_flight(&self) -> u32 {
        (self.unacked() + self.retrans()).saturating_sub(self.sacked() + self.lost())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_older_kernel_does_not_say_is_unknown() {
        // In Linux 4.15 the structure ends with the times of the sender's limits.
        let old = TcpInfo::of_bytes(&[1; 192]);
        assert_eq!((old.busy_us(), old.delivered()), (0x0101_0101_0101_0101, None));
        assert_eq!((old.bytes_sent(), old.send_window_bytes()), (None, None));
        let whole = TcpInfo::of_bytes(&[1; 232]);
        assert_eq!(whole.delivered(), Some(0x0101_0101));
        assert_eq!(whole.send_window_bytes(), Some(0x0101_0101));
        assert_eq!(TcpInfo::of_bytes(&[1; 231]).send_window_bytes(), None);
    }
}
