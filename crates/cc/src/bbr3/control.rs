//! Pacing rate, burst size and window, which follow from the model (draft §5.6).

use super::cycle::STARTUP_PACING_GAIN;
use super::{Bbr3, Cycle, Mode, MIN_CWND, UNSET};
use crate::bbr::control::{bdp, bytes_per_second, initial_rate, MAX_AGGREGATION_US, PACING_SHIFT};
use crate::bbr::{BW_SCALE, BW_UNIT, GAIN_UNIT};
use crate::{CaState, Conn, Window};

/// Maximum bytes per burst when sending: GSO size of an interface without more, less headers.
pub(super) const MAX_SENT_BYTES: u32 = 65_215 - 1 - 320;
/// Maximum bytes per burst in targets: GSO_LEGACY_MAX_SIZE less headers.
const MAX_GOAL_BYTES: u32 = 65_536 - 1 - 320;
/// Halving of the extra bytes of a burst per so many powers of two of µs of RTT.
const TSO_RTT_SHIFT: u32 = 9;
const GSO_MAX_BYTES: u64 = 65_536;
/// Bursts that hosts may hold at once: in the queue, in the offload, at the receiver.
const BURSTS_IN_HOSTS: u32 = 3;
/// Window of PROBE_RTT, in 256ths of the BDP (draft §2.9: 0.5).
const PROBE_RTT_CWND_GAIN: u32 = GAIN_UNIT / 2;
/// Part of the upper bound that is left to others, in 256ths (draft §2.8, Headroom: 0.15).
const HEADROOM: u64 = 38;

impl Bbr3 {
    /// Sets the rate to the initial window per RTT, at STARTUP's gain (draft §5.6.2).
    pub(super) fn init_pacing_rate(&mut self, conn: &Conn, window: &mut Window) {
        self.has_seen_rtt |= conn.srtt_us8 != 0;
        window.pacing_rate = initial_rate(conn, window.cwnd, STARTUP_PACING_GAIN).max(1);
    }

    /// Sets the pacing rate, which only grows until the pipe was full once (draft §5.6.2).
    pub(super) fn set_pacing_rate(&mut self, conn: &Conn, window: &mut Window, bw: u32, gain: u32) {
        let rate = bytes_per_second(u64::from(bw), conn.mss, gain).max(1);
        if !self.has_seen_rtt && conn.srtt_us8 != 0 {
            self.init_pacing_rate(conn, window);
        }
        if self.full_bw.reached || rate > window.pacing_rate {
            window.pacing_rate = rate;
        }
    }

    /// Packets per burst: a millisecond, and more at short RTTs (draft §5.6.3).
    pub(super) fn burst_segments(&self, pacing_rate: u64, mss: u32, most: u32) -> u32 {
        let mut bytes = pacing_rate >> PACING_SHIFT;
        let halvings = self.min_rtt.us >> TSO_RTT_SHIFT;
        if halvings < u32::BITS {
            bytes += GSO_MAX_BYTES >> halvings;
        }
        ((bytes as u32).min(most) / mss).max(self.min_tso_segs)
    }

    fn burst_goal(&self, conn: &Conn, window: &Window) -> u32 {
        self.burst_segments(window.pacing_rate, conn.mss, MAX_GOAL_BYTES)
    }

    /// Bandwidth-delay product times gain.
    fn bdp(&self, bw: u32, gain: u32) -> u32 {
        if self.min_rtt.us == UNSET {
            return self.init_cwnd;
        }
        bdp(bw, self.min_rtt.us, gain)
    }

    /// Adds what hosts need: bursts, four packets, two more while probing (draft §5.6.4.2).
    fn quantized(&self, conn: &Conn, window: &Window, packets: u32) -> u32 {
        let bursts = BURSTS_IN_HOSTS * self.burst_goal(conn, window);
        let packets = packets.max(bursts).max(MIN_CWND);
        if self.mode == Mode::ProbeBw(Cycle::Up) {
            packets.wrapping_add(2)
        } else {
            packets
        }
    }

    /// Target of the flight, packets.
    pub(super) fn inflight(&self, conn: &Conn, window: &Window, bw: u32, gain: u32) -> u32 {
        self.quantized(conn, window, self.bdp(bw, gain))
    }

