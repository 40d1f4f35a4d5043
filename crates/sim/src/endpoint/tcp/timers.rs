//! Write timer: retransmission (RFC 6298 §5), tail loss probe (RFC 8985 §7), reordering window,
//! zero-window probe (RFC 9293 §3.8.6.1). All share one timer (`icsk_retransmit_timer`).

use super::output::Push;
use super::rtt::RTO_MAX_US;
use super::sender::{Phase, Retransmission, Sender};
use super::xmit_timer::Pending;
use dumbbell_cc::CaState;
use dumbbell_packet::Segment;

/// Minimum RTO (TCP_RTO_MIN), ms.
const RTO_MIN_MS: u64 = 200;

/// Duration of `retries` retransmissions with an RTO that doubles from `first_ms`
/// (`tcp_model_timeout`), ms.
pub(super) fn backoff_ms(first_ms: u64, retries: u32) -> u64 {
    let most = (RTO_MAX_US / 1000 / first_ms).ilog2();
    let at_most = u64::from(retries.saturating_sub(most)) * (RTO_MAX_US / 1000);
    ((2 << retries.min(most)) - 1) * first_ms + at_most
}

impl Sender {
    /// Sets the shared timer, in ticks from now (`inet_csk_reset_xmit_timer`).
    pub(crate) fn set_timer(&mut self, pending: Pending, jiffies: u64) {
        self.xmit_timer.pending = pending;
        self.xmit_timer.timeout = self.jiffies() + jiffies.min(self.rtt.rto_max_jiffies());
        self.xmit_timer.timer.set(self.tick, self.jiffies(), self.xmit_timer.timeout);
    }

    /// As [`Self::set_timer`], later by the time until the next skb may depart (`tcp_reset_xmit_timer`).
    pub(crate) fn reset_xmit_timer(&mut self, pending: Pending, jiffies: u64) {
        let delay =
            if self.window.pacing { self.pacer.delay_ticks(self.now, self.tick) } else { 0 };
        self.set_timer(pending, jiffies + delay);
    }

    /// Clears the purpose. As in the kernel, the timer stays on the wheel (INET_CSK_CLEAR_TIMERS is
    /// not defined).
    pub(crate) fn clear_timer(&mut self) {
        self.xmit_timer.pending = Pending::None;
    }

    /// `tcp_write_timer_handler`.
    pub(crate) fn on_write_timer(&mut self) {
        if self.xmit_timer.pending == Pending::None {
            return;
        }
        if self.xmit_timer.timeout > self.jiffies() {
            self.xmit_timer.timer.set(self.tick, self.jiffies(), self.xmit_timer.timeout);
            return;
        }
        if let Phase::SynSent { first, tries, timeout } = self.phase {
            self.on_syn_timeout(first, tries, timeout);
            return;
        }
        self.check_app_limited_again();
        match self.xmit_timer.pending {
            Pending::None => {}
            Pending::Reordering => self.rack_reo_timeout(),
            Pending::LossProbe => self.send_loss_probe(),
            Pending::Retransmit => {
                self.xmit_timer.pending = Pending::None;
                self.retransmit_timeout();
            }
            Pending::ZeroWindowProbe => {
                self.xmit_timer.pending = Pending::None;
                self.send_probe0();
            }
        }
    }

    /// Processes a retransmission time-out (RFC 6298 §5.4–5.6, `tcp_retransmit_timer`).
    fn retransmit_timeout(&mut self) {
        if self.scoreboard.packets_out == 0 {
            return;
        }
        if self.retransmits_timed_out() {
            self.phase = Phase::GivenUp(self.now);
            return;
        }
        self.counters.timeouts += 1;
        self.losses.loss(self.snd_una);
        self.enter_loss();
        self.xmit_timer.retransmits += 1;
        let head = self.queue.front_id();
        self.split_before(head + 1);
        self.retransmit(head, Retransmission::Timeout, false);
        self.xmit_timer.backoff += 1;
        let rto = self.rto_jiffies();
        self.set_timer(Pending::Retransmit, rto);
    }

    /// Returns true if the first retransmission is older than `tcp_retries2` doublings of 200 ms,
    /// regardless of the RTO (RFC 1122 §4.2.3.5; `retransmits_timed_out`, `tcp_model_timeout`).
    fn retransmits_timed_out(&self) -> bool {
        let stamp_ms = self.recovery.retrans_stamp_ms.filter(|_| self.xmit_timer.retransmits > 0);
        let Some(stamp_ms) = stamp_ms else { return false };
        let timeout_ms = backoff_ms(RTO_MIN_MS, self.options.tcp_retries2);
        u64::from((self.now_ms() as u32).wrapping_sub(stamp_ms)) >= timeout_ms
    }

    /// Restarts the RTO (RFC 6298 §5.3, `tcp_rearm_rto`).
    pub(crate) fn rearm_rto(&mut self) {
        if self.scoreboard.packets_out == 0 {
            self.clear_timer();
            return;
        }
        let mut rto = self.rto_jiffies();
        if matches!(self.xmit_timer.pending, Pending::Reordering | Pending::LossProbe) {
            // Counts from the head's transmission, not from the replaced timer.
            rto = self.tick.us(self.rto_delta_us().max(1) as u64);
        }
        self.reset_xmit_timer(Pending::Retransmit, rto);
    }

