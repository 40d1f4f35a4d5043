//! Parser of ns-2's event trace (ns manual §26.4, trace/trace.cc of 2.35): `event time from to type
//! size flags fid source.port destination.port sequence id`, with `show_tcphdr_` followed by `ack
//! 0xflags header-length address-length`.

use crate::event::{Event, Kind, What};
use crate::fields::{hexadecimal, seconds, shown, whole, Fields};
use crate::network::{Link, Network};
use crate::problems::Kind as Wrong;

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
pub(crate) enum Said {
    Event(Event),
    /// Packet sent without waiting: it arrives at a link and leaves its queue at once.
    Sent(Event),
    /// Line of a wireless trace, which [`crate::wireless`] parses.
    Wireless,
    /// Remark of the simulator with its time, such as a link failure.
    Remark(i64, String),
    /// Empty line.
    Nothing,
    Wrong(Wrong, String),
}

/// Parses a node number. Satellite links use -1 and -2 for no node.
#[inline]
fn node(field: &[u8]) -> Option<u32> {
    let number = i32::try_from(whole(field)?).ok()?;
    (number >= -2).then_some(number as u32)
}

fn field(number: usize, found: &[u8], allowed: &str) -> Said {
    let message = format!("field {} ({}) is {}", number + 1, FIELDS[number], shown(found));
    Said::Wrong(Wrong::Field, format!("{message}; it should be {allowed}"))
}

/// Parses a line.
#[inline]
pub(crate) fn parse(line: &[u8], network: &mut Network) -> Said {
    let what = match line {
        [b'+', b' ' | b'\t', ..] => What::Enqueue,
        [b'-', b' ' | b'\t', ..] => What::Dequeue,
        [b'r', b' ' | b'\t', ..] => What::Receive,
        // `e` is an error: links of some kinds lose packets this way.
        [b'd' | b'e', b' ' | b'\t', ..] => What::Drop,
        _ => return other(line, network),
    };
    let mut fields = Fields::new(&line[2..]);
    let time_ns = match time(fields.next()) {
        Ok(time_ns) => time_ns,
        // The new wireless format begins like nam's lines.
        Err(Said::Wrong(Wrong::Nam, _)) if memchr::memmem::find(line, b" -Hs ").is_some() => {
            return Said::Wireless;
        }
        Err(wrong) => return wrong,
    };
    let (from, to) = (fields.next(), fields.next());
    if from.starts_with(b"_") {
        return Said::Wireless;
    }
    let Some(from_number) = node(from) else {
        return few(line).unwrap_or_else(|| field(2, from, "the number of a node"));
    };
    let Some(to_number) = node(to) else {
        return few(line).unwrap_or_else(|| field(3, to, "the number of a node"));
    };
    let kind = fields.next();
    let size = fields.next();
    let Some(bytes) = whole(size).and_then(|n| u32::try_from(n).ok()) else {
        return few(line).unwrap_or_else(|| field(5, size, "a number of bytes"));
    };
    let flags = fields.next();
    let start = fields.start();
    let fid = fields.next();
    let (source, destination) = (fields.next(), fields.next());
    let key = fields.between(start, fields.end());
    if key.len() > KEY_BYTES_MAX {
        return field(8, source, "an address");
    }
    let (mut seq, mut id) = (fields.next(), fields.next());
    if kind == b"sctp" {
        // Number of chunks, transmission sequence number (-1 for control chunks), packet.
        (seq, id) = (id, fields.next());
    }
    let Some(uid) = whole(id).and_then(|n| u64::try_from(n).ok()) else {
        return few(line).unwrap_or_else(|| field(11, id, "a number from 0"));
    };
    let Some(seq) = whole(seq) else { return field(10, seq, "a whole number") };
    let Some(fid) = whole(fid) else { return field(7, fid, "a whole number") };

    let link = network.link(u64::from(from_number) << 32 | u64::from(to_number), |network| {
        let (from, to) = (network.node(from), network.node(to));
        Link { from, to: Some(to) }
    });
    let Some(link) = link else {
        return Said::Wrong(Wrong::TooManyLinks, "more links than are followed".to_owned());
    };
    let text = |field: &[u8]| String::from_utf8_lossy(field).into_owned();
    let stream = network.stream(key, || (text(kind), fid, [text(source), text(destination)]));
    let Some(stream) = stream else {
        return Said::Wrong(Wrong::TooManyFlows, "more flows than are followed".to_owned());
    };
    let (ack, tcp_flags, headers) = match kind {
        b"sctp" => (-1, 0, None),
        _ => tcp_header(&mut fields),
    };
    let payload = bytes.saturating_sub(headers.unwrap_or(HEADERS_BYTES));
    Said::Event(Event {
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
    })
}

