//! A survey of a capture as JSON, and the packets of chosen connections.

use dumbbell_capture::connection::delayed::Policy;
use dumbbell_capture::connection::flight::SlowStartEnd;
use dumbbell_capture::connection::stream::Stream;
use dumbbell_capture::connection::{Closing, Side};
use dumbbell_capture::file::OpenError;
use dumbbell_capture::rate::Rates;
use dumbbell_capture::survey::{Counted, LENGTH_BINS};
use dumbbell_capture::{CaptureFile, Connection, Conversation, Layer, Survey};
use serde_json::{json, Map, Value};
use std::fs::File;
use std::io::{self, Read};

/// Why there is none.
pub(crate) enum Failure {
    Io(io::Error),
    Other(String),
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

pub(crate) fn open(path: &str) -> Result<CaptureFile<'static>, Failure> {
    let source: Box<dyn Read> =
        if path == "-" { Box::new(io::stdin()) } else { Box::new(File::open(path)?) };
    CaptureFile::open(source).map_err(|error| match error {
        OpenError::Io(error) => Failure::Io(error),
        OpenError::Unknown(_) => Failure::Other(error.to_string()),
    })
}

pub(crate) fn survey(path: &str) -> Result<String, Failure> {
    let mut file = open(path)?;
    let mut found = Survey::default();
    // A stream that breaks off is told as a problem: what came before it counts.
    let reading = file.read(|record| {
        found.add(record);
    });
    let broken = reading.err().map(|error| error.to_string());
    let problems: Vec<_> = file
        .problems()
        .iter()
        .map(|problem| json!({"offset": problem.offset, "message": problem.message}))
        .collect();
    let (first, last) = found.times_ns.unzip();
    let text = json!({
        "file": {
            "packets": found.total.packets,
            "bytes": found.total.bytes,
            "first_ns": first,
            "last_ns": last,
            "truncated_packets": found.truncated,
            "packets_without_ip": found.other,
            "tcp_packets_not_read": found.unread,
            "problems": problems,
            "problem_count": file.problem_count(),
            "broken": broken,
        },
        "interfaces": interfaces(&found, file.interfaces()),
        "conversations": found.conversations.iter().map(conversation).collect::<Vec<_>>(),
        "lengths": lengths(&found),
        "rates": rates(&found.rates, ["packets", "bytes"]),
        "connections": connections(&found),
        "pings": pings(&found),
    });
    Ok(text.to_string())
}

fn interfaces(found: &Survey, names: &[String]) -> Vec<Value> {
    let row = |(number, counted): (usize, &Counted)| {
        json!({
            "interface": number,
            "name": names.get(number).filter(|name| !name.is_empty()),
            "packets": counted.packets,
            "bytes": counted.bytes,
        })
    };
    found.interfaces.iter().enumerate().map(row).collect()
}

fn conversation(one: &Conversation) -> Value {
    let protocol = match one.layer {
        Layer::Ip => "ip",
        Layer::Tcp => "tcp",
        Layer::Udp => "udp",
    };
    let port = |port: u16| (one.layer != Layer::Ip).then_some(port);
    let [there, back] = one.counted;
    let (first, last) = one.times_ns.unzip();
    json!({
        "protocol": protocol,
        "address_a": one.a.0.to_string(),
        "port_a": port(one.a.1),
        "address_b": one.b.0.to_string(),
        "port_b": port(one.b.1),
        "packets_a_to_b": there.packets,
        "bytes_a_to_b": there.bytes,
        "packets_b_to_a": back.packets,
        "bytes_b_to_a": back.bytes,
        "first_ns": first,
        "last_ns": last,
    })
}

fn lengths(found: &Survey) -> Vec<Value> {
    let mut from = 0;
    let ends = LENGTH_BINS.iter().map(|&end| Some(end)).chain([None]);
    let mut bins = Vec::with_capacity(found.lengths.len());
    for (end, counted) in ends.zip(&found.lengths) {
        bins.push(json!({
            "from_bytes": from,
            "to_bytes": end,
            "packets": counted.packets,
            "bytes": counted.bytes,
        }));
        from = end.map_or(from, |end| end + 1);
    }
    bins
}

fn rates<const N: usize>(rates: &Rates<N>, names: [&str; N]) -> Value {
    let bins = rates.bins();
    let mut columns = Map::new();
    columns.insert("start_ns".to_owned(), json!(rates.start_ns()));
    columns.insert("width_ns".to_owned(), json!(rates.width_ns()));
    for (index, name) in names.into_iter().enumerate() {
        let values: Vec<_> = bins.iter().map(|bin| bin[index]).collect();
        columns.insert(name.to_owned(), json!(values));
    }
    Value::Object(columns)
}

