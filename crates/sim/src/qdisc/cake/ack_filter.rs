//! ACK filter (`cake_ack_filter`): when a TCP segment comes to the end of a queue, one earlier pure ACK of
//! the connection leaves that tells nothing more. Of those found, the one nearest to the head leaves.

use super::flow::Waiting;
use crate::arena::{Arena, Handle};
use dumbbell_packet::tcp::{AE, CWR, ECE};
use dumbbell_packet::{Body, Segment};
use std::cmp::Ordering;
use std::collections::VecDeque;

fn segment(arena: &Arena, packet: Handle) -> Option<&Segment> {
    match &arena.find(packet)?.body {
        Body::Tcp(segment) => Some(segment),
        _ => None,
    }
}

/// Place of the ACK that may leave. `aggressive`: one ACK is kept, not two.
pub(super) fn needless(
    waiting: &VecDeque<Waiting>,
    arena: &Arena,
    aggressive: bool,
) -> Option<usize> {
    let last = waiting.len().checked_sub(1)?;
    let trigger = waiting[last].queued.packet;
    let newest = segment(arena, trigger)?;
    if newest.flags.is_syn() {
        return None;
    }
    let echo = |segment: &Segment| segment.flags.ace & (ECE | CWR);
    let mut candidate: Option<(usize, u8)> = None;
    let mut found = 0;
    for (place, one) in waiting.iter().enumerate().take(last) {
        let packet = one.queued.packet;
        if (packet.flow, packet.outward) != (trigger.flow, trigger.outward) {
            continue;
        }
        let Some(ack) = segment(arena, packet) else { continue };
        // A change of ECE or CWR must not get lost.
        if candidate.is_some_and(|(_, flags)| flags != echo(ack)) {
            candidate = None;
            found -= 1;
        }
        if !may_leave(ack, newest) {
            continue;
        }
        candidate = candidate.or(Some((place, echo(ack))));
        found += 1;
        if found > 1 {
            return candidate.map(|(place, _)| place);
        }
    }
    let (place, flags) = candidate?;
    (aggressive && place + 1 == last && flags == echo(newest)).then_some(place)
}

/// Returns true for a pure ACK that tells nothing beyond a later segment (`cake_tcph_may_drop`).
fn may_leave(ack: &Segment, newest: &Segment) -> bool {
    let flags = ack.flags;
    if flags.is_syn() || flags.fin || flags.psh || flags.ace & AE != 0 || ack.payload_bytes > 0 {
        return false;
    }
    // Unknown options: Multipath TCP's, Accurate ECN's.
    if ack.multipath().is_some() || ack.accurate_ecn().is_some() || ack.ack > newest.ack {
        return false;
    }
    let (value, echo) = if newest.timestamps { (newest.tsval_ms, newest.tsecr_ms) } else { (0, 0) };
    if ack.timestamps && (after(ack.tsval_ms, value) || after(ack.tsecr_ms, echo)) {
        return false;
    }
    match compare_sack(ack, newest) {
        Ordering::Less => true,
        Ordering::Equal => ack.ack < newest.ack,
        Ordering::Greater => false,
    }
}

/// Returns true if a 32-bit time is after another one, wrapped times included.
fn after(one: u32, other: u32) -> bool {
    (other.wrapping_sub(one) as i32) < 0
}

