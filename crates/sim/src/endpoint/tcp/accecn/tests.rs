use super::*;
use dumbbell_packet::tcp::Flags;

fn ack(ace: u8) -> Segment {
    Segment { flags: Flags { ace, ..Flags::default() }, ..Segment::default() }
}

fn acked(packets: u32) -> Acked {
    Acked { packets, bytes: 1000 * packets, sure: true, mss_bytes: 1000 }
}

/// Linux's selftests `tcp_accecn_delivered_…`: ten segments in one ACK, without options.
#[test]
fn the_field_may_have_wrapped() {
    // A first ACK of many packets suggests compression; after ACKs of single packets, lost ACKs.
    for (before, packets, ace, found) in
        [(0, 10, 5, 0), (0, 10, 6, 1), (0, 10, 4, 7), (64, 9, 5, 8), (64, 10, 5, 8), (64, 7, 6, 1)]
    {
        let mut feedback = Feedback { packets_per_ack: before, ..Feedback::default() };
        assert_eq!(feedback.packets(&ack(ace), 0, &acked(packets)), found, "{packets} {ace}");
    }
}

#[test]
fn bytes_with_ce_decide_between_both() {
    let with = |ce_bytes, ace| {
        ack(ace).with_accurate_ecn(AccurateEcn { fields: 3, counters: [1, ce_bytes, 1] })
    };
    let known = Feedback { expected: Some(1), ..Feedback::default() };
    for (packets, ce_bytes, ace, found) in
        [(20, 9000, 6, 9), (20, 20_000, 6, 17), (10, 0, 6, 1), (10, 1000, 6, 1), (10, 9000, 6, 9)]
    {
        let mut feedback = known;
        let counted = feedback.packets(&with(ce_bytes, ace), 0, &acked(packets));
        assert_eq!(counted, found, "{packets} {ce_bytes}");
    }
}

#[test]
fn two_unexpected_counters_are_ambiguous() {
    let mut feedback = Feedback::default();
    let option = |counters| Some(AccurateEcn { fields: 3, counters });
    assert!(!feedback.take_option(option([1, 0, 1001]), 1000));
    assert_eq!(feedback.expected, Some(2));
    assert!(feedback.take_option(None, 500));
    assert_eq!(feedback.bytes, [0, 0, 1500]);
    assert!(feedback.take_option(option([1, 700, 1501]), 700));
    assert!(!feedback.take_option(option([9, 700, 1601]), 108));
    assert_eq!(feedback.expected, None);
    assert!(!feedback.take_option(option([9, 600, 1601]), 0), "a counter never moves back");
}

/// The table of `tcp_options_fit_accecn`: bytes left beside timestamps and SACK blocks.
#[test]
fn the_option_fits_beside_sack_blocks() {
    for (timestamps, blocks, required, found) in [
        (true, 0, 1, Some((3, 0))),
        (true, 1, 2, Some((3, 1))),
        (true, 2, 2, Some((2, 2))),
        (true, 2, 3, None),
        (true, 3, 0, Some((0, 3))),
        (true, 3, 1, Some((2, 2))),
        (true, 3, 2, Some((2, 2))),
        (true, 3, 3, None),
        (false, 3, 3, Some((3, 3))),
        (false, 4, 2, Some((3, 3))),
    ] {
        let left = sack_space(timestamps, blocks);
        assert_eq!(fitting(required, left, blocks), found, "{timestamps} {blocks} {required}");
    }
}

#[test]
fn received_bytes_decide_which_fields_are_needed() {
    let mut received = Received::after_syn(NOT_ECT);
    assert!(received.count(ECT_0, 0) && !received.count(ECT_0, 100));
    assert!(received.count(CE, 1000));
    assert_eq!((received.ace(), received.pending, received.fields), (6, 1, 3));
    let mut header = Segment { timestamps: true, ..Segment::default() };
    received.fill(&mut header);
    let told = header.accurate_ecn().map(|option| option.counters);
    assert_eq!(told, Some([1, 1000, 101]));
    assert_eq!(header.frame_bytes(), 66 + 12);
    received.told(true, 0);
    assert_eq!((received.pending, received.fields), (0, 0));
}

/// `accecn_opt_demand` and `tcp_accecn_option_beacon_check`.
#[test]
fn the_option_is_due_after_changes_and_some_times_per_round_trip() {
    let rtt_us = 30_000;
    let mut received = Received::after_syn(NOT_ECT);
    let due = |received: &Received, now_us| received.is_due(now_us, 0, rtt_us);
    assert!(due(&received, 0), "the first segment has it");
    received.count(ECT_0, 0);
    received.told(true, 0);
    assert!(due(&received, 0), "a change demands two");
    received.told(true, 0);
    assert!(!due(&received, 1_000_000));
    received.count(ECT_0, 1 << 22);
    assert!(due(&received, 0));
    received.told(true, 0);
    received.count(CE, 0);
    received.count(CE, 0);
    (0..2).for_each(|_| received.told(true, 500));
    assert!(!due(&received, 500));
    assert!(!received.is_due(10_499, 3, rtt_us) && received.is_due(10_500, 3, rtt_us));
}

#[test]
fn a_network_may_mark_and_may_not_clear() {
    assert!(is_possible(ECT_0, 6) && is_possible(ECT_0, 4) && is_possible(NOT_ECT, 2));
    assert!(!is_possible(ECT_0, 2) && !is_possible(NOT_ECT, 6) && !is_possible(NOT_ECT, 4));
    for field in [NOT_ECT, ECT_1, ECT_0, CE] {
        assert!(is_possible(field, reflection(field)));
    }
}
