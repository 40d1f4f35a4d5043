//! Reinjection: retransmission over another subflow after time-outs of the connection or of a
//! subflow, or if one subflow blocks the others (net/mptcp/protocol.c, pm.c).

use super::send::{Context, DataSender, RTO_MIN_MS};
use super::Subflows;
use crate::endpoint::tcp::sender::Phase;
use crate::endpoint::tcp::subflow::Begins;
use dumbbell_model::Time;

/// Number of the connection's time-outs without a segment from a subflow after which the subflow is
/// stale (`net.mptcp.stale_loss_cnt`).
const STALE_LOSS_COUNT: u32 = 4;

impl DataSender {
    pub(super) fn reset_timer(&mut self, now: Time) {
        let clock = self.tick.jiffies(now);
        self.timer.set(self.tick, clock, clock + self.timer_jiffies);
    }

    /// Sets the connection's time-out to the longest of its subflows (`mptcp_set_timeout`).
    pub(super) fn set_timeout(&mut self, now: Time, subflows: &mut Subflows<'_>) {
        let jiffies = self.tick.jiffies(now);
        let mut longest = 0;
        for subflow in 0..subflows.len() {
            let sender = subflows.sender(subflow);
            if let (Some(timeout), 0) = (sender.xmit_timeout(), self.states[subflow].stale_count) {
                longest = longest.max(timeout.saturating_sub(jiffies));
            }
        }
        self.timer_jiffies = if longest > 0 { longest } else { self.tick.ms(RTO_MIN_MS) };
    }

    /// Processes the connection's retransmission timer: retransmits the first missing data over an
    /// idle subflow (`__mptcp_retrans`).
    pub(crate) fn on_timer(&mut self, now: Time, subflows: &mut Subflows<'_>) {
        if !self.timer.take_due(now) || self.fell_back || self.fin_acked {
            return;
        }
        // `__mptcp_clean_una` starts the timer again, before decisions change the time-out.
        self.clean_una(now);
        let idle = self.idle_subflow(now, subflows);
        let head_end = self.chunks.first_end().unwrap_or(self.written).min(self.next);
        if self.snd_una >= self.written && self.fin_sent {
            self.timeouts_of_fin += 1;
            self.timer_jiffies = self.tick.ms(RTO_MIN_MS) << self.timeouts_of_fin.min(9);
            self.send_fin(now, subflows);
        } else if let Some(subflow) = idle.filter(|_| head_end > self.snd_una) {
            self.retransmit(now, subflow, head_end, subflows);
        } else if self.chunks.is_empty() {
            return;
        }
        self.push(now, Context::Process, subflows);
        if !self.timer.is_set() {
            self.reset_timer(now);
        }
    }

    /// Gives the unacknowledged data below `end` to an idle subflow (`mptcp_sendmsg_frag`).
    fn retransmit(&mut self, now: Time, subflow: usize, end: u64, subflows: &mut Subflows<'_>) {
        let mut from = self.snd_una;
        let sender = subflows.sender(subflow);
        sender.set_now(now);
        while from < end {
            sender.widen_window(self.window_end.saturating_sub(from));
            from += sender.write_mapped(from, end - from, Begins::Within);
        }
        sender.push_mapped();
        self.touched[subflow] = true;
        self.counters.reinjected_bytes += end - self.snd_una;
    }

    /// Subflow without outstanding data; a backup only if no other subflow makes progress
    /// (`mptcp_subflow_get_retrans`). Counts the silent time-outs of the others.
    fn idle_subflow(&mut self, now: Time, subflows: &mut Subflows<'_>) -> Option<usize> {
        let (mut pick, mut backup, mut least_stale) = (None, None, u32::MAX);
        for subflow in 0..subflows.len() {
            let sender = subflows.sender(subflow);
            if !sender.carries_data() || self.states[subflow].gone {
                continue;
            }
            if !sender.is_idle() {
                self.check_stale(now, subflow, subflows);
                least_stale = least_stale.min(self.states[subflow].stale_count);
            } else if self.states[subflow].backup {
                backup = backup.or(Some(subflow));
            } else {
                pick = pick.or(Some(subflow));
            }
        }
        pick.or(backup.filter(|_| least_stale > 1))
    }

    /// Counts the connection's time-outs in which a subflow with outstanding data is silent. Marks
    /// the subflow stale after some of them if there is another one (`mptcp_pm_subflow_chk_stale`).
    fn check_stale(&mut self, now: Time, subflow: usize, subflows: &mut Subflows<'_>) {
        let state = &mut self.states[subflow];
        if state.stale_count == 0 {
            state.heard_at_count = state.heard;
            state.stale_count = 1;
            return;
        }
        if state.heard_at_count != state.heard {
            state.stale_count = 0;
            state.stale = false;
            return;
        }
        state.stale_count += 1;
        if state.stale || state.stale_count <= STALE_LOSS_COUNT {
            return;
        }
        let other = (0..subflows.len()).any(|other| {
            let alive = self.states[other].stale_count < STALE_LOSS_COUNT - 1;
            other != subflow && alive && self.view(other, subflows).active
        });
        if other {
            self.states[subflow].stale = true;
            self.resend_from_una();
            self.push(now, Context::Process, subflows);
        }
    }

