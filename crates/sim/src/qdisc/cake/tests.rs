//! Shaped rate, fairness of flows, hosts and tins, memory, and sparse flows.

use super::super::test_packets::{capable, context, queued, with_dscp};
use super::*;
use dumbbell_model::queue::{Cells, Diffserv, Isolation};
use dumbbell_model::{Rate, Span};

const FRAME: u32 = 1514;

pub(super) fn spec() -> queue::Cake {
    queue::Cake {
        bandwidth: Rate::from_bps(10_000_000),
        diffserv: Diffserv::Three,
        isolation: Isolation::Triple,
        rtt: Span::from_ms(100),
        overhead_bytes: 14,
        mpu_bytes: 0,
        atm: Cells::None,
        ack_filter: AckFilter::Off,
        ingress: false,
        memlimit_bytes: 0,
    }
}

/// Flows that always have packets, each from a host to another, capable of ECN: frames that each sent in
/// a time, after a second.
struct Busy<'a> {
    spec: queue::Cake,
    /// Source, destination, codepoint, bytes of frames.
    flows: &'a [(u32, u32, u8, u32)],
    seconds: u64,
}

impl Busy<'_> {
    /// Bytes of frames of each flow.
    fn bytes(&self) -> Vec<f64> {
        let mut cake = Cake::new(&self.spec, &context());
        let targets: Vec<[u32; 2]> = self.flows.iter().map(|flow| [flow.1, flow.0]).collect();
        let sight = Sight { targets: &targets, ..Sight::NONE };
        let mut verdicts = Verdicts::default();
        let mut bytes = vec![0.0; self.flows.len()];
        let mut waiting = vec![0; self.flows.len()];
        let (mut now, begin) = (Time::ZERO, Time::ZERO + Span::from_s(1));
        let end = begin + Span::from_s(self.seconds);
        while now < end {
            for (number, &(_, _, dscp, length)) in self.flows.iter().enumerate() {
                while waiting[number] < 4 {
                    let frame = with_dscp(dscp, queued(number as u32, 0, length, now));
                    cake.enqueue(
                        now,
                        Arrival { queued: capable(frame), beside: None, sight: &sight },
                        &mut verdicts,
                    );
                    waiting[number] += 1;
                }
            }
            match cake.dequeue(now, &mut verdicts) {
                Head::Ready(left) => {
                    let number = left.packet.flow as usize;
                    waiting[number] -= 1;
                    if now >= begin {
                        bytes[number] += f64::from(left.bytes);
                    }
                }
                Head::Until(at) => now = at,
                Head::Empty => break,
            }
        }
        assert!(verdicts.dropped.is_empty(), "they are marked instead");
        bytes
    }

    /// Mbit/s of each flow.
    fn rates(&self) -> Vec<f64> {
        self.bytes().iter().map(|bytes| bytes * 8e-6 / self.seconds as f64).collect()
    }
}

fn near(found: &[f64], law: &[f64], share: f64) {
    let close = found.iter().zip(law).all(|(one, law)| (one - law).abs() <= share * law);
    assert!(close && found.len() == law.len(), "{found:?} {law:?}");
}

/// A packet takes its length on the line over the bandwidth: 10 Mbit/s · 1514 / 1544, and in cells.
#[test]
fn the_rate_is_that_of_the_line() {
    for (overhead_bytes, atm, line) in
        [(14, Cells::None, 1514.0), (44, Cells::None, 1544.0), (44, Cells::Atm, 1749.0)]
    {
        let spec = queue::Cake { overhead_bytes, atm, ..spec() };
        let busy = Busy { spec, flows: &[(1, 2, 0, FRAME)], seconds: 4 };
        near(&busy.rates(), &[10.0 * 1514.0 / line], 1e-3);
    }
}

/// Deficit round robin (Shreedhar and Varghese 1995): flows share bytes, whatever their packets.
#[test]
fn flows_share_bytes() {
    let flows = [(1, 2, 0, FRAME), (1, 2, 0, 500), (1, 2, 0, 100)];
    let busy = Busy { spec: spec(), flows: &flows, seconds: 10 };
    near(&busy.rates(), &[10.0 / 3.0; 3], 0.01);
}

/// A host with four flows and a host with one: equal shares by hosts, fifths by flows. With three flows to
/// one destination and one to another, of one host, the destinations share.
#[test]
fn hosts_share_before_flows() {
    let towards = |source, destination| (source, destination, 0, FRAME);
    let five = [towards(1, 9), towards(1, 8), towards(1, 7), towards(1, 6), towards(2, 5)];
    let rates = |isolation, flows: &[(u32, u32, u8, u32)]| {
        Busy { spec: queue::Cake { isolation, ..spec() }, flows, seconds: 20 }.rates()
    };
    let by_host = [1.25, 1.25, 1.25, 1.25, 5.0];
    near(&rates(Isolation::Triple, &five), &by_host, 0.02);
    near(&rates(Isolation::DualSource, &five), &by_host, 0.02);
    near(&rates(Isolation::Source, &five), &by_host, 0.02);
    near(&rates(Isolation::DualDestination, &five), &[2.0; 5], 0.02);
    near(&rates(Isolation::Flows, &five), &[2.0; 5], 0.02);
    near(&rates(Isolation::Hosts, &five), &[2.0; 5], 0.02);
    let four = [towards(1, 9), towards(1, 9), towards(1, 9), towards(1, 8)];
    let by_host = [10.0 / 6.0, 10.0 / 6.0, 10.0 / 6.0, 5.0];
    near(&rates(Isolation::DualDestination, &four), &by_host, 0.02);
    // The source has four flows, more than either destination: all are equal.
    near(&rates(Isolation::Triple, &four), &[2.5; 4], 0.02);
}

