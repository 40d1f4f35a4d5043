//! Lines of ns-3's ASCII trace (AsciiTraceHelper): `event time context headers`. A context names node
//! and device; a packet is known again by its IP header (RFC 791 §3.1: source, destination, protocol,
//! identification, fragment), as ns-3 writes no number of its own. Where a link ends is known when
//! something has arrived over it.

use crate::event::{tcp_flags, Event, Kind, What};
use crate::fields::{seconds, shown, Fields};
use crate::network::{Link, Network};
use crate::problems::Kind as Wrong;
use hashbrown::HashMap;

/// Packets under way that are remembered; beyond, all are forgotten.
const UNDER_WAY_MAX: usize = 1 << 18;

/// Who a packet is: source, destination, protocol, identification, offset.
type Identity = Box<[u8]>;

#[derive(Clone, Copy)]
struct Known {
    uid: u64,
    link: u32,
}

/// What must be remembered between lines.
#[derive(Default)]
pub(crate) struct Ns3 {
    known: HashMap<Identity, Known>,
    next: u64,
}

/// What a line is.
pub(crate) type Said = crate::ns2::Said;

/// Whether a line could be one of this format.
pub(crate) fn looks_alike(line: &[u8]) -> bool {
    memchr::memmem::find(line, b" /NodeList/").is_some()
}

/// What stands between two marks.
fn after<'a>(text: &'a str, mark: &str) -> Option<&'a str> {
    text.find(mark).map(|at| &text[at + mark.len()..])
}

fn number<'a>(text: &'a str, mark: &str) -> Option<(u64, &'a str)> {
    let rest = after(text, mark)?;
    let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    rest[..end].parse().ok().map(|value| (value, &rest[end..]))
}

struct Ip<'a> {
    length: u32,
    source: &'a str,
    destination: &'a str,
    protocol: u64,
    id: u64,
    offset: u64,
    tos: u8,
    rest: &'a str,
}

/// `ns3::Ipv4Header (tos 0x0 DSCP Default ECN Not-ECT ttl 64 id 0 protocol 17 offset (bytes) 0 flags
/// [none] length: 1052 10.1.1.1 > 10.1.1.2)`
fn ip(headers: &str) -> Option<Ip<'_>> {
    let header = after(headers, "ns3::Ipv4Header (")?;
    let close =
        header.find("length: ").and_then(|at| header[at..].find(')').map(|end| at + end))?;
    let (header, rest) = (&header[..close], &header[close + 1..]);
    let tos = after(header, "tos 0x")?;
    let tos = u8::from_str_radix(tos.split(' ').next()?, 16).ok()?;
    let (id, _) = number(header, " id ")?;
    let (protocol, _) = number(header, " protocol ")?;
    let (offset, _) = number(header, "offset (bytes) ")?;
    let (length, ends) = number(header, "length: ")?;
    let (source, destination) = ends.trim().split_once(" > ")?;
    let length = u32::try_from(length).ok()?;
    Some(Ip { length, source, destination, protocol, id, offset, tos, rest })
}

struct Transport<'a> {
    kind: &'static str,
    ports: Option<(&'a str, &'a str)>,
    class: Kind,
    seq: i64,
    ack: i64,
    payload_bytes: Option<u32>,
    flags: u16,
}

/// `ns3::TcpHeader (49153 > 9 [ACK] Seq=1 Ack=1 Win=32768 …) Payload (size=536)`,
/// `ns3::UdpHeader (length: 1032 49153 > 9)`
fn transport<'a>(ip: &Ip<'a>) -> Transport<'a> {
    let none = Transport {
        kind: "ip",
        ports: None,
        class: Kind::Other,
        seq: -1,
        ack: -1,
        payload_bytes: None,
        flags: 0,
    };
    if ip.protocol == 6 {
        let Some(header) = after(ip.rest, "ns3::TcpHeader (") else {
            return Transport { kind: "tcp", ..none };
        };
        let payload: u32 = payload(header);
        let (ports, flags) = header.split_once(" [").unwrap_or((header, ""));
        let flags = flags.split(']').next().unwrap_or("");
        let value = |mark: &str| number(header, mark).map_or(-1, |(value, _)| value as i64);
        let bit = |name: &str, bit: u16| if flags.contains(name) { bit } else { 0 };
        Transport {
            kind: "tcp",
            ports: ports.split_once(" > "),
            class: if payload > 0 { Kind::Data } else { Kind::Ack },
            seq: value("Seq="),
            ack: value("Ack="),
            payload_bytes: Some(payload),
            flags: bit("SYN", tcp_flags::SYN)
                | bit("FIN", tcp_flags::FIN)
                | bit("PSH", tcp_flags::PSH)
                | bit("ECE", tcp_flags::ECE)
                | bit("CWR", tcp_flags::CWR),
        }
    } else if ip.protocol == 17 {
        let header = after(ip.rest, "ns3::UdpHeader (").and_then(|text| number(text, "length: "));
        let ports = header.and_then(|(_, rest)| rest.split(')').next()?.trim().split_once(" > "));
        let bytes = payload(ip.rest);
        Transport { kind: "udp", ports, payload_bytes: Some(bytes), seq: ip.id as i64, ..none }
    } else if ip.protocol == 1 {
        Transport { kind: "icmp", seq: ip.id as i64, ..none }
    } else {
        Transport { seq: ip.id as i64, ..none }
    }
}

