//! Contents of a capture: totals, conversations, packet lengths, rates, pings, and an analysis of
//! each TCP connection.

use crate::connection::stream::Verdict;
use crate::connection::PacketInfo;
use crate::connections::Connections;
use crate::decode::{self, Address, Encapsulation, IpPacket, LinkType, Outer, Skipped, TCP, UDP};
use crate::duplicates::{Apart, Duplicates, Sighting};
use crate::file::Record;
use crate::fragments::Fragments;
use crate::icmp::{IcmpError, IcmpErrors, Matched, Message};
use crate::ping::Pings;
use crate::rate::{Busiest, Rates};
use crate::sources::{Choice, Sources};
use crate::tcp_header::{self, TcpHeader};
use crate::tunnels::{Tallies, Tunnels};
// For look-ups only, never iterated: results do not depend on the order.
use hashbrown::{DefaultHashBuilder, HashMap, HashTable};
use std::hash::BuildHasher;

/// Kind of conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ConversationKind {
    /// Between two hosts.
    Ip,
    /// Between two TCP endpoints.
    Tcp,
    /// Between two UDP endpoints.
    Udp,
}

/// Traffic of one side of a conversation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counted {
    /// Frames.
    pub packets: u64,
    /// Sum of their lengths on the wire.
    pub bytes: u64,
}

/// Two endpoints and the traffic between them. `a` sent the first frame.
#[derive(Clone, Debug)]
pub struct Conversation {
    /// Kind of conversation.
    pub kind: ConversationKind,
    /// First sender and its port (0 for hosts).
    pub a: (Address, u16),
    /// Other endpoint.
    pub b: (Address, u16),
    /// Traffic towards `b` and towards `a`.
    pub counted: [Counted; 2],
    /// Times of first and last frame, ns since 1970; `None` without timestamps.
    pub times_ns: Option<(i64, i64)>,
    /// Number of the tunnel stack around its packets, for [`Survey::outer`]; 0: none.
    pub tunnel: u32,
    /// Initial sequence numbers in the SYNs of `a` and `b`.
    opened: [Option<u32>; 2],
    /// Number of the conversation between its hosts.
    hosts: u32,
    /// First of its connections in [`Survey::connections`].
    connection: Option<u32>,
}

/// Upper ends of the packet-length bins, as in Wireshark. The last bin has no upper end.
pub const LENGTH_BINS: [u32; 9] = [19, 39, 79, 159, 319, 639, 1279, 2559, 5119];

/// Maximum timestamp whose differences fit in 64 bits; larger than 32-bit seconds.
const TIME_MAX_NS: i64 = 1 << 62;

/// Maximum number of interfaces counted separately.
const INTERFACES_MAX: usize = 1 << 12;

/// Maximum number of bins of the total rate.
const RATE_BINS_MAX: usize = 1024;

/// Key of a conversation: both endpoints, the smaller first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Ends {
    low: u128,
    high: u128,
    ports: u32,
    /// Kind of conversation, IP version, and tunnel stack.
    kind: u32,
}

impl Ends {
    fn of(kind: ConversationKind, tunnel: u32, from: (Address, u16), to: (Address, u16)) -> Self {
        let number = |address: Address| match address {
            Address::V4(bytes) => (0, u128::from(u32::from_be_bytes(bytes))),
            Address::V6(bytes) => (1, u128::from_be_bytes(bytes)),
        };
        let (version, source) = number(from.0);
        let (_, destination) = number(to.0);
        let (one, other) = ((source, from.1), (destination, to.1));
        let (low, high) = if one <= other { (one, other) } else { (other, one) };
        Self {
            low: low.0,
            high: high.0,
            ports: u32::from(low.1) << 16 | u32::from(high.1),
            kind: (tunnel << 3) | (kind as u32 * 2 + version),
        }
    }
}

/// A TCP packet of a record, for per-packet tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TcpPacket {
    /// Index of its connection in [`Survey::connections`].
    pub connection: u32,
    /// Sender: `a` (0) or `b` (1).
    pub side: usize,
    /// TCP header.
    pub header: TcpHeader,
    /// ECN field of the IP header (RFC 3168 §5): 1 is ECT(1), 2 is ECT(0), 3 is CE.
    pub ecn: u8,
    /// Analysis, if the packet has payload or a FIN.
    pub verdict: Option<Verdict>,
}

