//! Arguments of `tc` for one direction of a link.

use super::*;
use dumbbell_model::netem::{
    Correlated, Distribution, EarlyReorder, FourStates, NetemLoss, NetemWords, SlotDistribution,
};
use dumbbell_model::scenario::{Loss, Policer, Reordering, Slots};
use dumbbell_model::Framing;

fn bare() -> Pipe {
    Pipe {
        policer: None,
        loss: Loss::None,
        corruption: 0.0,
        duplication: 0.0,
        queue: Queue::DropTail { limit_packets: None, limit_bytes: None },
        shaper: Shaper::None,
        framing: Framing::default(),
        delay: Span::ZERO,
        jitter: Span::ZERO,
        reordering: None,
        ack_aggregation: None,
        slots: None,
        rewrites: Vec::new(),
        changes: Vec::new(),
    }
}

fn lines(pipe: &Pipe) -> Vec<String> {
    qdiscs(pipe, 1514, "p")
        .map(|found| found.lines.iter().map(|line| line.arguments.clone()).collect())
        .unwrap_or_default()
}

fn behind(pipe: &Pipe) -> Option<Vec<String>> {
    let last = qdiscs(pipe, 1514, "p").ok()?.behind?.lines;
    Some(last.into_iter().map(|line| line.arguments).collect())
}

/// Above the bucket netem would hand over all packets of one instant at once.
#[test]
fn the_delay_of_a_token_bucket_is_behind_it() {
    let shaper = Shaper::Tbf {
        rate_bps: Rate::from_bps(10_000_000),
        burst_bytes: 62_000,
        initial_bytes: None,
        peak: None,
    };
    let queue = Queue::DropTail { limit_packets: Some(8), limit_bytes: None };
    let change = Change {
        at: Span::from_s(1),
        rate_bps: None,
        delay: Some(Span::from_ms(1)),
        loss: None,
        state: None,
    };
    let changes = vec![change];
    let pipe = Pipe { shaper, queue, delay: Span::from_ms(5), changes, ..bare() };
    let Ok(found) = qdiscs(&pipe, 1514, "p") else { panic!("refused") };
    let expected = [
        "root handle 1: tbf rate 10000000bit burst 62000b limit 1048576b",
        "parent 1:1 handle 2: pfifo limit 8",
    ];
    assert_eq!(lines(&pipe), expected);
    let Some(last) = found.behind else { panic!("nothing behind") };
    assert!(last.delays);
    let line = |ms| format!("root handle 1: netem limit 1000000 delay {ms}000us {IN_ORDER}");
    assert_eq!(last.lines, [Line::qdisc(line(5))]);
    let changed = Step::Change(line(1));
    assert_eq!((last.changes, found.changes), (vec![(Span::from_s(1), changed)], vec![]));
}

#[test]
fn a_wire_without_anything_needs_no_qdisc() {
    assert_eq!(qdiscs(&bare(), 1514, "p"), Ok(Qdiscs::default()));
}

#[test]
fn study_1_has_netem_as_the_child_of_tbf() {
    let pipe = Pipe {
        shaper: Shaper::Tbf {
            rate_bps: Rate::from_bps(10_000_000),
            burst_bytes: 5120,
            initial_bytes: None,
            peak: None,
        },
        queue: Queue::Netem {
            delay: Span::from_ms(5),
            jitter: Span::ZERO,
            limit_packets: 100,
            words: None,
        },
        loss: Loss::Independent { probability: 0.01 },
        ..bare()
    };
    let expected = [
        "root handle 1: tbf rate 10000000bit burst 5120b limit 1048576b",
        "parent 1:1 handle 2: netem limit 100 delay 5000us loss random 1%",
    ];
    assert_eq!(lines(&pipe), expected);
}

