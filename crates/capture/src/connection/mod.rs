//! A TCP connection as one interface saw it: handshake, two streams, close.

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

use crate::segment::Segment;
use judge::{Evidence, Judgement};
use rtt::Rtt;
use stream::{Ack, Data, Stream, Verdict};

/// Payload that a packet on Ethernet holds (1500 bytes without headers).
const ETHERNET_MSS_BYTES: u32 = 1460;
/// A SYN captured late has at most so much data of its sender in front.
const LATE_SYN_BYTES: i64 = 1 << 16;

/// What passes, besides its TCP header.
#[derive(Clone, Copy, Debug, Default)]
pub struct Passing {
    /// When; since 1970.
    pub now_ns: i64,
    /// Number of the frame, by which retransmissions are named again.
    pub frame: u64,
    /// Length of the frame on the wire.
    pub wire_bytes: u32,
    /// IP identification, if the packet has one.
    pub identification: Option<u16>,
    /// The sending host counts identifications over all its connections.
    pub shared_counter: bool,
    /// Congestion experienced (RFC 3168 §5).
    pub congestion: bool,
    /// Frame captured twice: an identical packet passed within a millisecond.
    pub twin: Option<Twin>,
    /// Frames of this capture stand in it twice.
    pub doubled: bool,
}

/// A packet that has passed before with the same TCP header and payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Twin {
    /// Time since then.
    pub after_ns: i64,
    /// Both have the same IP identification; false: neither has any.
    pub identified: bool,
    /// It has passed once, three times and so on.
    pub odd: bool,
}

/// One end of a connection: what it sent.
#[derive(Clone, Debug, Default)]
pub struct Side {
    /// Frames.
    pub packets: u64,
    /// Their lengths on the wire.
    pub bytes: u64,
    /// Initial sequence number, if the SYN was seen.
    pub initial: Option<u32>,
    /// Announced in its SYN.
    pub mss: Option<u16>,
    /// Announced in its SYN.
    pub window_scale: Option<u8>,
    /// Announced in its SYN.
    pub sack_permitted: bool,
    /// Timestamps were seen.
    pub timestamps: bool,
    /// SYNs, repeated ones too.
    pub syns: u64,
    /// FINs, repeated ones too.
    pub fins: u64,
    /// RSTs.
    pub resets: u64,
    /// Packets without payload, SYN and RST that acknowledge.
    pub acks: u64,
    /// Packets with a SACK block.
    pub acks_with_sack: u64,
    /// SACK blocks.
    pub sack_blocks: u64,
    /// DSACKs (RFC 2883).
    pub dsacks: u64,
    /// Duplicate acknowledgements (RFC 5681 §2).
    pub duplicate_acks: u64,
    /// Packets that announce no window.
    pub zero_windows: u64,
    /// Smallest window it announced, scaled where that is known.
    pub window_min_bytes: Option<u64>,
    /// Largest.
    pub window_max_bytes: u64,
    /// Latest, not scaled.
    pub window_last_bytes: Option<u64>,
    /// Packets with congestion experienced.
    pub congested: u64,
    /// Packets that echo this (ECE), handshake aside.
    pub echoes: u64,
    /// Packets with window reduced (CWR), handshake aside.
    pub reductions: u64,
    /// Times it began to send data after the other had: requests, or responses.
    pub turns: u64,
    /// Headers with options that cannot be.
    pub malformed: u64,
    /// Packets without data that passed a second time.
    pub copies: u64,
    first_ack: Option<u32>,
    /// Its SYN was repeated with another initial sequence number: what follows tells which holds.
    renumbered: bool,
    near: Near,
    /// What it sent, once there was data.
    pub stream: Option<Box<Stream>>,
}

/// Round trips between the tap and an end, by what it echoes (RFC 7323 §4): from a packet towards it
/// with a new timestamp to its first packet that echoes this. Time in which it had nothing to send is
/// in them.
#[derive(Clone, Debug, Default)]
struct Near {
    waiting: Option<(u32, i64)>,
    rtt: Rtt,
}

