//! What an ACK counts for when the window grows: appropriate byte counting (RFC 3465) as Linux had it
//! until 3.8 (`sysctl_tcp_abc`), one for each ACK where that was off, and the packets acknowledged
//! since.

use super::sender::Sender;
use dumbbell_cc::CaState;

impl Sender {
    /// Bytes count until they have moved the window (`tp->bytes_acked` in `tcp_ack`).
    pub(super) fn abc_count(&mut self, bytes: u64) {
        if self.congestion.state < CaState::Cwr {
            self.congestion.bytes_acked += bytes;
        } else if self.congestion.state == CaState::Loss {
            // Just one segment is taken to have left the network.
            self.congestion.bytes_acked += bytes.min(u64::from(self.mss));
        }
    }

    /// Packets by which an ACK that acknowledged `packets` moves the window on.
    pub(super) fn growth_of(&mut self, packets: u32) -> u32 {
        let mss = u64::from(self.mss);
        match self.options.tcp_abc {
            None => packets,
            Some(0) => 1,
            // RFC 3465 §2.2: a full segment's worth, or up to two (`tcp_slow_start`).
            Some(limit) if self.window.in_slow_start() => {
                let whole = self.congestion.bytes_acked / mss;
                if whole == 0 {
                    return 0;
                }
                self.congestion.bytes_acked = 0;
                (whole as u32).min(limit)
            }
            // RFC 3465 §2.1: a window's worth of bytes is one packet (`tcp_reno_cong_avoid`). CUBIC
            // went on by ACKs.
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
