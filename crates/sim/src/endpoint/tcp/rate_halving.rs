//! Rate halving (Mathis, Semke & Mahdavi 1999), Linux's window reduction before 3.2: one packet
//! less per two ACKs, instead of proportional rate reduction (RFC 6937).

use super::sacktag::AckFlags;
use super::sender::Sender;

/// Maximum burst after a reduction, packets (`tcp_max_burst`).
const MAX_BURST: u32 = 3;

impl Sender {
    /// `tcp_cwnd_down`.
    pub(super) fn cwnd_down(&mut self, flags: &AckFlags) {
        let progress = flags.forward_progress() || flags.snd_una_advanced || flags.dsacking;
        if !progress && (self.options.tcp_sack || flags.not_dup()) {
            return;
        }
        let decrease = self.window.cwnd_cnt + 1;
        self.window.cwnd_cnt = decrease & 1;
        if self.window.cwnd > self.cc.min_cwnd(&self.window) {
            self.window.cwnd -= decrease >> 1;
        }
        self.window.cwnd = self.window.cwnd.min(self.in_flight() + 1);
        self.usage.cwnd_stamp = self.jiffies();
    }

    /// Prevents a burst after a reduction (`tcp_moderate_cwnd`).
    pub(super) fn moderate_cwnd(&mut self) {
        if self.options.rate_halving {
            self.window.cwnd = self.window.cwnd.min(self.in_flight() + MAX_BURST).max(1);
            self.usage.cwnd_stamp = self.jiffies();
        }
    }
}