    /// Gives all unacknowledged data to subflows again (`__mptcp_retransmit_pending_data`).
    fn resend_from_una(&mut self) {
        self.counters.reinjected_bytes += self.next - self.snd_una.min(self.next);
        self.next = self.snd_una.min(self.written);
        self.scheduler.reset();
    }

    /// Reinjects the data of a subflow after its time-out. With Linux's scheduler, only the
    /// connection's own time-out does this.
    pub(crate) fn check_timeout(&mut self, now: Time, subflow: usize, subflows: &mut Subflows<'_>) {
        let sender = subflows.sender(subflow);
        let timeouts = sender.counters.timeouts;
        let given_up = matches!(sender.phase, Phase::GivenUp(_));
        if given_up && !self.states[subflow].gone {
            self.lose(now, subflow, subflows);
        }
        if timeouts == self.states[subflow].timeouts {
            return;
        }
        self.states[subflow].timeouts = timeouts;
        if self.scheduler.fills_buffers() || subflows.len() == 1 || self.fell_back {
            return;
        }
        for mapping in subflows.sender(subflow).outstanding() {
            let (from, to) = (mapping.dsn.max(self.snd_una), mapping.dsn + mapping.bytes);
            let queued = self.reinject.iter().any(|&(start, end, _)| start < to && from < end);
            if from < to && !queued {
                self.reinject.push_back((from, to, subflow));
            }
        }
        self.push(now, Context::Process, subflows);
    }

    pub(super) fn push_reinjections(&mut self, now: Time, subflows: &mut Subflows<'_>) -> bool {
        let mut pushed = false;
        while let Some((from, to, not_over)) = self.reinject.front().copied() {
            let from = from.max(self.snd_una);
            if from >= to {
                self.reinject.pop_front();
                continue;
            }
            let open = (0..self.views.len()).filter(|&subflow| {
                let view = &self.views[subflow];
                let has_space = view.in_flight + view.unsent < view.cwnd && view.has_memory;
                subflow != not_over && view.active && !view.in_loss && has_space
            });
            let Some(subflow) = open.min_by_key(|&subflow| self.views[subflow].srtt_us) else {
                break;
            };
            let sender = subflows.sender(subflow);
            sender.set_now(now);
            let bytes =
                sender.write_mapped(from, (to - from).min(u64::from(sender.mss)), Begins::Within);
            sender.push_mapped();
            self.touched[subflow] = true;
            self.counters.reinjected_bytes += bytes;
            self.views[subflow] = self.view(subflow, subflows);
            if let Some(front) = self.reinject.front_mut() {
                front.0 = from + bytes;
            }
            pushed = true;
        }
        pushed
    }

    /// Reinjects the data of a removed subflow.
    pub(crate) fn lose(&mut self, now: Time, subflow: usize, subflows: &mut Subflows<'_>) {
        self.states[subflow].gone = true;
        if !self.fell_back && !subflows.sender(subflow).is_idle() {
            self.resend_from_una();
            self.push(now, Context::Process, subflows);
        }
    }

    /// Frees a connection's window that a slower subflow blocks: halves the slow subflow's congestion
    /// window once per RTT, and reinjects the first missing data once over the fast one (Raiciu et
    /// al. 2012, §4.2, mechanisms 2 and 1; `mptcp_rcv_buf_optimization` of MPTCP 0.95).
    pub(super) fn unblock(&mut self, now: Time, fast: usize, subflows: &mut Subflows<'_>) {
        let una = self.snd_una;
        let holds = |subflow: usize, subflows: &mut Subflows<'_>| {
            let outstanding = subflows.sender(subflow).outstanding();
            outstanding.iter().any(|m| m.dsn <= una && una < m.dsn + m.bytes)
        };
        let slow = (0..subflows.len()).find(|&subflow| subflow != fast && holds(subflow, subflows));
        let Some(slow) = slow else { return };
        if subflows.sender(fast).rtt.srtt_us8 < subflows.sender(slow).rtt.srtt_us8 {
            self.penalise(now, slow, subflows);
        }
        if !holds(fast, subflows) {
            let sender = subflows.sender(fast);
            let most = u64::from(sender.mss).min(self.snd_nxt - una);
            self.counters.reinjected_bytes += sender.write_mapped(una, most, Begins::Within);
        }
    }

    /// Halves the congestion window of a subflow, at most once per RTT.
    fn penalise(&mut self, now: Time, slow: usize, subflows: &mut Subflows<'_>) {
        let sender = subflows.sender(slow);
        let rtt_us = u64::from(sender.rtt.srtt_us8 >> 3);
        let since = self.states[slow].penalised.map(|at| now.since(at).as_us());
        if since.is_some_and(|since| since < rtt_us) {
            return;
        }
        self.states[slow].penalised = Some(now);
        self.counters.penalties += 1;
        let window = &mut sender.window;
        // Slow start goes on.
        if window.cwnd >= window.ssthresh {
            window.ssthresh = (window.ssthresh >> 1).max(2);
        }
        window.cwnd = (window.cwnd >> 1).max(1);
    }
}