#[test]
fn a_serial_link_is_a_netem_with_a_rate_behind_its_delay() {
    let pipe = Pipe {
        shaper: Shaper::Serial { rate_bps: Rate::from_bps(1_000_000) },
        queue: Queue::DropTail { limit_packets: Some(50), limit_bytes: None },
        delay: Span::from_ms(10),
        ..bare()
    };
    let expected = [
        "root handle 1: netem limit 1000000 delay 10000us",
        "parent 1:1 handle 2: netem limit 51 rate 1000000bit",
    ];
    assert_eq!(lines(&pipe), expected);
    let bytes = Queue::DropTail { limit_packets: None, limit_bytes: Some(30_000) };
    let pipe = Pipe { queue: bytes, ..pipe };
    let expected = [
        "root handle 1: tbf rate 1000000bit burst 1514b limit 1048576b",
        "parent 1:1 handle 2: bfifo limit 30000b",
    ];
    assert_eq!(lines(&pipe), expected);
    assert_eq!(
        behind(&pipe),
        Some(vec!["root handle 1: netem limit 1000000 delay 10000us rate 1000000bit".to_owned()])
    );
}

#[test]
fn jitter_of_a_link_keeps_the_order_and_that_of_a_netem_does_not() {
    let jitter = Span::from_ms(2);
    let pipe = Pipe { delay: Span::from_ms(5), jitter, ..bare() };
    let line = "root handle 1: netem limit 1000000 delay 6000us 1000us rate 100000000000000bit";
    assert_eq!(lines(&pipe), [line]);
    let queue = Queue::Netem { delay: Span::from_ms(5), jitter, limit_packets: 100, words: None };
    let line = "root handle 1: netem limit 100 delay 6000us 1000us";
    assert_eq!(lines(&Pipe { queue, ..bare() }), [line]);
}

#[test]
fn words_of_netem_are_those_of_tc() {
    let words = NetemWords {
        jitter: Span::from_ms(2),
        distribution: Distribution::Pareto,
        delay_correlation: 0.25,
        loss: NetemLoss::Gemodel { p: 0.01, r: 0.1, loss_bad: 0.7, loss_good: 0.001 },
        ecn: true,
        duplicate: Correlated { probability: 0.02, correlation: 0.5 },
        corrupt: Correlated { probability: 0.01, correlation: 0.0 },
        reorder: Some(EarlyReorder { probability: 0.25, correlation: 0.5, gap: 5 }),
        seed: Some(7),
    };
    let queue = |words: NetemWords| Queue::Netem {
        delay: Span::from_ms(5),
        jitter: Span::ZERO,
        limit_packets: 100,
        words: Some(Box::new(words)),
    };
    let said = "netem limit 100 delay 5000us 2000us 25% distribution pareto \
                loss gemodel 1% 10% 70% 0.1% ecn duplicate 2% 50% corrupt 1% \
                reorder 25% 50% gap 5";
    let pipe = Pipe { queue: queue(words.clone()), ..bare() };
    assert_eq!(lines(&pipe), [format!("root handle 1: {said} seed 7")]);
    // A change does not begin the numbers anew.
    let delay = Some(Span::from_ms(5));
    let change = Change { at: Span::from_s(1), rate_bps: None, delay, loss: None, state: None };
    let Ok(found) = qdiscs(&Pipe { changes: vec![change], ..pipe.clone() }, 1514, "p") else {
        panic!("refused")
    };
    let changed = Step::Change(format!("root handle 1: {said}"));
    assert_eq!(found.changes, [(Span::from_s(1), changed)]);
    // A copy would pass the delay in front a second time.
    let twice = qdiscs(&Pipe { delay: Span::from_ms(1), ..pipe }, 1514, "p");
    assert!(twice.is_err_and(|error| error.path == "p.queue.netem.words.duplicate"));
    let chain = FourStates { p13: 0.01, p31: 0.2, p32: 0.3, p23: 0.5, p14: 0.001 };
    let (loss, reorder) = (NetemLoss::State(chain), None);
    let none = Correlated::default();
    let words = NetemWords { loss, reorder, duplicate: none, corrupt: none, seed: None, ..words };
    let said = "delay 5000us 2000us 25% distribution pareto loss state 1% 20% 30% 50% 0.1% ecn";
    assert_eq!(
        lines(&Pipe { queue: queue(words), ..bare() }),
        [format!("root handle 1: netem limit 100 {said}")]
    );
}

