//! Growth of the window per ACK: appropriate byte counting (RFC 3465) as in Linux up to 3.8
//! (`sysctl_tcp_abc`), one packet per ACK without it, and the acknowledged packets in later
//! kernels.

use super::sender::Sender;
use dumbbell_cc::CaState;

impl Sender {
    /// Counts acknowledged bytes until they move the window (`tp->bytes_acked` in `tcp_ack`).
    pub(super) fn abc_count(&mut self, bytes: u64) {
        if self.congestion.state < CaState::Cwr {
            self.congestion.bytes_acked += bytes;
        } else if self.congestion.state == CaState::Loss {
            // In Loss, an ACK counts as one segment that has left the network.
            self.congestion.bytes_acked += bytes.min(u64::from(self.mss));
        }
    }

    /// Packets of window growth for an ACK of `packets` packets.
    pub(super) fn growth_of(&mut self, packets: u32) -> u32 {
        let mss = u64::from(self.mss);
        match self.options.tcp_abc {
            None => packets,
            Some(0) => 1,
            // RFC 3465 §2.2: one packet per full segment, up to `limit` (`tcp_slow_start`).
            Some(limit) if self.window.in_slow_start() => {
                let whole = self.congestion.bytes_acked / mss;
                if whole == 0 {
                    return 0;
                }
                self.congestion.bytes_acked = 0;
                (whole as u32).min(limit)
            }
            // RFC 3465 §2.1: a window of bytes counts as one packet (`tcp_reno_cong_avoid`). CUBIC
            // counted ACKs.
            Some(_) if self.cc.counts_bytes() => {
                let window = u64::from(self.window.cwnd) * mss;
                if self.congestion.bytes_acked < window {
                    return 0;
                }
                self.congestion.bytes_acked -= window;
                self.window.cwnd
            }
            Some(_) => 1,
        }
    }
}
