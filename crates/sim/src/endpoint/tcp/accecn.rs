//! Accurate ECN (RFC 9768) as in Linux 7.3. The receiver counts packets and payload bytes by their ECN
//! field. Each of its segments reports the packets with CE in three bits, modulo 8 (the ACE field), and the
//! bytes in an option. The sender decides how many packets the difference stands for.

use super::ecn::{Mode, CE, ECT_0, ECT_1, NOT_ECT};
use super::receiver::Receiver;
use super::sack_space;
use super::sacktag::AckFlags;
use super::sender::Sender;
use dumbbell_cc::CaState;
use dumbbell_packet::accecn::ACCURATE_ECN_BYTES;
use dumbbell_packet::{AccurateEcn, Segment};

/// Initial values of the counters on the wire (RFC 9768 §3.2.1): of packets with CE, and of bytes by the
/// order of the option.
const FIRST_ACE: u32 = 5;
const FIRST_BYTES: [u32; 3] = [1, 0, 1];
/// Values of `tcp_ecn_option`: where it is demanded, or due by the beacon; always, also if it does not arrive.
const ON_DEMAND: u32 = 1;
const PERSISTENT: u32 = 3;
/// Values of the ACE field.
const ACE_MODULUS: u32 = 8;
/// Packets with CE after which an ACK is sent at once (RFC 9768 §3.2.2.5.1; TCP_ACCECN_ACE_MAX_DELTA).
const CE_UNTOLD_MAX: u8 = 6;
/// Maximum of `pending`: it has four bits.
const PENDING_MAX: u8 = 15;
/// Segments that have the option after a mark, or a change of the ECN field.
const CHANGE_DEMAND: u8 = 2;
/// The option is demanded each time that a counter of bytes passes a multiple of 2^22.
const BYTES_DEMAND_SHIFT: u32 = 22;
/// Average number of packets per ACK above which a jump of the ACE field is not taken for a wrap
/// (PKTS_ACKED_PREC, TCP_ACCECN_SAFETY_SHIFT).
const ACK_COMPRESSED: u32 = 4;
const EWMA_SHIFT: u32 = 6;

/// Counters of arrived packets (`tcp_ecn_received_counters`).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Received {
    /// Packets with CE.
    ce_packets: u32,
    /// Packets with CE since the last segment sent.
    pending: u8,
    /// Payload bytes with ECT(1), CE and ECT(0).
    bytes: [u32; 3],
    /// Fields that the next option needs at least.
    fields: u8,
    /// ECN field of the last segment.
    before: u8,
    /// Segments that must still have the option (`accecn_opt_demand`).
    demand: u8,
    /// Time of the last segment with the option, µs (`accecn_opt_tstamp`).
    option_us: Option<u64>,
}

impl Received {
    /// Counters of a passive open, after a SYN with this ECN field.
    pub(super) fn after_syn(ecn_field: u8) -> Self {
        Self { before: ecn_field, demand: 1, ..Self::default() }
    }

    /// Notes the option of the SYN-ACK: the next segments have it, too.
    pub(super) fn option_answered(&mut self) {
        self.demand = CHANGE_DEMAND;
    }

    /// Counts a SYN-ACK with CE.
    pub(super) fn count_syn_ack(&mut self) {
        self.ce_packets += 1;
        self.pending += 1;
    }

    /// Counts a segment. Returns true if its ECN field differs from that of the last one.
    pub(super) fn count(&mut self, ecn_field: u8, payload_bytes: u32) -> bool {
        if ecn_field == CE {
            self.ce_packets = self.ce_packets.wrapping_add(1);
            self.pending = (self.pending + 1).min(PENDING_MAX);
        }
        let place = match ecn_field {
            ECT_1 => Some(0),
            CE => Some(1),
            ECT_0 => Some(2),
            _ => None,
        };
        if let Some(place) = place.filter(|_| payload_bytes > 0) {
            let before = self.bytes[place];
            self.bytes[place] = before.wrapping_add(payload_bytes);
            self.fields = self.fields.max(place as u8 + 1);
            if (before ^ self.bytes[place]) >> BYTES_DEMAND_SHIFT != 0 {
                self.demand = self.demand.max(1);
            }
        }
        let changed = std::mem::replace(&mut self.before, ecn_field) != ecn_field;
        if changed || ecn_field == CE {
            self.demand = CHANGE_DEMAND;
        }
        changed
    }

