//! Endpoint of a TCP connection with data in one direction: sender and receiver.

use crate::arrive::FlowSpec;
use crate::endpoint::build::{Setup, TrafficEndpoint};
use crate::endpoint::tcp::receiver::Receiver;
use crate::endpoint::tcp::sender::{Phase, Sender};
use crate::endpoint::{
    Arrival, Deadline, Endpoint, Io, Life, Outbox, Report, Run, Timer, Touched, FLOW_TIMERS,
};
use crate::events::Source;
use crate::flow::FlowState;
use dumbbell_cc::CaState;
use dumbbell_model::scenario::{self, Flow};
use dumbbell_model::tables::ns;
use dumbbell_model::tables::{Float, FlowRow, Int, SampleRow, TransferRow};
use dumbbell_model::writer::Writer;
use dumbbell_model::Time;
use dumbbell_packet::Body;

/// Timer at which the application starts or stops. It precedes the timers that this sets.
pub(crate) const BEGIN_STOP: usize = 0;
/// Timers of sender and receiver.
pub(in crate::endpoint) const SENDER: usize = 1;
pub(in crate::endpoint) const RECEIVER: usize = 2;

/// Sender and receiver of a flow's data.
pub(crate) struct TcpEnds {
    pub(crate) flow: u32,
    pub(crate) sender: Sender,
    pub(crate) receiver: Receiver,
    windows: WindowSums,
}

/// Drains the output of a sender.
pub(in crate::endpoint) fn drain_sender(
    flow: u32,
    outward: bool,
    sender: &mut Sender,
    out: &mut Outbox<'_>,
) {
    for segment in sender.out.segments() {
        let asks_departure = sender.host_queue.is_below_tcp() && segment.payload_bytes > 0;
        out.push_segment(flow, outward, asks_departure, sender.ecn_field(segment), segment);
    }
    sender.out.clear();
}

#[inline(always)]
pub(in crate::endpoint) fn sender_deadline(sender: &mut Sender, set: &mut u64) -> Deadline {
    let at = sender.next_deadline();
    // Small queues wake TCP after all packets of this instant.
    let last = at == sender.now && at == sender.host_queue.wakes();
    Deadline { at, wheel: sender.wheel_turn(set), exact: false, last, soft: None }
}

#[inline(always)]
/// Deadline of a receiver at the flow's destination (`side` 0) or source (1).
pub(in crate::endpoint) fn receiver_deadline(
    receiver: &mut Receiver,
    side: usize,
    set: &mut u64,
) -> Deadline {
    let at = receiver.next_deadline();
    let last = receiver.runs_application(at);
    let soft = receiver.changed_soft_timer().map(|range| (range, side));
    Deadline { at, wheel: receiver.wheel_turn(set), exact: false, last, soft }
}

