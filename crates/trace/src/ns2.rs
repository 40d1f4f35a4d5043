//! Parser of ns-2's event trace (ns manual §26.4, trace/trace.cc of 2.35): `event time from to type
//! size flags fid source.port destination.port sequence id`, with `show_tcphdr_` followed by `ack
//! 0xflags header-length address-length`.

use crate::event::{Event, EventKind, PacketKind};
use crate::fields::{hexadecimal, seconds, shown, whole, Fields};
use crate::network::{Link, Network};
use crate::problems::ProblemKind;

/// Length of IP and TCP headers in ns-2.
pub(crate) const HEADERS_BYTES: u32 = 40;
/// Maximum length of the flow id and both addresses.
const KEY_BYTES_MAX: usize = 120;
const FIELDS: [&str; 12] = [
    "event",
    "time",
    "from",
    "to",
    "type",
    "size",
    "flags",
    "flow id",
    "source",
    "destination",
    "sequence",
    "packet id",
];

/// A parsed line.
pub(crate) enum ParsedLine {
    Event(Event),
    /// Packet sent without waiting: it arrives at a link and leaves its queue at once.
    Sent(Event),
    /// Line of a wireless trace, which [`crate::wireless`] parses.
    Wireless,
    /// Remark of the simulator with its time, such as a link failure.
    Remark(i64, String),
    /// Empty line.
    Nothing,
    Problem(ProblemKind, String),
}

/// Parses a node number. Satellite links use -1 and -2 for no node.
#[inline]
fn node(field: &[u8]) -> Option<u32> {
    let number = i32::try_from(whole(field)?).ok()?;
    (number >= -2).then_some(number as u32)
}

fn field(number: usize, found: &[u8], allowed: &str) -> ParsedLine {
    let message = format!("field {} ({}) is {}", number + 1, FIELDS[number], shown(found));
    ParsedLine::Problem(ProblemKind::Field, format!("{message}; it should be {allowed}"))
}

/// Parses a line.
#[inline]
pub(crate) fn parse(line: &[u8], network: &mut Network) -> ParsedLine {
    let what = match line {
        [b'+', b' ' | b'\t', ..] => EventKind::Enqueue,
        [b'-', b' ' | b'\t', ..] => EventKind::Dequeue,
        [b'r', b' ' | b'\t', ..] => EventKind::Receive,
        // `e` is an error: links of some kinds lose packets this way.
        [b'd' | b'e', b' ' | b'\t', ..] => EventKind::Drop,
        _ => return other(line, network),
    };
    packet(what, line, network).unwrap_or_else(|problem| problem)
}

