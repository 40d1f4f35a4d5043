//! Hops of all packets within a window of a trace: the table `hops`.

use crate::event::{tcp_flags, Event, EventKind, PacketKind};
use crate::links::DropPlace;
use crate::network::Network;
use crate::read::{EventSink, Reading};
use dumbbell_model::tables::HopRow;
use dumbbell_packet::tcp::{Flags, Syn};
use hashbrown::{HashMap, HashSet};

/// Maximum number of packets remembered between links. Beyond it, packets on no link are forgotten.
const KNOWN_MAX: usize = 1 << 20;

/// Selection of hops: those that end at or after `from_ns`, or never, and begin before `to_ns`;
/// limited in number.
#[derive(Clone, Copy, Debug)]
pub struct Window {
    /// Start of the window.
    pub from_ns: i64,
    /// End of the window.
    pub to_ns: i64,
    /// Maximum number of hops.
    pub most: usize,
}

struct Hop {
    event: Event,
    number: u64,
    retransmitted: bool,
    left_ns: i64,
    ended_ns: i64,
    dropped: Option<DropPlace>,
}

#[derive(Default)]
struct Stream {
    sent: u64,
    highest: i64,
}

/// Number of a packet in its stream, and whether it is a retransmission.
#[derive(Clone, Copy)]
struct Known {
    stream: u32,
    number: u64,
    retransmitted: bool,
}

/// Hops of a window.
pub struct Hops {
    window: Window,
    hops: Vec<Hop>,
    /// Indices of hops that ended before the window.
    free: Vec<u32>,
    /// Hops in progress, by link and packet.
    open: HashMap<(u32, u64), u32>,
    known: HashMap<u64, Known>,
    streams: Vec<Stream>,
    /// Number of hops beyond the maximum.
    pub left_out: u64,
}

impl Hops {
    /// Recorder of the hops of a window.
    pub fn new(window: Window) -> Self {
        Self {
            window,
            hops: Vec::new(),
            free: Vec::new(),
            open: HashMap::new(),
            known: HashMap::new(),
            streams: Vec::new(),
            left_out: 0,
        }
    }

    /// Number of a packet. The first event at a link assigns it.
    fn known(&mut self, event: &Event) -> Known {
        if let Some(known) = self.known.get(&event.uid).filter(|one| one.stream == event.stream) {
            return *known;
        }
        let number = event.stream as usize;
        if number >= self.streams.len() {
            self.streams.resize_with(number + 1, || Stream { sent: 0, highest: -1 });
        }
        let stream = &mut self.streams[number];
        let retransmitted = event.kind == PacketKind::Data && event.seq <= stream.highest;
        if event.kind == PacketKind::Data {
            stream.highest = stream.highest.max(event.seq);
        }
        let known = Known { stream: event.stream, number: stream.sent, retransmitted };
        stream.sent += 1;
        if self.known.len() >= KNOWN_MAX {
            self.forget();
        }
        self.known.insert(event.uid, known);
        known
    }

    /// Forgets packets that are on no link: they have arrived.
    #[cold]
    fn forget(&mut self) {
        let open: HashSet<u64> = self.open.keys().map(|&(_, uid)| uid).collect();
        self.known.retain(|uid, _| open.contains(uid));
    }

    fn over(&mut self, event: &Event, dropped: bool) {
        let Some(number) = self.open.remove(&(event.link, event.uid)) else { return };
        let number = number as usize;
        let hop = &mut self.hops[number];
        hop.ended_ns = event.time_ns;
        if event.time_ns < self.window.from_ns {
            self.free.push(number as u32);
            return;
        }
        if dropped {
            hop.dropped = Some(if hop.left_ns < 0 { DropPlace::Queue } else { DropPlace::Line });
        }
    }

    /// Rows in order of arrival at the links.
    pub fn rows(&self, reading: &Reading) -> Vec<HopRow> {
        let network = &reading.network;
        let pipes: Vec<_> =
            (0..network.links.len()).map(|link| network.pipe_name(link as u32)).collect();
        let flows: Vec<_> =
            (0..network.flows.len()).map(|flow| network.flow_name(flow as u32)).collect();
        let row = |hop: &Hop| {
            let event = &hop.event;
            let stream = &network.streams[event.stream as usize];
            HopRow {
                offered_ns: event.time_ns.into(),
                leaves_ns: hop.left_ns.into(),
                ended_ns: hop.ended_ns.into(),
                pipe: pipes[event.link as usize].clone(),
                dropped: hop.dropped.map_or("", DropPlace::name).to_owned(),
                flow: flows[stream.flow as usize].clone(),
                direction: if stream.outward { "out" } else { "back" }.to_owned(),
                packet_number: hop.number.into(),
                kind: kind(event, &stream.kind).to_owned(),
                frame_bytes: event.bytes.into(),
                tos: event.tos.into(),
                seq_bytes: event.seq.into(),
                payload_bytes: event.payload_bytes.into(),
                ack_bytes: event.ack.into(),
                tcp_flags: flags(event.tcp_flags),
                cause: if hop.retransmitted { "again" } else { "" }.to_owned(),
            }
        };
        let from_ns = self.window.from_ns;
        let there = |hop: &&Hop| hop.ended_ns < 0 || hop.ended_ns >= from_ns;
        let mut rows: Vec<_> = self.hops.iter().filter(there).map(row).collect();
        // Hops that began before the window reuse free indices.
        rows.sort_by_key(|row| row.offered_ns.stored());
        rows
    }
}

fn kind(event: &Event, stream: &str) -> &'static str {
    match event.kind {
        PacketKind::Data => "tcp",
        PacketKind::Ack => "ack",
        PacketKind::Other if matches!(stream, "ping" | "icmp") => "ping",
        PacketKind::Other => "udp",
    }
}

fn flags(bits: u16) -> String {
    let has = |bit: u16| bits & bit != 0;
    let syn = if has(tcp_flags::SYN) { Syn::Opens } else { Syn::No };
    let (fin, psh) = (has(tcp_flags::FIN), has(tcp_flags::PSH));
    let ace = u8::from(has(tcp_flags::ECE)) | u8::from(has(tcp_flags::CWR)) << 1;
    Flags { syn, fin, psh, ace, ..Flags::default() }.names()
}

impl EventSink for Hops {
    fn event(&mut self, _: &Network, event: &Event) {
        if event.time_ns >= self.window.to_ns && event.what == EventKind::Enqueue {
            return;
        }
        match event.what {
            EventKind::Enqueue => {
                // Packets outside the window are numbered, too.
                let Known { number, retransmitted, .. } = self.known(event);
                if self.hops.len() - self.free.len() >= self.window.most {
                    self.left_out += 1;
                    return;
                }
                let (left_ns, ended_ns, dropped) = (-1, -1, None);
                let hop = Hop { event: *event, number, retransmitted, left_ns, ended_ns, dropped };
                let early = event.time_ns < self.window.from_ns;
                let index = match early.then(|| self.free.pop()).flatten() {
                    Some(index) => {
                        self.hops[index as usize] = hop;
                        index
                    }
                    None => {
                        self.hops.push(hop);
                        self.hops.len() as u32 - 1
                    }
                };
                self.open.insert((event.link, event.uid), index);
            }
            EventKind::Dequeue => {
                if let Some(&number) = self.open.get(&(event.link, event.uid)) {
                    self.hops[number as usize].left_ns = event.time_ns;
                }
            }
            EventKind::Receive => self.over(event, false),
            EventKind::Drop => {
                self.over(event, true);
                self.known.remove(&event.uid);
            }
        }
    }
}
