//! Pacing rate, burst size and window, which follow from the model (draft §4.2).

use super::mode::Mode;
use super::{Bbr, BW_SCALE, BW_UNIT, GAIN_SCALE, GAIN_UNIT, HIGH_GAIN, MIN_CWND, TCP_INIT_CWND};
use crate::{CaState, Conn, RateSample, Window};

/// Margin of the pacing rate below the bandwidth: queues shrink on average. Only in Linux.
const PACING_MARGIN_PERCENT: u64 = 1;
const US_PER_S: u64 = 1_000_000;
/// RTT before the first sample (draft §4.2.1: 1 ms).
const NOMINAL_RTT_US: u32 = 1000;

/// Rate below which bursts are single packets, bytes per second (1.2 Mbit/s; draft §4.2.2).
const MIN_TSO_RATE: u64 = 1_200_000 >> 3;
/// Duration of a burst as a shift: 2⁻¹⁰ s (`sk_pacing_shift`).
pub(crate) const PACING_SHIFT: u32 = 10;
/// Maximum bytes per burst: GSO_LEGACY_MAX_SIZE less headers.
const MAX_BURST_BYTES: u64 = 65_536 - 1 - 320;
/// Maximum packets per burst.
const MAX_BURST_SEGMENTS: u32 = 0x7f;
/// Bursts that hosts may hold at once: in the queue, in the offload, at the receiver.
const BURSTS_IN_HOSTS: u32 = 3;

/// Maximum time for which ACK aggregation is compensated.
pub(crate) const MAX_AGGREGATION_US: u64 = 100_000;

/// Pacing rate for a bandwidth and gain, bytes per second, less the margin. This order of the steps
/// stays within 64 bits up to 2.9 Tbit/s.
pub(crate) fn bytes_per_second(bw: u64, mss: u32, gain: u32) -> u64 {
    let scaled = bw.wrapping_mul(u64::from(mss)).wrapping_mul(u64::from(gain)) >> GAIN_SCALE;
    scaled.wrapping_mul(US_PER_S / 100 * (100 - PACING_MARGIN_PERCENT)) >> BW_SCALE
}

/// Rate of the initial window per RTT, at a gain, bytes per second (draft §4.2.1).
pub(crate) fn initial_rate(conn: &Conn, cwnd: u32, gain: u32) -> u64 {
    let rtt_us = if conn.srtt_us8 == 0 { NOMINAL_RTT_US } else { (conn.srtt_us8 >> 3).max(1) };
    let bw = (u64::from(cwnd) * BW_UNIT / u64::from(rtt_us)) as u32;
    bytes_per_second(u64::from(bw), conn.mss, gain)
}

/// Bandwidth-delay product times gain, packets, rounded up so that rounding cannot shrink it.
pub(crate) fn bdp(bw: u32, rtt_us: u32, gain: u32) -> u32 {
    let product = u64::from(bw).wrapping_mul(u64::from(rtt_us));
    let gained = product.wrapping_mul(u64::from(gain)) >> GAIN_SCALE;
    (gained.wrapping_add(BW_UNIT - 1) / BW_UNIT) as u32
}

/// Minimum packets per burst (draft §4.2.2).
pub(super) fn min_tso_segs(pacing_rate: u64) -> u32 {
    if pacing_rate < MIN_TSO_RATE {
        1
    } else {
        2
    }
}

/// Packets per burst (draft §4.2.2).
fn burst_segments(pacing_rate: u64, mss: u32) -> u32 {
    let bytes = (pacing_rate >> PACING_SHIFT).min(MAX_BURST_BYTES) as u32;
    (bytes / mss).max(min_tso_segs(pacing_rate)).min(MAX_BURST_SEGMENTS)
}

impl Bbr {
    /// Sets the rate to the initial window per RTT, at STARTUP's gain (draft §4.2.1).
    pub(super) fn init_pacing_rate(&mut self, conn: &Conn, window: &mut Window) {
        self.has_seen_rtt |= conn.srtt_us8 != 0;
        window.pacing_rate = initial_rate(conn, window.cwnd, HIGH_GAIN);
    }

