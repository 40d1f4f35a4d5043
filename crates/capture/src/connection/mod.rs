//! A TCP connection at one interface: handshake, two streams, close.

pub mod delayed;
pub mod flight;
pub mod judge;
mod order;
pub mod proof;
pub mod recovery;
pub mod rtt;
mod sacked;
mod sent;
pub mod stream;
mod unseen;

use crate::tcp_header::TcpHeader;
use judge::{Evidence, Judgement};
use recovery::RetransmissionKind;
use rtt::Rtt;
use stream::{Ack, Data, Stream, Verdict};

/// MSS on Ethernet: 1500 bytes without headers.
const ETHERNET_MSS_BYTES: u32 = 1460;
/// Time beyond two RTTs after which a silent side has paused.
const PAUSE_NS: i64 = 50_000_000;
/// Maximum data of a side captured before its SYN, if the SYN was recorded late.
const LATE_SYN_BYTES: i64 = 1 << 16;

/// Properties of a packet besides its TCP header.
#[derive(Clone, Copy, Debug, Default)]
pub struct PacketInfo {
    /// Capture time, ns since 1970.
    pub now_ns: i64,
    /// Number of the frame, which identifies retransmissions later.
    pub frame: u64,
    /// Length of the frame on the wire.
    pub wire_bytes: u32,
    /// IP identification, if the packet has one.
    pub identification: Option<u16>,
    /// True if the sender shares one identification counter between its connections.
    pub shared_counter: bool,
    /// True with a congestion mark (CE, RFC 3168 §5).
    pub congestion: bool,
    /// Earlier capture of an identical packet.
    pub earlier: Option<EarlierCapture>,
    /// True if this capture contains frames twice.
    pub duplicated: bool,
}

/// Earlier capture of a packet with the same TCP header and payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EarlierCapture {
    /// Time since the earlier capture.
    pub after_ns: i64,
    /// Evidence that it is a copy; `Content`: unless a retransmission is expected.
    pub evidence: Evidence,
    /// True after an odd number of earlier captures.
    pub odd: bool,
}

/// Meaning of an ICMP error for the quoted packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// Larger than the MTU of the next link (RFC 1191 §3, RFC 8201 §3). `None`: the router does not
    /// state the MTU, or states an impossible one.
    TooBig(Option<u32>),
    /// Destination unreachable.
    Unreachable,
    /// Time exceeded: the hop limit reached zero, or fragments were missing.
    Exceeded,
}

/// ICMP errors about packets of one side.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reported {
    /// Packet too big, or fragmentation needed.
    pub too_big: u64,
    /// Destination unreachable.
    pub unreachable: u64,
    /// Time exceeded.
    pub exceeded: u64,
    /// Smallest MTU reported for a packet in flight.
    pub path_mtu: Option<u32>,
}