    /// Returns true if the option is due, `beacon` times per round trip (`tcp_accecn_option_beacon_check`).
    fn beacon_is_due(&self, now_us: u64, beacon: u32, srtt_us: u64) -> bool {
        let since = |at: u64| now_us.saturating_sub(at).saturating_mul(beacon.into());
        beacon > 0 && self.option_us.is_none_or(|at| since(at) >= srtt_us)
    }

    /// With `tcp_ecn_option: 1`: returns true if a segment has the option.
    fn is_due(&self, now_us: u64, beacon: u32, srtt_us: u64) -> bool {
        self.demand > 0 || self.beacon_is_due(now_us, beacon, srtt_us)
    }

    /// The ACE field of a segment (`tcp_accecn_set_ace`).
    pub(super) fn ace(&self) -> u8 {
        (self.ce_packets.wrapping_add(FIRST_ACE) % ACE_MODULUS) as u8
    }

    /// Puts the option into a header (`tcp_options_fit_accecn`). SACK blocks give way if the option needs
    /// their space.
    pub(super) fn fill(&self, segment: &mut Segment) {
        let blocks = segment.entries.blocks();
        let left = sack_space(segment.timestamps, blocks);
        if let Some((fields, blocks)) = fitting(u32::from(self.fields), left, blocks) {
            segment.keep_sack(blocks);
            *segment = segment.with_accurate_ecn(AccurateEcn {
                fields: fields as u8,
                counters: [0, 1, 2].map(|at| self.bytes[at].wrapping_add(FIRST_BYTES[at])),
            });
        }
    }

    /// Notes a segment that reported the counters at this time.
    pub(super) fn told(&mut self, option: bool, now_us: u64) {
        self.pending = 0;
        if option {
            self.fields = 0;
            self.demand = self.demand.saturating_sub(1);
            self.option_us = Some(now_us);
        }
    }
}

/// The option of a SYN-ACK: initial values.
pub(super) fn first_option() -> AccurateEcn {
    AccurateEcn { fields: 3, counters: FIRST_BYTES }
}

/// Number of fields that fit, of `required` at least, and SACK blocks that stay. Padding of SACK blocks
/// takes up to two bytes of the option.
fn fitting(required: u32, mut left: u32, mut blocks: usize) -> Option<(u32, usize)> {
    let saving = if blocks > 0 { 2 } else { 0 };
    let mut fields = 3;
    loop {
        let bytes: u32 = 2 + 3 * fields;
        let needed = if bytes % 4 > saving { bytes.next_multiple_of(4) } else { bytes / 4 * 4 };
        if left >= needed {
            return Some((fields, blocks));
        }
        if fields > required {
            fields -= 1;
        } else if blocks > 2 && required > 0 {
            blocks -= 1;
            left += 8;
            fields = 3;
        } else {
            return None;
        }
    }
}

/// ACE field of a SYN-ACK, or of the third segment of the handshake: the ECN field of the segment that it
/// answers (RFC 9768 §3.1.1, table 2; `tcp_accecn_reflector_flags`).
pub(super) fn reflection(ecn_field: u8) -> u8 {
    match ecn_field {
        ECT_1 => 3,
        ECT_0 => 4,
        CE => 6,
        _ => 2,
    }
}

/// Returns true if the network can have changed the sent ECN field to the reflected one
/// (`tcp_accecn_validate_syn_feedback`).
pub(super) fn is_possible(sent: u8, ace: u8) -> bool {
    let reflected = match ace {
        0 | 4 => ECT_0,
        2 => NOT_ECT,
        6 => CE,
        _ => ECT_1,
    };
    sent == reflected || sent != NOT_ECT && reflected != NOT_ECT && sent != CE
}

/// Counters of the peer, as its ACKs reported them.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Feedback {
    /// The peer's counters of bytes.
    bytes: [u32; 3],
    /// The counter that ACKs without option are expected to move.
    expected: Option<usize>,
    /// Packets per ACK, times 64; 0 before the first.
    packets_per_ack: u32,
    /// True if the option is ignored.
    pub(super) without_option: bool,
}

impl Feedback {
    /// The peer's counters of bytes received with ECT(1), CE and ECT(0), without their initial values.
    #[cfg(feature = "packetdrill")]
    pub(super) fn counted_bytes(&self) -> [u32; 3] {
        self.bytes
    }

    /// State after the SYN-ACK, which acknowledged a packet.
    pub(super) fn after_syn_ack() -> Self {
        Self { packets_per_ack: 1 << EWMA_SHIFT, ..Self::default() }
    }

