//! ACK aggregation (Wi-Fi, cable, receive offload): estimates by how much ACKs exceed the bandwidth
//! before a pause. The window grows by this excess, so that sending continues during the pause.
//! Linux only; the idea is in draft-cardwell-iccrg-bbr-congestion-control-02 §4.5.5.

use super::BW_UNIT;
use crate::{Conn, RateSample};

/// Length of one half of the filter, rounds. Both halves together cover 5 to 10 rounds.
const WINDOW_ROUNDS: u32 = 5;
/// ACKed packets at which an epoch ends.
const MAX_EPOCH_ACKED: u32 = 1 << 20;

/// Estimator of the excess.
#[derive(Clone, Debug)]
pub(crate) struct Aggregation {
    epoch_start_us: u64,
    /// Packets (S)ACKed in the epoch.
    epoch_acked: u32,
    /// Maximum excess in this half of the filter and in the previous half; 16 bits wide as in
    /// Linux.
    extra: [u16; 2],
    current: usize,
    rounds: u32,
    /// Length of one half of the filter.
    pub(crate) window_rounds: u32,
}

impl Default for Aggregation {
    fn default() -> Self {
        Self {
            epoch_start_us: 0,
            epoch_acked: 0,
            extra: [0; 2],
            current: 0,
            rounds: 0,
            window_rounds: WINDOW_ROUNDS,
        }
    }
}

impl Aggregation {
    pub(crate) fn new(now_us: u64) -> Self {
        Self { epoch_start_us: now_us, ..Self::default() }
    }

    /// Starts an epoch.
    pub(crate) fn start_epoch(&mut self, now_us: u64) {
        self.epoch_start_us = now_us;
        self.epoch_acked = 0;
    }

    /// Maximum number of packets ACKed beyond the bandwidth in the last 5 to 10 rounds.
    pub(crate) fn extra_acked(&self) -> u32 {
        u32::from(self.extra[0].max(self.extra[1]))
    }

    /// Processes an ACK.
    pub(crate) fn on_ack(
        &mut self,
        conn: &Conn,
        cwnd: u32,
        sample: &RateSample,
        round_start: bool,
        bw: u32,
    ) {
        if sample.acked_sacked == 0 || sample.delivered < 0 || sample.interval_us <= 0 {
            return;
        }
        if round_start {
            self.age();
        }
        let epoch_us = conn.delivered_us.saturating_sub(self.epoch_start_us) as u32;
        let mut expected = (u64::from(bw) * u64::from(epoch_us) / BW_UNIT) as u32;
        let acked = self.epoch_acked.wrapping_add(sample.acked_sacked);
        // ACKs at or below the expected rate are not aggregated, so the epoch restarts.
        if self.epoch_acked <= expected || acked >= MAX_EPOCH_ACKED {
            self.start_epoch(conn.delivered_us);
            expected = 0;
        }
        let acked = self.epoch_acked.wrapping_add(sample.acked_sacked);
        self.epoch_acked = acked.min(MAX_EPOCH_ACKED - 1);
        let extra = self.epoch_acked.wrapping_sub(expected).min(cwnd);
        let maximum = &mut self.extra[self.current];
        if extra > u32::from(*maximum) {
            *maximum = extra as u16;
        }
    }

    /// Drops the older half of the filter every five rounds.
    fn age(&mut self) {
        self.rounds = (self.rounds + 1).min(31);
        if self.rounds >= self.window_rounds {
            self.rounds = 0;
            self.current = 1 - self.current;
            self.extra[self.current] = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reno::tests::conn;

    /// Bandwidth of one packet per millisecond.
    const BW: u32 = (BW_UNIT / 1000) as u32 + 1;

    fn ack(aggregation: &mut Aggregation, ms: u64, acked: u32, cwnd: u32, round_start: bool) {
        let sample = RateSample {
            acked_sacked: acked,
            delivered: i64::from(acked),
            interval_us: 1000,
            ..RateSample::default()
        };
        aggregation.on_ack(&conn(ms), cwnd, &sample, round_start, BW);
    }

    #[test]
    fn excess_over_the_bandwidth_is_measured() {
        let mut aggregation = Aggregation::new(0);
        ack(&mut aggregation, 10, 30, 1000, false);
        assert_eq!(aggregation.extra_acked(), 30, "a new epoch expects nothing");
        ack(&mut aggregation, 15, 10, 1000, false);
        assert_eq!(aggregation.extra_acked(), 35, "40 ACKed, 5 expected");
        // 40 ACKed packets exceed 39 ms of the epoch. At 40 ms they do not, and the epoch restarts.
        let mut later = aggregation.clone();
        ack(&mut later, 49, 10, 1000, false);
        assert_eq!((later.epoch_acked, later.epoch_start_us), (50, 10_000));
        ack(&mut aggregation, 50, 10, 1000, false);
        assert_eq!((aggregation.epoch_acked, aggregation.epoch_start_us), (10, 50_000));
    }

    #[test]
    fn excess_is_at_most_the_window() {
        for (cwnd, extra) in [(29, 29), (30, 30), (31, 30)] {
            let mut aggregation = Aggregation::new(0);
            ack(&mut aggregation, 10, 30, cwnd, false);
            assert_eq!(aggregation.extra_acked(), extra);
        }
    }

    #[test]
    fn the_filter_forgets_after_five_to_ten_rounds() {
        let mut aggregation = Aggregation::new(0);
        ack(&mut aggregation, 10, 30, 1000, false);
        let mut rounds = 0;
        while aggregation.extra_acked() == 30 {
            rounds += 1;
            ack(&mut aggregation, 10 + rounds * 100, 1, 1000, true);
        }
        assert_eq!(rounds, 10);
    }

    #[test]
    fn long_epochs_end() {
        for (acked, epoch_acked) in [(1 << 19, (1 << 19) + (1 << 19) - 1), ((1 << 19) + 1, 1 << 19)]
        {
            let mut aggregation = Aggregation::new(0);
            ack(&mut aggregation, 0, acked, 9, false);
            ack(&mut aggregation, 0, (1 << 19) - 1, 9, false);
            let expected = if acked == 1 << 19 { epoch_acked } else { (1 << 19) - 1 };
            assert_eq!(aggregation.epoch_acked, expected);
        }
    }

    #[test]
    fn invalid_samples_are_ignored() {
        let mut aggregation = Aggregation::new(0);
        let valid =
            RateSample { acked_sacked: 9, delivered: 0, interval_us: 1, ..RateSample::default() };
        for invalid in [
            RateSample { acked_sacked: 0, ..valid },
            RateSample { delivered: -1, ..valid },
            RateSample { interval_us: 0, ..valid },
        ] {
            aggregation.on_ack(&conn(9), 9, &invalid, true, BW);
            assert_eq!((aggregation.extra_acked(), aggregation.rounds), (0, 0));
        }
        aggregation.on_ack(&conn(9), 9, &valid, true, BW);
        assert_eq!((aggregation.extra_acked(), aggregation.rounds), (9, 1));
    }
}