/// Compares what two segments acknowledge selectively (`cake_tcph_sack_compare`). What neither contains is
/// greater, and so is a DSACK.
fn compare_sack(one: &Segment, other: &Segment) -> Ordering {
    let (ours, theirs) = (one.sack_blocks(), other.sack_blocks());
    match (ours.is_empty(), theirs.is_empty()) {
        (true, true) => return Ordering::Equal,
        (true, false) => return Ordering::Less,
        (false, true) => return Ordering::Greater,
        (false, false) => {}
    }
    for block in ours {
        let holds = |larger: &dumbbell_packet::SackBlock| {
            larger.start <= block.start && larger.end >= block.end
        };
        if block.start < one.ack || !theirs.iter().any(holds) {
            return Ordering::Greater;
        }
    }
    let bytes = |blocks: &[dumbbell_packet::SackBlock]| -> u64 {
        blocks.iter().map(|block| block.end - block.start).sum()
    };
    if bytes(theirs) > bytes(ours) {
        Ordering::Less
    } else {
        Ordering::Equal
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::test_packets::queued;
    use super::super::super::Queued;
    use super::*;
    use dumbbell_model::Time;
    use dumbbell_packet::SackBlock;

    fn ack(ack: u64) -> Segment {
        Segment { ack, timestamps: true, tsval_ms: ack as u32, tsecr_ms: 1, ..Segment::default() }
    }

    fn sacked(one: Segment, blocks: &[(u64, u64)]) -> Segment {
        let mut one = one;
        for &(start, end) in blocks {
            one.push_sack(SackBlock { start, end });
        }
        one
    }

    /// Place of the ACK that leaves a queue of these segments of flow 0: with two kept, with one kept.
    fn places(segments: &[Segment]) -> [Option<usize>; 2] {
        let mut arena = Arena::default();
        let mut waiting = VecDeque::new();
        for one in segments {
            let packet = arena.insert_segment(0, false, 0, one);
            let queued = Queued { packet, ..queued(0, 0, 66, Time::ZERO) };
            waiting.push_back(Waiting { queued, line_bytes: 66, memory_bytes: 2 });
        }
        [false, true].map(|aggressive| needless(&waiting, &arena, aggressive))
    }

    #[test]
    fn two_acks_are_kept_or_one() {
        assert_eq!(places(&[ack(1)]), [None, None]);
        assert_eq!(places(&[ack(1), ack(2)]), [None, Some(0)]);
        assert_eq!(places(&[ack(1), ack(2), ack(3)]), [Some(0), Some(0)]);
        // Equal ACKs tell of a loss (RFC 5681 §2), later ones stay.
        assert_eq!(places(&[ack(2), ack(2), ack(2)]), [None, None]);
        assert_eq!(places(&[ack(4), ack(4), ack(3)]), [None, None]);
        // Any segment of the connection may be the later one.
        let data = Segment { payload_bytes: 1448, ..ack(3) };
        assert_eq!(places(&[ack(1), ack(2), data]), [Some(0), Some(0)]);
    }

    #[test]
    fn what_tells_more_stays() {
        let with = |change: fn(&mut Segment)| {
            let mut one = ack(1);
            change(&mut one);
            places(&[one, ack(2), ack(3)])[0]
        };
        assert_eq!(with(|_| {}), Some(0));
        assert_eq!(with(|one| one.payload_bytes = 1), None);
        assert_eq!(with(|one| one.flags.fin = true), None);
        assert_eq!(with(|one| one.flags.psh = true), None);
        assert_eq!(with(|one| one.flags.ace = AE), None);
        assert_eq!(with(|one| one.tsval_ms = 9), None);
        assert_eq!(with(|one| one.tsecr_ms = 9), None);
        // ECE: the next one differs, so that neither leaves.
        assert_eq!(with(|one| one.flags.ace = ECE), None);
        let echo = |number| Segment {
            flags: dumbbell_packet::tcp::Flags { ace: ECE, ..Default::default() },
            ..ack(number)
        };
        assert_eq!(places(&[echo(1), echo(2), ack(3)]), [Some(0), Some(0)]);
        assert_eq!(places(&[ack(1), echo(2), ack(3)]), [None, None]);
    }

    #[test]
    fn sack_blocks_stay_until_a_later_segment_has_them() {
        let one = |blocks: &[(u64, u64)]| sacked(ack(1), blocks);
        assert_eq!(places(&[one(&[(5, 6)]), one(&[(5, 7)]), one(&[(5, 8)])]), [Some(0); 2]);
        assert_eq!(places(&[one(&[(5, 6)]), ack(2), ack(3)]), [None, Some(1)]);
        assert_eq!(
            places(&[one(&[(5, 6)]), one(&[(8, 9)]), one(&[(8, 10), (5, 6)])]),
            [Some(0); 2]
        );
        // A DSACK (RFC 2883) stays.
        assert_eq!(
            places(&[sacked(ack(9), &[(3, 4)]), one(&[]), sacked(ack(10), &[(3, 5)])]),
            [None, Some(1)]
        );
    }
}
