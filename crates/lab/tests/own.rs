//! A stack of one's own beside Linux's CUBIC. `docs/how-to/own-stack.md` shows this file.

use dumbbell_lab::{json, run, Maker, Results, Side, Spec, Stack, State, Transmit, Value};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

/// A protocol with a window that halves when a datagram is lost: number, then padding; an ACK is the number.
struct Toy {
    window: f64,
    next: u64,
    /// Datagrams that wait for an ACK, with the time of sending.
    flying: BTreeMap<u64, Duration>,
    acks: VecDeque<u64>,
    srtt: Option<Duration>,
    open: Option<Duration>,
    /// No window is halved twice for the datagrams of one window.
    recovers_until: u64,
    lost: u64,
    delivered: u64,
    last: Option<Duration>,
}

const DATAGRAM_BYTES: usize = 1200;
/// Datagrams behind a missing one after which it counts as lost.
const THRESHOLD: u64 = 3;
const TIMEOUT: Duration = Duration::from_millis(500);

impl Toy {
    fn declare_lost(&mut self, below: u64) {
        let lost: Vec<u64> = self.flying.range(..below).map(|(&number, _)| number).collect();
        for number in lost {
            self.flying.remove(&number);
            self.lost += 1;
            if number >= self.recovers_until {
                self.window = (self.window / 2.0).max(2.0);
                self.recovers_until = self.next;
            }
        }
    }
}

impl Stack for Toy {
    fn open(&mut self, now: Duration) {
        self.open = Some(now);
    }

    fn stop(&mut self, _now: Duration) {
        self.open = None;
    }

    fn receive(&mut self, now: Duration, side: Side, _ecn_field: u8, datagram: &[u8]) {
        let Some(number) = datagram.first_chunk().map(|bytes| u64::from_be_bytes(*bytes)) else {
            return;
        };
        if side == Side::Server {
            (self.delivered, self.last) = (self.delivered + DATAGRAM_BYTES as u64, Some(now));
            self.acks.push_back(number);
        } else if let Some(sent) = self.flying.remove(&number) {
            let sample = now - sent;
            self.srtt = Some(self.srtt.map_or(sample, |srtt| (srtt * 7 + sample) / 8));
            self.window += 1.0 / self.window;
            self.declare_lost(number.saturating_sub(THRESHOLD));
        }
    }

    fn wake(&mut self, now: Duration, _side: Side) {
        if self.deadline(Side::Client).is_some_and(|due| due <= now) {
            self.declare_lost(self.next);
        }
    }

    fn transmit(&mut self, now: Duration, side: Side, out: &mut Vec<u8>) -> Option<Transmit> {
        let datagram_bytes = if side == Side::Server {
            out.extend(self.acks.pop_front()?.to_be_bytes());
            8
        } else if self.open.is_some() && (self.flying.len() as f64) < self.window {
            out.extend(self.next.to_be_bytes());
            out.resize(DATAGRAM_BYTES, 0);
            self.flying.insert(self.next, now);
            self.next += 1;
            DATAGRAM_BYTES
        } else {
            return None;
        };
        Some(Transmit { ecn_field: 0, datagram_bytes })
    }

    fn deadline(&mut self, side: Side) -> Option<Duration> {
        let oldest = self.flying.values().next().filter(|_| side == Side::Client)?;
        Some(*oldest + TIMEOUT)
    }

    fn state(&self) -> State {
        State {
            established: self.open,
            delivered_bytes: self.delivered,
            last_delivery: self.last,
            cwnd_bytes: Some((self.window * DATAGRAM_BYTES as f64) as u64),
            datagram_bytes: Some(DATAGRAM_BYTES as u16),
            srtt: self.srtt,
            lost_packets: Some(self.lost),
            ..State::default()
        }
    }
}

struct Toys;

impl Maker for Toys {
    fn make(&self, _spec: &Spec) -> Result<Box<dyn Stack>, String> {
        Ok(Box::new(Toy {
            window: 10.0,
            next: 0,
            flying: BTreeMap::new(),
            acks: VecDeque::new(),
            srtt: None,
            open: None,
            recovers_until: 0,
            lost: 0,
            delivered: 0,
            last: None,
        }))
    }
}

/// Ten seconds of a line of 20 Mbit/s, shared with Linux's CUBIC.
fn beside(own: Value) -> Value {
    json!({
        "dumbbell": 1,
        "name": "own stack beside CUBIC",
        "template": {"dumbbell": {"pairs": 2, "rate": "20 Mbit/s", "rtt": "40 ms", "buffer": "1 BDP"}},
        "flows": [
            {"name": "own", "from": "s1", "to": "d1", "quic": own},
            {"name": "cubic", "from": "s2", "to": "d2", "tcp": "cubic"},
        ],
        "duration": "10 s",
    })
}

