//! Fair queue as in Linux (sch_fq.c), for forwarded packets. They have no pacing rate, so fq serves the
//! flows round-robin. New flows precede old ones and have a larger quantum. Since Linux 6.7 there are
//! three bands, and a queue of its own for packets that find none waiting ([`Since67`]).

use super::rounds::{Rounds, Share};
use super::{flow_queue, Arrival, Context, Discipline, Head, Inside, Line, Queued, Verdicts};
use dumbbell_model::{queue, Span, Time};

/// Buckets that orphaned packets are hashed to (`orphan_mask`).
const FLOWS: usize = 1024;
/// Idle time after which a flow's credit is refilled to a full quantum (`flow_refill_delay`).
const REFILL_AFTER: Span = Span::from_ms(40);
/// Bytes that a band may send before the next one (`band_flows[].quantum`).
const BAND_QUANTA: [i64; 3] = [9 << 16, 3 << 16, 1 << 16];
/// Band of each pair of bits 3 and 4 of the TOS field (`ip_tos2prio`, then `prio2band`): best effort,
/// bulk, interactive, interactive bulk.
const BAND_OF_TOS: [usize; 4] = [1, 2, 0, 1];
/// Longest queue of packets that found none waiting (`fq_fastpath_check`).
const LONE_MAX: usize = 8;

#[derive(Debug)]
struct Flow {
    queue: Line,
    share: Share,
    /// Time at which it was last empty; `None`: it is new, and its first turn has the initial quantum
    /// (`fq_classify` sets the age of a new flow to now).
    emptied: Option<Time>,
    /// Band of its last packet.
    band: usize,
}

/// Flows of one band.
#[derive(Debug, Default)]
struct Band {
    rounds: Rounds,
    packets: usize,
    /// Bytes that the band may still send.
    credit: i64,
}

/// State that only Linux 6.7 and later have.
#[derive(Debug, Default)]
struct Since67 {
    /// Packets that found no flow waiting (`internal`).
    lone: Line,
    /// Band that is served (`band_nr`).
    served: usize,
    /// Flows with packets.
    active: usize,
}

/// fq with its flows.
#[derive(Debug)]
pub(super) struct Fq {
    spec: queue::Fq,
    flows: Vec<Flow>,
    /// One before Linux 6.7.
    bands: Vec<Band>,
    since_67: Option<Since67>,
    bridge: bool,
    packets: usize,
    bytes: u64,
}

impl Fq {
    pub(super) fn new(spec: &queue::Fq, context: &Context<'_>) -> Self {
        let flow = || Flow {
            queue: Line::default(),
            share: Share { deficit: i64::from(spec.initial_quantum_bytes), listed: false },
            emptied: None,
            band: 0,
        };
        let mut flows = Vec::new();
        flows.resize_with(FLOWS, flow);
        let bands = if spec.priority_bands {
            BAND_QUANTA.iter().map(|_| Band::default()).collect() // Without credit.
        } else {
            vec![Band::default()]
        };
        let since_67 = spec.priority_bands.then(Since67::default);
        let bridge = context.bridge;
        Self { spec: *spec, flows, bands, since_67, bridge, packets: 0, bytes: 0 }
    }

    /// Band of a packet; the only one before Linux 6.7. A router takes the priority of the TOS field
    /// (`ip_forward`), a bridge none.
    fn band_of(&self, queued: &Queued) -> usize {
        match self.since_67 {
            Some(_) if self.bridge => BAND_OF_TOS[0],
            Some(_) => BAND_OF_TOS[usize::from(queued.packet.tos >> 3 & 3)],
            None => 0,
        }
    }

    /// `fq_dequeue`.
    fn serve(&mut self, now: Time) -> Option<Queued> {
        if self.packets == 0 {
            return None; // Lists and credits stay as they are.
        }
        if let Some(lone) = self.since_67.as_mut().and_then(|own| own.lone.pop()) {
            self.left(&lone);
            return Some(lone);
        }
        loop {
            let served = self.band()?;
            let head = self.bands[served].rounds.head()?;
            let flow = &mut self.flows[head];
            if flow.share.deficit <= 0 {
                flow.share.deficit += i64::from(self.spec.quantum_bytes);
                self.bands[served].rounds.remove_head();
                self.bands[flow.band].rounds.append_old(head);
                continue;
            }
            let Some(queued) = flow.queue.pop() else {
                let rounds = &mut self.bands[served].rounds;
                if self.since_67.is_none() {
                    if rounds.idle(&mut flow.share) {
                        flow.emptied = Some(now);
                    }
                } else if rounds.remove_head() {
                    self.bands[flow.band].rounds.append_old(head);
                } else {
                    flow.share.listed = false;
                    flow.emptied = Some(now);
                }
                continue;
            };
            flow.share.deficit -= i64::from(queued.bytes);
            self.bands[served].credit -= i64::from(queued.bytes);
            let emptied = flow.queue.packets.is_empty();
            let band = self.band_of(&queued);
            self.bands[band].packets -= 1;
            if let Some(own) = &mut self.since_67 {
                own.active -= usize::from(emptied);
            }
            self.left(&queued);
            return Some(queued);
        }
    }