/// Parses a line with an event of a packet.
#[inline]
fn packet(what: EventKind, line: &[u8], network: &mut Network) -> Result<ParsedLine, ParsedLine> {
    let wrong = |number: usize, found: &[u8], allowed: &str| {
        few(line).unwrap_or_else(|| field(number, found, allowed))
    };
    let mut fields = Fields::new(&line[2..]);
    let time_ns = match time(fields.next()) {
        Ok(time_ns) => time_ns,
        // The new wireless format begins like nam's lines.
        Err(ParsedLine::Problem(ProblemKind::Nam, _))
            if memchr::memmem::find(line, b" -Hs ").is_some() =>
        {
            return Ok(ParsedLine::Wireless);
        }
        Err(problem) => return Err(problem),
    };
    let (from, to) = (fields.next(), fields.next());
    if from.starts_with(b"_") {
        return Ok(ParsedLine::Wireless);
    }
    let nodes = [
        (node(from).ok_or_else(|| wrong(2, from, "the number of a node"))?, from),
        (node(to).ok_or_else(|| wrong(3, to, "the number of a node"))?, to),
    ];
    let (kind, size) = (fields.next(), fields.next());
    let bytes = whole(size).and_then(|n| u32::try_from(n).ok());
    let bytes = bytes.ok_or_else(|| wrong(5, size, "a number of bytes"))?;
    let flags = fields.next();
    let start = fields.start();
    let fid = fields.next();
    let ends @ [source, _] = [fields.next(), fields.next()];
    let key = fields.between(start, fields.end());
    if key.len() > KEY_BYTES_MAX {
        return Err(field(8, source, "an address"));
    }
    let (mut seq, mut id) = (fields.next(), fields.next());
    if kind == b"sctp" {
        // Number of chunks, transmission sequence number (-1 for control chunks), packet.
        (seq, id) = (id, fields.next());
    }
    let uid = whole(id).and_then(|n| u64::try_from(n).ok());
    let uid = uid.ok_or_else(|| wrong(11, id, "a number from 0"))?;
    let seq = whole(seq).ok_or_else(|| field(10, seq, "a whole number"))?;
    let fid = whole(fid).ok_or_else(|| field(7, fid, "a whole number"))?;
    let (link, stream) = numbers(nodes, key, (kind, fid, ends), network)?;
    let (ack, tcp_flags, headers) = match kind {
        b"sctp" => (-1, 0, None),
        _ => tcp_header(&mut fields),
    };
    let payload = bytes.saturating_sub(headers.unwrap_or(HEADERS_BYTES));
    Ok(ParsedLine::Event(Event {
        what,
        time_ns,
        link,
        stream,
        uid,
        bytes,
        kind: kind_of(kind, payload),
        seq,
        ack,
        // Packets of other agents have no TCP header: its length is 0.
        payload_bytes: headers.is_some_and(|bytes| bytes > 0).then_some(payload),
        tcp_flags,
        tos: ecn(flags),
    }))
}

/// Numbers of a packet's link and stream.
#[inline]
fn numbers(
    [(from, from_name), (to, to_name)]: [(u32, &[u8]); 2],
    key: &[u8],
    (kind, fid, ends): (&[u8], i64, [&[u8]; 2]),
    network: &mut Network,
) -> Result<(u32, u32), ParsedLine> {
    let link = network.link(u64::from(from) << 32 | u64::from(to), |network| {
        let (from, to) = (network.node(from_name), network.node(to_name));
        Link { from, to: Some(to) }
    });
    let text = |field: &[u8]| String::from_utf8_lossy(field).into_owned();
    let stream = |network: &mut Network| network.stream(key, || (text(kind), fid, ends.map(text)));
    let too_many = |kind, what| ParsedLine::Problem(kind, format!("more {what} than are followed"));
    let link = link.ok_or_else(|| too_many(ProblemKind::TooManyLinks, "links"))?;
    let stream = stream(network).ok_or_else(|| too_many(ProblemKind::TooManyFlows, "flows"))?;
    Ok((link, stream))
}

/// Parses the time.
#[inline]
fn time(found: &[u8]) -> Result<i64, ParsedLine> {
    match seconds(found) {
        Some(time_ns) if time_ns >= 0 => Ok(time_ns),
        Some(_) => {
            let message = format!("the time is negative: {}", shown(found));
            Err(ParsedLine::Problem(ProblemKind::Negative, message))
        }
        None if found == b"-t" => Err(ParsedLine::Problem(ProblemKind::Nam, nam())),
        None => Err(field(1, found, "seconds")),
    }
}

/// Parses the optional fields of `show_tcphdr_`: ACK number, flags, header length.
#[inline]
fn tcp_header(fields: &mut Fields<'_>) -> (i64, u16, Option<u32>) {
    let ack = fields.next();
    if ack.is_empty() {
        return (-1, 0, None);
    }
    let flags = hexadecimal(fields.next()).unwrap_or(0);
    let length = whole(fields.next()).and_then(|length| u32::try_from(length).ok());
    (whole(ack).unwrap_or(-1), flags, length)
}

pub(crate) fn kind_of(kind: &[u8], payload: u32) -> PacketKind {
    match kind {
        b"ack" => PacketKind::Ack,
        // A packet of 40 bytes opens a connection. FullTcp calls it tcp or ack.
        b"tcp" if payload == 0 => PacketKind::Ack,
        b"tcp" => PacketKind::Data,
        _ => PacketKind::Other,
    }
}

