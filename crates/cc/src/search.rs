//! SEARCH (draft-chung-ccwg-search, "Slow start Exit At Right CHokepoint"): slow start ends when the
//! delivered bytes no longer double per RTT. Section 3 has the algorithm, section 4 its constants.
//!
//! Time is divided into bins. A check at the end of each bin compares the bytes delivered in the
//! latest window of bins with what the window one RTT earlier lets expect: twice the bytes
//! delivered there (version 3.1), or the bytes sent there (version 4.0, draft -09). Bins hold
//! cumulative counts of 64 bits; the scaling of 16-bit bins that saves memory is left out.
//! Sections are those of the text of version 3.0 (June 2024). What is said of versions 3.1 and 4.0
//! and of draft -09 is known from implementations (the authors' Linux module, neqo, picoquic).

use crate::{Conn, Window};
use dumbbell_model::Search as Against;

/// W: bins of a window (§4).
const WINDOW_BINS: u64 = 10;
/// Bins in addition to a window, for the shift by an RTT (§4).
const EXTRA_BINS: u64 = 15;
/// Slots: both windows, and the bin before the earlier one for interpolation.
const SLOTS: usize = (WINDOW_BINS + EXTRA_BINS + 1) as usize;
/// WINDOW_SIZE is 3.5 initial RTTs (§4), so a bin is 35/100 of one.
const BIN_PERCENT: u64 = 35;
/// THRESH, percent: tolerated difference of the deliveries (§4, version 3.1).
const DELIVERED_PERCENT: u64 = 35;
/// THRESH of version 4.0, percent (draft -09).
const SENT_PERCENT: u64 = 26;
/// Initial RTTs without a bin after which the counts say nothing ("missed bins"; optional in draft
/// -09).
const MISSED_RTTS: u64 = 2;
/// Minimum window after the exit: the initial window (RFC 6928).
const MIN_CWND: u32 = 10;
/// ACKed segments per segment sent while the queue drains (version 4.0).
const DRAIN_SEGMENTS: u64 = 3;

/// Bytes at the end of a bin, since the start of the connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Bin {
    delivered: u64,
    sent: u64,
}

/// Reduction of the window after the exit point was found (version 4.0).
#[derive(Clone, Copy, Debug)]
struct Drain {
    /// Window that ends slow start, packets.
    target: u32,
    /// Packets delivered at the last ACK.
    delivered: u64,
    /// ACKed segments not yet counted.
    acked: u64,
}

/// Bins of one connection.
#[derive(Clone, Debug)]
struct Bins {
    /// Length of a bin, microseconds.
    length_us: u64,
    /// End of the bin in progress, microseconds.
    end_us: u64,
    /// Index of the latest finished bin (`curr_idx`).
    current: u64,
    slots: [Bin; SLOTS],
}

impl Bins {
    /// First bin, filled by the first ACK (§3, initialisation).
    fn new(length_us: u64, now_us: u64, first: Bin) -> Self {
        let mut slots = [Bin::default(); SLOTS];
        slots[0] = first;
        Self { length_us, end_us: now_us + length_us, current: 0, slots }
    }

    fn at(&self, index: u64) -> Bin {
        self.slots[(index % SLOTS as u64) as usize]
    }

    /// Bins of `rtt_us`, rounded up.
    fn bins_of(&self, rtt_us: u64) -> u64 {
        rtt_us.div_ceil(self.length_us)
    }

    /// Finishes `passed` bins. Nothing was delivered in all but the last (§3, `update_bins`).
    fn advance(&mut self, passed: u64, now: Bin) {
        let before = self.at(self.current);
        for index in self.current + 1..self.current + passed {
            self.slots[(index % SLOTS as u64) as usize] = before;
        }
        self.current += passed;
        self.end_us += passed * self.length_us;
        self.slots[(self.current % SLOTS as u64) as usize] = now;
    }

    /// Bytes in the window that ends `part_us` before the end of bin `last`, times the length of a
    /// bin. A bin's deliveries are spread evenly over it (§3, interpolation).
    ///
    /// Deviation: draft -09 interpolates towards the next bin, which lies less than an RTT back. Its
    /// implementations towards the previous.
    fn window(&self, last: u64, part_us: u64, count: impl Fn(Bin) -> u64) -> u128 {
        let whole = |index: u64| u128::from(count(self.at(index)));
        let at = |index: u64| {
            let before = if part_us > 0 { whole(index - 1) } else { 0 };
            whole(index) * u128::from(self.length_us - part_us) + before * u128::from(part_us)
        };
        at(last) - at(last - WINDOW_BINS)
    }

    /// Bytes delivered during the last `bins` bins.
    fn delivered(&self, bins: u64) -> u64 {
        self.at(self.current).delivered - self.at(self.current.saturating_sub(bins)).delivered
    }
}

/// State of one connection.
#[derive(Clone, Debug)]
pub struct Search {
    against: Against,
    rollback: bool,
    /// RTT of the first ACK, microseconds.
    initial_us: u64,
    bins: Option<Bins>,
    drain: Option<Drain>,
}