impl Near {
    /// A packet towards the end passes.
    fn towards(&mut self, tsval: u32, now_ns: i64) {
        self.waiting.get_or_insert((tsval, now_ns));
    }

    /// Data of the end passes.
    fn data(&mut self, tsecr: u32, now_ns: i64) {
        if let Some((_, since_ns)) = self.waiting.filter(|(tsval, _)| !order::older(tsecr, *tsval))
        {
            self.rtt.add(now_ns - since_ns);
            self.rtt.smooth(now_ns - since_ns);
            self.waiting = None;
        }
    }
}

/// How a connection ended, as far as the capture tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Closing {
    /// Not within the capture.
    Open,
    /// Side 0 or 1 has sent its FIN, the other not.
    Half(usize),
    /// Both have sent a FIN.
    Both,
    /// Side 0 or 1 has aborted it.
    Reset(usize),
}

/// A connection; side 0 is the end `a` of its conversation.
#[derive(Clone, Debug, Default)]
pub struct Connection {
    /// Number of the interface in the file.
    pub interface: u32,
    /// Both ends.
    pub sides: [Side; 2],
    /// Who sent the SYN.
    pub opener: Option<usize>,
    /// First SYN, first SYN with ACK, the ACK that ends the handshake.
    pub handshake_ns: [Option<i64>; 3],
    /// A packet had no stamp: times mean nothing.
    pub timeless: bool,
    /// First and last packet.
    pub times_ns: Option<(i64, i64)>,
    /// How it ended.
    pub closing: Option<Closing>,
    last_data: Option<usize>,
}

impl Connection {
    /// At an interface.
    pub fn at(interface: u32) -> Self {
        Self { interface, ..Self::default() }
    }

    /// From SYN to SYN with ACK: the tap to the one who answers, and back. `None` if a SYN was
    /// repeated, since it is not known which was answered.
    pub fn syn_rtt_ns(&self) -> Option<i64> {
        let [syn, answer, _] = self.handshake_ns;
        let once = self.sides.iter().all(|side| side.syns == 1);
        Some(answer? - syn?).filter(|rtt| once && *rtt >= 0)
    }

    /// From SYN to the ACK that ends the handshake: the whole round trip.
    pub fn handshake_rtt_ns(&self) -> Option<i64> {
        let [syn, _, ack] = self.handshake_ns;
        self.syn_rtt_ns().and(Some(ack? - syn?)).filter(|rtt| *rtt >= 0)
    }

