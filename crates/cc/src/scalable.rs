//! Scalable TCP (Kelly, "Scalable TCP: Improving Performance in Highspeed Wide Area Networks", CCR
//! 33(2), 2003), as Linux's tcp_scalable.c. The window grows by a constant share per round trip and
//! falls by another, so that the time of recovery does not depend on the rate.

use crate::{CongestionControl, Conn, Window};
use dumbbell_model::TcpOptions;

/// ACKed packets per increase of one packet: a share of 0.01 per round trip (Kelly §3).
pub(crate) const INCREASE_PER: u32 = 100;
/// The window falls by 1/8 (Kelly §3: b = 0.125).
const DECREASE_SHIFT: u32 = 3;
/// Minimum slow-start threshold, packets.
const MIN_SSTHRESH: u32 = 2;

/// Scalable TCP. All state is in [`Window`].
#[derive(Clone, Debug)]
pub struct Scalable;

/// Creates an instance.
pub(crate) fn new(_options: &TcpOptions) -> Box<dyn CongestionControl> {
    Box::new(Scalable)
}

impl CongestionControl for Scalable {
    fn ssthresh(&mut self, _conn: &Conn, window: &mut Window) -> u32 {
        (window.cwnd - (window.cwnd >> DECREASE_SHIFT)).max(MIN_SSTHRESH)
    }

    fn cong_avoid(&mut self, conn: &Conn, window: &mut Window, mut acked: u32) {
        if !conn.cwnd_limited {
            return;
        }
        if window.in_slow_start() {
            acked = window.slow_start(acked);
            if acked == 0 {
                return;
            }
        }
        // Below 100 packets, Reno grows faster.
        window.additive_increase(window.cwnd.min(INCREASE_PER), acked);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reno::tests::{avoiding, conn};

    #[test]
    fn a_large_window_grows_by_a_hundredth_per_round_trip() {
        let mut window = avoiding(1000);
        for _ in 0..1000 {
            Scalable.cong_avoid(&conn(0), &mut window, 1);
        }
        assert_eq!(window.cwnd, 1010);
        assert_eq!(Scalable.ssthresh(&conn(0), &mut window), 1010 - 126);
    }
}