/// Sums over samples of a sender's window.
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
    pub(in crate::endpoint) fn new(
        setup: Setup<'_>,
        number: u32,
        flow: &Flow,
        tcp: &scenario::Tcp,
    ) -> Self {
        let [sending, receiving] = setup.options(flow);
        let rng = setup.rng(flow, "cc");
        let writer = Writer::new(tcp.source, setup.rng(flow, "source"));
        let fq = setup.nodes.is_paced(&flow.from);
        let (algorithm, cc) = setup.congestion_control(flow, tcp, &sending);
        let mut sender = Sender::new(algorithm, cc, &sending, writer, fq, rng);
        let below_tcp = sending.queue_at_interface && setup.nodes.is_serial(&flow.from);
        sender.host_queue.set_below_tcp(below_tcp);
        sender.offers = setup.offers(flow)[0];
        sender.set_socket_options(tcp);
        let mut receiver = Receiver::new(&receiving, tcp.sink, tcp.congestion_control);
        receiver.advertise(setup.mtus(flow)[1]);
        Self { flow: number, sender, receiver, windows: WindowSums::default() }
    }

    fn spec<'a>(&self, run: &Run<'a>) -> (FlowSpec<'a>, &'a FlowState) {
        (run.spec(self.flow), &run.flows[self.flow as usize])
    }

    /// Drains the output of the sender.
    pub(in crate::endpoint) fn drain_sender(&mut self, out: &mut Outbox<'_>) {
        drain_sender(self.flow, true, &mut self.sender, out);
    }

    /// Drains the output of the receiver.
    pub(in crate::endpoint) fn drain_receiver(&mut self, out: &mut Outbox<'_>) {
        for segment in self.receiver.out.segments() {
            let ecn_field = self.receiver.ecn.field(segment);
            out.push_segment(self.flow, false, false, ecn_field, segment);
        }
        self.receiver.out.clear();
    }

    /// Payload bytes that arrived in order.
    pub(in crate::endpoint) fn delivered_bytes(&self) -> u64 {
        let fin = u64::from(self.sender.fin && self.receiver.rcv_nxt > self.sender.write_seq);
        self.receiver.rcv_nxt - fin
    }

    /// Adds a sample of the sender's window to the flow's means. Returns false if no further sample
    /// will follow.
    pub(in crate::endpoint) fn sample_window(&mut self) -> bool {
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

    /// Fills the sender's columns of a sample.
    pub(in crate::endpoint) fn sample(&self, row: &mut SampleRow) {
        let sender = &self.sender;
        let paced = sender.window.pacing && sender.window.pacing_rate != u64::MAX;
        let minimum = sender.rtt.min_us();
        let measured = sender.rtt.srtt_us8 > 0;
        let rate_bps = sender.rate.delivery_bps(sender.mss);
        row.delivered_bytes = self.delivered_bytes().into();
        row.state = state_name(sender.congestion.state).to_owned();
        row.cwnd_packets = sender.window.cwnd.into();
        row.ssthresh_packets = sender.window.ssthresh.into();
        row.in_flight_packets = sender.in_flight().into();
        row.sacked_packets = sender.scoreboard.sacked_out.into();
        row.lost_packets = sender.scoreboard.lost_out.into();
        row.reordering_packets = sender.scoreboard.reordering.into();
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
        row.spurious_packets = sender.scoreboard.dsack_dups.into();
        row.delivered_ce_packets = sender.ecn.delivered_ce.into();
    }

    /// Fills the flow's totals.
    pub(in crate::endpoint) fn totals(&self, run: &Run<'_>, row: &mut FlowRow) {
        let (spec, flow) = self.spec(run);
        if let Some(traffic) = spec.tcp {
            row.congestion_control = traffic.congestion_control.entry().name.to_owned();
        }
        row.delivered_bytes = self.delivered_bytes().into();
        let sender = &self.sender;
        let counters = &sender.counters;
        row.established_ns = sender.established_at.map(ns).into();
        row.last_delivery_ns = self.receiver.last_delivery.map(ns).into();
        row.end_ns = match sender.phase {
            Phase::Finished(at) | Phase::GivenUp(at) => ns(at),
            Phase::Closed | Phase::SynSent { .. } | Phase::Established => ns(run.now),
        };
        row.data_packets = counters.data_packets.into();
        row.retransmitted_packets = counters.retransmitted.into();
        row.fast_retransmitted_packets = counters.fast.into();
        row.timeout_retransmitted_packets = counters.timeout.into();
        row.probe_retransmitted_packets = counters.probe.into();
        // Linux may merge several segments into one retransmission. Each late original is then a
        // duplicate, while only one retransmission was spurious.
        let spurious = self.receiver.duplicate_packets - flow.copies;
        row.spurious_retransmitted_packets = spurious.min(counters.retransmitted).into();
        row.paws_rejected_packets = self.receiver.paws_rejected_packets.into();
        row.timeouts = counters.timeouts.into();
        row.recoveries = counters.recoveries.into();
        row.undos = counters.undos.into();
        row.reordering_packets = sender.scoreboard.reordering.into();
        row.rtt_min_ns = sender.rtt.least_us.map(|us| us * 1000).into();
        let sums = &self.windows;
        row.cwnd_max_packets = (sums.samples > 0).then_some(sums.cwnd_max).into();
        row.cwnd_mean_packets = Float::mean(sums.cwnd as f64, sums.samples);
        row.in_flight_mean_packets = Float::mean(sums.in_flight as f64, sums.samples);
        row.srtt_mean_ns = Float::mean(sums.srtt_us8 as f64 / 8.0 * 1000.0, sums.samples);
    }

    /// Row of the table `transfers`, if all data was acknowledged and the connection closed.
    fn transfer(&self, run: &Run<'_>) -> Option<TransferRow> {
        let Phase::Finished(_) = self.sender.phase else { return None };
        let (spec, flow) = self.spec(run);
        Some(TransferRow {
            flow: spec.name.into_owned(),
            group: spec.group.to_owned(),
            session: String::new(),
            object: String::new(),
            start_ns: ns(flow.start),
            request_ns: Int::UNKNOWN,
            first_byte_ns: Int::UNKNOWN,
            end_ns: self.receiver.last_delivery.map(ns).into(),
            transfer_bytes: self.delivered_bytes().into(),
        })
    }
}

/// Endpoint of a TCP flow with its own connection.
pub(crate) struct TcpEndpoint {
    ends: TcpEnds,
    life: Life,
    /// Timers of the sides that have acted.
    touched: u8,
    begins: bool,
    /// True if an application that waits for space may write.
    writes: bool,
}

impl TrafficEndpoint for scenario::Tcp {
    type Ends = TcpEndpoint;

    fn open(&self, setup: Setup<'_>, number: u32, flow: &Flow) -> TcpEndpoint {
        TcpEndpoint::new(setup, number, flow, self)
    }
}