/// Packets that one side sent.
#[derive(Clone, Debug, Default)]
pub struct Side {
    /// Frames.
    pub packets: u64,
    /// Sum of their lengths on the wire.
    pub bytes: u64,
    /// Initial sequence number, if the SYN was captured.
    pub initial: Option<u32>,
    /// MSS announced in its SYN.
    pub mss: Option<u16>,
    /// Window scale announced in its SYN.
    pub window_scale: Option<u8>,
    /// True if its SYN permits SACK.
    pub sack_permitted: bool,
    /// True if it sends timestamps.
    pub timestamps: bool,
    /// SYNs, repeated ones too.
    pub syns: u64,
    /// FINs, repeated ones too.
    pub fins: u64,
    /// RSTs.
    pub resets: u64,
    /// Pure ACKs, without SYN and RST.
    pub acks: u64,
    /// Packets with a SACK block.
    pub acks_with_sack: u64,
    /// SACK blocks.
    pub sack_blocks: u64,
    /// DSACKs (RFC 2883).
    pub dsacks: u64,
    /// Duplicate ACKs (RFC 5681 §2).
    pub duplicate_acks: u64,
    /// Packets that announce a zero window.
    pub zero_windows: u64,
    /// Minimum announced window, with the scale applied if it is known.
    pub window_min_bytes: Option<u64>,
    /// Maximum announced window.
    pub window_max_bytes: u64,
    /// Last announced window, not scaled.
    pub window_last_bytes: Option<u64>,
    /// Packets with a congestion mark (CE).
    pub congested: u64,
    /// Packets with ECE, handshake excluded.
    pub echoes: u64,
    /// Packets with CWR, handshake excluded.
    pub reductions: u64,
    /// Changes of direction: the side began to send data after the other had. Requests or
    /// responses.
    pub turns: u64,
    /// Headers with malformed options.
    pub malformed: u64,
    /// Headers whose options the snap length cuts.
    pub cut: u64,
    /// True if the options of its SYN are cut.
    pub syn_cut: bool,
    /// Duplicates of packets without data.
    pub duplicates: u64,
    /// Retransmitted SYNs and SYN-ACKs without payload.
    pub retransmitted_syns: u64,
    /// ICMP errors about its packets.
    pub reported: Reported,
    /// True if ICMP has reported its last SYN as discarded.
    syn_discarded: bool,
    first_ack: Option<u32>,
    /// True if its SYN was repeated with another initial sequence number; later packets show which
    /// one is valid.
    renumbered: bool,
    near: Near,
    /// Stream of its data, once there is any.
    pub stream: Option<Box<Stream>>,
}

impl Side {
    fn repeat_syn(&mut self) -> Verdict {
        self.retransmitted_syns += 1;
        Verdict::repeated_syn(match std::mem::take(&mut self.syn_discarded) {
            true => RetransmissionKind::Unreachable,
            false => RetransmissionKind::Handshake,
        })
    }
}

/// RTT between the tap and a side, from timestamp echoes (RFC 7323 §4): from a packet towards the
/// side with a new timestamp to the side's first data packet that echoes it, unless the side paused.
#[derive(Clone, Debug, Default)]
struct Near {
    waiting: Option<(u32, i64)>,
    rtt: Rtt,
}

impl Near {
    /// Processes the timestamp of a packet towards the side.
    fn towards(&mut self, tsval: u32, now_ns: i64) {
        self.waiting.get_or_insert((tsval, now_ns));
    }

    /// Processes the timestamp echo of a data packet of the side. `data_ns` is the time of the side's
    /// previous data, `least_ns` the smallest RTT.
    fn data(&mut self, tsecr: u32, now_ns: i64, data_ns: Option<i64>, least_ns: i64) {
        if let Some((_, since_ns)) = self.waiting.filter(|(tsval, _)| !order::older(tsecr, *tsval))
        {
            self.waiting = None;
            let passed_ns = now_ns - since_ns;
            // A side that sent no data meanwhile had paused: its own packets make no queue.
            let silent = data_ns.is_none_or(|data_ns| data_ns < since_ns);
            let paused = silent && passed_ns > least_ns.saturating_mul(2).saturating_add(PAUSE_NS);
            if !paused {
                self.rtt.add(passed_ns);
                self.rtt.smooth(passed_ns);
            }
        }
    }
}

/// End of a connection, as far as the capture shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Closing {
    /// Open at the end of the capture.
    Open,
    /// Only side 0 or 1 has sent a FIN.
    Half(usize),
    /// Both sides have sent a FIN.
    Both,
    /// Side 0 or 1 has sent an RST.
    Reset(usize),
}

/// A connection. Side 0 is endpoint `a` of its conversation.
#[derive(Clone, Debug, Default)]
pub struct Connection {
    /// Number of the interface in the file.
    pub interface: u32,
    /// Both sides.
    pub sides: [Side; 2],
    /// Side that sent the SYN.
    pub opener: Option<usize>,
    /// Times of the first SYN, the first SYN-ACK, and the ACK that ends the handshake.
    pub handshake_ns: [Option<i64>; 3],
    /// True if a packet had no timestamp, which invalidates all times.
    pub timeless: bool,
    /// Times of first and last packet.
    pub times_ns: Option<(i64, i64)>,
    /// End of the connection.
    pub closing: Option<Closing>,
    last_data: Option<usize>,
}

