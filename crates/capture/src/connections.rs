//! Connections of a file. A flood or a scan opens a million connections without data. For these,
//! only the first packets are kept, not the analysis.

use crate::connection::recovery::RetransmissionKind;
use crate::connection::stream::Verdict;
use crate::connection::{Connection, PacketInfo};
use crate::tcp_header::{TcpFlags, TcpHeader};
use std::borrow::Cow;

/// Maximum number of packets kept before a connection is analysed.
const EARLY_MAX: usize = 3;

/// Packet without data: header fields and frame information.
#[derive(Clone, Copy, Debug)]
struct EarlyPacket {
    now_ns: i64,
    frame: u64,
    wire_bytes: u32,
    sequence: u32,
    acknowledgement: u32,
    /// Timestamps; 0 if absent (see `bits`).
    stamps: (u32, u32),
    ports: (u16, u16),
    window: u16,
    mss: u16,
    identification: u16,
    flags: TcpFlags,
    window_scale: u8,
    bits: u16,
}

const SIDE: u16 = 1;
const MSS: u16 = 1 << 1;
const WINDOW_SCALE: u16 = 1 << 2;
const SACK_PERMITTED: u16 = 1 << 3;
const STAMPS: u16 = 1 << 4;
const MALFORMED: u16 = 1 << 5;
const IDENTIFICATION: u16 = 1 << 6;
const CONGESTION: u16 = 1 << 7;
const SHARED_COUNTER: u16 = 1 << 8;
const DUPLICATED: u16 = 1 << 9;
const CUT: u16 = 1 << 10;

impl EarlyPacket {
    /// Returns `None` if the packet needs the full analysis.
    fn of(side: usize, info: &PacketInfo, segment: &TcpHeader) -> Option<Self> {
        let more = segment.payload_bytes > 0
            || segment.flags.fin()
            || segment.sack_count > 0
            || info.earlier.is_some();
        let bits = [
            (side == 1, SIDE),
            (segment.mss.is_some(), MSS),
            (segment.window_scale.is_some(), WINDOW_SCALE),
            (segment.sack_permitted, SACK_PERMITTED),
            (segment.timestamps.is_some(), STAMPS),
            (segment.malformed, MALFORMED),
            (info.identification.is_some(), IDENTIFICATION),
            (info.congestion, CONGESTION),
            (info.shared_counter, SHARED_COUNTER),
            (info.duplicated, DUPLICATED),
            (segment.cut, CUT),
        ];
        (!more).then_some(Self {
            now_ns: info.now_ns,
            frame: info.frame,
            wire_bytes: info.wire_bytes,
            sequence: segment.sequence,
            acknowledgement: segment.acknowledgement,
            stamps: segment.timestamps.unwrap_or_default(),
            ports: segment.ports,
            window: segment.window,
            mss: segment.mss.unwrap_or_default(),
            identification: info.identification.unwrap_or_default(),
            flags: segment.flags,
            window_scale: segment.window_scale.unwrap_or_default(),
            bits: bits.iter().filter(|(is, _)| *is).map(|(_, bit)| bit).sum(),
        })
    }

    fn is(&self, bit: u16) -> bool {
        self.bits & bit != 0
    }

    fn pass(&self, connection: &mut Connection) {
        let info = PacketInfo {
            now_ns: self.now_ns,
            frame: self.frame,
            wire_bytes: self.wire_bytes,
            identification: self.is(IDENTIFICATION).then_some(self.identification),
            shared_counter: self.is(SHARED_COUNTER),
            congestion: self.is(CONGESTION),
            earlier: None,
            duplicated: self.is(DUPLICATED),
        };
        let segment = TcpHeader {
            ports: self.ports,
            sequence: self.sequence,
            acknowledgement: self.acknowledgement,
            flags: self.flags,
            window: self.window,
            mss: self.is(MSS).then_some(self.mss),
            window_scale: self.is(WINDOW_SCALE).then_some(self.window_scale),
            sack_permitted: self.is(SACK_PERMITTED),
            timestamps: self.is(STAMPS).then_some(self.stamps),
            malformed: self.is(MALFORMED),
            cut: self.is(CUT),
            ..TcpHeader::default()
        };
        // No data, so no spurious retransmission can be proved.
        connection.packet(usize::from(self.is(SIDE)), &info, &segment, &mut Vec::new());
    }
}

#[derive(Debug)]
enum State {
    Early(Vec<EarlyPacket>),
    Analysed(Box<Connection>),
}

#[derive(Debug)]
struct Entry {
    conversation: u32,
    interface: u32,
    state: State,
}

impl Entry {
    fn connection(&self) -> Cow<'_, Connection> {
        match &self.state {
            State::Analysed(connection) => Cow::Borrowed(connection),
            State::Early(packets) => Cow::Owned(analysed(self.interface, packets)),
        }
    }
}

impl Entry {
    /// The connection, analysed from now on.
    fn analyse(&mut self) -> &mut Connection {
        if let State::Early(packets) = &self.state {
            self.state = State::Analysed(Box::new(analysed(self.interface, packets)));
        }
        let State::Analysed(connection) = &mut self.state else {
            unreachable!("the connection is analysed")
        };
        connection
    }
}

fn analysed(interface: u32, packets: &[EarlyPacket]) -> Connection {
    let mut connection = Connection::at(interface);
    packets.iter().for_each(|packet| packet.pass(&mut connection));
    connection
}

/// Connections by number, in order of their first packets.
#[derive(Debug, Default)]
pub struct Connections(Vec<Entry>);

impl Connections {
    /// Number of connections.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns true if there are no connections.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Connection by number, with the number of its conversation.
    pub fn get(&self, number: usize) -> Option<(u32, Cow<'_, Connection>)> {
        self.0.get(number).map(|one| (one.conversation, one.connection()))
    }

    /// Iterates over all connections with the numbers of their conversations.
    pub fn iter(&self) -> impl Iterator<Item = (u32, Cow<'_, Connection>)> {
        self.0.iter().map(|one| (one.conversation, one.connection()))
    }

    /// Interface of a connection.
    pub(crate) fn interface(&self, number: u32) -> u32 {
        self.0[number as usize].interface
    }

    pub(crate) fn push(&mut self, conversation: u32, interface: u32) {
        self.0.push(Entry { conversation, interface, state: State::Early(Vec::new()) });
    }

    /// A connection, analysed from now on.
    pub(crate) fn analysed(&mut self, number: u32) -> &mut Connection {
        self.0[number as usize].analyse()
    }

    /// Processes a packet of a connection; `timed` is true if it has a timestamp.
    pub(crate) fn packet(
        &mut self,
        number: u32,
        side: usize,
        (info, timed): (&PacketInfo, bool),
        segment: &TcpHeader,
        proved: &mut Vec<u64>,
    ) -> Option<Verdict> {
        if let State::Early(packets) = &mut self.0[number as usize].state {
            let early = EarlyPacket::of(side, info, segment).filter(|_| timed);
            if let Some(early) = early.filter(|_| packets.len() < EARLY_MAX) {
                let syn = early.flags.syn() && !early.flags.rst();
                let earlier = |one: &EarlyPacket| one.flags.syn() && one.is(SIDE) == early.is(SIDE);
                let repeated = syn && packets.iter().any(earlier);
                packets.reserve_exact(1);
                packets.push(early);
                return repeated.then_some(Verdict::repeated_syn(RetransmissionKind::Handshake));
            }
        }
        let connection = self.0[number as usize].analyse();
        connection.timeless |= !timed;
        connection.packet(side, info, segment, proved)
    }
}
