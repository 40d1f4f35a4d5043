//! Video over UDP: frames while it is on, nothing while it is off.

use super::datagrams::{self, numbered_datagram, send, Receiver};
use crate::application::{Application, Opening, Probe, Side, TrafficApplication, Wait};
use crate::flow_rows::{FlowReport, FlowSampler};
use dumbbell_model::traffic::Video;
use dumbbell_model::writer::Writer;
use dumbbell_model::Time;
use std::io::Result;
use std::os::fd::{AsFd, OwnedFd};

/// Interval at which the receiver reads, unless every datagram is a probe.
const READ_NS: i64 = 10_000_000;

/// A flow of video.
struct VideoFlow {
    flow: usize,
    spec: Video,
    writer: Writer,
    start: i64,
    stop: i64,
    next_frame: i64,
    next_read: i64,
    sender: OwnedFd,
    receiver: Receiver,
    /// Payload sent so far.
    sent_bytes: u64,
    sent: u64,
    keeps_probes: bool,
    probes: Vec<Probe>,
}

impl TrafficApplication for Video {
    fn open(&self, opening: &Opening<'_>) -> Result<Box<dyn Application>> {
        opening.at_destination()?;
        let receiver = Receiver::open(opening.ends)?;
        opening.at_source()?;
        Ok(Box::new(VideoFlow {
            flow: opening.ends.flow,
            spec: *self,
            writer: Writer::new(self.source(), opening.rng("source")),
            start: opening.start,
            stop: opening.stop,
            next_frame: opening.start,
            next_read: opening.start + READ_NS,
            sender: datagrams::sender(opening.ends)?,
            receiver,
            sent_bytes: 0,
            sent: 0,
            keeps_probes: opening.scenario.sampling.probes,
            probes: Vec::new(),
        }))
    }
}

impl VideoFlow {
    fn send_frame(&mut self, now: i64) -> Result<()> {
        self.writer.act(Time::from_ns(self.next_frame as u64));
        self.next_frame = self.writer.next().map_or(i64::MAX, |at| at.as_ns() as i64);
        for bytes in self.spec.datagrams(self.writer.left(self.sent_bytes)) {
            if self.keeps_probes {
                self.probes.push(Probe { sent: now, delay: None });
            }
            send(self.sender.as_fd(), &numbered_datagram(self.sent, bytes as usize))?;
            self.sent += 1;
            self.sent_bytes += bytes;
        }
        Ok(())
    }

    fn read(&mut self, now: i64) -> Result<()> {
        self.receiver.read_probes(now, &mut self.probes)
    }
}

impl Application for VideoFlow {
    fn next(&self) -> Option<i64> {
        let frame = Some(self.next_frame).filter(|&at| at < self.stop);
        frame.into_iter().chain([self.next_read]).min()
    }

    fn turn(&mut self, now: i64) -> Result<()> {
        while self.next_frame <= now && self.next_frame < self.stop {
            self.send_frame(now)?;
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
        report.datagrams(self.flow, self.start, self.sent, 1, self.sent_bytes);
        report.delivered(self.flow, self.receiver.received_bytes, self.receiver.last_delivery);
        Ok(())
    }

    fn probes(&self) -> Option<(&'static str, &[Probe])> {
        Some(("one_way", &self.probes))
    }
}
