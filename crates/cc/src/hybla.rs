//! Hybla (Caini and Firrincieli, "TCP Hybla: a TCP enhancement for heterogeneous networks", IJSCN
//! 22, 2004), as Linux's tcp_hybla.c. Over a long path, the window grows as that of a flow with an
//! RTT of 25 ms would in the same time.

use crate::reno::Reno;
use crate::{CaState, CongestionControl, Conn, Window};
use dumbbell_model::TcpOptions;

/// RTT of reference, microseconds (`rtt0`).
const REFERENCE_US: u32 = 25_000;
/// Fraction bits of ρ, and of increases.
const RHO_SHIFT: u32 = 3;
const SHIFT: u32 = 7;
/// 2^(n/8) with 7 fraction bits.
const POWERS: [u32; 8] = [128, 139, 152, 165, 181, 197, 215, 234];
/// Largest window, packets (`hybla_init`).
const MAX_CWND: u32 = 65_535;

/// State of the algorithm (`struct hybla`).
#[derive(Clone, Debug)]
pub struct Hybla {
    reno: Reno,
    /// False while losses are repaired (`hybla_en`).
    enabled: bool,
    /// Parts of packets by which the window has still to grow, 7 fraction bits.
    cents: u32,
    /// RTT over that of reference, at least 1, with 3 fraction bits (`rho_3ls`).
    rho: u32,
    /// Smallest smoothed RTT, microseconds times 8 (`minrtt_us`).
    min_srtt_us8: u32,
}

/// Creates an instance.
pub(crate) fn new(options: &TcpOptions) -> Box<dyn CongestionControl> {
    let reno = Reno::new(options);
    Box::new(Hybla { reno, enabled: true, cents: 0, rho: 0, min_srtt_us8: 0 })
}

impl Hybla {
    /// `hybla_recalc_param`. The smoothed RTT times 8 gives three fraction bits.
    fn measure(&mut self, conn: &Conn) {
        self.rho = (conn.srtt_us8 / REFERENCE_US).max(1 << RHO_SHIFT);
    }

    /// Growth per ACK in slow start: 2^ρ − 1 packets (Caini and Firrincieli §3.2).
    fn slow_start(&self) -> u32 {
        let whole = (self.rho >> RHO_SHIFT).min(16);
        let power = POWERS[(self.rho & 7) as usize];
        (power << whole).wrapping_sub(1 << SHIFT)
    }
}

impl CongestionControl for Hybla {
    /// `hybla_init`.
    fn init(&mut self, conn: &Conn, window: &mut Window) {
        (self.enabled, self.cents) = (true, 0);
        window.cwnd_clamp = MAX_CWND;
        self.measure(conn);
        self.min_srtt_us8 = conn.srtt_us8;
        window.cwnd = self.rho >> RHO_SHIFT;
    }

    fn ssthresh(&mut self, conn: &Conn, window: &mut Window) -> u32 {
        self.reno.ssthresh(conn, window)
    }

    /// `hybla_cong_avoid`. It counts ACKs, not packets.
    fn cong_avoid(&mut self, conn: &Conn, window: &mut Window, acked: u32) {
        if conn.srtt_us8 < self.min_srtt_us8 {
            self.measure(conn);
            self.min_srtt_us8 = conn.srtt_us8;
        }
        if !conn.cwnd_limited {
            return;
        }
        if !self.enabled {
            self.reno.cong_avoid(conn, window, acked);
            return;
        }
        let slow_start = window.in_slow_start();
        let increase = if slow_start {
            self.slow_start()
        } else {
            // ρ² / W per ACK (Caini and Firrincieli §3.2).
            let increase = ((self.rho * self.rho) << 1) / window.cwnd;
            window.cwnd_cnt += u32::from(increase < 1 << SHIFT);
            increase
        };
        window.cwnd += increase >> SHIFT;
        self.cents += increase & ((1 << SHIFT) - 1);
        if self.cents >= 1 << SHIFT {
            window.cwnd += 1;
            self.cents -= 1 << SHIFT;
            window.cwnd_cnt = 0;
        }
        // With a very large window, the increase per ACK is below a cent.
        if increase == 0 && window.cwnd_cnt >= window.cwnd {
            window.cwnd += 1;
            window.cwnd_cnt = 0;
        }
        if slow_start {
            window.cwnd = window.cwnd.min(window.ssthresh);
        }
        window.cwnd = window.cwnd.min(window.cwnd_clamp);
    }

    fn set_state(&mut self, _conn: &Conn, _window: &mut Window, state: CaState) {
        self.enabled = state == CaState::Open;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reno::tests::conn;

    fn hybla(rtt_us: u32, window: &mut Window) -> (Hybla, Conn) {
        let conn = Conn { srtt_us8: 8 * rtt_us, ..conn(0) };
        let reno = Reno::default();
        let mut hybla = Hybla { reno, enabled: true, cents: 0, rho: 0, min_srtt_us8: 0 };
        hybla.init(&conn, window);
        (hybla, conn)
    }

    /// ρ = 4: a window grows by 16 packets per round trip, where Reno grows by one.
    #[test]
    fn growth_is_that_of_a_flow_with_the_rtt_of_reference() {
        let mut window = Window { ssthresh: 2, ..Window::new(10) };
        let (mut hybla, conn) = hybla(100_000, &mut window);
        window.cwnd = 1600;
        for _ in 0..1600 {
            hybla.cong_avoid(&conn, &mut window, 1);
        }
        assert!((1611..=1616).contains(&window.cwnd), "{}", window.cwnd);
    }

    #[test]
    fn slow_start_doubles_with_a_short_rtt() {
        let mut window = Window::new(10);
        let (mut hybla, conn) = hybla(10_000, &mut window);
        assert_eq!(window.cwnd, 1, "ρ = 1");
        hybla.cong_avoid(&conn, &mut window, 1);
        assert_eq!(window.cwnd, 2);
    }
}
