//! Parser of ns-3's ASCII trace (AsciiTraceHelper): `event time context headers`. A context
//! contains node and device; a file of one device has none.
//!
//! ns-3 writes no packet numbers. An IPv4 packet is identified by its header (RFC 791 §3.1: source,
//! destination, protocol, identification, fragment), an IPv6 packet by its transport header. The
//! end of a link is known after the first arrival over it.
//!
//! In Wi-Fi traces, `t` is a sent frame and `r` a frame heard by any node; the addresses of the
//! frame identify the intended receiver.

use crate::event::{Event, What};
use crate::fields::{seconds, shown, Fields};
use crate::network::{Link, Network};
use crate::ns3_headers::{after, ip, number, transport};
use crate::problems::Kind as Wrong;
use hashbrown::HashMap;

/// Maximum number of packets in transit; beyond it, all are forgotten.
const UNDER_WAY_MAX: usize = 1 << 18;

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
const HERE: &str = "this device";
const ELSEWHERE: &str = "elsewhere";

/// A parsed line.
pub(crate) type Said = crate::ns2::Said;

/// Returns true if a line may be of this format.
pub(crate) fn looks_alike(line: &[u8]) -> bool {
    let event = matches!(line, [b'+' | b'-' | b'r' | b'd' | b't', b' ', ..]);
    event
        && [&b"/NodeList/"[..], b" ns3::"]
            .iter()
            .any(|mark| memchr::memmem::find(line, mark).is_some())
}

fn wrong(kind: Wrong, message: String) -> Said {
    Said::Wrong(kind, message)
}

