//! Tins of each mode (`cake_config_…`): which codepoint belongs to which, their rates and weights.
//! Codepoints are those of RFC 4594 and RFC 8622.

use dumbbell_model::queue::Diffserv;

/// Rate and weight of a tin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Share {
    /// Threshold up to which the tin keeps its priority, bytes per second.
    pub(super) bytes_per_s: u64,
    /// Bytes in a turn without a shaper.
    pub(super) quantum: i64,
}

/// Shares of the tins at a rate in bytes per second.
pub(super) fn shares(mode: Diffserv, bytes_per_s: u64) -> Vec<Share> {
    let shifted = |shifts: &[u32]| {
        let share =
            |shift: &u32| Share { bytes_per_s: bytes_per_s >> shift, quantum: 1024 >> shift };
        shifts.iter().map(share).collect()
    };
    match mode {
        Diffserv::BestEffort => vec![Share { bytes_per_s, quantum: 65_535 }],
        Diffserv::Three => shifted(&[0, 4, 2]),
        Diffserv::Four => shifted(&[0, 4, 1, 2]),
        Diffserv::Eight | Diffserv::Precedence => {
            let first = Share { bytes_per_s, quantum: 256 };
            let next = |one: &Share| {
                let Share { bytes_per_s, quantum } = *one;
                Some(Share { bytes_per_s: (bytes_per_s * 7) >> 3, quantum: (quantum * 7) >> 3 })
            };
            std::iter::successors(Some(first), next).take(8).collect()
        }
    }
}

/// Tin of a codepoint (`diffserv3`, `diffserv4`, `diffserv8`, `precedence`).
pub(super) fn tin(mode: Diffserv, dscp: u8) -> usize {
    match mode {
        Diffserv::BestEffort => 0,
        Diffserv::Precedence => usize::from(dscp >> 3),
        Diffserv::Three => match dscp {
            1 | 8 => 1,                 // LE, CS1
            4 | 44 | 46 | 48 | 56 => 2, // TOS4, VA, EF, CS6, CS7
            _ => 0,
        },
        Diffserv::Four => match dscp {
            1 | 8 => 1,                       // LE, CS1
            4 | 16 | 24 => 2,                 // TOS4, CS2, CS3
            18 | 20 | 22 | 26 | 28 | 30 => 2, // AF2x, AF3x
            34 | 36 | 38 => 2,                // AF4x
            32 | 40 | 44 | 46 | 48 | 56 => 3, // CS4, CS5, VA, EF, CS6, CS7
            _ => 0,
        },
        Diffserv::Eight => match dscp {
            1 => 0,                    // LE
            2 | 8 | 10 | 12 | 14 => 1, // TOS2, CS1, AF1x
            24 | 26 | 28 | 30 => 3,    // CS3, AF3x
            34 | 36 | 38 => 3,         // AF4x
            4 | 18 | 20 | 22 => 4,     // TOS4, AF2x
            16 => 5,                   // CS2
            32 | 40 | 44 | 46 => 6,    // CS4, CS5, VA, EF
            48 | 56 => 7,              // CS6, CS7
            _ => 2,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 4594 §2.3 by codepoint, and the best effort of those that it does not name.
    #[test]
    fn codepoints_have_tins() {
        use Diffserv::{BestEffort, Eight, Four, Precedence, Three};
        let modes = [BestEffort, Three, Four, Eight, Precedence];
        for (dscp, expected) in [
            (0, [0, 0, 0, 2, 0]),  // CS0
            (1, [0, 1, 1, 0, 0]),  // LE
            (8, [0, 1, 1, 1, 1]),  // CS1
            (10, [0, 0, 0, 1, 1]), // AF11
            (18, [0, 0, 2, 4, 2]), // AF21
            (34, [0, 0, 2, 3, 4]), // AF41
            (46, [0, 2, 3, 6, 5]), // EF
            (48, [0, 2, 3, 7, 6]), // CS6
            (63, [0, 0, 0, 2, 7]),
        ] {
            assert_eq!(modes.map(|mode| tin(mode, dscp)), expected, "{dscp}");
        }
    }

    #[test]
    fn rates_and_weights_fall_alike() {
        let rates = |mode| -> Vec<u64> {
            shares(mode, 16_000).iter().map(|share| share.bytes_per_s).collect()
        };
        assert_eq!(rates(Diffserv::Three), [16_000, 1000, 4000]);
        assert_eq!(rates(Diffserv::Four), [16_000, 1000, 8000, 4000]);
        assert_eq!(rates(Diffserv::Eight)[..4], [16_000, 14_000, 12_250, 10_718]);
        let quanta: Vec<i64> =
            shares(Diffserv::Precedence, 0).iter().map(|one| one.quantum).collect();
        assert_eq!(quanta, [256, 224, 196, 171, 149, 130, 113, 98]);
    }
}