    /// Round trip between the tap and a side, the smallest and the smoothed; 0 if unknown.
    fn near_ns(&self, side: usize) -> (i64, i64) {
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

    /// A segment of side 0 or 1 passes. Says what it is, if it has data or a FIN; adds to `proved` the
    /// numbers of earlier frames that it shows to have been needless.
    pub fn packet(
        &mut self,
        side: usize,
        passing: &Passing,
        segment: &Segment,
        proved: &mut Vec<u64>,
    ) -> Option<Verdict> {
        let flags = segment.flags;
        let now_ns = passing.now_ns;
        let (first, last) = self.times_ns.unwrap_or((now_ns, now_ns));
        self.times_ns = Some((first.min(now_ns), last.max(now_ns)));
        let copy = self.is_copy(side, passing, segment);
        self.count(side, passing, segment, copy.is_some());
        if copy.is_some() {
            if segment.payload_bytes > 0 || flags.fin() {
                return self.data(side, passing, segment, copy);
            }
            self.sides[side].copies += 1;
            return None;
        }
        if let Some((tsval, tsecr)) = segment.timestamps {
            self.sides[1 - side].near.towards(tsval, passing.now_ns);
            if segment.payload_bytes > 0 {
                self.sides[side].near.data(tsecr, passing.now_ns);
            }
        }
        if flags.rst() {
            if !matches!(self.closing, Some(Closing::Both | Closing::Reset(_))) {
                self.closing = Some(Closing::Reset(side));
            }
            return None;
        }
        if flags.syn() {
            self.open(side, passing.now_ns, segment);
        } else if flags.ack() {
            self.answer(side, passing.now_ns);
        }
        if flags.ack() {
            self.acknowledge(side, passing.now_ns, segment, proved);
        }
        let data = segment.payload_bytes > 0 || flags.fin();
        let verdict = if data {
            self.data(side, passing, segment, None)
        } else {
            if !flags.syn() {
                self.bare(side, passing, segment);
            }
            None
        };
        if flags.fin() && !matches!(self.closing, Some(Closing::Reset(_))) {
            let both = self.sides.iter().all(|side| side.fins > 0);
            self.closing = Some(if both { Closing::Both } else { Closing::Half(side) });
        }
        verdict
    }

    /// A segment without data tells how far its sender has come.
    fn bare(&mut self, side: usize, passing: &Passing, segment: &Segment) {
        let window_bytes = self.sides[1 - side].window_max_bytes;
        let one = &mut self.sides[side];
        let Some(stream) = &mut one.stream else { return };
        stream.bare(passing);
        let stamp = segment.timestamps.map(|(value, _)| value);
        stream.asks(passing, segment.sequence, stamp, window_bytes);
    }

    /// Is this SYN of a side the one that opened this connection, captured behind what followed it?
    pub fn is_late_opening(&self, side: usize, sequence: u32) -> bool {
        let (one, other) = (&self.sides[side], &self.sides[1 - side]);
        let first = sequence.wrapping_add(1);
        let behind = one.stream.as_deref().map(|stream| stream.position(first));
        let known = other.first_ack == Some(first)
            || behind.is_some_and(|position| (-LATE_SYN_BYTES..=0).contains(&position));
        one.initial.is_none() && known && matches!(self.closing, None | Some(Closing::Open))
    }

    /// The window that a segment of side 0 or 1 announces, scaled where the scale is known.
    pub fn window_bytes(&self, side: usize, segment: &Segment) -> u64 {
        let scaled = self.sides.iter().all(|side| side.window_scale.is_some());
        let shift = self.sides[side].window_scale.filter(|_| scaled && !segment.flags.syn());
        u64::from(segment.window) << shift.unwrap_or(0)
    }

    /// Has this very frame been captured before? The sender itself repeats a packet within a moment only
    /// where the round trip is shorter and a loss was reported.
    fn is_copy(&self, side: usize, passing: &Passing, segment: &Segment) -> Option<Evidence> {
        let twin = passing.twin?;
        if twin.identified {
            return Some(Evidence::Identification);
        }
        let flags = segment.flags;
        let copy = if flags.syn() {
            true
        } else if segment.payload_bytes > 0 || flags.fin() {
            let stream = self.sides[side].stream.as_deref();
            let (near_ns, _) = self.near_ns(side);
            !stream.is_some_and(|one| one.calls_for(segment.sequence, near_ns, twin.after_ns))
        } else {
            // Without SACK duplicate ACKs are equal, as are resets.
            segment.sack_count > 0 || passing.doubled && twin.odd
        };
        copy.then_some(Evidence::Content)
    }

    fn count(&mut self, side: usize, passing: &Passing, segment: &Segment, copy: bool) {
        let window = self.window_bytes(side, segment);
        let flags = segment.flags;
        let one = &mut self.sides[side];
        one.packets += 1;
        one.bytes += u64::from(passing.wire_bytes);
        one.syns += u64::from(flags.syn() && !copy);
        one.fins += u64::from(flags.fin() && !copy);
        one.resets += u64::from(flags.rst() && !copy);
        one.timestamps |= segment.timestamps.is_some();
        one.malformed += u64::from(segment.malformed);
        one.congested += u64::from(passing.congestion);
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

    fn open(&mut self, side: usize, now_ns: i64, segment: &Segment) {
        let step = usize::from(segment.flags.ack());
        self.handshake_ns[step].get_or_insert(now_ns);
        self.opener.get_or_insert(if step == 0 { side } else { 1 - side });
        let one = &mut self.sides[side];
        let data = one.stream.as_deref().is_some_and(|stream| stream.counters.data_packets > 0);
        let other = one.initial.is_some_and(|initial| initial != segment.sequence);
        if other && !data {
            // The last SYN holds, unless the other side acknowledges another one.
            one.initial = Some(segment.sequence);
            one.renumbered = true;
            one.stream = None;
        }
        one.initial.get_or_insert(segment.sequence);
        one.mss = one.mss.or(segment.mss);
        one.window_scale = one.window_scale.or(segment.window_scale);
        one.sack_permitted |= segment.sack_permitted;
    }

    fn answer(&mut self, side: usize, now_ns: i64) {
        let answered = self.handshake_ns[1].is_some() && self.opener == Some(side);
        if answered {
            self.handshake_ns[2].get_or_insert(now_ns);
        }
    }

    fn acknowledge(&mut self, side: usize, now_ns: i64, segment: &Segment, proved: &mut Vec<u64>) {
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
        // Seen alone, a side that repeats itself can only answer segments that are not in the capture.
        let alone = self.sides[1 - side].packets == 0;
        let Some(stream) = self.acknowledged(side, segment) else { return };
        let ack = Ack { alone, ..ack };
        let acked = stream.ack(&ack, proved);
        let one = &mut self.sides[side];
        one.duplicate_acks += u64::from(acked.duplicate);
        one.dsacks += u64::from(acked.dsack);
    }

    /// The other side's stream; if none of it was seen, only once this side acknowledges something.
    fn acknowledged(&mut self, side: usize, segment: &Segment) -> Option<&mut Stream> {
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
        passing: &Passing,
        segment: &Segment,
        copy: Option<Evidence>,
    ) -> Option<Verdict> {
        let (near_ns, near_smoothed_ns) = self.near_ns(side);
        let handshake = self.sides.iter().all(|side| side.initial.is_some());
        let sack = !handshake || self.sides.iter().all(|side| side.sack_permitted);
        let turned = self.last_data == Some(1 - side);
        let sequence = segment.sequence.wrapping_add(u32::from(segment.flags.syn()));
        // Without its SYN what the other side takes is not known.
        let whole_bytes = self.sides[1 - side].mss.map_or(ETHERNET_MSS_BYTES, u32::from);
        let data = Data {
            now_ns: passing.now_ns,
            frame: passing.frame,
            sequence,
            payload_bytes: segment.payload_bytes,
            fin: segment.flags.fin(),
            tsval: segment.timestamps.map(|(value, _)| value),
            identification: passing.identification,
            shared_counter: passing.shared_counter,
            joined: segment.payload_bytes > whole_bytes,
            near_ns,
            near_smoothed_ns,
            closed: self.sides[1 - side].window_last_bytes == Some(0),
            sack,
            turned,
            copy,
            doubled: passing.doubled,
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
        // Repeated bytes are no new request. Bytes lost ahead of the tap pass it for the first time.
        let goes_on = verdict.is_some_and(|verdict| match verdict.judgement {
            Judgement::New | Judgement::Reordered(_) => true,
            Judgement::Retransmitted(evidence) => {
                !matches!(evidence, Evidence::SeenBefore | Evidence::Acknowledged)
            }
            Judgement::Copy(_) | Judgement::KeepAlive => false,
        });
        if segment.payload_bytes > 0 && goes_on {
            one.turns += u64::from(self.last_data != Some(side));
            self.last_data = Some(side);
        }
        verdict
    }
}
