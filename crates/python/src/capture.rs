//! Contents of a capture as JSON, and matching of packets between captures.

use dumbbell_capture::connection::delayed::Policy;
use dumbbell_capture::connection::flight::SlowStartEnd;
use dumbbell_capture::connection::stream::Stream;
use dumbbell_capture::connection::{Closing, Fate, Side};
use dumbbell_capture::file::OpenError;
use dumbbell_capture::icmp::IcmpError;
use dumbbell_capture::rate::Rates;
use dumbbell_capture::sightings::Sightings;
use dumbbell_capture::survey::{Counted, LENGTH_BINS};
use dumbbell_capture::{
    CaptureFile, Connection, Conversation, ConversationKind, LinkType, Record, Survey,
};
use dumbbell_model::tables::{PacketRow, Table};
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::{json, Value};
use std::cmp::Reverse;
use std::fs::File;
use std::io::{self, Read};

/// Reason why a capture cannot be analysed.
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
    opened(source)
}

/// Opens a capture from any source of bytes.
pub(crate) fn opened<'a>(source: impl Read + 'a) -> Result<CaptureFile<'a>, Failure> {
    CaptureFile::open(source).map_err(|error| match error {
        OpenError::Io(error) => Failure::Io(error),
        OpenError::Unknown(_) => Failure::Other(error.to_string()),
    })
}

/// Matches packets between captures. Each interface of each file is a point.
pub(crate) fn sightings(
    files: &[(String, String)],
    most: usize,
) -> Result<(String, Table), Failure> {
    let mut seen = Sightings::default();
    let mut problems = Vec::new();
    for (path, name) in files {
        let mut file = open(path)?;
        // Names of interfaces are known only after reading.
        let mut points: Vec<u32> = Vec::new();
        let reading = file.read(|record| {
            let interface = record.interface as usize;
            while points.len() <= interface.min(u16::MAX.into()) {
                let number = points.len();
                points.push(seen.point(&format!("{name}\u{0}{number}")));
            }
            seen.add(points[interface.min(u16::MAX.into())], record, most);
        });
        if let Err(error) = reading {
            problems.push(json!({"file": name, "message": error.to_string()}));
        }
        for problem in file.problems() {
            let message = format!("at byte {}: {}", problem.offset, problem.message);
            problems.push(json!({"file": name, "message": message}));
        }
        seen.rename(points.len(), name, file.interfaces());
    }
    let rows = seen.rows();
    let flows: Vec<_> = seen
        .flows()
        .map(|(name, kind, [from, to])| json!({"flow": name, "kind": kind, "from": from, "to": to}))
        .collect();
    let about = json!({
        "points": seen.points(),
        "flows": flows,
        "problems": problems,
        "other": seen.other,
        "left_out": seen.left_out,
    });
    Ok((about.to_string(), PacketRow::table(&rows)))
}

/// Interval of time, relative to the first timestamp of a file.
#[derive(Clone, Copy, Default)]
pub(crate) struct Window {
    first_ns: Option<i64>,
    from_ns: Option<i64>,
    to_ns: Option<i64>,
}

impl Window {
    pub(crate) fn new(from_ns: Option<i64>, to_ns: Option<i64>) -> Self {
        Self { first_ns: None, from_ns, to_ns }
    }

    /// Returns true if a record is within the interval. Records without a timestamp are outside,
    /// unless the interval is unbounded.
    #[inline]
    pub(crate) fn holds(&mut self, record: &Record<'_>) -> bool {
        if self.from_ns.is_none() && self.to_ns.is_none() {
            return true;
        }
        let Some(now) = record.time_ns else { return false };
        let since = now.saturating_sub(*self.first_ns.get_or_insert(now));
        self.from_ns.is_none_or(|from| since >= from) && self.to_ns.is_none_or(|to| since < to)
    }
}

/// Contents of a capture. Large tables are returned in pieces.
pub(crate) struct Surveyed {
    /// All tables but `conversations` and `connections`, as JSON.
    pub(crate) small: String,
    found: Survey,
}

