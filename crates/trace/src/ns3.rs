//! Parser of ns-3's ASCII trace (AsciiTraceHelper): `event time context headers`. A context
//! contains node and device; a file of one device has none.
//!
//! ns-3 writes no packet numbers. An IPv4 packet is identified by its header (RFC 791 §3.1: source,
//! destination, protocol, identification, fragment), an IPv6 packet by its transport header. The
//! end of a link is known after the first arrival over it.
//!
//! In Wi-Fi traces, `t` is a sent frame and `r` a frame heard by any node; the addresses of the
//! frame identify the intended receiver.

use crate::event::{Event, EventKind};
use crate::fields::{seconds, shown, Fields};
use crate::network::{Link, Network};
use crate::ns3_headers::{after, ip, number, transport, Ip, Transport};
use crate::problems::ProblemKind;
use hashbrown::HashMap;

/// Maximum number of packets in transit; beyond it, all are forgotten.
const IN_TRANSIT_MAX: usize = 1 << 18;

/// Identity of a packet: source, destination, protocol, identification, offset.
type Identity = Box<[u8]>;

#[derive(Clone, Copy)]
struct Known {
    uid: u64,
    link: u32,
}

/// Parser state.
#[derive(Default)]
pub(crate) struct Ns3 {
    known: HashMap<Identity, Known>,
    next: u64,
    /// Wi-Fi stations by MAC address.
    stations: HashMap<Box<str>, Station>,
}

#[derive(Clone, Copy)]
struct Station {
    number: u32,
    node: Option<u32>,
}

/// Maximum number of MAC addresses.
const STATIONS_MAX: usize = 60_000;
/// Node names in a file of one device.
const THIS_DEVICE: &str = "this device";
const OTHER_DEVICE: &str = "elsewhere";

/// A parsed line.
pub(crate) type ParsedLine = crate::ns2::ParsedLine;

/// Returns true if a line may be of this format.
pub(crate) fn may_be(line: &[u8]) -> bool {
    let event = matches!(line, [b'+' | b'-' | b'r' | b'd' | b't', b' ', ..]);
    event
        && [&b"/NodeList/"[..], b" ns3::"]
            .iter()
            .any(|mark| memchr::memmem::find(line, mark).is_some())
}

fn problem(kind: ProblemKind, message: String) -> ParsedLine {
    ParsedLine::Problem(kind, message)
}

impl Ns3 {
    /// Parses a line.
    pub(crate) fn parse(&mut self, line: &[u8], network: &mut Network) -> ParsedLine {
        self.parse_packet(line, network).unwrap_or_else(|problem| problem)
    }

    fn parse_packet(
        &mut self,
        line: &[u8],
        network: &mut Network,
    ) -> Result<ParsedLine, ParsedLine> {
        let mut fields = Fields::new(line);
        let event = fields.next();
        let what = event_kind(event)?;
        let time_ns = time(fields.next())?;
        let Ok(rest) = std::str::from_utf8(&line[fields.end()..]) else {
            return Err(problem(ProblemKind::Binary, "not text".to_owned()));
        };
        let Some((interface, headers)) = interface(rest) else {
            let context = shown(fields.next());
            let message = format!("field 3 (context) is {context}; it should name node and device");
            return Err(problem(ProblemKind::Field, message));
        };
        self.learn_station(event, headers, interface, network);
        let Some(ip) = ip(headers) else {
            let message = "a packet without an IP header: skipped".to_owned();
            return Err(problem(ProblemKind::NotIp, message));
        };
        let identity = identity(&ip)?;
        let receiver_number = self.receiver_number(event, headers, interface, network)?;
        let transport = transport(&ip);
        let stream = stream(&ip, &transport, network)?;
        let (uid, link) = match (what, interface) {
            (EventKind::Receive, None) => self.unpaired(network),
            (EventKind::Receive, Some((node, _))) => self.arrival(&identity, node, network),
            _ => self.departure(identity, what, interface, receiver_number, network),
        }?;
        let parsed = if event == b"t" { ParsedLine::Sent } else { ParsedLine::Event };
        Ok(parsed(Event {
            what,
            time_ns,
            link,
            stream,
            uid,
            bytes: ip.length,
            kind: transport.class,
            seq: transport.seq,
            ack: transport.ack,
            payload_bytes: transport.payload_bytes,
            tcp_flags: transport.flags,
            tos: ip.tos,
        }))
    }

    /// Learns the node of a MAC address from a sent Wi-Fi frame.
    fn learn_station(
        &mut self,
        event: &[u8],
        headers: &str,
        interface: Interface,
        network: &mut Network,
    ) {
        if event != b"t" {
            return;
        }
        let node = node_of(interface, network);
        let header = after(headers, "ns3::WifiMacHeader (");
        let sender = header.and_then(|header| address(header, "TA)="));
        if let Some(station) = sender.and_then(|sender| self.station(sender)) {
            station.node = Some(node);
        }
    }

