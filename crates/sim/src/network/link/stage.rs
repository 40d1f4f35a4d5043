//! A stage of a link: what may happen to a packet on its way through.

use crate::arena::{Arena, Handle};
use crate::drop_reason::DropReason;
use dumbbell_model::rng::Rng;
use dumbbell_model::scenario::{self, Scenario};
use dumbbell_model::{Span, Time};

/// Description of one direction of a link, from which its stages are built.
pub(crate) struct LinkSetup<'a> {
    pub(crate) scenario: &'a Scenario,
    pub(crate) spec: &'a scenario::Pipe,
    /// Name in results and of random streams: `LINK/forward` or `LINK/backward`.
    pub(crate) name: &'a str,
    /// Index of the node at the far end.
    pub(crate) to: usize,
    pub(crate) seed: u64,
    /// Frame of the device's MTU (`psched_mtu`).
    pub(crate) frame_bytes: u32,
    /// The node at the near end is a bridge.
    pub(crate) bridge: bool,
    /// Time from which on the link passes packets: the beginning of the run, or the end of an outage.
    pub(crate) since: Time,
}

/// Properties of a stage, constant for its type. Lookahead and events depend on them.
pub(crate) trait Stage {
    /// Every packet that passes goes onto the line at once, behind all packets before it, and
    /// arrives intact.
    const KEEPS_ORDER: bool;
    /// Packets wait here for an event.
    const OWN_EVENT: bool;

    /// Returns false if no packet is affected during the whole run.
    fn acts(&self) -> bool;
}

/// [`Stage`] as values, of one stage or of several together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Properties {
    pub(crate) acts: bool,
    pub(crate) keeps_order: bool,
    pub(crate) own_event: bool,
}

impl Properties {
    /// No stage.
    pub(crate) const NONE: Self = Self { acts: false, keeps_order: true, own_event: false };

    pub(crate) fn of<S: Stage>(stage: &S) -> Self {
        if stage.acts() {
            Self { acts: true, keeps_order: S::KEEPS_ORDER, own_event: S::OWN_EVENT }
        } else {
            Self::NONE
        }
    }

    pub(crate) fn and(self, other: Self) -> Self {
        Self {
            acts: self.acts || other.acts,
            keeps_order: self.keeps_order && other.keeps_order,
            own_event: self.own_event || other.own_event,
        }
    }
}

/// A packet at the near end of the link.
pub(crate) struct Incoming<'a> {
    pub(crate) now: Time,
    pub(crate) packet: Handle,
    pub(crate) arena: &'a Arena,
}

/// Decision of a stage about an incoming packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Passage {
    /// On to the next stage.
    On,
    Dropped(DropReason),
    /// The stage keeps the packet and releases it later.
    Held,
}

/// A stage before the queue.
pub(crate) trait Ingress: Stage {
    fn new(setup: &LinkSetup<'_>) -> Self;

    fn on_arrival(&mut self, incoming: &Incoming<'_>, rng: &mut Rng) -> Passage;

    /// Packets that it holds.
    fn held(&self) -> usize {
        0
    }
}

/// A packet that leaves the shaper.
pub(crate) struct Departure {
    /// At the far end.
    pub(crate) arrival: Time,
    /// Transmission time; zero behind a discipline.
    pub(crate) length: Span,
    /// It may arrive before packets that left earlier.
    pub(crate) may_overtake: bool,
    /// Arrival of the packet that left before, if it is still under way.
    pub(crate) previous_arrival: Option<Time>,
}

/// A stage behind the shaper: changes the time of arrival.
pub(crate) trait Egress: Stage {
    fn new(setup: &LinkSetup<'_>) -> Self;

    fn on_departure(&mut self, departure: &mut Departure, rng: &mut Rng);
}
