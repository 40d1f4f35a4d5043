//! RTT that the receiver measures for its autotuning (`rcv_rtt_est`).

use super::receiver::Receiver;
use dumbbell_packet::Segment;

impl Receiver {
    /// Measures the receiver's RTT from echoed timestamps of segments within the window
    /// (`tcp_rcv_rtt_measure_ts`).
    pub(super) fn measure_rtt_by_timestamp(&mut self, segment: &Segment) {
        if !self.options.tcp_timestamps || segment.tsecr_ms == self.last_tsecr_ms {
            return;
        }
        self.last_tsecr_ms = segment.tsecr_ms;
        if segment.end() - segment.seq < self.ack.rcv_mss {
            return;
        }
        let now_ms = (self.now.as_us() / 1000) as u32;
        let elapsed_ms = u64::from(now_ms.wrapping_sub(segment.tsecr_ms));
        // Since 6.7 (`tcp_rtt_tsopt_us`) an RTT below a tick is no sample.
        if self.options.scaling_ratio && elapsed_ms == 0 {
            return;
        }
        let sample_us = elapsed_ms.max(1) * 1000;
        let (old, scaled) = (self.rcv_rtt_us8, sample_us << 3);
        self.rcv_rtt_us8 = if old == 0 || scaled < old {
            scaled
        } else if self.options.rcvbuf_grow && self.unread_bytes() > 0 {
            return; // A larger sample includes the time that data waited to be read.
        } else {
            old - (old >> 3) + sample_us
        };
    }

    /// Measures an upper bound of the receiver's RTT from the time of a window of data; used
    /// without timestamps (`tcp_rcv_rtt_measure`).
    pub(super) fn measure_rtt_by_window(&mut self) {
        if let Some(since) = self.rcv_rtt_since {
            if self.rcv_nxt < self.rcv_rtt_seq {
                return;
            }
            let scaled = (self.now.as_us() - since.as_us()).max(1) << 3;
            if self.rcv_rtt_us8 == 0 || scaled < self.rcv_rtt_us8 {
                self.rcv_rtt_us8 = scaled;
            }
        }
        self.rcv_rtt_seq = self.rcv_nxt + self.rcv_wnd;
        self.rcv_rtt_since = Some(self.now);
    }
}
