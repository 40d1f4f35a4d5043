//! Events of a trace, independent of the simulator that wrote it.

/// PacketKind of event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventKind {
    /// `+`: the packet arrived at a link's queue.
    Enqueue,
    /// `-`: the packet left the queue and its first bit is sent.
    Dequeue,
    /// `r`: the packet arrived at the other end of the link.
    Receive,
    /// `d`: the packet was dropped, in the queue or after it.
    Drop,
}

/// TCP header flags (RFC 9293 §3.1). FIN is the lowest bit.
pub mod tcp_flags {
    /// FIN.
    pub const FIN: u16 = 0x01;
    /// SYN.
    pub const SYN: u16 = 0x02;
    /// PSH.
    pub const PSH: u16 = 0x08;
    /// ECN echo.
    pub const ECE: u16 = 0x40;
    /// Congestion window reduced.
    pub const CWR: u16 = 0x80;
}

/// PacketKind of packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PacketKind {
    /// TCP segment with data.
    Data,
    /// TCP segment without data.
    Ack,
    /// Any other packet.
    Other,
}

/// An event of a packet on a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// PacketKind of event.
    pub what: EventKind,
    /// Time, ns.
    pub time_ns: i64,
    /// Number of the link in [`crate::Network`].
    pub link: u32,
    /// Number of the stream in [`crate::Network`].
    pub stream: u32,
    /// Number of the packet, constant on its path.
    pub uid: u64,
    /// Packet size in the trace's definition.
    pub bytes: u32,
    /// PacketKind of packet.
    pub kind: PacketKind,
    /// Sequence number in packets or bytes, depending on the stream; -1 if absent.
    pub seq: i64,
    /// ACK number; -1 if absent.
    pub ack: i64,
    /// Payload bytes; `None` if absent.
    pub payload_bytes: Option<u32>,
    /// Flags of the TCP header.
    pub tcp_flags: u16,
    /// DSCP and ECN field of the IP header (RFC 3168 §5).
    pub tos: u8,
}
