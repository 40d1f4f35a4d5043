//! System calls of a script, made.

use crate::sys::calls::{self, Address};
use dumbbell_packetdrill::script::{Call, Value};
use dumbbell_packetdrill::system::Answer;
use std::collections::BTreeMap;
use std::io::Error;
use std::net::SocketAddr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

/// Longest buffer of a call: more than any window.
const MOST_BYTES: i64 = 1 << 28;

/// Descriptors of a script.
pub(super) type Descriptors = BTreeMap<i64, Arc<OwnedFd>>;

/// Addresses that `...` stands for, and what timestamps count from.
#[derive(Clone, Copy)]
pub(super) struct Addresses {
    pub(super) local: SocketAddr,
    pub(super) remote: SocketAddr,
    /// Beginning of the script on CLOCK_REALTIME, µs.
    pub(super) begin_real_us: i64,
    /// Allowed deviation of a timestamp, µs.
    pub(super) tolerance_us: i64,
}

/// Effect of a call.
#[derive(Default)]
pub(super) struct Done {
    pub(super) answer: Answer,
    /// Descriptors of the script that it made.
    pub(super) made: Vec<(i64, OwnedFd)>,
    /// Descriptor of the script that it closed.
    pub(super) closed: Option<i64>,
}

impl From<i64> for Done {
    fn from(result: i64) -> Self {
        Self { answer: Answer { result, ..Answer::default() }, ..Self::default() }
    }
}

/// Why a call has no result: the kernel's error, or what is wrong with the call.
enum Stop {
    Errno(Error),
    Wrong(String),
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Self::Errno(error)
    }
}

impl From<String> for Stop {
    fn from(message: String) -> Self {
        Self::Wrong(message)
    }
}

/// Makes a call.
pub(super) fn make(call: &Call, fds: &Descriptors, to: Addresses) -> Result<Done, String> {
    match (Maker { call, fds, to }).make() {
        Ok(done) => Ok(done),
        Err(Stop::Wrong(message)) => Err(format!("{}: {message}", call.name)),
        Err(Stop::Errno(error)) => {
            let mut done = Done::from(-1);
            done.answer.errno = error.raw_os_error().unwrap_or(0);
            Ok(done)
        }
    }
}

struct Maker<'a> {
    call: &'a Call,
    fds: &'a Descriptors,
    to: Addresses,
}