impl Connection {
    /// Connection without packets at an interface.
    pub fn at(interface: u32) -> Self {
        Self { interface, ..Self::default() }
    }

    /// RTT between the tap and the listener, from SYN to SYN-ACK. `None` if a SYN was repeated,
    /// since it is unknown which one was answered.
    pub fn syn_rtt_ns(&self) -> Option<i64> {
        let [syn, answer, _] = self.handshake_ns;
        let once = self.sides.iter().all(|side| side.syns == 1);
        Some(answer? - syn?).filter(|rtt| once && *rtt >= 0)
    }

    /// RTT of the whole path, from the SYN to the ACK that ends the handshake.
    pub fn handshake_rtt_ns(&self) -> Option<i64> {
        let [syn, _, ack] = self.handshake_ns;
        self.syn_rtt_ns().and(Some(ack? - syn?)).filter(|rtt| *rtt >= 0)
    }

    /// RTT between the tap and a side, minimum and smoothed; 0 if unknown.
    fn near_rtt_ns(&self, side: usize) -> (i64, i64) {
        let near = &self.sides[side].near.rtt;
        let other = self.sides[1 - side].stream.as_deref().map(|stream| &stream.rtt);
        let of_handshake = match (self.opener, self.handshake_ns) {
            (Some(opener), [Some(syn), Some(answer), Some(ack)]) => {
                Some(if opener == side { ack - answer } else { answer - syn }.max(0))
            }
            _ => None,
        };
        let of_other = other.filter(|rtt| rtt.samples > 0).map(|rtt| rtt.min_ns);
        let of_echoes = near.smoothed_ns().map(|_| near.min_ns);
        let least = of_handshake.into_iter().chain(of_other).chain(of_echoes).min().unwrap_or(0);
        (least, near.smoothed_ns().unwrap_or(least))
    }

    /// Processes a segment of side 0 or 1. Returns its classification if it has data or a FIN, or is a
    /// repeated SYN.
    /// Appends the numbers of earlier frames that it proves spurious to `proved`.
    pub fn packet(
        &mut self,
        side: usize,
        info: &PacketInfo,
        segment: &TcpHeader,
        proved: &mut Vec<u64>,
    ) -> Option<Verdict> {
        let flags = segment.flags;
        let now_ns = info.now_ns;
        let (first, last) = self.times_ns.unwrap_or((now_ns, now_ns));
        self.times_ns = Some((first.min(now_ns), last.max(now_ns)));
        let duplicate = self.duplicate_evidence(side, info, segment);
        self.count(side, info, segment, duplicate.is_some());
        if duplicate.is_some() {
            if segment.payload_bytes > 0 || flags.fin() {
                return self.data(side, info, segment, duplicate);
            }
            self.sides[side].duplicates += 1;
            return None;
        }
        if let Some((tsval, tsecr)) = segment.timestamps {
            self.sides[1 - side].near.towards(tsval, info.now_ns);
            if segment.payload_bytes > 0 {
                let (least_ns, _) = self.near_rtt_ns(side);
                let one = &mut self.sides[side];
                let data_ns = one.stream.as_deref().and_then(|stream| stream.counters.last_ns);
                one.near.data(tsecr, info.now_ns, data_ns, least_ns);
            }
        }
        if flags.rst() {
            if !matches!(self.closing, Some(Closing::Both | Closing::Reset(_))) {
                self.closing = Some(Closing::Reset(side));
            }
            return None;
        }
        if flags.syn() {
            self.open(side, info.now_ns, segment);
        } else if flags.ack() {
            self.answer(side, info.now_ns);
        }
        if flags.ack() {
            self.acknowledge(side, info.now_ns, segment, proved);
        }
        let data = segment.payload_bytes > 0 || flags.fin();
        let verdict = if data {
            self.data(side, info, segment, None)
        } else if flags.syn() && self.sides[side].syns > 1 {
            Some(self.sides[side].repeat_syn())
        } else {
            if !flags.syn() {
                self.bare(side, info, segment);
            }
            None
        };
        if flags.fin() && !matches!(self.closing, Some(Closing::Reset(_))) {
            let both = self.sides.iter().all(|side| side.fins > 0);
            self.closing = Some(if both { Closing::Both } else { Closing::Half(side) });
        }
        verdict
    }

