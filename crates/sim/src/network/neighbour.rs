//! Address resolution between hosts and routers: ARP (RFC 826) with the states of RFC 4861 §7.3.2
//! as Linux keeps them for IPv4 too (net/core/neighbour.c). Timers are the wheel's at 1000 Hz: a
//! timer of five seconds fires up to half a second later, and several routers ask at one instant.
//!
//! An entry belongs to a node's pipe and the neighbour behind it, perhaps beyond switches. Only
//! routers re-validate: TCP's progress confirms a host's entries.

use crate::arena::Handle;
use crate::wheel::Tick;
use dumbbell_model::rng::Rng;
use dumbbell_model::scenario::NeighbourDiscovery;
use dumbbell_model::{Span, Time};

/// Time between unanswered requests (`retrans_time`).
const RETRY: Span = Span::from_s(1);
/// Most packets that wait for a reply (`unres_qlen`); one more drops the oldest.
pub(crate) const WAITING_MAX: usize = 101;

/// No entry.
const NONE: u32 = u32::MAX;

/// State of an entry (RFC 4861 §7.3.2).
#[derive(Clone, Debug, PartialEq, Eq)]
enum State {
    /// Incomplete: packets wait; the request is repeated at this time.
    Incomplete {
        waiting: Vec<Handle>,
        retry: Time,
    },
    Reachable {
        until: Option<Time>,
    },
    /// Stale: known but old; use starts re-validation.
    Stale,
    Delay {
        until: Time,
    },
    /// Probe: re-validation is under way; the address is still used.
    Probe {
        retry: Time,
    },
}

/// Ticks of a kernel at 1000 Hz.
fn tick() -> Tick {
    Tick::new(1000)
}

/// One neighbour of one node.
struct Entry {
    state: State,
    /// Pipes from the node to the neighbour.
    path: Vec<usize>,
    reachable: Span,
    revalidates: bool,
}

/// All entries of all nodes.
pub(crate) struct Neighbours {
    spec: NeighbourDiscovery,
    entries: Vec<Entry>,
    /// Entries by the node's pipe.
    of_pipe: Vec<Vec<u32>>,
    /// Entries found so far ([`NONE`]: not yet), by the place of the node's pipe in a path
    /// ([`Paths::taken`](super::path::Paths::taken)).
    found: Vec<u32>,
    /// Names of the pipes: random streams are named by them, not by numbers.
    names: Vec<String>,
    seed: u64,
}

/// Decision about a packet to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lookup {
    /// The address is known. `timer`: the entry's timer has moved.
    Resolved { entry: u32, timer: bool },
    /// The packet waits with this entry. `ask`: a request must be sent.
    Unresolved { entry: u32, ask: bool },
}

impl Neighbours {
    pub(crate) fn new(spec: NeighbourDiscovery, names: Vec<String>, seed: u64) -> Self {
        let of_pipe = vec![Vec::new(); names.len()];
        Self { spec, entries: Vec::new(), of_pipe, found: Vec::new(), names, seed }
    }

    /// Returns true if a packet at a place of its path may be sent at once, and no timer moves.
    #[inline]
    pub(crate) fn knows(&self, place: usize) -> bool {
        let entry = self.found.get(place).and_then(|&entry| self.entries.get(entry as usize));
        entry.is_some_and(Entry::is_used)
    }

    /// Notes the entry of the neighbour behind a place.
    pub(crate) fn note(&mut self, place: usize, entry: u32) {
        if self.found.len() <= place {
            self.found.resize(place + 1, NONE);
        }
        self.found[place] = entry;
    }

    /// Returns the entry of the neighbour at the end of a path; creates it if there is none.
    fn entry(&mut self, path: &[usize], revalidates: bool, state: State) -> u32 {
        if let Some(&known) =
            self.of_pipe[path[0]].iter().find(|&&entry| self.entries[entry as usize].path == path)
        {
            return known;
        }
        let half = self.spec.reachable.as_ps() / 2;
        let along: Vec<_> = path.iter().map(|&pipe| self.names[pipe].as_str()).collect();
        let name = format!("neighbour/{}", along.join("+"));
        let reachable = Span::from_ps(half + Rng::named(self.seed, &name).below(2 * half));
        let entry = self.entries.len() as u32;
        self.entries.push(Entry { state, path: path.to_vec(), reachable, revalidates });
        self.of_pipe[path[0]].push(entry);
        entry
    }

    /// Decides about a packet to be sent along a path (`neigh_event_send`).
    pub(crate) fn lookup(&mut self, now: Time, path: &[usize], revalidates: bool) -> Lookup {
        let before = self.entries.len();
        let retry = tick().fires_after(now, RETRY);
        let incomplete = State::Incomplete { waiting: Vec::new(), retry };
        let number = self.entry(path, revalidates, incomplete);
        let probe_delay = self.spec.probe_delay;
        let entry = &mut self.entries[number as usize];
        match entry.state {
            State::Incomplete { .. } => {
                Lookup::Unresolved { entry: number, ask: self.entries.len() > before }
            }
            State::Stale => {
                if entry.revalidates {
                    let until = tick().fires_after(now, probe_delay);
                    entry.state = State::Delay { until };
                }
                Lookup::Resolved { entry: number, timer: entry.revalidates }
            }
            State::Reachable { .. } | State::Delay { .. } | State::Probe { .. } => {
                Lookup::Resolved { entry: number, timer: false }
            }
        }
    }