impl Maker<'_> {
    fn make(&self) -> Result<Done, Stop> {
        match self.call.name.as_str() {
            "socket" => self.socket(),
            "bind" => Ok(calls::bind_to(self.fd(0)?, &Address::of(self.to.local))?.into()),
            "listen" => Ok(calls::listen_with(self.fd(0)?, self.int(1)?)?.into()),
            "accept" => self.accept(),
            "connect" => Ok(calls::connect_to(self.fd(0)?, &self.address(1))?.into()),
            "read" => self.receive(None),
            "recv" | "recvfrom" => self.receive(Some(self.int(3)?)),
            "write" => self.send(None, None),
            "send" => self.send(Some(self.int(3)?), None),
            "sendto" => self.send(Some(self.int(3)?), Some(self.address(4))),
            "readv" => self.read_parts(),
            "writev" => self.write_parts(),
            "sendmsg" => self.send_message(),
            "recvmsg" => self.receive_message(),
            "fcntl" => self.control(),
            "ioctl" => self.ioctl(),
            "close" => self.close(),
            "shutdown" => Ok(calls::shut(self.fd(0)?, self.int(1)?)?.into()),
            "setsockopt" => self.set_option(),
            "getsockopt" => self.get_option(),
            "poll" => self.poll(),
            "open" => self.open(),
            "sendfile" => self.send_file(),
            "pipe" => self.pipe(),
            "splice" => self.splice(),
            "epoll_create" | "epoll_create1" => self.made(calls::new_epoll()?),
            "epoll_ctl" => self.epoll_change(),
            "epoll_wait" => self.epoll_wait(),
            other => Err(Stop::Wrong(format!("the call {other} is not known"))),
        }
    }

    fn argument(&self, at: usize) -> Result<&Value, String> {
        self.call.arguments.get(at).ok_or_else(|| format!("argument {} is missing", at + 1))
    }

    fn number(&self, at: usize) -> Result<i64, String> {
        number(self.argument(at)?)
    }

    fn int(&self, at: usize) -> Result<i32, String> {
        // Flags may have the highest bit.
        let number = self.number(at)?;
        i32::try_from(number)
            .or_else(|_| u32::try_from(number).map(u32::cast_signed))
            .map_err(|_| format!("{number} has more than 32 bits"))
    }

    fn length(&self, at: usize) -> Result<usize, String> {
        let number = self.number(at)?;
        if !(0..=MOST_BYTES).contains(&number) {
            return Err(format!("{number} bytes are not between 0 and {MOST_BYTES}"));
        }
        Ok(usize::try_from(number).unwrap_or(0))
    }

    fn fd(&self, at: usize) -> Result<BorrowedFd<'_>, String> {
        self.descriptor(self.number(at)?)
    }

    fn descriptor(&self, number: i64) -> Result<BorrowedFd<'_>, String> {
        let found = self.fds.get(&number).map(|fd| fd.as_fd());
        found.ok_or_else(|| format!("the script has no descriptor {number}"))
    }

    /// A descriptor that the call made, under the script's number of it.
    fn made(&self, fd: OwnedFd) -> Result<Done, Stop> {
        let mut done = Done::from(i64::from(fd.as_raw_fd()));
        match self.call.result.number() {
            Some(number) if number >= 0 => done.made.push((number, fd)),
            _ => {}
        }
        Ok(done)
    }

    fn address(&self, at: usize) -> Address {
        let unspecified = |value: &Value| is_named(value, "AF_UNSPEC");
        match self.call.arguments.get(at) {
            Some(Value::Braces(all)) if all.iter().any(unspecified) => Address::unspecified(),
            Some(word) if unspecified(word) => Address::unspecified(),
            _ => Address::of(self.to.remote),
        }
    }

    fn socket(&self) -> Result<Done, Stop> {
        let domain = match self.argument(0)? {
            Value::Any if self.to.local.is_ipv6() => libc::AF_INET6,
            Value::Any => libc::AF_INET,
            _ => self.int(0)?,
        };
        self.made(calls::new_socket(domain, self.int(1)?, self.int(2)?)?)
    }

    fn accept(&self) -> Result<Done, Stop> {
        let (fd, port) = calls::accept_from(self.fd(0)?)?;
        let mut done = self.made(fd)?;
        done.answer.peer_port = Some(port);
        Ok(done)
    }

    /// A buffer of zeros for `...`; None for 0.
    fn buffer(&self, at: usize, length: usize) -> Result<Option<Vec<u8>>, String> {
        match self.argument(at)? {
            Value::Any => Ok(Some(vec![0; length])),
            Value::Text(text, _) => {
                let mut bytes = text.clone();
                bytes.resize(length.max(bytes.len()), 0);
                Ok(Some(bytes))
            }
            Value::Number(0) => Ok(None),
            Value::Word(word) if word == "NULL" => Ok(None),
            _ => Err("a buffer is `...` or 0".to_owned()),
        }
    }

    fn receive(&self, flags: Option<i32>) -> Result<Done, Stop> {
        let length = self.length(2)?;
        let mut buffer = self.buffer(1, length)?;
        let fd = self.fd(0)?;
        Ok(match flags {
            None => calls::read_into(fd, buffer.as_deref_mut(), length)?,
            Some(flags) => calls::receive_into(fd, buffer.as_deref_mut(), length, flags)?,
        }
        .into())
    }

    fn send(&self, flags: Option<i32>, to: Option<Address>) -> Result<Done, Stop> {
        let length = self.length(2)?;
        let buffer = self.buffer(1, length)?;
        let fd = self.fd(0)?;
        let sent = match flags {
            None => calls::write_all(fd, buffer.as_deref(), length),
            Some(flags) => calls::send_to(fd, buffer.as_deref(), length, flags, to.as_ref()),
        };
        keep(buffer, flags.unwrap_or(0));
        Ok(sent?.into())
    }

    fn write_parts(&self) -> Result<Done, Stop> {
        let mut buffers = buffers(self.argument(1)?)?;
        Ok(calls::send_message(self.fd(0)?, &mut buffers, 0, None)?.into())
    }

    fn read_parts(&self) -> Result<Done, Stop> {
        let mut buffers = buffers(self.argument(1)?)?;
        Ok(calls::receive_message(self.fd(0)?, &mut buffers, 0)?.result.into())
    }

    fn send_message(&self) -> Result<Done, Stop> {
        let message = self.argument(1)?;
        let mut buffers = match field(message, "msg_iov") {
            Some(parts) => buffers(parts)?,
            None => Vec::new(),
        };
        let to = field(message, "msg_name").map(|_| Address::of(self.to.remote));
        if field(message, "msg_control").is_some() {
            return Err(Stop::Wrong("control messages that are sent are not known here".into()));
        }
        let flags = self.int(2)?;
        let sent = calls::send_message(self.fd(0)?, &mut buffers, flags, to.as_ref());
        keep(buffers, flags);
        Ok(sent?.into())
    }

    fn receive_message(&self) -> Result<Done, Stop> {
        let message = self.argument(1)?;
        let mut buffers = match field(message, "msg_iov") {
            Some(parts) => buffers(parts)?,
            None => Vec::new(),
        };
        let got = calls::receive_message(self.fd(0)?, &mut buffers, self.int(2)?)?;
        if let Some(flags) = field(message, "msg_flags") {
            let flags = number(flags)?;
            if flags != i64::from(got.flags) {
                return Err(Stop::Wrong(format!(
                    "flags {flags:#x} expected, {:#x} got",
                    got.flags
                )));
            }
        }
        let expected = match field(message, "msg_control") {
            Some(Value::List(all)) => all.as_slice(),
            _ => &[],
        };
        if expected.len() != got.control.len() {
            let (wanted, found) = (expected.len(), got.control.len());
            return Err(Stop::Wrong(format!("{wanted} control messages expected, {found} got")));
        }
        for (wanted, found) in expected.iter().zip(&got.control) {
            check_control(wanted, found, &self.to)?;
        }
        Ok(got.result.into())
    }

    fn control(&self) -> Result<Done, Stop> {
        let argument = if self.call.arguments.len() > 2 { self.number(2)? } else { 0 };
        Ok(calls::control(self.fd(0)?, self.int(1)?, argument as libc::c_long)?.into())
    }

    fn ioctl(&self) -> Result<Done, Stop> {
        let request = self.number(1)?;
        let (result, got) = calls::ioctl_number(self.fd(0)?, request.cast_unsigned())?;
        let expected = number(only(self.argument(2)?)?)?;
        if expected != i64::from(got) {
            return Err(Stop::Wrong(format!("{expected} expected, {got} got")));
        }
        Ok(result.into())
    }

    fn close(&self) -> Result<Done, Stop> {
        self.fd(0)?;
        Ok(Done { closed: Some(self.number(0)?), ..Done::from(0) })
    }

    fn set_option(&self) -> Result<Done, Stop> {
        let length = self.length(4)?;
        let mut value = match self.argument(3)? {
            Value::Number(0) => None,
            Value::Text(text, _) => Some(text.clone()),
            Value::Braces(fields) => Some(fields_bytes(fields)?),
            other => Some(int_bytes(number(only(other)?)?)),
        };
        if let Some(bytes) = &mut value {
            bytes.resize(bytes.len().max(length), 0);
        }
        let (level, name) = (self.int(1)?, self.int(2)?);
        Ok(calls::set_option_raw(self.fd(0)?, level, name, value.as_deref(), length)?.into())
    }

    fn get_option(&self) -> Result<Done, Stop> {
        let mut got = [0; 64];
        let fd = self.fd(0)?;
        let length = crate::sys::get_option(fd, self.int(1)?, self.int(2)?, &mut got)?;
        let wanted = number(only(self.argument(4)?)?)?;
        if i64::try_from(length).ok() != Some(wanted) {
            return Err(Stop::Wrong(format!("{wanted} bytes expected, {length} got")));
        }
        let expected = match self.argument(3)? {
            Value::Any => return Ok(0.into()),
            Value::Text(text, _) => text.clone(),
            Value::Braces(fields) => fields_bytes(fields)?,
            other => int_bytes(number(only(other)?)?),
        };
        let (got, same) = (&got[..length.min(expected.len())], length.min(expected.len()));
        if got != &expected[..same] {
            let show = |bytes: &[u8]| match bytes.try_into() {
                Ok(four) => i32::from_ne_bytes(four).to_string(),
                Err(_) => format!("{bytes:?}"),
            };
            let (wanted, found) = (show(&expected[..same]), show(got));
            return Err(Stop::Wrong(format!("{wanted} expected, {found} got")));
        }
        Ok(0.into())
    }

    fn poll(&self) -> Result<Done, Stop> {
        let Value::List(all) = self.argument(0)? else {
            return Err(Stop::Wrong("expected a list of {fd=…, events=…}".to_owned()));
        };
        let mut wanted = Vec::new();
        let mut expected = Vec::new();
        for one in all {
            let fd = self.descriptor(number(needed(one, "fd")?)?)?.as_raw_fd();
            wanted.push((fd, number(needed(one, "events")?)? as i16));
            expected.push(field(one, "revents").map_or(Ok(0), number)? as i16);
        }
        let (result, got) = calls::poll_for(&wanted, self.int(2)?)?;
        match expected.iter().zip(&got).find(|(wanted, found)| wanted != found) {
            Some((wanted, found)) => {
                Err(Stop::Wrong(format!("revents {wanted:#x} expected, {found:#x} got")))
            }
            None => Ok(result.into()),
        }
    }

    fn open(&self) -> Result<Done, Stop> {
        let Value::Text(path, _) = self.argument(0)? else {
            return Err(Stop::Wrong("expected a path".to_owned()));
        };
        let path = String::from_utf8_lossy(path).into_owned();
        let flags = self.int(1)?;
        let writes = flags & libc::O_ACCMODE != libc::O_RDONLY;
        let file = std::fs::OpenOptions::new()
            .read(flags & libc::O_ACCMODE != libc::O_WRONLY)
            .write(writes)
            .create(writes && flags & libc::O_CREAT != 0)
            .open(path)?;
        self.made(file.into())
    }

    fn send_file(&self) -> Result<Done, Stop> {
        let offset = number(only(self.argument(2)?)?)?;
        let length = self.length(3)?;
        Ok(calls::send_file(self.fd(0)?, self.fd(1)?, offset, length)?.0.into())
    }

    fn pipe(&self) -> Result<Done, Stop> {
        let Value::List(names) = self.argument(0)? else {
            return Err(Stop::Wrong("expected a list of two descriptors".to_owned()));
        };
        let [read, write] = names.as_slice() else {
            return Err(Stop::Wrong("expected a list of two descriptors".to_owned()));
        };
        let (read, write) = (number(read)?, number(write)?);
        let (from, to) = calls::new_pipe()?;
        Ok(Done { made: vec![(read, from), (write, to)], ..Done::from(0) })
    }

    fn splice(&self) -> Result<Done, Stop> {
        let flags = self.int(5)?.cast_unsigned();
        Ok(calls::splice_between(self.fd(0)?, self.fd(2)?, self.length(4)?, flags)?.into())
    }

    fn epoll_change(&self) -> Result<Done, Stop> {
        let event = self.argument(3)?;
        let events = field(event, "events").map_or(Ok(0), number)?;
        let data = data(event).map_or(Ok(0), number)?;
        let (epoll, fd) = (self.fd(0)?, self.fd(2)?);
        let events = u32::try_from(events).unwrap_or(u32::MAX);
        Ok(calls::epoll_change(epoll, self.int(1)?, fd, events, data.cast_unsigned())?.into())
    }

    fn epoll_wait(&self) -> Result<Done, Stop> {
        let Some((events, value)) = calls::epoll_next(self.fd(0)?, self.int(3)?)? else {
            return Ok(0.into());
        };
        let event = self.argument(1)?;
        let wanted = number(needed(event, "events")?)?;
        if wanted != i64::from(events) {
            return Err(Stop::Wrong(format!("events {wanted:#x} expected, {events:#x} got")));
        }
        match data(event).map(number).transpose()? {
            Some(expected) if expected.cast_unsigned() != value => {
                Err(Stop::Wrong(format!("data {expected} expected, {value} got")))
            }
            _ => Ok(1.into()),
        }
    }
}

