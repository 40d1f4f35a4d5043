//! Lookahead (K. M. Chandy, J. Misra, "Distributed Simulation", IEEE Trans. Software Eng. SE-5(5),
//! 1979). A pipe whose packets all continue over mere delays needs no event per packet: a packet that
//! arrives now leaves the next pipe only after that pipe's delay. Until then arrivals wait, and are
//! handed on together, each with its own time. Their events are inserted earlier than they would be
//! without lookahead: the order of two events of one picosecond may differ.

use crate::network::link::Pipe;
use crate::network::path::Paths;
use dumbbell_model::Scenario;

/// Returns the patient pipes: mere delays that receive all their packets from one pipe, in order. Sets
/// in each pipe before them how long arrivals may wait.
pub(crate) fn patient(
    scenario: &Scenario,
    pipes: &mut [Pipe],
    paths: &Paths,
    flows: usize,
) -> Vec<bool> {
    let mut patient = vec![false; pipes.len()];
    // Observers need each packet at its own event; so do address resolution and choices of the path.
    let observed = !scenario.taps.is_empty()
        || scenario.sampling.hops.is_some()
        || scenario.sampling.capture.is_some();
    if observed || !paths.complete() {
        return patient;
    }
    for (next, before) in feeders(pipes.len(), paths, flows).into_iter().enumerate() {
        let Feeders::One(before) = before else { continue };
        let (delay, mere_delay) = (pipes[next].delay, pipes[next].mere_delay);
        let before = &mut pipes[before];
        if mere_delay && !delay.is_zero() && before.keeps_order {
            patient[next] = true;
            let known = Some(before.lookahead).filter(|known| !known.is_zero());
            before.lookahead = known.map_or(delay, |known| known.min(delay));
        }
    }
    patient
}

/// Origin of a pipe's packets.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Feeders {
    None,
    One(usize),
    /// Several pipes, or a host.
    Others,
}

fn feeders(pipes: usize, paths: &Paths, flows: usize) -> Vec<Feeders> {
    let mut feeders = vec![Feeders::None; pipes];
    for flow in 0..flows {
        for outward in [true, false] {
            let mut feeder = Feeders::Others;
            for pipe in paths.pipes(flow, outward) {
                let known = &mut feeders[pipe];
                *known =
                    if [Feeders::None, feeder].contains(known) { feeder } else { Feeders::Others };
                feeder = Feeders::One(pipe);
            }
        }
    }
    feeders
}
