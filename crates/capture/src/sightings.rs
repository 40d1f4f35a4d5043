//! Matching of packets that were captured at several points, by addresses, ports, IP identification
//! and transport header.

use crate::decode::{self, Address, IpPacket, TCP, UDP};
use crate::file::Record;
use crate::tcp_header::TcpHeader;
use dumbbell_model::tables::PacketRow;
use dumbbell_packet::tcp::{Flags, Syn};
use hashbrown::HashMap;

/// Address and port (0 without ports).
type End = (Address, u16);

/// Identity of a packet, equal at all points.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Identity {
    flow: u32,
    outward: bool,
    identification: u32,
    offset: u32,
    bytes: u32,
    transport: [u32; 4],
}

/// Stream position of TCP sequence numbers, unwrapped.
#[derive(Clone, Copy, Default)]
struct Positions {
    /// First sequence number, and the highest position so far.
    base: Option<(u32, i64)>,
}

impl Positions {
    /// Position of a sequence number, close to the highest so far.
    fn of(&mut self, sequence: u32) -> i64 {
        let (base, last) = *self.base.get_or_insert((sequence, 0));
        let behind = base.wrapping_add(last as u32);
        let place = last + i64::from(sequence.wrapping_sub(behind) as i32);
        self.base = Some((base, last.max(place)));
        place
    }
}

struct Flow {
    name: String,
    kind: &'static str,
    ends: [End; 2],
    positions: [Positions; 2],
    sent: [i64; 2],
}

/// Captured packets of all points.
#[derive(Default)]
pub struct Sightings {
    /// Names of the points, in order of appearance.
    points: Vec<String>,
    flows: Vec<Flow>,
    by_ends: HashMap<(u8, End, End), u32>,
    /// Packet numbers per identity; several if packets were duplicated or repeated unchanged.
    known: HashMap<Identity, Vec<i64>>,
    /// Number of captures of an identity per point.
    seen: HashMap<(u32, Identity), u32>,
    rows: Vec<(u32, u32, PacketRow)>,
    /// Frames without IP or without a timestamp.
    pub other: u64,
    /// Frames beyond the maximum number kept.
    pub left_out: u64,
}

impl Sightings {
    /// Number of a point by name.
    pub fn point(&mut self, name: &str) -> u32 {
        if let Some(number) = self.points.iter().position(|point| point == name) {
            return number as u32;
        }
        self.points.push(name.to_owned());
        (self.points.len() - 1) as u32
    }

    /// Renames the last points, which are the interfaces of a file, after the file and its
    /// interfaces.
    pub fn rename(&mut self, last: usize, file: &str, interfaces: &[String]) {
        let first = self.points.len() - last.min(self.points.len());
        for number in 0..self.points.len() - first {
            let name = match interfaces.get(number) {
                _ if last == 1 => file.to_owned(),
                Some(name) if !name.is_empty() => name.clone(),
                _ => format!("{file} {number}"),
            };
            let taken = self.points.contains(&name);
            self.points[first + number] = if taken { format!("{file} {name}") } else { name };
        }
    }

    /// Adds a frame at a point unless `most` frames are kept already.
    pub fn add(&mut self, point: u32, record: &Record<'_>, most: usize) {
        let packet = decode::ip_packet(record.link, record.data, record.original_bytes);
        let (Some(packet), Some(time_ns)) = (packet, record.time_ns) else {
            self.other += 1;
            return;
        };
        if self.rows.len() >= most {
            self.left_out += 1;
            return;
        }
        let (number, outward) = self.flow(&packet);
        let side = usize::from(!outward);
        let segment = TcpHeader::parse(&packet).filter(|_| packet.protocol == TCP);
        let transport = segment.map_or([packet.payload_bytes, 0, 0, 0], |segment| {
            let stamp = segment.timestamps.map_or(0, |(value, _)| value);
            let rest = u32::from(segment.flags.0) << 16 | u32::from(segment.window);
            [segment.sequence, segment.acknowledgement, stamp, rest]
        });
        let identity = Identity {
            flow: number,
            outward,
            identification: packet.fragment.map_or_else(
                || u32::from(packet.identification.unwrap_or(0)),
                |f| f.identification,
            ),
            offset: packet.fragment.map_or(0, |fragment| fragment.offset_bytes),
            bytes: packet.payload_bytes,
            transport,
        };
        let times = self.seen.entry((point, identity)).or_insert(0);
        let nth = *times as usize;
        *times += 1;
        let flow = &mut self.flows[number as usize];
        let numbers = self.known.entry(identity).or_default();
        if nth >= numbers.len() {
            numbers.push(flow.sent[side]);
            flow.sent[side] += 1;
        }
        let row = PacketRow {
            time_ns: time_ns.into(),
            direction: if outward { "out" } else { "back" }.to_owned(),
            packet_number: numbers[nth].into(),
            frame_bytes: record.original_bytes.into(),
            tos: packet.tos.into(),
            payload_bytes: packet.payload_bytes.saturating_sub(8).into(),
            ..PacketRow::default()
        };
        let row = match segment {
            Some(segment) => {
                let seq =
                    flow.positions[side].of(segment.sequence) - i64::from(!segment.flags.syn());
                let ack = segment
                    .flags
                    .ack()
                    .then(|| flow.positions[1 - side].of(segment.acknowledgement) - 1);
                PacketRow {
                    seq_bytes: seq.into(),
                    ack_bytes: ack.into(),
                    payload_bytes: segment.payload_bytes.into(),
                    tcp_flags: flags(&segment),
                    ..row
                }
            }
            None => row,
        };
        self.rows.push((point, number, row));
    }

