//! DCTCP (RFC 8257; Alizadeh et al., "Data Center TCP", SIGCOMM 2010), as Linux's tcp_dctcp.c. The
//! window falls by half the share of marked packets, averaged over round trips. Both ends need it:
//! the receiver echoes each mark and not, as RFC 3168 has it, the first of a window.

use crate::reno::Reno;
use crate::{AckEvent, AckSample, CaEvent, CaState, CongestionControl, Conn, Window};
use dumbbell_model::TcpOptions;

/// A share of 1; α has 10 fraction bits.
const MAX_ALPHA: u32 = 1024;
/// Weight of a round trip: g = 1/16 (RFC 8257 §4.2).
const SHIFT_G: u32 = 4;
const MIN_SSTHRESH: u32 = 2;

/// State of the algorithm (`struct dctcp`).
#[derive(Clone, Debug)]
pub struct Dctcp {
    reno: Reno,
    /// Averaged share of marked packets (`dctcp_alpha`).
    alpha: u32,
    /// Sequence number whose acknowledgement ends the round trip (`next_seq`).
    end: u64,
    /// Delivered and marked packets at its beginning.
    delivered: u64,
    delivered_ce: u64,
    /// Window before the last reduction (`loss_cwnd`).
    loss_cwnd: u32,
}

/// Creates an instance.
pub(crate) fn new(options: &TcpOptions) -> Box<dyn CongestionControl> {
    Box::new(Dctcp::new(Reno::new(options)))
}

impl Dctcp {
    fn new(reno: Reno) -> Self {
        Self { reno, alpha: MAX_ALPHA, end: 0, delivered: 0, delivered_ce: 0, loss_cwnd: 0 }
    }

    /// Begins a round trip (`dctcp_reset`).
    fn begin(&mut self, conn: &Conn) {
        self.end = conn.snd_nxt;
        (self.delivered, self.delivered_ce) = (conn.delivered, conn.delivered_ce);
    }

    /// A loss halves the window (RFC 8257 §3.5, `dctcp_react_to_loss`).
    fn react_to_loss(&mut self, window: &mut Window) {
        self.loss_cwnd = window.cwnd;
        window.ssthresh = (window.cwnd >> 1).max(MIN_SSTHRESH);
    }
}

impl CongestionControl for Dctcp {
    /// RFC 8257 §4.2: α begins at 1.
    fn init(&mut self, conn: &Conn, _window: &mut Window) {
        (self.alpha, self.loss_cwnd) = (MAX_ALPHA, 0);
        self.begin(conn);
    }

    /// RFC 8257 §3.3: cwnd ← cwnd · (1 − α / 2). Without ECN it is Reno (`dctcp_reno`).
    fn ssthresh(&mut self, conn: &Conn, window: &mut Window) -> u32 {
        if !conn.ecn {
            return self.reno.ssthresh(conn, window);
        }
        self.loss_cwnd = window.cwnd;
        let less = window.cwnd.wrapping_mul(self.alpha) >> 11;
        window.cwnd.saturating_sub(less).max(MIN_SSTHRESH)
    }

    fn cong_avoid(&mut self, conn: &Conn, window: &mut Window, acked: u32) {
        self.reno.cong_avoid(conn, window, acked);
    }

    fn pkts_acked(&mut self, conn: &Conn, window: &mut Window, sample: &AckSample) {
        self.reno.pkts_acked(conn, window, sample);
    }

    fn wants_acks(&self) -> bool {
        true
    }

    /// RFC 8257 §3.3: α ← (1 − g) · α + g · M, once per round trip (`dctcp_update_alpha`).
    fn in_ack_event(&mut self, conn: &Conn, _window: &mut Window, _event: AckEvent) {
        if conn.snd_una < self.end {
            return;
        }
        let marked = (conn.delivered_ce - self.delivered_ce) as u32;
        // Below 16, the share is too small for a sixteenth of it: it ends.
        let less = self.alpha >> SHIFT_G;
        self.alpha -= if less == 0 { self.alpha } else { less };
        if marked > 0 {
            let delivered = ((conn.delivered - self.delivered) as u32).max(1);
            let share = (marked << (10 - SHIFT_G)) / delivered;
            self.alpha = (self.alpha + share).min(MAX_ALPHA);
        }
        self.begin(conn);
    }

    /// `dctcp_state`.
    fn set_state(&mut self, conn: &Conn, window: &mut Window, state: CaState) {
        if conn.ecn && state == CaState::Recovery && conn.state != CaState::Recovery {
            self.react_to_loss(window);
        }
    }

    /// `dctcp_cwnd_event`.
    fn cwnd_event(&mut self, conn: &Conn, window: &mut Window, event: CaEvent) {
        if conn.ecn && event == CaEvent::Loss {
            self.react_to_loss(window);
        }
    }

    /// `dctcp_cwnd_undo`.
    fn undo_cwnd(&mut self, conn: &Conn, window: &mut Window) -> u32 {
        window.cwnd.max(if conn.ecn { self.loss_cwnd } else { conn.prior_cwnd })
    }

    fn counts_bytes(&self) -> bool {
        self.reno.counts_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reno::tests::conn;
    use proptest::prelude::*;

    /// Round trips of 100 packets, of which so many are marked.
    fn after_rounds(rounds: u64, marked: u64) -> Dctcp {
        let mut dctcp = Dctcp::new(Reno::default());
        let mut window = Window::new(100);
        let mut conn = Conn { ecn: true, ..conn(0) };
        dctcp.init(&conn, &mut window);
        for _ in 0..rounds {
            conn.snd_una = conn.snd_nxt;
            conn.snd_nxt += 100_000;
            conn.delivered += 100;
            conn.delivered_ce += marked;
            let event = AckEvent { slow_path: true, ece: marked > 0 };
            dctcp.in_ack_event(&conn, &mut window, event);
        }
        dctcp
    }

    proptest! {
        /// RFC 8257 §3.3: α tends to the share of marked packets.
        #[test]
        fn alpha_tends_to_the_share_of_marks(marked in 0..=100u64) {
            let alpha = f64::from(after_rounds(200, marked).alpha) / f64::from(MAX_ALPHA);
            // Sixteenths are rounded down in both terms.
            prop_assert!((alpha - marked as f64 / 100.0).abs() < 0.04, "{alpha}");
        }
    }

    #[test]
    fn the_window_falls_by_half_of_alpha() {
        let mut window = Window::new(100);
        let conn = Conn { ecn: true, ..conn(0) };
        assert_eq!(after_rounds(0, 0).ssthresh(&conn, &mut window), 50);
        assert_eq!(after_rounds(200, 0).ssthresh(&conn, &mut window), 100);
        let tenth = after_rounds(200, 10).ssthresh(&conn, &mut window);
        assert!((95..=97).contains(&tenth), "{tenth}");
    }

    #[test]
    fn a_loss_halves_whatever_alpha_is() {
        let mut dctcp = after_rounds(200, 0);
        let conn = Conn { ecn: true, ..conn(0) };
        let mut window = Window::new(100);
        window.ssthresh = dctcp.ssthresh(&conn, &mut window);
        dctcp.set_state(&conn, &mut window, CaState::Recovery);
        assert_eq!(window.ssthresh, 50);
    }
}
