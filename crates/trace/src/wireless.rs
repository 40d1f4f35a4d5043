//! Parser of ns-2's wireless traces, old and new format (ns manual §16.1.6 and §16.1.7): packets
//! sent and received by the agents at both ends, and drops between them. Not every format names the
//! next hop of routing and MAC lines, and the MAC repeats frames. The path between the ends is
//! therefore one link, and its lines are only counted.
//!
//! `s 10.0 _0_ AGT --- 2 tcp 1000 [0 0 0 0] ------- [0:0 1:0 32 0] [0 0] 0 0`, and
//! `s -t 10.0 -Hs 0 -Hd -2 -Ni 0 … -Nl AGT -Nw --- … -Is 0.0 -Id 1.0 -It tcp -Il 1000 -If 2 -Ii 2 …`.

use crate::event::{Event, EventKind};
use crate::fields::{seconds, shown, whole, Fields};
use crate::network::{Link, Network};
use crate::ns2::{kind_of, ParsedLine, HEADERS_BYTES};
use crate::problems::ProblemKind;
use hashbrown::HashMap;

/// Maximum number of packets in transit; beyond it, all are forgotten.
const IN_TRANSIT_MAX: usize = 1 << 18;
/// Maximum length of an address.
const ADDRESS_BYTES_MAX: usize = 60;
/// Maximum number of fields in a line of the new format.
const TAGS_MAX: usize = 64;

#[derive(Clone, Copy)]
struct Sent {
    link: u32,
    bytes: u32,
}

/// Parser state.
#[derive(Default)]
pub(crate) struct Wireless {
    sent: HashMap<u64, Sent>,
    /// Numbers of destination addresses.
    addresses: HashMap<Box<[u8]>, u32>,
}

/// Fields of a line of either format.
#[derive(Default)]
struct Line<'a> {
    time: &'a [u8],
    node: &'a [u8],
    level: &'a [u8],
    reason: &'a [u8],
    id: &'a [u8],
    kind: &'a [u8],
    bytes: &'a [u8],
    from: &'a [u8],
    to: &'a [u8],
    seq: &'a [u8],
    fid: &'a [u8],
}

fn problem(kind: ProblemKind, message: impl Into<String>) -> ParsedLine {
    ParsedLine::Problem(kind, message.into())
}

/// Parses the new format, with fields `-Xy value`.
fn tagged(line: &[u8]) -> Line<'_> {
    let mut fields = Fields::new(line);
    let mut found = Line::default();
    for _ in 0..TAGS_MAX {
        let tag = fields.next();
        if tag.is_empty() {
            break;
        }
        let into = match tag {
            b"-t" => &mut found.time,
            b"-Ni" => &mut found.node,
            b"-Nl" => &mut found.level,
            b"-Nw" => &mut found.reason,
            b"-Ii" => &mut found.id,
            b"-It" => &mut found.kind,
            b"-Il" => &mut found.bytes,
            b"-Is" => &mut found.from,
            b"-Id" => &mut found.to,
            b"-If" => &mut found.fid,
            // Sequence number of TCP and of constant bit rate.
            b"-Ps" | b"-Pi" => &mut found.seq,
            // Other tags have one value, too; the event has none.
            tag if tag.starts_with(b"-") && tag.len() > 1 => {
                fields.next();
                continue;
            }
            _ => continue,
        };
        *into = fields.next();
    }
    found
}

