//! The row of stages that a packet passes, in their order. A new stage is a file, and a line here;
//! the compiler then asks for what lookahead must know of it ([`super::stage::Stage`]).

use super::ack_aggregation::AckAggregation;
use super::buffer::Buffer;
use super::changes::Changes;
use super::corruption::Corruption;
use super::duplication::Duplication;
use super::jitter::Jitter;
use super::loss::Loss;
use super::order::Order;
use super::outage::Outage;
use super::policer::Policer;
use super::reordering::Reordering;
use super::rewriting::Rewriting;
use super::shaper::Shaper;
use super::stage::{Departure, Egress, Incoming, Ingress, LinkSetup, Passage, Properties, Stage};
use dumbbell_model::rng::Rng;

macro_rules! row {
    (
        ingress { $($in:ident: $In:ty,)+ }
        link { $($mid:ident: $Mid:ty,)+ }
        egress { $($out:ident: $Out:ty,)+ }
    ) => {
        /// All stages of one direction of a link.
        pub(crate) struct Row {
            $(pub(super) $in: $In,)+
            $(pub(super) $mid: $Mid,)+
            $(pub(super) $out: $Out,)+
        }

        impl Row {
            pub(super) fn new(setup: &LinkSetup<'_>) -> Self {
                Self {
                    $($in: <$In>::new(setup),)+
                    $($mid: <$Mid>::new(setup),)+
                    $($out: <$Out>::new(setup),)+
                }
            }

            /// Properties of all stages together.
            pub(super) fn properties(&self) -> Properties {
                Properties::NONE
                    $(.and(Properties::of(&self.$in)))+
                    $(.and(self.$mid.properties()))+
                    $(.and(Properties::of(&self.$out)))+
            }

            /// Takes a packet through the stages before the queue.
            pub(super) fn arrive(&mut self, incoming: &Incoming<'_>, rng: &mut Rng) -> Passage {
                $(
                    if self.$in.acts() {
                        match self.$in.on_arrival(incoming, rng) {
                            Passage::On => {}
                            decided => return decided,
                        }
                    }
                )+
                Passage::On
            }

            /// Returns true if a stage before the queue acts.
            pub(super) fn ingress_acts(&self) -> bool {
                false $(|| self.$in.acts())+
            }

            /// Takes a packet through the stages behind the shaper.
            pub(super) fn depart(&mut self, departure: &mut Departure, rng: &mut Rng) {
                $(
                    if self.$out.acts() {
                        self.$out.on_departure(departure, rng);
                    }
                )+
            }

            /// Returns true if a stage behind the shaper changes times of arrival.
            pub(super) fn egress_acts(&self) -> bool {
                false $(|| self.$out.acts())+
            }

            /// Packets held before the queue.
            pub(super) fn held(&self) -> usize {
                0 $(+ self.$in.held())+
            }
        }
    };
}

row! {
    ingress {
        policer: Policer,
        loss: Loss,
        outage: Outage,
        ack_aggregation: AckAggregation,
    }
    link {
        changes: Changes,
        rewriting: Rewriting,
        duplication: Duplication,
        buffer: Buffer,
        corruption: Corruption,
        shaper: Shaper,
    }
    egress {
        order: Order,
        reordering: Reordering,
        jitter: Jitter,
    }
}

/// Stages that act now, found again when values change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Acting {
    pub(super) ingress: bool,
    pub(super) rewriting: bool,
    pub(super) duplication: bool,
    pub(super) corruption: bool,
    pub(super) egress: bool,
}

impl Acting {
    pub(super) fn of(row: &Row) -> Self {
        Self {
            ingress: row.ingress_acts(),
            rewriting: row.rewriting.acts(),
            duplication: row.duplication.acts(),
            corruption: row.corruption.acts(),
            egress: row.egress_acts(),
        }
    }
}
