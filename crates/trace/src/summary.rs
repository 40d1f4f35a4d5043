//! Result tables of a trace, in memory that does not grow with its length.

use crate::event::Event;
use crate::links::LinkCounts;
use crate::network::Network;
use crate::read::{EventSink, Reading};
use crate::sequence::{Mark, Point};
use crate::streams::{StreamCounts, Streams};
use dumbbell_model::tables::{DropRow, Float, FlowRow, Int, PipeRow, QueueRow, SampleRow};

/// Maximum number of rows of drops.
pub const DROPS_MAX: usize = 100_000;
/// Maximum number of intervals of a series.
const INTERVALS_MAX: usize = 2000;
/// Maximum number of rows of all series.
const ROWS_MAX: usize = 200_000;
/// Initial interval: 10 ms.
const INTERVAL_NS: i64 = 10_000_000;

/// Counters of a link at a time.
#[derive(Clone, Copy, Debug, Default)]
struct LinkSnapshot {
    queued_packets: usize,
    queued_bytes: u64,
    waited_ns: i64,
    waited: u64,
    dropped: [u64; 2],
    sent_bytes: u64,
}

/// Counters of a flow at a time.
#[derive(Clone, Copy, Debug, Default)]
struct FlowSnapshot {
    delivered_bytes: u64,
    retransmitted_packets: u64,
}

/// All counters at a time. Links and flows that appear later are missing.
#[derive(Clone, Debug)]
struct Snapshot {
    time_ns: i64,
    links: Vec<LinkSnapshot>,
    flows: Vec<FlowSnapshot>,
}

/// Summary of a trace.
#[derive(Debug, Default)]
pub struct Summary {
    /// Counters by link.
    pub links: Vec<LinkCounts>,
    /// Counters by stream.
    pub streams: Streams,
    /// Number of drops.
    pub dropped: u64,
    drops: Vec<(i64, u32, u32, &'static str, i64)>,
    snapshots: Vec<Snapshot>,
    rows: usize,
    interval_ns: i64,
    next_ns: Option<i64>,
}

impl EventSink for Summary {
    fn event(&mut self, network: &Network, event: &Event) {
        match self.next_ns {
            Some(next) if event.time_ns > next => self.snapshots_until(network, event.time_ns),
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
    fn snapshots_until(&mut self, network: &Network, now_ns: i64) {
        while let Some(next) = self.next_ns.filter(|next| *next < now_ns) {
            self.snapshot(network, next);
            // Long silent periods get no rows.
            let silent = (now_ns - next) / self.interval_ns;
            if silent > INTERVALS_MAX as i64 {
                let until = next + (silent - 1) * self.interval_ns;
                self.snapshot(network, until);
                self.next_ns = Some(until + self.interval_ns);
            } else {
                self.next_ns = Some(next + self.interval_ns);
            }
            if self.snapshots.len() > INTERVALS_MAX || self.rows > ROWS_MAX {
                self.halve();
            }
        }
    }

    fn snapshot(&mut self, network: &Network, time_ns: i64) {
        self.streams.settle(time_ns);
        let links = self.links.iter().map(|link| {
            let (queued_packets, queued_bytes) = link.waiting();
            LinkSnapshot {
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
            counts.map_or_else(FlowSnapshot::default, |counts| FlowSnapshot {
                delivered_bytes: counts.delivered_bytes,
                retransmitted_packets: counts.retransmitted_packets,
            })
        });
        let snapshot = Snapshot { time_ns, links: links.collect(), flows: flows.collect() };
        self.rows += snapshot.links.len() + snapshot.flows.len();
        self.snapshots.push(snapshot);
    }

    /// Doubles the interval: every second snapshot is removed.
    fn halve(&mut self) {
        self.interval_ns *= 2;
        let interval_ns = self.interval_ns;
        self.snapshots.retain(|snapshot| snapshot.time_ns % interval_ns == 0);
        self.rows = self.snapshots.iter().map(|one| one.links.len() + one.flows.len()).sum();
        if let Some(next) = &mut self.next_ns {
            *next = next.div_euclid(interval_ns) * interval_ns + interval_ns;
        }
    }

    /// Processes the end of the trace.
    pub fn end(&mut self, reading: &Reading) {
        self.streams.end();
        if let Some(last) = self.next_ns {
            self.snapshot(&reading.network, last);
        }
    }

    /// Length of an interval.
    pub fn interval_ns(&self) -> i64 {
        self.interval_ns
    }

    /// Table `flows`, as far as a trace contains it.
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
                start_ns: counts.times_ns.map(|(first, _)| first).into(),
                last_delivery_ns: counts.last_delivery_ns.into(),
                end_ns: reading.times_ns.1.into(),
                delivered_bytes: counts.delivered_bytes.into(),
                sent_packets: counts.sent_packets.into(),
                sent_bytes: counts.sent_bytes.into(),
                data_packets: counts.data_packets.into(),
                received_packets: counts.received_packets.into(),
                received_bytes: counts.received_bytes.into(),
                retransmitted_packets: counts.retransmitted_packets.into(),
                dropped_packets: (counts.dropped_packets
                    + back.map(|(_, counts)| counts.dropped_packets).sum::<u64>())
                .into(),
                ..FlowRow::default()
            }
        });
        rows.collect()
    }