    /// Sets the pacing rate, which only grows until the pipe was full once (draft §4.2.1).
    pub(super) fn set_pacing_rate(&mut self, conn: &Conn, window: &mut Window, bw: u32, gain: u32) {
        let rate = bytes_per_second(u64::from(bw), conn.mss, gain);
        if !self.has_seen_rtt && conn.srtt_us8 != 0 {
            self.init_pacing_rate(conn, window);
        }
        if self.full_pipe.reached() || rate > window.pacing_rate {
            window.pacing_rate = rate;
        }
    }

    /// Bandwidth-delay product times gain.
    fn bdp(&self, bw: u32, gain: u32) -> u32 {
        // No valid RTT: every packet was retransmitted, without timestamps. Stay at the initial
        // window.
        if self.path.min_rtt_us == u32::MAX {
            return TCP_INIT_CWND;
        }
        bdp(bw, self.path.min_rtt_us, gain)
    }

    /// Adds packets that hosts hold: offload bursts, delayed ACKs, probing at small windows.
    fn with_quantization(&self, conn: &Conn, window: &Window, packets: u32) -> u32 {
        let bursts = BURSTS_IN_HOSTS * burst_segments(window.pacing_rate, conn.mss);
        // Even, for receivers that acknowledge every second packet.
        let packets = packets.wrapping_add(bursts).wrapping_add(1) & !1;
        if self.is_probing_up() {
            packets.wrapping_add(2)
        } else {
            packets
        }
    }

    /// Target of the flight, packets (draft §4.2.3.2).
    pub(super) fn inflight(&self, conn: &Conn, window: &Window, bw: u32, gain: u32) -> u32 {
        self.with_quantization(conn, window, self.bdp(bw, gain))
    }

    /// Packets in the network at the next packet's earliest departure time. Paced packets that wait
    /// below TCP count as in flight but are not in the network yet.
    pub(super) fn packets_in_net_at_edt(
        &self,
        conn: &Conn,
        window: &Window,
        in_flight: u32,
    ) -> u32 {
        let wait_us = conn.wstamp_ns.saturating_sub(conn.now_ns) / 1000;
        let delivered = (u64::from(self.bw()).wrapping_mul(wait_us) >> BW_SCALE) as u32;
        let mut at_edt = in_flight;
        // While the flight grows, include the burst of the next packet.
        if self.pacing_gain > GAIN_UNIT {
            at_edt = at_edt.wrapping_add(burst_segments(window.pacing_rate, conn.mss));
        }
        at_edt.saturating_sub(delivered)
    }

    /// Packets that ACK aggregation adds to the window, once the pipe was full.
    fn aggregation_cwnd(&self) -> u32 {
        if !self.full_pipe.reached() {
            return 0;
        }
        let most = (u64::from(self.bw()) * MAX_AGGREGATION_US / BW_UNIT) as u32;
        self.aggregation.extra_acked().min(most)
    }

    /// Saves the last window that was not reduced for recovery or PROBE_RTT (draft §4.2.3.4).
    pub(super) fn save_cwnd(&mut self, cwnd: u32) {
        let cut =
            self.previous_state >= CaState::Recovery || matches!(self.mode, Mode::ProbeRtt { .. });
        self.prior_cwnd = if cut { self.prior_cwnd.max(cwnd) } else { cwnd };
    }

    /// Window in and after recovery (draft §4.2.3.4). `Err`: packets are conserved and the window
    /// is final. `Ok`: the window may still grow towards the target.
    fn recover_or_restore(
        &mut self,
        conn: &Conn,
        cwnd: u32,
        sample: &RateSample,
    ) -> Result<u32, u32> {
        let (previous, state) = (self.previous_state, conn.state);
        let conserving = conn.in_flight.wrapping_add(sample.acked_sacked);
        let mut cwnd = cwnd;
        if sample.losses > 0 {
            cwnd = (cwnd.wrapping_sub(sample.losses) as i32).max(1) as u32;
        }
        if state == CaState::Recovery && previous != CaState::Recovery {
            // First round: also cuts the part that the application or lower queues left unused.
            self.packet_conservation = true;
            self.path.round_end = conn.delivered;
            cwnd = conserving;
        } else if previous >= CaState::Recovery && state < CaState::Recovery {
            cwnd = cwnd.max(self.prior_cwnd);
            self.packet_conservation = false;
        }
        self.previous_state = state;
        if self.packet_conservation {
            Err(cwnd.max(conserving))
        } else {
            Ok(cwnd)
        }
    }

