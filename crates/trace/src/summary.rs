//! A trace as result tables, in memory that does not grow with its length.

use crate::event::Event;
use crate::links::LinkCounts;
use crate::network::Network;
use crate::read::{Kept, Reading};
use crate::sequence::{Mark, Point};
use crate::streams::{StreamCounts, Streams};
use dumbbell_model::tables::{DropRow, FlowRow, PipeRow, QueueRow, SampleRow};

/// Drops that are kept as rows.
pub const DROPS_MAX: usize = 100_000;
/// Stretches of time of a series.
const STRETCHES_MAX: usize = 2000;
/// Rows of all series together.
const ROWS_MAX: usize = 200_000;
/// What stretches begin with: 10 ms.
const INTERVAL_NS: i64 = 10_000_000;

/// Counters of a link at a moment.
#[derive(Clone, Copy, Debug, Default)]
struct LinkMoment {
    queued_packets: usize,
    queued_bytes: u64,
    waited_ns: i64,
    waited: u64,
    dropped: [u64; 2],
    sent_bytes: u64,
}

/// Counters of a flow at a moment.
#[derive(Clone, Copy, Debug, Default)]
struct FlowMoment {
    delivered_bytes: u64,
    again_packets: u64,
}

/// All counters at a moment; links and flows that came later are missing.
#[derive(Clone, Debug)]
struct Moment {
    time_ns: i64,
    links: Vec<LinkMoment>,
    flows: Vec<FlowMoment>,
}

/// What is kept of a trace.
#[derive(Debug, Default)]
pub struct Summary {
    /// By link.
    pub links: Vec<LinkCounts>,
    /// By stream.
    pub streams: Streams,
    /// How often packets were dropped.
    pub dropped: u64,
    drops: Vec<(i64, u32, u32, &'static str, i64)>,
    moments: Vec<Moment>,
    rows: usize,
    interval_ns: i64,
    next_ns: Option<i64>,
}

impl Kept for Summary {
    fn event(&mut self, network: &Network, event: &Event) {
        match self.next_ns {
            Some(next) if event.time_ns > next => self.moments_until(network, event.time_ns),
            None => {
                self.interval_ns = INTERVAL_NS;
                self.next_ns = Some(event.time_ns / INTERVAL_NS * INTERVAL_NS + INTERVAL_NS);
            }
            Some(_) => {}
        }
        let number = event.link as usize;
        if number >= self.links.len() {
            self.links.resize_with(number + 1, LinkCounts::default);
        }
        let place = self.links[number].event(event);
        if let Some(place) = place {
            self.dropped += 1;
            if self.drops.len() < DROPS_MAX {
                let row = (event.time_ns, event.link, event.stream, place.name(), event.seq);
                self.drops.push(row);
            }
        }
        self.streams.event(network, event);
    }
}

impl Summary {
    #[cold]
    fn moments_until(&mut self, network: &Network, now_ns: i64) {
        while let Some(next) = self.next_ns.filter(|next| *next < now_ns) {
            self.moment(network, next);
            // Nothing happens in between: a long silence is not worth a million rows.
            let silent = (now_ns - next) / self.interval_ns;
            if silent > STRETCHES_MAX as i64 {
                let until = next + (silent - 1) * self.interval_ns;
                self.moment(network, until);
                self.next_ns = Some(until + self.interval_ns);
            } else {
                self.next_ns = Some(next + self.interval_ns);
            }
            if self.moments.len() > STRETCHES_MAX || self.rows > ROWS_MAX {
                self.thin();
            }
        }
    }

    fn moment(&mut self, network: &Network, time_ns: i64) {
        self.streams.settle(time_ns);
        let links = self.links.iter().map(|link| {
            let (queued_packets, queued_bytes) = link.waiting();
            LinkMoment {
                queued_packets,
                queued_bytes,
                waited_ns: link.waited_ns,
                waited: link.waits.count,
                dropped: link.dropped,
                sent_bytes: link.sent_bytes,
            }
        });
        let flows = network.flows.iter().map(|&stream| {
            let counts = self.streams.counts.get(stream as usize);
            counts.map_or_else(FlowMoment::default, |counts| FlowMoment {
                delivered_bytes: counts.delivered_bytes,
                again_packets: counts.again_packets,
            })
        });
        let moment = Moment { time_ns, links: links.collect(), flows: flows.collect() };
        self.rows += moment.links.len() + moment.flows.len();
        self.moments.push(moment);
    }