fn results(own: Value, maker: Arc<dyn Maker>) -> Results {
    match run(&beside(own), maker) {
        Ok(results) => results,
        Err(why) => panic!("{why}"),
    }
}

#[test]
fn my_stack_shares_with_cubic() {
    let found = results(json!({"stack": "own"}), Arc::new(Toys));
    let [own, cubic] = ["own", "cubic"].map(|flow| found.goodput_mbps(flow).unwrap_or(0.0));
    let share = own / (own + cubic);
    assert!((0.1..0.6).contains(&share), "{own} Mbit/s beside {cubic}");
    assert!(own + cubic > 17.0, "the line is full: {own} and {cubic} Mbit/s");
    assert_eq!(found.flow("own", "dropped_packets"), found.flow("own", "retransmitted_packets"));
    assert_eq!(results(json!({"stack": "own"}), Arc::new(Toys)).digest, found.digest);
}
// The end of what the page shows.

#[test]
fn quinn_is_a_stack_as_any_other() {
    let found = results(
        json!({"stack": "own", "congestion_control": "cubic"}),
        Arc::new(dumbbell_quinn::Quinn),
    );
    assert!(found.goodput_mbps("own") > Some(3.0), "{:?}", found.goodput_mbps("own"));
    assert!(found.pipe("bottleneck/forward", "dropped_overflow_packets") > Some(0.0));
    assert_eq!(found.flow("own", "in_flight_mean_packets"), None);
}

/// What a stack can do wrong.
#[derive(Clone, Copy)]
enum Fault {
    Panics,
    SendsTooMuch,
    SendsNothing,
    WakesInThePast,
    SendsForEver,
    CannotBeMade,
    PanicsAtItsReport,
}

struct Faulty(Fault);

impl Stack for Faulty {
    fn open(&mut self, _now: Duration) {}

    fn stop(&mut self, _now: Duration) {}

    fn receive(&mut self, _now: Duration, _side: Side, _ecn_field: u8, _datagram: &[u8]) {}

    fn wake(&mut self, _now: Duration, _side: Side) {}

    fn transmit(&mut self, now: Duration, side: Side, out: &mut Vec<u8>) -> Option<Transmit> {
        if side == Side::Server {
            return None;
        }
        let bytes = match self.0 {
            Fault::Panics if now > Duration::ZERO => panic!("assertion failed: x > 0"),
            Fault::SendsTooMuch => 1473,
            Fault::SendsNothing => 0,
            Fault::SendsForEver => 100,
            _ => return None,
        };
        out.resize(out.len() + bytes, 0);
        Some(Transmit { ecn_field: 0, datagram_bytes: bytes })
    }

    fn deadline(&mut self, side: Side) -> Option<Duration> {
        match self.0 {
            Fault::WakesInThePast => Some(Duration::ZERO),
            _ => Some(Duration::from_secs(1)).filter(|_| side == Side::Client),
        }
    }

    fn state(&self) -> State {
        assert!(!matches!(self.0, Fault::PanicsAtItsReport), "no state");
        State::default()
    }
}

impl Maker for Faulty {
    fn make(&self, _spec: &Spec) -> Result<Box<dyn Stack>, String> {
        match self.0 {
            Fault::CannotBeMade => Err("it has no such congestion control".to_owned()),
            fault => Ok(Box::new(Self(fault))),
        }
    }
}

#[test]
fn a_stack_that_breaks_the_rules_fails_the_run_with_flow_and_time() {
    let faults = [
        (Fault::Panics, "stack own, flow own, at 1.000000 s: panic: assertion failed: x > 0"),
        (
            Fault::SendsTooMuch,
            "at 0.000000 s: it sent a datagram of 1473 bytes; the MTU leaves 1472",
        ),
        (Fault::SendsNothing, "at 0.000000 s: it sent 0 bytes"),
        (Fault::WakesInThePast, "more than 100000 datagrams and deadlines at this time"),
        (Fault::SendsForEver, "more than 100000 datagrams and deadlines at this time"),
        (Fault::PanicsAtItsReport, "stack own, flow own, at 0.000000 s: panic: no state"),
        (Fault::CannotBeMade, "it has no such congestion control"),
    ];
    for (fault, words) in faults {
        let error = run(&beside(json!({"stack": "own"})), Arc::new(Faulty(fault))).err();
        let error = error.unwrap_or_default();
        assert!(error.contains(words), "{error}");
    }
}

#[test]
fn an_experiment_that_is_wrong_is_told_with_its_place() {
    let error = run(&beside(json!({"stack": "owm"})), Arc::new(Toys)).err().unwrap_or_default();
    assert!(error.starts_with("flows[0].quic.stack: ") && error.contains("own"), "{error}");
}