    /// Processes the option of an ACK (`tcp_accecn_process_option`). Returns true if the counter of CE can
    /// be used: at most one other counter moved than the expected one, and none moved back.
    fn take_option(&mut self, option: Option<AccurateEcn>, delivered_bytes: u32) -> bool {
        if self.without_option {
            return false;
        }
        let Some(option) = option else {
            if let Some(expected) = self.expected {
                self.bytes[expected] = self.bytes[expected].wrapping_add(delivered_bytes);
            }
            return self.expected.is_some();
        };
        let before = self.expected;
        let (mut usable, mut ambiguous, mut changed) = (before.is_some(), false, false);
        let told = option.counters.iter().zip(FIRST_BYTES).take(option.fields.into());
        for (at, (counter, first)) in told.enumerate() {
            let told = counter.wrapping_sub(first);
            let delta = ((told.wrapping_sub(self.bytes[at]) << 8) as i32) >> 8;
            self.bytes[at] = self.bytes[at].wrapping_add_signed(delta);
            if delta < 0 {
                (usable, ambiguous) = (false, true);
            }
            if delta != 0 && before != Some(at) {
                if changed {
                    (usable, ambiguous) = (false, true);
                } else {
                    (self.expected, changed) = (Some(at), true);
                }
            }
        }
        if ambiguous {
            self.expected = None;
        }
        usable
    }

    /// Packets with CE that an ACK reports beyond `told` (`__tcp_accecn_process`, RFC 9768 §3.2.2.5).
    fn packets(&mut self, ack: &Segment, told: u32, acked: &Acked) -> u32 {
        let ce_before = self.bytes[1];
        let usable = self.take_option(ack.accurate_ecn(), acked.bytes);
        if acked.packets > 0 {
            let now = acked.packets << EWMA_SHIFT;
            let before = self.packets_per_ack;
            let mean = if before == 0 {
                now
            } else {
                ((before << EWMA_SHIFT) - before + now) >> EWMA_SHIFT
            };
            self.packets_per_ack = mean.min(u16::MAX.into());
        }
        let ace = u32::from(ack.flags.ace);
        let delta = ace.wrapping_sub(FIRST_ACE).wrapping_sub(told) % ACE_MODULUS;
        if acked.packets < ACE_MODULUS {
            return delta;
        }
        // The field may have wrapped: the largest number that it can stand for.
        let safe = acked.packets - (acked.packets - delta) % ACE_MODULUS;
        if !usable {
            let compressed = self.packets_per_ack > ACK_COMPRESSED << EWMA_SHIFT;
            return if compressed { delta } else { safe };
        }
        let ce_bytes = self.bytes[1].wrapping_sub(ce_before);
        if ce_bytes == 0 {
            return delta;
        }
        if acked.packets >= 2 * ACE_MODULUS && acked.sure {
            if acked.bytes <= ce_bytes {
                return safe;
            }
            let share = u64::from(ce_bytes) * u64::from(acked.packets);
            let estimate = share.div_ceil(u64::from(acked.bytes)) as u32;
            return safe.min(delta + estimate / ACE_MODULUS * ACE_MODULUS);
        }
        if ce_bytes > delta * acked.mss_bytes {
            safe
        } else if ce_bytes < safe.wrapping_mul(acked.mss_bytes) >> 1 {
            delta
        } else {
            safe
        }
    }
}

/// Packets and bytes that an ACK acknowledged.
#[derive(Clone, Copy, Debug)]
struct Acked {
    packets: u32,
    bytes: u32,
    /// True if the packets are known: with SACK, or without losses.
    sure: bool,
    mss_bytes: u32,
}

impl Sender {
    /// MSS without the options of single segments (`mss_cache`): that of Accurate ECN, and that of a
    /// subflow with its mapping.
    pub(super) fn mss_cache(&self) -> u32 {
        self.mss + self.mapping_bytes() + if self.ecn.shortened { ACCURATE_ECN_BYTES } else { 0 }
    }

    /// Adds the option to each segment from now on, or to those that need it (`tcp_ecn_option: 1`).
    pub(super) fn use_accurate_option(&mut self) {
        self.ecn.option = true;
        self.fit_option();
    }

    /// Returns true if only some segments have the option.
    pub(super) fn has_option_on_demand(&self) -> bool {
        self.ecn.option && self.options.tcp_ecn_option == ON_DEMAND
    }

    /// Returns true if the next skb has the option.
    fn option_is_due(&self) -> bool {
        self.ecn.option
            && (!self.has_option_on_demand()
                || self.ecn.received.demand > 0
                || self.beacon_is_due())
    }

