//! What a line of a trace says, whichever simulator wrote it.

/// What happened to a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// `+`: it came to a link's queue.
    Enqueue,
    /// `-`: it left the queue; its first bit is sent.
    Dequeue,
    /// `r`: it is at the other end of the link.
    Receive,
    /// `d`: it was dropped, in the queue or after it.
    Drop,
}

/// Flags of the TCP header, as in the header (RFC 9293 §3.1): FIN is the lowest bit.
pub mod tcp_flags {
    /// No more data.
    pub const FIN: u16 = 0x01;
    /// Synchronise.
    pub const SYN: u16 = 0x02;
    /// Push.
    pub const PSH: u16 = 0x08;
    /// ECN echo.
    pub const ECE: u16 = 0x40;
    /// Congestion window reduced.
    pub const CWR: u16 = 0x80;
}

/// What a packet is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// TCP with data.
    Data,
    /// TCP without.
    Ack,
    /// Anything else.
    Other,
}

/// One line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// What happened.
    pub what: What,
    /// When.
    pub time_ns: i64,
    /// Where: number of the link in [`crate::Network`].
    pub link: u32,
    /// Whose: number of the stream in [`crate::Network`].
    pub stream: u32,
    /// The packet's own number, the same on its whole way.
    pub uid: u64,
    /// Its size as the trace counts it.
    pub bytes: u32,
    /// What it is.
    pub kind: Kind,
    /// Its sequence number: of packets or of bytes, as the stream counts; -1: none.
    pub seq: i64,
    /// Next one expected from the other side; -1: not told.
    pub ack: i64,
    /// Payload; `None`: not told.
    pub payload_bytes: Option<u32>,
    /// Flags of the TCP header.
    pub tcp_flags: u16,
    /// The two bits of ECN (RFC 3168 §5) in the IP header, and the codepoint above them.
    pub tos: u8,
}
