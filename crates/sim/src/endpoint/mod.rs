//! What is at both ends of a flow, one kind per file.

pub(crate) mod ping;
pub(crate) mod tcp;
pub(crate) mod udp;

use crate::flow::FlowState;
use dumbbell_model::scenario::Flow;
use dumbbell_model::tables::{FlowRow, ProbeRow, SampleRow, TransferRow};
use dumbbell_model::{Span, Time};
use dumbbell_packet::frame::{ETHERNET_HEADER_BYTES, IPV4_HEADER_BYTES};
use ping::PingState;
use tcp::TcpEnds;
use udp::UdpEnds;

/// What the flow carries.
pub(crate) enum Ends {
    Tcp(Box<TcpEnds>),
    Udp(Box<UdpEnds>),
    Ping(Box<PingState>),
}

/// A packet that asks how long its way takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Probe {
    pub(crate) sent: Time,
    /// Until its answer, or itself, was there.
    pub(crate) delay: Option<Span>,
}

/// Frame of an IP packet with so many bytes above IP.
fn frame_bytes(ip_payload: u64) -> u32 {
    ETHERNET_HEADER_BYTES + IPV4_HEADER_BYTES + ip_payload as u32
}

impl Ends {
    /// Packets that arrived at the destination with payload that was there already.
    pub(crate) fn duplicate_packets(&self) -> u64 {
        match self {
            Self::Tcp(tcp) => tcp.receiver.duplicate_packets,
            Self::Udp(_) | Self::Ping(_) => 0,
        }
    }

    /// A sample of the sender's window for the flow's means. False if there will be no other.
    pub(crate) fn sample_window(&mut self) -> bool {
        match self {
            Self::Tcp(tcp) => tcp.sample_window(),
            Self::Udp(_) | Self::Ping(_) => true,
        }
    }

    /// Fills what it knows of its state now.
    pub(crate) fn sample(&self, row: &mut SampleRow) {
        match self {
            Self::Tcp(tcp) => tcp.sample(row),
            Self::Udp(udp) => udp.sample(row),
            Self::Ping(_) => row.delivered_bytes = 0_u64.into(),
        }
    }

    /// Fills what it knows of the whole run.
    pub(crate) fn totals(&self, spec: &Flow, flow: &FlowState, end: Time, row: &mut FlowRow) {
        match self {
            Self::Tcp(tcp) => tcp.totals(spec, flow, end, row),
            Self::Udp(udp) => udp.totals(spec, flow, row),
            Self::Ping(ping) => ping.totals(row),
        }
    }

    pub(crate) fn transfer(&self, spec: &Flow, start: Time) -> Option<TransferRow> {
        match self {
            // Of pages, objects are transfers; of Multipath TCP, connections.
            Self::Tcp(tcp) if tcp.requests.is_some() || tcp.subflow.is_some() => None,
            Self::Tcp(tcp) => tcp.transfer(spec, start),
            Self::Udp(_) | Self::Ping(_) => None,
        }
    }

    pub(crate) fn probes(&self, spec: &Flow, rows: &mut Vec<ProbeRow>) {
        match self {
            Self::Tcp(_) => {}
            Self::Udp(udp) => udp.probes(spec, rows),
            Self::Ping(ping) => ping.probes(spec, rows),
        }
    }
}