    /// Queues a packet for the reply. Returns the oldest if there are too many.
    pub(crate) fn wait(&mut self, entry: u32, packet: Handle) -> Option<Handle> {
        let State::Incomplete { waiting, .. } = &mut self.entries[entry as usize].state else {
            return None;
        };
        waiting.push(packet);
        (waiting.len() > WAITING_MAX).then(|| waiting.remove(0))
    }

    /// Pipes to the neighbour.
    pub(crate) fn path(&self, entry: u32) -> &[usize] {
        &self.entries[entry as usize].path
    }

    /// Handles a request: the neighbour learns the asker's address (`neigh_event_ns`). Returns the
    /// packets that waited for it.
    pub(crate) fn asked(&mut self, entry: u32, revalidates: bool) -> Vec<Handle> {
        let back: Vec<usize> = self.path(entry).iter().rev().map(|pipe| pipe ^ 1).collect();
        let mine = self.entry(&back, revalidates, State::Stale);
        let mine = &mut self.entries[mine as usize];
        match &mut mine.state {
            State::Incomplete { waiting, .. } => {
                let waiting = core::mem::take(waiting);
                mine.state = State::Stale;
                waiting
            }
            _ => Vec::new(),
        }
    }

    /// Handles a reply. Returns the packets that waited for it.
    pub(crate) fn answered(&mut self, now: Time, entry: u32) -> Vec<Handle> {
        let entry = &mut self.entries[entry as usize];
        let until = entry.revalidates.then(|| tick().fires_after(now, entry.reachable));
        match core::mem::replace(&mut entry.state, State::Reachable { until }) {
            State::Incomplete { waiting, .. } => waiting,
            _ => Vec::new(),
        }
    }

    /// Time of the next entry's timer.
    pub(crate) fn next_deadline(&self) -> Option<Time> {
        self.entries.iter().filter_map(|entry| entry.due()).min()
    }

    /// Handles all timers that are due (`neigh_timer_handler`). Returns the entries that send a
    /// request.
    pub(crate) fn on_timeout(&mut self, now: Time) -> Vec<u32> {
        let mut ask = Vec::new();
        for (number, entry) in self.entries.iter_mut().enumerate() {
            if entry.due().is_none_or(|due| due > now) {
                continue;
            }
            match &mut entry.state {
                State::Reachable { .. } => entry.state = State::Stale,
                State::Delay { .. } => {
                    entry.state = State::Probe { retry: tick().fires_after(now, RETRY) };
                    ask.push(number as u32);
                }
                State::Incomplete { retry, .. } | State::Probe { retry } => {
                    *retry = tick().fires_after(now, RETRY);
                    ask.push(number as u32);
                }
                State::Stale => {}
            }
        }
        ask
    }

    /// Number of packets that wait in all entries.
    pub(crate) fn waiting(&self) -> usize {
        self.entries
            .iter()
            .map(|entry| match &entry.state {
                State::Incomplete { waiting, .. } => waiting.len(),
                _ => 0,
            })
            .sum()
    }
}

impl Entry {
    /// Returns true if the address is used, and use changes nothing.
    fn is_used(&self) -> bool {
        match self.state {
            State::Incomplete { .. } => false,
            State::Stale => !self.revalidates,
            State::Reachable { .. } | State::Delay { .. } | State::Probe { .. } => true,
        }
    }

    fn due(&self) -> Option<Time> {
        match self.state {
            State::Incomplete { retry, .. } | State::Probe { retry } => Some(retry),
            State::Reachable { until } => until,
            State::Delay { until } => Some(until),
            State::Stale => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: u64 = 1_000_000_000;

    fn neighbours() -> Neighbours {
        let spec = NeighbourDiscovery { reachable: Span::from_s(30), probe_delay: Span::from_s(5) };
        Neighbours::new(spec, ["a", "b", "c", "d"].map(String::from).to_vec(), 1)
    }

    #[test]
    fn a_router_asks_once_uses_asks_again_and_goes_on_meanwhile() {
        let mut n = neighbours();
        let at = |s: u64| Time::from_ns(s * S);
        assert_eq!(n.lookup(at(0), &[0, 2], true), Lookup::Unresolved { entry: 0, ask: true });
        let packet = Handle { id: 7, flow: 0, frame_bytes: 66, outward: true, tos: 0, hop: 0 };
        assert_eq!(n.wait(0, packet), None);
        assert_eq!(n.lookup(at(0), &[0, 2], true), Lookup::Unresolved { entry: 0, ask: false });
        assert_eq!(n.answered(at(0), 0), [packet]);
        assert_eq!(n.lookup(at(0), &[0, 2], true), Lookup::Resolved { entry: 0, timer: false });
        let stale = n.next_deadline().expect("reachable for a time");
        assert!(at(15) <= stale && stale < at(45), "{stale}");
        assert!(n.on_timeout(stale).is_empty());
        assert_eq!(n.next_deadline(), None);
        assert_eq!(n.lookup(stale, &[0, 2], true), Lookup::Resolved { entry: 0, timer: true });
        let asks = n.next_deadline().expect("asked again");
        let late = asks.since(stale + Span::from_s(5));
        assert!(late <= Span::from_ms(512), "{late:?}"); // A bucket of the wheel.
        assert_eq!(n.on_timeout(asks), [0]);
        let probing = n.lookup(asks, &[0, 2], true);
        assert_eq!(probing, Lookup::Resolved { entry: 0, timer: false });
    }

    #[test]
    fn the_asked_neighbour_knows_the_asker() {
        let mut n = neighbours();
        n.lookup(Time::ZERO, &[0, 2], true);
        n.asked(0, true);
        assert_eq!(n.lookup(Time::ZERO, &[3, 1], true), Lookup::Resolved { entry: 1, timer: true });
    }
}
