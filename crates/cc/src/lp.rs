//! TCP-LP (Kuzmanovic and Knightly, "TCP-LP: A Distributed Algorithm for Low Priority Data Transfer",
//! INFOCOM 2003), as Linux's tcp_lp.c. It grows as Reno, and gives way once the smoothed one-way
//! delay leaves the lower 15 % of its range: the window is halved, and at the next sign within three
//! round trips it is one packet.
//!
//! Linux takes the delay from timestamps as the peer's clock minus its own, in 32 bits, without its
//! sign. Three of its properties make of this something else than the paper has, and are kept:
//!
//! - The peer's clock begins at a random offset (`secure_tcp_ts_off`). The smoothed delay is kept
//!   times 8 in 32 bits, so it is below 2^29. With an offset above that, as seven of eight have, it
//!   is always below the minimum delay: LP sees no congestion and is Reno.
//! - The peer's clock rate is estimated anew at each sample. Above 1000 Hz, by as little as 1 Hz, a
//!   division gives 0, and the delay is minus the own clock.
//! - The range begins anew at each sign of congestion: the maximum is twice the delay, offset
//!   included.

use crate::reno::Reno;
use crate::{AckSample, CongestionControl, Conn, Window};
use dumbbell_model::TcpOptions;

/// Ticks of timestamps per second at both ends (`TCP_TS_HZ`).
const HZ: u32 = 1000;
/// Part of the range of delays that is no congestion, percent (δ of §III-B).
const THRESHOLD_PERCENT: u32 = 15;
/// RTTs of the inference phase (§III-C).
const INFERENCE_RTTS: u32 = 3;

/// State of the algorithm (`struct lp`). Times are in milliseconds.
#[derive(Clone, Debug)]
pub struct Lp {
    reno: Reno,
    /// True if the connection has timestamps.
    timestamps: bool,
    /// Offset of the peer's clock.
    offset: u32,
    /// True within the inference phase (`LP_WITHIN_INF`).
    infers: bool,
    /// Smoothed delay times 8, modulo 2^32 (`sowd`).
    smoothed8: u32,
    /// Minimum and maximum delay, and the highest, which is spared (`owd_min`, `owd_max`,
    /// `owd_max_rsv`).
    min: u32,
    max: u32,
    highest: u32,
    /// Estimate of the peer's clock rate, Hz (`remote_hz`).
    remote_hz: u32,
    /// Peer's and own time of the last sample (`remote_ref_time`, `local_ref_time`).
    remote: u32,
    local: u32,
    /// Time of the last reduction; 0: none (`last_drop`).
    dropped_at: u32,
    /// Length of the inference phase (`inference`).
    inference: u32,
}

/// Creates an instance.
pub(crate) fn new(options: &TcpOptions) -> Box<dyn CongestionControl> {
    Box::new(Lp::new(Reno::new(options), options.tcp_timestamps))
}

impl Lp {
    fn new(reno: Reno, timestamps: bool) -> Self {
        Self {
            reno,
            timestamps,
            offset: 0,
            infers: false,
            smoothed8: 0,
            min: u32::MAX,
            max: 0,
            highest: 0,
            remote_hz: 0,
            remote: 0,
            local: 0,
            dropped_at: 0,
            inference: 0,
        }
    }

    /// Estimates the peer's clock rate (`tcp_lp_remote_hz_estimator`).
    fn estimate_hz(&mut self, remote: u32, local: u32) {
        let mut hz64 = i64::from(self.remote_hz << 6);
        let known = self.remote != 0 && self.local != 0;
        if known && remote != self.remote && local != self.local {
            let ticks = HZ.wrapping_mul(remote.wrapping_sub(self.remote));
            let sample = i64::from(ticks / local.wrapping_sub(self.local));
            hz64 = if hz64 > 0 { hz64 + sample - (hz64 >> 6) } else { sample << 6 };
        }
        (self.remote, self.local) = (remote, local);
        self.remote_hz = (hz64 >> 6) as u32;
    }

    /// One-way delay of this ACK; `None` if it is not known (`tcp_lp_owd_calculator`).
    fn delay(&mut self, remote: u32, local: u32) -> Option<u32> {
        self.estimate_hz(remote, local);
        let ticks = HZ.checked_div(self.remote_hz)?;
        let delay = remote.wrapping_mul(ticks).wrapping_sub(local);
        (delay > 0).then_some(delay)
    }

    /// Updates range and average of the delay (`tcp_lp_rtt_sample`).
    fn update(&mut self, delay: u32) {
        self.min = self.min.min(delay);
        // The highest delay is spared: the maximum is the one below.
        if delay > self.highest {
            self.max = if self.highest == 0 { delay } else { self.highest };
            self.highest = delay;
        } else if delay > self.max {
            self.max = delay;
        }
        self.smoothed8 = if self.smoothed8 == 0 {
            delay << 3
        } else {
            self.smoothed8.wrapping_add(delay).wrapping_sub(self.smoothed8 >> 3)
        };
    }

    /// Returns true if the delay is within the lower part of its range.
    fn within_threshold(&self) -> bool {
        let range = self.max.wrapping_sub(self.min);
        let part = THRESHOLD_PERCENT.wrapping_mul(range) / 100;
        self.smoothed8 >> 3 < self.min.wrapping_add(part)
    }
}

impl CongestionControl for Lp {
    /// `tcp_lp_init`.
    fn init(&mut self, conn: &Conn, _window: &mut Window) {
        self.offset = conn.random;
    }

    fn ssthresh(&mut self, conn: &Conn, window: &mut Window) -> u32 {
        self.reno.ssthresh(conn, window)
    }

