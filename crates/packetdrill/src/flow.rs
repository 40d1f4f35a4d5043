//! Numbers of a script and numbers on the wire: ports, sequence numbers, timestamps.
//!
//! A script's SYN has the initial sequence number that the script gives; all later numbers count
//! from the SYN. The other end's numbers go on the wire as they are, so only those of the TCP
//! under test, which chooses its own, differ.

use crate::script::{Content, Flags, Ip, Packet, Segment, TcpOption, Tos};
use crate::settings::{Settings, PORT, REMOTE_PORT};
use crate::wire::Tcp;
use std::collections::BTreeMap;
use std::net::IpAddr;

/// How far a connection is, as the script says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// A socket.
    New,
    /// `listen` was called.
    Listening,
    /// A packet for the listening socket arrived.
    SynReceived,
    /// A SYN-ACK was sent.
    SynAckSent,
    /// `connect` was called.
    Connecting,
    /// A SYN was sent.
    SynSent,
    /// The handshake is over.
    Established,
}

/// A connection under test.
#[derive(Clone, Debug)]
pub struct Flow {
    /// How far it is.
    pub state: State,
    /// Descriptor in the script; None until `accept` returns.
    pub fd: Option<i64>,
    /// Address and port of the TCP under test.
    pub local: (IpAddr, u16),
    /// Address and port of the other end.
    pub remote: (IpAddr, u16),
    script_isn: u32,
    live_isn: u32,
    remote_isn: u32,
    /// Sent timestamps, by their value in the script.
    timestamps: BTreeMap<u32, u32>,
    /// First sent timestamp: in the script, on the wire.
    first_timestamp: Option<(u32, u32)>,
    /// Flow label: in the script, on the wire.
    flow_label: Option<(u32, u32)>,
}

impl Flow {
    /// A new socket.
    pub fn new(fd: Option<i64>, settings: &Settings) -> Self {
        Self {
            state: State::New,
            fd,
            local: (settings.local, PORT),
            remote: (settings.remote, PORT),
            script_isn: 0,
            live_isn: 0,
            remote_isn: 0,
            timestamps: BTreeMap::new(),
            first_timestamp: None,
            flow_label: None,
        }
    }

    /// The connection that a packet for a listening socket begins; `earlier`: connections before.
    pub fn accepted(settings: &Settings, packet: &Segment, earlier: u16) -> Self {
        let remote = (settings.remote, REMOTE_PORT.saturating_add(earlier));
        let state = State::SynReceived;
        Self { state, remote, remote_isn: packet.seq, ..Self::new(None, settings) }
    }

    /// The script says that the TCP under test sends its SYN.
    pub fn sends_syn(&mut self, segment: &Segment) {
        self.script_isn = segment.seq;
        if self.state == State::Connecting {
            self.state = State::SynSent;
        }
    }

    /// True if a packet is one of the TCP under test in this connection.
    pub fn sent(&self, packet: &Tcp) -> bool {
        let to_remote = (packet.destination, packet.destination_port) == self.remote;
        let syn = packet.flags & (Flags::SYN | Flags::ACK) == Flags::SYN;
        let known = (packet.source, packet.source_port) == self.local;
        to_remote && (known || (self.state == State::SynSent && syn))
    }

    /// Notes what a sent packet tells: the port and the initial sequence number chosen.
    pub fn learn(&mut self, packet: &Tcp) {
        if packet.flags & Flags::SYN == 0 {
            return;
        }
        match self.state {
            State::SynReceived if packet.flags & Flags::ACK != 0 => {
                self.state = State::SynAckSent;
                self.live_isn = packet.seq;
            }
            State::SynSent => {
                self.local = (packet.source, packet.source_port);
                self.live_isn = packet.seq;
            }
            _ => {}
        }
    }

    /// The packet of a script as one on the wire.
    ///
    /// # Errors
    /// It echoes a timestamp that was never sent.
    pub fn to_wire(&mut self, packet: &Packet, settings: &Settings) -> Result<Tcp, String> {
        let mut wire = Tcp::between(self.remote, self.local);
        wire.tos = match packet.ip.tos {
            Tos::Unsaid | Tos::Ect => 0,
            Tos::Ecn(codepoint) => codepoint,
            Tos::Byte(byte) => byte,
        };
        wire.ttl = packet.ip.ttl.unwrap_or(wire.ttl);
        wire.flow_label = packet.ip.flow_label.unwrap_or(0);
        if let Some((source, destination)) = packet.ports {
            wire.source_port = if source == 0 { wire.source_port } else { source };
            wire.destination_port =
                if destination == 0 { wire.destination_port } else { destination };
        }
        let Content::Tcp(segment) = &packet.content else {
            return Ok(wire);
        };
        self.receives(segment);
        let syn = segment.flags.has(Flags::SYN);
        let ack_offset = self.local_offset(syn);
        let remote_offset = if syn { 0 } else { self.remote_isn };
        wire.flags = segment.flags.0;
        wire.seq = segment.seq.wrapping_add(remote_offset);
        let is_ack = segment.flags.has(Flags::ACK);
        wire.ack = if is_ack { segment.ack.wrapping_add(ack_offset) } else { segment.ack };
        wire.window = segment.window.unwrap_or(0);
        wire.urgent = segment.urgent;
        wire.payload = vec![0; usize::from(segment.payload_bytes)];
        for option in segment.options.iter().flatten() {
            wire.options.push(match option {
                TcpOption::Sack(blocks) => TcpOption::Sack(offset(blocks, ack_offset)),
                TcpOption::Timestamps(value, echo) if is_ack => {
                    TcpOption::Timestamps(*value, self.echo(*echo, settings)?)
                }
                other => other.clone(),
            });
        }
        Ok(wire)
    }