/// Parses the seven flags: C ECN echo, P priority, -, A window reduced, E congestion experienced, F
/// fast start, N ECN-capable.
fn ecn(flags: &[u8]) -> u8 {
    match flags {
        [_, _, _, _, b'E', ..] => 3,
        [_, _, _, _, _, _, b'N', ..] => 2,
        _ => 0,
    }
}

fn nam() -> String {
    "a line of a nam trace; expected is the event trace (trace-all), not namtrace-all".to_owned()
}

/// Problem of a line with too few fields.
#[cold]
fn few(line: &[u8]) -> Option<ParsedLine> {
    let count =
        line.split(|byte| matches!(byte, b' ' | b'\t')).filter(|field| !field.is_empty()).count();
    (count < FIELDS.len()).then(|| {
        let message = format!(
            "{count} fields instead of {}: {} is missing",
            FIELDS.len(),
            FIELDS[count.min(FIELDS.len() - 1)]
        );
        ParsedLine::Problem(ProblemKind::FewFields, message)
    })
}

/// Parses a line without an event of a packet on a link.
#[cold]
fn other(line: &[u8], network: &mut Network) -> ParsedLine {
    let line = line.strip_prefix("\u{feff}".as_bytes()).unwrap_or(line);
    if let [b' ' | b'\t', ..] | [b'+' | b'-' | b'r' | b'd' | b'e', b' ' | b'\t', ..] = line {
        let text = line.trim_ascii_start();
        return if text.is_empty() { ParsedLine::Nothing } else { parse(text, network) };
    }
    if line.iter().any(|byte| !matches!(byte, b'\t' | b' '..=b'~' | 0x80..)) {
        return ParsedLine::Problem(ProblemKind::Binary, format!("not text: {}", shown(line)));
    }
    let mut fields = Fields::new(line);
    let (event, time) = (fields.next(), fields.next());
    match event {
        b"+" | b"-" | b"r" | b"d" | b"e" => few(line).unwrap_or_else(|| {
            ParsedLine::Problem(ProblemKind::FewFields, "nothing after the event".to_owned())
        }),
        b"E" => ParsedLine::Problem(
            ProblemKind::Agent,
            "an event of an agent, not of a packet on a link: skipped".to_owned(),
        ),
        b"v" => match seconds(time) {
            Some(at) if at >= 0 => ParsedLine::Remark(at, remark(&line[fields.end()..])),
            _ => field(1, time, "seconds"),
        },
        b"s" | b"f" | b"D" | b"M" | b"N" => ParsedLine::Wireless,
        b"V" | b"n" | b"l" | b"q" | b"a" | b"h" | b"c" if time == b"-t" => {
            ParsedLine::Problem(ProblemKind::Nam, nam())
        }
        _ => ParsedLine::Problem(
            ProblemKind::UnknownEvent,
            format!("it begins with {}; an event is one of + - r d", shown(event)),
        ),
    }
}