    /// Stretches become twice as long: every second moment goes.
    fn thin(&mut self) {
        self.interval_ns *= 2;
        let interval_ns = self.interval_ns;
        self.moments.retain(|moment| moment.time_ns % interval_ns == 0);
        self.rows = self.moments.iter().map(|one| one.links.len() + one.flows.len()).sum();
        if let Some(next) = &mut self.next_ns {
            *next = next.div_euclid(interval_ns) * interval_ns + interval_ns;
        }
    }

    /// The trace is over.
    pub fn end(&mut self, reading: &Reading) {
        self.streams.end();
        if let Some(last) = self.next_ns {
            self.moment(&reading.network, last);
        }
    }

    /// Length of the stretches of time.
    pub fn interval_ns(&self) -> i64 {
        self.interval_ns
    }

    /// The table `flows`: what a trace can know.
    pub fn flows(&self, reading: &Reading) -> Vec<FlowRow> {
        let network = &reading.network;
        let unknown = StreamCounts::default();
        let rows = network.flows.iter().enumerate().map(|(number, &stream)| {
            let of = &network.streams[stream as usize];
            let counts = self.streams.counts.get(stream as usize).unwrap_or(&unknown);
            let node = |node: Option<u32>, end: &String| {
                node.map_or_else(|| end.clone(), |node| network.nodes[node as usize].clone())
            };
            let back = network.streams.iter().zip(&self.streams.counts);
            let back = back.filter(|(other, _)| other.flow == number as u32 && !other.outward);
            let is_tcp = matches!(of.kind.as_str(), "tcp" | "ack");
            FlowRow {
                flow: network.flow_name(number as u32),
                group: of.kind.clone(),
                kind: if is_tcp { "tcp" } else { "udp" }.to_owned(),
                from_host: node(counts.from, &of.ends[0]),
                to_host: node(counts.to, &of.ends[1]),
                start_ns: counts.times_ns.map_or(-1, |(first, _)| first),
                established_ns: -1,
                last_delivery_ns: counts.last_delivery_ns,
                end_ns: reading.times_ns.1,
                delivered_bytes: counts.delivered_bytes as i64,
                sent_packets: counts.sent_packets as i64,
                sent_bytes: counts.sent_bytes as i64,
                data_packets: counts.data_packets as i64,
                received_packets: counts.received_packets as i64,
                received_bytes: counts.received_bytes as i64,
                retransmitted_packets: counts.again_packets as i64,
                fast_retransmitted_packets: -1,
                timeout_retransmitted_packets: -1,
                probe_retransmitted_packets: -1,
                spurious_retransmitted_packets: -1,
                paws_rejected_packets: -1,
                timeouts: -1,
                recoveries: -1,
                undos: -1,
                dropped_packets: (counts.dropped_packets
                    + back.map(|(_, counts)| counts.dropped_packets).sum::<u64>())
                    as i64,
                reordering_packets: -1,
                reordered_packets: -1,
                reordering_extent_mean_packets: f64::NAN,
                reordering_extent_max_packets: -1,
                cwnd_max_packets: -1,
                cwnd_mean_packets: f64::NAN,
                in_flight_mean_packets: f64::NAN,
                srtt_mean_ns: f64::NAN,
                rtt_min_ns: -1,
                rtt_mean_ns: f64::NAN,
                tap_data_packets: -1,
                tap_retransmissions: -1,
                tap_rtt_samples: -1,
                tap_rtt_mean_ns: f64::NAN,
                tap_rtt_min_ns: -1,
                tap_rtt_max_ns: -1,
                tap_acks: -1,
                tap_acks_with_sack: -1,
                tap_sack_blocks: -1,
                ..FlowRow::default()
            }
        });
        rows.collect()
    }

    /// The table `pipes`. Why packets were dropped a trace does not say: those columns are unknown
    /// unless nothing was.
    pub fn pipes(&self, reading: &Reading) -> Vec<PipeRow> {
        let seconds_ns = (reading.times_ns.1 - reading.times_ns.0).max(1) as f64;
        let rows = self.links.iter().enumerate().map(|(number, link)| {
            let unknown = if link.dropped == [0, 0] { 0 } else { -1 };
            PipeRow {
                pipe: reading.network.pipe_name(number as u32),
                arrived_packets: link.arrived_packets as i64,
                arrived_bytes: link.arrived_bytes as i64,
                left_packets: link.left_packets as i64,
                left_bytes: link.left_bytes as i64,
                dropped_overflow_packets: unknown,
                dropped_random_packets: unknown,
                dropped_scripted_packets: unknown,
                dropped_policed_packets: unknown,
                dropped_corrupted_packets: unknown,
                dropped_aqm_packets: unknown,
                marked_packets: -1,
                rate_bps: link.rate_bps().map_or(-1, |rate| rate.round() as i64),
                remaining_packets: link.inside() as i64,
                queue_max_packets: link.queue_max() as i64,
                queue_mean_packets: link.waited_ns as f64 / seconds_ns,
                sojourn_mean_ns: link.waits.mean_ns(),
                sojourn_max_ns: link.waits.max_ns,
            }
        });
        rows.collect()
    }

