//! A script as values.

use crate::settings::Version;
use crate::{parse, Wrong};

/// A script: settings, a command before it, events in their order, and a command after it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Script {
    /// Version of IP.
    pub version: Version,
    /// Lines `--name=value`.
    pub options: Vec<ScriptOption>,
    /// Runs before time 0.
    pub init: Option<Command>,
    /// What happens, in order.
    pub events: Vec<Event>,
    /// Runs at the end, whatever happened.
    pub cleanup: Option<Command>,
}

impl Script {
    /// Reads a script.
    ///
    /// `defined`: words to replace, as of `--define`; the script's own definitions are added.
    /// `version`: of IP, where the script names none.
    ///
    /// # Errors
    /// What does not belong to the language, with its line.
    pub fn parse(
        text: &str,
        defined: &[(String, String)],
        version: Version,
    ) -> Result<Self, Wrong> {
        parse::script(text, defined, version)
    }
}

/// A setting of a script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScriptOption {
    /// Line of the script.
    pub line: u32,
    /// Without the two dashes.
    pub name: String,
    /// After the equals sign.
    pub value: Option<String>,
}

/// A line for the shell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    /// Line of the script.
    pub line: u32,
    /// As it stands between the back quotes.
    pub text: String,
}

/// Something that happens at a time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// Line of the script.
    pub line: u32,
    /// When.
    pub at: At,
    /// What.
    pub action: Action,
}

/// When an event happens, in microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum At {
    /// Since the first event.
    Absolute(i64),
    /// Since the event before.
    Relative(i64),
    /// Between two times since the first event.
    Range(i64, i64),
    /// Between two times since the event before.
    RelativeRange(i64, i64),
    /// Whenever it happens.
    Any,
}

/// What happens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// A packet arrives.
    Inbound(Packet),
    /// The TCP under test sends a packet.
    Outbound(Packet),
    /// The application calls the system.
    Call(Call),
    /// A line for the shell.
    Shell(String),
    /// Python over the connection's state (`tcp_info`).
    Code(String),
}

/// A packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packet {
    /// What the IP header must have.
    pub ip: Ip,
    /// Source and destination port, if given.
    pub ports: Option<(u16, u16)>,
    /// What is in it.
    pub content: Content,
}

/// What a script says about the IP header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ip {
    /// Of the byte TOS (RFC 2474, RFC 3168).
    pub tos: Tos,
    /// Time to live.
    pub ttl: Option<u8>,
    /// IPv6's flow label.
    pub flow_label: Option<u32>,
}

/// What a script says about the byte TOS.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tos {
    /// Nothing: 0 in a packet that arrives.
    #[default]
    Unsaid,
    /// The ECN codepoint.
    Ecn(u8),
    /// ECT(0) or ECT(1).
    Ect,
    /// The whole byte.
    Byte(u8),
}

/// Content of a packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// A segment of TCP.
    Tcp(Segment),
    /// A message of ICMP (ICMPv6 for IPv6).
    Icmp(Icmp),
}

/// Flags of TCP: FIN, SYN, RST, PSH, ACK, URG, ECE, CWR as in the header's byte, AE above them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags(pub u16);

impl Flags {
    /// FIN.
    pub const FIN: u16 = 1;
    /// SYN.
    pub const SYN: u16 = 2;
    /// RST.
    pub const RST: u16 = 4;
    /// PSH.
    pub const PSH: u16 = 8;
    /// ACK.
    pub const ACK: u16 = 16;
    /// URG.
    pub const URG: u16 = 32;
    /// ECE.
    pub const ECE: u16 = 64;
    /// CWR.
    pub const CWR: u16 = 128;
    /// AE, of Accurate ECN.
    pub const AE: u16 = 256;

    /// True if all these flags are set.
    pub fn has(self, flags: u16) -> bool {
        self.0 & flags == flags
    }
}

/// A segment of TCP, with the sequence numbers of the script.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Segment {
    /// Flags.
    pub flags: Flags,
    /// Counter of Accurate ECN, given as a digit among the flags.
    pub ace: Option<u8>,
    /// First sequence number.
    pub seq: u32,
    /// Payload in bytes.
    pub payload_bytes: u16,
    /// Acknowledgment number; 0 if not given.
    pub ack: u32,
    /// Window as in the header; None is not checked.
    pub window: Option<u16>,
    /// Urgent pointer.
    pub urgent: u16,
    /// Options in their order; None (`<...>`) is not checked.
    pub options: Option<Vec<TcpOption>>,
}

/// An option of TCP.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TcpOption {
    /// End of options.
    End,
    /// No operation.
    Nop,
    /// Maximum segment size.
    Mss(u16),
    /// Window scale.
    WindowScale(u8),
    /// SACK permitted.
    SackPermitted,
    /// SACK blocks (RFC 2018), left and right edge.
    Sack(Vec<(u32, u32)>),
    /// Timestamps (RFC 7323): value, echo reply.
    Timestamps(u32, u32),
    /// Any other option: kind, then bytes after the length.
    Other(u8, Vec<u8>),
}

/// A message of ICMP.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Icmp {
    /// Name of the type, as `unreachable`.
    pub kind: String,
    /// Name of the code, as `frag_needed`.
    pub code: Option<String>,
    /// MTU of the next hop.
    pub mtu: Option<u32>,
    /// First sequence number and payload of the segment that it quotes.
    pub quoted: (u32, u16),
}

/// A system call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// Line of the script.
    pub line: u32,
    /// Name.
    pub name: String,
    /// Arguments.
    pub arguments: Vec<Value>,
    /// Result.
    pub result: Value,
    /// Name of the error.
    pub error: Option<String>,
    /// When a blocking call returns, in microseconds; the time's origin is that of the call's.
    pub returns_us: Option<i64>,
}

/// An expression among the arguments of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// `...`.
    Any,
    /// A number.
    Number(i64),
    /// A name of a constant.
    Word(String),
    /// Bytes of a string; true if `...` follows.
    Text(Vec<u8>, bool),
    /// `a | b`.
    Or(Vec<Self>),
    /// `[…]`.
    List(Vec<Self>),
    /// `{a, b}`, also `{name=value}`.
    Braces(Vec<Self>),
    /// `name=value`, `name(length)=value`.
    Field(String, Box<Self>),
    /// `name(argument)`, as `htons(8080)`.
    Apply(String, Box<Self>),
}
