//! Rows of flows in the result tables, filled by the applications of every kind of traffic.

use crate::info::TcpInfo;
use dumbbell_model::scenario::{self, Algorithm, Scenario};
use dumbbell_model::tables::{ConnectionRow, Float, FlowRow, Int, SampleRow, TransferRow};
use dumbbell_packet::frame::ETHERNET_HEADER_BYTES;
use std::io::Result;
use std::os::fd::BorrowedFd;

/// Bytes of a segment's headers: Ethernet, IPv4, TCP with timestamps.
const TCP_HEADERS_BYTES: u64 = 66;
/// Bytes of the headers of a datagram's first packet.
const UDP_HEADERS_BYTES: u64 = ETHERNET_HEADER_BYTES as u64 + 28;
/// Bytes of the UDP header, which later fragments do not have.
const UDP_HEADER_BYTES: u64 = 8;

/// Sums over the samples of a flow.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    samples: u64,
    cwnd: u64,
    cwnd_max: u32,
    in_flight: u64,
    srtt_us: u64,
    rtt_min_us: Option<u32>,
}

impl Sums {
    fn add(&mut self, info: &TcpInfo) {
        self.samples += 1;
        self.cwnd += u64::from(info.cwnd());
        self.cwnd_max = self.cwnd_max.max(info.cwnd());
        self.in_flight += u64::from(info.in_flight());
        self.srtt_us += u64::from(info.rtt_us());
        if info.min_rtt_us() != u32::MAX && info.min_rtt_us() > 0 {
            let least = self.rtt_min_us.unwrap_or(u32::MAX);
            self.rtt_min_us = Some(least.min(info.min_rtt_us()));
        }
    }
}

/// Rows of the table `samples`, and the sums of each flow.
pub(crate) struct FlowSampler<'a> {
    pub(crate) scenario: &'a Scenario,
    /// Pacing by flow: by fq at its host, or by TCP because its congestion control asks for it.
    paced: Vec<bool>,
    sums: Vec<Sums>,
    pub(crate) rows: Vec<SampleRow>,
}

impl<'a> FlowSampler<'a> {
    /// Makes a sampler of the flows of a scenario. `has_fq` returns true if a node paces by fq.
    pub(crate) fn new(scenario: &'a Scenario, has_fq: impl Fn(usize) -> bool) -> Self {
        let paced = |flow: &scenario::Flow| {
            let Some(tcp) = flow.traffic.tcp() else { return false };
            let node = scenario.nodes.iter().position(|node| node.name == flow.from);
            matches!(tcp.congestion_control, Algorithm::Bbr | Algorithm::Bbr3)
                || node.is_some_and(&has_fq)
        };
        Self {
            scenario,
            paced: scenario.flows.iter().map(paced).collect(),
            sums: vec![Sums::default(); scenario.flows.len()],
            rows: Vec::new(),
        }
    }

    /// Adds the state of a sending socket to the means of its flow, until its `stop`. Returns the row
    /// of the sample. `received_bytes`: payload that has arrived at the receiver.
    pub(crate) fn tcp(
        &mut self,
        flow: usize,
        now: i64,
        info: &TcpInfo,
        received_bytes: u64,
    ) -> SampleRow {
        let spec = &self.scenario.flows[flow];
        if spec.stop.is_none_or(|stop| now <= stop.as_ns() as i64) {
            self.sums[flow].add(info);
        }
        sample_row(now, &spec.name, self.paced[flow], info, received_bytes)
    }

    /// Takes a sample of a sending socket.
    pub(crate) fn socket(
        &mut self,
        flow: usize,
        now: i64,
        sender: BorrowedFd<'_>,
        received_bytes: u64,
    ) -> Result<()> {
        let row = self.tcp(flow, now, &TcpInfo::of(sender)?, received_bytes);
        self.push(row);
        Ok(())
    }

    /// Takes a sample of a flow of which only the delivered payload is known.
    pub(crate) fn delivered(&mut self, flow: usize, now: i64, bytes: u64) {
        self.push(SampleRow {
            time_ns: now.into(),
            flow: self.scenario.flows[flow].name.clone(),
            delivered_bytes: bytes.into(),
            ..SampleRow::default()
        });
    }

    /// Keeps a row if the scenario keeps the table.
    pub(crate) fn push(&mut self, row: SampleRow) {
        if self.scenario.sampling.samples {
            self.rows.push(row);
        }
    }
}

/// Totals of all flows at the end of the run.
pub(crate) struct FlowReport<'a> {
    sampler: &'a FlowSampler<'a>,
    pub(crate) end: i64,
    /// A row per flow of the scenario.
    pub(crate) flows: Vec<FlowRow>,
    pub(crate) transfers: Vec<TransferRow>,
    pub(crate) connections: Connections,
}

/// Rows of Multipath TCP connections.
#[derive(Default)]
pub(crate) struct Connections {
    pub(crate) flows: Vec<FlowRow>,
    pub(crate) rows: Vec<ConnectionRow>,
    pub(crate) transfers: Vec<TransferRow>,
}

impl<'a> FlowReport<'a> {
    /// Makes rows in which only names are known.
    pub(crate) fn new(sampler: &'a FlowSampler<'a>, end: i64) -> Self {
        let flows = sampler.scenario.flows.iter().map(bare).collect();
        let connections = Connections::default();
        Self { sampler, end, flows, transfers: Vec::new(), connections }
    }