impl Search {
    /// Initial state; `None` if SEARCH is off.
    pub fn new(against: Against, rollback: bool) -> Option<Self> {
        let state = Self { against, rollback, initial_us: 0, bins: None, drain: None };
        (against != Against::Off).then_some(state)
    }

    /// Forgets all counts: before another slow start, after a time-out or an idle period.
    pub fn reset(&mut self) {
        self.bins = None;
        self.drain = None;
    }

    /// Returns true while the window falls to its target, when ACKs do not increase it.
    pub fn drains(&self) -> bool {
        self.drain.is_some()
    }

    /// Processes an ACK with an RTT sample, microseconds, in slow start. Ends slow start by setting
    /// the threshold (§3, `ACK_arrived`).
    pub fn update(&mut self, conn: &Conn, window: &mut Window, rtt_us: u32) {
        if self.drain.is_some() {
            self.drain(conn, window);
            return;
        }
        let rtt_us = u64::from(rtt_us.max(1));
        let now = Bin { delivered: conn.snd_una, sent: conn.snd_nxt };
        let Some(bins) = &mut self.bins else {
            self.initial_us = rtt_us;
            self.start(conn, now);
            return;
        };
        // §3: acts only when a bin has ended.
        if conn.now_us <= bins.end_us {
            return;
        }
        let passed = (conn.now_us - bins.end_us) / bins.length_us + 1;
        // Counts after a pause, or of an application that sent less than the window, tell nothing
        // of the path. After a pause longer than a window the RTT is measured anew, too.
        let limited = conn.app_limited != 0 && conn.delivered <= conn.app_limited;
        if limited || passed > MISSED_RTTS * bins.bins_of(self.initial_us) {
            if passed > WINDOW_BINS {
                self.initial_us = rtt_us;
            }
            self.start(conn, now);
            return;
        }
        bins.advance(passed, now);
        if self.is_at_capacity(rtt_us) {
            self.end(conn, window);
        }
    }

    fn start(&mut self, conn: &Conn, now: Bin) {
        let length_us = (self.initial_us * BIN_PERCENT / 100).max(1);
        self.bins = Some(Bins::new(length_us, conn.now_us, now));
    }

    /// §3: returns true if the latest window delivered clearly less than expected.
    fn is_at_capacity(&self, rtt_us: u64) -> bool {
        let Some(bins) = &self.bins else { return false };
        let (shift, part_us) = (rtt_us / bins.length_us, rtt_us % bins.length_us);
        // Both windows must be known. A far longer RTT than the first leaves nothing to compare.
        if shift >= EXTRA_BINS || bins.current <= shift + WINDOW_BINS {
            return false;
        }
        let earlier = bins.current - shift;
        let delivered = bins.window(bins.current, 0, |bin| bin.delivered);
        let (expected, percent) = match self.against {
            Against::Sent => (bins.window(earlier, part_us, |bin| bin.sent), SENT_PERCENT),
            _ => (2 * bins.window(earlier, part_us, |bin| bin.delivered), DELIVERED_PERCENT),
        };
        // norm_diff = (expected − delivered) / expected ≥ THRESH
        expected > delivered && (expected - delivered) * 100 >= expected * u128::from(percent)
    }

    /// §3, exit of slow start.
    fn end(&mut self, conn: &Conn, window: &mut Window) {
        let Some(bins) = &self.bins else { return };
        let packets = |bytes: u64| u32::try_from(bytes / u64::from(conn.mss.max(1)));
        match (self.rollback, self.against) {
            // Version 4.0: the bytes of the last initial RTT are the capacity.
            (true, Against::Sent) => {
                let bytes = bins.delivered(bins.bins_of(self.initial_us));
                let target = packets(bytes).unwrap_or(u32::MAX).max(MIN_CWND);
                self.drain = Some(Drain { target, delivered: conn.delivered, acked: 0 });
                return;
            }
            // Version 3.1: the exit is found two RTTs late, and the window has grown by what was
            // delivered since then.
            (true, _) => {
                let bytes = bins.delivered(2 * self.initial_us / bins.length_us);
                let overshoot = packets(bytes).unwrap_or(u32::MAX);
                window.cwnd = window.cwnd.saturating_sub(overshoot).max(MIN_CWND);
            }
            (false, _) => {}
        }
        window.ssthresh = window.cwnd;
        self.reset();
    }

    /// Version 4.0: one segment leaves per three ACKed, until the flight has fallen to the target.
    fn drain(&mut self, conn: &Conn, window: &mut Window) {
        let Some(drain) = &mut self.drain else { return };
        drain.acked += conn.delivered.saturating_sub(drain.delivered);
        drain.delivered = conn.delivered;
        let more = u32::try_from(drain.acked / DRAIN_SEGMENTS).unwrap_or(u32::MAX);
        drain.acked %= DRAIN_SEGMENTS;
        window.cwnd = conn.in_flight.saturating_add(more).max(drain.target).min(window.cwnd);
        if window.cwnd <= drain.target {
            window.ssthresh = window.cwnd;
            self.reset();
        }
    }
}

#[cfg(test)]
mod tests;