    /// The TCP under test receives a segment.
    fn receives(&mut self, segment: &Segment) {
        match self.state {
            State::SynAckSent if segment.flags.has(Flags::ACK) => self.state = State::Established,
            State::SynSent if segment.flags.has(Flags::SYN | Flags::ACK) => {
                self.state = State::Established;
                self.remote_isn = segment.seq;
            }
            _ => {}
        }
    }

    fn local_offset(&self, syn: bool) -> u32 {
        if syn {
            self.live_isn.wrapping_sub(self.script_isn)
        } else {
            self.live_isn
        }
    }

    /// The timestamp on the wire that a script's echo stands for.
    fn echo(&self, echo: u32, settings: &Settings) -> Result<u32, String> {
        if let Some(sent) = self.timestamps.get(&echo) {
            return Ok(*sent);
        }
        match self.first_timestamp {
            Some((script, live)) if settings.ts_ecr_scaled => {
                Ok(echo.wrapping_sub(script).wrapping_add(live))
            }
            _ => Err(format!("the timestamp {echo} is echoed, but was not sent before")),
        }
    }

    /// A segment of this connection as a packet on the wire that the TCP under test has sent: quoted by ICMP.
    pub fn quoted(&self, seq: u32, payload_bytes: u16) -> Tcp {
        let mut wire = Tcp::between(self.local, self.remote);
        wire.seq = seq.wrapping_add(self.live_isn);
        wire.payload = vec![0; usize::from(payload_bytes)];
        wire
    }

    /// A sent packet with the numbers of the script; `expected`: the script's, with its timestamps.
    pub fn to_script(&mut self, wire: &Tcp, expected: &Packet) -> Packet {
        let syn = wire.flags & Flags::SYN != 0;
        let seq_offset = self.local_offset(syn);
        let ack_offset = if syn { 0 } else { self.remote_isn };
        let said = match &expected.content {
            Content::Tcp(segment) => segment.options.as_deref().unwrap_or(&[]),
            Content::Icmp(_) => &[],
        };
        let said = said.iter().find_map(|option| match option {
            TcpOption::Timestamps(value, _) => Some(*value),
            _ => None,
        });
        let mut options = Vec::new();
        for option in &wire.options {
            options.push(match option {
                TcpOption::Sack(blocks) => {
                    TcpOption::Sack(offset(blocks, ack_offset.wrapping_neg()))
                }
                TcpOption::Timestamps(value, echo) => {
                    TcpOption::Timestamps(self.note_timestamp(said, *value), *echo)
                }
                other => other.clone(),
            });
        }
        let is_ack = wire.flags & Flags::ACK != 0;
        Packet {
            ip: Ip {
                tos: Tos::Byte(wire.tos),
                ttl: Some(wire.ttl),
                flow_label: Some(wire.flow_label),
            },
            ports: None,
            content: Content::Tcp(Segment {
                flags: Flags(wire.flags),
                ace: None,
                seq: wire.seq.wrapping_sub(seq_offset),
                payload_bytes: u16::try_from(wire.payload.len()).unwrap_or(u16::MAX),
                ack: if is_ack { wire.ack.wrapping_sub(ack_offset) } else { wire.ack },
                window: Some(wire.window),
                urgent: wire.urgent,
                options: Some(options),
            }),
        }
    }

    /// Notes which sent timestamp a script's value stands for; the sent one in the script's numbers.
    fn note_timestamp(&mut self, said: Option<u32>, live: u32) -> u32 {
        let Some(said) = said else {
            return live;
        };
        self.timestamps.insert(said, live);
        let (script, first) = *self.first_timestamp.get_or_insert((said, live));
        live.wrapping_sub(first).wrapping_add(script)
    }

    /// Checks a flow label: the same value of the script is the same label, another one another.
    ///
    /// # Errors
    /// It is not.
    pub fn check_flow_label(&mut self, script: u32, live: u32) -> Result<(), String> {
        if live == 0 {
            return Err("no flow label was sent".to_owned());
        }
        match self.flow_label {
            Some((known, label)) if known == script && label != live => {
                Err(format!("flow label: expected {label:#x} as before, found {live:#x}"))
            }
            Some((known, label)) if known != script && label == live => {
                Err(format!("flow label: expected another one than {label:#x}"))
            }
            _ => {
                self.flow_label = Some((script, live));
                Ok(())
            }
        }
    }
}

fn offset(blocks: &[(u32, u32)], by: u32) -> Vec<(u32, u32)> {
    blocks.iter().map(|(left, right)| (left.wrapping_add(by), right.wrapping_add(by))).collect()
}
