//! The shaper (`cake_advance_shaper`): it counts when the next packet may leave and needs no bucket. Lengths
//! are those on the line (`cake_calc_overhead`).

use dumbbell_model::queue::{Cake, Cells};
use dumbbell_model::Framing;

/// Header of an Ethernet frame, which does not count (`skb_network_offset`).
const HEADER_BYTES: i32 = 14;
const NS_PER_S: u64 = 1_000_000_000;
/// Slowest rate, bytes per second (`MIN_RATE`).
const SLOWEST: u64 = 64;

/// Time per byte at a rate: `ns` / 2^`shift` (`cake_set_rate`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct PerByte {
    ns: u64,
    shift: u32,
}

impl PerByte {
    /// Args: `bytes_per_s`; 0: unlimited.
    pub(super) fn new(bytes_per_s: u64) -> Self {
        if bytes_per_s == 0 {
            return Self::default();
        }
        let (mut ns, mut shift) = ((NS_PER_S << 34) / bytes_per_s.max(SLOWEST), 34);
        while ns >> 34 != 0 {
            ns >>= 1;
            shift -= 1;
        }
        Self { ns, shift }
    }

    pub(super) fn is_limited(self) -> bool {
        self.ns != 0
    }

    /// Time of a number of bytes, ns.
    pub(super) fn time(self, bytes: u32) -> i64 {
        ((u64::from(bytes) * self.ns) >> self.shift) as i64
    }
}

/// Clock of the whole discipline, ns. Drops behind a bottleneck (`ingress`) do not move `failsafe`.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Clock {
    next: i64,
    failsafe: i64,
}

impl Clock {
    /// Starts anew if nothing waited and the next packet is overdue.
    pub(super) fn begin(&mut self, now: i64) {
        if self.next < now {
            (self.next, self.failsafe) = (now, now);
        }
    }

    /// Time to wait for, if no packet may leave now.
    pub(super) fn until(&self, now: i64) -> Option<i64> {
        (self.next > now && self.failsafe > now).then(|| self.next.min(self.failsafe))
    }

    /// Counts a packet that left, or that was dropped behind the bottleneck.
    pub(super) fn advance(&mut self, time: i64, left: bool) {
        self.next += time;
        if left {
            self.failsafe += time + (time >> 1);
        }
    }
}

/// Length of packets on the line.
#[derive(Clone, Copy, Debug)]
pub(super) struct OnLine {
    framing: Framing,
    ptm: bool,
}

impl OnLine {
    pub(super) fn new(spec: &Cake) -> Self {
        let framing = Framing {
            overhead_bytes: spec.overhead_bytes - HEADER_BYTES,
            mpu_bytes: spec.mpu_bytes,
            atm: spec.atm == Cells::Atm,
        };
        Self { framing, ptm: spec.atm == Cells::Ptm }
    }

    /// Bytes of a frame on the line.
    pub(super) fn bytes(&self, frame_bytes: u32) -> u32 {
        let framed = self.framing.wire_bytes(frame_bytes);
        if self.ptm {
            framed + framed.div_ceil(64)
        } else {
            framed
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_take_their_time() {
        for bps in [1_000, 64_000, 1_000_000, 10_000_000, 1_000_000_000, 100_000_000_000_u64] {
            let exact = 1514.0 * 8e9 / bps as f64;
            let found = PerByte::new(bps / 8).time(1514) as f64;
            assert!(found <= exact && found > exact * (1.0 - 1e-6) - 1.0, "{bps}: {found} {exact}");
        }
        assert!(!PerByte::new(0).is_limited());
        assert_eq!(PerByte::new(1_250_000).time(1250), 1_000_000);
    }

    #[test]
    fn lengths_are_those_of_the_line() {
        let spec = |overhead_bytes, mpu_bytes, atm| {
            OnLine::new(&Cake { overhead_bytes, mpu_bytes, atm, ..super::super::tests::spec() })
        };
        // The frame; an IP packet of 1500 bytes with 44; the least length; 40 and 18 cells; 25 octets more.
        assert_eq!(spec(14, 0, Cells::None).bytes(1514), 1514);
        assert_eq!(spec(44, 0, Cells::None).bytes(1514), 1544);
        assert_eq!(spec(18, 84, Cells::None).bytes(54), 84);
        assert_eq!(spec(40, 0, Cells::Atm).bytes(1514), 1540_u32.div_ceil(48) * 53);
        assert_eq!(spec(30, 0, Cells::Ptm).bytes(1514), 1530 + 24);
        assert_eq!(spec(-64, 0, Cells::None).bytes(54), 0);
    }
}
