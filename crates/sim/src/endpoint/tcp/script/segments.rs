//! Segments of the model as packets on the wire, and back.

use dumbbell_model::TcpOptions;
use dumbbell_packet::frame::ETHERNET_HEADER_BYTES;
use dumbbell_packet::read::{Header, Numbers};
use dumbbell_packet::tcp::Syn;
use dumbbell_packet::wire::{self, FlowHeaders};
use dumbbell_packet::{Body, Packet, Segment};
use dumbbell_packetdrill::script::{Flags, TcpOption};
use dumbbell_packetdrill::wire::Tcp;
use std::net::IpAddr;

/// Initial sequence number of the model's end.
const INITIAL: u32 = 1_000_000;

/// Numbers and addresses of a connection on the wire.
pub(super) struct Wire {
    /// Side of the model's end: 0 if it connects, 1 if it listens.
    side: usize,
    local: (IpAddr, u16),
    remote: (IpAddr, u16),
    numbers: Numbers,
    headers: FlowHeaders,
    count: u64,
}

impl Wire {
    /// `connects`: the model's end sends the SYN. `own`: what it offers.
    pub(super) fn new(
        connects: bool,
        local: (IpAddr, u16),
        remote: (IpAddr, u16),
        own: &TcpOptions,
    ) -> Self {
        let side = usize::from(!connects);
        let mut initial = [0; 2];
        initial[side] = INITIAL;
        let mss = (own.mtu_bytes - 40) as u16;
        let headers = FlowHeaders {
            initial,
            mss: [mss; 2],
            window_scale: [own.window_scale(); 2],
            scales_window: own.tcp_window_scaling,
            ..FlowHeaders::default()
        };
        let numbers = if connects { Numbers::default() } else { Numbers::of_server(INITIAL) };
        Self { side, local, remote, numbers, headers, count: 0 }
    }

    /// Port of the peer.
    pub(super) fn remote_port(&self) -> u16 {
        self.remote.1
    }

    /// Windows are scaled, as both ends agreed.
    pub(super) fn scales_window(&mut self, scales: bool) {
        self.headers.scales_window = scales;
    }

    /// A packet of the model's end.
    pub(super) fn packet(&mut self, segment: &Segment, ecn_field: u8) -> Vec<u8> {
        let packet = Packet {
            number: self.count,
            flow: 0,
            frame_bytes: segment.frame_bytes(),
            outward: self.side == 0,
            tos: ecn_field,
            body: Body::Tcp(*segment),
        };
        self.count += 1;
        let frame = wire::frame(&packet, &self.headers, [[0; 6]; 2], usize::MAX);
        let ip = &frame[ETHERNET_HEADER_BYTES as usize..];
        if segment.flags.is_syn() {
            // The reader learns the initial sequence number and the window scale.
            let tcp = &ip[20..];
            self.numbers.segment(self.side, &Header(tcp), tcp.len() as u32);
        }
        let Some(mut tcp) = Tcp::read(ip) else { return Vec::new() };
        (tcp.source, tcp.source_port) = self.local;
        (tcp.destination, tcp.destination_port) = self.remote;
        tcp.bytes()
    }

    /// A segment of the peer, with its ECN field.
    pub(super) fn segment(&mut self, packet: &Tcp) -> (Segment, u8) {
        let peer = 1 - self.side;
        let syn = packet.flags & Flags::SYN != 0;
        let initial = self.numbers.initial(peer);
        // A SYN with another number does not begin the connection anew.
        let late = syn && initial.is_some_and(|initial| initial != packet.seq);
        let mut packet = in_order_of_linux(packet);
        if late {
            packet.flags &= !Flags::SYN;
        } else if syn {
            self.headers.initial[peer] = packet.seq;
        }
        let bytes = packet.bytes();
        let header = if packet.source.is_ipv6() { 40 } else { 20 };
        let tcp = &bytes[header..];
        let mut segment = self.numbers.segment(peer, &Header(tcp), tcp.len() as u32);
        if late {
            let answers = packet.flags & Flags::ACK != 0;
            segment.flags.syn = if answers { Syn::Answers } else { Syn::Opens };
        }
        (segment, packet.tos & 3)
    }
}

/// The packet with the option of Accurate ECN in the order that Linux sends, ECT(1) first (RFC 9768,
/// 3.2.3), if it has all three counters.
fn in_order_of_linux(packet: &Tcp) -> Tcp {
    let mut packet = packet.clone();
    for option in &mut packet.options {
        if let TcpOption::Other(kind @ 172, counters) = option {
            if let [a, b, c, d, e, f, g, h, i] = counters[..] {
                *kind = 174;
                *counters = vec![g, h, i, d, e, f, a, b, c];
            }
        }
    }
    packet
}
