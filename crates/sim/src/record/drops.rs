//! Packets dropped in the network, for the table `drops`.

use crate::drop_reason::DropReason;
use crate::network::link::Pipe;
use dumbbell_model::scenario::Flow;
use dumbbell_model::tables::ns;
use dumbbell_model::tables::{self, DropRow, Table};
use dumbbell_model::Time;
use dumbbell_packet::{Body, Packet};

/// A dropped packet. Names follow at the end of the run: a busy link drops hundreds of thousands.
struct Dropped {
    at: Time,
    /// Sequence number of a TCP segment, else number of the packet.
    seq: u64,
    flow: u32,
    pipe: u32,
    reason: DropReason,
}

/// Dropped packets in order of time.
#[derive(Default)]
pub(crate) struct Drops(Vec<Dropped>);

impl Drops {
    pub(crate) fn add(&mut self, at: Time, pipe: usize, reason: DropReason, packet: &Packet) {
        let seq = match packet.body {
            Body::Tcp(segment) => segment.seq,
            Body::Udp { .. } | Body::Ping { .. } | Body::Arp { .. } => packet.number,
        };
        self.0.push(Dropped { at, seq, flow: packet.flow, pipe: pipe as u32, reason });
    }

    pub(crate) fn table(&self, flows: &[Flow], pipes: &[Pipe]) -> Table {
        let mut table = Table::new(&tables::DROPS);
        for drop in &self.0 {
            // Only ARP's packets have no flow.
            let flow = flows.get(drop.flow as usize).map_or("arp", |flow| &flow.name);
            let row = DropRow {
                time_ns: ns(drop.at),
                pipe: pipes[drop.pipe as usize].name.clone(),
                reason: drop.reason.name().to_owned(),
                flow: flow.to_owned(),
                seq_bytes: drop.seq.into(),
            };
            row.append_to(&mut table);
        }
        table
    }
}