    fn flow(&mut self, packet: &IpPacket<'_>) -> (u32, bool) {
        let (from_port, to_port) = decode::ports(packet).unwrap_or((0, 0));
        let (from, to) = ((packet.source, from_port), (packet.destination, to_port));
        if let Some(&number) = self.by_ends.get(&(packet.protocol, from, to)) {
            return (number, self.flows[number as usize].ends[0] == from);
        }
        let number = self.flows.len() as u32;
        let kind = match packet.protocol {
            TCP => "tcp",
            UDP => "udp",
            1 | 58 => "ping",
            _ => "ip",
        };
        let end = |(address, port): End| match port {
            0 => address.to_string(),
            port => format!("{address}:{port}"),
        };
        self.flows.push(Flow {
            name: format!("{kind} {} → {}", end(from), end(to)),
            kind,
            ends: [from, to],
            positions: [Positions::default(); 2],
            sent: [0; 2],
        });
        self.by_ends.insert((packet.protocol, from, to), number);
        self.by_ends.insert((packet.protocol, to, from), number);
        (number, true)
    }

    /// Names of the points, in order of appearance.
    pub fn points(&self) -> &[String] {
        &self.points
    }

    /// Name, kind and end addresses of each flow.
    pub fn flows(&self) -> impl Iterator<Item = (&str, &'static str, [String; 2])> {
        self.flows.iter().map(|flow| {
            (flow.name.as_str(), flow.kind, flow.ends.map(|(address, _)| address.to_string()))
        })
    }

    /// Rows in order of time, with the point as tap. Packets of a flow and direction are numbered by the time at which
    /// they were first seen, whatever the order of the files.
    pub fn rows(&mut self) -> Vec<PacketRow> {
        let mut rows = std::mem::take(&mut self.rows);
        rows.sort_by_key(|(_, _, row)| row.time_ns.stored());
        let mut sent = HashMap::new();
        let mut numbers = HashMap::new();
        let named = |(point, flow, row): (u32, u32, PacketRow)| {
            let side = (flow, row.direction.clone());
            let number =
                *numbers.entry((side.clone(), row.packet_number.stored())).or_insert_with(|| {
                    let next = sent.entry(side).or_insert(0);
                    *next += 1;
                    *next - 1
                });
            PacketRow {
                tap: self.points[point as usize].clone(),
                flow: self.flows[flow as usize].name.clone(),
                packet_number: number.into(),
                ..row
            }
        };
        rows.into_iter().map(named).collect()
    }
}

fn flags(segment: &TcpHeader) -> String {
    let set = segment.flags;
    let syn = if set.syn() { Syn::Opens } else { Syn::No };
    let (fin, rst, psh, ace) = (set.fin(), set.rst(), set.psh(), set.ace());
    Flags { syn, fin, rst, psh, ace }.names()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_go_on_past_the_wrap_and_back() {
        let mut positions = Positions::default();
        let start = u32::MAX - 10;
        for (sequence, place) in
            [(start, 0), (start.wrapping_add(20), 20), (start, 0), (start.wrapping_add(40), 40)]
        {
            assert_eq!(positions.of(sequence), place);
        }
    }
}
