//! Result tables: what was recorded over time, and the totals at the end.

use crate::flow::{Ends, FlowState, TcpEnds};
use crate::loss::DropReason;
use crate::multipath::Connection;
use crate::pipe::Pipe;
use crate::transport::sender::Phase;
use crate::world::World;
use dumbbell_cc::CaState;
use dumbbell_model::scenario::{Flow, Sampling, Scenario, Traffic, Udp};
use dumbbell_model::tables::{
    ConnectionRow, DropRow, FlowRow, HopRow, PacketRow, PipeRow, ProbeRow, QueueRow, SampleRow,
    Table, TransferRow,
};
use dumbbell_model::{Rate, Time};
use dumbbell_packet::{Body, Packet};

/// What is kept over time.
pub(crate) struct Recorder {
    sampling: Sampling,
    samples: Vec<SampleRow>,
    queues: Vec<QueueRow>,
    drops: Vec<DropRow>,
}

pub(crate) fn ns(at: Time) -> i64 {
    at.as_ns() as i64
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

impl Recorder {
    pub(crate) fn new(sampling: Sampling) -> Self {
        Self { sampling, samples: Vec::new(), queues: Vec::new(), drops: Vec::new() }
    }

    pub(crate) fn drop(&mut self, at: Time, pipe: &str, reason: &str, packet: &Packet) {
        if !self.sampling.drops {
            return;
        }
        let seq = match packet.body {
            Body::Tcp(segment) => segment.seq,
            Body::Udp { .. } | Body::Ping { .. } | Body::Arp { .. } => packet.number,
        };
        self.drops.push(DropRow {
            time_ns: ns(at),
            pipe: pipe.to_owned(),
            reason: reason.to_owned(),
            flow: packet.flow.to_string(), // Named at the end.
            seq_bytes: seq as i64,
        });
    }

    pub(crate) fn sample(
        &mut self,
        at: Time,
        scenario: &Scenario,
        flows: &[FlowState],
        connections: &[Connection],
        pipes: &mut [Pipe],
    ) {
        let (specs, names) = (&scenario.flows, &scenario.connections);
        if self.sampling.samples {
            for (spec, flow) in specs.iter().zip(flows) {
                if flow.start <= at {
                    self.samples.push(sample_row(at, spec, flow));
                }
            }
            self.samples.extend(
                connections
                    .iter()
                    .zip(names)
                    .filter_map(|(connection, spec)| connection.sample(at, &spec.name, flows)),
            );
        }
        if self.sampling.queues {
            for pipe in pipes.iter_mut().filter(|pipe| pipe.has_queue()) {
                pipe.settle(at);
                self.queues.push(queue_row(at, pipe));
            }
        }
    }
}

fn sample_row(at: Time, spec: &Flow, flow: &FlowState) -> SampleRow {
    let base = SampleRow {
        time_ns: ns(at),
        flow: spec.name.clone(),
        delivered_bytes: flow.delivered_bytes() as i64,
        pacing_bps: -1,
        delivery_rate_bps: -1,
        app_limited: -1,
        spurious_packets: -1,
        delivered_ce_packets: -1,
        busy_ns: -1,
        rwnd_limited_ns: -1,
        sndbuf_limited_ns: -1,
        ..SampleRow::default()
    };
    let Ends::Tcp(tcp) = &flow.ends else { return base };
    let sender = &tcp.sender;
    let paced = sender.window.pacing && sender.window.pacing_rate != u64::MAX;
    let minimum = sender.rtt.min_us();
    SampleRow {
        state: state_name(sender.state).to_owned(),
        cwnd_packets: i64::from(sender.window.cwnd),
        ssthresh_packets: i64::from(sender.window.ssthresh),
        in_flight_packets: i64::from(sender.in_flight()),
        sacked_packets: i64::from(sender.sacked_out),
        lost_packets: i64::from(sender.lost_out),
        reordering_packets: i64::from(sender.reordering),
        srtt_ns: i64::from(sender.rtt.srtt_us8 >> 3) * 1000,
        rttvar_ns: i64::from(sender.rtt.mdev_us4 >> 2) * 1000,
        rtt_min_ns: if minimum == u32::MAX { -1 } else { i64::from(minimum) * 1000 },
        rto_ns: (sender.tick.to_us(sender.rto_jiffies()) * 1000) as i64,
        pacing_bps: if paced { (sender.window.pacing_rate * 8) as i64 } else { -1 },
        rwnd_bytes: sender.snd_wnd as i64,
        unsent_bytes: sender.write_seq.saturating_sub(sender.snd_nxt) as i64,
        acked_bytes: sender.snd_una.min(sender.write_seq) as i64,
        retransmitted_packets: sender.counters.retransmitted as i64,
        delivered_packets: sender.delivered as i64,
        delivery_rate_bps: sender.rate.delivery_bps(sender.mss),
        app_limited: i64::from(sender.rate.last_limited),
        spurious_packets: sender.dsack_dups as i64,
        delivered_ce_packets: sender.ecn.delivered_ce as i64,
        ..base
    }
}

fn queue_row(at: Time, pipe: &mut Pipe) -> QueueRow {
    let (packets, bytes) = pipe.queued();
    let inside = pipe.inside_queue(at);
    let stats = &mut pipe.stats;
    let left = stats.sojourn_packets - stats.sampled_packets;
    let waited = stats.sojourn_ps - stats.sampled_ps;
    stats.sampled_packets = stats.sojourn_packets;
    stats.sampled_ps = stats.sojourn_ps;
    let mut recent_ps = stats.recent_ps.take().unwrap_or_default();
    recent_ps.sort_unstable();
    let quantile_ns = |share: f64| {
        // The least value that so many are not above (nearest rank).
        let rank = (share * recent_ps.len() as f64).ceil() as usize;
        recent_ps.get(rank.saturating_sub(1)).map_or(-1, |ps| (ps / 1000) as i64)
    };
    let (sojourn_min_ns, sojourn_p99_ns) = (quantile_ns(0.0), quantile_ns(0.99));
    recent_ps.clear();
    stats.recent_ps = Some(recent_ps);
    let count = |flows: Option<usize>| flows.map_or(-1, |flows| flows as i64);
    QueueRow {
        time_ns: ns(at),
        pipe: pipe.name.clone(),
        queued_packets: packets as i64,
        queued_bytes: bytes as i64,
        sojourn_mean_ns: mean(waited as f64 / 1000.0, left),
        sojourn_min_ns,
        sojourn_p99_ns,
        qdisc: pipe.queue.name().to_owned(),
        dropping: inside.codel.map_or(-1, |codel| i64::from(codel.drop_next.is_some())),
        drop_count: inside.codel.map_or(-1, |codel| i64::from(codel.count)),
        drop_next_ns: inside.codel.and_then(|codel| codel.drop_next).map_or(-1, ns),
        drop_probability: inside.probability.unwrap_or(f64::NAN),
        average_bytes: inside.average_bytes.unwrap_or(f64::NAN),
        new_flows: count(inside.new_flows),
        old_flows: count(inside.old_flows),
        dropped_packets: pipe.stats.dropped_total() as i64,
        dropped_overflow_packets: pipe.stats.dropped[DropReason::Overflow as usize] as i64,
        dropped_aqm_packets: pipe.stats.dropped[DropReason::Aqm as usize] as i64,
        marked_packets: pipe.stats.marked as i64,
        sent_bytes: pipe.left_bytes(at) as i64,
    }
}

/// NaN where nothing was counted.
fn mean(sum: f64, count: u64) -> f64 {
    if count == 0 {
        f64::NAN
    } else {
        sum / count as f64
    }
}

impl World<'_> {
    /// All tables, in the order of the digest.
    pub(crate) fn tables(&mut self) -> Vec<Table> {
        let mut flows: Vec<FlowRow> = self
            .scenario
            .flows
            .iter()
            .zip(&self.flows)
            .enumerate()
            .map(|(i, (spec, flow))| self.flow_row(i, spec, flow))
            .collect();
        self.add_connections(&mut flows);
        let seconds = self.end.as_ps() as f64;
        let links = self.scenario.links.iter().flat_map(|link| [&link.forward, &link.backward]);
        let pipes: Vec<PipeRow> = self
            .pipes
            .iter()
            .zip(links)
            .map(|(pipe, spec)| pipe_row(pipe, spec.rate(), seconds))
            .collect();
        let transfers: Vec<TransferRow> = self
            .scenario
            .flows
            .iter()
            .zip(&self.flows)
            .filter_map(|(spec, flow)| transfer_row(spec, flow))
            .chain(self.sessions.iter().flat_map(|session| session.visit.transfers()))
            .chain(self.connection_transfers())
            .collect();
        for drop in &mut self.recorder.drops {
            // A packet of no flow is ARP's.
            let flow = drop.flow.parse().ok().and_then(|i: usize| self.scenario.flows.get(i));
            drop.flow = flow.map_or_else(|| "arp".to_owned(), |flow| flow.name.clone());
        }
        vec![
            FlowRow::table(&flows),
            PipeRow::table(&pipes),
            TransferRow::table(&transfers),
            SampleRow::table(&self.recorder.samples),
            QueueRow::table(&self.recorder.queues),
            DropRow::table(&self.recorder.drops),
            PacketRow::table(&self.tap_packets.rows(self.scenario)),
            ProbeRow::table(&self.probes()),
            ConnectionRow::table(&self.connection_rows()),
            HopRow::table(&self.hop_rows()),
        ]
    }

    fn hop_rows(&self) -> Vec<HopRow> {
        let name = |pipe: usize| self.pipes[pipe].name.clone();
        self.hops.as_ref().map_or_else(Vec::new, |hops| hops.rows(self.scenario, name))
    }

    fn probes(&self) -> Vec<ProbeRow> {
        if !self.scenario.sampling.probes {
            return Vec::new();
        }
        let mut rows = Vec::new();
        for (spec, flow) in self.scenario.flows.iter().zip(&self.flows) {
            let (kind, probes) = match (&flow.ends, &spec.traffic) {
                (Ends::Udp { source, .. }, _) => ("one_way", source.probes.as_deref()),
                (Ends::Ping(ping), Traffic::Ping(of)) => {
                    (of.protocol.name(), Some(ping.probes.as_slice()))
                }
                _ => continue,
            };
            rows.extend(probes.into_iter().flatten().enumerate().map(|(number, probe)| ProbeRow {
                time_ns: ns(probe.sent),
                flow: spec.name.clone(),
                kind: kind.to_owned(),
                probe_number: number as i64,
                delay_ns: probe.delay.map_or(-1, |delay| delay.as_ns() as i64),
            }));
        }
        rows
    }

    fn flow_row(&self, index: usize, spec: &Flow, flow: &FlowState) -> FlowRow {
        let mut row = FlowRow {
            flow: spec.name.clone(),
            group: spec.group.clone(),
            from_host: spec.from.clone(),
            to_host: spec.to.clone(),
            start_ns: if flow.start == Time::NEVER { -1 } else { ns(flow.start) },
            established_ns: ns(flow.start),
            last_delivery_ns: -1,
            end_ns: ns(flow.stop.unwrap_or(self.end)),
            delivered_bytes: flow.delivered_bytes() as i64,
            sent_packets: flow.sent[0] as i64,
            sent_bytes: flow.sent_bytes as i64,
            received_packets: flow.received_packets as i64,
            received_bytes: flow.received_bytes as i64,
            dropped_packets: flow.dropped as i64,
            reordered_packets: flow.reorder.reordered as i64,
            reordering_extent_mean_packets: mean(
                flow.reorder.extent_sum as f64,
                flow.reorder.reordered,
            ),
            reordering_extent_max_packets: flow.reorder.extent_max as i64,
            cwnd_mean_packets: f64::NAN,
            in_flight_mean_packets: f64::NAN,
            srtt_mean_ns: f64::NAN,
            rtt_min_ns: -1,
            rtt_mean_ns: f64::NAN,
            ..FlowRow::default()
        };
        match (&flow.ends, &spec.traffic) {
            (Ends::Tcp(tcp), Traffic::Tcp(traffic)) => {
                row.kind = "tcp".to_owned();
                row.congestion_control = traffic.congestion_control.entry().name.to_owned();
                fill_tcp(&mut row, tcp, flow, self.end);
                if let Some(of) = tcp.subflow {
                    row.kind = "subflow".to_owned();
                    row.connection = self.scenario.connections[of.connection as usize].name.clone();
                }
            }
            (Ends::Udp { sink, .. }, traffic) => {
                row.kind = "udp".to_owned();
                if let Traffic::Udp(Udp { codec: Some(codec), .. }) = traffic {
                    row.codec = codec.name().to_owned();
                }
                row.data_packets = flow.sent[0] as i64;
                row.last_delivery_ns = sink.last_delivery.map_or(-1, ns);
            }
            (Ends::Ping(ping), _) => {
                row.kind = "ping".to_owned();
                row.data_packets = ping.sent as i64;
                row.last_delivery_ns = ping.last_delivery.map_or(-1, ns);
                row.rtt_mean_ns = mean(ping.rtt_ps as f64 / 1000.0, ping.answered);
                if ping.answered > 0 {
                    row.rtt_min_ns = (ping.rtt_min_ps / 1000) as i64;
                }
            }
            (Ends::Tcp(_), _) => {}
        }
        self.taps.fill(&mut row, index, &self.scenario.taps);
        row
    }
}