impl Surveyed {
    pub(crate) fn conversation_count(&self) -> usize {
        self.found.conversations.len()
    }

    pub(crate) fn connection_count(&self) -> usize {
        self.found.connections.len()
    }

    /// Rows of the table `conversations`, as JSON.
    pub(crate) fn conversations(&self, from: usize, count: usize) -> Result<String, Failure> {
        let some = self.found.conversations.iter().skip(from).take(count);
        text(&some.map(|one| Conversed(&self.found, one)).collect::<Vec<_>>())
    }

    /// Rows of the table `connections`, as JSON, in order of the conversations' first frames: one
    /// per direction of each opened connection.
    pub(crate) fn connections(&self, from: usize, count: usize) -> Result<String, Failure> {
        let found = &self.found;
        let numbers = from..from.saturating_add(count).min(found.connections.len());
        let known = numbers.filter_map(|at| Some((at, found.connections.get(at)?)));
        let opened: Vec<_> = known.filter(|(_, (_, connection))| is_opened(connection)).collect();
        let mut rows = Vec::new();
        for (number, (conversation, connection)) in &opened {
            let conversation = *conversation as usize;
            let ends = &found.conversations[conversation];
            rows.extend((0..2).map(|side| Direction {
                number: *number,
                conversation,
                found,
                ends,
                connection,
                side,
            }));
        }
        text(&rows)
    }
}

fn text<T: Serialize>(value: &T) -> Result<String, Failure> {
    serde_json::to_string(value).map_err(|error| Failure::Other(error.to_string()))
}

pub(crate) fn survey(path: &str, mut window: Window) -> Result<Surveyed, Failure> {
    let mut file = open(path)?;
    let mut found = Survey::default();
    // A read error is reported as a problem; earlier records count.
    let reading = file.read(|record| {
        if window.holds(record) {
            found.add(record);
        } else {
            found.pass_over();
        }
    });
    let broken = reading.err().map(|error| error.to_string());
    let problems: Vec<_> = file
        .problems()
        .iter()
        .map(|problem| json!({"offset": problem.offset, "message": problem.message}))
        .collect();
    let (first, last) = found.times_ns.unzip();
    let unopened = found.connections.iter().filter(|(_, one)| !is_opened(one)).count();
    let small = json!({
        "file": {
            "packets": found.total.packets,
            "bytes": found.total.bytes,
            "first_ns": first,
            "last_ns": last,
            "truncated_packets": found.truncated,
            "packets_without_ip": found.other,
            "busiest_100ms_bytes": found.busiest.max(),
            "tunnels_not_entered": found.too_deep,
            "joined_frames": found.aggregated,
            "disordered_frames": found.disordered,
            "apart_packets": found.apart().packets,
            "apart_ns": found.apart().sum_ns,
            "tcp_packets_not_read": found.unread,
            "icmp_errors": found.icmp.count,
            "connections_not_opened": unopened,
            "problems": problems,
            "problem_count": file.problem_count(),
            "broken": broken,
        },
        "interfaces": interfaces(&found, file.interfaces()),
        "link_types": link_types(&found),
        "skipped": skipped(&found),
        "lengths": lengths(&found),
        "pings": pings(&found),
        "icmp": icmp(&found),
    });
    let small = small.as_object().into_iter().flatten();
    let rates = Binned(&found.rates, ["packets", "bytes"]);
    let small = text(&All { small: small.collect(), rates })?;
    Ok(Surveyed { small, found })
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

/// Frames by link type.
fn link_types(found: &Survey) -> Vec<Value> {
    let row = |(link, packets): &(LinkType, u64)| {
        let number = (*link != LinkType::MIXED).then_some(link.0);
        json!({"link_type": link.to_string(), "number": number, "packets": packets})
    };
    found.links.counts().iter().map(row).collect()
}

/// Contents of frames without IP, most frequent first.
fn skipped(found: &Survey) -> Vec<Value> {
    let mut counts = found.skipped.counts().to_vec();
    counts.sort_by_key(|(_, packets)| Reverse(*packets));
    counts
        .iter()
        .map(|(what, packets)| json!({"what": what.to_string(), "packets": packets}))
        .collect()
}

/// Tunnels of a conversation's packets as text, outermost first.
fn tunnel(found: &Survey, conversation: &Conversation) -> Option<String> {
    let outer = found.outer(conversation.tunnel);
    let names: Vec<_> = outer.iter().map(ToString::to_string).collect();
    (!names.is_empty()).then(|| names.join(", "))
}

/// Row of the table `conversations`.
struct Conversed<'a>(&'a Survey, &'a Conversation);

impl Serialize for Conversed<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(found, one) = self;
        let protocol = match one.kind {
            ConversationKind::Ip => "ip",
            ConversationKind::Tcp => "tcp",
            ConversationKind::Udp => "udp",
        };
        let port = |port: u16| (one.kind != ConversationKind::Ip).then_some(port);
        let [there, back] = one.counted;
        let (first, last) = one.times_ns.unzip();
        let mut row = serializer.serialize_map(Some(12))?;
        row.serialize_entry("protocol", protocol)?;
        row.serialize_entry("address_a", &one.a.0.to_string())?;
        row.serialize_entry("port_a", &port(one.a.1))?;
        row.serialize_entry("address_b", &one.b.0.to_string())?;
        row.serialize_entry("port_b", &port(one.b.1))?;
        row.serialize_entry("packets_a_to_b", &there.packets)?;
        row.serialize_entry("bytes_a_to_b", &there.bytes)?;
        row.serialize_entry("packets_b_to_a", &back.packets)?;
        row.serialize_entry("bytes_b_to_a", &back.bytes)?;
        row.serialize_entry("first_ns", &first)?;
        row.serialize_entry("last_ns", &last)?;
        row.serialize_entry("tunnel", &tunnel(found, one))?;
        row.end()
    }
}

