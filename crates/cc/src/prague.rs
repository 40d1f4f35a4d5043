//! Prague (draft-briscoe-iccrg-prague-congestion-control), as the Linux implementation of its authors
//! (L4STeam/linux, tcp_prague.c 0.7). The window falls by half the share of marked packets, as DCTCP's;
//! it grows as if no round trip were shorter than 25 ms, so that flows of short and long paths share. The
//! window is a fraction, and below four packets a rate takes its place.
//!
//! Integers are those of the implementation: 2^20 µs stand for a second where a rate becomes a window.

use crate::reno::Reno;
use crate::{AckSample, CaEvent, CaState, CongestionControl, Conn, RateSample, Window};
use dumbbell_model::TcpOptions;

/// Fraction bits of the window.
const WINDOW_BITS: u32 = 20;
/// A packet of the window (ONE_CWND).
const ONE: u64 = 1 << WINDOW_BITS;
/// Fraction bits of α, and those by which its average is more precise: g = 1/16.
const ALPHA_BITS: u32 = 24;
const SHIFT_G: u32 = 4;
/// Target round trip, and longest one for which growth is scaled, µs · 8 (`prague_rtt_target`).
const TARGET_RTT_US8: u64 = 25_000 << 3;
const SCALED_RTT_MAX_US8: u64 = 100_000 << 3;
/// Round trips after slow start before growth depends on the target (`prague_rtt_transition`).
const TRANSITION_ROUNDS: u32 = 4;
/// Lowest rate, bytes per second.
const RATE_MIN: u64 = 12_500;
/// Lowest window, and packets that a target round trip should have, packets.
const WINDOW_MIN: u32 = 2;
/// Shortest payload that the algorithm asks for.
const MSS_MIN: u32 = 150;
/// Packet that growth counts in, bytes.
const GROWTH_PACKET: u64 = 1500;
/// Window up to which a rate takes its place, bytes (`prague_cwnd_transit`).
const RATE_MODE_BYTES: u64 = 4 * 1500;
/// Shift from a window and a round trip in µs · 8 to a rate.
const SECOND_SHIFT: u32 = 23;
/// A second in µs · 8.
const SECOND_US8: u64 = 8_000_000;
/// Bursts are at most 2^-12 s long (`prague_burst_shift`).
const BURST_SHIFT: u32 = 12;
/// The rate swings by 4/128 about its mean.
const SWING: (u64, u32) = (4, 7);
/// Weight of a round trip in the slow average of the RTT: 1/128.
const SLOW_RTT_SHIFT: u32 = 7;

/// State of the algorithm (`struct prague`).
#[derive(Clone, Debug)]
pub struct Prague {
    reno: Reno,
    /// True without Accurate ECN: then it is Reno.
    falls_back: bool,
    /// Window, in packets of 2^20.
    window: u64,
    /// Rate, bytes of IP packets per second.
    rate: u64,
    /// True if the rate governs.
    rate_mode: bool,
    /// Average share of marked packets, with 28 bits.
    alpha: u64,
    alpha_at_us: u64,
    /// Time of the last reduction by marks.
    reduced_at_us: u64,
    /// Growth of the window per packet and window (`ai_ack_increase`).
    growth: u64,
    saw_mark: bool,
    in_loss: bool,
    /// Rate and window before the last loss.
    loss_rate: u64,
    loss_cwnd: u32,
    /// Sequence number whose acknowledgement ends the round; packets delivered and marked before it.
    end: u64,
    delivered: u64,
    delivered_ce: u64,
    /// Rounds outside of slow start.
    rounds: u32,
    /// Slow average of the RTT, in 1024ths of a µs.
    slow_rtt: u64,
    /// IP packet, now and at first, bytes.
    mtu: u64,
    first_mtu: u64,
    burst: u32,
}

/// Creates an instance.
pub(crate) fn new(options: &TcpOptions) -> Box<dyn CongestionControl> {
    Box::new(Prague::new(Reno::new(options)))
}

/// a · b / 2^shift.
fn scaled(a: u64, b: u64, shift: u32) -> u64 {
    ((u128::from(a) * u128::from(b)) >> shift) as u64
}

fn rounded(a: u64, b: u64) -> u64 {
    (a + b / 2) / b
}

impl Prague {
    fn new(reno: Reno) -> Self {
        Self {
            reno,
            falls_back: false,
            window: 0,
            rate: 0,
            rate_mode: false,
            alpha: 0,
            alpha_at_us: 0,
            reduced_at_us: 0,
            growth: ONE,
            saw_mark: false,
            in_loss: false,
            loss_rate: 0,
            loss_cwnd: 0,
            end: 0,
            delivered: 0,
            delivered_ce: 0,
            rounds: 0,
            slow_rtt: 0,
            mtu: 0,
            first_mtu: 0,
            burst: 1,
        }
    }