    /// Processes an ICMP error that quotes a packet of a side: its sequence number and length. Returns
    /// the position in the stream if the packet is in flight; -1 is the SYN.
    pub fn icmp_error(
        &mut self,
        side: usize,
        sequence: u32,
        fate: Fate,
        ip_bytes: u32,
    ) -> Option<i64> {
        let one = &mut self.sides[side];
        match fate {
            Fate::TooBig(_) => one.reported.too_big += 1,
            Fate::Unreachable => one.reported.unreachable += 1,
            Fate::Exceeded => one.reported.exceeded += 1,
        }
        // Until something acknowledges its SYN.
        let opening = one.initial == Some(sequence) && self.sides[1 - side].first_ack.is_none();
        let one = &mut self.sides[side];
        if opening {
            one.syn_discarded |= matches!(fate, Fate::Unreachable | Fate::Exceeded);
            return Some(-1);
        }
        let position = one.stream.as_deref_mut()?.icmp_error(sequence, fate, ip_bytes)?;
        if let Fate::TooBig(Some(mtu)) = fate {
            one.reported.path_mtu = Some(one.reported.path_mtu.map_or(mtu, |least| least.min(mtu)));
        }
        Some(position)
    }

    /// Processes a segment without data, which shows the progress of its sender.
    fn bare(&mut self, side: usize, info: &PacketInfo, segment: &TcpHeader) {
        let window_bytes = self.sides[1 - side].window_max_bytes;
        let one = &mut self.sides[side];
        let Some(stream) = &mut one.stream else { return };
        stream.bare(info);
        let stamp = segment.timestamps.map(|(value, _)| value);
        stream.detect_keep_alive(info, segment.sequence, stamp, window_bytes);
    }

    /// Returns true if this SYN opened this connection and was captured after later packets.
    pub fn is_late_opening(&self, side: usize, sequence: u32) -> bool {
        let (one, other) = (&self.sides[side], &self.sides[1 - side]);
        let first = sequence.wrapping_add(1);
        let behind = one.stream.as_deref().map(|stream| stream.position(first));
        let known = other.first_ack == Some(first)
            || behind.is_some_and(|position| (-LATE_SYN_BYTES..=0).contains(&position));
        one.initial.is_none() && known && matches!(self.closing, None | Some(Closing::Open))
    }

    /// Returns true if the capture cuts a window scale off a SYN, so that windows are not known.
    pub fn scale_is_cut(&self) -> bool {
        self.sides.iter().any(|side| side.syn_cut && side.window_scale.is_none())
    }

    /// Window announced by a segment of side 0 or 1, with the scale applied if it is known.
    pub fn window_bytes(&self, side: usize, segment: &TcpHeader) -> u64 {
        let scaled = self.sides.iter().all(|side| side.window_scale.is_some());
        let shift = self.sides[side].window_scale.filter(|_| scaled && !segment.flags.syn());
        u64::from(segment.window) << shift.unwrap_or(0)
    }

