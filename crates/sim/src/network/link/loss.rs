//! Loss before the queue: independent, bursty, scripted.

use super::stage::{Incoming, Ingress, LinkSetup, Passage, Stage};
use crate::drop_reason::DropReason;
use dumbbell_model::netem::FourStates;
use dumbbell_model::rng::Rng;
use dumbbell_model::scenario::{self, Scenario};
use dumbbell_packet::Packet;

/// A loss model with its state.
pub(crate) enum Loss {
    None,
    Independent {
        probability: f64,
    },
    /// In the bad state or not, and the four probabilities of Gilbert (1960) and Elliott (1963).
    GilbertElliott {
        bad: bool,
        to_bad: f64,
        to_good: f64,
        loss_good: f64,
        loss_bad: f64,
    },
    /// Four states, and the one that the chain is in.
    State {
        chain: FourStates,
        state: u8,
    },
    /// Flow and number of each data packet to drop; number of data packets seen, by flow.
    Scripted {
        drops: Vec<(u32, u64)>,
        seen: Vec<u64>,
    },
}

impl Loss {
    /// The model of a scenario's flows; scripted losses name them (validated).
    pub(super) fn of(loss: &scenario::Loss, scenario: &Scenario) -> Self {
        // Only scripted losses ask for names: a network has as many pipes as flows.
        let named =
            if matches!(loss, scenario::Loss::Scripted { .. }) { &scenario.flows[..] } else { &[] };
        let names: Vec<&str> = named.iter().map(|flow| flow.name.as_str()).collect();
        Self::model(loss, &names)
    }

    fn model(loss: &scenario::Loss, flows: &[&str]) -> Self {
        match loss {
            scenario::Loss::None => Self::None,
            scenario::Loss::Independent { probability } => {
                Self::Independent { probability: *probability }
            }
            scenario::Loss::State { chain, .. } => Self::State { chain: *chain, state: 1 },
            scenario::Loss::GilbertElliott {
                good_to_bad,
                bad_to_good,
                loss_good,
                loss_bad,
                ..
            } => Self::GilbertElliott {
                bad: false,
                to_bad: *good_to_bad,
                to_good: *bad_to_good,
                loss_good: *loss_good,
                loss_bad: *loss_bad,
            },
            scenario::Loss::Scripted { drops } => Self::Scripted {
                drops: drops
                    .iter()
                    .filter_map(|drop| {
                        let flow = flows.iter().position(|name| *name == drop.flow)?;
                        Some((flow as u32, drop.nth))
                    })
                    .collect(),
                seen: vec![0; flows.len()],
            },
        }
    }

    /// Returns true if a draw decides.
    pub(super) fn is_random(&self) -> bool {
        matches!(self, Self::Independent { .. } | Self::GilbertElliott { .. } | Self::State { .. })
    }

    /// Returns why this packet is lost, if it is.
    fn strikes(&mut self, packet: &Packet, rng: &mut Rng) -> Option<DropReason> {
        match self {
            Self::None => None,
            Self::Independent { probability } => {
                rng.chance(*probability).then_some(DropReason::Random)
            }
            Self::GilbertElliott { bad, to_bad, to_good, loss_good, loss_bad } => {
                let change = if *bad { *to_good } else { *to_bad };
                if rng.chance(change) {
                    *bad = !*bad;
                }
                let loss = if *bad { *loss_bad } else { *loss_good };
                rng.chance(loss).then_some(DropReason::Random)
            }
            Self::State { chain, state } => {
                let lost = chain.step(state, (rng.next_u64() >> 32) as u32);
                lost.then_some(DropReason::Random)
            }
            Self::Scripted { drops, seen } => {
                if packet.payload_bytes() == 0 {
                    return None;
                }
                let count = seen.get_mut(packet.flow as usize)?;
                *count += 1;
                let hit = (packet.flow, *count);
                drops.contains(&hit).then_some(DropReason::Scripted)
            }
        }
    }
}

impl Stage for Loss {
    const KEEPS_ORDER: bool = true;
    const OWN_EVENT: bool = false;

    fn acts(&self) -> bool {
        !matches!(self, Self::None)
    }
}

impl Ingress for Loss {
    fn new(setup: &LinkSetup<'_>) -> Self {
        Self::of(&setup.spec.loss, setup.scenario)
    }

    fn on_arrival(&mut self, incoming: &Incoming<'_>, rng: &mut Rng) -> Passage {
        match self.strikes(incoming.arena.get(incoming.packet), rng) {
            Some(reason) => Passage::Dropped(reason),
            None => Passage::On,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dumbbell_packet::Body;

    fn datagram(flow: u32) -> Packet {
        let body = Body::Udp { datagram: 0, payload_bytes: 100, fragment: 0, fragments: 1 };
        Packet { flow, outward: true, tos: 0, frame_bytes: 142, number: 0, body }
    }

    #[test]
    fn scripted_loss_counts_each_flow_by_itself() {
        let drops = vec![scenario::ScriptedDrop { flow: "b".into(), nth: 2 }];
        let mut loss = Loss::model(&scenario::Loss::Scripted { drops }, &["a", "b"]);
        let mut rng = Rng::named(1, "test");
        let mut hit = |flow| loss.strikes(&datagram(flow), &mut rng).is_some();
        let hits: Vec<_> = [1, 0, 0, 1, 1].into_iter().map(&mut hit).collect();
        assert_eq!(hits, [false, false, false, true, false]);
    }

    #[test]
    fn gilbert_elliott_loses_its_stationary_share() {
        let loss = scenario::Loss::GilbertElliott {
            good_to_bad: 0.01,
            bad_to_good: 0.24,
            loss_good: 0.0,
            loss_bad: 0.5,
            every: None,
        };
        let mut model = Loss::model(&loss, &[]);
        let mut rng = Rng::named(3, "test");
        let n = 400_000;
        let lost = (0..n).filter(|_| model.strikes(&datagram(0), &mut rng).is_some()).count();
        // π_bad = 0.01 / 0.25 = 0.04, half of it lost: 0.02 of all.
        let share = lost as f64 / f64::from(n);
        assert!((share - 0.02).abs() < 0.0015, "{share}");
    }
}
