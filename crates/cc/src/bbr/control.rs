//! What the model means for sending: pacing rate, burst size and window (draft §4.2).

use super::mode::Mode;
use super::{Bbr, BW_SCALE, BW_UNIT, GAIN_SCALE, GAIN_UNIT, HIGH_GAIN, MIN_CWND, TCP_INIT_CWND};
use crate::{CaState, Conn, RateSample, Window};

/// Pace this much below the bandwidth, so that queues shrink on average. Linux's own.
const PACING_MARGIN_PERCENT: u64 = 1;
const US_PER_S: u64 = 1_000_000;
/// RTT assumed before the first sample (draft §4.2.1: 1 ms).
const NOMINAL_RTT_US: u32 = 1000;

/// Below this rate (1.2 Mbit/s in bytes per second) bursts are single packets (draft §4.2.2).
const MIN_TSO_RATE: u64 = 1_200_000 >> 3;
/// A burst is about a millisecond's worth (`sk_pacing_shift`: 2⁻¹⁰ s), …
const PACING_SHIFT: u32 = 10;
/// … within the largest offloaded segment, GSO_LEGACY_MAX_SIZE less headers, …
const MAX_BURST_BYTES: u64 = 65_536 - 1 - 320;
/// … and 127 packets.
const MAX_BURST_SEGMENTS: u32 = 0x7f;
/// Bursts that may be in hosts at once: in the queue, at the offload, at the receiver.
const BURSTS_IN_HOSTS: u32 = 3;

/// Most time for which ACK aggregation is compensated.
const MAX_AGGREGATION_US: u64 = 100_000;

/// Bytes per second at a bandwidth and gain, less the margin. The order of the steps keeps all of
/// it within 64 bits up to 2.9 Tbit/s.
pub(super) fn bytes_per_second(bw: u64, mss: u32, gain: u32) -> u64 {
    let scaled = bw.wrapping_mul(u64::from(mss)).wrapping_mul(u64::from(gain)) >> GAIN_SCALE;
    scaled.wrapping_mul(US_PER_S / 100 * (100 - PACING_MARGIN_PERCENT)) >> BW_SCALE
}

/// Draft §4.2.2: least packets per burst.
pub(super) fn min_tso_segs(pacing_rate: u64) -> u32 {
    if pacing_rate < MIN_TSO_RATE {
        1
    } else {
        2
    }
}

/// Draft §4.2.2: packets per burst.
fn burst_segments(pacing_rate: u64, mss: u32) -> u32 {
    let bytes = (pacing_rate >> PACING_SHIFT).min(MAX_BURST_BYTES) as u32;
    (bytes / mss).max(min_tso_segs(pacing_rate)).min(MAX_BURST_SEGMENTS)
}

impl Bbr {
    /// Draft §4.2.1: the initial window per RTT, at STARTUP's gain.
    pub(super) fn init_pacing_rate(&mut self, conn: &Conn, window: &mut Window) {
        let rtt_us = if conn.srtt_us8 == 0 {
            NOMINAL_RTT_US
        } else {
            self.has_seen_rtt = true;
            (conn.srtt_us8 >> 3).max(1)
        };
        let bw = (u64::from(window.cwnd) * BW_UNIT / u64::from(rtt_us)) as u32;
        window.pacing_rate = bytes_per_second(u64::from(bw), conn.mss, HIGH_GAIN);
    }

    /// Draft §4.2.1: until the pipe was full once, the rate only grows.
    pub(super) fn set_pacing_rate(&mut self, conn: &Conn, window: &mut Window, bw: u32, gain: u32) {
        let rate = bytes_per_second(u64::from(bw), conn.mss, gain);
        if !self.has_seen_rtt && conn.srtt_us8 != 0 {
            self.init_pacing_rate(conn, window);
        }
        if self.full_pipe.reached() || rate > window.pacing_rate {
            window.pacing_rate = rate;
        }
    }

    /// Bandwidth-delay product times gain, rounded up so that it cannot shrink by itself.
    fn bdp(&self, bw: u32, gain: u32) -> u32 {
        // Never a valid RTT: everything was retransmitted, without timestamps. Be careful.
        if self.path.min_rtt_us == u32::MAX {
            return TCP_INIT_CWND;
        }
        let product = u64::from(bw) * u64::from(self.path.min_rtt_us);
        let gained = product.wrapping_mul(u64::from(gain)) >> GAIN_SCALE;
        (gained.wrapping_add(BW_UNIT - 1) / BW_UNIT) as u32
    }

    /// Room for what hosts hold: offload bursts, delayed ACKs, probing at small windows.
    fn with_quantization(&self, conn: &Conn, window: &Window, packets: u32) -> u32 {
        let bursts = BURSTS_IN_HOSTS * burst_segments(window.pacing_rate, conn.mss);
        // Even, for receivers that acknowledge every other packet.
        let packets = packets.wrapping_add(bursts).wrapping_add(1) & !1;
        if self.is_probing_up() {
            packets.wrapping_add(2)
        } else {
            packets
        }
    }

    /// Draft §4.2.3.2: target for the flight.
    pub(super) fn inflight(&self, conn: &Conn, window: &Window, bw: u32, gain: u32) -> u32 {
        self.with_quantization(conn, window, self.bdp(bw, gain))
    }

    /// Packets in the network at the next packet's earliest departure: paced packets that wait
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
        // While the flight grows, ask what it is with that packet's burst.
        if self.pacing_gain > GAIN_UNIT {
            at_edt = at_edt.wrapping_add(burst_segments(window.pacing_rate, conn.mss));
        }
        at_edt.saturating_sub(delivered)
    }

    /// Packets that ACK aggregation adds to the window, once the bandwidth is known.
    fn aggregation_cwnd(&self) -> u32 {
        if !self.full_pipe.reached() {
            return 0;
        }
        let most = (u64::from(self.bw()) * MAX_AGGREGATION_US / BW_UNIT) as u32;
        self.aggregation.extra_acked().min(most)
    }

    /// Remembers the last window that was not cut for recovery or PROBE_RTT (draft §4.2.3.4).
    pub(super) fn save_cwnd(&mut self, cwnd: u32) {
        let cut =
            self.previous_state >= CaState::Recovery || matches!(self.mode, Mode::ProbeRtt { .. });
        self.prior_cwnd = if cut { self.prior_cwnd.max(cwnd) } else { cwnd };
    }

    /// Draft §4.2.3.4: the window in and after recovery. `Err`: packets are conserved and the
    /// window is final; `Ok`: it goes on from here.
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
            // First round: what the application or the queues below left unused is cut too.
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

    /// Draft §4.2.3.6: towards the target by at most what was ACKed.
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

    /// The window for one ACK (draft §4.2.3).
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
