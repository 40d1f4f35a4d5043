//! A TCP connection: who sends the flow's data, who gets it.

use crate::flow::FlowState;
use crate::record::ns;
use crate::transport::endpoint::End;
use crate::transport::receiver::Receiver;
use crate::transport::sender::{Phase, Sender};
use dumbbell_cc::CaState;
use dumbbell_model::scenario::{Flow, Traffic};
use dumbbell_model::tables::{Float, FlowRow, Int, SampleRow, TransferRow};
use dumbbell_model::Time;

/// The ends of a TCP connection: who sends the flow's data, who gets it.
pub(crate) struct TcpEnds {
    pub(crate) sender: Sender,
    pub(crate) receiver: Receiver,
    /// The halves of the other direction, where data goes both ways.
    pub(crate) requests: Option<Box<Requests>>,
    /// Where this is a subflow of Multipath TCP.
    pub(crate) subflow: Option<SubflowOf>,
    pub(crate) windows: WindowSums,
}

/// Whose subflow, and the how-manieth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SubflowOf {
    pub(crate) connection: u32,
    pub(crate) number: u32,
}

/// The direction of a session's requests: from where the flow goes to.
pub(crate) struct Requests {
    pub(crate) sender: Sender,
    pub(crate) receiver: Receiver,
    /// Number of the session, and of the connection in it.
    pub(crate) session: usize,
    pub(crate) connection: usize,
    /// The client was told that it is connected.
    pub(crate) connected: bool,
}

impl TcpEnds {
    /// The end that answers requests: where the flow comes from.
    pub(crate) fn server(&mut self) -> Option<End<'_>> {
        let requests = self.requests.as_mut()?;
        Some(End { sender: &mut self.sender, receiver: &mut requests.receiver })
    }

    /// The end that makes them.
    pub(crate) fn client(&mut self) -> Option<End<'_>> {
        let requests = self.requests.as_mut()?;
        Some(End { sender: &mut requests.sender, receiver: &mut self.receiver })
    }
}

/// Sums over samples of a sender's state.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct WindowSums {
    pub(crate) samples: u64,
    pub(crate) cwnd: u64,
    pub(crate) cwnd_max: u64,
    pub(crate) in_flight: u64,
    pub(crate) srtt_us8: u64,
}

fn state_name(state: CaState) -> &'static str {
    match state {
        CaState::Open => "Open",
        CaState::Disorder => "Disorder",
        CaState::Cwr => "CWR",
        CaState::Recovery => "Recovery",
        CaState::Loss => "Loss",
    }
}

impl TcpEnds {
    /// Payload that arrived in order.
    pub(crate) fn delivered_bytes(&self) -> u64 {
        let fin = u64::from(self.sender.fin && self.receiver.rcv_nxt > self.sender.write_seq);
        self.receiver.rcv_nxt - fin
    }

    /// A sample of the sender's window for the flow's means. False if there will be no other.
    pub(crate) fn sample_window(&mut self) -> bool {
        let sender = &self.sender;
        if matches!(sender.phase, Phase::Finished(_) | Phase::GivenUp(_)) {
            return false;
        }
        if sender.established_at.is_some() && sender.is_open() {
            let sums = &mut self.windows;
            sums.samples += 1;
            sums.cwnd += u64::from(sender.window.cwnd);
            sums.cwnd_max = sums.cwnd_max.max(u64::from(sender.window.cwnd));
            sums.in_flight += u64::from(sender.in_flight());
            sums.srtt_us8 += u64::from(sender.rtt.srtt_us8);
        }
        true
    }