fn fill_tcp(row: &mut FlowRow, tcp: &TcpEnds, flow: &FlowState, end: Time) {
    let sender = &tcp.sender;
    let counters = &sender.counters;
    row.established_ns = sender.established_at.map_or(-1, ns);
    row.last_delivery_ns = tcp.receiver.last_delivery.map_or(-1, ns);
    row.end_ns = match sender.phase {
        Phase::Finished(at) | Phase::GivenUp(at) => ns(at),
        Phase::Closed | Phase::SynSent { .. } | Phase::Established => ns(end),
    };
    row.data_packets = counters.data_packets as i64;
    row.retransmitted_packets = counters.retransmitted as i64;
    row.fast_retransmitted_packets = counters.fast as i64;
    row.timeout_retransmitted_packets = counters.timeout as i64;
    row.probe_retransmitted_packets = counters.probe as i64;
    // Linux may put several segments into one when it sends them again; each of them that comes late
    // is a duplicate, and one retransmission was needless.
    let needless = tcp.receiver.duplicate_packets - flow.copies;
    row.spurious_retransmitted_packets = needless.min(counters.retransmitted) as i64;
    row.paws_rejected_packets = tcp.receiver.paws_rejected_packets as i64;
    row.timeouts = counters.timeouts as i64;
    row.recoveries = counters.recoveries as i64;
    row.undos = counters.undos as i64;
    row.reordering_packets = i64::from(sender.reordering);
    row.rtt_min_ns = sender.rtt.least_us.map_or(-1, |us| (us * 1000) as i64);
    let sums = &flow.windows;
    row.cwnd_max_packets = sums.cwnd_max as i64;
    row.cwnd_mean_packets = mean(sums.cwnd as f64, sums.samples);
    row.in_flight_mean_packets = mean(sums.in_flight as f64, sums.samples);
    row.srtt_mean_ns = mean(sums.srtt_us8 as f64 / 8.0 * 1000.0, sums.samples);
}