/// Connections in the order of their conversations' first frames, a row per direction.
fn connections(found: &Survey) -> Vec<Value> {
    let mut rows = Vec::with_capacity(2 * found.connections.len());
    for (number, (conversation, connection)) in found.connections.iter().enumerate() {
        let ends = &found.conversations[*conversation as usize];
        for side in 0..2 {
            rows.push(direction([number, *conversation as usize], ends, connection, side));
        }
    }
    rows
}

fn direction(
    [number, conversation_number]: [usize; 2],
    ends: &Conversation,
    connection: &Connection,
    side: usize,
) -> Value {
    let (from, to) = if side == 0 { (ends.a, ends.b) } else { (ends.b, ends.a) };
    let (one, other) = (&connection.sides[side], &connection.sides[1 - side]);
    let mut row = Map::new();
    let mut put = |name: &str, value: Value| row.insert(name.to_owned(), value);
    put("connection", json!(number));
    put("conversation", json!(conversation_number));
    put("interface", json!(connection.interface));
    put("direction", json!(if side == 0 { "a_to_b" } else { "b_to_a" }));
    put("from_address", json!(from.0.to_string()));
    put("from_port", json!(from.1));
    put("to_address", json!(to.0.to_string()));
    put("to_port", json!(to.1));
    put("first_ns", json!(connection.times_ns.map(|times| times.0)));
    put("last_ns", json!(connection.times_ns.map(|times| times.1)));
    put("opened_ns", json!(connection.handshake_ns[0]));
    put("established_ns", json!(connection.handshake_ns[2]));
    put("opened_it", json!(connection.opener.map(|opener| opener == side)));
    put("syn_rtt_ns", json!(connection.syn_rtt_ns()));
    put("handshake_rtt_ns", json!(connection.handshake_rtt_ns()));
    put("closed", json!(closed(connection.closing, side)));
    put("packets", json!(one.packets));
    put("bytes", json!(one.bytes));
    put("turns", json!(one.turns));
    sent(&mut put, one.stream.as_deref());
    // The acknowledgements of what this side sent are the other side's.
    acknowledged(&mut put, other, one.stream.as_deref());
    ended(&mut put, one);
    Value::Object(row)
}

/// What this direction's data did.
fn sent(put: &mut impl FnMut(&str, Value) -> Option<Value>, stream: Option<&Stream>) {
    let counters = stream.map(|stream| stream.counters).unwrap_or_default();
    let [fast, timeout, probe] = counters.retransmitted;
    let [dsack, timestamp, acknowledged] = stream.map_or([0; 3], Stream::needless);
    let (timeouts, recoveries) = stream.map_or((0, 0), Stream::recoveries);
    put("data_packets", json!(counters.data_packets));
    put("payload_bytes", json!(counters.payload_bytes));
    put("unique_bytes", json!(counters.unique_bytes));
    put("unseen_bytes", json!(counters.unseen_bytes));
    put("acked_bytes", json!(stream.map_or(0, Stream::acked_bytes)));
    put("first_data_ns", json!(counters.first_ns));
    put("last_data_ns", json!(counters.last_ns));
    put("segment_max_bytes", json!(counters.segment_max_bytes));
    put("retransmitted_packets", json!(fast + timeout + probe));
    put("retransmitted_bytes", json!(counters.retransmitted_bytes));
    put("fast_retransmitted_packets", json!(fast));
    put("timeout_retransmitted_packets", json!(timeout));
    put("probe_retransmitted_packets", json!(probe));
    put("spurious_retransmitted_packets", json!(dsack + timestamp + acknowledged));
    put("spurious_by_dsack_packets", json!(dsack));
    put("spurious_by_timestamp_packets", json!(timestamp));
    put("spurious_by_acknowledgement_packets", json!(acknowledged));
    put("timeouts", json!(timeouts));
    put("recoveries", json!(recoveries));
    for (judged, by) in
        [("retransmitted", counters.retransmitted_by), ("reordered", counters.reordered_by)]
    {
        let names =
            ["seen_before", "acknowledged", "identification", "timestamp", "time", "missing"];
        for (name, packets) in names.into_iter().zip(by) {
            // Bytes that passed or were acknowledged cannot be reordering.
            if judged == "retransmitted" || matches!(name, "identification" | "timestamp" | "time")
            {
                put(&format!("{judged}_by_{name}_packets"), json!(packets));
            }
        }
    }
    put("reordered_packets", json!(counters.reordered_by.iter().sum::<u64>()));
    put("copied_packets", json!(counters.copies));
    put("keep_alive_packets", json!(counters.keep_alives));
    let flight = stream.map(|stream| stream.flight).unwrap_or_default();
    put("in_flight_max_bytes", json!(flight.max_bytes));
    put("in_flight_mean_bytes", json!(flight.mean_bytes()));
    put("window_inferred_mean_bytes", json!(flight.window_mean_bytes()));
    let slow_start = flight.slow_start;
    let why = slow_start.map(|end| match end.end {
        SlowStartEnd::Loss => "loss",
        SlowStartEnd::Plateau => "plateau",
    });
    put("slow_start_end", json!(why));
    put("slow_start_end_ns", json!(slow_start.map(|end| end.at_ns)));
    put("slow_start_end_bytes", json!(slow_start.map(|end| end.flight_bytes)));
    if let Some(stream) = stream {
        put("rates", rates(&stream.rates, ["payload_bytes", "unique_bytes"]));
    } else {
        put("rates", Value::Null);
    }
}