    fn beacon_is_due(&self) -> bool {
        let beacon = self.options.tcp_ecn_option_beacon;
        let srtt_us = u64::from(self.rtt.srtt_us8 >> 3);
        self.ecn.received.beacon_is_due(self.now_us(), beacon, srtt_us)
    }

    /// Fits the MSS if only some segments have the option. A call of the application keeps its MSS
    /// until the option is due (`tcp_sendmsg_locked`, `tcp_write_xmit`).
    pub(super) fn fit_option_on_demand(&mut self) {
        if self.has_option_on_demand() && (!self.ecn.in_call || self.beacon_is_due()) {
            self.fit_option();
        }
    }

    /// Begins a call of the application, or continues one (`tcp_send_mss`).
    pub(super) fn begin_call(&mut self, continued: bool) {
        if self.has_option_on_demand() {
            let due = if continued { self.ecn.call_shortened } else { self.option_is_due() };
            self.shorten(due);
            (self.ecn.in_call, self.ecn.call_shortened) = (true, due);
        }
    }

    /// Ends a call of the application.
    pub(super) fn end_call(&mut self) {
        self.ecn.in_call = false;
    }

    /// Leaves space for the option if the next skb has it (`tcp_current_mss`).
    pub(super) fn fit_option(&mut self) {
        self.shorten(self.ecn.mode == Mode::Accurate && self.option_is_due());
    }

    fn shorten(&mut self, shortened: bool) {
        match (self.ecn.shortened, shortened) {
            (false, true) => self.mss -= ACCURATE_ECN_BYTES,
            (true, false) => self.mss += ACCURATE_ECN_BYTES,
            _ => {}
        }
        self.ecn.shortened = shortened;
    }

    /// Decides if an skb has the option; `payload_bytes` of its first segment. A retransmission that
    /// has no space goes without it.
    pub(super) fn begin_skb(&mut self, payload_bytes: u32) {
        if self.has_option_on_demand() {
            let most = self.mss_cache() - ACCURATE_ECN_BYTES;
            self.ecn.skb_option = payload_bytes <= most && self.option_is_due();
        }
    }

    /// Notes an skb that has been sent.
    pub(super) fn note_skb(&mut self) {
        if self.has_option_on_demand() {
            let now_us = self.now_us();
            self.ecn.received.told(self.ecn.skb_option, now_us);
        }
    }

    /// Adds the option to a header, if only some segments have it and this one does.
    pub(super) fn fill_on_demand(&self, header: &mut Segment) {
        if self.has_option_on_demand() && self.ecn.skb_option {
            self.ecn.received.fill(header);
        }
    }

    /// Follows the receiver of this end, which decides whether segments have the option.
    pub(super) fn follow_option(&mut self, option: bool) {
        if self.ecn.mode == Mode::Accurate && option != self.ecn.option {
            self.ecn.option = option;
            self.fit_option();
        }
    }

    /// Returns true if the ACE field of an ACK reports no new mark.
    pub(super) fn has_known_ace(&self, ack: &Segment) -> bool {
        let known = (self.ecn.delivered_ce as u32).wrapping_add(FIRST_ACE) % ACE_MODULUS;
        u32::from(ack.flags.ace) == known
    }

    /// Processes the marks that an ACK reports (`tcp_accecn_process`). `delivered`: packets delivered before
    /// it.
    pub(super) fn accurate_feedback(
        &mut self,
        ack: &Segment,
        delivered: u64,
        prior_una: u64,
        sacked_bytes: u32,
        flags: &mut AckFlags,
    ) {
        if !(flags.data_acked || flags.data_sacked || self.ecn.ts_progress) {
            return;
        }
        let first = self.queue.front().map_or(self.snd_una, |head| head.seq);
        let bytes =
            if flags.data_acked { first.saturating_sub(prior_una) as u32 } else { sacked_bytes };
        let acked = Acked {
            packets: (self.delivered - delivered) as u32,
            bytes,
            sure: self.options.tcp_sack
                || matches!(self.congestion.state, CaState::Open | CaState::Cwr),
            mss_bytes: self.mss_cache(),
        };
        let told = self.ecn.delivered_ce as u32;
        let packets = self.ecn.feedback.packets(ack, told, &acked);
        if packets > 0 {
            self.ecn.delivered_ce += u64::from(packets);
            flags.ece = true;
        }
    }

