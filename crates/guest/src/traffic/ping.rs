//! Echo requests: by ICMP (RFC 792), answered by the other host's kernel, or by UDP (RFC 862), answered
//! by a socket there.

use super::datagrams::{numbered, numbered_datagram, receive, send, MOST_BYTES};
use crate::application::{Application, Ends, Opening, Probe, Side, TrafficApplication, Wait};
use crate::flow_rows::FlowReport;
use crate::sys;
use dumbbell_model::scenario::{EchoProtocol, Ping};
use dumbbell_model::tables::Float;
use dumbbell_packet::frame::ETHERNET_HEADER_BYTES;
use std::io::Result;
use std::os::fd::{AsFd, OwnedFd};

/// Bytes of the header of ICMP, and of UDP.
const HEADER_BYTES: usize = 8;
const IP_HEADER_BYTES: u64 = 20;
/// IP packet size that no link of an experiment fragments.
const UNFRAGMENTED_BYTES: u64 = 576;
const ECHO_REQUEST: u8 = 8;
const ECHO_REPLY: u8 = 0;

/// Protocol of requests.
enum Way {
    Icmp { identity: u16 },
    Udp { echo: OwnedFd },
}

/// A flow of echo requests.
struct PingFlow {
    flow: usize,
    spec: Ping,
    start: i64,
    stop: i64,
    socket: OwnedFd,
    way: Way,
    probes: Vec<Probe>,
    answered: u64,
    rtt_sum_ns: i64,
    rtt_min_ns: Option<i64>,
    last_delivery: Option<i64>,
}

/// Opens the socket that replies to UDP requests; called in the namespace of the other host.
fn answer(ends: Ends, spec: Ping) -> Result<Option<OwnedFd>> {
    if spec.protocol == EchoProtocol::Icmp {
        return Ok(None);
    }
    let echo = sys::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_NONBLOCK, 0)?;
    sys::bind(echo.as_fd(), &sys::inet(ends.to, ends.server_port()))?;
    sys::connect(echo.as_fd(), &sys::inet(ends.from, ends.client_port()))?;
    sys::set_dscp(echo.as_fd(), ends.dscp)?;
    Ok(Some(echo))
}

impl TrafficApplication for Ping {
    fn open(&self, opening: &Opening<'_>) -> Result<Box<dyn Application>> {
        let ends = opening.ends;
        opening.at_destination()?;
        let answer = answer(ends, *self)?;
        opening.at_source()?;
        let (way, kind, protocol, ports) = match answer {
            None => {
                let identity = ends.flow as u16 + 1;
                (Way::Icmp { identity }, libc::SOCK_RAW, libc::IPPROTO_ICMP, [0, 0])
            }
            Some(echo) => {
                let ports = [ends.client_port(), ends.server_port()];
                (Way::Udp { echo }, libc::SOCK_DGRAM, 0, ports)
            }
        };
        let socket = sys::socket(libc::AF_INET, kind | libc::SOCK_NONBLOCK, protocol)?;
        sys::bind(socket.as_fd(), &sys::inet(ends.from, ports[0]))?;
        sys::connect(socket.as_fd(), &sys::inet(ends.to, ports[1]))?;
        sys::set_dscp(socket.as_fd(), ends.dscp)?;
        Ok(Box::new(PingFlow {
            flow: ends.flow,
            spec: *self,
            start: opening.start,
            stop: opening.stop,
            socket,
            way,
            probes: Vec::new(),
            answered: 0,
            rtt_sum_ns: 0,
            rtt_min_ns: None,
            last_delivery: None,
        }))
    }
}

impl PingFlow {
    fn sent(&self) -> u64 {
        self.probes.len() as u64
    }

    /// Bytes of the frames of all requests; unknown if they may be fragmented.
    fn sent_bytes(&self) -> Option<u64> {
        let packet_bytes = IP_HEADER_BYTES + HEADER_BYTES as u64 + self.spec.payload_bytes;
        let whole = packet_bytes <= UNFRAGMENTED_BYTES;
        whole.then(|| self.sent() * (u64::from(ETHERNET_HEADER_BYTES) + packet_bytes))
    }