/// Parses the old format with positional fields. With node positions, `(x y)` follows the node.
fn positional(line: &[u8]) -> Line<'_> {
    let mut fields = Fields::new(line);
    let mut next = || fields.next();
    let _event = next();
    let (time, node) = (next(), next());
    let node = node.strip_prefix(b"_").and_then(|node| node.strip_suffix(b"_")).unwrap_or(node);
    let mut level = next();
    if level.starts_with(b"(") {
        while !level.is_empty() && !level.ends_with(b")") {
            level = next();
        }
        level = next();
    }
    let (reason, id, kind, bytes) = (next(), next(), next(), next());
    let mut found =
        Line { time, node, level, reason, id, kind, bytes, fid: b"-1", ..Line::default() };
    // In brackets: MAC, (energy,) IP, fields of the agent.
    let rest = &line[fields.end()..];
    let mut groups = rest.split(|byte| *byte == b'[').skip(1);
    let ip = groups.by_ref().find(|group| {
        let first = Fields::new(group).next();
        first.contains(&b':')
    });
    if let Some(ip) = ip {
        let mut fields = Fields::new(ip);
        (found.from, found.to) = (fields.next(), fields.next());
        let mut fields = Fields::new(groups.next().unwrap_or(&[]));
        let seq = fields.next();
        found.seq = seq.strip_suffix(b"]").unwrap_or(seq);
    }
    found
}

/// Parses node or address, and port: `0:0` in the old format, `0.0` in the new one.
fn end(field: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(field).ok().filter(|text| text.len() <= ADDRESS_BYTES_MAX)?;
    let (address, port) = text.rsplit_once(':').or_else(|| text.rsplit_once('.'))?;
    (!address.is_empty() && !port.is_empty()).then(|| format!("{address}.{port}"))
}

impl Wireless {
    /// Parses a line that [`crate::ns2`] has recognised as wireless.
    pub(crate) fn parse(&mut self, text: &[u8], network: &mut Network) -> ParsedLine {
        let event = Fields::new(text).next();
        let new = Fields::new(text.get(event.len()..).unwrap_or(&[])).next() == b"-t";
        if matches!(event, b"M" | b"N") {
            return problem(
                ProblemKind::Movement,
                "position or energy of a node, not a packet: skipped",
            );
        }
        let line = if new { tagged(text) } else { positional(text) };
        match line.level {
            b"AGT" => {}
            _ if matches!(event, b"D" | b"d") => {}
            b"RTR" => {
                return problem(
                    ProblemKind::Routing,
                    "an event of routing (RTR): hops between the agents are not followed",
                )
            }
            _ => {
                let level = shown(line.level);
                let words = "below routing: hops between the agents are not followed";
                return problem(ProblemKind::Below, format!("the level {level}, {words}"));
            }
        }
        let field = |name: &str, found: &[u8], allowed: &str| {
            let message = format!("{name} is {}; it should be {allowed}", shown(found));
            problem(ProblemKind::Field, message)
        };
        let Some(time_ns) = seconds(line.time) else {
            return field("the time", line.time, "seconds");
        };
        if time_ns < 0 {
            return problem(
                ProblemKind::Negative,
                format!("the time is negative: {}", shown(line.time)),
            );
        }
        let Some(uid) = whole(line.id).and_then(|id| u64::try_from(id).ok()) else {
            return field("the packet id", line.id, "a number from 0");
        };
        match event {
            b"D" | b"d" => self.drop(&line, time_ns, uid, network),
            b"s" | b"r" => self.agent(&line, event == b"s", time_ns, uid, network),
            _ => problem(
                ProblemKind::Below,
                format!("an agent's event {}, neither sent nor received: skipped", shown(event)),
            ),
        }
    }

    /// Parses a packet that an agent sent or received.
    fn agent(
        &mut self,
        line: &Line<'_>,
        sends: bool,
        time_ns: i64,
        uid: u64,
        network: &mut Network,
    ) -> ParsedLine {
        let Some(node) = whole(line.node)
            .and_then(|node| u32::try_from(node).ok().filter(|node| node >> 31 == 0))
        else {
            let message = format!("the node is {}; it should be a number", shown(line.node));
            return problem(ProblemKind::Field, message);
        };
        let name = node.to_string();
        let bytes = whole(line.bytes).and_then(|bytes| u32::try_from(bytes).ok());
        let (Some(bytes), Some(from), Some(to)) = (bytes, end(line.from), end(line.to)) else {
            return problem(ProblemKind::FewFields, "size or addresses are missing");
        };
        let sent = if sends {
            let Some(link) = self.link_to(node, &to, network) else {
                return problem(ProblemKind::TooManyLinks, "more links than are followed");
            };
            if self.sent.len() >= IN_TRANSIT_MAX {
                self.sent.clear();
            }
            let sent = Sent { link, bytes };
            self.sent.insert(uid, sent);
            sent
        } else {
            let Some(&sent) = self.sent.get(&uid) else {
                let message = "a packet arrives that no agent of the trace has sent: skipped";
                return problem(ProblemKind::Unpaired, message);
            };
            let number = network.node(name.as_bytes());
            let link = &mut network.links[sent.link as usize];
            if *link.to.get_or_insert(number) != number {
                return problem(
                    ProblemKind::Broadcast,
                    "a further receiver of a broadcast: skipped",
                );
            }
            sent
        };
        let (what, bytes) =
            if sends { (EventKind::Enqueue, bytes) } else { (EventKind::Receive, sent.bytes) };
        self.event(line, what, time_ns, uid, Sent { bytes, ..sent }, [from, to], network)
    }