/// Parses the time.
#[inline]
fn time(found: &[u8]) -> Result<i64, Said> {
    match seconds(found) {
        Some(time_ns) if time_ns >= 0 => Ok(time_ns),
        Some(_) => {
            let message = format!("the time is negative: {}", shown(found));
            Err(Said::Wrong(Wrong::Negative, message))
        }
        None if found == b"-t" => Err(Said::Wrong(Wrong::Nam, nam())),
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

pub(crate) fn kind_of(kind: &[u8], payload: u32) -> Kind {
    match kind {
        b"ack" => Kind::Ack,
        // A packet of 40 bytes opens a connection. FullTcp calls it tcp or ack.
        b"tcp" if payload == 0 => Kind::Ack,
        b"tcp" => Kind::Data,
        _ => Kind::Other,
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
    "a line of a nam trace; what is read here is the event trace (trace-all), not namtrace-all"
        .to_owned()
}

/// Problem of a line with too few fields.
#[cold]
fn few(line: &[u8]) -> Option<Said> {
    let count =
        line.split(|byte| matches!(byte, b' ' | b'\t')).filter(|field| !field.is_empty()).count();
    (count < FIELDS.len()).then(|| {
        let message = format!(
            "{count} fields where {} belong: {} is missing",
            FIELDS.len(),
            FIELDS[count.min(FIELDS.len() - 1)]
        );
        Said::Wrong(Wrong::FewFields, message)
    })
}

/// Parses a line without an event of a packet on a link.
#[cold]
fn other(line: &[u8], network: &mut Network) -> Said {
    let line = line.strip_prefix("\u{feff}".as_bytes()).unwrap_or(line);
    if let [b' ' | b'\t', ..] | [b'+' | b'-' | b'r' | b'd' | b'e', b' ' | b'\t', ..] = line {
        let text = line.trim_ascii_start();
        return if text.is_empty() { Said::Nothing } else { parse(text, network) };
    }
    if line.iter().any(|byte| !matches!(byte, b'\t' | b' '..=b'~' | 0x80..)) {
        return Said::Wrong(Wrong::Binary, format!("not text: {}", shown(line)));
    }
    let mut fields = Fields::new(line);
    let (event, time) = (fields.next(), fields.next());
    match event {
        b"+" | b"-" | b"r" | b"d" | b"e" => few(line).unwrap_or_else(|| {
            Said::Wrong(Wrong::FewFields, "nothing behind the event".to_owned())
        }),
        b"E" => Said::Wrong(
            Wrong::Agent,
            "an event of an agent, not of a packet on a link: left out".to_owned(),
        ),
        b"v" => match seconds(time) {
            Some(at) if at >= 0 => Said::Remark(at, remark(&line[fields.end()..])),
            _ => field(1, time, "seconds"),
        },
        b"s" | b"f" | b"D" | b"M" | b"N" => Said::Wireless,
        b"V" | b"n" | b"l" | b"q" | b"a" | b"h" | b"c" if time == b"-t" => {
            Said::Wrong(Wrong::Nam, nam())
        }
        _ => Said::Wrong(
            Wrong::UnknownEvent,
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
            Said::Event(event) => event,
            Said::Wrong(_, message) | Said::Remark(_, message) => panic!("{message}"),
            Said::Nothing | Said::Wireless | Said::Sent(_) => panic!("no event"),
        }
    }

    #[test]
    fn a_line_of_ns_2() {
        let mut network = Network::default();
        let line = b"r 1.002336 0 2 cbr 210 ------- 0 0.0 3.1 7 16";
        let Said::Event(event) = parse(line, &mut network) else { panic!() };
        assert_eq!((event.what, event.time_ns), (What::Receive, 1_002_336_000));
        assert_eq!((event.bytes, event.seq, event.uid), (210, 7, 16));
        assert_eq!((event.kind, event.ack, event.tos), (Kind::Other, -1, 0));
        assert_eq!(network.pipe_name(event.link), "0-2/forward");
        assert_eq!(network.flow_name(0), "0: cbr 0.0→3.1");
    }

    #[test]
    fn the_tcp_header_and_ecn() {
        let full = event("+ 1 2 10 tcp 576 ----E-- 2 2.0 3.0 5361 77 1 0x18 40 0");
        assert_eq!((full.ack, full.tcp_flags, full.payload_bytes), (1, 0x18, Some(536)));
        assert_eq!((full.kind, full.tos), (Kind::Data, 3));
        let ack = event("- 1.5 3 2 ack 40 ------N 2 3.0 2.0 1 78 5897 0x10 40 0");
        assert_eq!((ack.kind, ack.tos, ack.ack), (Kind::Ack, 2, 5897));
    }

    #[test]
    fn both_directions_are_one_flow_and_one_link() {
        let mut network = Network::default();
        for line in ["+ 0 0 2 tcp 40 ------- 1 0.0 3.0 0 0", "+ 0 2 0 ack 40 ------- 1 3.0 0.0 0 1"]
        {
            assert!(matches!(parse(line.as_bytes(), &mut network), Said::Event(_)));
        }
        assert_eq!(network.flows.len(), 1);
        assert_eq!([0, 1].map(|link| network.pipe_name(link)), ["0-2/forward", "0-2/backward"]);
        assert!(network.streams[0].outward && !network.streams[1].outward);
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (line, kind, part) in [
            ("+ 1 0 2 cbr 210 ------- 0", Wrong::FewFields, "8 fields where 12 belong: source"),
            ("+ 1 0 2 cbr x ------- 0 0.0 3.1 7 16", Wrong::Field, "field 6 (size) is 'x'"),
            ("+ -1 0 2 cbr 210 ------- 0 0.0 3.1 7 16", Wrong::Negative, "-1"),
            ("+ one 0 2 cbr 210 ------- 0 0.0 3.1 7 16", Wrong::Field, "field 2 (time)"),
            ("V -t * -v 1.0a5 -a 0", Wrong::Nam, "nam"),
            ("+ -t 1 -s 0 -d 2 -p cbr", Wrong::Nam, "nam"),
            ("\u{0}\u{1}\u{2}", Wrong::Binary, "not text"),
            ("hello", Wrong::UnknownEvent, "'hello'"),
        ] {
            match parse(line.as_bytes(), &mut Network::default()) {
                Said::Wrong(found, message) => {
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
        assert_eq!((init.uid, init.seq, init.kind), (4, -1, Kind::Other));
        let data = event("r 1.526624 1 4 sctp 1500 -------D 0 1.0 4.0 1 1 8 0 0");
        assert_eq!((data.uid, data.seq, data.bytes, data.ack), (8, 1, 1500, -1));
    }

    #[test]
    fn remarks_are_kept() {
        let line = b"v 1 eval {set sim_annotation {1 0 join-group 1073741824}}";
        let Said::Remark(at, text) = parse(line, &mut Network::default()) else { panic!() };
        assert_eq!((at, text.as_str()), (1_000_000_000, "1 0 join-group 1073741824"));
    }
}