/// With MSG_ZEROCOPY the kernel sends from the buffers later, so they stay.
fn keep<T>(buffers: T, flags: i32) {
    if flags & libc::MSG_ZEROCOPY != 0 {
        std::mem::forget(buffers);
    }
}

fn number(value: &Value) -> Result<i64, String> {
    value.number().ok_or_else(|| match value {
        Value::Word(word) => format!("the constant {word} is not known"),
        _ => "expected a number".to_owned(),
    })
}

/// The only value of a list; a value that is no list is itself.
fn only(value: &Value) -> Result<&Value, String> {
    match value {
        Value::List(all) if all.len() == 1 => Ok(&all[0]),
        Value::List(_) => Err("expected a list of one number".to_owned()),
        other => Ok(other),
    }
}

/// A field of a structure.
fn field<'a>(value: &'a Value, name: &str) -> Option<&'a Value> {
    let Value::Braces(all) = value else {
        return None;
    };
    all.iter().find_map(|one| match one {
        Value::Field(known, inner) if known == name => Some(inner.as_ref()),
        _ => None,
    })
}

fn needed<'a>(value: &'a Value, name: &str) -> Result<&'a Value, String> {
    field(value, name).ok_or_else(|| format!("the field {name} is missing"))
}

fn data(event: &Value) -> Option<&Value> {
    ["fd", "ptr", "u32", "u64"].iter().find_map(|name| field(event, name))
}