    /// Returns evidence that the frame was captured before. A sender repeats a packet within a
    /// millisecond only if the RTT is shorter and a loss was reported.
    fn duplicate_evidence(
        &self,
        side: usize,
        info: &PacketInfo,
        segment: &TcpHeader,
    ) -> Option<Evidence> {
        let earlier = info.earlier?;
        if earlier.evidence != Evidence::Content {
            return Some(earlier.evidence);
        }
        let flags = segment.flags;
        let duplicate = if flags.syn() {
            true
        } else if segment.payload_bytes > 0 || flags.fin() {
            let stream = self.sides[side].stream.as_deref();
            let (near_rtt_ns, _) = self.near_rtt_ns(side);
            !stream.is_some_and(|one| {
                one.expects_retransmission(segment.sequence, near_rtt_ns, earlier.after_ns)
            })
        } else {
            // Without SACK, duplicate ACKs are identical, and so are RSTs.
            segment.sack_count > 0 || info.duplicated && earlier.odd
        };
        duplicate.then_some(Evidence::Content)
    }

    fn count(&mut self, side: usize, info: &PacketInfo, segment: &TcpHeader, duplicate: bool) {
        let window = self.window_bytes(side, segment);
        let flags = segment.flags;
        let one = &mut self.sides[side];
        one.packets += 1;
        one.bytes += u64::from(info.wire_bytes);
        one.syns += u64::from(flags.syn() && !duplicate);
        one.fins += u64::from(flags.fin() && !duplicate);
        one.resets += u64::from(flags.rst() && !duplicate);
        one.timestamps |= segment.timestamps.is_some();
        one.malformed += u64::from(segment.malformed);
        one.cut += u64::from(segment.cut);
        one.congested += u64::from(info.congestion);
        if flags.syn() || flags.rst() {
            return;
        }
        one.echoes += u64::from(flags.ece());
        one.reductions += u64::from(flags.cwr());
        if !flags.ack() {
            return;
        }
        one.acks += u64::from(segment.payload_bytes == 0);
        one.acks_with_sack += u64::from(segment.sack_count > 0);
        one.sack_blocks += u64::from(segment.sack_count);
        one.zero_windows += u64::from(segment.window == 0);
        one.window_min_bytes = Some(one.window_min_bytes.map_or(window, |min| min.min(window)));
        one.window_max_bytes = one.window_max_bytes.max(window);
    }

    fn open(&mut self, side: usize, now_ns: i64, segment: &TcpHeader) {
        let step = usize::from(segment.flags.ack());
        self.handshake_ns[step].get_or_insert(now_ns);
        self.opener.get_or_insert(if step == 0 { side } else { 1 - side });
        let one = &mut self.sides[side];
        let data = one.stream.as_deref().is_some_and(|stream| stream.counters.data_packets > 0);
        let other = one.initial.is_some_and(|initial| initial != segment.sequence);
        if other && !data {
            // The last SYN is valid, unless the other side acknowledges another one.
            one.initial = Some(segment.sequence);
            one.renumbered = true;
            one.stream = None;
        }
        one.initial.get_or_insert(segment.sequence);
        one.mss = one.mss.or(segment.mss);
        one.window_scale = one.window_scale.or(segment.window_scale);
        one.sack_permitted |= segment.sack_permitted;
        one.syn_cut |= segment.cut;
    }

    fn answer(&mut self, side: usize, now_ns: i64) {
        let answered = self.handshake_ns[1].is_some() && self.opener == Some(side);
        if answered {
            self.handshake_ns[2].get_or_insert(now_ns);
        }
    }