    /// Moves the window towards the target, at most by the ACKed packets (draft §4.2.3.6).
    fn towards_target(&self, conn: &Conn, window: &Window, cwnd: u32, acked: u32, bw: u32) -> u32 {
        let target = self.bdp(bw, self.cwnd_gain).wrapping_add(self.aggregation_cwnd());
        let target = self.with_quantization(conn, window, target);
        let grown = cwnd.wrapping_add(acked);
        let cwnd = if self.full_pipe.reached() {
            grown.min(target)
        } else if cwnd < target || (conn.delivered as u32) < TCP_INIT_CWND {
            grown
        } else {
            cwnd
        };
        cwnd.max(MIN_CWND)
    }

    /// Sets the window for one ACK (draft §4.2.3).
    pub(super) fn set_cwnd(
        &mut self,
        conn: &Conn,
        window: &mut Window,
        sample: &RateSample,
        bw: u32,
    ) {
        let mut cwnd = window.cwnd;
        let acked = sample.acked_sacked;
        if acked > 0 {
            cwnd = match self.recover_or_restore(conn, cwnd, sample) {
                Ok(cwnd) => self.towards_target(conn, window, cwnd, acked, bw),
                Err(cwnd) => cwnd,
            };
        }
        window.cwnd = cwnd.min(window.cwnd_clamp);
        if matches!(self.mode, Mode::ProbeRtt { .. }) {
            window.cwnd = window.cwnd.min(MIN_CWND); // draft §4.2.3.5
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reno::tests::conn;
    use crate::CongestionControl;

    fn known_path() -> (Bbr, Window) {
        let (mut bbr, mut window) = (Bbr::new(), Window::new(10));
        bbr.init(&conn(1000), &mut window);
        bbr.path.max_bw.reset(0, (BW_UNIT / 100) as u32 + 1);
        bbr.path.min_rtt_us = 10_000;
        bbr.update_gains();
        window.pacing_rate = 100_000; // single packets
        (bbr, window)
    }

    fn fill(bbr: &mut Bbr) {
        for _ in 0..4 {
            bbr.full_pipe.on_round(1000);
        }
    }

    fn acked(acked_sacked: u32) -> RateSample {
        RateSample { acked_sacked, ..RateSample::default() }
    }

    fn cwnd_after(bbr: &mut Bbr, conn: &Conn, window: &mut Window, sample: RateSample) -> u32 {
        let bw = bbr.bw();
        bbr.set_cwnd(conn, window, &sample, bw);
        window.cwnd
    }

    #[test]
    fn rates_are_one_percent_below() {
        // 1 packet per microsecond of 1000 bytes: 1 GB/s.
        assert_eq!(bytes_per_second(BW_UNIT, 1000, GAIN_UNIT), 990_000_000);
        assert_eq!(bytes_per_second(BW_UNIT, 1000, GAIN_UNIT * 5 / 4), 1_237_500_000);
        assert_eq!(bytes_per_second(1, 1448, GAIN_UNIT), 85, "truncated");
    }

    #[test]
    fn bursts_are_a_millisecond_within_bounds() {
        assert_eq!((min_tso_segs(149_999), min_tso_segs(150_000)), (1, 2));
        let segments = |rate| burst_segments(rate, 1000);
        assert_eq!([149_999, 150_000].map(segments), [1, 2]);
        assert_eq!([3 * 1_024_000 - 1, 3 * 1_024_000].map(segments), [2, 3]);
        assert_eq!(segments(u64::MAX), 65);
        assert_eq!((burst_segments(u64::MAX, 500), burst_segments(u64::MAX, 514)), (127, 126));
    }

    #[test]
    fn the_first_rate_is_the_initial_window_per_rtt() {
        let first = |srtt_us8| {
            let (mut bbr, mut window) = (Bbr::new(), Window::new(10));
            bbr.init(&Conn { srtt_us8, ..conn(0) }, &mut window);
            assert!(window.pacing);
            (window.pacing_rate, bbr.has_seen_rtt)
        };
        // 10 packets of 1000 bytes per millisecond, times 2.887 less 1 %, each step truncated.
        assert_eq!(first(0), (28_578_488, false));
        assert_eq!(first(8000), (28_578_488, true));
        assert_eq!(first(80_000), (2_857_814, true));
        assert_eq!(first(1).0, first(8).0, "at least a microsecond");
    }

    #[test]
    fn the_rate_falls_only_after_the_pipe_was_full() {
        let (mut bbr, mut window) = known_path();
        let low = (BW_UNIT / 1_000_000) as u32;
        bbr.set_pacing_rate(&conn(0), &mut window, low, GAIN_UNIT);
        assert_eq!(window.pacing_rate, 100_000);
        fill(&mut bbr);
        bbr.set_pacing_rate(&conn(0), &mut window, low, GAIN_UNIT);
        assert!(window.pacing_rate < 1000);
    }

    #[test]
    fn the_first_rtt_sample_sets_the_rate_anew() {
        let (mut bbr, mut window) = known_path();
        bbr.set_pacing_rate(&Conn { srtt_us8: 80_000, ..conn(0) }, &mut window, 0, GAIN_UNIT);
        assert_eq!(window.pacing_rate, 2_857_814);
        assert!(bbr.has_seen_rtt);
    }

    #[test]
    fn bdp_rounds_up_and_has_a_default() {
        let (mut bbr, _) = known_path();
        assert_eq!(bbr.bdp((BW_UNIT / 1024) as u32, GAIN_UNIT), 10, "9.77");
        bbr.path.min_rtt_us = 10_240;
        assert_eq!(bbr.bdp((BW_UNIT / 1024) as u32, GAIN_UNIT), 10);
        assert_eq!(bbr.bdp((BW_UNIT / 1024) as u32 + 1, GAIN_UNIT), 11);
        bbr.path.min_rtt_us = u32::MAX;
        assert_eq!(bbr.bdp(u32::MAX, HIGH_GAIN), TCP_INIT_CWND);
    }

    #[test]
    fn the_addition_for_hosts_is_even_and_larger_when_probing() {
        let (mut bbr, window) = known_path();
        let quantized = |bbr: &Bbr, packets| bbr.with_quantization(&conn(0), &window, packets);
        assert_eq!([10, 11, 12].map(|n| quantized(&bbr, n)), [14, 14, 16]);
        bbr.mode = Mode::ProbeBw { phase: 0, since_us: 0 };
        assert_eq!(quantized(&bbr, 10), 16);
        bbr.mode = Mode::ProbeBw { phase: 1, since_us: 0 };
        assert_eq!(quantized(&bbr, 10), 14);
    }

    #[test]
    fn paced_packets_are_not_in_the_network_yet() {
        let (mut bbr, window) = known_path();
        bbr.pacing_gain = GAIN_UNIT;
        let at = |wstamp_ns| Conn { wstamp_ns, now_ns: 1_000_000, ..conn(0) };
        // 10 packets leave the network per millisecond.
        assert_eq!(bbr.packets_in_net_at_edt(&at(0), &window, 30), 30);
        assert_eq!(bbr.packets_in_net_at_edt(&at(2_000_000), &window, 30), 20);
        assert_eq!(bbr.packets_in_net_at_edt(&at(9_000_000), &window, 30), 0);
        bbr.pacing_gain = GAIN_UNIT + 1;
        assert_eq!(bbr.packets_in_net_at_edt(&at(0), &window, 30), 31);
    }

    #[test]
    fn the_window_grows_to_the_target_and_stays() {
        let (mut bbr, mut window) = known_path();
        let conn = Conn { delivered: 100, ..conn(0) };
        // STARTUP grows by the ACKed packets, beyond the target by one ACK at most, and never
        // shrinks.
        assert_eq!(cwnd_after(&mut bbr, &conn, &mut window, acked(10)), 20);
        window.cwnd = 500;
        assert_eq!(cwnd_after(&mut bbr, &conn, &mut window, acked(10)), 500);
        // Full pipe, gain 2: 2 · 100 + 1 rounded up, bursts, even.
        fill(&mut bbr);
        bbr.mode = Mode::ProbeBw { phase: 2, since_us: 0 };
        bbr.update_gains();
        assert_eq!(cwnd_after(&mut bbr, &conn, &mut window, acked(10)), 204);
        window.cwnd = 190;
        assert_eq!(cwnd_after(&mut bbr, &conn, &mut window, acked(10)), 200);
        assert_eq!(cwnd_after(&mut bbr, &conn, &mut window, acked(0)), 200, "nothing ACKed");
        window.cwnd_clamp = 150;
        assert_eq!(cwnd_after(&mut bbr, &conn, &mut window, acked(10)), 150);
    }

    #[test]
    fn aggregation_widens_the_window() {
        let (mut bbr, mut window) = known_path();
        fill(&mut bbr);
        bbr.mode = Mode::ProbeBw { phase: 2, since_us: 0 };
        bbr.update_gains();
        let burst = RateSample { delivered: 50, interval_us: 1, ..acked(50) };
        bbr.aggregation.on_ack(&conn(1000), 1000, &burst, false, bbr.bw());
        window.cwnd = 500;
        let conn = Conn { delivered: 100, ..conn(0) };
        assert_eq!(cwnd_after(&mut bbr, &conn, &mut window, acked(10)), 254, "204 without");
    }

    #[test]
    fn early_and_small_windows_grow() {
        let (mut bbr, mut window) = known_path();
        for (delivered, cwnd) in [(9, 510), (10, 500)] {
            window.cwnd = 500;
            let conn = Conn { delivered, ..conn(0) };
            assert_eq!(cwnd_after(&mut bbr, &conn, &mut window, acked(10)), cwnd);
        }
        window.cwnd = 1;
        let conn = Conn { delivered: 10, ..conn(0) };
        assert_eq!(cwnd_after(&mut bbr, &conn, &mut window, acked(1)), MIN_CWND);
    }

    #[test]
    fn recovery_conserves_packets_for_a_round_and_restores() {
        let (mut bbr, mut window) = known_path();
        window.cwnd = 100;
        let at = |state, in_flight| Conn { state, in_flight, delivered: 700, ..conn(0) };
        bbr.ssthresh(&at(CaState::Open, 60), &mut window);
        let lossy = RateSample { losses: 9, ..acked(3) };
        let recovery = CaState::Recovery;
        assert_eq!(cwnd_after(&mut bbr, &at(recovery, 60), &mut window, lossy), 63);
        assert_eq!(bbr.path.round_end, 700, "a round starts here");
        assert_eq!(cwnd_after(&mut bbr, &at(recovery, 70), &mut window, acked(2)), 72);
        // A round later it slow-starts: at most two packets out per packet in.
        bbr.packet_conservation = false;
        assert_eq!(cwnd_after(&mut bbr, &at(recovery, 70), &mut window, acked(2)), 74);
        let lossy = RateSample { losses: 5, ..acked(2) };
        assert_eq!(cwnd_after(&mut bbr, &at(recovery, 70), &mut window, lossy), 71);
        // After recovery: the saved window, and slow start.
        assert_eq!(cwnd_after(&mut bbr, &at(CaState::Open, 70), &mut window, acked(2)), 102);
    }

    #[test]
    fn losses_leave_a_packet() {
        let (mut bbr, _) = known_path();
        for (losses, left) in [(8, 2), (9, 1), (10, 1), (11, 1)] {
            let sample = RateSample { losses, ..acked(1) };
            assert_eq!(bbr.recover_or_restore(&conn(0), 10, &sample), Ok(left));
        }
    }

    #[test]
    fn saving_keeps_the_largest_while_the_window_is_cut() {
        let (mut bbr, _) = known_path();
        bbr.save_cwnd(50);
        bbr.save_cwnd(40);
        assert_eq!(bbr.prior_cwnd, 40);
        bbr.previous_state = CaState::Recovery;
        bbr.save_cwnd(30);
        assert_eq!(bbr.prior_cwnd, 40);
        bbr.previous_state = CaState::Cwr;
        bbr.save_cwnd(30);
        assert_eq!(bbr.prior_cwnd, 30);
        bbr.mode = Mode::ProbeRtt { done_ms: None, round_done: false };
        bbr.save_cwnd(4);
        assert_eq!(bbr.prior_cwnd, 30);
    }

    #[test]
    fn probe_rtt_holds_four_packets() {
        let (mut bbr, mut window) = known_path();
        bbr.mode = Mode::ProbeRtt { done_ms: None, round_done: false };
        window.cwnd = 100;
        assert_eq!(cwnd_after(&mut bbr, &conn(0), &mut window, acked(10)), MIN_CWND);
        window.cwnd = 3;
        assert_eq!(cwnd_after(&mut bbr, &conn(0), &mut window, acked(0)), 3);
    }
}