impl Ns3 {
    /// Parses a line.
    pub(crate) fn parse(&mut self, line: &[u8], network: &mut Network) -> Said {
        let mut fields = Fields::new(line);
        let event = fields.next();
        let what = match event {
            b"+" => What::Enqueue,
            b"-" => What::Dequeue,
            b"r" => What::Receive,
            b"d" => What::Drop,
            b"t" => What::Enqueue,
            other => {
                let message =
                    format!("it begins with {}; an event is one of + - r d t", shown(other));
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
        let Ok(rest) = std::str::from_utf8(&line[fields.end()..]) else {
            return wrong(Wrong::Binary, "not text".to_owned());
        };
        let Some((place, headers)) = place(rest) else {
            let context = shown(fields.next());
            let message = format!("field 3 (context) is {context}: no node and device");
            return wrong(Wrong::Field, message);
        };
        self.learn(event, headers, place, network);
        let Some(ip) = ip(headers) else {
            return wrong(Wrong::NotIp, "a packet without an IP header: left out".to_owned());
        };
        let identity = match ip.id {
            Some(id) => {
                format!("{} {} {} {id} {}", ip.source, ip.destination, ip.protocol, ip.offset)
            }
            // Sequence numbers of TCP or of an application (SeqTsHeader).
            None if ip.protocol == 6 || ip.rest.contains("(seq=") => {
                let text = &ip.rest[..ip.rest.len().min(IDENTITY_BYTES_MAX)];
                format!("{} {} {} {text}", ip.source, ip.destination, ip.protocol)
            }
            None => {
                let message = "an IPv6 packet that nothing tells from others of its flow: left out";
                return wrong(Wrong::Unpaired, message.to_owned());
            }
        };
        let air = match self.air(event, headers, place, network) {
            Ok(air) => air,
            Err(wrong) => return wrong,
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
        let found = match (what, place) {
            (What::Receive, None) => self.unpaired(network),
            (What::Receive, Some((node, _))) => self.arrives(&identity, node, network),
            _ => self.leaves(identity, what, place, air, network),
        };
        let (uid, link) = match found {
            Ok(found) => found,
            Err(wrong) => return wrong,
        };
        let said = if event == b"t" { Said::Sent } else { Said::Event };
        said(Event {
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

    /// Learns the node of a MAC address from a sent Wi-Fi frame.
    fn learn(&mut self, event: &[u8], headers: &str, place: Place, network: &mut Network) {
        if event != b"t" {
            return;
        }
        let node = here(place, network);
        let header = after(headers, "ns3::WifiMacHeader (");
        let sender = header.and_then(|header| address(header, "TA)="));
        if let Some(station) = sender.and_then(|sender| self.station(sender)) {
            station.node = Some(node);
        }
    }

    /// Number of the receiver of a Wi-Fi frame; 0 for other frames.
    fn air(
        &mut self,
        event: &[u8],
        headers: &str,
        place: Place,
        network: &mut Network,
    ) -> Result<u32, Said> {
        let Some(header) = after(headers, "ns3::WifiMacHeader (") else { return Ok(0) };
        let Some(receiver) = address(header, "RA)=") else {
            return Err(wrong(Wrong::Below, "a frame of Wi-Fi without addresses".to_owned()));
        };
        if event == b"t" {
            if header.contains("Retry=1") {
                let message = "a frame of Wi-Fi that the MAC repeats: no packet of its own";
                return Err(wrong(Wrong::MacLoss, message.to_owned()));
            }
        } else if event == b"r" {
            let known = self.stations.get(receiver).and_then(|station| station.node);
            if known != Some(here(place, network)) {
                let message = "a frame of Wi-Fi heard by a node that it is not addressed to, or \
                               that has not sent yet: left out";
                return Err(wrong(Wrong::Broadcast, message.to_owned()));
            }
        }
        let too_many = || wrong(Wrong::TooManyLinks, "more stations than are followed".to_owned());
        self.station(receiver).map(|station| station.number).ok_or_else(too_many)
    }

    fn station(&mut self, address: &str) -> Option<&mut Station> {
        let number = self.stations.len() as u32 + 1;
        if number as usize > STATIONS_MAX && !self.stations.contains_key(address) {
            return None;
        }
        Some(self.stations.entry(address.into()).or_insert(Station { number, node: None }))
    }

    /// Link of a packet that arrives in a file of one device, where its sender is unknown.
    fn unpaired(&mut self, network: &mut Network) -> Result<(u64, u32), Said> {
        let link = network.link(ONE_DEVICE | 1, |network| {
            let (from, to) = (network.node(ELSEWHERE.as_bytes()), network.node(HERE.as_bytes()));
            Link { from, to: Some(to) }
        });
        self.next += 1;
        link.map(|link| (self.next - 1, link)).ok_or_else(too_many_links)
    }

    /// Link of an arriving packet.
    fn arrives(
        &mut self,
        identity: &str,
        node: u32,
        network: &mut Network,
    ) -> Result<(u64, u32), Said> {
        let Some(&known) = self.known.get(identity.as_bytes()) else {
            let message = "a packet arrives that no link has sent: left out".to_owned();
            return Err(wrong(Wrong::Unpaired, message));
        };
        if network.links[known.link as usize].to.is_none() {
            let to = network.node(node.to_string().as_bytes());
            network.links[known.link as usize].to = Some(to);
        }
        Ok((known.uid, known.link))
    }

    /// Link of a packet at the start of a link.
    fn leaves(
        &mut self,
        identity: String,
        what: What,
        place: Place,
        air: u32,
        network: &mut Network,
    ) -> Result<(u64, u32), Said> {
        let link = match place {
            Some((node, device)) => {
                // Wi-Fi has a link per receiver.
                let key = u64::from(air) << 48 | u64::from(node) << 16 | u64::from(device);
                network.link(key, |network| {
                    let from = network.node(node.to_string().as_bytes());
                    Link { from, to: None }
                })
            }
            None => network.link(ONE_DEVICE, |network| {
                let (here, there) =
                    (network.node(HERE.as_bytes()), network.node(ELSEWHERE.as_bytes()));
                Link { from: here, to: Some(there) }
            }),
        };
        let link = link.ok_or_else(too_many_links)?;
        if self.known.len() >= UNDER_WAY_MAX {
            self.known.clear();
        }
        let before = self.known.get(identity.as_bytes()).copied();
        // A repeated identity on a link is another packet: identifications wrap.
        let again = |known: &Known| what == What::Enqueue && known.link == link;
        let known = match before.filter(|known| !again(known)) {
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

/// Node of an interface.
fn here(place: Place, network: &mut Network) -> u32 {
    match place {
        Some((node, _)) => network.node(node.to_string().as_bytes()),
        None => network.node(HERE.as_bytes()),
    }
}

/// MAC address after a mark.
fn address<'a>(header: &'a str, mark: &str) -> Option<&'a str> {
    after(header, mark).and_then(|text| text.get(..17))
}

/// Node and device; `None` in a file of one device.
type Place = Option<(u32, u32)>;

/// Link keys in a file of one device; no node has such a number.
const ONE_DEVICE: u64 = 0xffff << 48;
/// Bytes of the headers after IPv6 that identify a packet.
const IDENTITY_BYTES_MAX: usize = 200;

fn too_many_links() -> Said {
    wrong(Wrong::TooManyLinks, "more links than are followed".to_owned())
}

/// Parses the interface of a line, and returns the headers after it. In Wi-Fi traces, the mode
/// precedes or follows the interface.
fn place(rest: &str) -> Option<(Place, &str)> {
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
