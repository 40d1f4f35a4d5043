//! Use of the congestion window, for its validation (RFC 2861, RFC 7661 in Linux's form).

use super::rate_limited::MaxFlight;
use super::sender::Sender;
use dumbbell_cc::{CaEvent, CaState};

pub(crate) struct WindowUsage {
    /// True if the window limited the last flight (`is_cwnd_limited`).
    pub(super) cwnd_limited: bool,
    /// Maximum number of unacknowledged packets in the last flight.
    pub(super) max_packets_out: u32,
    /// End of the flight (`cwnd_usage_seq`).
    pub(super) cwnd_usage_seq: u64,
    /// Maximum number of packets in use since `cwnd_stamp`.
    pub(super) cwnd_used: u32,
    /// Time of the last change of the window, jiffies (`snd_cwnd_stamp`).
    pub(super) cwnd_stamp: u64,
    /// Maximum flight, for the option `rate_limited_increase`.
    pub(super) max_flight: MaxFlight,
}

impl WindowUsage {
    pub(super) fn new(initcwnd: u32) -> Self {
        Self {
            cwnd_limited: false,
            max_packets_out: 0,
            cwnd_usage_seq: 0,
            cwnd_used: 0,
            cwnd_stamp: 0,
            max_flight: MaxFlight::new(initcwnd),
        }
    }
}

impl Sender {
    /// Records whether the congestion window limited this round (`tcp_cwnd_validate`).
    pub(super) fn cwnd_validate(&mut self, limited: bool) {
        self.usage.max_flight.note(self.window.cwnd, self.scoreboard.packets_out);
        if self.snd_una >= self.usage.cwnd_usage_seq
            || limited
            || (!self.usage.cwnd_limited
                && self.scoreboard.packets_out > self.usage.max_packets_out)
        {
            self.usage.cwnd_limited = limited;
            self.usage.max_packets_out = self.scoreboard.packets_out;
            self.usage.cwnd_usage_seq = self.snd_nxt;
        }
        if self.is_cwnd_limited() {
            self.usage.cwnd_used = 0;
            self.usage.cwnd_stamp = self.jiffies();
            return;
        }
        self.usage.cwnd_used = self.usage.cwnd_used.max(self.scoreboard.packets_out);
        if self.options.tcp_slow_start_after_idle
            && self.jiffies() - self.usage.cwnd_stamp >= self.rto_jiffies()
            && !self.cc.controls_rate()
        {
            self.cwnd_application_limited();
        }
    }

    /// `tcp_is_cwnd_limited`.
    pub(crate) fn is_cwnd_limited(&self) -> bool {
        self.usage.cwnd_limited
            || (self.window.in_slow_start() && self.window.cwnd < 2 * self.usage.max_packets_out)
    }

    /// Decays the window of an application-limited sender (RFC 2861 §3.2,
    /// `tcp_cwnd_application_limited`).
    fn cwnd_application_limited(&mut self) {
        if self.congestion.state == CaState::Open && !self.buffer.no_space {
            let used = self.usage.cwnd_used.max(self.options.initcwnd);
            if used < self.window.cwnd {
                self.window.ssthresh = self.current_ssthresh();
                self.window.cwnd = (self.window.cwnd + used) >> 1;
            }
            self.usage.cwnd_used = 0;
        }
        self.usage.cwnd_stamp = self.jiffies();
    }

    /// Restarts the window after an idle RTO (RFC 2861 §3.1, RFC 5681 §4.1;
    /// `tcp_slow_start_after_idle_check`, `tcp_cwnd_restart`).
    pub(crate) fn slow_start_after_idle_check(&mut self) {
        if !self.options.tcp_slow_start_after_idle
            || self.scoreboard.packets_out > 0
            || self.cc.controls_rate()
            || self.counters.data_packets == 0
        {
            return;
        }
        // Without the back-off of zero-window probes, which `icsk_rto` does not have.
        let rto = self.rtt.rto_jiffies(0);
        let mut idle = self.jiffies() - self.last_send;
        if idle <= rto {
            return;
        }
        self.cwnd_event(CaEvent::CwndRestart);
        self.window.ssthresh = self.current_ssthresh();
        let restart = self.options.initcwnd.min(self.window.cwnd);
        let mut cwnd = self.window.cwnd;
        while idle > rto && cwnd > restart {
            idle -= rto;
            cwnd >>= 1;
        }
        self.window.cwnd = cwnd.max(restart);
        self.usage.cwnd_stamp = self.jiffies();
        self.usage.cwnd_used = 0;
    }
}