fn is_named(value: &Value, name: &str) -> bool {
    match value {
        Value::Word(word) => word == name,
        Value::Field(_, inner) => is_named(inner, name),
        _ => false,
    }
}

/// Buffers of zeros: `[{..., 1000}, {..., 2000}]`.
fn buffers(value: &Value) -> Result<Vec<Vec<u8>>, String> {
    let Value::List(parts) = value else {
        return Err("expected a list of {..., length}".to_owned());
    };
    let (mut buffers, mut left) = (Vec::new(), MOST_BYTES);
    for part in parts {
        let length = match part {
            Value::Braces(two) if two.len() == 2 => number(&two[1])?,
            _ => return Err("expected {..., length}".to_owned()),
        };
        if !(0..=left).contains(&length) {
            return Err(format!("{length} bytes are not between 0 and {left}"));
        }
        left -= length;
        buffers.push(vec![0; usize::try_from(length).unwrap_or(0)]);
    }
    Ok(buffers)
}

/// A number as an `int`; one above it as four bytes, too.
fn int_bytes(number: i64) -> Vec<u8> {
    number.to_le_bytes()[..4].to_vec()
}

/// Fields of a structure, each an `int`.
fn fields_bytes(fields: &[Value]) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    for one in fields {
        let value = if let Value::Field(_, inner) = one { inner } else { one };
        bytes.extend(int_bytes(number(value)?));
    }
    Ok(bytes)
}