    fn left(&mut self, queued: &Queued) {
        self.packets -= 1;
        self.bytes -= u64::from(queued.bytes);
    }

    /// Band to serve: the next with flows and credit (`fq_pband_head_select`); `None` if no band has
    /// flows.
    fn band(&mut self) -> Option<usize> {
        let Some(own) = &mut self.since_67 else { return Some(0) };
        let mut tried = 0;
        loop {
            let band = &self.bands[own.served];
            if band.credit > 0 && band.rounds.head().is_some() {
                return Some(own.served);
            }
            own.served = (own.served + 1) % BAND_QUANTA.len();
            let (band, quantum) = (&mut self.bands[own.served], BAND_QUANTA[own.served]);
            band.credit = (band.credit + quantum).min(quantum);
            tried = if band.credit > 0 { tried + 1 } else { 0 };
            if tried > BAND_QUANTA.len() {
                return None;
            }
        }
    }

    /// Takes a packet that finds no flow waiting (`fq_fastpath_check`). Returns false otherwise.
    fn takes_lone(&mut self, queued: Queued) -> bool {
        let Some(own) = &mut self.since_67 else { return false };
        let lone = own.lone.packets.len();
        if self.packets > 0 && (own.active > 0 || lone >= LONE_MAX) {
            return false;
        }
        own.lone.push(queued);
        true
    }
}

impl Discipline for Fq {
    /// `fq_enqueue`.
    fn enqueue(&mut self, now: Time, arrival: Arrival<'_>, verdicts: &mut Verdicts) {
        let Arrival { queued, beside, .. } = arrival;
        // The packet that a shaper holds counts before 6.7 (qlen), not in a band.
        let beside = usize::from(beside.is_some() && self.since_67.is_none());
        let number = self.band_of(&queued);
        if (self.bands[number].packets + beside) as u64 >= self.spec.limit_packets {
            return verdicts.overflow(&queued);
        }
        if !self.takes_lone(queued) {
            let place = flow_queue(&queued.packet, FLOWS);
            let flow = &mut self.flows[place];
            if flow.queue.packets.len() as u64 >= self.spec.flow_limit_packets {
                return verdicts.overflow(&queued);
            }
            if !flow.share.listed {
                if flow.emptied.is_some_and(|emptied| now.since(emptied) > REFILL_AFTER) {
                    let quantum = i64::from(self.spec.quantum_bytes);
                    flow.share.deficit = flow.share.deficit.max(quantum);
                }
                // A new flow begins in the band that it had before, or in the first: Linux sets its
                // band afterwards.
                self.bands[flow.band].rounds.begin(place, &mut flow.share);
            }
            flow.band = number;
            self.bands[number].packets += 1;
            if let Some(own) = &mut self.since_67 {
                own.active += usize::from(flow.queue.packets.is_empty());
            }
            flow.queue.push(queued);
        }
        self.packets += 1;
        self.bytes += u64::from(queued.bytes);
    }

    fn dequeue(&mut self, now: Time, _: &mut Verdicts) -> Head {
        self.serve(now).into()
    }

    fn length(&self) -> (usize, u64) {
        (self.packets, self.bytes)
    }