/// The small tables.
struct All<'a> {
    small: Vec<(&'a String, &'a Value)>,
    rates: Binned<'a, 2>,
}

impl Serialize for All<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut all = serializer.serialize_map(None)?;
        for (name, value) in &self.small {
            all.serialize_entry(name, value)?;
        }
        all.serialize_entry("rates", &self.rates)?;
        all.end()
    }
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

/// Named amounts over time.
struct Binned<'a, const N: usize>(&'a Rates<N>, [&'static str; N]);

impl<const N: usize> Serialize for Binned<'_, N> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(rates, names) = self;
        let mut row = serializer.serialize_map(Some(N + 2))?;
        row.serialize_entry("start_ns", &rates.start_ns())?;
        row.serialize_entry("width_ns", &rates.width_ns())?;
        for (index, name) in names.iter().enumerate() {
            let values: Vec<_> = rates.bins().iter().map(|bin| bin[index]).collect();
            row.serialize_entry(name, &values)?;
        }
        row.end()
    }
}

/// Row of the table `connections`: one direction of a connection.
struct Direction<'a> {
    number: usize,
    conversation: usize,
    found: &'a Survey,
    ends: &'a Conversation,
    connection: &'a Connection,
    side: usize,
}

/// Returns true if the connection was opened, as far as the capture shows.
fn is_opened(connection: &Connection) -> bool {
    let data = connection.sides.iter().any(|side| side.stream.is_some());
    data || connection.handshake_ns[2].is_some() || connection.handshake_ns[0].is_none()
}

