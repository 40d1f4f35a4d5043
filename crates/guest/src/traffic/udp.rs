//! UDP at a constant bit rate.

use super::datagrams::{self, numbered_datagram, send, send_zeros, Receiver, MOST_BYTES};
use crate::application::{Application, Opening, Probe, Side, TrafficApplication, Wait};
use crate::clock;
use crate::flow_rows::{FlowReport, FlowSampler};
use crate::sys;
use dumbbell_model::scenario::{Codec, Udp};
use dumbbell_model::traffic::TrafficKind;
use std::io::Result;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;

/// Interval at which the receiver reads.
const READ_NS: i64 = 10_000_000;

/// A flow of datagrams.
struct UdpFlow {
    flow: usize,
    spec: Udp,
    start: i64,
    stop: i64,
    sender: OwnedFd,
    receiver: Receiver,
    /// Datagrams sent.
    sent: Arc<AtomicU64>,
    /// True if a separate thread sends.
    alone: bool,
    next_read: i64,
    /// True if a probe per datagram is kept; the receiver then wakes for each.
    keeps_probes: bool,
    probes: Vec<Probe>,
}

impl TrafficApplication for Udp {
    fn open(&self, opening: &Opening<'_>) -> Result<Box<dyn Application>> {
        opening.at_destination()?;
        let receiver = Receiver::open(opening.ends)?;
        opening.at_source()?;
        Ok(Box::new(UdpFlow {
            flow: opening.ends.flow,
            spec: *self,
            start: opening.start,
            stop: opening.stop,
            sender: datagrams::sender(opening.ends)?,
            receiver,
            sent: Arc::default(),
            alone: false,
            next_read: opening.start + READ_NS,
            keeps_probes: opening.scenario.sampling.probes,
            probes: Vec::new(),
        }))
    }
}

impl UdpFlow {
    /// Datagrams sent.
    fn sent(&self) -> u64 {
        self.sent.load(Ordering::Relaxed)
    }

    /// Time at which datagram `number` is due.
    fn due(&self, number: u64) -> i64 {
        self.start + due_ns(&self.spec, number)
    }

    /// Returns true if a separate thread sends, as an ordinary program that wakes with other timers
    /// within the timer slack. With probes it does not, since each time of sending is noted.
    fn sleeps(&self) -> bool {
        self.spec.sleeps && !self.keeps_probes
    }

    fn send_due(&mut self, now: i64) -> Result<()> {
        while self.due(self.sent()) <= now && self.due(self.sent()) < self.stop {
            let number = self.sent.fetch_add(1, Ordering::Relaxed);
            let bytes = payload_bytes(&self.spec);
            if self.keeps_probes {
                self.probes.push(Probe { sent: now, delay: None });
                send(self.sender.as_fd(), &numbered_datagram(number, bytes))?;
            } else {
                send_zeros(self.sender.as_fd(), bytes)?;
            }
        }
        Ok(())
    }

    fn begin_alone(&self) -> Result<()> {
        let (spec, sent) = (self.spec, Arc::clone(&self.sent));
        let length = self.stop.saturating_sub(self.start);
        let socket = self.sender.as_fd().try_clone_to_owned()?;
        sys::ordinary_program(move || {
            let begin = clock::monotonic_ns()?;
            loop {
                let due = due_ns(&spec, sent.load(Ordering::Relaxed));
                if due >= length {
                    return Ok(());
                }
                let wait = begin + due - clock::monotonic_ns()?;
                if wait > 0 {
                    sys::sleep_ns(wait as u64);
                }
                sent.fetch_add(1, Ordering::Relaxed);
                send_zeros(socket.as_fd(), payload_bytes(&spec))?;
            }
        })
    }

    /// Reads what has arrived.
    fn read(&mut self, now: i64) -> Result<()> {
        if self.keeps_probes {
            self.receiver.read_probes(now, &mut self.probes)
        } else {
            self.receiver.read(now)
        }
    }
}

impl Application for UdpFlow {
    fn next(&self) -> Option<i64> {
        if self.sleeps() {
            return Some(if self.alone { self.next_read } else { self.start });
        }
        let due = self.due(self.sent());
        Some(if due < self.stop { due.min(self.next_read) } else { self.next_read })
    }

    /// Performs the actions that are due.
    fn turn(&mut self, now: i64) -> Result<()> {
        if self.sleeps() {
            if !self.alone && now >= self.start {
                self.alone = true;
                self.begin_alone()?;
            }
        } else {
            self.send_due(now)?;
        }
        if now >= self.next_read || self.keeps_probes {
            self.next_read = now + READ_NS;
            self.read(now)?;
        }
        Ok(())
    }

    fn waits(&self) -> Vec<Wait<'_>> {
        let each = self.keeps_probes.then(|| (Side::Receiver, self.receiver.as_fd(), libc::POLLIN));
        each.into_iter().collect()
    }

    fn sample(&mut self, now: i64, sampler: &mut FlowSampler<'_>) -> Result<()> {
        sampler.delivered(self.flow, now, self.receiver.received_bytes);
        Ok(())
    }

    fn finish(&mut self, end: i64) -> Result<()> {
        self.read(end)
    }

    fn report(&self, report: &mut FlowReport<'_>) -> Result<()> {
        let row = &mut report.flows[self.flow];
        row.codec = self.spec.codec.map_or("", Codec::name).to_owned();
        let fragments = self.spec.carrier().fragments();
        report.datagrams(
            self.flow,
            self.start,
            self.sent(),
            fragments,
            self.sent() * self.spec.datagram_bytes,
        );
        report.delivered(self.flow, self.receiver.received_bytes, self.receiver.last_delivery);
        Ok(())
    }

    fn probes(&self) -> Option<(&'static str, &[Probe])> {
        Some(("one_way", &self.probes))
    }
}

/// Time at which datagram `number` is sent, from the start, ns. With an interval, datagrams due since its
/// last multiple are sent together at the next, as by iperf3.
fn due_ns(spec: &Udp, number: u64) -> i64 {
    let bits = u128::from(number) * u128::from(spec.datagram_bytes) * 8;
    let ns = bits * 1_000_000_000 / u128::from(spec.rate_bps.as_bps().max(1));
    let interval = u128::from(spec.interval.as_ns());
    let at = if interval == 0 { ns } else { ns.next_multiple_of(interval) };
    at as i64
}

fn payload_bytes(spec: &Udp) -> usize {
    (spec.datagram_bytes as usize).min(MOST_BYTES)
}
