//! Bounds that losses set: lower ones of a cycle, the upper one of all (draft §5.5.10).

use super::{AckPhase, Bbr3, Cycle, Mode, UNSET};
use crate::{CaState, Conn, LostSkb, RateSample, Window};

/// Share of bandwidth and flight that remains after a round with losses, in 256ths (draft §2.8,
/// Beta: 0.7).
const BETA: u64 = 180;
/// Share of lost packets that is too high, in 256ths (draft §2.7, LossThresh: 2 %).
const LOSS_THRESH: u32 = 5;
/// ACKs with losses in a round of STARTUP that count (draft §5.3.1.3).
const FULL_LOSS_ACKS: u32 = 6;
const LOSS_ACKS_MAX: u32 = 15;

/// Bounds and the signals they follow from.
#[derive(Clone, Debug)]
pub(super) struct Bounds {
    /// `delivered` at which the round of losses ends.
    pub(super) loss_round_delivered: u64,
    loss_round_start: bool,
    pub(super) loss_in_round: bool,
    pub(super) loss_in_cycle: bool,
    /// ACKs with losses in this round of STARTUP.
    loss_acks: u32,
    bw_latest: u32,
    pub(super) inflight_latest: u32,
    pub(super) bw_lo: u32,
    pub(super) inflight_lo: u32,
    pub(super) inflight_hi: u32,
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            loss_round_delivered: 0,
            loss_round_start: false,
            loss_in_round: false,
            loss_in_cycle: false,
            loss_acks: 0,
            bw_latest: 0,
            inflight_latest: 0,
            bw_lo: UNSET,
            inflight_lo: UNSET,
            inflight_hi: UNSET,
        }
    }
}

/// Bounds before a reduction.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Undo {
    bw_lo: u32,
    inflight_lo: u32,
    inflight_hi: u32,
}

impl Undo {
    pub(super) fn of(bounds: &Bounds) -> Self {
        let Bounds { bw_lo, inflight_lo, inflight_hi, .. } = *bounds;
        Self { bw_lo, inflight_lo, inflight_hi }
    }

    /// Raises the bounds to what they were.
    pub(super) fn restore(self, bounds: &mut Bounds) {
        bounds.bw_lo = bounds.bw_lo.max(self.bw_lo);
        bounds.inflight_lo = bounds.inflight_lo.max(self.inflight_lo);
        bounds.inflight_hi = bounds.inflight_hi.max(self.inflight_hi);
    }
}

impl Bounds {
    /// Takes the latest delivery (draft §5.5.10.3, BBRUpdateLatestDeliverySignals).
    pub(super) fn latest(&mut self, conn: &Conn, sample: &RateSample, bw: u32) {
        self.loss_round_start = false;
        if sample.interval_us <= 0 || sample.acked_sacked == 0 {
            return;
        }
        self.bw_latest = self.bw_latest.max(bw);
        self.inflight_latest = self.inflight_latest.max(sample.delivered as u32);
        if sample.prior_delivered >= self.loss_round_delivered {
            self.loss_round_delivered = conn.delivered;
            self.loss_round_start = true;
        }
    }

    /// Begins a round of signals at the end of an ACK (BBRAdvanceLatestDeliverySignals).
    pub(super) fn end_ack(&mut self, sample: &RateSample, bw: u32) {
        if self.loss_round_start && !sample.acks_tlp_retransmission {
            self.bw_latest = bw;
            self.inflight_latest = sample.delivered as u32;
        }
        self.loss_in_cycle |= sample.lost > 0;
    }

    pub(super) fn reset_lower(&mut self) {
        (self.bw_lo, self.inflight_lo) = (UNSET, UNSET);
    }

    pub(super) fn reset_signals(&mut self) {
        (self.loss_in_round, self.loss_in_cycle) = (false, false);
        (self.bw_latest, self.inflight_latest) = (0, 0);
    }

    /// Cuts the lower bounds after a round with losses (BBRAdaptLowerBoundsFromCongestion).
    fn cut_lower(&mut self, cwnd: u32, max_bw: u32) {
        if self.loss_in_round {
            if self.bw_lo == UNSET {
                self.bw_lo = max_bw;
            }
            if self.inflight_lo == UNSET {
                self.inflight_lo = cwnd;
            }
            self.bw_lo = self.bw_latest.max(cut(self.bw_lo));
            self.inflight_lo = self.inflight_latest.max(cut(self.inflight_lo));
        }
        self.bw_lo = self.bw_lo.max(1);
    }

