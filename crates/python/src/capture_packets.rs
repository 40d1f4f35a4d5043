//! Packets of chosen connections and their classification, as columns in JSON.

use crate::capture::{open, Failure, Window};
use dumbbell_capture::connection::judge::{Evidence, Judgement};
use dumbbell_capture::connection::recovery::RetransmissionKind;
use dumbbell_capture::{Survey, TcpPacket};
use serde_json::json;
use std::collections::BTreeMap;

/// Columns with one entry per packet.
#[derive(Default)]
struct Columns {
    frame: Vec<u64>,
    time_ns: Vec<Option<i64>>,
    connection: Vec<u32>,
    side: Vec<usize>,
    flags: Vec<u16>,
    position: Vec<Option<i64>>,
    payload: Vec<u32>,
    ack: Vec<Option<i64>>,
    window: Vec<u64>,
    sack: Vec<Vec<[i64; 2]>>,
    in_flight: Vec<Option<i64>>,
    what: Vec<&'static str>,
    evidence: Vec<Option<&'static str>>,
    kind: Vec<Option<&'static str>>,
    spurious: Vec<bool>,
}

/// Packets of the connections in `wanted` (all if it is empty), at most `most` of each.
pub(crate) fn packets(
    path: &str,
    wanted: &[u32],
    most: usize,
    mut window: Window,
) -> Result<String, Failure> {
    let mut file = open(path)?;
    let mut survey = Survey::default();
    let mut columns = Columns::default();
    let mut kept: BTreeMap<u32, usize> = BTreeMap::new();
    let mut rows: BTreeMap<u64, usize> = BTreeMap::new();
    let reading = file.read(|record| {
        if !window.holds(record) {
            survey.pass_over();
            return;
        }
        let packet = survey.add(record);
        for frame in survey.proved() {
            if let Some(&row) = rows.get(frame) {
                columns.spurious[row] = true;
            }
        }
        let Some(packet) = packet else { return };
        if !wanted.is_empty() && !wanted.contains(&packet.connection) {
            return;
        }
        let count = kept.entry(packet.connection).or_default();
        *count += 1;
        if *count > most {
            return;
        }
        if matches!(
            packet.verdict.map(|verdict| verdict.judgement),
            Some(Judgement::Retransmitted(_))
        ) {
            rows.insert(survey.frame(), columns.frame.len());
        }
        columns.add(&survey, &packet, record.time_ns);
    });
    let broken = reading.err().map(|error| error.to_string());
    Ok(columns.json(&kept, broken.as_deref()))
}

impl Columns {
    fn add(&mut self, survey: &Survey, packet: &TcpPacket, time_ns: Option<i64>) {
        let Some((_, connection)) = survey.connections.get(packet.connection as usize) else {
            return;
        };
        let header = &packet.header;
        let other = connection.sides[1 - packet.side].stream.as_deref();
        let at = |sequence: u32| other.map(|stream| stream.position(sequence));
        self.frame.push(survey.frame());
        self.time_ns.push(time_ns);
        self.connection.push(packet.connection);
        self.side.push(packet.side);
        self.flags.push(header.flags.0);
        self.position.push(packet.verdict.map(|verdict| verdict.position));
        self.payload.push(header.payload_bytes);
        self.ack.push(at(header.acknowledgement).filter(|_| header.flags.ack()));
        self.window.push(connection.window_bytes(packet.side, header));
        let blocks = header.sack_blocks().iter();
        self.sack.push(blocks.filter_map(|one| Some([at(one.0)?, at(one.1)?])).collect());
        // The stream that the packet concerns: its own data, or the acknowledged data.
        let about = match packet.verdict {
            Some(_) => connection.sides[packet.side].stream.as_deref(),
            None => other,
        };
        self.in_flight.push(about.map(|stream| stream.in_flight_bytes()));
        let judgement = packet.verdict.map(|verdict| verdict.judgement);
        let (what, evidence) = match judgement {
            None => ("", None),
            Some(Judgement::New) => ("new", None),
            Some(Judgement::Reordered(by)) => ("reordered", Some(by)),
            Some(Judgement::Retransmitted(by)) => ("retransmitted", Some(by)),
            Some(Judgement::Duplicate(by)) => ("duplicate", Some(by)),
            Some(Judgement::KeepAlive) => ("keep-alive", None),
        };
        self.what.push(what);
        self.evidence.push(evidence.map(named));
        self.kind.push(packet.verdict.and_then(|verdict| verdict.kind).map(|kind| match kind {
            RetransmissionKind::Fast => "fast",
            RetransmissionKind::Timeout => "time-out",
            RetransmissionKind::Probe => "tail loss probe",
            RetransmissionKind::PathMtu => "path MTU",
            RetransmissionKind::Unreachable => "unreachable",
            RetransmissionKind::Handshake => "handshake",
        }));
        self.spurious
            .push(matches!(judgement, Some(Judgement::Retransmitted(Evidence::Acknowledged))));
    }

    fn json(&self, kept: &BTreeMap<u32, usize>, broken: Option<&str>) -> String {
        let counted: BTreeMap<String, usize> =
            kept.iter().map(|(connection, count)| (connection.to_string(), *count)).collect();
        json!({
            "frame": self.frame,
            "time_ns": self.time_ns,
            "connection": self.connection,
            "side": self.side,
            "flags": self.flags,
            "position_bytes": self.position,
            "payload_bytes": self.payload,
            "ack_bytes": self.ack,
            "window_bytes": self.window,
            "sack_ranges_bytes": self.sack,
            "in_flight_bytes": self.in_flight,
            "what": self.what,
            "evidence": self.evidence,
            "kind": self.kind,
            "spurious": self.spurious,
            "packets_of_connections": counted,
            "broken": broken,
        })
        .to_string()
    }
}

fn named(evidence: Evidence) -> &'static str {
    match evidence {
        Evidence::SeenBefore => "seen before",
        Evidence::Acknowledged => "acknowledged",
        Evidence::Identification => "identification",
        Evidence::Timestamp => "timestamp",
        Evidence::Time => "time",
        Evidence::Missing => "missing",
        Evidence::Content => "content",
    }
}