/// How the other side acknowledged it.
fn acknowledged(
    put: &mut impl FnMut(&str, Value) -> Option<Value>,
    other: &Side,
    stream: Option<&Stream>,
) {
    let rtt = stream.map(|stream| stream.rtt).unwrap_or_default();
    let sampled = rtt.samples > 0;
    put("rtt_samples", json!(rtt.samples));
    put("rtt_mean_ns", json!(rtt.mean_ns()));
    put("rtt_min_ns", json!(sampled.then_some(rtt.min_ns)));
    put("rtt_max_ns", json!(sampled.then_some(rtt.max_ns)));
    put("acks", json!(other.acks));
    put("acks_with_sack", json!(other.acks_with_sack));
    put("sack_blocks", json!(other.sack_blocks));
    put("dsacks", json!(other.dsacks));
    put("dsacks_unexplained", json!(stream.map_or(0, Stream::unexplained_dsacks)));
    put("duplicate_acks", json!(other.duplicate_acks));
    put("zero_windows", json!(other.zero_windows));
    put("window_min_bytes", json!(other.window_min_bytes));
    put("window_max_bytes", json!(other.window_min_bytes.map(|_| other.window_max_bytes)));
    let delayed = stream.map(|stream| stream.delayed).unwrap_or_default();
    put("acks_of_one_segment", json!(delayed.of_one));
    put("acks_of_two_segments", json!(delayed.of_two));
    put("acks_of_more_segments", json!(delayed.of_more));
    put("quick_acks", json!(delayed.quick));
    let policy = delayed.policy().map(|policy| match policy {
        Policy::Each => "each",
        Policy::EverySecond => "every second",
        Policy::QuickThenEverySecond => "each, then every second",
        Policy::Stretched => "more than two",
        Policy::Mixed => "mixed",
    });
    put("acknowledges", json!(policy));
}

/// What this side announced, and ECN.
fn ended(put: &mut impl FnMut(&str, Value) -> Option<Value>, one: &Side) {
    put("mss_bytes", json!(one.mss));
    put("window_scale", json!(one.window_scale));
    put("sack_permitted", json!(one.initial.map(|_| one.sack_permitted)));
    put("timestamps", json!(one.timestamps));
    put("syns", json!(one.syns));
    put("fins", json!(one.fins));
    put("resets", json!(one.resets));
    put("ecn_congested_packets", json!(one.congested));
    put("ecn_echo_packets", json!(one.echoes));
    put("ecn_reduced_packets", json!(one.reductions));
    put("malformed_options_packets", json!(one.malformed));
}

fn closed(closing: Option<Closing>, side: usize) -> String {
    let who = |by: usize| if by == side { "by sender" } else { "by receiver" };
    match closing {
        None | Some(Closing::Open) => "open".to_owned(),
        Some(Closing::Half(by)) => format!("half {}", who(by)),
        Some(Closing::Both) => "both".to_owned(),
        Some(Closing::Reset(by)) => format!("reset {}", who(by)),
    }
}

fn pings(found: &Survey) -> Vec<Value> {
    let row = |((interface, from, to, identifier), ping): (
        &dumbbell_capture::ping::Key,
        &dumbbell_capture::ping::Ping,
    )| {
        let answered = ping.answered > 0;
        json!({
            "interface": interface,
            "from_address": from.to_string(),
            "to_address": to.to_string(),
            "identifier": identifier,
            "requests_even": ping.requests[0],
            "requests_odd": ping.requests[1],
            "replies_even": ping.replies[0],
            "replies_odd": ping.replies[1],
            "rtt_samples": ping.answered,
            "rtt_mean_ns": answered.then(|| ping.rtt_sum_ns as f64 / ping.answered as f64),
            "rtt_min_ns": answered.then_some(ping.rtt_min_ns),
            "rtt_max_ns": answered.then_some(ping.rtt_max_ns),
        })
    };
    found.pings.iter().map(row).collect()
}