#[test]
fn slots_may_have_a_distribution() {
    let slots = Slots {
        min: Span::ZERO,
        max: Span::from_ms(12),
        packets: 4,
        bytes: 0,
        pause: Span::ZERO,
        pause_every: Span::ZERO,
        distribution: Some(SlotDistribution {
            distribution: Distribution::Normal,
            delay: Span::from_ms(10),
            jitter: Span::from_ms(2),
            seed: Some(3),
        }),
    };
    let queue = Queue::DropTail { limit_packets: Some(20), limit_bytes: None };
    let line =
        "root handle 1: netem limit 20 slot distribution normal 10000us 2000us packets 4 seed 3";
    assert_eq!(lines(&Pipe { queue, slots: Some(slots), ..bare() }), [line]);
}

#[test]
fn a_netem_that_duplicates_stands_alone() {
    let pipe = Pipe {
        shaper: Shaper::Serial { rate_bps: Rate::from_bps(1_000_000) },
        queue: Queue::DropTail { limit_packets: Some(50), limit_bytes: None },
        duplication: 0.01,
        ..bare()
    };
    let expected = [
        "root handle 1: netem limit 1000000 duplicate 1%",
        "parent 1:1 handle 2: tbf rate 1000000bit burst 1514b limit 1048576b",
        "parent 2:1 handle 3: pfifo limit 50",
    ];
    assert_eq!(lines(&pipe), expected);
    let queue = Queue::Netem {
        delay: Span::from_ms(5),
        jitter: Span::ZERO,
        limit_packets: 100,
        words: None,
    };
    let pipe = Pipe { queue, delay: Span::from_ms(1), ..pipe };
    assert!(qdiscs(&pipe, 1514, "p").is_err_and(|error| error.path == "p.duplication"));
}

#[test]
fn changes_carry_all_options_of_their_stage() {
    let change = Change {
        at: Span::from_s(5),
        rate_bps: None,
        delay: Some(Span::from_ms(20)),
        loss: Some(Loss::None),
        state: None,
    };
    let pipe = Pipe {
        delay: Span::from_ms(10),
        loss: Loss::Independent { probability: 0.5 },
        policer: Some(Policer { rate_bps: Rate::from_bps(8000), burst_bytes: 3000 }),
        changes: vec![change],
        ..bare()
    };
    let Ok(found) = qdiscs(&pipe, 1514, "p") else { panic!("refused") };
    let line = "root handle 1: netem limit 1000000 delay 20000us loss random 0%";
    let line = format!("{line} {IN_ORDER}");
    assert_eq!(found.changes, [(Span::from_s(5), Step::Change(line))]);
    let police = "matchall action police rate 8000bit burst 3000b conform-exceed drop";
    assert_eq!(found.police.as_deref(), Some(police));
}

/// A new rate fills the bucket of a tbf, not that of a class of HTB.
#[test]
fn a_wire_with_changes_has_a_class_in_front_of_it() {
    let change = Change {
        at: Span::from_s(1),
        rate_bps: Some(Rate::from_bps(2_000_000)),
        delay: Some(Span::from_ms(1)),
        loss: None,
        state: None,
    };
    let shaper = Shaper::Serial { rate_bps: Rate::from_bps(1_000_000) };
    let queue = Queue::DropTail { limit_packets: Some(8), limit_bytes: None };
    let delay = Span::from_ms(5);
    let pipe = Pipe { shaper, queue, delay, changes: vec![change], ..bare() };
    let class = |mbps| {
        let rate = format!("{mbps}000000bit");
        format!("htb rate {rate} ceil {rate} burst 1b cburst 1b quantum 1514")
    };
    let Ok(found) = qdiscs(&pipe, 1514, "p") else { panic!("refused") };
    let added: Vec<String> = found.lines.iter().map(|line| line.add("d")).collect();
    let expected = [
        "qdisc add dev d root handle 1: htb default 1".to_owned(),
        format!("class add dev d parent 1: classid 1:1 {}", class(1)),
        "qdisc add dev d parent 1:1 handle 2: pfifo limit 8".to_owned(),
    ];
    assert_eq!((added, found.chain), (expected.to_vec(), 2));
    let at = Span::from_s(1);
    let changed = format!("parent 1: classid 1:1 {}", class(2));
    assert_eq!(found.changes, [(at, Step::Class(changed))]);
    let wire = |ms, mbps| {
        format!("root handle 1: netem limit 1000000 delay {ms}000us rate {mbps}000000bit")
    };
    let Some(behind) = found.behind else { panic!("nothing behind") };
    assert_eq!(behind.lines, [Line::qdisc(wire(5, 1))]);
    assert_eq!(behind.changes, [(at, Step::Change(wire(1, 2)))]);
}