/// A tin of voice has its quarter and no more, one of bulk its sixteenth, where best effort is busy too.
#[test]
fn tins_keep_to_their_thresholds() {
    let flows = [(1, 2, 0, FRAME), (1, 2, 8, FRAME), (1, 2, 46, FRAME)];
    let busy = Busy { spec: spec(), flows: &flows, seconds: 10 };
    let found = busy.rates();
    near(&found, &[10.0 * 11.0 / 16.0, 10.0 / 16.0, 2.5], 0.05);
    // Without a shaper tins share by weights: 16, 1, 4.
    let shared = Busy {
        spec: queue::Cake { bandwidth: Rate::default(), ..spec() },
        flows: &flows,
        seconds: 0,
    };
    let mut cake = Cake::new(&shared.spec, &context());
    let mut verdicts = Verdicts::default();
    let mut left = [0; 3];
    for _ in 0..40 {
        for (number, &(_, _, dscp, length)) in flows.iter().enumerate() {
            let frame = with_dscp(dscp, queued(number as u32, 0, length, Time::ZERO));
            for _ in 0..100 {
                cake.enqueue(Time::ZERO, frame.into(), &mut verdicts);
            }
        }
    }
    for _ in 0..2100 {
        let Head::Ready(one) = cake.dequeue(Time::ZERO, &mut verdicts) else { break };
        left[one.packet.flow as usize] += 1;
    }
    near(&left.map(f64::from), &[1600.0, 100.0, 400.0], 0.02);
}

/// A full memory drops from the longest queue, one by one, and lets BLUE rise.
#[test]
fn a_full_memory_shortens_the_longest_queue() {
    let spec = queue::Cake { memlimit_bytes: 10 * 2304, ..spec() };
    let mut cake = Cake::new(&spec, &context());
    let mut verdicts = Verdicts::default();
    for number in 0..8 {
        let frame = queued(number % 2, number, FRAME, Time::ZERO);
        cake.enqueue(Time::ZERO, frame.into(), &mut verdicts);
    }
    for number in 8..14 {
        let now = Time::from_ns(u64::from(number) * 10_000_000);
        cake.enqueue(now, queued(0, number, FRAME, now).into(), &mut verdicts);
    }
    let dropped: Vec<u32> = verdicts.dropped.iter().map(|(packet, _)| packet.id).collect();
    assert_eq!(dropped, [0, 2, 4, 6]);
    assert_eq!(cake.length(), (10, 10 * u64::from(FRAME)));
    let stepped =
        cake.tins[0].flows.iter().find(|flow| flow.tag == 1).map(|one| one.state.probability);
    assert_eq!(stepped, Some(4 << 24));
}

/// A flow of a packet each 20 ms beside a busy one: none of its packets waits longer than one of the other
/// takes, none is dropped.
#[test]
fn a_sparse_flow_waits_for_one_packet() {
    let mut cake = Cake::new(&spec(), &context());
    let mut verdicts = Verdicts::default();
    let mut now = Time::ZERO;
    let (mut next_sparse, mut waits, mut held) = (Time::ZERO, Vec::new(), 0_u32);
    while now < Time::ZERO + Span::from_s(5) {
        while held < 40 {
            cake.enqueue(now, queued(0, 0, FRAME, now).into(), &mut verdicts);
            held += 1;
        }
        let lost = verdicts.dropped.drain(..).inspect(|(packet, _)| assert_eq!(packet.flow, 0));
        held -= lost.count() as u32;
        match cake.dequeue(now, &mut verdicts) {
            Head::Ready(left) if left.packet.flow == 1 => waits.push(now.since(left.arrived)),
            Head::Ready(_) => held -= 1,
            Head::Until(at) if next_sparse <= at => {
                now = next_sparse.max(now);
                cake.enqueue(now, queued(1, 0, 200, now).into(), &mut verdicts);
                next_sparse += Span::from_ms(20);
            }
            Head::Until(at) => now = at,
            Head::Empty => break,
        }
    }
    let longest = waits.iter().max().copied().unwrap_or_default();
    assert!(waits.len() > 245 && longest <= Span::from_us(1212), "{} {longest:?}", waits.len());
}

/// The target grows with the time of a frame, the interval with it (`cake_set_rate`).
#[test]
fn slow_rates_have_longer_targets() {
    let parameters = |bps: u64, rtt_ms: u64| {
        let rtt = Span::from_ms(rtt_ms);
        let spec = queue::Cake { bandwidth: Rate::from_bps(bps), rtt, ..spec() };
        let tin = &Cake::new(&spec, &context()).tins[0];
        [tin.parameters.target / 1000, tin.parameters.interval / 1000, tin.flow_quantum() as i64]
    };
    assert_eq!(parameters(10_000_000, 100), [5000, 100_000, 305]);
    assert_eq!(parameters(1_000_000, 100), [18_168, 113_168, 300]);
    assert_eq!(parameters(100_000_000, 100), [5000, 100_000, 1514]);
    assert_eq!(parameters(100_000, 30), [181_680, 363_360, 300]);
    assert_eq!(parameters(0, 37), [1850, 37_000, 1514]);
}
