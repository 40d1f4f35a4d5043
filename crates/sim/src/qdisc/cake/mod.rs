//! CAKE (Høiland-Jørgensen, Täht and Morton 2018) as in Linux (sch_cake.c): a shaper without bucket, tins by
//! codepoint, in each a queue per flow served by deficit round robin with sparse flows first, equal shares for
//! hosts, and COBALT per queue. Packets are single segments, as with `split-gso`.

mod ack_filter;
mod cobalt;
mod flow;
mod hash;
mod lists;
mod memory;
mod modes;
mod rate;
mod tin;

use super::{Arrival, Context, Discipline, Head, Inside, Queued, Sight, Verdicts};
use cobalt::Decision;
use dumbbell_model::queue::{self, AckFilter};
use dumbbell_model::rng::Rng;
use dumbbell_model::Time;
use dumbbell_packet::frame::NO_FLOW;
use flow::Waiting;
use hash::Identity;
use rate::{Clock, OnLine};
use tin::Tin;

/// Codepoint that ARP counts as: CS7.
const NETWORK_CONTROL: u8 = 56;

/// CAKE with its tins.
#[derive(Debug)]
pub(super) struct Cake {
    spec: queue::Cake,
    tins: Vec<Tin>,
    clock: Clock,
    line: OnLine,
    /// Tin that is served.
    current: usize,
    packets: usize,
    bytes: u64,
    memory_bytes: u64,
    memory_limit_bytes: u64,
    rng: Rng,
}

impl Cake {
    pub(super) fn new(spec: &queue::Cake, context: &Context<'_>) -> Self {
        let bytes_per_s = spec.bandwidth.as_bps() / 8;
        let shares = modes::shares(spec.diffserv, bytes_per_s).into_iter();
        Self {
            spec: *spec,
            tins: shares.map(|share| Tin::new(spec, share, context.frame_bytes)).collect(),
            clock: Clock::default(),
            line: OnLine::new(spec),
            current: 0,
            packets: 0,
            bytes: 0,
            memory_bytes: 0,
            memory_limit_bytes: memory::limit(spec, bytes_per_s, context.frame_bytes),
            rng: context.rng(),
        }
    }

    fn is_shaped(&self) -> bool {
        self.tins[0].per_byte.is_limited()
    }

    /// Tin of a packet (`cake_select_tin`).
    fn tin(&self, queued: &Queued) -> usize {
        let dscp =
            if queued.packet.flow == NO_FLOW { NETWORK_CONTROL } else { queued.packet.tos >> 2 };
        modes::tin(self.spec.diffserv, dscp)
    }

    /// Takes a packet off the counters.
    fn uncount(&mut self, tin: usize, waiting: &Waiting) {
        let bytes = u64::from(waiting.queued.bytes);
        self.packets -= 1;
        self.bytes -= bytes;
        self.tins[tin].bytes -= bytes;
        self.memory_bytes -= u64::from(waiting.memory_bytes);
    }

    /// Charges a packet to its tin and to the shaper (`cake_advance_shaper`).
    fn advance(&mut self, tin: usize, waiting: &Waiting, now: i64, left: bool) {
        if self.is_shaped() {
            self.tins[tin].advance(waiting.line_bytes, now);
            self.clock.advance(self.tins[0].per_byte.time(waiting.line_bytes), left);
        }
    }

    /// Drops the head of the longest queue (`cake_drop`).
    fn shorten(&mut self, now: i64, verdicts: &mut Verdicts) {
        let longest = |tin: usize| (self.tins[tin].longest(), tin);
        let most =
            (0..self.tins.len()).map(longest).reduce(
                |most, one| {
                    if one.0 .0 > most.0 .0 {
                        one
                    } else {
                        most
                    }
                },
            );
        let Some(((_, queue), tin)) = most else { return };
        let Some(head) = self.tins[tin].flows[queue].pop() else { return };
        let parameters = self.tins[tin].parameters;
        self.tins[tin].flows[queue].state.full(&parameters, now);
        self.uncount(tin, &head);
        if self.spec.ingress {
            self.advance(tin, &head, now, false);
        }
        verdicts.overflow(&head.queued);
    }

    /// Chooses the tin to serve. Returns false if none has packets.
    fn choose(&mut self, now: i64) -> bool {
        if !self.is_shaped() {
            return self.take_turns();
        }
        // The last tin whose clock is due, else the one with the earliest clock.
        let mut best: Option<(i64, usize)> = None;
        for (number, tin) in self.tins.iter().enumerate().filter(|(_, tin)| tin.is_active()) {
            let ahead = tin.next_packet - now;
            if ahead <= 0 || best.is_none_or(|(least, _)| ahead <= least) {
                best = Some((ahead, number));
            }
        }
        self.current = best.map_or(0, |(_, number)| number);
        best.is_some()
    }

    /// Without a shaper tins have turns by their quanta.
    fn take_turns(&mut self) -> bool {
        let (mut wrapped, mut empty) = (false, true);
        loop {
            let tin = &mut self.tins[self.current];
            if tin.deficit >= 0 && tin.is_active() {
                return true;
            }
            if tin.deficit <= 0 {
                tin.deficit += tin.quantum;
            }
            empty &= !tin.is_active();
            self.current += 1;
            if self.current == self.tins.len() {
                self.current = 0;
                if wrapped && empty {
                    return false;
                }
                wrapped = true;
            }
        }
    }

