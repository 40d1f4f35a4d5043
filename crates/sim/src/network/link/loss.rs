//! Loss before the queue: independent, bursty, scripted; and the policer.

use dumbbell_model::rng::Rng;
use dumbbell_model::scenario::{Loss, Policer};
use dumbbell_model::Time;
use dumbbell_packet::Packet;

/// Why a packet was dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum DropReason {
    Overflow,
    Random,
    Scripted,
    Policed,
    Corrupted,
    /// By the queue discipline, to tell of congestion.
    Aqm,
}

impl DropReason {
    pub(crate) const ALL: [Self; 6] =
        [Self::Overflow, Self::Random, Self::Scripted, Self::Policed, Self::Corrupted, Self::Aqm];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Overflow => "overflow",
            Self::Random => "random",
            Self::Scripted => "scripted",
            Self::Policed => "policed",
            Self::Corrupted => "corrupted",
            Self::Aqm => "aqm",
        }
    }
}

/// A loss model with its state.
pub(crate) enum LossModel {
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
    /// Sorted numbers of data packets still to drop, and data packets seen, by flow.
    Scripted {
        drops: Vec<(u32, u64)>,
        seen: Vec<u64>,
    },
}

impl LossModel {
    /// `flow_number` gives the index of a flow by its name; the names were validated.
    pub(crate) fn new(
        loss: &Loss,
        flows: usize,
        flow_number: impl Fn(&str) -> Option<u32>,
    ) -> Self {
        match loss {
            Loss::None => Self::None,
            Loss::Independent { probability } => Self::Independent { probability: *probability },
            Loss::GilbertElliott { good_to_bad, bad_to_good, loss_good, loss_bad } => {
                Self::GilbertElliott {
                    bad: false,
                    to_bad: *good_to_bad,
                    to_good: *bad_to_good,
                    loss_good: *loss_good,
                    loss_bad: *loss_bad,
                }
            }
            Loss::Scripted { drops } => Self::Scripted {
                drops: drops
                    .iter()
                    .filter_map(|drop| Some((flow_number(&drop.flow)?, drop.nth)))
                    .collect(),
                seen: vec![0; flows],
            },
        }
    }

    /// Is this packet lost?
    pub(crate) fn strikes(&mut self, packet: &Packet, rng: &mut Rng) -> Option<DropReason> {
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
            Self::Scripted { drops, seen } => {
                if packet.payload_bytes() == 0 {
                    return None;
                }
                let count = &mut seen[packet.flow as usize];
                *count += 1;
                let hit = (packet.flow, *count);
                drops.contains(&hit).then_some(DropReason::Scripted)
            }
        }
    }
}

/// A token-bucket policer, in bits·10^12 so that nothing is rounded.
pub(crate) struct PolicerState {
    rate_bps: u128,
    depth: u128,
    level: u128,
    at: Time,
}

const PER_BYTE: u128 = 8 * 1_000_000_000_000;

impl PolicerState {
    pub(crate) fn new(policer: Policer) -> Self {
        let depth = u128::from(policer.burst_bytes) * PER_BYTE;
        Self {
            rate_bps: u128::from(policer.rate_bps.as_bps()),
            depth,
            level: depth,
            at: Time::ZERO,
        }
    }

    /// Does the packet conform?
    pub(crate) fn admits(&mut self, now: Time, bytes: u32) -> bool {
        let elapsed = u128::from(now.since(self.at).as_ps());
        self.level = (self.level + elapsed * self.rate_bps).min(self.depth);
        self.at = now;
        let cost = u128::from(bytes) * PER_BYTE;
        if cost > self.level {
            return false;
        }
        self.level -= cost;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dumbbell_model::{Rate, Span};
    use dumbbell_packet::Body;

    fn datagram(flow: u32) -> Packet {
        let body = Body::Udp { datagram: 0, payload_bytes: 100, fragment: 0, fragments: 1 };
        Packet { flow, outward: true, tos: 0, frame_bytes: 142, number: 0, body }
    }

    #[test]
    fn a_policer_passes_its_burst_and_then_its_rate() {
        let rate_bps = Rate::from_bps(8_000_000); // 1 byte per µs
        let mut policer = PolicerState::new(Policer { rate_bps, burst_bytes: 3000 });
        assert!(policer.admits(Time::ZERO, 1500));
        assert!(policer.admits(Time::ZERO, 1500));
        assert!(!policer.admits(Time::ZERO, 1500));
        let almost = Time::ZERO + Span::from_us(1500) - Span::from_ps(1);
        assert!(!policer.admits(almost, 1500));
        assert!(policer.admits(Time::ZERO + Span::from_us(1500), 1500));
    }

    #[test]
    fn scripted_loss_counts_each_flow_by_itself() {
        let drops = vec![dumbbell_model::scenario::ScriptedDrop { flow: "b".into(), nth: 2 }];
        let mut loss = LossModel::new(&Loss::Scripted { drops }, 2, |name| {
            ["a", "b"].iter().position(|known| *known == name).map(|i| i as u32)
        });
        let mut rng = Rng::named(1, "test");
        let mut hit = |flow| loss.strikes(&datagram(flow), &mut rng).is_some();
        let hits: Vec<_> = [1, 0, 0, 1, 1].into_iter().map(&mut hit).collect();
        assert_eq!(hits, [false, false, false, true, false]);
    }

    #[test]
    fn gilbert_elliott_loses_its_stationary_share() {
        let loss = Loss::GilbertElliott {
            good_to_bad: 0.01,
            bad_to_good: 0.24,
            loss_good: 0.0,
            loss_bad: 0.5,
        };
        let mut model = LossModel::new(&loss, 1, |_| None);
        let mut rng = Rng::named(3, "test");
        let n = 400_000;
        let lost = (0..n).filter(|_| model.strikes(&datagram(0), &mut rng).is_some()).count();
        // π_bad = 0.01 / 0.25 = 0.04, half of it lost: 0.02 of all.
        let share = lost as f64 / f64::from(n);
        assert!((share - 0.02).abs() < 0.0015, "{share}");
    }
}
