//! Taps: frames at an interface, for the shared counters and tables.
//!
//! A tap must see a leaving packet when it leaves the queue. Where netem is at the queue's interface, a
//! frame passes only after delay and serialisation time. Both are subtracted from its timestamp.
//!
//! A ring hands over a block that is full, or a second or two old. A tap of two rings, as where the queue is
//! in another namespace, therefore hears of an ACK before it hears of the data, or long after. Its frames
//! are held until the other ring has told of the same time.

use crate::clock::Clock;
use crate::frame::{self, Stream};
use crate::plan::{device, Plan};
use crate::qdisc::serialised_by_netem;
use crate::realise::Namespaces;
use crate::sys::{Ring, RETIRE_MS};
use dumbbell_capture::Taps;
use dumbbell_model::scenario::{self, Pipe, Scenario, Shaper};
use dumbbell_model::{Span, Time};
use dumbbell_packet::pcapng::Recording;
use dumbbell_packet::{wire, Packet, Tap, TapPackets};
use std::io::{Error, Result};

/// Blocks of a megabyte per ring. Rings are drained every 50 ms; a block holds some 5000 frames.
const RING_BLOCKS: usize = 16;
/// Blocks of all rings: half of a guest's memory.
const ALL_BLOCKS: usize = 256;
/// Captured bytes, enough for all headers: Ethernet 14, IPv4 20, TCP 60.
const HEADERS_BYTES: u32 = 96;

/// Frames of a ring that count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sees {
    All,
    Leaving,
    Arriving,
}

/// A ring, the frames of it that count, and the time of its latest frame.
struct Source {
    ring: Ring,
    sees: Sees,
    latest: Time,
}

/// A tap: its rings, its index in the scenario, and the pipe that leaves there.
struct Tapped<'a> {
    sources: Vec<Source>,
    tap: usize,
    leaving: &'a Pipe,
    shaped: bool,
    /// Frames that an older one of the other ring may precede.
    held: Vec<(Time, Packet)>,
}

/// Until then all rings have told of a time at the latest: the kernel retires a block after one or two
/// time-outs, and rings are drained 20 times a second.
const TOLD_WITHIN: Span = Span::from_ms(3 * RETIRE_MS as u64);

/// All taps of a run.
pub(crate) struct Rings<'a> {
    scenario: &'a Scenario,
    taps: Vec<Tapped<'a>>,
    streams: Vec<Stream>,
    capture: Option<Recording>,
}

impl<'a> Rings<'a> {
    /// Opens the rings.
    pub(crate) fn open(
        scenario: &'a Scenario,
        plan: &Plan,
        namespaces: &Namespaces,
    ) -> Result<Self> {
        let mut taps = Vec::with_capacity(scenario.taps.len());
        let blocks = blocks(scenario, plan)?;
        let wanted = scenario.sampling.capture;
        let snap_bytes = wanted.map_or(0, |capture| capture.snap_bytes);
        for (tap, spec) in scenario.taps.iter().enumerate() {
            let (node, pipe) = interface(scenario, spec);
            let location = &plan.queues[pipe];
            let opened = |namespace: usize, device: &str| {
                namespaces.enter(namespace)?;
                Ring::open(device, blocks, snap_bytes.max(HEADERS_BYTES))
                    .map_err(|error| Error::other(format!("tap {}: {error}", spec.name)))
            };
            // If the link passes through the namespace `wires`, its queue is there.
            let source = |ring, sees| Source { ring, sees, latest: Time::ZERO };
            let sources = if location.namespace == node {
                vec![source(opened(node, &device(pipe))?, Sees::All)]
            } else {
                vec![
                    source(opened(node, &device(pipe))?, Sees::Arriving),
                    source(opened(location.namespace, &location.device)?, Sees::Leaving),
                ]
            };
            let link = &scenario.links[pipe / 2];
            let leaving = if pipe % 2 == 0 { &link.forward } else { &link.backward };
            taps.push(Tapped {
                sources,
                tap,
                leaving,
                shaped: location.chain > 0 && location.delays,
                held: Vec::new(),
            });
        }
        namespaces.leave()?;
        let capture = wanted.map(|capture| Recording::new(capture.snap_bytes));
        Ok(Self { scenario, taps, streams: frame::streams(scenario), capture })
    }

    /// Passes on the frames of which all rings of their tap have told by `now`, in order of time.
    pub(crate) fn drain(
        &mut self,
        clock: &Clock,
        now: Time,
        counted: &mut Taps,
        kept: &mut TapPackets,
    ) {
        let end = Time::ZERO + self.scenario.duration;
        let mut seen: Vec<(Time, usize, Packet)> = Vec::new();
        for one in &mut self.taps {
            for source in &mut one.sources {
                let Source { ring, sees, latest } = source;
                ring.drain(|frame| {
                    let wanted = match sees {
                        Sees::All => true,
                        Sees::Leaving => frame.leaves,
                        Sees::Arriving => !frame.leaves,
                    };
                    if !wanted {
                        return;
                    }
                    let at = Time::from_ns(clock.of_stamp(frame.time_ns).max(0) as u64);
                    let ahead = match one.shaped && frame.leaves {
                        true => ahead(one.leaving, at, frame.length),
                        false => Span::ZERO,
                    };
                    let at = Time::from_ns(at.as_ns().saturating_sub(ahead.as_ns()));
                    *latest = (*latest).max(at);
                    if at > end {
                        return;
                    }
                    if let Some(capture) = &mut self.capture {
                        let mut bytes = frame.bytes.to_vec();
                        if frame.unsummed {
                            wire::complete_checksum(&mut bytes);
                        }
                        capture.frame(at, one.tap as u32, frame.length, &bytes);
                    }
                    let packet = frame::packet(frame.bytes, frame.length, &mut self.streams);
                    one.held.extend(packet.map(|packet| (at, packet)));
                });
            }
            let tap = one.tap;
            seen.extend(one.told(now).map(|(at, packet)| (at, tap, packet)));
        }
        seen.sort_by_key(|(at, _, _)| *at);
        for (at, tap, packet) in &seen {
            counted.frame(*at, *tap, packet);
            kept.frame(*at, *tap, packet);
        }
    }