    fn acknowledge(
        &mut self,
        side: usize,
        now_ns: i64,
        segment: &TcpHeader,
        proved: &mut Vec<u64>,
    ) {
        let flags = segment.flags;
        let window = u64::from(segment.window);
        let same_window = self.sides[side].window_last_bytes.replace(window) == Some(window);
        let ack = Ack {
            now_ns,
            acknowledgement: segment.acknowledgement,
            sack: segment.sack_blocks(),
            tsecr: segment.timestamps.map(|(_, echo)| echo),
            bare: segment.payload_bytes == 0
                && !flags.syn()
                && !flags.fin()
                && (same_window || segment.sack_count > 0),
            alone: false,
        };
        // A side captured alone that repeats an ACK must be responding to segments outside the
        // capture.
        let alone = self.sides[1 - side].packets == 0;
        let Some(stream) = self.acknowledged(side, segment) else { return };
        let ack = Ack { alone, ..ack };
        let acked = stream.ack(&ack, proved);
        let one = &mut self.sides[side];
        one.duplicate_acks += u64::from(acked.duplicate);
        one.dsacks += u64::from(acked.dsack);
    }

    /// Stream of the other side. Without a captured stream, it is created once this side
    /// acknowledges data.
    fn acknowledged(&mut self, side: usize, segment: &TcpHeader) -> Option<&mut Stream> {
        let acknowledgement = segment.acknowledgement;
        let first = *self.sides[side].first_ack.get_or_insert(acknowledgement);
        let other = &mut self.sides[1 - side];
        if other.renumbered && !segment.flags.syn() {
            other.renumbered = false;
            other.initial = Some(acknowledgement.wrapping_sub(1));
        }
        if other.stream.is_none() {
            let origin = other.initial.map_or(first, |initial| initial.wrapping_add(1));
            if acknowledgement == origin || segment.flags.syn() {
                return None;
            }
            other.stream = Some(Box::new(Stream::new(origin, true)));
        }
        other.stream.as_deref_mut()
    }

    fn data(
        &mut self,
        side: usize,
        info: &PacketInfo,
        segment: &TcpHeader,
        duplicate: Option<Evidence>,
    ) -> Option<Verdict> {
        let (near_rtt_ns, near_srtt_ns) = self.near_rtt_ns(side);
        let handshake = self.sides.iter().all(|side| side.initial.is_some());
        let sack = !handshake || self.sides.iter().all(|side| side.sack_permitted);
        let turned = self.last_data == Some(1 - side);
        let sequence = segment.sequence.wrapping_add(u32::from(segment.flags.syn()));
        // Without the SYN the other side's MSS is unknown.
        let whole_bytes = self.sides[1 - side].mss.map_or(ETHERNET_MSS_BYTES, u32::from);
        let data = Data {
            now_ns: info.now_ns,
            frame: info.frame,
            sequence,
            payload_bytes: segment.payload_bytes,
            fin: segment.flags.fin(),
            tsval: segment.timestamps.map(|(value, _)| value),
            identification: info.identification,
            shared_counter: info.shared_counter,
            coalesced: segment.payload_bytes > whole_bytes,
            near_rtt_ns,
            near_srtt_ns,
            closed: self.sides[1 - side].window_last_bytes == Some(0),
            sack,
            turned,
            duplicate,
            duplicated: info.duplicated,
        };
        let first_ack = self.sides[1 - side].first_ack;
        let one = &mut self.sides[side];
        if std::mem::take(&mut one.renumbered) {
            one.initial = Some(sequence.wrapping_sub(1));
        }
        let known = one.initial.map(|initial| initial.wrapping_add(1)).or(first_ack);
        let origin = known.unwrap_or(sequence);
        let stream =
            one.stream.get_or_insert_with(|| Box::new(Stream::new(origin, known.is_some())));
        let verdict = stream.data(&data);
        // Retransmission bytes are no new request. Bytes lost before the tap pass it for the first time.
        let continues = verdict.is_some_and(|verdict| match verdict.judgement {
            Judgement::New | Judgement::Reordered(_) => true,
            Judgement::Retransmitted(evidence) => {
                !matches!(evidence, Evidence::SeenBefore | Evidence::Acknowledged)
            }
            Judgement::Duplicate(_) | Judgement::KeepAlive => false,
        });
        if segment.payload_bytes > 0 && continues {
            one.turns += u64::from(self.last_data != Some(side));
            self.last_data = Some(side);
        }
        verdict
    }
}