/// Analysis of one file.
#[derive(Debug)]
pub struct Survey {
    /// All frames.
    pub total: Counted,
    /// Truncated frames.
    pub truncated: u64,
    /// Frames without a readable IP packet.
    pub other: u64,
    /// Frames without a readable IP packet, by reason.
    pub skipped: Tallies<Skipped>,
    /// Frames by link type.
    pub links: Tallies<LinkType>,
    /// Frames with tunnels beyond the maximum depth.
    pub too_deep: u64,
    /// 802.11 frames with several packets (A-MSDU). Only the first packet is read.
    pub aggregated: u64,
    /// TCP packets with an unreadable header.
    pub unread: u64,
    /// First and last timestamp.
    pub times_ns: Option<(i64, i64)>,
    /// Frames whose timestamp is before that of the frame before them.
    pub disordered: u64,
    /// Frames by length: the bins of [`LENGTH_BINS`] and one above.
    pub lengths: [Counted; LENGTH_BINS.len() + 1],
    /// Frames by interface.
    pub interfaces: Vec<Counted>,
    /// Packets and bytes over time.
    pub rates: Rates<2>,
    /// Maximum bytes in 0.1 s.
    pub busiest: Busiest,
    /// Conversations in order of their first frames.
    pub conversations: Vec<Conversation>,
    /// TCP connections, one per conversation and interface, with the number of the conversation.
    pub connections: Connections,
    /// Echo requests and replies.
    pub pings: Pings,
    /// ICMP errors.
    pub icmp: IcmpErrors,
    /// Most recent conversation between two endpoints.
    latest: HashTable<u32>,
    hasher: DefaultHashBuilder,
    /// Connections at further interfaces, by conversation and interface.
    further: HashMap<(u32, u32), u32>,
    last: Option<(Ends, u32)>,
    tunnels: Tunnels,
    passed_over: u64,
    /// Tunnel stack of the current packet.
    tunnel: u32,
    encapsulation: Encapsulation,
    fragments: Fragments,
    sources: Sources,
    duplicates: Duplicates,
    now_ns: i64,
    /// Frames that the last record proved to be spurious retransmissions.
    proved: Vec<u64>,
}

impl Default for Survey {
    fn default() -> Self {
        Self {
            total: Counted::default(),
            truncated: 0,
            other: 0,
            skipped: Tallies::default(),
            links: Tallies::default(),
            too_deep: 0,
            aggregated: 0,
            unread: 0,
            times_ns: None,
            disordered: 0,
            lengths: [Counted::default(); LENGTH_BINS.len() + 1],
            interfaces: Vec::new(),
            rates: Rates::new(RATE_BINS_MAX),
            busiest: Busiest::default(),
            conversations: Vec::new(),
            connections: Connections::default(),
            pings: Pings::default(),
            icmp: IcmpErrors::default(),
            latest: HashTable::new(),
            hasher: DefaultHashBuilder::default(),
            further: HashMap::new(),
            last: None,
            tunnels: Tunnels::default(),
            passed_over: 0,
            tunnel: 0,
            encapsulation: Encapsulation::default(),
            fragments: Fragments::default(),
            sources: Sources::default(),
            duplicates: Duplicates::default(),
            now_ns: 0,
            proved: Vec::new(),
        }
    }
}