    fn inside(&self, _: Time) -> Inside {
        let lengths = self.bands.iter().map(|band| band.rounds.lengths());
        let (new, old) = lengths.fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
        Inside { new_flows: Some(new), old_flows: Some(old), ..Inside::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::super::test_packets::{context, queued};
    use super::*;

    #[test]
    fn a_flow_has_its_own_room_and_its_first_turn_is_long() {
        let spec = queue::Fq {
            limit_packets: 10_000,
            flow_limit_packets: 100,
            quantum_bytes: 3028,
            initial_quantum_bytes: 15_140,
            priority_bands: false,
        };
        let mut fq = Fq::new(&spec, &context());
        let mut verdicts = Verdicts::default();
        for number in 0..120 {
            fq.enqueue(Time::ZERO, queued(0, number, 1514, Time::ZERO).into(), &mut verdicts);
        }
        assert_eq!(verdicts.dropped.len(), 20);
        for number in 0..20 {
            fq.enqueue(Time::ZERO, queued(1, number, 1514, Time::ZERO).into(), &mut verdicts);
        }
        let left = std::iter::from_fn(|| fq.serve(Time::ZERO)).take(24);
        let flows: Vec<u32> = left.map(|left| left.packet.flow).collect();
        let expected: Vec<u32> = [(0, 10), (1, 10), (0, 2), (1, 2)]
            .into_iter()
            .flat_map(|(flow, times)| std::iter::repeat_n(flow, times))
            .collect();
        assert_eq!(flows, expected);
    }

    #[test]
    fn since_6_7_lone_packets_go_first_and_bands_share_by_weight() {
        let spec = queue::Fq {
            limit_packets: 10_000,
            flow_limit_packets: 2000,
            quantum_bytes: 3028,
            initial_quantum_bytes: 15_140,
            priority_bands: true,
        };
        let mut fq = Fq::new(&spec, &context());
        let mut verdicts = Verdicts::default();
        let mut put = |fq: &mut Fq, flow, number, tos| {
            let mut one = queued(flow, number, 1024, Time::ZERO);
            one.packet.tos = tos;
            fq.enqueue(Time::ZERO, one.into(), &mut verdicts);
        };
        // Eight find no flow waiting, whosever they are.
        for number in 0..8 {
            put(&mut fq, 2, number, 0x08);
        }
        for number in 0..1500 {
            put(&mut fq, 0, number, 0x10); // interactive: band 0
            put(&mut fq, 1, number, 0); // best effort: band 1
        }
        let left = std::iter::from_fn(|| fq.serve(Time::ZERO)).take(8 + 768);
        let flows: Vec<u32> = left.map(|left| left.packet.flow).collect();
        assert!(flows[..8].iter().all(|&flow| flow == 2));
        // 9 and 3 times 64 KiB in turn. Both flows begin in the first band, since Linux sets the band
        // of a new flow afterwards: the other has its first turn there, of 15 packets.
        assert_eq!(flows[8..8 + 576].iter().filter(|&&flow| flow == 1).count(), 15);
        assert!(flows[8 + 576..].iter().all(|&flow| flow == 1));
    }

    fn spec(priority_bands: bool) -> queue::Fq {
        queue::Fq {
            limit_packets: 10_000,
            flow_limit_packets: 100,
            quantum_bytes: 3028,
            initial_quantum_bytes: 1514,
            priority_bands,
        }
    }

    /// Flows of the packets that leave, of some that two flows have waiting.
    fn turns(fq: &mut Fq, at: Time) -> Vec<u32> {
        let mut verdicts = Verdicts::default();
        for number in 0..4 {
            fq.enqueue(at, queued(0, number, 1514, at).into(), &mut verdicts);
            fq.enqueue(at, queued(1, number, 1514, at).into(), &mut verdicts);
        }
        std::iter::from_fn(|| fq.serve(at)).map(|left| left.packet.flow).collect()
    }

    /// A new flow has the initial quantum, whenever it begins; one that was idle has a full quantum.
    #[test]
    fn the_first_turn_of_a_new_flow_is_the_initial_quantum() {
        let mut fq = Fq::new(&spec(false), &context());
        let second = Time::from_ns(1_000_000_000);
        assert_eq!(turns(&mut fq, second)[..4], [0, 1, 0, 0]);
        let mut verdicts = Verdicts::default();
        // Before the second packet of another flow the empty ones are met, and leave their lists.
        for number in 0..2 {
            fq.enqueue(second, queued(2, number, 1514, second).into(), &mut verdicts);
        }
        while fq.serve(second).is_some() {}
        let later = Time::from_ns(2_000_000_000);
        assert_eq!(turns(&mut fq, later)[..4], [0, 0, 1, 1]);
    }

    /// A bridge sets no priority: all packets are of the band of best effort.
    #[test]
    fn a_bridge_has_one_band() {
        for (bridge, bands) in [(false, [1, 0, 1]), (true, [0, 2, 0])] {
            let mut fq = Fq::new(&spec(true), &Context { bridge, ..context() });
            let mut verdicts = Verdicts::default();
            for flow in 0..10 {
                fq.enqueue(Time::ZERO, queued(9, flow, 1514, Time::ZERO).into(), &mut verdicts);
            }
            fq.bands.iter_mut().for_each(|band| band.packets = 0);
            for (flow, tos) in [(0, 0x08), (1, 0x10)] {
                let mut one = queued(flow, 0, 1514, Time::ZERO);
                one.packet.tos = tos;
                fq.enqueue(Time::ZERO, one.into(), &mut verdicts);
            }
            let packets: Vec<usize> = fq.bands.iter().map(|band| band.packets).collect();
            assert_eq!(packets, bands);
        }
    }
}