/// Checks a control message; `to`: what its times count from, and how far they may be off.
fn check_control(
    wanted: &Value,
    (level, kind, content): &(i32, i32, Vec<u8>),
    to: &Addresses,
) -> Result<(), String> {
    let expected = (number(needed(wanted, "cmsg_level")?)?, number(needed(wanted, "cmsg_type")?)?);
    if expected != (i64::from(*level), i64::from(*kind)) {
        return Err(format!("control message {expected:?} expected, ({level}, {kind}) got"));
    }
    let data = needed(wanted, "cmsg_data")?;
    if data.number().is_some() {
        let bytes = int_bytes(number(data)?);
        return if bytes.as_slice() == content.as_slice() {
            Ok(())
        } else {
            Err(format!("control message {bytes:?} expected, {content:?} got"))
        };
    }
    if field(data, "ee_errno").is_some() {
        return check_extended_error(data, content);
    }
    match (field(data, "scm_sec"), field(data, "scm_nsec")) {
        (Some(seconds), Some(ns)) => check_stamp(number(seconds)?, number(ns)?, content, to),
        _ => Err("the content of this control message is not checked here".to_owned()),
    }
}

/// `struct sock_extended_err` (linux/errqueue.h).
fn check_extended_error(wanted: &Value, content: &[u8]) -> Result<(), String> {
    let fields = [
        ("ee_errno", 0, 4),
        ("ee_origin", 4, 1),
        ("ee_type", 5, 1),
        ("ee_code", 6, 1),
        ("ee_info", 8, 4),
        ("ee_data", 12, 4),
    ];
    for (name, at, size) in fields {
        let expected = number(needed(wanted, name)?)?;
        let mut wide = [0; 8];
        let bytes = content.get(at..at + size).ok_or("the control message is too short")?;
        wide[..size].copy_from_slice(bytes);
        let got = i64::from_le_bytes(wide);
        if expected != got {
            return Err(format!("{name}: {expected} expected, {got} got"));
        }
    }
    Ok(())
}

/// The first time of `struct scm_timestamping`; 0 is not checked.
fn check_stamp(seconds: i64, ns: i64, content: &[u8], to: &Addresses) -> Result<(), String> {
    let word = |at: usize| {
        let bytes = content.get(at..at + 8).and_then(|bytes| bytes.try_into().ok());
        bytes.map(i64::from_le_bytes).ok_or("the control message is too short")
    };
    let expected_us = seconds.saturating_mul(1_000_000).saturating_add(ns / 1000);
    let got_us =
        word(0)?.saturating_mul(1_000_000).saturating_add(word(8)? / 1000) - to.begin_real_us;
    if expected_us != 0 && expected_us.saturating_sub(got_us).saturating_abs() > to.tolerance_us {
        return Err(format!("a timestamp of {expected_us} µs expected, {got_us} µs got"));
    }
    Ok(())
}