    /// Returns the capture as pcapng, if the scenario asks for it. `secrets`: of TLS connections.
    pub(crate) fn capture(&self, secrets: &[u8]) -> Option<Vec<u8>> {
        let names: Vec<_> = self.scenario.taps.iter().map(|tap| tap.name.clone()).collect();
        self.capture.as_ref().map(|capture| capture.file(&names, secrets, |_| None))
    }

    /// Fails if a ring was too small for all frames.
    pub(crate) fn complete(&self) -> Result<()> {
        for one in &self.taps {
            for source in &one.sources {
                let dropped = source.ring.dropped()?;
                if dropped > 0 {
                    let name = &self.scenario.taps[one.tap].name;
                    return Err(Error::other(format!("tap {name}: no room for {dropped} packets")));
                }
            }
        }
        Ok(())
    }
}

impl Tapped<'_> {
    /// Takes the frames that no older one can precede.
    fn told(&mut self, now: Time) -> std::vec::Drain<'_, (Time, Packet)> {
        let longest = self.leaving.changes.iter().filter_map(|change| change.delay);
        let late = longest.fold(self.leaving.delay, Span::max) + TOLD_WITHIN;
        let silent_until = Time::from_ns(now.as_ns().saturating_sub(late.as_ns()));
        let until = match self.sources.as_slice() {
            [_] => Time::NEVER,
            all => all.iter().map(|one| one.latest.max(silent_until)).min().unwrap_or(Time::NEVER),
        };
        self.held.sort_by_key(|(at, _)| *at);
        let count = self.held.partition_point(|(at, _)| *at <= until);
        self.held.drain(..count)
    }
}

/// Node of a tap, and the pipe that leaves there.
fn interface(scenario: &Scenario, tap: &scenario::Tap) -> (usize, usize) {
    let node = scenario.nodes.iter().position(|node| node.name == tap.node).unwrap_or(0);
    let link = scenario.links.iter().position(|link| link.name == tap.link).unwrap_or(0);
    (node, 2 * link + usize::from(scenario.links[link].a != tap.node))
}

/// Blocks of each ring: fewer if there are many rings. A ring needs two.
fn blocks(scenario: &Scenario, plan: &Plan) -> Result<usize> {
    let rings: usize = scenario
        .taps
        .iter()
        .map(|tap| interface(scenario, tap))
        .map(|(node, pipe)| 1 + usize::from(plan.queues[pipe].namespace != node))
        .sum();
    let blocks = (ALL_BLOCKS / rings.max(1)).min(RING_BLOCKS);
    if blocks < 2 {
        let most = ALL_BLOCKS / 2;
        let message = format!("taps at {rings} interfaces: a guest has memory for {most}");
        return Err(Error::other(message));
    }
    Ok(blocks)
}

/// Time from a frame's departure from the queue to its passage at the interface.
fn ahead(pipe: &Pipe, at: Time, frame_bytes: u32) -> Span {
    // The delay of the time at which the frame was sent, not of that at which it passes: frames keep their
    // order, so those that were sent before a change have passed by `passed`.
    let since = at.since(Time::ZERO);
    let (mut delay, mut passed) = (pipe.delay, Span::ZERO);
    for (changed, new) in pipe.changes.iter().filter_map(|one| Some((one.at, one.delay?))) {
        passed = passed.max(changed + delay);
        if since <= passed {
            break;
        }
        delay = new;
    }
    match &pipe.shaper {
        Shaper::Serial { rate_bps } if serialised_by_netem(pipe) => {
            let bits = u64::from(pipe.framing.wire_bytes(frame_bytes)) * 8;
            delay + Span::from_ns(bits * 1_000_000_000 / rate_bps.as_bps().max(1))
        }
        Shaper::None | Shaper::Serial { .. } | Shaper::Tbf { .. } | Shaper::Trace { .. } => delay,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::plan;

    #[test]
    fn rings_share_half_of_a_guests_memory() {
        let scenario = Scenario::from_json(include_str!("plan/two-paths.json"));
        let Ok(mut scenario) = scenario else { panic!("{scenario:?}") };
        let Ok(plan) = plan(&scenario, 1) else { panic!("no plan") };
        // A router's interface, whose queue lies in its own namespace: a ring per tap.
        let tap = scenario::Tap { name: "t".into(), node: "r1".into(), link: "s1-r1".into() };
        let found = [1, 16, 17, 64, 128, 129].map(|taps| {
            scenario.taps = vec![tap.clone(); taps];
            blocks(&scenario, &plan).ok()
        });
        assert_eq!(found, [Some(16), Some(16), Some(15), Some(4), Some(2), None]);
    }
}