    /// `tcp_lp_cong_avoid`.
    fn cong_avoid(&mut self, conn: &Conn, window: &mut Window, acked: u32) {
        if !self.infers {
            self.reno.cong_avoid(conn, window, acked);
        }
    }

    /// `tcp_lp_pkts_acked`.
    fn pkts_acked(&mut self, conn: &Conn, window: &mut Window, sample: &AckSample) {
        let now = conn.now_ms as u32;
        let (remote, local) = if self.timestamps {
            (conn.tsval_ms.wrapping_add(self.offset), conn.tsecr_ms)
        } else {
            (0, 0)
        };
        if sample.rtt_us > 0 {
            if let Some(delay) = self.delay(remote, local) {
                self.update(delay);
            }
        }
        let rtt = now.wrapping_sub(local);
        if rtt as i32 > 0 {
            self.inference = INFERENCE_RTTS.wrapping_mul(rtt);
        }
        self.infers = self.dropped_at != 0 && now.wrapping_sub(self.dropped_at) < self.inference;
        if self.within_threshold() {
            return;
        }
        // The range begins anew (the FIXME of Linux).
        self.min = self.smoothed8 >> 3;
        self.max = self.smoothed8 >> 2;
        self.highest = self.smoothed8 >> 2;
        // §III-C: half, and one packet if congestion is seen again within the inference phase.
        window.cwnd = if self.infers { 1 } else { (window.cwnd >> 1).max(1) };
        self.dropped_at = now;
    }

    fn draws(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reno::tests::{avoiding, conn};

    fn lp(offset: u32) -> Lp {
        Lp { offset, ..Lp::new(Reno::default(), true) }
    }

    /// Processes an ACK of a segment that was sent 20 ms ago and took `delay` ms one way.
    fn ack(lp: &mut Lp, window: &mut Window, now_ms: u64, delay: u32) {
        let tsecr_ms = now_ms as u32 - 20;
        let conn = Conn { tsecr_ms, tsval_ms: tsecr_ms + delay, ..conn(now_ms) };
        let sample = AckSample { pkts_acked: 1, rtt_us: 20_000, in_flight: 1 };
        lp.pkts_acked(&conn, window, &sample);
    }

    /// Delays between 10 and 110 ms: congestion begins at 25 ms (§III-B, δ = 0.15).
    #[test]
    fn congestion_begins_at_fifteen_percent_of_the_range() {
        for (delay, congested) in [(24, false), (25, true), (26, true)] {
            let mut lp = Lp { min: 10, max: 110, smoothed8: delay << 3, ..lp(0) };
            assert_eq!(!lp.within_threshold(), congested, "{delay}");
            lp.smoothed8 += 7;
            assert_eq!(!lp.within_threshold(), congested, "{delay}: whole milliseconds");
        }
    }

    #[test]
    fn the_highest_delay_is_spared() {
        let mut lp = lp(0);
        for delay in [10, 10, 50, 90, 70] {
            lp.update(delay);
        }
        assert_eq!((lp.min, lp.max, lp.highest), (10, 70, 90));
    }

    /// §III-C: half, then no growth for three RTTs, and one packet at the second sign within them.
    #[test]
    fn a_second_sign_within_three_rtts_leaves_one_packet() {
        let mut lp = lp(0);
        let mut window = avoiding(100);
        let congested = |lp: &mut Lp, at, window: &mut Window| {
            (lp.min, lp.max, lp.smoothed8) = (10, 20, 120);
            ack(lp, window, at, 15);
        };
        for at in [100, 120, 140] {
            ack(&mut lp, &mut window, at, 15); // The first delay is its own maximum: a sign, too.
        }
        (window.cwnd, lp.dropped_at) = (100, 0);
        congested(&mut lp, 160, &mut window);
        assert_eq!((window.cwnd, lp.infers), (50, false));
        (lp.min, lp.max) = (10, 110);
        ack(&mut lp, &mut window, 180, 15);
        assert!(lp.infers, "within 3 RTTs of 20 ms");
        lp.cong_avoid(&conn(180), &mut window, 50);
        assert_eq!(window.cwnd, 50);
        congested(&mut lp, 200, &mut window);
        assert_eq!(window.cwnd, 1);
        for (at, infers) in [(259, true), (260, false)] {
            (lp.min, lp.max) = (10, 110);
            ack(&mut lp, &mut window, at, 15);
            assert_eq!(lp.infers, infers, "{at}");
        }
    }

    /// Below 2^29 the average follows the delay; above, it has no upper bits, and is below any
    /// threshold.
    #[test]
    fn an_offset_above_29_bits_hides_congestion() {
        for (offset, follows) in [(0, true), ((1 << 29) - 100, true), (1 << 29, false)] {
            let mut lp = lp(offset);
            for round in 0..100 {
                let tsecr = 100 + 20 * round;
                if let Some(delay) = lp.delay(offset.wrapping_add(tsecr + 10), tsecr) {
                    lp.update(delay);
                }
            }
            assert_eq!(lp.smoothed8 >> 3 == offset + 10, follows, "{offset}");
            lp.smoothed8 = u32::MAX;
            assert_eq!(lp.within_threshold(), !follows, "{offset}");
        }
    }

    /// 1001 Hz: 1000 / 1001 is 0, and the delay is minus the own clock.
    #[test]
    fn a_faster_peer_leaves_the_own_clock() {
        let mut lp = Lp { remote_hz: 1001, ..lp(0) };
        assert_eq!(lp.delay(510, 500), Some(500u32.wrapping_neg()));
        lp.remote_hz = 1000;
        assert_eq!(lp.delay(510, 500), Some(10));
    }
}
