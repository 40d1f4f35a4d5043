//! ACK aggregation (Wi-Fi, cable, receive offload): by how much do ACKs run ahead of the bandwidth
//! before they fall silent? That much is added to the window so that sending goes on in the
//! silence. Linux only; the idea is in draft-cardwell-iccrg-bbr-congestion-control-02 §4.5.5.

use super::BW_UNIT;
use crate::{Conn, RateSample};

/// Length of one half of the filter; together they remember 5 to 10 rounds.
const WINDOW_ROUNDS: u32 = 5;
/// An epoch ends at this many ACKed packets.
const MAX_EPOCH_ACKED: u32 = 1 << 20;

/// The estimator.
#[derive(Clone, Debug, Default)]
pub(super) struct Aggregation {
    epoch_start_us: u64,
    /// Packets (S)ACKed in the epoch.
    epoch_acked: u32,
    /// Maximum excess in this half of the filter and in the one before; 16 bits wide in Linux too.
    extra: [u16; 2],
    current: usize,
    rounds: u32,
}

impl Aggregation {
    pub(super) fn new(now_us: u64) -> Self {
        Self { epoch_start_us: now_us, ..Self::default() }
    }

    /// A new epoch, in which nothing is expected yet.
    pub(super) fn start_epoch(&mut self, now_us: u64) {
        self.epoch_start_us = now_us;
        self.epoch_acked = 0;
    }

    /// Most packets ACKed beyond the bandwidth, lately.
    pub(super) fn extra_acked(&self) -> u32 {
        u32::from(self.extra[0].max(self.extra[1]))
    }

    /// Takes an ACK in.
    pub(super) fn on_ack(
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
        // ACKs at or below the expected rate are not aggregated: the epoch starts here.
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

    /// Every five rounds the older half is dropped.
    fn age(&mut self) {
        self.rounds += 1;
        if self.rounds >= WINDOW_ROUNDS {
            self.rounds = 0;
            self.current = 1 - self.current;
            self.extra[self.current] = 0;
        }
    }
}