impl Serialize for Direction<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (side, connection) = (self.side, self.connection);
        let timed = |time: Option<i64>| time.filter(|_| !connection.timeless);
        let (a, b) = (self.ends.a, self.ends.b);
        let (from, to) = if side == 0 { (a, b) } else { (b, a) };
        let (one, other) = (&connection.sides[side], &connection.sides[1 - side]);
        let mut row = serializer.serialize_map(None)?;
        row.serialize_entry("connection", &self.number)?;
        row.serialize_entry("conversation", &self.conversation)?;
        row.serialize_entry("interface", &connection.interface)?;
        row.serialize_entry("direction", if side == 0 { "a_to_b" } else { "b_to_a" })?;
        row.serialize_entry("from_address", &from.0.to_string())?;
        row.serialize_entry("from_port", &from.1)?;
        row.serialize_entry("to_address", &to.0.to_string())?;
        row.serialize_entry("to_port", &to.1)?;
        row.serialize_entry("tunnel", &tunnel(self.found, self.ends))?;
        row.serialize_entry("first_ns", &timed(connection.times_ns.map(|times| times.0)))?;
        row.serialize_entry("last_ns", &timed(connection.times_ns.map(|times| times.1)))?;
        row.serialize_entry("opened_ns", &timed(connection.handshake_ns[0]))?;
        row.serialize_entry("established_ns", &timed(connection.handshake_ns[2]))?;
        row.serialize_entry("opened_it", &connection.opener.map(|opener| opener == side))?;
        row.serialize_entry("syn_rtt_ns", &timed(connection.syn_rtt_ns()))?;
        row.serialize_entry("handshake_rtt_ns", &timed(connection.handshake_rtt_ns()))?;
        row.serialize_entry("closed", &closed(connection.closing, side))?;
        row.serialize_entry("packets", &one.packets)?;
        row.serialize_entry("bytes", &one.bytes)?;
        row.serialize_entry("turns", &one.turns)?;
        sent(&mut row, one, !connection.timeless)?;
        // The other side sends the ACKs of this direction's data.
        let scaled = !connection.scale_is_cut();
        acknowledged(&mut row, other, one.stream.as_deref(), !connection.timeless, scaled)?;
        announced(&mut row, one)?;
        row.end()
    }
}