impl Survey {
    /// Processes a record. Returns the TCP packet, if it has one.
    pub fn add(&mut self, record: &Record<'_>) -> Option<TcpPacket> {
        self.count_frame(record);
        self.tunnel = 0;
        let (link, bytes) = (record.link, record.original_bytes);
        let packet = match decode::innermost(link, record.data, bytes, &mut self.encapsulation) {
            Ok(packet) => packet,
            Err(skipped) => {
                self.other += 1;
                self.skipped.add(skipped, Skipped::OTHERS);
                return None;
            }
        };
        if !self.encapsulation.outer.is_empty() {
            self.enter(record);
        }
        self.too_deep += u64::from(self.encapsulation.too_deep);
        self.aggregated += u64::from(self.encapsulation.aggregated);
        let ports = decode::ports(&packet);
        // A fragmented packet counts when it is complete; otherwise the fragment with the ports
        // counts.
        let whole = match packet.fragment {
            Some(fragment) if fragment.complete => self.fragments.add(&packet, fragment, ports),
            _ => ports,
        };
        match (packet.protocol, whole) {
            (TCP, Some(ports)) => self.tcp(record, &packet, ports),
            (UDP, Some((from, to))) => {
                let (from, to) = ((packet.source, from), (packet.destination, to));
                let (conversation, _) =
                    self.converse(ConversationKind::Udp, from, to, None, record);
                self.identify(&packet, conversation);
                None
            }
            _ => {
                let (from, to) = ((packet.source, 0), (packet.destination, 0));
                let conversation = self.count_hosts(from, to, record);
                self.identify(&packet, conversation);
                self.pings.add(record.interface, self.now_ns, &packet);
                if let Some(message) = Message::parse(&packet) {
                    self.icmp_error(record, &packet, message);
                }
                None
            }
        }
    }

    /// Outer headers of a tunnel stack, outermost first, from its first packet.
    pub fn outer(&self, tunnel: u32) -> &[Outer] {
        self.tunnels.outer(tunnel)
    }

    /// Counts the outer packets of tunnels, as tshark does.
    fn enter(&mut self, record: &Record<'_>) {
        let outer = std::mem::take(&mut self.encapsulation.outer);
        for (depth, one) in outer.iter().enumerate() {
            let (from, to) = (one.source, one.destination);
            match one.ports {
                Some((source, destination)) => {
                    let (from, to) = ((from, source), (to, destination));
                    self.converse(ConversationKind::Udp, from, to, None, record);
                }
                None => {
                    self.count_hosts((from, 0), (to, 0), record);
                }
            }
            self.tunnel = self.tunnels.number(&outer[..=depth]);
        }
        self.encapsulation.outer = outer;
    }

    /// Number of the last record in its file, from 1.
    pub fn frame(&self) -> u64 {
        self.total.packets + self.passed_over
    }

    /// Frames that were captured at two places.
    pub fn apart(&self) -> Apart {
        self.duplicates.apart()
    }

    /// Skips a record but counts it in the frame numbers.
    pub fn pass_over(&mut self) {
        self.passed_over += 1;
    }

    /// Numbers of earlier frames (from 1) that the last record proved to be spurious.
    pub fn proved(&self) -> &[u64] {
        &self.proved
    }

    fn count_frame(&mut self, record: &Record<'_>) {
        self.proved.clear();
        let bytes = record.original_bytes;
        self.total.add(bytes);
        self.lengths[length_bin(bytes)].add(bytes);
        let interface = record.interface as usize;
        if interface < INTERFACES_MAX {
            if interface >= self.interfaces.len() {
                self.interfaces.resize(interface + 1, Counted::default());
            }
            self.interfaces[interface].add(bytes);
        }
        self.links.add(record.link, LinkType::MIXED);
        self.truncated += u64::from(record.data.len() < bytes as usize);
        if let Some(now) = record.time_ns {
            let now_ns = now.clamp(0, TIME_MAX_NS);
            self.disordered += u64::from(self.times_ns.is_some() && now_ns < self.now_ns);
            self.now_ns = now_ns;
            self.times_ns = spanning(self.times_ns, now);
            self.rates.add(self.now_ns, [1, u64::from(bytes)]);
            self.busiest.add(self.now_ns, u64::from(bytes));
        }
    }

    fn count_hosts(
        &mut self,
        from: (Address, u16),
        to: (Address, u16),
        record: &Record<'_>,
    ) -> u32 {
        let ends = Ends::of(ConversationKind::Ip, self.tunnel, from, to);
        let number = self.number(ends, ConversationKind::Ip, from, to, None);
        self.conversations[number as usize].add(from, record);
        number
    }

