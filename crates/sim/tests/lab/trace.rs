//! What a flow's sender put on its link and which ACKs came back, segment by segment.

use super::{one_flow, scripted, serial, Run};
use dumbbell_model::scenario::{Algorithm, Pipe, Reordering, Scenario, Source, Stretch};
use dumbbell_model::{Rate, Span, TcpOptions};

/// A full frame at 100 Mbit/s, nanoseconds.
pub(crate) const FULL_NS: i64 = 1514 * 80;
/// When the first full segment to be sent at 100 Mbit/s over 10 ms is acknowledged if it is not
/// lost: a SYN of 74 bytes, 20 ms, an ACK of 66 bytes on the wire first, the segment, 20 ms.
pub(crate) const FIRST_ACK_NS: i64 = 40_000_000 + (74 + 66) * 80 + FULL_NS;

/// A data segment that left: when, and which of the stream (from 1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sent {
    pub(crate) at_ns: i64,
    pub(crate) segment: i64,
    /// It was sent before.
    pub(crate) again: bool,
}

/// An ACK that came back: when, and how many segments it acknowledges in all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Acked {
    pub(crate) at_ns: i64,
    pub(crate) segments: i64,
}

/// The scenario with every packet kept.
pub(crate) fn kept(mut scenario: Scenario) -> Scenario {
    let to = scenario.duration;
    scenario.sampling.packets = Some(Stretch { from: Span::ZERO, to });
    scenario
}

/// One flow over 100 Mbit/s and 10 ms there, 10 ms back; these data packets are lost, numbered as
/// they leave, retransmissions counted. One segment per packet, an ACK for each segment; without
/// RACK, tail loss probes and F-RTO. Segments are lost at the entrance of the link: they take no
/// time on it.
pub(crate) fn wired(
    algorithm: Algorithm,
    source: Source,
    lost: impl IntoIterator<Item = u64>,
    change: impl Fn(&mut TcpOptions),
) -> Scenario {
    let pipe = serial(Rate::from_bps(100_000_000), Span::from_ms(10), 1000);
    over(algorithm, source, scripted(pipe, "f", lost), change)
}

/// The same over another pipe.
pub(crate) fn over(
    algorithm: Algorithm,
    source: Source,
    pipe: Pipe,
    change: impl Fn(&mut TcpOptions),
) -> Scenario {
    let mut scenario = one_flow(1000, algorithm, source, pipe);
    scenario.sampling.interval = Span::from_us(20);
    super::set_options(&mut scenario, |o| {
        classic(o);
        change(o);
    });
    kept(scenario)
}

/// Loss recovery by RFC 6675 alone, one segment per packet, one ACK per segment.
pub(crate) fn classic(o: &mut TcpOptions) {
    o.gso = false;
    o.delayed_ack = dumbbell_model::DelayedAck::Never;
    (o.tcp_recovery, o.tcp_early_retrans, o.tcp_frto) = (0, 0, 0);
    o.tcp_comp_sack_nr = 0;
}

impl Run {
    /// Rows of the flow's packets in one direction: time, sequence number, payload, ACK, flags.
    fn packets(&self, direction: &str) -> Vec<(i64, i64, i64, i64, String)> {
        let directions = self.texts("packets", "direction");
        let rows = (0..directions.len()).filter(|&row| directions[row] == direction);
        let int = |column: &str, row: usize| self.ints("packets", column)[row];
        rows.map(|row| {
            let flags = self.texts("packets", "tcp_flags")[row].clone();
            (
                int("time_ns", row),
                int("seq_bytes", row),
                int("payload_bytes", row),
                int("ack_bytes", row),
                flags,
            )
        })
        .collect()
    }

    /// When SYNs left.
    pub(crate) fn syns(&self) -> Vec<i64> {
        let out = self.packets("out").into_iter();
        out.filter(|packet| packet.4.contains("syn")).map(|packet| packet.0).collect()
    }

    /// Payload of the first data packet: a full segment, with timestamps or without.
    fn segment_bytes(&self) -> i64 {
        self.packets("out").iter().map(|packet| packet.2).find(|bytes| *bytes > 0).unwrap_or(1)
    }

    /// Data segments in the order in which they left.
    pub(crate) fn sent(&self) -> Vec<Sent> {
        let (mut next, bytes) = (1, self.segment_bytes());
        let out = self.packets("out").into_iter().filter(|packet| packet.2 > 0);
        out.map(|(at_ns, seq, ..)| {
            let segment = seq / bytes + 1;
            let again = segment < next;
            next = next.max(segment + 1);
            Sent { at_ns, segment, again }
        })
        .collect()
    }

    /// Times and segments of the retransmissions.
    pub(crate) fn resent(&self) -> Vec<(i64, i64)> {
        let again = self.sent().into_iter().filter(|sent| sent.again);
        again.map(|sent| (sent.at_ns, sent.segment)).collect()
    }

    /// ACKs of data, in the order in which they came; the FIN of the other side is none.
    pub(crate) fn acked(&self) -> Vec<Acked> {
        let bytes = self.segment_bytes();
        let back = self.packets("back").into_iter();
        let acks = back.filter(|packet| !packet.4.contains("syn") && !packet.4.contains("fin"));
        acks.map(|(at_ns, _, _, ack, _)| Acked { at_ns, segments: ack / bytes }).collect()
    }

    /// State and window at every sample of the only flow: time, state, window.
    pub(crate) fn windows(&self) -> Vec<(i64, String, i64)> {
        let states = self.texts("samples", "state").iter().cloned();
        let windows = self.samples("f", "cwnd_packets").into_iter();
        windows.zip(states).map(|((at, window), state)| (at, state, window)).collect()
    }

    /// The window in a sample some microseconds after an event: 20 µs apart, so before anything
    /// else happens on a link of 100 Mbit/s.
    #[track_caller]
    pub(crate) fn window_after(&self, at_ns: i64) -> i64 {
        let found = self.windows().into_iter().find(|sample| sample.0 > at_ns);
        found.unwrap_or_else(|| panic!("no sample after {at_ns}")).2
    }
}

/// Reordering that never strikes. A link with it does not keep its order where its delay falls.
pub(crate) fn may_reorder() -> Option<Reordering> {
    Some(Reordering { probability: 1e-12, extra_delay: Span::from_us(1) })
}
