//! Outages: a link that is down has no carrier. Linux frees what waits at an interface that loses its
//! carrier (`dev_deactivate`, `qdisc_reset`), and drops what is sent there (`noop_enqueue`). What is on the
//! wire is lost, too: the far end has no carrier either.

use super::loss::Loss;
use super::row::Acting;
use super::stage::{Incoming, Ingress, LinkSetup, Passage, Stage};
use super::Pipe;
use crate::arena::Handle;
use crate::drop_reason::DropReason;
use dumbbell_model::rng::Rng;
use dumbbell_model::scenario::{self, LinkState, Scenario};
use dumbbell_model::Time;

/// State of the link.
pub(crate) struct Outage {
    down: bool,
}

impl Stage for Outage {
    const KEEPS_ORDER: bool = true;
    const OWN_EVENT: bool = false;

    fn acts(&self) -> bool {
        self.down
    }
}

impl Ingress for Outage {
    fn new(_: &LinkSetup<'_>) -> Self {
        Self { down: false }
    }

    fn on_arrival(&mut self, _: &Incoming<'_>, _: &mut Rng) -> Passage {
        Passage::Dropped(DropReason::LinkDown)
    }
}

/// A packet that an outage has taken from the link.
pub(crate) struct Lost {
    pub(crate) packet: Handle,
    /// Time at which it left the queue.
    pub(crate) left_at: Option<Time>,
}

impl Pipe {
    /// Changes the state. Returns the packets that are lost.
    pub(super) fn set_state(
        &mut self,
        now: Time,
        state: LinkState,
        scenario: &Scenario,
    ) -> Vec<Lost> {
        let lost = match state {
            LinkState::Down => self.flush(now),
            LinkState::Up => Vec::new(),
        };
        let Some(row) = &mut self.row else { return lost };
        row.outage.down = state == LinkState::Down;
        match state {
            // A dropped packet has the reason `link_down`. Scripted losses go on counting offered packets.
            LinkState::Down if row.loss.is_random() => row.loss = Loss::None,
            LinkState::Down => {}
            LinkState::Up => {
                let made = row.changes.renew(scenario, &self.name, now, |setup| {
                    let loss = match setup.spec.loss {
                        scenario::Loss::Scripted { .. } => None,
                        ref loss => Some(Loss::of(loss, scenario)),
                    };
                    (
                        super::Buffer::new(setup),
                        super::Shaper::new(setup),
                        super::Serial::of(setup),
                        loss,
                    )
                });
                let Some((buffer, shaper, wire, loss)) = made else { return lost };
                (row.buffer, row.shaper, self.wire) = (buffer, shaper, wire);
                row.loss = loss.unwrap_or(std::mem::replace(&mut row.loss, Loss::None));
            }
        }
        self.acting = Acting::of(row);
        lost
    }

    /// Takes all packets out of the link: held, waiting, on the wire, in propagation.
    fn flush(&mut self, now: Time) -> Vec<Lost> {
        self.settle(now);
        let inside = |packet| Lost { packet, left_at: None };
        let mut lost: Vec<Lost> = Vec::new();
        // Packets that wait for a wire are on the line already.
        if let Some(wire) = &mut self.wire {
            wire.drain();
        }
        lost.extend(self.line.drain(..).map(|entry| Lost {
            packet: entry.packet,
            left_at: Some(entry.start).filter(|start| *start <= now),
        }));
        self.trains.clear();
        if let Some(row) = &mut self.row {
            lost.extend(row.buffer.flush(now).into_iter().map(inside));
            lost.extend(row.ack_aggregation.release().into_iter().map(inside));
            for one in &lost {
                row.corruption.take(one.packet);
            }
        }
        self.stats.dropped[DropReason::LinkDown as usize] += lost.len() as u64;
        lost
    }
}