    /// Notes a loss. The first of a round begins a round of signals.
    fn note_loss(&mut self, delivered: u64) {
        if !self.loss_in_round {
            self.loss_round_delivered = delivered;
        }
        (self.loss_in_round, self.loss_in_cycle) = (true, true);
    }
}

fn cut(value: u32) -> u32 {
    ((u64::from(value) * BETA) >> 8) as u32
}

/// True if the share of lost packets of a flight is too high (draft §5.5.10.2, IsInflightTooHigh).
fn is_too_high(sample: &RateSample) -> bool {
    let most = ((u64::from(sample.tx_in_flight) * u64::from(LOSS_THRESH)) >> 8) as u32;
    sample.lost > 0 && sample.tx_in_flight != 0 && sample.lost as u32 > most
}

/// Flight at which the share of losses passed the threshold (BBRInflightAtLoss).
fn inflight_at_loss(sample: &RateSample, packets: u32) -> u32 {
    let before = sample.tx_in_flight.wrapping_sub(packets) as i32;
    let lost_before = (sample.lost as i32).wrapping_sub(packets as i32);
    if before < 0 || lost_before < 0 {
        return UNSET;
    }
    let budget = ((u64::from(before as u32) * u64::from(LOSS_THRESH) + 255) >> 8) as i64;
    let lost = i64::from(lost_before);
    let prefix = if lost >= budget { 0 } else { ((budget - lost) << 8) / (256 - 5) };
    (i64::from(before) + prefix) as u32
}

impl Bbr3 {
    /// Takes the bandwidth, and at the end of a round its losses (BBRUpdateCongestionSignals).
    pub(super) fn update_congestion_signals(&mut self, cwnd: u32, sample: &RateSample, bw: u32) {
        if sample.interval_us <= 0 || sample.acked_sacked == 0 {
            return;
        }
        self.model.take(sample, bw);
        self.bounds.loss_in_round |= sample.losses > 0;
        if self.bounds.loss_round_start {
            if !self.mode.probes_bandwidth() {
                self.bounds.cut_lower(cwnd, self.model.max_bw());
            }
            self.bounds.loss_in_round = false;
        }
    }

    /// Ends STARTUP after a round with many losses (draft §5.3.1.3).
    pub(super) fn check_loss_in_startup(
        &mut self,
        conn: &Conn,
        window: &Window,
        sample: &RateSample,
    ) {
        if self.full_bw.reached {
            return;
        }
        if sample.losses > 0 {
            self.bounds.loss_acks = (self.bounds.loss_acks + 1).min(LOSS_ACKS_MAX);
        }
        if !self.bounds.loss_round_start {
            return;
        }
        let many = self.bounds.loss_acks >= FULL_LOSS_ACKS;
        if conn.state == CaState::Recovery && many && is_too_high(sample) {
            self.full_bw.reached = true;
            let flight = self.inflight(conn, window, self.model.max_bw(), super::GAIN_UNIT);
            self.bounds.inflight_hi = flight.max(self.bounds.inflight_latest);
            return;
        }
        self.bounds.loss_acks = 0;
    }

    /// Raises or cuts the upper bound (BBRAdaptLongTermModel). Returns true if a probe began.
    pub(super) fn adapt_upper_bounds(
        &mut self,
        conn: &Conn,
        window: &Window,
        sample: &RateSample,
    ) -> bool {
        let in_probe_bw = matches!(self.mode, Mode::ProbeBw(_));
        if self.model.round_start && self.probing.ack_phase == AckPhase::ProbeStarting {
            self.probing.ack_phase = AckPhase::ProbeFeedback;
        }
        if self.model.round_start && self.probing.ack_phase == AckPhase::ProbeStopping {
            self.probing.samples = false;
            self.probing.ack_phase = AckPhase::Init;
            if in_probe_bw && !sample.app_limited {
                self.model.advance();
            }
            // The last probe stopped at the bound as a precaution: go on from there.
            if in_probe_bw && self.probing.stopped_risky && !self.probing.too_high {
                self.start_refill(conn, 0);
                return true;
            }
        }
        if is_too_high(sample) {
            if self.probing.samples {
                self.handle_too_high(conn, window, sample);
            }
        } else if self.bounds.inflight_hi != UNSET {
            self.bounds.inflight_hi = self.bounds.inflight_hi.max(sample.tx_in_flight);
            if matches!(self.mode, Mode::ProbeBw(Cycle::Up)) {
                self.probe_upward(conn, window, sample);
            }
        }
        false
    }

