//! One connection: requests on their way to the server, answers on their way back.

use dumbbell_model::Time;
use std::collections::VecDeque;

/// Payload of a frame in HTTP/2 (SETTINGS_MAX_FRAME_SIZE's initial value, RFC 9113 §6.5.2).
const FRAME_BYTES: u64 = 16_384;
/// Its header (RFC 9113 §4.1).
const FRAME_HEADER_BYTES: u64 = 9;

/// What was asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Asked {
    /// An exchange of the set-up, by number.
    Setup(usize),
    /// An object, by number.
    Object(usize),
}

/// A request that the server has not got whole.
#[derive(Clone, Copy, Debug)]
struct Request {
    asked: Asked,
    /// The request ends here in the client's stream.
    end: u64,
}

/// An answer that is not written whole.
#[derive(Clone, Copy, Debug)]
struct Answer {
    asked: Asked,
    left_bytes: u64,
}

/// A piece of an answer in the server's stream.
#[derive(Clone, Copy, Debug)]
struct Piece {
    asked: Asked,
    start: u64,
    end: u64,
    last: bool,
}

/// Where the client is with a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// Not needed yet.
    Unused,
    /// Waits for the handshake.
    Opening,
    /// Set up as far as this exchange.
    SettingUp(usize),
    /// Requests may be sent.
    Open,
    Closed,
}

/// What the client has read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Read {
    pub(crate) asked: Asked,
    /// The last byte of the answer was among it.
    pub(crate) whole: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct Connection {
    pub(crate) origin: usize,
    pub(crate) state: State,
    /// Requests that the client waits for.
    pub(crate) waiting: usize,
    asked_bytes: u64,
    requests: VecDeque<Request>,
    answers: VecDeque<Answer>,
    written_bytes: u64,
    pieces: VecDeque<Piece>,
    /// Answers that the server works at until then.
    pub(crate) working: Vec<(Time, Asked, u64)>,
}

impl Connection {
    pub(crate) fn new(origin: usize) -> Self {
        Self {
            origin,
            state: State::Unused,
            waiting: 0,
            asked_bytes: 0,
            requests: VecDeque::new(),
            answers: VecDeque::new(),
            written_bytes: 0,
            pieces: VecDeque::new(),
            working: Vec::new(),
        }
    }

    /// The client sends a request of so many bytes.
    pub(crate) fn ask(&mut self, asked: Asked, bytes: u64) {
        self.asked_bytes += bytes;
        self.waiting += 1;
        self.requests.push_back(Request { asked, end: self.asked_bytes });
    }

    /// The server has read so much in all. Requests that are whole now, in order.
    pub(crate) fn server_read(&mut self, total_bytes: u64) -> Vec<Asked> {
        let mut whole = Vec::new();
        while self.requests.front().is_some_and(|request| request.end <= total_bytes) {
            whole.extend(self.requests.pop_front().map(|request| request.asked));
        }
        whole
    }

    /// The server begins to answer.
    pub(crate) fn answer(&mut self, asked: Asked, bytes: u64) {
        self.answers.push_back(Answer { asked, left_bytes: bytes });
    }

    /// What the server writes next: of HTTP/1.1 the whole answer, of HTTP/2 a frame of each in turn.
    pub(crate) fn write(&mut self, frames: bool) -> Option<u64> {
        let mut answer = self.answers.pop_front()?;
        let framed = frames && matches!(answer.asked, Asked::Object(_));
        let payload = if framed { answer.left_bytes.min(FRAME_BYTES) } else { answer.left_bytes };
        let bytes = payload + if framed { FRAME_HEADER_BYTES } else { 0 };
        answer.left_bytes -= payload;
        let start = self.written_bytes;
        self.written_bytes += bytes;
        let (last, end) = (answer.left_bytes == 0, self.written_bytes);
        self.pieces.push_back(Piece { asked: answer.asked, start, end, last });
        if !last {
            self.answers.push_back(answer);
        }
        Some(bytes)
    }

    /// The client has read so much in all.
    pub(crate) fn client_read(&mut self, total_bytes: u64) -> Vec<Read> {
        let mut found: Vec<Read> = Vec::new();
        while let Some(&piece) = self.pieces.front().filter(|piece| piece.start < total_bytes) {
            let complete = piece.end <= total_bytes;
            found.push(Read { asked: piece.asked, whole: complete && piece.last });
            if !complete {
                break;
            }
            self.pieces.pop_front();
        }
        self.waiting -= found.iter().filter(|read| read.whole).count();
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_of_answers_take_turns() {
        let mut connection = Connection::new(0);
        connection.answer(Asked::Object(0), 40_000);
        connection.answer(Asked::Object(1), 10_000);
        let written: Vec<_> = std::iter::from_fn(|| connection.write(true)).collect();
        assert_eq!(written, [16_393, 10_009, 16_393, 7_241]);
    }

    #[test]
    fn one_answer_follows_another() {
        let mut connection = Connection::new(0);
        connection.answer(Asked::Setup(0), 100);
        connection.answer(Asked::Object(1), 10_000);
        let written: Vec<_> = std::iter::from_fn(|| connection.write(false)).collect();
        assert_eq!(written, [100, 10_000]);
        connection.waiting = 2;
        let one = Read { asked: Asked::Setup(0), whole: true };
        let begun = Read { asked: Asked::Object(1), whole: false };
        assert_eq!(connection.client_read(150), [one, begun]);
        assert_eq!(connection.client_read(10_100), [Read { whole: true, ..begun }]);
        assert_eq!(connection.waiting, 0);
    }
}
