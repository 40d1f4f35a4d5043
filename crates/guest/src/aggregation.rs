//! Aggregation of ACKs in the middle of a link: a classifier takes bare ACKs to an interface of this program,
//! which sends them on in batches. Linux has no stage that does it.

use crate::bpf::{Label, Program};
use crate::plan::Plan;
use crate::realise::Namespaces;
use crate::sys;
use dumbbell_model::scenario::AckAggregation;
use dumbbell_packet::wire;
use std::io::{ErrorKind, Result};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// Longest frame.
const FRAME_BYTES: usize = 65_549;
/// Buffer of a socket: all ACKs of a batch, and those in the queue behind it.
const BUFFER_BYTES: i32 = 1 << 27;
/// Results of a classifier.
const MATCHES: i32 = -1;
const OTHER: i32 = 0;

const PASS: Label = "pass";

/// A pipe that aggregates ACKs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Aggregated {
    pub(crate) namespace: usize,
    /// Interface at which the packets of the pipe arrive.
    pub(crate) port: String,
    /// Interface that takes ACKs, and its other end.
    pub(crate) taking: [String; 2],
    /// Interface of the pipe's queue.
    pub(crate) queue: String,
    pub(crate) spec: AckAggregation,
}

/// Makes the classifier that matches TCP segments without payload.
fn classifier() -> Vec<u8> {
    let mut program = Program::default();
    program.only_tcp(PASS);
    program.load_payload_bytes();
    program.unless_equal(7, 0, PASS);
    program.answer(MATCHES);
    program.label(PASS);
    program.answer(OTHER);
    program.bytes()
}

/// Loads the classifier and pins it at `path`, below a mounted bpf file system.
///
/// # Errors
/// Returns the error of the kernel's verifier with the end of its log.
pub(crate) fn pin(path: &str) -> Result<()> {
    sys::bpf_pin_classifier(&classifier(), path)
}

/// One pipe's sockets, and the ACKs that it holds.
struct Aggregator {
    from: OwnedFd,
    to: OwnedFd,
    spec: AckAggregation,
    held: Vec<Vec<u8>>,
    until: Option<i64>,
}

impl Aggregator {
    fn turn(&mut self, now: i64, buffer: &mut [u8]) -> Result<()> {
        loop {
            let length = match sys::receive(self.from.as_fd(), buffer) {
                Ok(length) => length,
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) => return Err(error),
            };
            let mut frame = buffer[..length].to_vec();
            // The sender may have left the checksum to its interface.
            wire::complete_checksum(&mut frame);
            self.held.push(frame);
            if self.held.len() == 1 {
                self.until = Some(now + self.spec.max_wait.as_ns() as i64);
            }
            if self.held.len() >= self.spec.max_acks as usize {
                self.release()?;
            }
        }
        match self.until {
            Some(until) if until <= now => self.release(),
            _ => Ok(()),
        }
    }

    fn release(&mut self) -> Result<()> {
        self.until = None;
        for frame in self.held.drain(..) {
            sys::send(self.to.as_fd(), &frame)?;
        }
        Ok(())
    }
}

/// All pipes of a run that aggregate ACKs.
pub(crate) struct Aggregators {
    all: Vec<Aggregator>,
    buffer: Vec<u8>,
}

impl Aggregators {
    /// Opens the sockets.
    pub(crate) fn open(plan: &Plan, namespaces: &Namespaces) -> Result<Self> {
        let mut all = Vec::with_capacity(plan.aggregated.len());
        for one in &plan.aggregated {
            namespaces.enter(one.namespace)?;
            let from = sys::packet_socket(&one.taking[1], libc::ETH_P_ALL as u16)?;
            let to = sys::packet_socket(&one.queue, 0)?;
            sys::set_option(from.as_fd(), libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, BUFFER_BYTES)?;
            sys::set_option(to.as_fd(), libc::SOL_SOCKET, libc::SO_SNDBUFFORCE, BUFFER_BYTES)?;
            all.push(Aggregator { from, to, spec: one.spec, held: Vec::new(), until: None });
        }
        namespaces.leave()?;
        Ok(Self { all, buffer: vec![0; FRAME_BYTES] })
    }

    /// Takes the ACKs that have come, and sends on the batches that are due.
    pub(crate) fn turn(&mut self, now: i64) -> Result<()> {
        self.all.iter_mut().try_for_each(|one| one.turn(now, &mut self.buffer))
    }

    /// Time of the next batch.
    pub(crate) fn next(&self) -> Option<i64> {
        self.all.iter().filter_map(|one| one.until).min()
    }

    /// Descriptors to wait for.
    pub(crate) fn waits(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.all.iter().map(|one| one.from.as_fd())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bpf::{assert_jumps, run};

    #[test]
    fn segments_without_payload_match() {
        let program = classifier();
        assert_jumps(&program);
        // Header lengths: IP 20, TCP 32. Length of the IP packet: 52, and 53.
        let mut frame = vec![0; 80];
        (frame[12], frame[13], frame[23], frame[46]) = (0x08, 0, 6, 0x80);
        for (length, matches) in [(52, MATCHES), (53, OTHER)] {
            frame[17] = length;
            assert_eq!(run_of(&program, &frame), matches);
        }
        frame[23] = 17;
        assert_eq!(run_of(&program, &frame), OTHER);
    }

    fn run_of(program: &[u8], frame: &[u8]) -> i32 {
        run(program, frame, |_, _| {})
    }
}