#[test]
fn packets_are_held_back_behind_the_queue() {
    let reordering = |probability| Some(Reordering { probability, extra_delay: Span::from_ms(3) });
    let pipe = Pipe { delay: Span::from_ms(10), reordering: reordering(0.25), ..bare() };
    assert_eq!(lines(&pipe), ["root handle 1: netem limit 1000000 delay 10000us"]);
    let line = "netem limit 1000000 delay 3000us reorder 75%";
    assert_eq!(behind(&pipe), Some(vec![format!("root handle 1: {line}")]));
    // Behind a shaper they have been delayed before.
    let shaper = Shaper::Serial { rate_bps: Rate::from_bps(1_000_000) };
    let queue = Queue::DropTail { limit_packets: None, limit_bytes: Some(30_000) };
    let wire = "root handle 1: netem limit 1000000 delay 10000us rate 1000000bit".to_owned();
    let both = vec![wire, format!("parent 1:1 handle 2: {line}")];
    assert_eq!(behind(&Pipe { shaper, queue, ..pipe }), Some(both));
    let never = Pipe { reordering: reordering(0.0), ..bare() };
    assert!(qdiscs(&never, 1514, "p").is_ok_and(|found| found.is_empty()));
}

#[test]
fn a_link_comes_up_with_the_values_of_then() {
    let state = |s, state| Change {
        at: Span::from_s(s),
        rate_bps: None,
        delay: None,
        loss: None,
        state: Some(state),
    };
    let slower = Change { delay: Some(Span::from_ms(20)), state: None, ..state(2, LinkState::Up) };
    let pipe = Pipe {
        delay: Span::from_ms(10),
        changes: vec![state(1, LinkState::Down), slower, state(3, LinkState::Up)],
        ..bare()
    };
    let Ok(found) = qdiscs(&pipe, 1514, "p") else { panic!("refused") };
    let steps: Vec<_> = found.changes.iter().flat_map(|(_, step)| step.lines("d")).collect();
    let in_order =
        format!("qdisc add dev d root handle 1: netem limit 1000000 delay 20000us {IN_ORDER}");
    let expected = [
        "qdisc replace dev d root handle 7fff: netem limit 1 loss random 100%",
        "qdisc del dev d root",
        &in_order,
    ];
    assert_eq!(steps, expected);
    let bare = Pipe { delay: Span::ZERO, ..pipe.clone() };
    assert!(qdiscs(&bare, 1514, "p").is_ok_and(|found| !found.is_empty()));
    // Behind a shaper, what travels is lost, too.
    let shaper = Shaper::Serial { rate_bps: Rate::from_bps(1_000_000) };
    let queue = Queue::DropTail { limit_packets: None, limit_bytes: Some(30_000) };
    let Ok(found) = qdiscs(&Pipe { shaper, queue, ..pipe }, 1514, "p") else { panic!("refused") };
    let Some(last) = found.behind else { panic!("nothing behind") };
    let steps: Vec<_> = last.changes.iter().flat_map(|(_, step)| step.lines("w")).collect();
    let anew = |ms| {
        let line = format!("netem limit 1000000 delay {ms}000us rate 1000000bit");
        ["qdisc del dev w root".to_owned(), format!("qdisc add dev w root handle 1: {line}")]
    };
    assert_eq!(steps, [anew(10), anew(20)].concat());
}

#[test]
fn what_linux_cannot_do_is_refused_by_field() {
    let pipe = Pipe { shaper: Shaper::Trace { deliveries_ms: vec![1] }, ..bare() };
    let Err(error) = qdiscs(&pipe, 1514, "links[0].forward") else { panic!("accepted") };
    assert_eq!(error.path, "links[0].forward.shaper");
}