    /// Link from a node to an address.
    fn link_to(&mut self, node: u32, to: &str, network: &mut Network) -> Option<u32> {
        let address = to.rsplit_once('.').map_or(to, |(address, _)| address);
        let known = self.addresses.len();
        if known >= crate::network::LINKS_MAX && !self.addresses.contains_key(address.as_bytes()) {
            return None;
        }
        let number = *self.addresses.entry(address.as_bytes().into()).or_insert(known as u32);
        // With the highest bit set, which no link of a wired trace has.
        let key = 1 << 63 | u64::from(node) << 32 | u64::from(number);
        network.link(key, |network| {
            let from = network.node(node.to_string().as_bytes());
            Link { from, to: None }
        })
    }

    /// Parses a drop. Drops of packets are final; the MAC repeats dropped frames or returns them to
    /// routing.
    fn drop(
        &mut self,
        line: &Line<'_>,
        time_ns: i64,
        uid: u64,
        network: &mut Network,
    ) -> ParsedLine {
        if matches!(line.level, b"MAC" | b"PHY") {
            let message =
                "a frame lost by the MAC, which retransmits it or returns it to routing: skipped";
            return problem(ProblemKind::MacLoss, message);
        }
        if line.reason == b"END" {
            return problem(
                ProblemKind::AtTheEnd,
                "in transit at the end of the simulation: not a loss",
            );
        }
        let Some(sent) = self.sent.remove(&uid) else {
            let message =
                "a packet is dropped that no agent sent, or that was dropped before: skipped";
            return problem(ProblemKind::Unsent, message);
        };
        let (Some(from), Some(to)) = (end(line.from), end(line.to)) else {
            return problem(ProblemKind::FewFields, "addresses are missing");
        };
        self.event(line, EventKind::Drop, time_ns, uid, sent, [from, to], network)
    }

    #[expect(clippy::too_many_arguments, clippy::unused_self)]
    fn event(
        &self,
        line: &Line<'_>,
        what: EventKind,
        time_ns: i64,
        uid: u64,
        sent: Sent,
        ends: [String; 2],
        network: &mut Network,
    ) -> ParsedLine {
        let fid = whole(line.fid).unwrap_or(-1);
        let key = format!("{fid} {} {}", ends[0], ends[1]);
        let kind = String::from_utf8_lossy(&line.kind[..line.kind.len().min(40)]).into_owned();
        let Some(stream) = network.stream(key.as_bytes(), || (kind, fid, ends)) else {
            return problem(ProblemKind::TooManyFlows, "more flows than are followed");
        };
        let event = Event {
            what,
            time_ns,
            link: sent.link,
            stream,
            uid,
            bytes: sent.bytes,
            kind: kind_of(line.kind, sent.bytes.saturating_sub(HEADERS_BYTES)),
            seq: whole(line.seq).unwrap_or(-1),
            ack: -1,
            payload_bytes: None,
            tcp_flags: 0,
            tos: 0,
        };
        if what == EventKind::Enqueue {
            ParsedLine::Sent(event)
        } else {
            ParsedLine::Event(event)
        }
    }
}
