//! QUIC: a stack at both ends over the kernel's UDP.

use super::datagrams::{self, send};
use crate::application::{Application, Opening, Side, TrafficApplication, Wait};
use crate::flow_rows::{FlowReport, FlowSampler};
use crate::sys;
use dumbbell_model::stack_rows::{self, WindowSums};
use dumbbell_model::tables::SampleRow;
use dumbbell_model::traffic::{Quic, QuicStack};
use dumbbell_stack::{Log, Maker, Side as End, Stack};
use std::io::{Error, ErrorKind, Result};
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

/// Largest datagram that is read.
const MOST_BYTES: usize = 65_536;

/// A connection.
struct QuicFlow {
    flow: usize,
    label: String,
    stack: Box<dyn Stack>,
    dscp: u8,
    start: i64,
    stop: i64,
    opened: bool,
    stopped: bool,
    /// Sockets of client and server, and the ECN field that each sends with.
    sockets: [(OwnedFd, u8); 2],
    /// Deadline of both ends.
    next: Option<i64>,
    /// Datagrams and payload that the client sent.
    sent: u64,
    sent_bytes: u64,
    windows: WindowSums,
    secrets: Log,
    buffer: Vec<u8>,
}

impl TrafficApplication for Quic {
    fn open(&self, opening: &Opening<'_>) -> Result<Box<dyn Application>> {
        let nodes = opening.nodes.map(|node| opening.scenario.nodes[node].tcp.as_ref());
        let mtus = nodes.into_iter().flatten().map(|tcp| tcp.mtu_bytes);
        let spec = self.spec(mtus.min().unwrap_or(0), opening.rng("stack"));
        let made = match self.stack {
            QuicStack::Quinn => dumbbell_quinn::Quinn.make(&spec),
            QuicStack::S2n => dumbbell_s2n::S2n.make(&spec),
            QuicStack::Own => Err("the stack own runs in the simulator alone".to_owned()),
        };
        opening.at_destination()?;
        let server = datagrams::server(opening.ends)?;
        opening.at_source()?;
        let client = datagrams::sender(opening.ends)?;
        for socket in [&client, &server] {
            sys::set_option(socket.as_fd(), libc::IPPROTO_IP, libc::IP_RECVTOS, 1)?;
        }
        Ok(Box::new(QuicFlow {
            flow: opening.ends.flow,
            label: self.label(),
            stack: made.map_err(Error::other)?,
            dscp: opening.ends.dscp,
            start: opening.start,
            stop: opening.stop,
            opened: false,
            stopped: false,
            sockets: [(client, 0), (server, 0)],
            next: None,
            sent: 0,
            sent_bytes: 0,
            windows: WindowSums::default(),
            secrets: spec.secrets,
            buffer: vec![0; MOST_BYTES],
        }))
    }
}

impl QuicFlow {
    /// Receives what has arrived at an end. Returns true if something has.
    fn receive(&mut self, now: Duration, end: End) -> Result<bool> {
        let (socket, _) = &self.sockets[end as usize];
        let mut some = false;
        loop {
            match sys::receive_with_tos(socket.as_fd(), &mut self.buffer) {
                Ok((bytes, tos)) => {
                    some = true;
                    self.stack.receive(now, end, tos & 3, &self.buffer[..bytes]);
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(some),
                // ICMP of a datagram that came before the other socket, or after it.
                Err(error) if error.kind() == ErrorKind::ConnectionRefused => {}
                Err(error) => return Err(error),
            }
        }
    }

    fn transmit(&mut self, now: Duration, end: End) -> Result<()> {
        let mut out = Vec::new();
        while let Some(sent) = self.stack.transmit(now, end, &mut out) {
            let (socket, ecn_field) = &mut self.sockets[end as usize];
            if *ecn_field != sent.ecn_field {
                *ecn_field = sent.ecn_field;
                sys::set_tos(socket.as_fd(), self.dscp << 2 | sent.ecn_field)?;
            }
            for datagram in out.chunks(sent.datagram_bytes.max(1)) {
                if end == End::Client {
                    self.sent += 1;
                    self.sent_bytes += datagram.len() as u64;
                }
                send(socket.as_fd(), datagram)?;
            }
            out.clear();
        }
        Ok(())
    }
}

impl Application for QuicFlow {
    fn next(&self) -> Option<i64> {
        let begins = (!self.opened).then_some(self.start);
        let stops = (self.opened && !self.stopped).then_some(self.stop);
        [begins, stops, self.next].into_iter().flatten().min()
    }

    fn turn(&mut self, now: i64) -> Result<()> {
        let at = Duration::from_nanos(now.max(0) as u64);
        let mut acts = false;
        if !self.opened {
            if now < self.start {
                return Ok(());
            }
            (self.opened, acts) = (true, true);
            self.stack.open(at);
        }
        if !self.stopped && now >= self.stop {
            (self.stopped, acts) = (true, true);
            self.stack.stop(at);
            self.windows.stop(u64::try_from(at.as_nanos()).unwrap_or(u64::MAX));
        }
        // Each end acts at its own events alone, as if it were a program of its own.
        for end in End::BOTH {
            let mut acts = acts && end == End::Client;
            acts |= self.receive(at, end)?;
            if self.stack.deadline(end).is_some_and(|due| due <= at) {
                self.stack.wake(at, end);
                acts = true;
            }
            if acts {
                self.transmit(at, end)?;
            }
        }
        let deadlines = End::BOTH.map(|end| self.stack.deadline(end));
        let earliest = deadlines.into_iter().flatten().min();
        self.next = earliest.map(|at| i64::try_from(at.as_nanos()).unwrap_or(i64::MAX));
        Ok(())
    }

    fn waits(&self) -> Vec<Wait<'_>> {
        let sides = [Side::Sender, Side::Receiver];
        let sockets = sides.into_iter().zip(&self.sockets);
        sockets.map(|(side, (socket, _))| (side, socket.as_fd(), libc::POLLIN)).collect()
    }

    fn sample(&mut self, now: i64, sampler: &mut FlowSampler<'_>) -> Result<()> {
        let state = self.stack.state();
        if now <= self.stop {
            self.windows.add(&state);
        }
        let flow = sampler.scenario.flows[self.flow].name.clone();
        let mut row = SampleRow { time_ns: now.into(), flow, ..SampleRow::default() };
        stack_rows::fill_sample(&state, &mut row);
        sampler.push(row);
        Ok(())
    }

    fn report(&self, report: &mut FlowReport<'_>) -> Result<()> {
        report.datagrams(self.flow, self.start, self.sent, 1, self.sent_bytes);
        let (state, end) = (self.stack.state(), report.end.max(0) as u64);
        let row = &mut report.flows[self.flow];
        self.windows.fill_flow(&state, &self.label, end, row);
        let transfer = stack_rows::transfer(&state, row);
        report.transfers.extend(transfer);
        Ok(())
    }

    fn secrets(&self) -> Vec<u8> {
        self.secrets.bytes()
    }
}
