use super::*;
use crate::reno::tests::conn;
use dumbbell_model::Span;

const MS: u64 = 1000;

fn profile() -> TcpOptions {
    TcpOptions::profile("linux-6.1").expect("a profile")
}

fn resume(saved_cwnd: u32, saved_rtt_ms: u64) -> CarefulResume {
    let mut options = profile();
    (options.initcwnd, options.saved_cwnd) = (10, saved_cwnd);
    options.saved_rtt = Span::from_ms(saved_rtt_ms);
    CarefulResume::new(&options).expect("a saved window")
}

/// A connection whose path has an RTT of `rtt_ms`; 20 packets of 1000 bytes are in flight behind the ten
/// initial ones, which were acknowledged.
fn after_initial_data(rtt_ms: u64) -> Conn {
    Conn {
        snd_una: 10_000,
        snd_nxt: 30_000,
        in_flight: 20,
        delivered: 10,
        min_rtt_us: (rtt_ms * MS) as u32,
        srtt_us8: (rtt_ms * MS * 8) as u32,
        ..conn(rtt_ms)
    }
}

/// Reconnaissance up to the jump. The first ACK acknowledges two packets of ten.
fn jumped(saved_cwnd: u32) -> (CarefulResume, Window) {
    let (mut resume, mut window) = (resume(saved_cwnd, 50), Window::new(20));
    let first = Conn { snd_una: 2000, snd_nxt: 10_000, delivered: 2, ..after_initial_data(50) };
    resume.acked(&first, &mut window);
    assert_eq!((resume.phase(), window.cwnd), ("reconnaissance", 20));
    resume.acked(&after_initial_data(50), &mut window);
    (resume, window)
}

/// An ACK with `packets` newly delivered since [`after_initial_data`], and a flight.
fn ack(packets: u64, in_flight: u32) -> Conn {
    let base = after_initial_data(50);
    Conn {
        snd_una: base.snd_una + 1000 * packets,
        snd_nxt: base.snd_una + 1000 * (packets + u64::from(in_flight)),
        delivered: base.delivered + packets,
        in_flight,
        ..base
    }
}

#[test]
fn half_of_the_saved_window_is_the_jump() {
    let (resume, window) = jumped(100);
    assert_eq!((resume.phase(), window.cwnd, resume.pipe), ("unvalidated", 50, 20));
    assert!(window.pacing && resume.holds());
    assert_eq!(resume.pacing_ratio(), Some(100));
}

#[test]
fn another_rtt_is_another_path() {
    for (rtt_ms, phase) in
        [(25, "normal"), (26, "unvalidated"), (500, "unvalidated"), (501, "normal")]
    {
        let (mut resume, mut window) = (resume(100, 50), Window::new(20));
        let first = Conn { snd_una: 0, snd_nxt: 10_000, ..after_initial_data(rtt_ms) };
        resume.acked(&first, &mut window);
        resume.acked(&after_initial_data(rtt_ms), &mut window);
        assert_eq!(resume.phase(), phase, "{rtt_ms} ms");
        assert_eq!(window.cwnd, if phase == "normal" { 20 } else { 50 });
    }
}

#[test]
fn a_jump_below_the_window_is_none() {
    let (resume, window) = jumped(40);
    assert_eq!((resume.phase(), window.cwnd), ("normal", 20));
    assert!(CarefulResume::new(&profile()).is_none());
}

#[test]
fn the_jump_waits_for_data_and_ends_with_a_loss_before() {
    let (mut waiting, mut window) = (resume(100, 50), Window::new(20));
    let short = Conn { cwnd_limited: false, ..after_initial_data(50) };
    waiting.acked(&Conn { snd_nxt: 10_000, snd_una: 0, ..short }, &mut window);
    waiting.acked(&short, &mut window);
    assert_eq!((waiting.phase(), window.cwnd), ("reconnaissance", 20));
    waiting.acked(&after_initial_data(50), &mut window);
    assert_eq!((waiting.phase(), window.cwnd), ("unvalidated", 50));

    let (mut lost, mut window) = (resume(100, 50), Window::new(20));
    assert_eq!(lost.congested(&short, &mut window), None);
    lost.acked(&after_initial_data(50), &mut window);
    assert_eq!((lost.phase(), window.cwnd), ("normal", 20));
}