    /// The table `queues`, a row per link and stretch of time.
    pub fn queues(&self, reading: &Reading) -> Vec<QueueRow> {
        let mut before: Vec<LinkMoment> = vec![LinkMoment::default(); self.links.len()];
        let mut rows = Vec::new();
        for moment in &self.moments {
            for (number, link) in moment.links.iter().enumerate() {
                let last = std::mem::replace(&mut before[number], *link);
                let left = link.waited - last.waited;
                let waited_ns = (link.waited_ns - last.waited_ns) as f64;
                rows.push(QueueRow {
                    time_ns: moment.time_ns,
                    pipe: reading.network.pipe_name(number as u32),
                    queued_packets: link.queued_packets as i64,
                    queued_bytes: link.queued_bytes as i64,
                    sojourn_mean_ns: if left == 0 { f64::NAN } else { waited_ns / left as f64 },
                    sojourn_min_ns: -1,
                    sojourn_p99_ns: -1,
                    qdisc: String::new(),
                    dropping: -1,
                    drop_count: -1,
                    drop_next_ns: -1,
                    drop_probability: f64::NAN,
                    average_bytes: f64::NAN,
                    new_flows: -1,
                    old_flows: -1,
                    dropped_packets: (link.dropped[0] + link.dropped[1]) as i64,
                    dropped_overflow_packets: -1,
                    dropped_aqm_packets: -1,
                    marked_packets: -1,
                    sent_bytes: link.sent_bytes as i64,
                });
            }
        }
        rows
    }

    /// The table `samples`, a row per flow and stretch of time, of what was delivered and sent again.
    pub fn samples(&self, reading: &Reading) -> Vec<SampleRow> {
        let mut rows = Vec::new();
        for moment in &self.moments {
            for (number, flow) in moment.flows.iter().enumerate() {
                rows.push(SampleRow {
                    time_ns: moment.time_ns,
                    flow: reading.network.flow_name(number as u32),
                    state: String::new(),
                    cwnd_packets: -1,
                    ssthresh_packets: -1,
                    in_flight_packets: -1,
                    sacked_packets: -1,
                    lost_packets: -1,
                    reordering_packets: -1,
                    srtt_ns: -1,
                    rttvar_ns: -1,
                    rtt_min_ns: -1,
                    rto_ns: -1,
                    pacing_bps: -1,
                    rwnd_bytes: -1,
                    unsent_bytes: -1,
                    acked_bytes: -1,
                    delivered_bytes: flow.delivered_bytes as i64,
                    retransmitted_packets: flow.again_packets as i64,
                    delivered_packets: -1,
                    delivery_rate_bps: -1,
                    app_limited: -1,
                    spurious_packets: -1,
                    delivered_ce_packets: -1,
                    busy_ns: -1,
                    rwnd_limited_ns: -1,
                    sndbuf_limited_ns: -1,
                });
            }
        }
        rows
    }

    /// The table `drops`: the first [`DROPS_MAX`].
    pub fn drops(&self, reading: &Reading) -> Vec<DropRow> {
        let network = &reading.network;
        let row = |&(time_ns, link, stream, reason, seq): &(i64, u32, u32, &str, i64)| DropRow {
            time_ns,
            pipe: network.pipe_name(link),
            reason: reason.to_owned(),
            flow: network.flow_name(network.streams[stream as usize].flow),
            seq_bytes: seq,
        };
        self.drops.iter().map(row).collect()
    }

    /// Points of a stream's sequence plot, and one of how many each stands for.
    pub fn points(&self, stream: u32) -> Vec<(Mark, &[Point], u64)> {
        let Some(counts) = self.streams.counts.get(stream as usize) else { return Vec::new() };
        [Mark::Sent, Mark::Again, Mark::Dropped]
            .into_iter()
            .zip(&counts.points)
            .map(|(mark, points)| (mark, points.points(), points.stride()))
            .collect()
    }
}