    /// The RTT, not below the target, µs · 8 (`prague_virtual_rtt`).
    fn virtual_rtt(conn: &Conn) -> u64 {
        u64::from(conn.srtt_us8).max(TARGET_RTT_US8)
    }

    /// `prague_is_rtt_indep`.
    fn is_independent(&self, window: &Window) -> bool {
        !window.in_slow_start() && self.rounds >= TRANSITION_ROUNDS
    }

    fn governs_by_rate(&self, window: &Window) -> bool {
        self.rate_mode && self.is_independent(window)
    }

    /// Whole packets of the window (`prague_frac_cwnd_to_snd_cwnd`).
    fn packets(&self, window: &Window) -> u32 {
        let packets = (self.window.div_ceil(ONE)).min(u64::from(u32::MAX)) as u32;
        packets.max(WINDOW_MIN).min(window.cwnd_clamp)
    }

    /// `prague_pacing_rate_to_frac_cwnd`.
    fn window_of_rate(&self, conn: &Conn) -> u64 {
        let slow = self.slow_rtt >> SLOW_RTT_SHIFT;
        let rtt = if slow == 0 { u64::from(conn.srtt_us8) } else { slow };
        scaled(self.rate, rtt, 3).div_ceil(self.mtu)
    }

    /// Bytes per second of a packet per round trip.
    fn packet_rate(&self, conn: &Conn) -> u64 {
        SECOND_US8 * self.mtu / u64::from(conn.srtt_us8.max(1))
    }

    /// `prague_frac_cwnd_to_pacing_rate`.
    fn rate_of_window(&self, conn: &Conn) -> u64 {
        scaled(self.packet_rate(conn), self.window, WINDOW_BITS).max(RATE_MIN)
    }

    /// Sets the growth to that of the target round trip: (RTT / 25 ms)² per packet (`prague_ai_ack_increase`).
    fn set_growth(&mut self, conn: &Conn) {
        let rtt = u64::from(conn.srtt_us8);
        let plain = self.rounds < TRANSITION_ROUNDS
            || rtt == 0
            || rtt > SCALED_RTT_MAX_US8
            || rtt >= TARGET_RTT_US8;
        self.growth = if plain {
            ONE
        } else {
            rounded((rtt << WINDOW_BITS) * rtt, TARGET_RTT_US8 * TARGET_RTT_US8)
        };
    }

    /// Begins a round (`prague_new_round`).
    fn begin(&mut self, conn: &Conn, window: &Window) {
        self.end = conn.snd_nxt;
        (self.delivered, self.delivered_ce) = (conn.delivered, conn.delivered_ce);
        if !window.in_slow_start() {
            self.rounds = self.rounds.checked_add(1).unwrap_or(TRANSITION_ROUNDS);
        }
        self.set_growth(conn);
    }

    fn since_alpha_us(&self, conn: &Conn) -> u64 {
        conn.now_us.saturating_sub(self.alpha_at_us)
    }

    /// Returns true at the end of a round: a round trip, and no less than the target where growth depends on it
    /// (`prague_should_update_ewma`).
    fn ends_round(&self, conn: &Conn, window: &Window) -> bool {
        conn.snd_una >= self.end
            && (!self.is_independent(window) || TARGET_RTT_US8 >> 3 <= self.since_alpha_us(conn))
    }

    /// Grows by what was acknowledged without mark, and moves the window a packet towards its fraction
    /// (`prague_update_cwnd`).
    fn update_window(&mut self, conn: &Conn, window: &mut Window, sample: &RateSample) {
        let mut acked = i64::from(sample.acked_sacked);
        if sample.marked > 0 {
            if !self.saw_mark {
                // The first mark ends slow start: half of the window.
                self.window = (self.window + 1) >> 1;
            }
            self.saw_mark = true;
            acked -= i64::from(sample.marked);
        }
        if acked > 0 && !self.in_loss && conn.cwnd_limited {
            let mut left = acked as u64;
            if window.in_slow_start() {
                left = u64::from(window.slow_start(acked.min(i64::from(u32::MAX)) as u32));
                self.window = u64::from(window.cwnd) << WINDOW_BITS;
                if left == 0 {
                    return self.set_growth(conn);
                }
            }
            self.grow(conn, window, left);
        }
        let packets = self.packets(window);
        if window.cwnd > packets {
            window.cwnd -= 1;
            window.ssthresh = window.cwnd;
            self.set_growth(conn);
        } else if window.cwnd < packets {
            window.cwnd += 1;
            self.set_growth(conn);
        }
    }