    /// Number of the receiver of a Wi-Fi frame; 0 for other frames.
    fn receiver_number(
        &mut self,
        event: &[u8],
        headers: &str,
        interface: Interface,
        network: &mut Network,
    ) -> Result<u32, ParsedLine> {
        let Some(header) = after(headers, "ns3::WifiMacHeader (") else { return Ok(0) };
        let Some(receiver) = address(header, "RA)=") else {
            return Err(problem(ProblemKind::Below, "a Wi-Fi frame without addresses".to_owned()));
        };
        if event == b"t" {
            if header.contains("Retry=1") {
                let message = "a Wi-Fi frame that the MAC retransmits: not a new packet";
                return Err(problem(ProblemKind::MacLoss, message.to_owned()));
            }
        } else if event == b"r" {
            let known = self.stations.get(receiver).and_then(|station| station.node);
            if known != Some(node_of(interface, network)) {
                let message = "a Wi-Fi frame heard by a node that it is not addressed to, or that \
                               has not sent yet: skipped";
                return Err(problem(ProblemKind::Broadcast, message.to_owned()));
            }
        }
        let too_many =
            || problem(ProblemKind::TooManyLinks, "more stations than are followed".to_owned());
        self.station(receiver).map(|station| station.number).ok_or_else(too_many)
    }

    fn station(&mut self, address: &str) -> Option<&mut Station> {
        let number = self.stations.len() as u32 + 1;
        if number as usize > STATIONS_MAX && !self.stations.contains_key(address) {
            return None;
        }
        Some(self.stations.entry(address.into()).or_insert(Station { number, node: None }))
    }

    /// Link of a packet that arrival in a file of one device, where its sender is unknown.
    fn unpaired(&mut self, network: &mut Network) -> Result<(u64, u32), ParsedLine> {
        let link = network.link(ONE_DEVICE | 1, |network| {
            let (from, to) =
                (network.node(OTHER_DEVICE.as_bytes()), network.node(THIS_DEVICE.as_bytes()));
            Link { from, to: Some(to) }
        });
        self.next += 1;
        link.map(|link| (self.next - 1, link)).ok_or_else(too_many_links)
    }

    /// Link of an arriving packet.
    fn arrival(
        &mut self,
        identity: &str,
        node: u32,
        network: &mut Network,
    ) -> Result<(u64, u32), ParsedLine> {
        let Some(&known) = self.known.get(identity.as_bytes()) else {
            let message = "a packet arrives that no link has sent: skipped".to_owned();
            return Err(problem(ProblemKind::Unpaired, message));
        };
        if network.links[known.link as usize].to.is_none() {
            let to = network.node(node.to_string().as_bytes());
            network.links[known.link as usize].to = Some(to);
        }
        Ok((known.uid, known.link))
    }

    /// Link of a packet at the start of a link.
    fn departure(
        &mut self,
        identity: String,
        what: EventKind,
        interface: Interface,
        receiver_number: u32,
        network: &mut Network,
    ) -> Result<(u64, u32), ParsedLine> {
        let link = match interface {
            Some((node, device)) => {
                // Wi-Fi has a link per receiver.
                let key =
                    u64::from(receiver_number) << 48 | u64::from(node) << 16 | u64::from(device);
                network.link(key, |network| {
                    let from = network.node(node.to_string().as_bytes());
                    Link { from, to: None }
                })
            }
            None => network.link(ONE_DEVICE, |network| {
                let (here, there) =
                    (network.node(THIS_DEVICE.as_bytes()), network.node(OTHER_DEVICE.as_bytes()));
                Link { from: here, to: Some(there) }
            }),
        };
        let link = link.ok_or_else(too_many_links)?;
        if self.known.len() >= IN_TRANSIT_MAX {
            self.known.clear();
        }
        let before = self.known.get(identity.as_bytes()).copied();
        // A repeated identity on a link is another packet: identifications wrap.
        let reused = |known: &Known| what == EventKind::Enqueue && known.link == link;
        let known = match before.filter(|known| !reused(known)) {
            Some(known) => Known { link, ..known },
            None => {
                self.next += 1;
                Known { uid: self.next - 1, link }
            }
        };
        self.known.insert(identity.into_bytes().into(), known);
        Ok((known.uid, link))
    }
}

