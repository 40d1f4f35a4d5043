//! A connection of a page load: requests in transit to the server and responses in transit to the
//! client.

use dumbbell_model::Time;
use std::collections::VecDeque;

/// Payload of an HTTP/2 frame (initial value of SETTINGS_MAX_FRAME_SIZE, RFC 9113 §6.5.2).
const FRAME_BYTES: u64 = 16_384;
/// Header of an HTTP/2 frame (RFC 9113 §4.1).
const FRAME_HEADER_BYTES: u64 = 9;

/// Subject of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    /// Exchange of the connection set-up, by index.
    Setup(usize),
    /// Object, by index.
    Object(usize),
}

/// Request that the server has not completely received.
#[derive(Clone, Copy, Debug)]
struct Request {
    target: Target,
    /// End of the request in the client's stream.
    end: u64,
}

/// Response that is not completely written.
#[derive(Clone, Copy, Debug)]
struct Response {
    target: Target,
    left_bytes: u64,
}

/// Part of a response in the server's stream.
#[derive(Clone, Copy, Debug)]
struct Piece {
    target: Target,
    start: u64,
    end: u64,
    last: bool,
}

/// State of a connection at the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// Not opened.
    Unused,
    /// Waiting for the handshake.
    Opening,
    /// Waiting for the response of a set-up exchange.
    SettingUp(usize),
    /// Ready for requests.
    Open,
    Closed,
}

/// Response data that the client has received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Read {
    pub(crate) target: Target,
    /// True if the response is complete.
    pub(crate) complete: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct Connection {
    pub(crate) origin: usize,
    pub(crate) state: State,
    /// Number of requests without a complete response.
    pub(crate) waiting: usize,
    requested_bytes: u64,
    requests: VecDeque<Request>,
    responses: VecDeque<Response>,
    written_bytes: u64,
    pieces: VecDeque<Piece>,
    /// Responses that the server is preparing, with the times at which they are ready and their
    /// lengths.
    pub(crate) preparing: Vec<(Time, Target, u64)>,
}

impl Connection {
    pub(crate) fn new(origin: usize) -> Self {
        Self {
            origin,
            state: State::Unused,
            waiting: 0,
            requested_bytes: 0,
            requests: VecDeque::new(),
            responses: VecDeque::new(),
            written_bytes: 0,
            pieces: VecDeque::new(),
            preparing: Vec::new(),
        }
    }

    /// Adds a request of `bytes` bytes.
    pub(crate) fn request(&mut self, target: Target, bytes: u64) {
        self.requested_bytes += bytes;
        self.waiting += 1;
        self.requests.push_back(Request { target, end: self.requested_bytes });
    }

    /// Processes the server's total of received bytes. Returns the requests that are now complete,
    /// in order.
    pub(crate) fn server_read(&mut self, total_bytes: u64) -> Vec<Target> {
        let mut complete = Vec::new();
        while self.requests.front().is_some_and(|request| request.end <= total_bytes) {
            complete.extend(self.requests.pop_front().map(|request| request.target));
        }
        complete
    }

    /// Adds a response.
    pub(crate) fn respond(&mut self, target: Target, bytes: u64) {
        self.responses.push_back(Response { target, left_bytes: bytes });
    }

    /// Length of the server's next write: a complete response for HTTP/1.1, one frame of each response
    /// in turn for HTTP/2.
    pub(crate) fn write(&mut self, frames: bool) -> Option<u64> {
        let mut response = self.responses.pop_front()?;
        let framed = frames && matches!(response.target, Target::Object(_));
        let payload =
            if framed { response.left_bytes.min(FRAME_BYTES) } else { response.left_bytes };
        let bytes = payload + if framed { FRAME_HEADER_BYTES } else { 0 };
        response.left_bytes -= payload;
        let start = self.written_bytes;
        self.written_bytes += bytes;
        let (last, end) = (response.left_bytes == 0, self.written_bytes);
        self.pieces.push_back(Piece { target: response.target, start, end, last });
        if !last {
            self.responses.push_back(response);
        }
        Some(bytes)
    }

    /// Processes the client's total of received bytes.
    pub(crate) fn client_read(&mut self, total_bytes: u64) -> Vec<Read> {
        let mut found: Vec<Read> = Vec::new();
        while let Some(&piece) = self.pieces.front().filter(|piece| piece.start < total_bytes) {
            let all = piece.end <= total_bytes;
            found.push(Read { target: piece.target, complete: all && piece.last });
            if !all {
                break;
            }
            self.pieces.pop_front();
        }
        self.waiting -= found.iter().filter(|read| read.complete).count();
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_of_answers_take_turns() {
        let mut connection = Connection::new(0);
        connection.respond(Target::Object(0), 40_000);
        connection.respond(Target::Object(1), 10_000);
        let written: Vec<_> = std::iter::from_fn(|| connection.write(true)).collect();
        assert_eq!(written, [16_393, 10_009, 16_393, 7_241]);
    }

    #[test]
    fn one_answer_follows_another() {
        let mut connection = Connection::new(0);
        connection.respond(Target::Setup(0), 100);
        connection.respond(Target::Object(1), 10_000);
        let written: Vec<_> = std::iter::from_fn(|| connection.write(false)).collect();
        assert_eq!(written, [100, 10_000]);
        connection.waiting = 2;
        let one = Read { target: Target::Setup(0), complete: true };
        let begun = Read { target: Target::Object(1), complete: false };
        assert_eq!(connection.client_read(150), [one, begun]);
        assert_eq!(connection.client_read(10_100), [Read { complete: true, ..begun }]);
        assert_eq!(connection.waiting, 0);
    }
}