    /// A packet of 1500 bytes per (virtual) round trip.
    fn grow(&mut self, conn: &Conn, window: &Window, acked: u64) {
        if self.governs_by_rate(window) {
            let rtt = Self::virtual_rtt(conn);
            let increase = ((acked * GROWTH_PACKET) << SECOND_SHIFT) / rtt;
            let packets = (self.rate * rtt).div_ceil(self.mtu << SECOND_SHIFT);
            if packets > 0 {
                self.rate += rounded(increase, packets);
            }
            self.window = (self.window + acked).max(self.window_of_rate(conn));
        } else {
            let mut increase = acked * self.growth;
            if self.window > 0 {
                increase = rounded(increase << WINDOW_BITS, self.window);
            }
            increase = increase * GROWTH_PACKET / self.mtu;
            self.window += acked.max(increase);
            self.rate = (self.rate + acked).max(self.rate_of_window(conn));
        }
    }

    /// Averages the share of marks over rounds, and the RTT (`prague_update_alpha`).
    fn update_alpha(&mut self, conn: &Conn, window: &mut Window) {
        if self.saw_mark {
            let marked = conn.delivered_ce - self.delivered_ce;
            let delivered = (conn.delivered - self.delivered).max(1);
            let share = (marked << ALPHA_BITS) / delivered;
            let most = 1 << (ALPHA_BITS + SHIFT_G);
            self.alpha = (self.alpha - (self.alpha >> SHIFT_G) + share).min(most);
            self.alpha_at_us = conn.now_us;
            if self.is_independent(window) && !self.in_loss {
                self.adapt_packets(conn, window);
            }
        }
        let rtt = u64::from(conn.srtt_us8);
        self.slow_rtt = self.slow_rtt + rtt - (self.slow_rtt >> SLOW_RTT_SHIFT);
        self.begin(conn, window);
    }

    /// Shortens packets at low rates, so that there are two per virtual round trip
    /// (`prague_update_mtu`).
    fn adapt_packets(&mut self, conn: &Conn, window: &mut Window) {
        let rtt = u64::from(conn.srtt_us8);
        let bytes = if self.governs_by_rate(window) {
            scaled(self.rate, Self::virtual_rtt(conn), SECOND_SHIFT)
        } else {
            let virtual_window = match rtt {
                1..TARGET_RTT_US8 => self.window * TARGET_RTT_US8 / rtt,
                _ => self.window,
            };
            scaled(virtual_window, self.mtu, WINDOW_BITS)
        };
        let least = u64::from(MSS_MIN + conn.header_bytes);
        let wanted = bytes.div_ceil(u64::from(WINDOW_MIN));
        let mtu = wanted.max(least).min(self.first_mtu);
        if mtu == self.mtu {
            return;
        }
        self.window = self.window * self.mtu / mtu;
        let packets = self.packets(window);
        if window.cwnd != packets {
            window.cwnd = packets;
            window.ssthresh = (u64::from(window.ssthresh) * self.mtu / mtu) as u32;
            self.set_growth(conn);
        }
        self.mtu = mtu;
        window.mtu = Some(mtu as u32);
    }

    /// `prague_update_pacing_rate`.
    fn update_pacing(&mut self, conn: &Conn, window: &mut Window) {
        let mut rate = if self.governs_by_rate(window) {
            let swing = scaled(SWING.0, self.rate, SWING.1);
            if Self::virtual_rtt(conn) >> 4 <= self.since_alpha_us(conn) {
                self.rate - swing
            } else {
                self.rate + swing
            }
        } else {
            let packets = (self.window >> WINDOW_BITS).max(u64::from(conn.in_flight));
            self.rate = (self.packet_rate(conn) * packets).max(RATE_MIN);
            self.rate
        };
        if window.cwnd < window.ssthresh / 2 {
            rate *= 2;
        }
        self.burst = ((rate / self.mtu) >> BURST_SHIFT).max(1) as u32;
        window.pacing_rate = rate;
    }

    /// Chooses between window and rate (end of `prague_cong_control`).
    fn choose_mode(&mut self, conn: &Conn, window: &Window) {
        let bytes = u64::from(window.cwnd) * self.mtu;
        self.rate_mode = self.saw_mark && bytes <= RATE_MODE_BYTES;
        if self.rate_mode {
            self.window = self.window_of_rate(conn);
        } else {
            self.rate = self.rate_of_window(conn);
        }
    }