    /// Counts a TCP or UDP packet for its hosts and its endpoints. Returns the endpoints'
    /// conversation and the side.
    fn converse(
        &mut self,
        kind: ConversationKind,
        from: (Address, u16),
        to: (Address, u16),
        opens: Option<u32>,
        record: &Record<'_>,
    ) -> (u32, usize) {
        let ends = Ends::of(kind, self.tunnel, from, to);
        let number = match self.last {
            Some((last, number)) if last == ends && opens.is_none() => number,
            _ => self.number(ends, kind, from, to, opens),
        };
        self.last = Some((ends, number));
        let conversation = &mut self.conversations[number as usize];
        let (side, hosts) = (conversation.add(from, record), conversation.hosts);
        self.conversations[hosts as usize].add((from.0, 0), record);
        (number, side)
    }

    /// Number of a conversation, known or new.
    fn number(
        &mut self,
        ends: Ends,
        kind: ConversationKind,
        from: (Address, u16),
        to: (Address, u16),
        opens: Option<u32>,
    ) -> u32 {
        let hash = self.hasher.hash_one(ends);
        let known = self.latest.find(hash, |&number| self.ends(number) == ends).copied();
        let known = known.filter(|&number| {
            // Another initial sequence number starts a new connection between the same ports, and
            // so does a SYN of a side that has already sent.
            let conversation = &self.conversations[number as usize];
            let side = usize::from(conversation.a != from);
            let opened = conversation.opened[side];
            opens.is_none_or(|sequence| {
                let first = conversation.counted[side].packets == 0;
                let late = || {
                    let known = conversation.connection.map(|at| at as usize);
                    let known = known.and_then(|at| self.connections.get(at));
                    known.is_some_and(|(_, one)| one.is_late_opening(side, sequence))
                };
                opened == opens || opened.is_none() && (first || late())
            })
        });
        if let Some(number) = known {
            let conversation = &mut self.conversations[number as usize];
            let side = usize::from(conversation.a != from);
            conversation.opened[side] = conversation.opened[side].or(opens);
            return number;
        }
        let hosts = match kind {
            ConversationKind::Ip => self.conversations.len() as u32,
            ConversationKind::Tcp | ConversationKind::Udp => {
                let (from, to) = ((from.0, 0), (to.0, 0));
                let ends = Ends::of(ConversationKind::Ip, self.tunnel, from, to);
                self.number(ends, ConversationKind::Ip, from, to, None)
            }
        };
        let number = self.conversations.len() as u32;
        self.conversations.push(Conversation {
            kind,
            a: from,
            b: to,
            counted: [Counted::default(); 2],
            times_ns: None,
            tunnel: self.tunnel,
            opened: [opens, None],
            hosts,
            connection: None,
        });
        let (conversations, hasher) = (&self.conversations, &self.hasher);
        let ends_of = |&number: &u32| conversations[number as usize].ends();
        let hash_of = |number: &u32| hasher.hash_one(ends_of(number));
        let entry = self.latest.entry(hash, |number| ends_of(number) == ends, hash_of);
        entry.and_modify(|latest| *latest = number).or_insert(number);
        number
    }

    fn ends(&self, number: u32) -> Ends {
        self.conversations[number as usize].ends()
    }

    /// How the packet's sender chooses identifications.
    fn identify(&mut self, packet: &IpPacket<'_>, conversation: u32) -> Choice {
        let known = packet.identification;
        known.map(|known| self.sources.add(packet.source, conversation, known)).unwrap_or_default()
    }

