//! The applications: the client writes streams, the server reads them.

use crate::signal::Signal;
use bytes::Bytes;
use s2n_quic_core::application;
use s2n_quic_core::stream::ops::Status;
use s2n_quic_core::stream::StreamType;
use s2n_quic_transport::connection::Connection;
use s2n_quic_transport::endpoint::connect::{Attempt, Connect};
use s2n_quic_transport::endpoint::handle::{Acceptor, Connector};
use s2n_quic_transport::stream::{ReceiveStream, SendStream};
use std::future::Future as _;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

/// Length of a write.
const WRITE_BYTES: usize = 1 << 16;
static ZEROS: [u8; WRITE_BYTES] = [0; WRITE_BYTES];
/// Pieces of one read.
const PIECES: usize = 16;

/// An end's application. It is polled when its signal was set.
pub(crate) trait Application: Send {
    fn poll(&mut self, now: Duration, signal: &Arc<Signal>);
}

/// A stream that is written.
struct Written {
    stream: SendStream,
    /// Bytes to be written yet; `None`: without end.
    left: Option<u64>,
    acknowledged: bool,
    signal: Arc<Signal>,
}

impl Written {
    /// Writes what the stream accepts, if that has changed.
    fn write(&mut self) {
        if !self.signal.take() {
            return;
        }
        let waker = self.signal.waker();
        let context = &Context::from_waker(&waker);
        loop {
            let most = self.left.unwrap_or(u64::MAX).min(WRITE_BYTES as u64) as usize;
            let mut chunks = [Bytes::from_static(&ZEROS[..most])];
            let Ok(mut request) = self.stream.tx_request() else { return };
            if most == 0 {
                // The waker is kept until all is acknowledged.
                let answer = request.finish().flush().poll(Some(context));
                self.acknowledged |= answer.is_ok_and(|answer| answer.status == Status::Finished);
                return;
            }
            let Ok(answer) = request.send(&mut chunks).poll(Some(context)) else { return };
            if answer.bytes.consumed == 0 {
                return;
            }
            self.left = self.left.map(|left| left - answer.bytes.consumed as u64);
        }
    }
}

/// The client's application.
pub(crate) struct Writer {
    connector: Connector,
    attempt: Option<Attempt>,
    connection: Option<Connection>,
    streams: Vec<Written>,
    wanted: u32,
    bytes: Option<u64>,
    stopped: bool,
    /// Time at which the connection was established.
    pub(crate) established: Option<Duration>,
    /// Time at which all data was acknowledged.
    pub(crate) acknowledged: Option<Duration>,
}

impl Writer {
    pub(crate) fn new(connector: Connector, streams: u32, bytes: Option<u64>) -> Self {
        Self {
            connector,
            attempt: None,
            connection: None,
            streams: Vec::new(),
            wanted: streams,
            bytes,
            stopped: false,
            established: None,
            acknowledged: None,
        }
    }

    /// Asks for the connection.
    pub(crate) fn open(&mut self, server: SocketAddr) {
        let connect = Connect::new(server).with_server_name("server");
        self.attempt = Some(self.connector.connect(connect));
    }

    /// Abandons what was written and not sent.
    pub(crate) fn stop(&mut self) {
        self.stopped = true;
        for written in &mut self.streams {
            // A stream that is finished already has nothing left to abandon.
            let _ = written.stream.reset(application::Error::UNKNOWN);
        }
    }

    /// Opens the streams.
    fn open_streams(&mut self, signal: &Arc<Signal>, context: &Context<'_>) {
        let Some(connection) = &mut self.connection else { return };
        let wanted = u64::from(self.wanted);
        while (self.streams.len() as u64) < wanted && !self.stopped {
            let opened = connection.poll_open_stream(StreamType::Unidirectional, context);
            let Poll::Ready(Ok(stream)) = opened else { return };
            let number = self.streams.len() as u64;
            // The first streams carry what does not divide.
            let left = self.bytes.map(|all| all / wanted + u64::from(number < all % wanted));
            let (stream, signal) = (stream.into(), Signal::new(Some(signal)));
            self.streams.push(Written { stream, left, acknowledged: false, signal });
        }
    }
}

impl Application for Writer {
    fn poll(&mut self, now: Duration, signal: &Arc<Signal>) {
        let waker = signal.waker();
        let context = &mut Context::from_waker(&waker);
        if let Some(attempt) = &mut self.attempt {
            match Pin::new(attempt).poll(context) {
                Poll::Pending => return,
                Poll::Ready(outcome) => {
                    self.attempt = None;
                    self.connection = outcome.ok();
                    self.established = self.connection.is_some().then_some(now);
                }
            }
        }
        self.open_streams(signal, context);
        if self.stopped {
            return;
        }
        for written in &mut self.streams {
            written.write();
        }
        let all = self.streams.len() == self.wanted as usize;
        if all && self.streams.iter().all(|written| written.acknowledged) {
            self.acknowledged.get_or_insert(now);
        }
    }
}

/// A stream that is read.
struct Read {
    stream: ReceiveStream,
    signal: Arc<Signal>,
}

/// The server's application.
pub(crate) struct Reader {
    acceptor: Acceptor,
    connection: Option<Connection>,
    streams: Vec<Read>,
    pub(crate) bytes: u64,
    pub(crate) last: Option<Duration>,
}

impl Reader {
    pub(crate) fn new(acceptor: Acceptor) -> Self {
        Self { acceptor, connection: None, streams: Vec::new(), bytes: 0, last: None }
    }
}

impl Read {
    /// Reads what has arrived in order, if anything has. Returns its length, and whether more may come.
    fn read(&mut self) -> (u64, bool) {
        let mut bytes = 0;
        if !self.signal.take() {
            return (bytes, true);
        }
        let waker = self.signal.waker();
        let context = &mut Context::from_waker(&waker);
        loop {
            let mut chunks = [const { Bytes::new() }; PIECES];
            match self.stream.poll_receive_vectored(&mut chunks, context) {
                Poll::Pending => return (bytes, true),
                Poll::Ready(Err(_)) => return (bytes, false),
                Poll::Ready(Ok((consumed, open))) => {
                    bytes += chunks[..consumed].iter().map(|chunk| chunk.len() as u64).sum::<u64>();
                    if !open {
                        return (bytes, false);
                    }
                }
            }
        }
    }
}

impl Application for Reader {
    fn poll(&mut self, now: Duration, signal: &Arc<Signal>) {
        let waker = signal.waker();
        let context = &mut Context::from_waker(&waker);
        if self.connection.is_none() {
            let Poll::Ready(accepted) = self.acceptor.poll_accept(context) else { return };
            self.connection = accepted;
        }
        let Some(connection) = &mut self.connection else { return };
        while let Poll::Ready(Ok(Some(stream))) =
            connection.poll_accept(Some(StreamType::Unidirectional), context)
        {
            let (stream, signal) = (stream.into(), Signal::new(Some(signal)));
            self.streams.push(Read { stream, signal });
        }
        self.streams.retain_mut(|stream| {
            let (bytes, open) = stream.read();
            if bytes > 0 {
                self.bytes += bytes;
                self.last = Some(now);
            }
            open
        });
    }
}