/// Columns about the data of this direction.
fn sent<M: SerializeMap>(row: &mut M, one: &Side, timed: bool) -> Result<(), M::Error> {
    let (stream, copies) = (one.stream.as_deref(), one.duplicates);
    let counters = stream.map(|stream| stream.counters).unwrap_or_default();
    let [fast, timeout, probe, path_mtu, unreachable, _] = counters.retransmitted;
    let [dsack, timestamp, acknowledged] = stream.map_or([0; 3], Stream::spurious);
    let (timeouts, recoveries) = stream.map_or((0, 0), Stream::recoveries);
    row.serialize_entry("data_packets", &counters.data_packets)?;
    row.serialize_entry("payload_bytes", &counters.payload_bytes)?;
    row.serialize_entry("unique_bytes", &counters.unique_bytes)?;
    row.serialize_entry("unseen_bytes", &counters.unseen_bytes)?;
    row.serialize_entry("acked_bytes", &stream.map_or(0, Stream::acked_bytes))?;
    row.serialize_entry("first_data_ns", &counters.first_ns.filter(|_| timed))?;
    row.serialize_entry("last_data_ns", &counters.last_ns.filter(|_| timed))?;
    row.serialize_entry("segment_max_bytes", &counters.segment_max_bytes)?;
    row.serialize_entry("retransmitted_packets", &counters.retransmitted.iter().sum::<u64>())?;
    row.serialize_entry("retransmitted_bytes", &counters.retransmitted_bytes)?;
    row.serialize_entry("fast_retransmitted_packets", &fast)?;
    row.serialize_entry("timeout_retransmitted_packets", &timeout)?;
    row.serialize_entry("probe_retransmitted_packets", &probe)?;
    row.serialize_entry("path_mtu_retransmitted_packets", &path_mtu)?;
    row.serialize_entry("unreachable_retransmitted_packets", &unreachable)?;
    row.serialize_entry("retransmitted_syns", &one.retransmitted_syns)?;
    row.serialize_entry("retransmitted_fins", &counters.retransmitted_fins)?;
    row.serialize_entry("spurious_retransmitted_packets", &(dsack + timestamp + acknowledged))?;
    row.serialize_entry("spurious_by_dsack_packets", &dsack)?;
    row.serialize_entry("spurious_by_timestamp_packets", &timestamp)?;
    row.serialize_entry("spurious_by_acknowledgement_packets", &acknowledged)?;
    row.serialize_entry("timeouts", &timeouts)?;
    row.serialize_entry("recoveries", &recoveries)?;
    for (judged, by) in
        [("retransmitted", counters.retransmitted_by), ("reordered", counters.reordered_by)]
    {
        let names =
            ["seen_before", "acknowledged", "identification", "timestamp", "time", "missing"];
        for (name, packets) in names.into_iter().zip(by) {
            // Bytes that passed before or were acknowledged cannot be reordered.
            if judged == "retransmitted" || matches!(name, "identification" | "timestamp" | "time")
            {
                row.serialize_entry(&format!("{judged}_by_{name}_packets"), &packets)?;
            }
        }
    }
    row.serialize_entry("reordered_packets", &counters.reordered_by.iter().sum::<u64>())?;
    row.serialize_entry("copied_packets", &(counters.duplicates + copies))?;
    row.serialize_entry("keep_alive_packets", &counters.keep_alives)?;
    let flight = stream.map(|stream| stream.flight).unwrap_or_default();
    row.serialize_entry("in_flight_max_bytes", &flight.max_bytes)?;
    row.serialize_entry("in_flight_mean_bytes", &flight.mean_bytes())?;
    row.serialize_entry("window_inferred_mean_bytes", &flight.window_mean_bytes())?;
    let slow_start = flight.slow_start;
    let why = slow_start.map(|end| match end.end {
        SlowStartEnd::Loss => "loss",
        SlowStartEnd::Plateau => "plateau",
    });
    row.serialize_entry("slow_start_end", &why)?;
    row.serialize_entry("slow_start_end_ns", &slow_start.map(|end| end.at_ns).filter(|_| timed))?;
    row.serialize_entry("slow_start_end_bytes", &slow_start.map(|end| end.flight_bytes))?;
    let rates = stream
        .filter(|_| timed)
        .map(|stream| Binned(&stream.rates, ["payload_bytes", "unique_bytes"]));
    row.serialize_entry("rates", &rates)
}

/// Columns about the ACKs of this direction's data. `scaled`: false if the windows' scale is cut.
fn acknowledged<M: SerializeMap>(
    row: &mut M,
    other: &Side,
    stream: Option<&Stream>,
    timed: bool,
    scaled: bool,
) -> Result<(), M::Error> {
    let rtt = stream.filter(|_| timed).map(|stream| stream.rtt).unwrap_or_default();
    let sampled = rtt.samples > 0;
    row.serialize_entry("rtt_samples", &rtt.samples)?;
    row.serialize_entry("rtt_mean_ns", &rtt.mean_ns())?;
    row.serialize_entry("rtt_min_ns", &sampled.then_some(rtt.min_ns))?;
    row.serialize_entry("rtt_max_ns", &sampled.then_some(rtt.max_ns))?;
    row.serialize_entry("acks", &other.acks)?;
    row.serialize_entry("acks_with_cut_options", &other.cut)?;
    // What the snap length cuts off is unknown.
    let whole = |count: u64| (other.cut == 0).then_some(count);
    row.serialize_entry("acks_with_sack", &whole(other.acks_with_sack))?;
    row.serialize_entry("sack_blocks", &whole(other.sack_blocks))?;
    row.serialize_entry("dsacks", &whole(other.dsacks))?;
    let unexplained = stream.map_or(0, Stream::unexplained_dsacks);
    row.serialize_entry("dsacks_unexplained", &whole(unexplained))?;
    row.serialize_entry("duplicate_acks", &other.duplicate_acks)?;
    row.serialize_entry("zero_windows", &other.zero_windows)?;
    let least = other.window_min_bytes.filter(|_| scaled);
    row.serialize_entry("window_min_bytes", &least)?;
    row.serialize_entry("window_max_bytes", &least.map(|_| other.window_max_bytes))?;
    let delayed = stream.map(|stream| stream.delayed).unwrap_or_default();
    row.serialize_entry("acks_of_one_segment", &delayed.of_one)?;
    row.serialize_entry("acks_of_two_segments", &delayed.of_two)?;
    row.serialize_entry("acks_of_more_segments", &delayed.of_more)?;
    row.serialize_entry("quick_acks", &delayed.quick)?;
    let policy = delayed.policy().map(|policy| match policy {
        Policy::Each => "every segment",
        Policy::EverySecond => "every 2nd segment",
        Policy::QuickThenEverySecond => "quick ACKs first, then every 2nd segment",
        Policy::Stretched => "fewer than every 2nd segment",
        Policy::Mixed => "mixed",
    });
    row.serialize_entry("acknowledges", &policy)?;
    Ok(())
}

