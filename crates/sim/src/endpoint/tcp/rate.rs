//! Delivery rate samples (draft-cheng-iccrg-delivery-rate-estimation, Linux's tcp_rate.c).

use super::rtx_queue::{SegmentId, Sent, USED};
use super::sender::Sender;
use dumbbell_cc::RateSample;

/// State of the rate estimator between ACKs.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RateState {
    /// Send time of the most recently delivered packet (`first_tx_mstamp`).
    pub(crate) first_tx_us: u64,
    /// Time of the most recent delivery (`delivered_mstamp`).
    pub(crate) delivered_us: u64,
    /// `delivered` at which the application-limited phase ends; 0: not limited.
    pub(crate) app_limited: u64,
    /// Last sample, or the highest application-limited one: segments, interval,
    /// application-limited.
    pub(crate) last_delivered: u64,
    pub(crate) last_interval_us: u64,
    pub(crate) last_limited: bool,
}

impl RateState {
    /// Delivery rate, bit/s; `None` before the first sample (`tcp_compute_delivery_rate`).
    pub(crate) fn delivery_bps(&self, mss_bytes: u32) -> Option<u64> {
        let bits = self.last_delivered * u64::from(mss_bytes) * 8 * 1_000_000;
        bits.checked_div(self.last_interval_us)
    }
}

/// Rate sample under construction during an ACK.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Building {
    pub(crate) sample: RateSample,
    prior_us: Option<u32>,
    prior_lost: u16,
    last_end_seq: u64,
}

/// Returns true if (t1, seq1) was sent after (t2, seq2) (`tcp_skb_sent_after`).
pub(crate) fn sent_after(t1: u64, t2: u64, seq1: u64, seq2: u64) -> bool {
    t1 > t2 || (t1 == t2 && seq1 > seq2)
}

impl Sender {
    /// Stores the delivery state in a sent segment (`tcp_rate_skb_sent`). `in_flight` includes its skb.
    pub(crate) fn rate_segment_sent(&mut self, segment: &mut Sent, in_flight: u32) {
        if self.scoreboard.packets_out == 0 {
            self.rate.first_tx_us = segment.sent_us();
            self.rate.delivered_us = segment.sent_us();
        }
        let send_phase_us = segment.sent_us().saturating_sub(self.rate.first_tx_us);
        segment.send_phase_us = send_phase_us.min(u64::from(u32::MAX)) as u32;
        segment.delivered_us = self.rate.delivered_us as u32;
        segment.tx_in_flight = in_flight.min(u32::from(u16::MAX)) as u16;
        segment.lost_before = self.lost as u16;
        segment.delivered = self.delivered as u32;
        segment.app_limited = self.rate.app_limited != 0;
    }

    /// Updates the sample for a newly ACKed or SACKed segment (`tcp_rate_skb_delivered`).
    pub(crate) fn rate_segment_delivered(&mut self, id: SegmentId, building: &mut Building) {
        let segment = self.queue.get_mut(id);
        self.rate.segment_delivered(segment, self.delivered, building);
        if segment.sacked {
            segment.delivered_us = USED;
        }
    }
}

impl RateState {
    /// `delivered`: packets that the connection has delivered by now.
    pub(super) fn segment_delivered(
        &mut self,
        segment: &Sent,
        delivered: u64,
        building: &mut Building,
    ) {
        let delivered_us = segment.delivered_us;
        if delivered_us == USED {
            return;
        }
        let sent_us = segment.sent_us();
        let newer = building.sample.prior_delivered == 0
            || sent_after(sent_us, self.first_tx_us, segment.end(), building.last_end_seq);
        if newer {
            let since = (delivered as u32).wrapping_sub(segment.delivered);
            building.sample.prior_delivered = delivered - u64::from(since);
            building.prior_us = Some(delivered_us);
            building.prior_lost = segment.lost_before;
            building.sample.tx_in_flight = u32::from(segment.tx_in_flight);
            building.sample.app_limited = segment.app_limited;
            building.sample.retransmitted = segment.ever_retransmitted || segment.retransmitted;
            building.last_end_seq = segment.end();
            self.first_tx_us = sent_us;
            building.sample.interval_us = i64::from(segment.send_phase_us);
        }
    }
}

impl Sender {
    /// Completes the sample of an ACK (`tcp_rate_gen`).
    pub(crate) fn rate_generate(
        &mut self,
        delivered: u64,
        lost: u64,
        renege: bool,
        building: &mut Building,
    ) {
        if self.rate.app_limited != 0 && self.delivered > self.rate.app_limited {
            self.rate.app_limited = 0;
        }
        if delivered > 0 {
            self.rate.delivered_us = self.now_us();
        }
        let sample = &mut building.sample;
        sample.acked_sacked = delivered as u32;
        sample.losses = lost as u32;
        let Some(prior_us) = building.prior_us.filter(|_| !renege) else {
            sample.delivered = -1;
            sample.interval_us = -1;
            return;
        };
        sample.delivered = (self.delivered - sample.prior_delivered) as i64;
        sample.lost = i64::from((self.lost as u16).wrapping_sub(building.prior_lost));
        // The longer of send phase and ACK phase, so that neither ACK compression nor bursts
        // overestimate the rate.
        let ack_us = i64::from((self.now_us() as u32).wrapping_sub(prior_us));
        sample.interval_us = sample.interval_us.max(ack_us);
        if sample.interval_us < i64::from(self.rtt.min_us()) {
            sample.interval_us = -1;
            return;
        }
        let (delivered, interval_us) = (sample.delivered as u64, sample.interval_us as u64);
        let last = &mut self.rate;
        if !sample.app_limited
            || delivered * last.last_interval_us >= last.last_delivered * interval_us
        {
            last.last_delivered = delivered;
            last.last_interval_us = interval_us;
            last.last_limited = sample.app_limited;
        }
    }

    /// As [`Self::check_app_limited`], at ACKs and timers of an algorithm that wants it.
    pub(crate) fn check_app_limited_again(&mut self) {
        if self.cc.wants_losses() {
            self.check_app_limited();
        }
    }

    /// Marks the connection application-limited if there is too little data
    /// (`tcp_rate_check_app_limited`).
    pub(crate) fn check_app_limited(&mut self) {
        if self.write_seq - self.snd_nxt.min(self.write_seq) < u64::from(self.mss_cache())
            && self.host_queue.is_empty(self.now)
            && self.in_flight() < self.window.cwnd
            && self.scoreboard.lost_out <= self.scoreboard.retrans_out
        {
            self.rate.app_limited = (self.delivered + u64::from(self.in_flight())).max(1);
        }
    }
}
