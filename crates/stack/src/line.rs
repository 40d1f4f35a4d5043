//! A bottleneck for the tests of adapters: 20 Mbit/s forward, a delay of 20 ms either way, a queue of 60 kB. The simulator
//! is not needed for it.

use crate::{Side, Stack, State};
use std::collections::BTreeMap;
use std::time::Duration;

const NS_PER_BYTE: u64 = 400;
/// Delay of either way.
pub const DELAY: Duration = Duration::from_millis(20);
/// Delay of a full queue.
pub const QUEUE: Duration = Duration::from_millis(24);
/// Largest UDP payload.
pub const LARGEST_DATAGRAM_BYTES: usize = 1472;
const ECT_0: u8 = 2;
const CE: u8 = 3;

/// Record of an observer of the wire.
#[derive(Clone, Debug)]
pub struct Seen {
    /// FNV-1a over times, directions, ECN fields and bytes of the datagrams that were sent.
    pub hash: u64,
    /// Time, direction and length of each.
    pub datagrams: Vec<(Duration, Side, usize)>,
    /// Those that were lost.
    pub dropped: u64,
    /// What the stack told at the end.
    pub state: State,
}

impl Seen {
    fn note(&mut self, now: Duration, from: Side, ecn_field: u8, datagram: &[u8]) {
        let time = now.as_nanos().to_le_bytes();
        for byte in time.iter().chain([&ecn_field, &(from as u8)]).chain(datagram) {
            self.hash = (self.hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3);
        }
        self.datagrams.push((now, from, datagram.len()));
    }
}

/// What the line does to datagrams.
#[derive(Clone, Copy, Debug)]
pub struct Faults {
    /// Delay from which on datagrams are dropped.
    pub drops: Duration,
    /// Delay from which on ECT(0) becomes CE.
    pub marks: Duration,
    /// Of so many datagrams, either way, about one is lost.
    pub loses_one_of: u64,
}

/// A full queue alone drops.
pub const DROPTAIL: Faults = Faults { drops: QUEUE, marks: Duration::MAX, loses_one_of: u64::MAX };

/// Datagrams on the line, by the time of their arrival.
struct Line {
    faults: Faults,
    flying: BTreeMap<(Duration, u64), (Side, u8, Vec<u8>)>,
    number: u64,
    busy: Duration,
}

impl Line {
    /// Sends a datagram. Returns `false` if it is lost.
    fn send(&mut self, now: Duration, from: Side, ecn_field: u8, datagram: &[u8]) -> bool {
        let (mut leaves, mut ecn_field) = (now, ecn_field);
        if from == Side::Client {
            let free = self.busy.max(now);
            if free - now > self.faults.drops {
                return false;
            }
            if free - now > self.faults.marks && ecn_field == ECT_0 {
                ecn_field = CE;
            }
            self.busy = free + Duration::from_nanos(NS_PER_BYTE * datagram.len() as u64);
            leaves = self.busy;
        }
        self.number += 1;
        if (self.number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) % self.faults.loses_one_of == 0 {
            return false;
        }
        let sent = (from, ecn_field, datagram.to_vec());
        self.flying.insert((leaves + DELAY, self.number), sent);
        true
    }
}

/// Runs a connection up to `end`; `stop`: when the client's application stops.
///
/// # Panics
/// If a datagram is longer than the largest, or an ECN field is none.
pub fn run(
    mut stack: Box<dyn Stack>,
    faults: Faults,
    mut stop: Option<Duration>,
    end: Duration,
) -> Seen {
    let mut seen = Seen {
        hash: 0xcbf2_9ce4_8422_2325,
        datagrams: Vec::new(),
        dropped: 0,
        state: State::default(),
    };
    let mut line = Line { faults, flying: BTreeMap::new(), number: 0, busy: Duration::ZERO };
    let mut now = Duration::ZERO;
    stack.open(now);
    loop {
        for side in Side::BOTH {
            let mut out = Vec::new();
            while let Some(sent) = stack.transmit(now, side, &mut out) {
                for datagram in out.chunks(sent.datagram_bytes) {
                    assert!(datagram.len() <= LARGEST_DATAGRAM_BYTES && sent.ecn_field < 4);
                    seen.note(now, side, sent.ecn_field, datagram);
                    seen.dropped += u64::from(!line.send(now, side, sent.ecn_field, datagram));
                }
                out.clear();
            }
        }
        let timer = Side::BOTH.iter().filter_map(|&side| stack.deadline(side)).min();
        let arrival = line.flying.keys().next().map(|&(at, _)| at);
        let Some(next) = [timer, arrival, stop].into_iter().flatten().min() else { break };
        if next > end {
            break;
        }
        now = next.max(now);
        if stop.is_some_and(|stop| stop <= now) {
            stop = None;
            stack.stop(now);
        } else if arrival == Some(now) {
            let Some((_, (from, ecn_field, datagram))) = line.flying.pop_first() else { break };
            let to = if from == Side::Client { Side::Server } else { Side::Client };
            stack.receive(now, to, ecn_field, &datagram);
        } else {
            Side::BOTH.iter().for_each(|&side| stack.wake(now, side));
        }
    }
    seen.state = stack.state();
    seen
}