/// PipeSize is 20 and what two ACKs showed; the window becomes the flight when it fills the jump.
#[test]
fn the_jump_is_validated_by_the_ack_of_its_last_packet() {
    let (mut resume, mut window) = jumped(100);
    resume.acked(&ack(4, 30), &mut window);
    assert_eq!((resume.phase(), resume.pipe, window.cwnd), ("unvalidated", 24, 50));
    resume.acked(&ack(10, 50), &mut window);
    assert_eq!((resume.phase(), resume.pipe, window.cwnd), ("validating", 30, 50));
    assert!(!window.pacing && !resume.holds());
    assert_eq!(resume.pacing_ratio(), None);
    // The jump ends at byte 10 000 + 1000 · (10 + 50).
    resume.acked(&ack(59, 60), &mut window);
    assert_eq!((resume.phase(), resume.pipe), ("validating", 79));
    resume.acked(&ack(60, 60), &mut window);
    assert_eq!(resume.phase(), "normal");
}

#[test]
fn the_jump_ends_after_an_rtt_or_with_the_ack_of_its_first_packet() {
    // The first packet of the jump begins at byte 30 000, 20 packets after the initial data.
    let (mut resume, mut window) = jumped(100);
    resume.acked(&ack(20, 40), &mut window);
    assert_eq!(resume.phase(), "unvalidated");
    resume.acked(&ack(21, 45), &mut window);
    assert_eq!((resume.phase(), window.cwnd), ("validating", 45));

    let (mut late, mut window) = jumped(100);
    late.acked(&Conn { now_us: 100 * MS, ..ack(2, 45) }, &mut window);
    assert_eq!(late.phase(), "unvalidated");
    late.acked(&Conn { now_us: 100 * MS + 1, ..ack(4, 45) }, &mut window);
    assert_eq!((late.phase(), window.cwnd), ("validating", 45));
}

/// A flight of at most PipeSize shows nothing of the jump: the window is PipeSize again.
#[test]
fn a_jump_that_was_not_used_is_given_back() {
    let (mut resume, mut window) = jumped(100);
    resume.acked(&ack(21, 41), &mut window);
    assert_eq!((resume.phase(), resume.pipe, window.cwnd), ("normal", 41, 41));
}

/// PipeSize is 30 at the loss and 70 at the end, 20 of them retransmissions: the thresholds are 15 and
/// 25.
#[test]
fn a_loss_takes_the_jump_back() {
    for validating in [false, true] {
        let (mut resume, mut window) = jumped(100);
        let sent = ack(10, if validating { 50 } else { 49 });
        resume.acked(&sent, &mut window);
        assert_eq!(resume.congested(&sent, &mut window), Some(15));
        assert_eq!((resume.phase(), window.pacing), ("safe retreat", false));
        assert!(resume.holds());
        let later = Conn { lost: 20, ..ack(50, 10) };
        resume.acked(&later, &mut window);
        // A second loss, and a reduction that is undone, know of what arrived since.
        assert_eq!(resume.congested(&later, &mut window), Some(25));
        window.cwnd = 15;
        assert_eq!(resume.undone(&later, &window), Some(50));
        resume.state(&Conn { snd_una: sent.snd_nxt - 1, ..later }, &mut window, CaState::Open);
        assert_eq!(resume.phase(), "safe retreat", "the jump is not acknowledged");
        resume.state(&Conn { snd_una: sent.snd_nxt, ..later }, &mut window, CaState::Open);
        assert_eq!((resume.phase(), window.ssthresh), ("normal", 25));
        assert_eq!(resume.undone(&later, &window), None);
    }
}