    /// Microseconds until the RTO of the head (`tcp_rto_delta_us`).
    fn rto_delta_us(&self) -> i64 {
        let sent_us = self.queue.front().map_or(self.now_us(), |head| head.sent_us());
        (sent_us + self.tick.to_us(self.rto_jiffies())) as i64 - self.now_us() as i64
    }

    /// Sets the timer to a tail loss probe if one is due, else to the RTO (`tcp_set_xmit_timer`).
    pub(crate) fn set_xmit_timer(&mut self) {
        if !self.schedule_loss_probe(true) {
            self.rearm_rto();
        }
    }

    /// Schedules a tail loss probe. Returns true if one is due (RFC 8985 §7.2,
    /// `tcp_schedule_loss_probe`).
    pub(crate) fn schedule_loss_probe(&mut self, advancing_rto: bool) -> bool {
        if !matches!(self.options.tcp_early_retrans, 3 | 4)
            || self.scoreboard.packets_out == 0
            || !self.options.tcp_sack
            || !matches!(self.congestion.state, CaState::Open | CaState::Cwr)
        {
            return false;
        }
        let mut timeout_us = if self.rtt.srtt_us8 > 0 {
            let more_us =
                if self.scoreboard.packets_out == 1 { self.options.rto_min.as_us() } else { 2000 };
            u64::from(self.rtt.srtt_us8 >> 2) + more_us
        } else {
            1_000_000
        };
        let rto_us = if advancing_rto {
            self.tick.to_us(self.rto_jiffies()) as i64
        } else {
            self.rto_delta_us()
        };
        if rto_us > 0 {
            timeout_us = timeout_us.min(rto_us as u64);
        }
        self.reset_xmit_timer(Pending::LossProbe, self.tick.us(timeout_us));
        true
    }

    /// Sends a tail loss probe: new data if available, else the last segment (RFC 8985 §7.3,
    /// `tcp_send_loss_probe`).
    fn send_loss_probe(&mut self) {
        if self.recovery.tlp_high_seq.is_none() {
            self.recovery.tlp_retrans = false;
            let window_end = self.snd_una + self.snd_wnd;
            let unsent = self.write_seq.saturating_sub(self.snd_nxt).min(u64::from(self.mss));
            let probed = if self.has_unsent() && self.snd_nxt + unsent <= window_end {
                let before = self.scoreboard.packets_out;
                self.write_xmit(Push::Probe);
                self.scoreboard.packets_out > before
            } else if self.queue.is_empty() {
                self.xmit_timer.pending = Pending::None;
                return;
            } else {
                let last = self.queue.end_id() - 1;
                self.recovery.tlp_app_limited = self.queue.get(last).app_limited;
                self.recovery.tlp_retrans = self.retransmit_raw(last, Retransmission::Probe, false);
                self.recovery.tlp_retrans
            };
            if probed {
                self.recovery.tlp_high_seq = Some(self.snd_nxt);
                self.xmit_timer.pending = Pending::None;
            }
        }
        self.rearm_rto();
    }

    /// Starts the zero-window timer if nothing is in flight and nothing may be sent
    /// (`tcp_check_probe_timer`).
    pub(crate) fn check_probe_timer(&mut self) {
        if self.scoreboard.packets_out == 0 && self.xmit_timer.pending == Pending::None {
            let when = self.tick.us(self.rtt.rto_us.max(self.options.rto_min.as_us()));
            self.reset_xmit_timer(Pending::ZeroWindowProbe, when);
        }
    }

    /// `tcp_probe0_when`.
    pub(crate) fn probe0_jiffies(&self) -> u64 {
        let base = self.rtt.rto_us.max(self.options.rto_min.as_us());
        self.tick.us((base << self.xmit_timer.backoff.min(10)).min(RTO_MAX_US))
    }

    /// Sends a zero-window probe: an old byte that must be acknowledged (`tcp_send_probe0`).
    fn send_probe0(&mut self) {
        if self.scoreboard.packets_out > 0 || !self.has_unsent() {
            return;
        }
        if self.xmit_timer.probes_out >= self.options.tcp_retries2 {
            self.phase = Phase::GivenUp(self.now); // `tcp_probe_timer`
            return;
        }
        let window_end = self.snd_una + self.snd_wnd;
        if self.snd_nxt < window_end {
            // The window is open but smaller than a segment: send the bytes that fit.
            let bytes = (window_end - self.snd_nxt).min(u64::from(self.mss)) as u32;
            self.send_fitting(bytes);
        } else {
            let header = self.segment_header();
            self.sent_since.any = true;
            self.out.push(&Segment { seq: self.snd_una.saturating_sub(1), ..header });
        }
        if self.scoreboard.packets_out > 0 {
            self.xmit_timer.backoff = 0;
            return;
        }
        self.xmit_timer.probes_out += 1;
        self.xmit_timer.backoff += 1;
        let when = self.probe0_jiffies();
        self.reset_xmit_timer(Pending::ZeroWindowProbe, when);
    }
}
