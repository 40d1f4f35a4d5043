//! YeAH (Baiocchi, Castellani, Vacirca, "YeAH-TCP: Yet Another Highspeed TCP", PFLDnet 2007), as
//! Linux's tcp_yeah.c. While few packets wait it grows as Scalable TCP, else as Reno, and it gives
//! up queued packets before they are lost.

use crate::scalable::INCREASE_PER;
use crate::vegas::Rounds;
use crate::{AckSample, CaEvent, CaState, CongestionControl, Conn, Window};
use dumbbell_model::TcpOptions;

/// Most packets that the sender keeps queued (`TCP_YEAH_ALPHA`).
const MOST_QUEUED: u32 = 80;
/// A round gives up half of the window at most (`TCP_YEAH_EPSILON`).
const GIVE_UP_SHIFT: u32 = 1;
/// A loss takes 1/8 of the window at least (`TCP_YEAH_DELTA`).
const LEAST_SHIFT: u32 = 3;
/// A queueing delay above 1/8 of the base RTT ends fast growth (`TCP_YEAH_PHY`).
const DELAY_SHARE: u32 = 8;
/// Rounds of slow growth after which others compete (`TCP_YEAH_RHO`).
const COMPETING_ROUNDS: u32 = 16;
/// Rounds of fast growth after which nobody competes (`TCP_YEAH_ZETA`).
const ALONE_ROUNDS: u32 = 50;
/// Windows above overflow the reduction (`tcp_yeah_init`).
const MAX_CWND: u32 = u32::MAX / 128;
const MIN_CWND: u32 = 2;

/// State of the algorithm (`struct yeah`).
#[derive(Clone, Debug)]
pub struct Yeah {
    rounds: Rounds,
    /// Packets queued in the last round (`lastQ`).
    queued: u32,
    /// Rounds of slow growth in a row (`doing_reno_now`).
    slow_rounds: u32,
    /// Estimate of the window of a Reno flow beside it (`reno_count`).
    reno_cwnd: u32,
    /// Rounds of fast growth (`fast_count`).
    fast_rounds: u32,
}

/// Creates an instance.
pub(crate) fn new(_options: &TcpOptions) -> Box<dyn CongestionControl> {
    Box::new(Yeah::new())
}

impl Yeah {
    fn new() -> Self {
        Self {
            rounds: Rounds::new(),
            queued: 0,
            slow_rounds: 0,
            reno_cwnd: MIN_CWND,
            fast_rounds: 0,
        }
    }

    /// Chooses the growth of the next round, and gives up packets (Baiocchi et al. §3).
    fn end_round(&mut self, window: &mut Window) {
        let (rtt_us, base_us) = (self.rounds.least_us, self.rounds.base_us);
        let queueing_us = rtt_us - base_us;
        let queued = u64::from(window.cwnd) * u64::from(queueing_us) / u64::from(rtt_us);
        self.queued = queued as u32;
        if self.queued > MOST_QUEUED || queueing_us > base_us / DELAY_SHARE {
            if self.queued > MOST_QUEUED && window.cwnd > self.reno_cwnd {
                let less = self.queued.min(window.cwnd >> GIVE_UP_SHIFT);
                window.cwnd = (window.cwnd - less).max(self.reno_cwnd);
                window.ssthresh = window.cwnd;
            }
            if self.reno_cwnd <= MIN_CWND {
                self.reno_cwnd = (window.cwnd >> 1).max(MIN_CWND);
            } else {
                self.reno_cwnd += 1;
            }
            self.slow_rounds += 1;
        } else {
            self.fast_rounds += 1;
            if self.fast_rounds > ALONE_ROUNDS {
                (self.reno_cwnd, self.fast_rounds) = (MIN_CWND, 0);
            }
            self.slow_rounds = 0;
        }
    }
}

impl CongestionControl for Yeah {
    fn init(&mut self, conn: &Conn, window: &mut Window) {
        self.rounds.restart(conn);
        (self.queued, self.slow_rounds, self.reno_cwnd) = (0, 0, MIN_CWND);
        window.cwnd_clamp = window.cwnd_clamp.min(MAX_CWND);
    }

    /// A loss takes the queue, but half while others compete (`tcp_yeah_ssthresh`).
    fn ssthresh(&mut self, _conn: &Conn, window: &mut Window) -> u32 {
        let half = (window.cwnd >> 1).max(MIN_CWND);
        let less = if self.slow_rounds < COMPETING_ROUNDS {
            self.queued.min(half).max(window.cwnd >> LEAST_SHIFT)
        } else {
            half
        };
        self.fast_rounds = 0;
        self.reno_cwnd = (self.reno_cwnd >> 1).max(MIN_CWND);
        window.cwnd.saturating_sub(less).max(MIN_CWND)
    }

    /// `tcp_yeah_cong_avoid`.
    fn cong_avoid(&mut self, conn: &Conn, window: &mut Window, mut acked: u32) {
        if !conn.cwnd_limited {
            return;
        }
        if window.in_slow_start() {
            acked = window.slow_start(acked);
        }
        if acked > 0 {
            let fast = self.slow_rounds == 0;
            let per = if fast { window.cwnd.min(INCREASE_PER) } else { window.cwnd };
            window.additive_increase(per, acked);
        }
        if self.rounds.ended(conn) {
            if self.rounds.measured() {
                self.end_round(window);
            }
            self.rounds.begin(conn);
        }
    }

    fn pkts_acked(&mut self, _conn: &Conn, _window: &mut Window, sample: &AckSample) {
        self.rounds.sample(sample);
    }

    fn set_state(&mut self, conn: &Conn, _window: &mut Window, state: CaState) {
        self.rounds.state(conn, state);
    }

    fn cwnd_event(&mut self, conn: &Conn, _window: &mut Window, event: CaEvent) {
        self.rounds.event(conn, event);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reno::tests::{avoiding, conn};

    /// A sender of which so many packets wait at a base RTT of 100 ms.
    fn queueing(window: &mut Window, queued: u32) -> Yeah {
        let mut yeah = Yeah::new();
        yeah.rounds.base_us = 100_000;
        yeah.rounds.least_us =
            (100_000.0 / (1.0 - f64::from(queued) / f64::from(window.cwnd))) as u32;
        yeah.end_round(window);
        yeah
    }

    #[test]
    fn more_than_eighty_queued_packets_are_given_up() {
        let mut window = avoiding(1000);
        assert_eq!(queueing(&mut window, 50).slow_rounds, 0);
        assert_eq!(window.cwnd, 1000);
        assert_eq!(queueing(&mut window, 100).slow_rounds, 1);
        assert!((899..=901).contains(&window.cwnd), "{}", window.cwnd);
    }

    #[test]
    fn a_loss_takes_the_queue_or_an_eighth_at_least() {
        let mut window = avoiding(800);
        let mut yeah = queueing(&mut window, 20);
        assert_eq!(yeah.ssthresh(&conn(0), &mut window), 700);
        yeah.slow_rounds = COMPETING_ROUNDS;
        assert_eq!(yeah.ssthresh(&conn(0), &mut window), 400);
    }
}