    /// Notes the ECN field of an arrived segment, and if its timestamp is later than those before.
    pub(super) fn ecn_arrives(&mut self, ecn_field: u8, later: bool) {
        self.ecn.field = ecn_field;
        self.ecn.ts_progress = later;
    }

    /// Counts an arrived segment at an end that receives no data.
    pub(crate) fn count_arrival(&mut self, ecn_field: u8, segment: &Segment) {
        let later = segment.tsval_ms.wrapping_sub(self.ts_recent_ms) as i32 > 0;
        self.ecn_arrives(ecn_field, segment.timestamps && later);
        let open = !self.fin; // ESTABLISHED: until the application has closed, sent or not.
        if self.ecn.mode == Mode::Accurate && !segment.flags.is_syn() && open {
            self.ecn.received.count(ecn_field, segment.payload_bytes);
            self.carry_counters();
        }
    }

    /// Puts the counters into the header of the following segments.
    pub(super) fn carry_counters(&mut self) {
        self.carried.flags.ace = self.ecn.received.ace();
        if self.ecn.option && !self.has_option_on_demand() {
            self.carried.timestamps = self.options.tcp_timestamps;
            let received = self.ecn.received;
            received.fill(&mut self.carried);
        }
    }
}

impl Receiver {
    /// Counts an arrived segment. A change of the ECN field is acknowledged at once (RFC 9768
    /// §3.2.2.5.1), as soon as there is data to acknowledge.
    pub(super) fn count_arrival(&mut self, segment: &Segment) {
        self.ecn.seen |= self.ecn_field != NOT_ECT;
        if self.ecn.received.count(self.ecn_field, segment.payload_bytes) {
            self.ack.now = true;
        }
        self.option_appears(segment);
        if self.is_later(segment) && self.ecn.received.pending >= CE_UNTOLD_MAX {
            self.ack.now = true;
        }
    }

    /// Sends the option from now on if the peer does, though its third segment had none
    /// (`tcp_accecn_process_option`).
    fn option_appears(&mut self, segment: &Segment) {
        let wanted = !self.ecn.option && !self.ecn.option_failed && self.options.tcp_ecn_option > 0;
        if wanted && segment.accurate_ecn().is_some() && self.is_later(segment) {
            self.ecn.option = true;
        }
    }

    /// Processes a duplicate of received data. If the last segment reported the same duplicate and had the
    /// option, segments with the option do not arrive: none has it any more (RFC 9768 §3.2.3.2.2;
    /// `tcp_rcv_spurious_retrans`).
    pub(super) fn hears_duplicate(&mut self, duplicate: u64) {
        let gives_up = self.options.tcp_ecn_option < PERSISTENT;
        if self.ecn.mode == Mode::Accurate && gives_up && self.ecn.told_duplicate == Some(duplicate)
        {
            self.ecn.option_failed = true;
            self.ecn.option = false;
        }
    }

    /// Returns true if a segment brings a later timestamp to echo (FLAG_TS_PROGRESS).
    pub(super) fn is_later(&self, segment: &Segment) -> bool {
        segment.timestamps
            && segment.seq <= self.rcv_wup
            && segment.tsval_ms.wrapping_sub(self.ts_recent_ms) as i32 > 0
    }

    /// Puts the counters into a header.
    pub(super) fn fill_counters(&self, segment: &mut Segment) {
        if self.option_is_due() {
            self.ecn.received.fill(segment);
        }
    }

    /// Returns true if only some segments have the option.
    pub(super) fn has_option_on_demand(&self) -> bool {
        self.ecn.option && self.options.tcp_ecn_option == ON_DEMAND
    }

    /// Returns true if the next segment has the option.
    fn option_is_due(&self) -> bool {
        let beacon = self.options.tcp_ecn_option_beacon;
        let now_us = self.heard_at.as_us();
        self.ecn.option
            && (!self.has_option_on_demand()
                || self.ecn.received.is_due(now_us, beacon, self.srtt_us8 >> 3))
    }

    /// Notes a segment that reported the counters, before its SACK blocks are forgotten.
    pub(super) fn told_counters(&mut self) {
        if self.ecn.mode != Mode::Accurate {
            return;
        }
        let mut header = Segment { timestamps: self.options.tcp_timestamps, ..Segment::default() };
        self.fill_sack(&mut header);
        self.fill_counters(&mut header);
        let option = header.accurate_ecn().is_some();
        self.ecn.received.told(option, self.heard_at.as_us());
        self.ecn.told_duplicate = self.dsack.filter(|_| option).map(|block| block.start);
    }
}

#[cfg(test)]
mod tests;