    /// Falls by α / 2, at most once per round trip and per target (`prague_enter_cwr`).
    fn react_to_marks(&mut self, conn: &Conn, window: &Window) {
        let since_us = conn.now_us.saturating_sub(self.reduced_at_us);
        if self.is_independent(window) && TARGET_RTT_US8 >> 3 > since_us {
            return;
        }
        self.reduced_at_us = conn.now_us;
        let alpha = self.alpha >> SHIFT_G;
        if self.governs_by_rate(window) {
            let less = scaled(self.rate, alpha, ALPHA_BITS + 1);
            self.rate = self.rate.saturating_sub(less).max(RATE_MIN);
            self.window = self.window_of_rate(conn);
        } else {
            self.window -= (alpha * self.window + (1 << ALPHA_BITS)) >> (ALPHA_BITS + 1);
            self.rate = self.rate_of_window(conn);
        }
    }

    /// Halves (`prague_enter_loss`).
    fn react_to_loss(&mut self, conn: &Conn, window: &Window) {
        (self.loss_cwnd, self.loss_rate) = (window.cwnd, self.rate);
        if self.governs_by_rate(window) {
            self.rate -= self.rate >> 1;
            self.window = self.window_of_rate(conn);
        } else {
            self.window -= self.window >> 1;
            self.rate = self.rate_of_window(conn);
        }
        self.in_loss = true;
    }
}

impl CongestionControl for Prague {
    /// `prague_init`. Without Accurate ECN it is Reno.
    fn init(&mut self, conn: &Conn, window: &mut Window) {
        self.falls_back = !conn.ecn;
        if self.falls_back {
            return;
        }
        window.pacing = true;
        self.alpha_at_us = conn.now_us;
        self.mtu = u64::from(conn.mss + conn.header_bytes);
        self.first_mtu = self.mtu;
        self.window = u64::from(window.cwnd) << WINDOW_BITS;
        self.saw_mark = conn.delivered_ce > 0;
        let rtt = u64::from(conn.srtt_us8);
        self.slow_rtt = if rtt == 0 { 1024 } else { rtt << SLOW_RTT_SHIFT };
        self.update_pacing(conn, window);
        self.begin(conn, window);
    }

    /// Keeps the threshold: the window follows its fraction.
    fn ssthresh(&mut self, conn: &Conn, window: &mut Window) -> u32 {
        if self.falls_back {
            return self.reno.ssthresh(conn, window);
        }
        window.ssthresh
    }

    fn cong_avoid(&mut self, conn: &Conn, window: &mut Window, acked: u32) {
        self.reno.cong_avoid(conn, window, acked);
    }

    fn pkts_acked(&mut self, conn: &Conn, window: &mut Window, sample: &AckSample) {
        if self.falls_back {
            self.reno.pkts_acked(conn, window, sample);
        }
    }

    fn controls_rate(&self) -> bool {
        !self.falls_back
    }

    /// `prague_cong_control`.
    fn cong_control(&mut self, conn: &Conn, window: &mut Window, sample: &RateSample) {
        self.mtu = u64::from(conn.mss + conn.header_bytes);
        self.update_window(conn, window, sample);
        if self.ends_round(conn, window) {
            self.update_alpha(conn, window);
        }
        self.update_pacing(conn, window);
        self.choose_mode(conn, window);
    }

    /// `prague_state`.
    fn set_state(&mut self, conn: &Conn, window: &mut Window, state: CaState) {
        if self.falls_back || state == conn.state {
            return;
        }
        match state {
            CaState::Cwr => self.react_to_marks(conn, window),
            CaState::Recovery => self.react_to_loss(conn, window),
            CaState::Open => self.in_loss = false,
            CaState::Disorder | CaState::Loss => {}
        }
    }

    /// `prague_cwnd_event`.
    fn cwnd_event(&mut self, conn: &Conn, window: &mut Window, event: CaEvent) {
        if !self.falls_back && event == CaEvent::Loss {
            self.react_to_loss(conn, window);
        }
    }

    /// `prague_cwnd_undo`.
    fn undo_cwnd(&mut self, conn: &Conn, window: &mut Window) -> u32 {
        if self.falls_back {
            return window.cwnd.max(conn.prior_cwnd);
        }
        self.in_loss = false;
        self.rate = self.rate.max(self.loss_rate);
        self.window = self.window_of_rate(conn);
        window.cwnd.max(self.loss_cwnd)
    }

    fn tso_segs(&self, _mss: u32, _window: &Window) -> Option<u32> {
        (!self.falls_back).then_some(self.burst)
    }