    fn request(&self, number: u64) -> Vec<u8> {
        let payload_bytes = self.spec.payload_bytes as usize;
        let Way::Icmp { identity } = self.way else {
            return numbered_datagram(number, payload_bytes);
        };
        let number = number as u16;
        let mut bytes = vec![0; HEADER_BYTES + payload_bytes];
        bytes[0] = ECHO_REQUEST;
        bytes[4..6].copy_from_slice(&identity.to_be_bytes());
        bytes[6..8].copy_from_slice(&number.to_be_bytes());
        // The payload is zero, so the checksum (RFC 1071) is that of three words.
        let sum = u32::from(ECHO_REQUEST) << 8;
        let sum = sum + u32::from(identity) + u32::from(number);
        let folded = (sum & 0xffff) + (sum >> 16);
        bytes[2..4].copy_from_slice(&(!(folded as u16)).to_be_bytes());
        bytes
    }

    /// Echoes the requests that have arrived at the other host.
    fn answer(&mut self) -> Result<()> {
        let Way::Udp { echo } = &self.way else { return Ok(()) };
        let mut datagram = vec![0; MOST_BYTES];
        while let Some(length) = receive(echo.as_fd(), &mut datagram)? {
            send(echo.as_fd(), &datagram[..length])?;
        }
        Ok(())
    }

    fn read(&mut self, now: i64) -> Result<()> {
        let mut packet = [0; 128];
        while let Some(length) = receive(self.socket.as_fd(), &mut packet)? {
            let Some((low, bits)) = self.number_of(&packet[..length.min(128)]) else { continue };
            let Some(probe) = numbered(&mut self.probes, low, bits) else { continue };
            if probe.delay.is_some() {
                continue;
            }
            let rtt = now - probe.sent;
            probe.delay = Some(rtt);
            self.answered += 1;
            self.rtt_sum_ns += rtt;
            self.rtt_min_ns = Some(self.rtt_min_ns.map_or(rtt, |least| least.min(rtt)));
            self.last_delivery = Some(now);
        }
        Ok(())
    }

    /// Lower bits of the number of the request that a reply belongs to, and how many bits these are.
    fn number_of(&self, packet: &[u8]) -> Option<(u64, u32)> {
        let Way::Icmp { identity: own } = self.way else {
            let number = packet.first_chunk()?;
            return Some((u64::from_le_bytes(*number), 64));
        };
        let header = usize::from(packet.first()? & 15) * 4;
        let icmp = packet.get(header..header + HEADER_BYTES)?;
        let identity = u16::from_be_bytes([icmp[4], icmp[5]]);
        let number = u64::from(u16::from_be_bytes([icmp[6], icmp[7]]));
        (icmp[0] == ECHO_REPLY && identity == own).then_some((number, 16))
    }
}

impl Application for PingFlow {
    fn next(&self) -> Option<i64> {
        let due = self.start + self.probes.len() as i64 * self.spec.interval.as_ns() as i64;
        (due < self.stop).then_some(due)
    }

    fn waits(&self) -> Vec<Wait<'_>> {
        let mut all = vec![(Side::Sender, self.socket.as_fd(), libc::POLLIN)];
        if let Way::Udp { echo } = &self.way {
            all.push((Side::Receiver, echo.as_fd(), libc::POLLIN));
        }
        all
    }

    /// Performs the actions that are due.
    fn turn(&mut self, now: i64) -> Result<()> {
        self.answer()?;
        self.read(now)?;
        while self.next().is_some_and(|due| due <= now) {
            let request = self.request(self.probes.len() as u64);
            self.probes.push(Probe { sent: now, delay: None });
            send(self.socket.as_fd(), &request)?;
        }
        Ok(())
    }

    fn report(&self, report: &mut FlowReport<'_>) -> Result<()> {
        let row = &mut report.flows[self.flow];
        row.kind = "ping".to_owned();
        (row.start_ns, row.established_ns) = (self.start.into(), self.start.into());
        row.delivered_bytes = 0_u64.into();
        row.sent_packets = self.sent().into();
        row.sent_bytes = self.sent_bytes().into();
        row.data_packets = self.sent().into();
        row.rtt_min_ns = self.rtt_min_ns.into();
        row.rtt_mean_ns = Float::mean(self.rtt_sum_ns.max(0) as f64, self.answered);
        row.last_delivery_ns = self.last_delivery.into();
        Ok(())
    }

    fn probes(&self) -> Option<(&'static str, &[Probe])> {
        Some((self.spec.protocol.name(), &self.probes))
    }
}