/// Text of a `v` line without ns-2's annotation syntax.
fn remark(rest: &[u8]) -> String {
    let text = String::from_utf8_lossy(rest);
    let text = text.trim();
    let inner = text
        .strip_prefix("eval {set sim_annotation {")
        .and_then(|inner| inner.strip_suffix("}}"))
        .unwrap_or(text);
    inner.chars().filter(|char| !char.is_control()).take(200).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(line: &str) -> Event {
        match parse(line.as_bytes(), &mut Network::default()) {
            ParsedLine::Event(event) => event,
            ParsedLine::Problem(_, message) | ParsedLine::Remark(_, message) => panic!("{message}"),
            ParsedLine::Nothing | ParsedLine::Wireless | ParsedLine::Sent(_) => panic!("no event"),
        }
    }

    #[test]
    fn a_line_of_ns_2() {
        let mut network = Network::default();
        let line = b"r 1.002336 0 2 cbr 210 ------- 0 0.0 3.1 7 16";
        let ParsedLine::Event(event) = parse(line, &mut network) else { panic!() };
        assert_eq!((event.what, event.time_ns), (EventKind::Receive, 1_002_336_000));
        assert_eq!((event.bytes, event.seq, event.uid), (210, 7, 16));
        assert_eq!((event.kind, event.ack, event.tos), (PacketKind::Other, -1, 0));
        assert_eq!(network.pipe_name(event.link), "0-2/forward");
        assert_eq!(network.flow_name(0), "0: cbr 0.0→3.1");
    }

    #[test]
    fn the_tcp_header_and_ecn() {
        let full = event("+ 1 2 10 tcp 576 ----E-- 2 2.0 3.0 5361 77 1 0x18 40 0");
        assert_eq!((full.ack, full.tcp_flags, full.payload_bytes), (1, 0x18, Some(536)));
        assert_eq!((full.kind, full.tos), (PacketKind::Data, 3));
        let ack = event("- 1.5 3 2 ack 40 ------N 2 3.0 2.0 1 78 5897 0x10 40 0");
        assert_eq!((ack.kind, ack.tos, ack.ack), (PacketKind::Ack, 2, 5897));
    }

    #[test]
    fn both_directions_are_one_flow_and_one_link() {
        let mut network = Network::default();
        for line in ["+ 0 0 2 tcp 40 ------- 1 0.0 3.0 0 0", "+ 0 2 0 ack 40 ------- 1 3.0 0.0 0 1"]
        {
            assert!(matches!(parse(line.as_bytes(), &mut network), ParsedLine::Event(_)));
        }
        assert_eq!(network.flows.len(), 1);
        assert_eq!([0, 1].map(|link| network.pipe_name(link)), ["0-2/forward", "0-2/backward"]);
        assert!(network.streams[0].outward && !network.streams[1].outward);
    }

    #[test]
    fn problems_are_reported() {
        for (line, kind, part) in [
            ("+ 1 0 2 cbr 210 ------- 0", ProblemKind::FewFields, "8 fields instead of 12: source"),
            ("+ 1 0 2 cbr x ------- 0 0.0 3.1 7 16", ProblemKind::Field, "field 6 (size) is 'x'"),
            ("+ -1 0 2 cbr 210 ------- 0 0.0 3.1 7 16", ProblemKind::Negative, "-1"),
            ("+ one 0 2 cbr 210 ------- 0 0.0 3.1 7 16", ProblemKind::Field, "field 2 (time)"),
            ("V -t * -v 1.0a5 -a 0", ProblemKind::Nam, "nam"),
            ("+ -t 1 -s 0 -d 2 -p cbr", ProblemKind::Nam, "nam"),
            ("\u{0}\u{1}\u{2}", ProblemKind::Binary, "not text"),
            ("hello", ProblemKind::UnknownEvent, "'hello'"),
        ] {
            match parse(line.as_bytes(), &mut Network::default()) {
                ParsedLine::Problem(found, message) => {
                    assert_eq!(found, kind, "{line}: {message}");
                    assert!(message.contains(part), "{line}: {message}");
                }
                _ => panic!("{line}"),
            }
        }
    }

    #[test]
    fn packets_of_sctp_have_their_number_behind_that_of_the_chunk() {
        let init = event("+ 0.5 1 4 sctp 56 -------I 0 1.0 4.0 1 -1 4 65535 65535");
        assert_eq!((init.uid, init.seq, init.kind), (4, -1, PacketKind::Other));
        let data = event("r 1.526624 1 4 sctp 1500 -------D 0 1.0 4.0 1 1 8 0 0");
        assert_eq!((data.uid, data.seq, data.bytes, data.ack), (8, 1, 1500, -1));
    }

    #[test]
    fn remarks_are_kept() {
        let line = b"v 1 eval {set sim_annotation {1 0 join-group 1073741824}}";
        let ParsedLine::Remark(at, text) = parse(line, &mut Network::default()) else { panic!() };
        assert_eq!((at, text.as_str()), (1_000_000_000, "1 0 join-group 1073741824"));
    }
}