fn pipe_row(pipe: &Pipe, rate: Option<Rate>, duration_ps: f64) -> PipeRow {
    let stats = &pipe.stats;
    let dropped = |reason: DropReason| stats.dropped[reason as usize] as i64;
    PipeRow {
        pipe: pipe.name.clone(),
        arrived_packets: stats.arrived_packets as i64,
        arrived_bytes: stats.arrived_bytes as i64,
        left_packets: stats.left_packets as i64,
        left_bytes: stats.left_bytes as i64,
        dropped_overflow_packets: dropped(DropReason::Overflow),
        dropped_random_packets: dropped(DropReason::Random),
        dropped_scripted_packets: dropped(DropReason::Scripted),
        dropped_policed_packets: dropped(DropReason::Policed),
        dropped_corrupted_packets: dropped(DropReason::Corrupted),
        dropped_aqm_packets: dropped(DropReason::Aqm),
        marked_packets: stats.marked as i64,
        rate_bps: rate.map_or(-1, |rate| rate.as_bps() as i64),
        remaining_packets: pipe.inside() as i64,
        queue_max_packets: stats.queue_max as i64,
        queue_mean_packets: stats.sojourn_ps as f64 / duration_ps,
        sojourn_mean_ns: mean(stats.sojourn_ps as f64 / 1000.0, stats.sojourn_packets),
        sojourn_max_ns: (stats.sojourn_max_ps / 1000) as i64,
    }
}

fn transfer_row(spec: &Flow, flow: &FlowState) -> Option<TransferRow> {
    let Ends::Tcp(tcp) = &flow.ends else { return None };
    if tcp.requests.is_some() || tcp.subflow.is_some() {
        return None; // Its objects are transfers, or its connection is.
    }
    let Phase::Finished(_) = tcp.sender.phase else { return None };
    Some(TransferRow {
        flow: spec.name.clone(),
        group: spec.group.clone(),
        session: String::new(),
        object: String::new(),
        start_ns: ns(flow.start),
        request_ns: -1,
        first_byte_ns: -1,
        end_ns: tcp.receiver.last_delivery.map_or(-1, ns),
        transfer_bytes: flow.delivered_bytes() as i64,
    })
}