    /// `cake_dequeue`.
    fn serve(&mut self, at: Time, verdicts: &mut Verdicts) -> Head {
        let now = at.as_ns() as i64;
        let mut first = true;
        'choose: loop {
            if self.packets == 0 {
                return Head::Empty;
            }
            if let Some(until) = self.clock.until(now) {
                return Head::Until(Time::from_ns(until as u64));
            }
            if !self.choose(now) {
                return Head::Empty;
            }
            let number = self.current;
            'flow: loop {
                let tin = &mut self.tins[number];
                let Some(queue) = tin.next(first) else { continue 'choose };
                first = false;
                if tin.flows[queue].deficit <= 0 {
                    tin.refill(queue, &mut self.rng);
                    continue;
                }
                while let Some(mut waiting) = self.tins[number].flows[queue].pop() {
                    self.uncount(number, &waiting);
                    let decision = self.decide(number, queue, &mut waiting, now);
                    let last = self.tins[number].flows[queue].waiting.is_empty();
                    let drops = decision.drops && !last;
                    if !drops || self.spec.ingress {
                        self.advance(number, &waiting, now, !drops);
                        let line_bytes = i64::from(waiting.line_bytes);
                        self.tins[number].flows[queue].deficit -= line_bytes;
                        self.tins[number].deficit -= line_bytes;
                    }
                    if !drops {
                        verdicts.marked += u64::from(decision.marked);
                        return Head::Ready(waiting.queued);
                    }
                    verdicts.signal(&waiting.queued);
                    if self.spec.ingress {
                        continue 'flow;
                    }
                }
                self.tins[number].emptied(queue, now);
                continue 'choose;
            }
        }
    }

    /// COBALT's decision about a packet that was taken out of a queue.
    fn decide(&mut self, tin: usize, queue: usize, waiting: &mut Waiting, now: i64) -> Decision {
        let tin = &mut self.tins[tin];
        let bulk_flows = if self.spec.ingress { tin.bulk as i64 } else { 0 };
        let packet = &mut waiting.queued.packet;
        let times = (waiting.queued.arrived.as_ns() as i64, now);
        let state = &mut tin.flows[queue].state;
        state.decide(&tin.parameters, times, bulk_flows, || packet.mark_ce(), &mut self.rng)
    }

    /// Takes out an ACK that the last packet of the queue makes needless.
    fn filter(
        &mut self,
        tin: usize,
        queue: usize,
        now: i64,
        sight: &Sight<'_>,
        verdicts: &mut Verdicts,
    ) {
        let aggressive = match self.spec.ack_filter {
            AckFilter::Off => return,
            AckFilter::On => false,
            AckFilter::Aggressive => true,
        };
        let waiting = &self.tins[tin].flows[queue].waiting;
        let Some(place) = ack_filter::needless(waiting, sight.arena, aggressive) else { return };
        let Some(ack) = self.tins[tin].flows[queue].take(place) else { return };
        self.uncount(tin, &ack);
        if self.spec.ingress {
            self.advance(tin, &ack, now, false);
        }
        verdicts.filtered(&ack.queued);
    }
}

impl Discipline for Cake {
    /// `cake_enqueue`.
    fn enqueue(&mut self, at: Time, arrival: Arrival<'_>, verdicts: &mut Verdicts) {
        let Arrival { queued, sight, .. } = arrival;
        let now = at.as_ns() as i64;
        let number = self.tin(&queued);
        let [source, destination] = sight.hosts(queued.packet);
        let flow =
            queued.packet.flow.wrapping_mul(2).wrapping_add(u32::from(queued.packet.outward));
        let tin = &mut self.tins[number];
        let queue = tin.queue(Identity { flow, source, destination });
        if tin.bytes == 0 {
            tin.next_packet = tin.next_packet.max(now);
            if self.packets == 0 {
                self.clock.begin(now);
            }
        }
        let tin = &mut self.tins[number];
        let line_bytes = self.line.bytes(queued.bytes);
        let memory_bytes = memory::of(queued.packet, sight.arena);
        tin.flows[queue].push(Waiting { queued, line_bytes, memory_bytes });
        tin.bytes += u64::from(queued.bytes);
        self.packets += 1;
        self.bytes += u64::from(queued.bytes);
        self.memory_bytes += u64::from(memory_bytes);
        self.filter(number, queue, now, sight, verdicts);
        self.tins[number].filled(queue, &mut self.rng);
        while self.memory_bytes > self.memory_limit_bytes && self.packets > 0 {
            self.shorten(now, verdicts);
        }
    }

    fn dequeue(&mut self, now: Time, verdicts: &mut Verdicts) -> Head {
        self.serve(now, verdicts)
    }

    fn length(&self) -> (usize, u64) {
        (self.packets, self.bytes)
    }

    fn inside(&self, _: Time) -> Inside {
        let sparse = self.tins.iter().map(|tin| tin.sparse + tin.decaying).sum();
        let bulk = self.tins.iter().map(|tin| tin.bulk).sum();
        Inside { new_flows: Some(sparse), old_flows: Some(bulk), ..Inside::default() }
    }
}

#[cfg(test)]
mod tests;