    /// Scenario of the run.
    pub(crate) fn scenario(&self) -> &'a Scenario {
        self.sampler.scenario
    }

    /// Fills the statistics of a sending socket.
    pub(crate) fn sender(&mut self, flow: usize, info: &TcpInfo) {
        fill_sender(&mut self.flows[flow], info, &self.sampler.sums[flow]);
    }

    /// Fills the statistics of a sender of UDP datagrams. `fragments`: IP packets per datagram.
    pub(crate) fn datagrams(
        &mut self,
        flow: usize,
        start: i64,
        datagrams: u64,
        fragments: u64,
        payload_bytes: u64,
    ) {
        let row = &mut self.flows[flow];
        row.kind = "udp".to_owned();
        (row.start_ns, row.established_ns) = (start.into(), start.into());
        let packets = datagrams * fragments;
        row.sent_packets = packets.into();
        row.data_packets = packets.into();
        // Every fragment has an IP header; only the first has the UDP header.
        let later = (packets - datagrams) * (UDP_HEADERS_BYTES - UDP_HEADER_BYTES);
        row.sent_bytes = (payload_bytes + datagrams * UDP_HEADERS_BYTES + later).into();
    }

    /// Fills the delivered payload and its last arrival.
    pub(crate) fn delivered(&mut self, flow: usize, bytes: u64, last: Option<i64>) {
        let row = &mut self.flows[flow];
        row.delivered_bytes = bytes.into();
        row.last_delivery_ns = last.into();
    }

    /// Adds the transfer of a finished flow, after its row was filled.
    pub(crate) fn transfer(&mut self, flow: usize, start: i64, last: i64) {
        self.transfers.push(transfer(&self.flows[flow], start, last));
    }

    /// Fills unknown end times: the stop of the flow, or the end of the run.
    pub(crate) fn complete(&mut self) {
        for (row, spec) in self.flows.iter_mut().zip(&self.sampler.scenario.flows) {
            if row.end_ns == Int::UNKNOWN {
                let stop = spec.stop.map_or(self.end, |stop| stop.as_ns() as i64);
                row.end_ns = stop.min(self.end).into();
            }
        }
    }
}

/// Makes the transfer of a flow or connection from its row.
pub(crate) fn transfer(row: &FlowRow, start: i64, last: i64) -> TransferRow {
    TransferRow {
        flow: row.flow.clone(),
        group: row.group.clone(),
        session: String::new(),
        object: String::new(),
        request_ns: Int::UNKNOWN,
        first_byte_ns: Int::UNKNOWN,
        start_ns: start.into(),
        end_ns: last.into(),
        transfer_bytes: row.delivered_bytes,
    }
}

/// Makes a row in which only names are known.
pub(crate) fn bare(spec: &scenario::Flow) -> FlowRow {
    FlowRow {
        flow: spec.name.clone(),
        group: spec.group.clone(),
        from_host: spec.from.clone(),
        to_host: spec.to.clone(),
        ..FlowRow::default()
    }
}

/// Fills the statistics of a sending socket.
fn fill_sender(row: &mut FlowRow, info: &TcpInfo, sums: &Sums) {
    let segments = u64::from(info.segments_out());
    row.sent_packets = segments.into();
    row.sent_bytes = info.bytes_sent().map(|sent| sent + segments * TCP_HEADERS_BYTES).into();
    row.data_packets = info.data_segments_out().into();
    row.retransmitted_packets = info.total_retrans().into();
    row.reordering_packets = info.reordering().into();
    row.rtt_min_ns = sums.rtt_min_us.map(|us| u64::from(us) * 1000).into();
    row.cwnd_max_packets = (sums.samples > 0).then_some(sums.cwnd_max).into();
    row.cwnd_mean_packets = Float::mean(sums.cwnd as f64, sums.samples);
    row.in_flight_mean_packets = Float::mean(sums.in_flight as f64, sums.samples);
    row.srtt_mean_ns = Float::mean(sums.srtt_us as f64 * 1000.0, sums.samples);
}

fn sample_row(now: i64, name: &str, paced: bool, info: &TcpInfo, received: u64) -> SampleRow {
    let (least, rtt_us) = (info.min_rtt_us(), info.rtt_us());
    let ns = |us: u32| u64::from(us) * 1000;
    let rate = Some(info.delivery_rate()).filter(|&rate| rate > 0);
    SampleRow {
        time_ns: now.into(),
        flow: name.to_owned(),
        state: info.ca_state_name().to_owned(),
        cwnd_packets: info.cwnd().into(),
        ssthresh_packets: info.ssthresh().min(i32::MAX as u32).into(),
        in_flight_packets: info.in_flight().into(),
        sacked_packets: info.sacked().into(),
        lost_packets: info.lost().into(),
        reordering_packets: info.reordering().into(),
        srtt_ns: (rtt_us > 0).then(|| ns(rtt_us)).into(),
        rttvar_ns: (rtt_us > 0).then(|| ns(info.rttvar_us())).into(),
        rtt_min_ns: (least != u32::MAX).then(|| ns(least)).into(),
        rto_ns: ns(info.rto_us()).into(),
        pacing_bps: Some(info.pacing_rate())
            .filter(|&rate| paced && rate != u64::MAX)
            .map(|rate| rate * 8)
            .into(),
        rwnd_bytes: info.send_window_bytes().into(),
        unsent_bytes: info.not_sent_bytes().into(),
        acked_bytes: info.bytes_acked().into(),
        delivered_bytes: received.into(),
        retransmitted_packets: info.total_retrans().into(),
        delivered_packets: info.delivered().into(),
        delivery_rate_bps: rate.map(|rate| rate * 8).into(),
        app_limited: rate.map(|_| info.bits() & 1).into(),
        spurious_packets: info.dsack_duplicates().into(),
        delivered_ce_packets: info.delivered_ce().into(),
        busy_ns: (info.busy_us() * 1000).into(),
        rwnd_limited_ns: (info.rwnd_limited_us() * 1000).into(),
        sndbuf_limited_ns: (info.sndbuf_limited_us() * 1000).into(),
    }
}