/// Parses the event of a line.
fn event_kind(event: &[u8]) -> Result<EventKind, ParsedLine> {
    Ok(match event {
        b"+" | b"t" => EventKind::Enqueue,
        b"-" => EventKind::Dequeue,
        b"r" => EventKind::Receive,
        b"d" => EventKind::Drop,
        other => {
            let message = format!("it begins with {}; an event is one of + - r d t", shown(other));
            return Err(problem(ProblemKind::UnknownEvent, message));
        }
    })
}

/// Parses the time of a line, ns.
fn time(field: &[u8]) -> Result<i64, ParsedLine> {
    match seconds(field) {
        Some(time_ns) if time_ns >= 0 => Ok(time_ns),
        Some(_) => {
            let message = format!("the time is negative: {}", shown(field));
            Err(problem(ProblemKind::Negative, message))
        }
        None => {
            let message = format!("field 2 (time) is {}; it should be seconds", shown(field));
            Err(problem(ProblemKind::Field, message))
        }
    }
}

/// Text that identifies a packet on its path.
fn identity(ip: &Ip<'_>) -> Result<String, ParsedLine> {
    let Ip { source, destination, protocol, offset, rest, .. } = ip;
    match ip.id {
        Some(id) => Ok(format!("{source} {destination} {protocol} {id} {offset}")),
        // Sequence numbers of TCP or of an application (SeqTsHeader).
        None if *protocol == 6 || rest.contains("(seq=") => {
            let mut end = rest.len().min(IDENTITY_BYTES_MAX);
            while !rest.is_char_boundary(end) {
                end -= 1;
            }
            Ok(format!("{source} {destination} {protocol} {}", &rest[..end]))
        }
        None => {
            let message =
                "an IPv6 packet that cannot be distinguished from others of its flow: skipped";
            Err(problem(ProblemKind::Unpaired, message.to_owned()))
        }
    }
}

/// Number of a packet's stream.
fn stream(
    ip: &Ip<'_>,
    transport: &Transport<'_>,
    network: &mut Network,
) -> Result<u32, ParsedLine> {
    let end = |host: &str, port: Option<&str>| {
        port.map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
    };
    let ends = [
        end(ip.source, transport.ports.map(|ports| ports.0)),
        end(ip.destination, transport.ports.map(|ports| ports.1)),
    ];
    let key = format!("{} {} {}", transport.kind, ends[0], ends[1]);
    if key.len() > KEY_BYTES_MAX {
        let message = format!("an address is {}", shown(ends[0].as_bytes()));
        return Err(problem(ProblemKind::Field, message));
    }
    let stream = network.stream(key.as_bytes(), || (transport.kind.to_owned(), -1, ends));
    stream.ok_or_else(|| {
        problem(ProblemKind::TooManyFlows, "more flows than are followed".to_owned())
    })
}

/// Node of an interface.
fn node_of(interface: Interface, network: &mut Network) -> u32 {
    match interface {
        Some((node, _)) => network.node(node.to_string().as_bytes()),
        None => network.node(THIS_DEVICE.as_bytes()),
    }
}

/// MAC address after a mark.
fn address<'a>(header: &'a str, mark: &str) -> Option<&'a str> {
    after(header, mark).and_then(|text| text.get(..17))
}

/// Node and device; `None` in a file of one device.
type Interface = Option<(u32, u32)>;

/// Link keys in a file of one device; no node has such a number.
const ONE_DEVICE: u64 = 0xffff << 48;
/// Bytes of the headers after IPv6 that identify a packet.
const IDENTITY_BYTES_MAX: usize = 200;
/// Maximum length of transport protocol, addresses and ports.
const KEY_BYTES_MAX: usize = 200;

fn too_many_links() -> ParsedLine {
    problem(ProblemKind::TooManyLinks, "more links than are followed".to_owned())
}

/// Parses the interface of a line, and returns the headers after it. In Wi-Fi traces, the mode
/// precedes or follows the interface.
fn interface(rest: &str) -> Option<(Interface, &str)> {
    let Some(at) = rest.find("/NodeList/") else {
        // Without a context, the headers follow at once or after the mode.
        let rest = rest.trim_start();
        let behind = rest.split_once(' ').map_or("", |(_, behind)| behind);
        let found = [rest, behind].into_iter().find(|text| text.starts_with("ns3::"));
        return found.map(|headers| (None, headers));
    };
    let (node, rest) = number(&rest[at..], "/NodeList/")?;
    let (device, _) = number(rest.split(' ').next()?, "/DeviceList/")?;
    let (node, device) = (u32::try_from(node).ok()?, u16::try_from(device).ok()?);
    // A context contains ns-3 type names, too.
    let headers = rest.split_once(' ').map_or("", |(_, headers)| headers);
    Some((Some((node, device.into())), headers))
}
