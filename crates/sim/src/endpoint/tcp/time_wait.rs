//! The end of a connection as in Linux: TIME_WAIT of the side that closed first
//! (`tcp_timewait_state_process`), and the RST of a host without the connection (RFC 9293 §3.10.7.1,
//! `tcp_v4_send_reset`). A duplicate of the last FIN is acknowledged in TIME_WAIT; if the other side
//! is closed by then, its RST ends TIME_WAIT.

use super::oow_limit::OowLimit;
use super::receiver::Receiver;
use super::sender::Sender;
use dumbbell_packet::tcp::Flags;
use dumbbell_packet::Segment;

/// State of a side that has closed, after the FIN of its peer.
#[derive(Clone, Copy, Debug, Default)]
pub(super) enum Closed {
    /// The peer has not closed yet.
    #[default]
    No,
    /// TIME_WAIT.
    TimeWait {
        /// End of the peer's stream, with its FIN (`tw_rcv_nxt`).
        rcv_nxt: u64,
        /// Limit of answers to segments without data (`tw_last_oow_ack_time`).
        limit: OowLimit,
        /// True after the first segment in this state.
        answers: bool,
    },
    /// No connection any more.
    Gone,
}

impl Closed {
    /// Returns true if the connection is in TIME_WAIT, or gone.
    pub(super) fn is_reached(self) -> bool {
        !matches!(self, Self::No)
    }

    /// Returns true if the segments being sent answer in TIME_WAIT, or without a connection. These are
    /// not ECN-capable (`ip_send_unicast_reply`).
    pub(super) fn answers(self) -> bool {
        matches!(self, Self::TimeWait { answers: true, .. } | Self::Gone)
    }
}

/// RST that answers a segment of no connection.
fn reset(segment: &Segment) -> Segment {
    Segment {
        seq: segment.ack,
        flags: Flags { rst: true, ..Flags::default() },
        ..Segment::default()
    }
}

impl Sender {
    /// Acknowledges the peer's FIN (`tcp_fin` in FIN_WAIT2). If this side's FIN is acknowledged, too,
    /// TIME_WAIT follows.
    pub(super) fn acknowledge_fin(&mut self, segment: &Segment) {
        let rcv_nxt = segment.end();
        self.begin_skb(0);
        let ack = self.segment_header();
        self.note_skb();
        self.out.push(&Segment { seq: self.snd_nxt, ack: rcv_nxt, ..ack });
        if self.fin && self.snd_una > self.write_seq {
            self.closed = Closed::TimeWait { rcv_nxt, limit: OowLimit::default(), answers: false };
        }
    }

    /// Processes a segment in TIME_WAIT, or without a connection.
    pub(super) fn on_late_segment(&mut self, segment: &Segment) {
        let Closed::TimeWait { rcv_nxt, mut limit, .. } = self.closed else {
            if !segment.flags.rst {
                self.out.push(&reset(segment));
            }
            return;
        };
        let old =
            segment.timestamps && (segment.tsval_ms.wrapping_sub(self.ts_recent_ms) as i32) < 0;
        let bare = segment.end() == segment.seq;
        let expected = !old && !segment.flags.is_syn() && segment.seq == rcv_nxt;
        if segment.flags.rst {
            if expected {
                self.closed = Closed::Gone; // TIME_WAIT assassination (RFC 1337).
            }
            return;
        }
        if expected && bare {
            return;
        }
        if bare && limit.blocks(self.tick, self.jiffies()) {
            return;
        }
        self.closed = Closed::TimeWait { rcv_nxt, limit, answers: true };
        // Without ECN: its flags and options are those of a socket.
        let ack = Segment { flags: Flags::default(), ack: rcv_nxt, ..self.plain_header() };
        self.out.push(&ack);
    }
}

impl Receiver {
    /// Answers a segment that arrives after the connection has ended.
    pub(super) fn on_late_segment(&mut self, segment: &Segment) {
        if !segment.flags.rst {
            self.out.push(&reset(segment));
        }
    }
}
