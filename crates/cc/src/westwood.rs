//! Westwood+ (Mascolo, Casetti, Gerla, Sanadidi, Wang, "TCP Westwood", MobiCom 2001; Grieco and
//! Mascolo, "Performance evaluation and comparison of Westwood+, New Reno and Vegas TCP congestion
//! control", CCR 34(2), 2004), as Linux's tcp_westwood.c. It grows as Reno. A loss sets the
//! threshold to the estimated rate times the minimum RTT. Rates are integers in bytes per
//! millisecond, as in Linux at 1000 Hz.

use crate::reno::Reno;
use crate::{AckEvent, AckSample, CaEvent, CongestionControl, Conn, Window};
use dumbbell_model::TcpOptions;

/// Minimum length of a rate measurement, ms (`TCP_WESTWOOD_RTT_MIN`).
const LEAST_WINDOW_MS: u64 = 50;
/// RTT before the first sample, ms (`TCP_WESTWOOD_INIT_RTT`).
const INIT_RTT_MS: u64 = 20_000;
/// Minimum threshold, packets (`tcp_westwood_bw_rttmin`).
const MIN_SSTHRESH: u64 = 2;

/// State of the algorithm (`struct westwood`).
#[derive(Clone, Debug)]
pub struct Westwood {
    reno: Reno,
    /// First filter of the rate, bytes/ms (`bw_ns_est`).
    rate_once: u64,
    /// Second filter of the rate, the estimate, bytes/ms (`bw_est`).
    rate: u64,
    /// Start of the current measurement, ms (`rtt_win_sx`).
    window_start_ms: u64,
    /// Bytes acknowledged in the current measurement (`bk`).
    window_bytes: u64,
    /// Highest ACK number counted (`snd_una`).
    counted_to: u64,
    /// Bytes counted for duplicate ACKs; a later cumulative ACK covers them, too (`accounted`).
    counted_ahead: u64,
    /// Most recent RTT, ms (`rtt`).
    rtt_ms: u64,
    /// Minimum RTT since the last time-out, ms (`rtt_min`).
    rtt_min_ms: u64,
    /// True before the first ACK (`first_ack`).
    first_ack: bool,
    /// True if the next ACK restarts the minimum RTT (`reset_rtt_min`).
    reset_rtt_min: bool,
}

/// Creates an instance.
pub(crate) fn new(options: &TcpOptions) -> Box<dyn CongestionControl> {
    Box::new(Westwood {
        reno: Reno::new(options),
        rate_once: 0,
        rate: 0,
        window_start_ms: 0,
        window_bytes: 0,
        counted_to: 0,
        counted_ahead: 0,
        rtt_ms: INIT_RTT_MS,
        rtt_min_ms: INIT_RTT_MS,
        first_ack: true,
        reset_rtt_min: true,
    })
}

/// Low-pass filter with weight 1/8 (`westwood_do_filter`).
fn filtered(old: u64, new: u64) -> u64 {
    (7 * old + new) >> 3
}

impl Westwood {
    /// Measures a rate per RTT, over 50 ms at least (`westwood_update_window`).
    fn update_window(&mut self, conn: &Conn) {
        if self.first_ack {
            self.counted_to = conn.snd_una;
            self.first_ack = false;
        }
        let elapsed_ms = conn.now_ms - self.window_start_ms;
        if self.rtt_ms > 0 && elapsed_ms > self.rtt_ms.max(LEAST_WINDOW_MS) {
            let sample = self.window_bytes / elapsed_ms;
            if self.rate_once == 0 && self.rate == 0 {
                self.rate_once = sample;
                self.rate = sample;
            } else {
                self.rate_once = filtered(self.rate_once, sample);
                self.rate = filtered(self.rate, self.rate_once);
            }
            self.window_bytes = 0;
            self.window_start_ms = conn.now_ms;
        }
    }

    /// Bytes delivered according to this ACK. A duplicate ACK counts as one segment, which a later
    /// cumulative ACK must not count again (`westwood_acked_count`; Mascolo et al. 2001, section
    /// 3.1).
    fn acked_bytes(&mut self, conn: &Conn) -> u64 {
        let mss = u64::from(conn.mss);
        let mut acked = conn.snd_una - self.counted_to;
        if acked == 0 {
            self.counted_ahead += mss;
            acked = mss;
        }
        if acked > mss {
            if self.counted_ahead >= acked {
                self.counted_ahead -= acked;
                acked = mss;
            } else {
                acked -= self.counted_ahead;
                self.counted_ahead = 0;
            }
        }
        self.counted_to = conn.snd_una;
        acked
    }

    /// `update_rtt_min`.
    fn update_rtt_min(&mut self) {
        self.rtt_min_ms =
            if self.reset_rtt_min { self.rtt_ms } else { self.rtt_ms.min(self.rtt_min_ms) };
        self.reset_rtt_min = false;
    }

    /// Estimated rate times the minimum RTT, packets (`tcp_westwood_bw_rttmin`).
    fn rate_times_rtt_min(&self, conn: &Conn) -> u32 {
        let packets = self.rate * self.rtt_min_ms / u64::from(conn.mss);
        packets.max(MIN_SSTHRESH).min(u64::from(u32::MAX)) as u32
    }
}

impl CongestionControl for Westwood {
    /// `tcp_westwood_init`.
    fn init(&mut self, conn: &Conn, _window: &mut Window) {
        self.window_start_ms = conn.now_ms;
        self.counted_to = conn.snd_una;
    }

    fn ssthresh(&mut self, conn: &Conn, window: &mut Window) -> u32 {
        self.reno.ssthresh(conn, window)
    }

    fn cong_avoid(&mut self, conn: &Conn, window: &mut Window, acked: u32) {
        self.reno.cong_avoid(conn, window, acked);
    }

    /// `tcp_westwood_pkts_acked`.
    fn pkts_acked(&mut self, conn: &Conn, window: &mut Window, sample: &AckSample) {
        if sample.rtt_us > 0 {
            // usecs_to_jiffies rounds up.
            self.rtt_ms = (sample.rtt_us as u64).div_ceil(1000);
        }
        self.reno.pkts_acked(conn, window, sample);
    }

    fn wants_acks(&self) -> bool {
        true
    }

    /// `tcp_westwood_ack`.
    fn in_ack_event(&mut self, conn: &Conn, _window: &mut Window, event: AckEvent) {
        self.update_window(conn);
        if event.slow_path {
            self.window_bytes += self.acked_bytes(conn);
        } else {
            self.window_bytes += conn.snd_una - self.counted_to; // westwood_fast_bw
            self.counted_to = conn.snd_una;
        }
        self.update_rtt_min();
    }

    /// `tcp_westwood_event`.
    fn cwnd_event(&mut self, conn: &Conn, window: &mut Window, event: CaEvent) {
        match event {
            CaEvent::CompleteCwr => {
                window.ssthresh = self.rate_times_rtt_min(conn);
                window.cwnd = window.ssthresh;
            }
            CaEvent::Loss => {
                window.ssthresh = self.rate_times_rtt_min(conn);
                self.reset_rtt_min = true;
            }
            CaEvent::TxStart | CaEvent::CwndRestart | CaEvent::TlpRecovery => {}
        }
    }

    fn min_cwnd(&self, window: &Window) -> u32 {
        self.reno.min_cwnd(window)
    }

    fn counts_bytes(&self) -> bool {
        self.reno.counts_bytes()
    }
}
