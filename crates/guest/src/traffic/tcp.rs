//! A TCP flow: a stream, a connection of a page, or a subflow of Multipath TCP.

use super::stream::{set_congestion_control, set_socket_options, Notes, Parts, Phase, Stream};
use super::{mptcp, web};
use crate::application::{Application, Ends, Opening, Side, TrafficApplication, Wait};
use crate::flow_rows::{FlowReport, FlowSampler};
use crate::info::TcpInfo;
use crate::sys;
use dumbbell_model::scenario::{Source, Tcp};
use std::io::Result;
use std::os::fd::{AsFd, OwnedFd};

/// A flow between two hosts.
struct TcpFlow {
    flow: usize,
    spec: Tcp,
    stream: Stream,
    received: Received,
}

/// Latest state of the receiver's socket.
#[derive(Default)]
struct Received(Option<TcpInfo>);

impl Notes for Received {
    fn closed(&mut self, stream: &Stream) -> Result<bool> {
        // 7: TCP_CLOSE, 6: TCP_TIME_WAIT, 5: TCP_FIN_WAIT2.
        Ok(matches!(TcpInfo::of(stream.sender.as_fd())?.state(), 5..=7))
    }

    fn read_all(&mut self, stream: &Stream) -> Result<()> {
        if let Some(receiver) = &stream.receiver {
            self.0 = Some(TcpInfo::of(receiver.as_fd())?);
        }
        Ok(())
    }
}

impl TrafficApplication for Tcp {
    fn open(&self, opening: &Opening<'_>) -> Result<Box<dyn Application>> {
        match self.source {
            Source::Session | Source::Messages => web::open(self, opening),
            Source::Subflow => mptcp::open(self, opening),
            Source::Bulk { .. } | Source::Periodic { .. } | Source::OnOff { .. } => {
                opening.at_destination()?;
                let listener = listen(opening.ends, self)?;
                opening.at_source()?;
                let sender = connecting(opening.ends, self)?;
                let ends = opening.ends;
                let stream = Stream::new(Parts {
                    listener,
                    sender,
                    target: sys::inet(ends.to, ends.server_port()),
                    writer: opening.writer(self.source),
                    sink: self.sink,
                    start: opening.start,
                    stop: opening.stop,
                });
                let (flow, spec) = (ends.flow, self.clone());
                Ok(Box::new(TcpFlow { flow, spec, stream, received: Received::default() }))
            }
        }
    }
}

/// Opens the listening socket; called in the receiver's namespace.
fn listen(ends: Ends, spec: &Tcp) -> Result<OwnedFd> {
    let listener = sys::socket(libc::AF_INET, libc::SOCK_STREAM | libc::SOCK_NONBLOCK, 0)?;
    if spec.congestion_control.entry().needs_ecn {
        set_congestion_control(listener.as_fd(), spec.congestion_control)?;
    }
    sys::set_option(listener.as_fd(), libc::SOL_SOCKET, libc::SO_REUSEADDR, 1)?;
    sys::bind(listener.as_fd(), &sys::inet(ends.to, ends.server_port()))?;
    sys::set_dscp(listener.as_fd(), ends.dscp)?;
    sys::listen(listener.as_fd())?;
    Ok(listener)
}

/// Opens the connecting socket; called in the sender's namespace.
fn connecting(ends: Ends, spec: &Tcp) -> Result<OwnedFd> {
    let sender = sys::socket(libc::AF_INET, libc::SOCK_STREAM | libc::SOCK_NONBLOCK, 0)?;
    set_congestion_control(sender.as_fd(), spec.congestion_control)?;
    set_socket_options(sender.as_fd(), spec)?;
    sys::bind(sender.as_fd(), &sys::inet(ends.from, ends.client_port()))?;
    sys::set_dscp(sender.as_fd(), ends.dscp)?;
    Ok(sender)
}

impl Application for TcpFlow {
    fn next(&self) -> Option<i64> {
        self.stream.next()
    }

    fn turn(&mut self, now: i64) -> Result<()> {
        self.stream.turn(now, &mut self.received)
    }

    fn waits(&self) -> Vec<Wait<'_>> {
        self.stream.waits()
    }

    fn happened(&mut self, side: Side) {
        self.stream.happened(side);
    }

    fn sample(&mut self, now: i64, sampler: &mut FlowSampler<'_>) -> Result<()> {
        if !self.stream.is_open() {
            return Ok(());
        }
        let received_bytes = match (&self.stream.receiver, &self.received.0) {
            (Some(receiver), _) => TcpInfo::of(receiver.as_fd())?.bytes_received(),
            (None, Some(last)) => last.bytes_received(),
            (None, None) => 0,
        };
        sampler.socket(self.flow, now, self.stream.sender.as_fd(), received_bytes)
    }

    fn finish(&mut self, end: i64) -> Result<()> {
        if let Some(receiver) = &self.stream.receiver {
            let info = TcpInfo::of(receiver.as_fd())?;
            if info.bytes_received() > 0 {
                let ago = i64::from(info.last_data_received_ms()) * 1_000_000;
                self.stream.last_delivery = Some(end - ago);
            }
            self.received.0 = Some(info);
        }
        Ok(())
    }

    fn report(&self, report: &mut FlowReport<'_>) -> Result<()> {
        let stream = &self.stream;
        let end = stream.finished_at(report.end);
        let mut delivered_bytes = 0;
        let row = &mut report.flows[self.flow];
        row.kind = "tcp".to_owned();
        row.congestion_control = self.spec.congestion_control.linux_name().to_owned();
        row.start_ns = stream.start.into();
        row.established_ns = stream.established.into();
        row.end_ns = end.into();
        if let Some(received) = &self.received.0 {
            // The kernel counts the FIN as a received byte.
            let fin = u64::from(stream.receiver.is_none());
            delivered_bytes = received.bytes_received().saturating_sub(fin);
            row.received_packets = received.segments_in().into();
        }
        report.delivered(self.flow, delivered_bytes, stream.last_delivery);
        report.sender(self.flow, &TcpInfo::of(stream.sender.as_fd())?);
        if let (Phase::Finished { .. }, Some(last)) = (stream.phase, stream.last_delivery) {
            report.transfer(self.flow, stream.start, last);
        }
        Ok(())
    }
}