impl TcpEndpoint {
    fn new(setup: Setup<'_>, number: u32, flow: &Flow, tcp: &scenario::Tcp) -> Self {
        let (ends, life) = (TcpEnds::new(setup, number, flow, tcp), setup.life(flow));
        Self { ends, life, touched: 0, begins: false, writes: false }
    }
}

impl Endpoint for TcpEndpoint {
    fn on_packet(&mut self, now: Time, arrival: &Arrival<'_>) -> bool {
        let Body::Tcp(segment) = arrival.body else { return false };
        let TcpEnds { sender, receiver, .. } = &mut self.ends;
        if arrival.outward {
            let before = receiver.duplicate_packets;
            receiver.on_segment(now, segment, arrival.ecn_field);
            self.touched = 1 << RECEIVER;
            return receiver.duplicate_packets > before;
        }
        sender.count_arrival(arrival.ecn_field, segment);
        sender.on_segment(now, segment);
        self.writes = true;
        self.touched = 1 << SENDER;
        false
    }

    fn on_timer(&mut self, now: Time, timer: Timer) {
        let TcpEnds { sender, receiver, .. } = &mut self.ends;
        match timer {
            Timer::Flow { kind: SENDER, .. } => {
                sender.on_timeout(now);
                self.writes = true;
                self.touched = 1 << SENDER;
            }
            Timer::Flow { kind: RECEIVER, .. } => {
                receiver.on_timeout(now);
                self.touched = 1 << RECEIVER;
            }
            Timer::Soft { .. } => {
                receiver.compressed_ack_kick(now);
                self.touched = 1 << RECEIVER;
            }
            Timer::Flow { .. } | Timer::Own => {
                self.begins = self.life.turn();
                if self.begins {
                    sender.start(now);
                } else {
                    sender.stop(now);
                }
                self.touched = 1 << BEGIN_STOP | 1 << SENDER | 1 << RECEIVER;
            }
        }
    }

    #[inline]
    fn poll_transmit(&mut self, _now: Time, out: &mut Outbox<'_>) -> Option<Touched> {
        let timers = core::mem::take(&mut self.touched);
        if timers == 0 {
            return None;
        }
        if timers & 1 << SENDER != 0 {
            self.ends.drain_sender(out);
        }
        if timers & 1 << RECEIVER != 0 {
            self.ends.drain_receiver(out);
        }
        let begins = core::mem::take(&mut self.begins);
        Some(Touched { flow: self.ends.flow, timers, begins, ..Touched::default() })
    }

    /// As [`Endpoint::settle`], for the only flow.
    fn settle(&mut self, now: Time, io: &mut Io<'_>) {
        if core::mem::take(&mut self.writes) {
            self.ends.sender.wake_source();
        }
        let Some(touched) = self.poll_transmit(now, &mut io.out) else { return };
        if touched.begins {
            io.begun.push(touched.flow);
        }
        let first = (io.flow_base + touched.flow as usize * FLOW_TIMERS) as Source;
        if touched.timers & 1 << BEGIN_STOP != 0 {
            io.set(first + BEGIN_STOP as Source, Deadline::at(self.life.next()));
        }
        if touched.timers & 1 << SENDER != 0 {
            let deadline = sender_deadline(&mut self.ends.sender, io.timers_set);
            io.set(first + SENDER as Source, deadline);
            if matches!(self.ends.sender.phase, Phase::Finished(_) | Phase::GivenUp(_)) {
                io.over.push(touched.flow);
            }
        }
        if touched.timers & 1 << RECEIVER != 0 {
            let deadline = receiver_deadline(&mut self.ends.receiver, 0, io.timers_set);
            io.set(first + RECEIVER as Source, deadline);
        }
    }

    fn next_deadline(&mut self, timer: Timer, set: &mut u64) -> Deadline {
        match timer {
            Timer::Flow { kind: SENDER, .. } => sender_deadline(&mut self.ends.sender, set),
            Timer::Flow { kind: RECEIVER, .. } => {
                receiver_deadline(&mut self.ends.receiver, 0, set)
            }
            Timer::Flow { kind: BEGIN_STOP, .. } => Deadline::at(self.life.next()),
            Timer::Flow { .. } | Timer::Soft { .. } | Timer::Own => Deadline::at(None),
        }
    }

    fn report(&self, run: &Run<'_>, report: Report<'_>) {
        match report {
            Report::Sample { row, .. } => self.ends.sample(row),
            Report::Flow { row, .. } => {
                row.kind = "tcp".to_owned();
                self.ends.totals(run, row);
            }
            Report::Transfers { rows } => rows.extend(self.ends.transfer(run)),
            _ => {}
        }
    }

    fn on_queued(&mut self, _lane: u32, _outward: bool, leaves: Option<Time>) -> Option<usize> {
        self.ends.sender.host_queued(leaves);
        Some(SENDER)
    }

    fn sample_window(&mut self, _lane: u32) -> bool {
        self.ends.sample_window()
    }
}