/// Columns about this side's announcements, and ECN.
fn announced<M: SerializeMap>(row: &mut M, one: &Side) -> Result<(), M::Error> {
    row.serialize_entry("mss_bytes", &one.mss)?;
    row.serialize_entry("window_scale", &one.window_scale)?;
    let permitted = one.initial.filter(|_| one.sack_permitted || !one.syn_cut);
    row.serialize_entry("sack_permitted", &permitted.map(|_| one.sack_permitted))?;
    let stamped = (one.timestamps || one.cut == 0).then_some(one.timestamps);
    row.serialize_entry("timestamps", &stamped)?;
    row.serialize_entry("syns", &one.syns)?;
    row.serialize_entry("fins", &one.fins)?;
    row.serialize_entry("resets", &one.resets)?;
    row.serialize_entry("ecn_congested_packets", &one.congested)?;
    row.serialize_entry("ecn_echo_packets", &one.echoes)?;
    row.serialize_entry("ecn_reduced_packets", &one.reductions)?;
    row.serialize_entry("malformed_options_packets", &one.malformed)?;
    row.serialize_entry("cut_options_packets", &one.cut)?;
    row.serialize_entry("icmp_too_big", &one.reported.too_big)?;
    row.serialize_entry("icmp_unreachable", &one.reported.unreachable)?;
    row.serialize_entry("icmp_time_exceeded", &one.reported.exceeded)?;
    row.serialize_entry("path_mtu_bytes", &one.reported.path_mtu)?;
    Ok(())
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

/// ICMP errors in order, with the quoted packets.
fn icmp(found: &Survey) -> Vec<Value> {
    let row = |error: &IcmpError| {
        let quote = &error.message.quote;
        let ports = quote.ports.unzip();
        let matched = error.matched.filter(|matched| {
            let known = found.connections.get(matched.connection as usize);
            known.is_some_and(|(_, connection)| is_opened(&connection))
        });
        let directions = ["a_to_b", "b_to_a"];
        let mtu = match error.message.fate {
            Fate::TooBig(mtu) => mtu,
            Fate::Unreachable | Fate::Exceeded => None,
        };
        json!({
            "frame": error.frame,
            "time_ns": error.time_ns,
            "interface": error.interface,
            "from_address": error.from.to_string(),
            "what": error.message.to_string(),
            "type": error.message.kind,
            "code": error.message.code,
            "mtu_bytes": mtu,
            "quoted_from_address": quote.source.to_string(),
            "quoted_from_port": ports.0,
            "quoted_to_address": quote.destination.to_string(),
            "quoted_to_port": ports.1,
            "quoted_protocol": quote.protocol,
            "quoted_bytes": quote.ip_bytes,
            "connection": matched.map(|matched| matched.connection),
            "direction": matched.map(|matched| directions[matched.side]),
            "position_bytes": matched.and_then(|matched| matched.position),
        })
    };
    found.icmp.kept.iter().map(row).collect()
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