/// All that `Payload (size=…)` and `Payload Fragment [from:to]` come to.
fn payload(rest: &str) -> u32 {
    let mut total = 0u64;
    let mut text = rest;
    while let Some(next) = after(text, "Payload ") {
        if let Some((size, _)) = next.strip_prefix("(size=").and_then(|size| number(size, "")) {
            total += size;
        } else if let Some(part) = next.strip_prefix("Fragment [") {
            let ends = number(part, "").and_then(|(from, rest)| Some((from, number(rest, ":")?.0)));
            total += ends.map_or(0, |(from, to)| to.saturating_sub(from));
        }
        text = next;
    }
    u32::try_from(total).unwrap_or(u32::MAX)
}

fn wrong(kind: Wrong, message: String) -> Said {
    Said::Wrong(kind, message)
}

impl Ns3 {
    /// Reads a line.
    pub(crate) fn parse(&mut self, line: &[u8], network: &mut Network) -> Said {
        let mut fields = Fields::new(line);
        let what = match fields.next() {
            b"+" => What::Enqueue,
            b"-" => What::Dequeue,
            b"r" => What::Receive,
            b"d" => What::Drop,
            other => {
                let message =
                    format!("it begins with {}; an event is one of + - r d", shown(other));
                return wrong(Wrong::UnknownEvent, message);
            }
        };
        let time = fields.next();
        let Some(time_ns) = seconds(time) else {
            return wrong(Wrong::Field, format!("field 2 (time) is {}, no seconds", shown(time)));
        };
        if time_ns < 0 {
            return wrong(Wrong::Negative, format!("the time is negative: {}", shown(time)));
        }
        let context = fields.next();
        let place = std::str::from_utf8(context).ok().and_then(|context| {
            let (node, rest) = number(context, "/NodeList/")?;
            let (device, _) = number(rest, "/DeviceList/")?;
            Some((u32::try_from(node).ok()?, u32::try_from(device).ok()?))
        });
        let Some((node, device)) = place else {
            let message = format!("field 3 (context) is {}: no node and device", shown(context));
            return wrong(Wrong::Field, message);
        };
        let Ok(headers) = std::str::from_utf8(&line[fields.end()..]) else {
            return wrong(Wrong::Binary, "not text".to_owned());
        };
        let Some(ip) = ip(headers) else {
            return wrong(Wrong::NotIp, "a packet without an IPv4 header: left out".to_owned());
        };
        let of = transport(&ip);
        let end = |host: &str, port: Option<&str>| {
            port.map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
        };
        let ends = [
            end(ip.source, of.ports.map(|ports| ports.0)),
            end(ip.destination, of.ports.map(|ports| ports.1)),
        ];
        let key = format!("{} {} {}", of.kind, ends[0], ends[1]);
        if key.len() > 200 {
            return wrong(Wrong::Field, format!("an address is {}", shown(ends[0].as_bytes())));
        }
        let Some(stream) = network.stream(key.as_bytes(), || (of.kind.to_owned(), -1, ends)) else {
            return wrong(Wrong::TooManyFlows, "more flows than are followed".to_owned());
        };
        let identity =
            format!("{} {} {} {} {}", ip.source, ip.destination, ip.protocol, ip.id, ip.offset);
        let node_name =
            |network: &mut Network, node: u32| network.node(node.to_string().as_bytes());
        let (uid, link) = if what == What::Receive {
            let Some(&known) = self.known.get(identity.as_bytes()) else {
                let message = "a packet arrives that no link has sent: left out".to_owned();
                return wrong(Wrong::Unpaired, message);
            };
            if network.links[known.link as usize].to.is_none() {
                let to = node_name(network, node);
                network.links[known.link as usize].to = Some(to);
            }
            (known.uid, known.link)
        } else {
            let key = u64::from(node) << 32 | u64::from(device);
            let link = network.link(key, |network| {
                let from = node_name(network, node);
                Link { from, to: None }
            });
            let Some(link) = link else {
                return wrong(Wrong::TooManyLinks, "more links than are followed".to_owned());
            };
            if self.known.len() >= UNDER_WAY_MAX {
                self.known.clear();
            }
            let before = self.known.get(identity.as_bytes()).copied();
            // On a link on which it has been already, it is another one: identifications wrap.
            let again = |known: &Known| what == What::Enqueue && known.link == link;
            let known = match before.filter(|known| !again(known)) {
                Some(known) => Known { link, ..known },
                None => {
                    self.next += 1;
                    Known { uid: self.next - 1, link }
                }
            };
            self.known.insert(identity.into_bytes().into(), known);
            (known.uid, link)
        };
        Said::Event(Event {
            what,
            time_ns,
            link,
            stream,
            uid,
            bytes: ip.length,
            kind: of.class,
            seq: of.seq,
            ack: of.ack,
            payload_bytes: of.payload_bytes,
            tcp_flags: of.flags,
            tos: ip.tos,
        })
    }
}