    /// Flight at the bandwidth in use, at most the window (draft §5.5.10.2, BBRTargetInflight).
    pub(super) fn target_inflight(&self, conn: &Conn, window: &Window) -> u32 {
        self.inflight(conn, window, self.bw(), GAIN_UNIT).min(window.cwnd)
    }

    /// Packets in the network at the next packet's earliest departure time.
    pub(super) fn packets_in_net_at_edt(&self, conn: &Conn, window: &Window, flight: u32) -> u32 {
        let wait_us = conn.wstamp_ns.saturating_sub(conn.now_ns) / 1000;
        let delivered = (u64::from(self.bw()).wrapping_mul(wait_us) >> BW_SCALE) as u32;
        let burst = if self.pacing_gain > GAIN_UNIT { self.burst_goal(conn, window) } else { 0 };
        flight.wrapping_add(burst).saturating_sub(delivered)
    }

    /// Packets that ACK aggregation adds to the window.
    fn aggregation_cwnd(&self) -> u32 {
        let most = (u64::from(self.bw()) * MAX_AGGREGATION_US / BW_UNIT) as u32;
        self.aggregation.extra_acked().min(most)
    }

    /// Upper bound less the part that is left to others (draft §5.5.10.2,
    /// BBRInflightWithHeadroom).
    pub(super) fn inflight_with_headroom(&self) -> u32 {
        let bound = self.bounds.inflight_hi;
        if bound == UNSET {
            return UNSET;
        }
        let headroom = (((u64::from(bound) * HEADROOM) >> 8) as u32).max(1);
        (bound.wrapping_sub(headroom) as i32).max(MIN_CWND as i32) as u32
    }

    /// Window of PROBE_RTT.
    pub(super) fn probe_rtt_cwnd(&self) -> u32 {
        self.bdp(self.bw(), PROBE_RTT_CWND_GAIN).max(MIN_CWND)
    }

    /// Saves the last window that was not reduced for recovery or PROBE_RTT (draft §5.6.4.4).
    pub(super) fn save_cwnd(&mut self, cwnd: u32) {
        let cut =
            self.previous_state >= CaState::Recovery || matches!(self.mode, Mode::ProbeRtt { .. });
        self.prior_cwnd = if cut { self.prior_cwnd.max(cwnd) } else { cwnd };
    }

    /// Moves the window towards the target, at most by the ACKed packets (draft §5.6.4.6).
    pub(super) fn set_cwnd(&mut self, conn: &Conn, window: &mut Window, acked: u32, bw: u32) {
        let mut cwnd = window.cwnd;
        if acked > 0 {
            let target = self.bdp(bw, self.cwnd_gain).wrapping_add(self.aggregation_cwnd());
            let target = self.quantized(conn, window, target);
            self.try_fast_path = false;
            if self.full_bw.reached {
                cwnd = cwnd.wrapping_add(acked);
                if cwnd >= target {
                    cwnd = target;
                    self.try_fast_path = true;
                }
            } else if cwnd < target || cwnd < 2 * self.init_cwnd {
                cwnd = cwnd.wrapping_add(acked);
            } else {
                self.try_fast_path = true;
            }
            cwnd = cwnd.max(MIN_CWND);
        }
        window.cwnd = cwnd.min(window.cwnd_clamp);
        if matches!(self.mode, Mode::ProbeRtt { .. }) {
            window.cwnd = window.cwnd.min(self.probe_rtt_cwnd());
        }
    }

    /// Keeps the window within the bounds that losses set (draft §5.6.4.7).
    pub(super) fn bound_cwnd(&self, window: &mut Window) {
        let bound = match self.mode {
            Mode::Startup | Mode::Drain => UNSET,
            Mode::ProbeRtt { .. } | Mode::ProbeBw(Cycle::Cruise) => self.inflight_with_headroom(),
            Mode::ProbeBw(_) => self.bounds.inflight_hi,
        };
        window.cwnd = window.cwnd.min(bound.min(self.bounds.inflight_lo).max(MIN_CWND));
    }
}