    /// Table `pipes`. A trace does not contain the reasons of drops, so their columns are unknown
    /// unless there was no drop.
    pub fn pipes(&self, reading: &Reading) -> Vec<PipeRow> {
        let seconds_ns = (reading.times_ns.1 - reading.times_ns.0).max(1) as f64;
        let rows = self.links.iter().enumerate().map(|(number, link)| {
            let unknown: Int = (link.dropped == [0, 0]).then_some(0_u64).into();
            PipeRow {
                pipe: reading.network.pipe_name(number as u32),
                arrived_packets: link.arrived_packets.into(),
                arrived_bytes: link.arrived_bytes.into(),
                left_packets: link.left_packets.into(),
                left_bytes: link.left_bytes.into(),
                dropped_overflow_packets: unknown,
                dropped_random_packets: unknown,
                dropped_scripted_packets: unknown,
                dropped_policed_packets: unknown,
                dropped_corrupted_packets: unknown,
                dropped_aqm_packets: unknown,
                dropped_link_down_packets: unknown,
                rate_bps: link.rate_bps().map(|rate| rate.round() as i64).into(),
                remaining_packets: link.inside().into(),
                queue_max_packets: link.queue_max().into(),
                queue_mean_packets: (link.waited_ns as f64 / seconds_ns).into(),
                sojourn_mean_ns: link.waits.mean_ns().into(),
                sojourn_max_ns: link.waits.max_ns.into(),
                ..PipeRow::default()
            }
        });
        rows.collect()
    }

    /// Table `queues`: a row per link and interval.
    pub fn queues(&self, reading: &Reading) -> Vec<QueueRow> {
        let mut before: Vec<LinkSnapshot> = vec![LinkSnapshot::default(); self.links.len()];
        let mut rows = Vec::new();
        for snapshot in &self.snapshots {
            for (number, link) in snapshot.links.iter().enumerate() {
                let last = std::mem::replace(&mut before[number], *link);
                let left = link.waited - last.waited;
                let waited_ns = (link.waited_ns - last.waited_ns) as f64;
                rows.push(QueueRow {
                    time_ns: snapshot.time_ns.into(),
                    pipe: reading.network.pipe_name(number as u32),
                    queued_packets: link.queued_packets.into(),
                    queued_bytes: link.queued_bytes.into(),
                    sojourn_mean_ns: Float::mean(waited_ns, left),
                    dropped_packets: (link.dropped[0] + link.dropped[1]).into(),
                    sent_bytes: link.sent_bytes.into(),
                    ..QueueRow::default()
                });
            }
        }
        rows
    }

    /// Table `samples`: a row per flow and interval with delivered bytes and retransmissions.
    pub fn samples(&self, reading: &Reading) -> Vec<SampleRow> {
        let mut rows = Vec::new();
        for snapshot in &self.snapshots {
            for (number, flow) in snapshot.flows.iter().enumerate() {
                rows.push(SampleRow {
                    time_ns: snapshot.time_ns.into(),
                    flow: reading.network.flow_name(number as u32),
                    delivered_bytes: flow.delivered_bytes.into(),
                    retransmitted_packets: flow.retransmitted_packets.into(),
                    ..SampleRow::default()
                });
            }
        }
        rows
    }

    /// Table `drops`: the first [`DROPS_MAX`].
    pub fn drops(&self, reading: &Reading) -> Vec<DropRow> {
        let network = &reading.network;
        let row = |&(time_ns, link, stream, reason, seq): &(i64, u32, u32, &str, i64)| DropRow {
            time_ns: time_ns.into(),
            pipe: network.pipe_name(link),
            reason: reason.to_owned(),
            flow: network.flow_name(network.streams[stream as usize].flow),
            seq_bytes: seq.into(),
        };
        self.drops.iter().map(row).collect()
    }

    /// Points of a stream's sequence plot, with the number of events per point.
    pub fn points(&self, stream: u32) -> Vec<(Mark, &[Point], u64)> {
        let Some(counts) = self.streams.counts.get(stream as usize) else { return Vec::new() };
        [Mark::Sent, Mark::Retransmitted, Mark::Dropped]
            .into_iter()
            .zip(&counts.points)
            .map(|(mark, points)| (mark, points.points(), points.stride()))
            .collect()
    }
}