    /// Raises the upper bound while the window is used, exponentially per round (draft §5.3.3.6,
    /// BBRProbeInflightLongtermUpward).
    fn probe_upward(&mut self, conn: &Conn, window: &Window, sample: &RateSample) {
        if !conn.cwnd_limited_flight || window.cwnd < self.bounds.inflight_hi {
            return;
        }
        self.probing.up_acks += sample.acked_sacked;
        if self.probing.up_acks >= self.probing.up_cnt {
            let delta = self.probing.up_acks / self.probing.up_cnt;
            self.probing.up_acks -= delta * self.probing.up_cnt;
            self.bounds.inflight_hi = self.bounds.inflight_hi.wrapping_add(delta);
            self.try_fast_path = false;
        }
        if self.model.round_start {
            self.raise_slope(window.cwnd);
        }
    }

    /// Cuts the upper bound to the flight that lost too much, and ends the probe (draft §5.5.10.2,
    /// HandleInflightTooHigh).
    fn handle_too_high(&mut self, conn: &Conn, window: &Window, sample: &RateSample) {
        self.probing.too_high = true;
        self.probing.samples = false; // One reaction per probe.
        if !sample.app_limited {
            let target = cut(self.target_inflight(conn, window));
            self.bounds.inflight_hi = sample.tx_in_flight.max(target);
        }
        if matches!(self.mode, Mode::ProbeBw(Cycle::Up)) {
            self.start_down(conn);
        }
    }

    /// Reacts to an skb that was marked lost (draft §5.5.10.2, HandleLostPacket).
    pub(super) fn on_loss(&mut self, conn: &Conn, window: &Window, skb: &LostSkb) {
        self.bounds.note_loss(conn.delivered);
        if !self.probing.samples || skb.used {
            return;
        }
        let mut sample = RateSample {
            tx_in_flight: skb.tx_in_flight,
            lost: skb.lost_since_sent,
            app_limited: skb.app_limited,
            ..RateSample::default()
        };
        if is_too_high(&sample) {
            sample.tx_in_flight = inflight_at_loss(&sample, skb.packets);
            self.handle_too_high(conn, window, &sample);
        }
    }

    /// Reacts to a loss that a tail loss probe repaired.
    pub(super) fn probe_repaired_a_loss(&mut self, conn: &Conn, window: &Window) {
        self.bounds.note_loss(conn.delivered);
        let sample = RateSample {
            tx_in_flight: self.bounds.inflight_latest + 1,
            lost: 1,
            app_limited: conn.tlp_app_limited,
            ..RateSample::default()
        };
        if self.probing.samples && is_too_high(&sample) {
            self.handle_too_high(conn, window, &sample);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flight(tx_in_flight: u32, lost: i64) -> RateSample {
        RateSample { tx_in_flight, lost, ..RateSample::default() }
    }

    #[test]
    fn more_than_five_in_256_is_too_high() {
        assert!(!is_too_high(&flight(512, 10)));
        assert!(is_too_high(&flight(512, 11)));
        assert!(!is_too_high(&flight(0, 5)), "no flight is known");
        assert!(!is_too_high(&flight(100, 0)));
    }

    #[test]
    fn the_flight_at_the_threshold_lies_within_the_skb() {
        // Before the skb 990 packets, none lost: 20 of 990 and a part are allowed, so all of it.
        assert_eq!(inflight_at_loss(&flight(1000, 10), 10), 990 + (20 << 8) / 251);
        // Already beyond the threshold before the skb.
        assert_eq!(inflight_at_loss(&flight(1000, 40), 10), 990);
        assert_eq!(inflight_at_loss(&flight(5, 10), 10), UNSET);
    }

    #[test]
    fn a_round_with_losses_cuts_to_seven_tenths_but_not_below_what_arrived() {
        let mut bounds = Bounds { loss_in_round: true, inflight_latest: 90, ..Bounds::default() };
        bounds.cut_lower(100, 1000);
        assert_eq!((bounds.bw_lo, bounds.inflight_lo), (1000 * 180 / 256, 90));
        bounds.inflight_latest = 0;
        bounds.cut_lower(100, 1000);
        assert_eq!(bounds.inflight_lo, 90 * 180 / 256);
    }

    #[test]
    fn a_spurious_reduction_restores_the_bounds() {
        let before = Bounds { inflight_hi: 200, ..Bounds::default() };
        let undo = Undo::of(&before);
        let mut cut = Bounds { bw_lo: 5, inflight_lo: 50, inflight_hi: 100, ..before };
        undo.restore(&mut cut);
        assert_eq!((cut.bw_lo, cut.inflight_lo, cut.inflight_hi), (UNSET, UNSET, 200));
    }
}
