//! The applications: the client writes streams, the server reads them.

use bytes::Bytes;
use quinn_proto::{Connection, Dir, StreamEvent, StreamId, VarInt, WriteError};
use std::time::Duration;

/// Length of a write.
const WRITE_BYTES: usize = 1 << 16;
static ZEROS: [u8; WRITE_BYTES] = [0; WRITE_BYTES];
/// Most bytes of one read.
const READ_BYTES: usize = usize::MAX;

/// A stream that is written.
struct Written {
    id: StreamId,
    /// Bytes to be written yet; `None`: without end.
    left: Option<u64>,
}

/// The client's application.
pub(crate) struct Writer {
    streams: Vec<Written>,
    /// Streams that are not acknowledged.
    open: usize,
    wanted: u32,
    bytes: Option<u64>,
    stopped: bool,
    /// Time at which all data was acknowledged.
    pub(crate) acknowledged: Option<Duration>,
}

impl Writer {
    pub(crate) fn new(streams: u32, bytes: Option<u64>) -> Self {
        let wanted = streams;
        let (streams, open) = (Vec::new(), 0);
        Self { streams, open, wanted, bytes, stopped: false, acknowledged: None }
    }

    /// Opens the streams.
    pub(crate) fn connected(&mut self, connection: &mut Connection) {
        let wanted = u64::from(self.wanted);
        for number in 0..wanted {
            let Some(id) = connection.streams().open(Dir::Uni) else { break };
            // The first streams carry what does not divide.
            let left = self.bytes.map(|all| all / wanted + u64::from(number < all % wanted));
            self.streams.push(Written { id, left });
        }
        self.open = self.streams.len();
        self.write(connection);
    }

    /// Writes to all streams what they accept.
    fn write(&mut self, connection: &mut Connection) {
        for number in 0..self.streams.len() {
            self.write_stream(number, connection);
        }
    }

    fn write_stream(&mut self, number: usize, connection: &mut Connection) {
        if self.stopped {
            return;
        }
        let stream = &mut self.streams[number];
        loop {
            let most = stream.left.unwrap_or(u64::MAX).min(WRITE_BYTES as u64) as usize;
            if most == 0 {
                // Twice is no error that matters here.
                let _ = connection.send_stream(stream.id).finish();
                return;
            }
            let mut chunks = [Bytes::from_static(&ZEROS[..most])];
            match connection.send_stream(stream.id).write_chunks(&mut chunks) {
                Ok(written) => {
                    stream.left = stream.left.map(|left| left - written.bytes as u64);
                }
                Err(WriteError::Blocked | WriteError::Stopped(_) | WriteError::ClosedStream) => {
                    return;
                }
            }
        }
    }

    /// Abandons what was written and not sent.
    pub(crate) fn stop(&mut self, connection: &mut Connection) {
        self.stopped = true;
        for stream in &self.streams {
            // A stream that is finished already has nothing left to abandon.
            let _ = connection.send_stream(stream.id).reset(VarInt::from_u32(0));
        }
    }

    pub(crate) fn on_event(
        &mut self,
        now: Duration,
        event: &StreamEvent,
        connection: &mut Connection,
    ) {
        match event {
            StreamEvent::Writable { id } => {
                if let Some(number) = self.streams.iter().position(|stream| stream.id == *id) {
                    self.write_stream(number, connection);
                }
            }
            StreamEvent::Finished { .. } => {
                self.open = self.open.saturating_sub(1);
                if self.open == 0 && !self.stopped {
                    self.acknowledged.get_or_insert(now);
                }
            }
            _ => {}
        }
    }
}

/// The server's application.
#[derive(Default)]
pub(crate) struct Reader {
    pub(crate) bytes: u64,
    pub(crate) last: Option<Duration>,
}

impl Reader {
    pub(crate) fn on_event(
        &mut self,
        now: Duration,
        event: &StreamEvent,
        connection: &mut Connection,
    ) {
        match event {
            StreamEvent::Opened { dir: Dir::Uni } => {
                while let Some(id) = connection.streams().accept(Dir::Uni) {
                    self.read(now, id, connection);
                }
            }
            StreamEvent::Readable { id } => self.read(now, *id, connection),
            _ => {}
        }
    }

    /// Reads what has arrived in order.
    fn read(&mut self, now: Duration, id: StreamId, connection: &mut Connection) {
        let mut stream = connection.recv_stream(id);
        let Ok(mut chunks) = stream.read(true) else { return };
        while let Ok(Some(chunk)) = chunks.next(READ_BYTES) {
            self.bytes += chunk.bytes.len() as u64;
            self.last = Some(now);
        }
        // The next `poll_transmit` sends what this asks for.
        let _ = chunks.finalize();
    }
}
