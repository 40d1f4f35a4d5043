//! Linux's netem with all its words (`netem_enqueue`): duplication, loss, corruption, the limit, early
//! packets, and delays from a distribution, all by one seeded generator.

use super::stage::LinkSetup;
use super::taus::{Memory, Taus};
use dumbbell_model::netem::{fixed, FourStates, NetemLoss, NetemWords};
use dumbbell_model::rng::Rng;
use dumbbell_model::{Span, Time};

/// ECN field of a packet that is not ECN-capable, and of one that is marked.
const ECN: u8 = 3;

/// Loss with its state.
enum Loss {
    None,
    Random { probability: u32, memory: Memory },
    State { chain: FourStates, state: u8 },
    Gemodel { to_bad: u32, to_good: u32, kept_bad: u32, lost_good: u32, bad: bool },
}

impl Loss {
    fn new(loss: &NetemLoss, last: u32) -> Self {
        match *loss {
            NetemLoss::None => Self::None,
            NetemLoss::Random(one) => Self::Random {
                probability: fixed(one.probability),
                memory: Memory::new(fixed(one.correlation), last),
            },
            NetemLoss::State(chain) => Self::State { chain, state: 1 },
            NetemLoss::Gemodel { p, r, loss_bad, loss_good } => Self::Gemodel {
                to_bad: fixed(p),
                to_good: fixed(r),
                kept_bad: u32::MAX - fixed(loss_bad),
                lost_good: fixed(loss_good),
                bad: false,
            },
        }
    }

    /// Returns true if the packet is lost (`loss_event`). The state decides in which the packet finds the
    /// chain, not the one that follows (`loss_gilb_ell`).
    fn strikes(&mut self, taus: &mut Taus) -> bool {
        match self {
            Self::None => false,
            Self::Random { probability, memory } => memory.strikes(*probability, taus),
            Self::State { chain, state } => chain.step(state, taus.next()),
            Self::Gemodel { to_bad, to_good, kept_bad, lost_good, bad } => {
                let was_bad = *bad;
                let change = if was_bad { *to_good } else { *to_bad };
                *bad ^= taus.next() < change;
                let number = taus.next();
                if was_bad {
                    number > *kept_bad
                } else {
                    number < *lost_good
                }
            }
        }
    }

    fn begin(&mut self) {
        match self {
            Self::State { state, .. } => *state = 1,
            Self::Gemodel { bad, .. } => *bad = false,
            Self::None | Self::Random { .. } => {}
        }
    }
}

/// A word with a probability.
struct Chance {
    probability: u32,
    memory: Memory,
}

impl Chance {
    fn new(probability: f64, correlation: f64, last: u32) -> Self {
        Self { probability: fixed(probability), memory: Memory::new(fixed(correlation), last) }
    }

    fn strikes(&mut self, taus: &mut Taus) -> bool {
        self.memory.strikes(self.probability, taus)
    }
}

/// Fate of a packet at the entrance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Verdict {
    pub(super) lost: bool,
    /// Marked in place of a loss.
    pub(super) marked: bool,
    pub(super) corrupted: bool,
    pub(super) duplicated: bool,
}

/// State of a netem.
pub(super) struct Netem {
    taus: Taus,
    delay: Span,
    jitter_ns: i64,
    table: Option<Vec<i16>>,
    memory: Memory,
    pub(super) limit_packets: u64,
    loss: Loss,
    ecn: bool,
    duplicate: Chance,
    corrupt: Chance,
    /// Early packets, and the least distance between two.
    reorder: Option<(Chance, u32)>,
    /// Packets delayed since the last early one.
    counter: u32,
}

impl Netem {
    pub(super) fn new(
        setup: &LinkSetup<'_>,
        words: &NetemWords,
        delay: Span,
        limit_packets: u64,
    ) -> Self {
        let mut rng = Rng::named(setup.seed, &format!("link/{}/netem/last", setup.name));
        let mut last = || (rng.next_u64() >> 32) as u32;
        Self {
            // `Scenario::drawn` has set the seed.
            taus: Taus::new(words.seed.unwrap_or(setup.seed)),
            delay,
            jitter_ns: words.jitter.as_ns() as i64,
            table: words.distribution.table(),
            memory: Memory::new(fixed(words.delay_correlation), last()),
            limit_packets,
            loss: Loss::new(&words.loss, last()),
            ecn: words.ecn,
            duplicate: Chance::new(
                words.duplicate.probability,
                words.duplicate.correlation,
                last(),
            ),
            corrupt: Chance::new(words.corrupt.probability, words.corrupt.correlation, last()),
            reorder: words.reorder.map(|early| {
                (Chance::new(early.probability, early.correlation, last()), early.gap)
            }),
            counter: 0,
        }
    }

    /// Returns true if packets may be queued twice.
    pub(super) fn duplicates(&self) -> bool {
        self.duplicate.probability > 0
    }

    /// Decides about a packet at the entrance. `copy`: it is the second of two, which is not duplicated
    /// again. `tos`: codepoint and ECN field.
    pub(super) fn verdict(&mut self, copy: bool, tos: u8) -> Verdict {
        let taus = &mut self.taus;
        let twice = !copy && self.duplicate.strikes(taus);
        let struck = self.loss.strikes(taus);
        let marked = struck && self.ecn && tos & ECN != 0;
        let missing = struck && !marked;
        // A loss leaves one of two packets: the packet itself.
        let lost = missing && !twice;
        let corrupted = !lost && self.corrupt.strikes(taus);
        Verdict { lost, marked, corrupted, duplicated: twice && !missing }
    }

    /// Time at which a packet that was let in may leave; `None`: at once, in front of all others.
    pub(super) fn due(&mut self, now: Time) -> Option<Time> {
        if let Some((chance, gap)) = &mut self.reorder {
            let within = self.counter < *gap - 1;
            // Probability 0 draws a number, too, and a number may be 0.
            if !within && chance.probability >= chance.memory.next(&mut self.taus) {
                self.counter = 0;
                return None;
            }
        }
        self.counter = self.counter.wrapping_add(1);
        let (spread, table) = (self.jitter_ns, self.table.as_deref());
        let drawn = self.taus.time(0, spread, table, Some(&mut self.memory));
        Some(if drawn < 0 {
            now + self.delay - Span::from_ns(drawn.unsigned_abs())
        } else {
            now + self.delay + Span::from_ns(drawn as u64)
        })
    }

    /// Changes the delay. The kernel begins its states anew (`netem_change`).
    pub(super) fn set_delay(&mut self, delay: Span) {
        self.delay = delay;
        self.counter = 0;
        self.loss.begin();
    }
}

/// Codepoint and ECN field of a marked packet.
pub(super) fn marked(tos: u8) -> u8 {
    tos | ECN
}
