//! Packets of chosen connections and their classification, as columns in JSON or as arrays.

use crate::capture::{open, Failure, Window};
use dumbbell_capture::connection::judge::{Evidence, Judgement};
use dumbbell_capture::connection::recovery::RetransmissionKind;
use dumbbell_capture::{CaptureFile, Survey, TcpPacket};
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
    window: Vec<Option<u64>>,
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
        let window = connection.window_bytes(packet.side, header);
        self.window.push((!connection.scale_is_cut()).then_some(window));
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

/// Packets of a connection as arrays, for arithmetic: name, type of numpy, bytes of the machine's order.
pub(crate) type Arrays = Vec<(&'static str, &'static str, Vec<u8>)>;

/// Unknown value of a column of positions.
const UNKNOWN: i64 = i64::MIN;

/// Columns of [`series`].
#[derive(Default)]
struct Numbers {
    time_ns: Vec<i64>,
    side: Vec<u8>,
    flags: Vec<u16>,
    ecn: Vec<u8>,
    position: Vec<i64>,
    payload: Vec<u32>,
    ack: Vec<i64>,
    window: Vec<i64>,
    sacked_to: Vec<i64>,
    in_flight: Vec<i64>,
    what: Vec<u8>,
    kind: Vec<u8>,
    stamp: Vec<i64>,
    echo: Vec<i64>,
}

/// Packets of connection `wanted` at its interface, at most `most`.
///
/// `what`: 0 without data, 1 new, 2 reordered, 3 retransmitted, 4 duplicate, 5 keep-alive. `kind` of
/// a retransmission: 1 fast, 2 time-out, 3 probe, 4 path MTU, 5 unreachable, 6 handshake.
pub(crate) fn series(
    mut file: CaptureFile<'_>,
    wanted: u32,
    most: usize,
    mut window: Window,
) -> Arrays {
    let mut survey = Survey::default();
    let mut numbers = Numbers::default();
    // After an error the packets before it remain; `survey` reports the error.
    let _ = file.read(|record| {
        if !window.holds(record) {
            survey.pass_over();
            return;
        }
        let (Some(packet), Some(time_ns)) = (survey.add(record), record.time_ns) else { return };
        if packet.connection == wanted && numbers.time_ns.len() < most {
            numbers.add(&survey, &packet, time_ns);
        }
    });
    numbers.arrays()
}

impl Numbers {
    fn add(&mut self, survey: &Survey, packet: &TcpPacket, time_ns: i64) {
        let Some((_, connection)) = survey.connections.get(packet.connection as usize) else {
            return;
        };
        let header = &packet.header;
        let other = connection.sides[1 - packet.side].stream.as_deref();
        let own = connection.sides[packet.side].stream.as_deref();
        let about = if packet.verdict.is_some() { own } else { other };
        let at = |sequence: u32| other.map(|stream| stream.position(sequence));
        let highest = header.sack_blocks().iter().filter_map(|block| at(block.1)).max();
        let acknowledged = at(header.acknowledgement).filter(|_| header.flags.ack());
        let (what, kind) = packet.verdict.map_or((0, 0), |verdict| {
            let what = match verdict.judgement {
                Judgement::New => 1,
                Judgement::Reordered(_) => 2,
                Judgement::Retransmitted(_) => 3,
                Judgement::Duplicate(_) => 4,
                Judgement::KeepAlive => 5,
            };
            let kind = verdict.kind.map_or(0, |kind| match kind {
                RetransmissionKind::Fast => 1,
                RetransmissionKind::Timeout => 2,
                RetransmissionKind::Probe => 3,
                RetransmissionKind::PathMtu => 4,
                RetransmissionKind::Unreachable => 5,
                RetransmissionKind::Handshake => 6,
            });
            (what, kind)
        });
        self.time_ns.push(time_ns);
        self.side.push(packet.side as u8);
        self.flags.push(header.flags.0);
        self.ecn.push(packet.ecn);
        self.position.push(packet.verdict.map_or(UNKNOWN, |verdict| verdict.position));
        self.payload.push(header.payload_bytes);
        self.ack.push(acknowledged.unwrap_or(UNKNOWN));
        let announced = connection.window_bytes(packet.side, header);
        let announced = i64::try_from(announced).unwrap_or(i64::MAX);
        self.window.push(if connection.scale_is_cut() { UNKNOWN } else { announced });
        self.sacked_to.push(highest.unwrap_or(UNKNOWN));
        self.in_flight.push(about.map_or(UNKNOWN, |stream| stream.in_flight_bytes()));
        self.what.push(what);
        self.kind.push(kind);
        let (stamp, echo) = header
            .timestamps
            .map_or((UNKNOWN, UNKNOWN), |(stamp, echo)| (i64::from(stamp), i64::from(echo)));
        self.stamp.push(stamp);
        self.echo.push(echo);
    }

    fn arrays(&self) -> Arrays {
        let wide = |values: &[i64]| values.iter().flat_map(|one| one.to_ne_bytes()).collect();
        vec![
            ("time_ns", "i8", wide(&self.time_ns)),
            ("side", "u1", self.side.clone()),
            ("flags", "u2", self.flags.iter().flat_map(|one| one.to_ne_bytes()).collect()),
            ("ecn", "u1", self.ecn.clone()),
            ("position_bytes", "i8", wide(&self.position)),
            (
                "payload_bytes",
                "u4",
                self.payload.iter().flat_map(|one| one.to_ne_bytes()).collect(),
            ),
            ("ack_bytes", "i8", wide(&self.ack)),
            ("window_bytes", "i8", wide(&self.window)),
            ("sacked_to_bytes", "i8", wide(&self.sacked_to)),
            ("in_flight_bytes", "i8", wide(&self.in_flight)),
            ("what", "u1", self.what.clone()),
            ("kind", "u1", self.kind.clone()),
            ("stamp", "i8", wide(&self.stamp)),
            ("echo", "i8", wide(&self.echo)),
        ]
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