    /// The sender's state now.
    pub(crate) fn sample(&self, row: &mut SampleRow) {
        let sender = &self.sender;
        let paced = sender.window.pacing && sender.window.pacing_rate != u64::MAX;
        let minimum = sender.rtt.min_us();
        let measured = sender.rtt.srtt_us8 > 0;
        let rate_bps = sender.rate.delivery_bps(sender.mss);
        row.delivered_bytes = self.delivered_bytes().into();
        row.state = state_name(sender.state).to_owned();
        row.cwnd_packets = sender.window.cwnd.into();
        row.ssthresh_packets = sender.window.ssthresh.into();
        row.in_flight_packets = sender.in_flight().into();
        row.sacked_packets = sender.sacked_out.into();
        row.lost_packets = sender.lost_out.into();
        row.reordering_packets = sender.reordering.into();
        row.srtt_ns = measured.then(|| u64::from(sender.rtt.srtt_us8 >> 3) * 1000).into();
        row.rttvar_ns = measured.then(|| u64::from(sender.rtt.mdev_us4 >> 2) * 1000).into();
        row.rtt_min_ns = (minimum != u32::MAX).then(|| u64::from(minimum) * 1000).into();
        row.rto_ns = (sender.tick.to_us(sender.rto_jiffies()) * 1000).into();
        row.pacing_bps = paced.then(|| sender.window.pacing_rate * 8).into();
        row.rwnd_bytes = sender.snd_wnd.into();
        row.unsent_bytes = sender.write_seq.saturating_sub(sender.snd_nxt).into();
        row.acked_bytes = sender.snd_una.min(sender.write_seq).into();
        row.retransmitted_packets = sender.counters.retransmitted.into();
        row.delivered_packets = sender.delivered.into();
        row.delivery_rate_bps = rate_bps.into();
        row.app_limited = rate_bps.map(|_| sender.rate.last_limited).into();
        row.spurious_packets = sender.dsack_dups.into();
        row.delivered_ce_packets = sender.ecn.delivered_ce.into();
    }

    /// What the flow came to.
    pub(crate) fn totals(&self, spec: &Flow, flow: &FlowState, end: Time, row: &mut FlowRow) {
        row.kind = "tcp".to_owned();
        if let Traffic::Tcp(traffic) = &spec.traffic {
            row.congestion_control = traffic.congestion_control.entry().name.to_owned();
        }
        row.delivered_bytes = self.delivered_bytes().into();
        let sender = &self.sender;
        let counters = &sender.counters;
        row.established_ns = sender.established_at.map(ns).into();
        row.last_delivery_ns = self.receiver.last_delivery.map(ns).into();
        row.end_ns = match sender.phase {
            Phase::Finished(at) | Phase::GivenUp(at) => ns(at),
            Phase::Closed | Phase::SynSent { .. } | Phase::Established => ns(end),
        };
        row.data_packets = counters.data_packets.into();
        row.retransmitted_packets = counters.retransmitted.into();
        row.fast_retransmitted_packets = counters.fast.into();
        row.timeout_retransmitted_packets = counters.timeout.into();
        row.probe_retransmitted_packets = counters.probe.into();
        // Linux may put several segments into one when it sends them again; each of them that comes late
        // is a duplicate, and one retransmission was needless.
        let needless = self.receiver.duplicate_packets - flow.copies;
        row.spurious_retransmitted_packets = needless.min(counters.retransmitted).into();
        row.paws_rejected_packets = self.receiver.paws_rejected_packets.into();
        row.timeouts = counters.timeouts.into();
        row.recoveries = counters.recoveries.into();
        row.undos = counters.undos.into();
        row.reordering_packets = sender.reordering.into();
        row.rtt_min_ns = sender.rtt.least_us.map(|us| us * 1000).into();
        let sums = &self.windows;
        row.cwnd_max_packets = (sums.samples > 0).then_some(sums.cwnd_max).into();
        row.cwnd_mean_packets = Float::mean(sums.cwnd as f64, sums.samples);
        row.in_flight_mean_packets = Float::mean(sums.in_flight as f64, sums.samples);
        row.srtt_mean_ns = Float::mean(sums.srtt_us8 as f64 / 8.0 * 1000.0, sums.samples);
    }

    /// Everything was written, acknowledged and closed.
    pub(crate) fn transfer(&self, spec: &Flow, start: Time) -> Option<TransferRow> {
        let Phase::Finished(_) = self.sender.phase else { return None };
        Some(TransferRow {
            flow: spec.name.clone(),
            group: spec.group.clone(),
            session: String::new(),
            object: String::new(),
            start_ns: ns(start),
            request_ns: Int::UNKNOWN,
            first_byte_ns: Int::UNKNOWN,
            end_ns: self.receiver.last_delivery.map(ns).into(),
            transfer_bytes: self.delivered_bytes().into(),
        })
    }
}