    fn tcp(
        &mut self,
        record: &Record<'_>,
        packet: &IpPacket<'_>,
        (from, to): (u16, u16),
    ) -> Option<TcpPacket> {
        let (from, to) = ((packet.source, from), (packet.destination, to));
        let whole = packet.fragment.is_none();
        let opens = if whole { tcp_header::opens(packet) } else { None };
        let (conversation, side) = self.converse(ConversationKind::Tcp, from, to, opens, record);
        let Choice { shared, varies } = self.identify(packet, conversation);
        let segment = if whole { TcpHeader::parse(packet) } else { None };
        let Some(segment) = segment else {
            self.unread += 1;
            return None;
        };
        let connection = self.connection(conversation, record.interface);
        let of = (conversation, record.interface, side);
        let timed = record.time_ns.is_some();
        let seen = Sighting {
            of,
            syn: segment.flags.syn(),
            stamped: segment.timestamps.is_some(),
            varies,
        };
        let counts = seen.syn || segment.payload_bytes > 0;
        let earlier =
            timed.then(|| self.duplicates.add(self.now_ns, packet, seen, counts)).flatten();
        let info = PacketInfo {
            now_ns: self.now_ns,
            frame: self.frame(),
            wire_bytes: record.original_bytes,
            identification: packet.identification,
            shared_counter: shared,
            earlier,
            duplicated: self.duplicates.duplicated(),
            congestion: packet.tos & 3 == 3,
        };
        let proved = &mut self.proved;
        let verdict = self.connections.packet(connection, side, (&info, timed), &segment, proved);
        Some(TcpPacket { connection, side, header: segment, ecn: packet.tos & 3, verdict })
    }

    fn icmp_error(&mut self, record: &Record<'_>, packet: &IpPacket<'_>, message: Message) {
        // An error goes to the source of the packet that it quotes.
        let addressed = packet.destination == message.quote.source;
        let matched = if addressed { self.quoted(record.interface, &message) } else { None };
        self.icmp.add(IcmpError {
            frame: self.frame(),
            time_ns: record.time_ns,
            interface: record.interface,
            from: packet.source,
            message,
            matched,
        });
    }

    /// Tells the connection of a quoted packet, if it is known, about an ICMP error.
    fn quoted(&mut self, interface: u32, message: &Message) -> Option<Matched> {
        let quote = &message.quote;
        let (ports, sequence) = quote.ports.zip(quote.sequence)?;
        let (from, to) = ((quote.source, ports.0), (quote.destination, ports.1));
        let ends = Ends::of(ConversationKind::Tcp, self.tunnel, from, to);
        let hash = self.hasher.hash_one(ends);
        let number = *self.latest.find(hash, |&number| self.ends(number) == ends)?;
        let conversation = &self.conversations[number as usize];
        let side = usize::from(conversation.a != from);
        let first = conversation.connection?;
        let here = self.connections.interface(first) == interface;
        let further = self.further.get(&(number, interface)).filter(|_| !here);
        let connection = further.copied().unwrap_or(first);
        let of = self.connections.analysed(connection);
        let position = of.icmp_error(side, sequence, message.fate, quote.ip_bytes);
        Some(Matched { connection, side, position })
    }

    /// Index of the conversation's connection at an interface.
    fn connection(&mut self, conversation: u32, interface: u32) -> u32 {
        let number = self.connections.len() as u32;
        let first = self.conversations[conversation as usize].connection.get_or_insert(number);
        if *first == number {
            self.connections.push(conversation, interface);
            return number;
        }
        if self.connections.interface(*first) == interface {
            return *first;
        }
        let known = *self.further.entry((conversation, interface)).or_insert(number);
        if known == number {
            self.connections.push(conversation, interface);
        }
        known
    }
}

fn length_bin(bytes: u32) -> usize {
    LENGTH_BINS.iter().filter(|&&end| end < bytes).count()
}

fn spanning(times: Option<(i64, i64)>, now: i64) -> Option<(i64, i64)> {
    let (first, last) = times.unwrap_or((now, now));
    Some((first.min(now), last.max(now)))
}

impl Conversation {
    fn ends(&self) -> Ends {
        Ends::of(self.kind, self.tunnel, self.a, self.b)
    }

    /// Counts a frame and returns its side.
    fn add(&mut self, from: (Address, u16), record: &Record<'_>) -> usize {
        let side = usize::from(self.a != from);
        self.counted[side].add(record.original_bytes);
        if let Some(now) = record.time_ns {
            self.times_ns = spanning(self.times_ns, now);
        }
        side
    }
}

impl Counted {
    fn add(&mut self, bytes: u32) {
        self.packets += 1;
        self.bytes += u64::from(bytes);
    }
}