    fn counts_bytes(&self) -> bool {
        self.falls_back && self.reno.counts_bytes()
    }

    fn phase(&self) -> &'static str {
        if self.rate_mode {
            "rate"
        } else {
            ""
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reno::tests::conn;

    const MTU: u32 = 1500;
    const HEADERS: u32 = 52;

    /// A connection with this RTT, outside of slow start for ten rounds.
    fn steady(rtt_ms: u32, packets: u64) -> (Prague, Conn, Window) {
        let conn = Conn {
            ecn: true,
            cwnd_limited: true,
            srtt_us8: 8000 * rtt_ms,
            mss: MTU - HEADERS,
            header_bytes: HEADERS,
            now_us: 1_000_000,
            ..conn(0)
        };
        let mut window = Window::new(packets as u32);
        window.ssthresh = packets as u32;
        let mut prague = Prague::new(Reno::default());
        prague.init(&conn, &mut window);
        prague.rounds = 10;
        prague.set_growth(&conn);
        (prague, conn, window)
    }

    fn acks(packets: u32, marked: u32) -> RateSample {
        RateSample { acked_sacked: packets, marked, ..RateSample::default() }
    }

    /// α ← α + (F − α) / 16.
    #[test]
    fn alpha_averages_the_share_of_marks() {
        let (mut prague, mut conn, mut window) = steady(10, 20);
        prague.saw_mark = true;
        prague.alpha = 0;
        for (delivered, marked, found) in [(20, 5, 4_194_304), (20, 0, 3_932_160)] {
            conn.delivered += delivered;
            conn.delivered_ce += marked;
            prague.update_alpha(&conn, &mut window);
            assert_eq!(prague.alpha, found);
        }
    }

    #[test]
    fn marks_take_half_of_alpha() {
        let (mut prague, conn, mut window) = steady(10, 20);
        prague.alpha = 1 << (ALPHA_BITS + SHIFT_G - 6);
        prague.set_state(&conn, &mut window, CaState::Cwr);
        assert_eq!(prague.window, 20_807_680); // 20 · (1 − 1/128)
        assert_eq!(prague.rate, 2_976_562);
        let later = Conn { now_us: conn.now_us + 24_000, state: CaState::Open, ..conn };
        prague.set_state(&later, &mut window, CaState::Cwr);
        assert_eq!(prague.window, 20_807_680, "once per 25 ms");
    }

    /// A window of w packets grows by (RTT / 25 ms)² / w for each packet without mark.
    #[test]
    fn growth_is_that_of_25_ms() {
        for (rtt_ms, growth) in
            [(1, 1678), (5, 41_943), (10, 167_772), (20, 671_089), (25, 1 << 20)]
        {
            let (mut prague, conn, mut window) = steady(rtt_ms, 20);
            assert_eq!(prague.growth, growth);
            prague.update_window(&conn, &mut window, &acks(3, 1));
            // The first mark halves.
            assert_eq!(prague.window, (10 << 20) + rounded((2 * growth) << 20, 10 << 20));
        }
    }

    #[test]
    fn a_rate_takes_the_place_of_a_small_window() {
        let (mut prague, conn, mut window) = steady(10, 20);
        prague.saw_mark = true;
        window.cwnd = 2;
        window.ssthresh = 2;
        prague.rate = 250_000;
        prague.choose_mode(&conn, &window);
        assert!(prague.rate_mode);
        assert_eq!(prague.window, 1_666_667);
        prague.grow(&conn, &window, 1);
        assert_eq!(prague.rate, 265_729);
        prague.alpha = 1 << (ALPHA_BITS + SHIFT_G - 1);
        prague.rate = 250_000;
        prague.react_to_marks(&conn, &window);
        assert_eq!(prague.rate, 187_500);
    }

    #[test]
    fn packets_shrink_at_low_rates() {
        for (rate, mtu) in [(125_000, 1490), (62_500, 745), (25_000, 298), (12_500, 202)] {
            let (mut prague, conn, mut window) = steady(10, 2);
            (prague.rate_mode, prague.rate) = (true, rate);
            prague.adapt_packets(&conn, &mut window);
            assert_eq!(window.mtu, Some(mtu), "{rate}");
        }
    }

    #[test]
    fn without_ecn_it_is_reno() {
        let (mut prague, conn, mut window) = steady(10, 20);
        prague.init(&Conn { ecn: false, ..conn }, &mut window);
        assert!(!prague.controls_rate() && prague.tso_segs(1448, &window).is_none());
        assert_eq!(prague.ssthresh(&conn, &mut window), 10);
    }
}
