//! Calls of a script's application on the model's connection.

use super::{lacks, Blocked, Connection, Model, Socket};
use dumbbell_packetdrill::script::{Call, Value};
use dumbbell_packetdrill::settings::REMOTE_PORT;
use dumbbell_packetdrill::system::Answer;
use std::sync::Arc;

/// `net.core.wmem_max`.
const WMEM_MAX: i64 = 212_992;
/// Longest buffer of a call, as on a guest.
const MOST_BYTES: i64 = 1 << 28;
const EPIPE: i32 = 32;
const EAGAIN: i32 = 11;
const EINPROGRESS: i32 = 115;
/// SOCK_STREAM, IPPROTO_TCP.
const STREAM: i64 = 1;
const TCP: i64 = 6;
/// O_NONBLOCK, SOCK_NONBLOCK.
const NON_BLOCKING: i64 = 0o4000;

impl Model<'_> {
    fn socket(&mut self, call: &Call) -> Result<&mut Socket, String> {
        let fd = argument(call, 0)?;
        self.sockets.get_mut(&fd).ok_or_else(|| format!("the script has no descriptor {fd}"))
    }

    fn connected(&mut self, call: &Call) -> Result<&mut Connection, String> {
        if !self.socket(call)?.connected {
            return lacks("a call on a socket without a connection");
        }
        self.connection.as_mut().ok_or_else(|| "there is no connection".to_owned())
    }

    fn new_socket(&mut self, call: &Call) -> Result<Answer, String> {
        let kind = argument(call, 1)?;
        let (stream, protocol) = (kind & !NON_BLOCKING == STREAM, argument(call, 2)?);
        if !stream || ![0, TCP].contains(&protocol) {
            return lacks("a socket that is not of TCP");
        }
        let Some(fd) = call.result.number().filter(|fd| *fd >= 0) else {
            return Err("a socket of TCP can be made: its result is a descriptor".to_owned());
        };
        let non_blocking = kind & NON_BLOCKING != 0;
        self.sockets.insert(fd, Socket { non_blocking, ..Socket::default() });
        Ok(done(fd))
    }

    pub(super) fn accept(&mut self, call: &Call) -> Result<Option<Answer>, String> {
        if !self.socket(call)?.listens {
            return lacks("accept on a socket that does not listen");
        }
        let open =
            self.connection.as_ref().is_some_and(|connection| connection.receiver.established);
        let taken = self.sockets.values().any(|socket| socket.connected);
        if !open || taken {
            return Ok(None);
        }
        let Some(fd) = call.result.number() else {
            return Err("the result of accept is no number".to_owned());
        };
        self.sockets.insert(fd, Socket { connected: true, ..Socket::default() });
        let peer_port = Some(REMOTE_PORT.saturating_add(self.accepted));
        self.accepted = self.accepted.saturating_add(1);
        Ok(Some(Answer { result: fd, errno: 0, peer_port }))
    }

    fn connect(&mut self, call: &Call) -> Result<Answer, String> {
        let socket = *self.socket(call)?;
        if socket.connected {
            let open = self.connection.as_ref().is_some_and(|one| one.sender.is_open());
            return Ok(if open { done(0) } else { failed(EINPROGRESS) });
        }
        self.socket(call)?.connected = true;
        let mut connection = self.begin(true, self.options.clone());
        let now = self.now;
        connection.end().open(now);
        self.connection = Some(connection);
        self.drain();
        Ok(failed(EINPROGRESS))
    }

    /// Gives the connection bytes to write.
    fn offer(&mut self, call: &Call, bytes: u64) -> Result<(), String> {
        if matches!(call.arguments.get(1), Some(Value::Number(_) | Value::Word(_))) {
            return lacks("a write from a bad address");
        }
        let now = self.now;
        let sndbuf = self.socket(call)?.sndbuf;
        let connection = self.connected(call)?;
        if let Some(sndbuf) = sndbuf {
            connection.sender.buffer.sndbuf = sndbuf;
        }
        if !connection.sender.is_open() {
            return lacks("a write before the connection is established");
        }
        connection.end().send(now, |sender| sender.allow(now, bytes));
        self.settle()
    }

    fn write(&mut self, call: &Call, bytes: u64) -> Result<Answer, String> {
        if self.connected(call)?.sender.fin {
            return Ok(failed(EPIPE));
        }
        self.offer(call, bytes)?;
        if self.connected(call)?.sender.wrote_all() {
            return Ok(done(bytes as i64));
        }
        lacks("a write that the send buffer does not take whole")
    }

    fn read_data(&mut self, call: &Call, most: u64) -> Result<Answer, String> {
        let connection = self.connected(call)?;
        let receiver = &mut connection.receiver;
        if !receiver.established {
            return lacks("a read before the connection is established");
        }
        let fin = u64::from(receiver.finished);
        let unread = receiver.unread_bytes().saturating_sub(fin);
        if unread == 0 {
            return Ok(if receiver.finished { done(0) } else { failed(EAGAIN) });
        }
        let bytes = unread.min(most);
        connection.end().receive(|receiver| receiver.read(bytes));
        self.drain();
        Ok(done(bytes as i64))
    }

    fn close(&mut self, call: &Call) -> Result<Answer, String> {
        let now = self.now;
        let socket = *self.socket(call)?;
        self.sockets.remove(&argument(call, 0)?);
        if let Some(connection) = self.connection.as_mut().filter(|_| socket.connected) {
            let fin = u64::from(connection.receiver.finished);
            if connection.receiver.unread_bytes() > fin {
                return lacks("a RST for data that was not read");
            }
            if !connection.sender.is_open() {
                return lacks("closing a connection that is not established");
            }
            connection.stop(now);
            self.drain();
        }
        Ok(done(0))
    }

    fn set_option(&mut self, call: &Call) -> Result<Answer, String> {
        let option = call.arguments.get(2);
        let value = call.arguments.get(3).and_then(only).unwrap_or(0);
        match option {
            Some(Value::Word(name)) if name == "SO_SNDBUF" => {
                // `sock_setsockopt` doubles it.
                let bytes = (2 * value.clamp(0, WMEM_MAX)).max(4608) as u64;
                self.socket(call)?.sndbuf = Some(bytes);
                for limit in &mut self.options.tcp_wmem[1..] {
                    *limit = bytes;
                }
                if let Some(connection) = &mut self.connection {
                    Arc::make_mut(&mut connection.sender.options).tcp_wmem[1..].fill(bytes);
                    connection.sender.buffer.sndbuf = bytes;
                }
                Ok(done(0))
            }
            Some(Value::Word(name)) if name == "SO_REUSEADDR" => Ok(done(0)),
            Some(Value::Word(name)) if name == "TCP_NODELAY" => {
                self.socket(call)?.nodelay = value != 0;
                let connected = self.socket(call)?.connected;
                let now = self.now;
                if let Some(connection) = self.connection.as_mut().filter(|_| connected) {
                    connection.sender.buffer.nodelay = value != 0;
                    // What waited is sent (`tcp_push_pending_frames`).
                    connection.end().send(now, |sender| sender.push_pending());
                    self.drain();
                }
                Ok(done(0))
            }
            Some(Value::Word(name)) => lacks(format!("the socket option {name}")),
            _ => lacks("a socket option without a name"),
        }
    }

    fn control(&mut self, call: &Call) -> Result<Answer, String> {
        let command = call.arguments.get(1).and_then(Value::number).unwrap_or(-1);
        let flags = call.arguments.get(2).and_then(Value::number).unwrap_or(0);
        let socket = self.socket(call)?;
        match command {
            4 => {
                socket.non_blocking = flags & NON_BLOCKING != 0;
                Ok(done(0))
            }
            3 => Ok(done(2 | if socket.non_blocking { NON_BLOCKING } else { 0 })),
            _ => lacks("this command of fcntl"),
        }
    }

    /// Begins a call that blocks.
    pub(super) fn block(&mut self, call: &Call) -> Result<(), String> {
        self.blocked = Some(Blocked { call: call.clone(), answer: None });
        match call.name.as_str() {
            "connect" => {
                self.connect(call)?;
            }
            "accept" | "read" => {}
            "recv" if argument(call, 3)? == 0 => {}
            "write" => self.offer(call, length(call)?)?,
            "send" if argument(call, 3)? == 0 => self.offer(call, length(call)?)?,
            other => return lacks(format!("the call {other} that blocks")),
        }
        self.drain();
        Ok(())
    }

    pub(super) fn make(&mut self, call: &Call) -> Result<Option<Answer>, String> {
        Ok(Some(match call.name.as_str() {
            "socket" => self.new_socket(call)?,
            "bind" => {
                self.socket(call)?;
                done(0)
            }
            "listen" => {
                self.socket(call)?.listens = true;
                done(0)
            }
            "accept" => match self.accept(call)? {
                Some(answer) => answer,
                None if self.socket(call)?.non_blocking => failed(EAGAIN),
                None => return Ok(None),
            },
            "connect" if self.socket(call)?.non_blocking => self.connect(call)?,
            "connect" => return Ok(None),
            "write" => self.write(call, length(call)?)?,
            "send" if argument(call, 3)? == 0 => self.write(call, length(call)?)?,
            "read" => self.read_data(call, length(call)?)?,
            "recv" if argument(call, 3)? == 0 => self.read_data(call, length(call)?)?,
            "setsockopt" => self.set_option(call)?,
            "fcntl" => self.control(call)?,
            "close" => self.close(call)?,
            "shutdown" if argument(call, 1)? == 1 => {
                let now = self.now;
                self.connected(call)?.stop(now);
                self.drain();
                done(0)
            }
            "getsockopt" if asks_for_no_error(call) => done(0),
            other => return lacks(format!("the call {other} with these arguments")),
        }))
    }
}

pub(super) fn done(result: i64) -> Answer {
    Answer { result, errno: 0, peer_port: None }
}

fn failed(errno: i32) -> Answer {
    Answer { result: -1, errno, peer_port: None }
}

/// `getsockopt(fd, SOL_SOCKET, SO_ERROR, [0], [4])`: the model has no pending errors.
fn asks_for_no_error(call: &Call) -> bool {
    let numbers: Vec<_> = call.arguments.iter().skip(1).map(only).collect();
    numbers == [Some(1), Some(4), Some(0), Some(4)]
}

/// Length of a buffer.
fn length(call: &Call) -> Result<u64, String> {
    let number = argument(call, 2)?;
    if !(0..=MOST_BYTES).contains(&number) {
        return lacks(format!("a buffer of {number} bytes"));
    }
    Ok(number.unsigned_abs())
}

fn argument(call: &Call, at: usize) -> Result<i64, String> {
    let number = call.arguments.get(at).and_then(Value::number);
    number.ok_or_else(|| format!("argument {} of {} is no number", at + 1, call.name))
}

fn only(value: &Value) -> Option<i64> {
    match value {
        Value::List(all) if all.len() == 1 => all[0].number(),
        other => other.number(),
    }
}
