//! System calls as a script writes them: `write(4, ..., 1000) = 1000`.

use crate::cursor::Cursor;
use crate::parse::{defined_as, Defined};
use crate::script::{Call, Value};
use crate::Wrong;

/// Deepest nesting of lists and structures.
const DEEPEST: usize = 16;

/// Calls that scripts make. Another name is a mistake, whichever engine plays the script.
const NAMES: [&str; 31] = [
    "socket",
    "bind",
    "listen",
    "accept",
    "connect",
    "read",
    "readv",
    "recv",
    "recvfrom",
    "recvmsg",
    "write",
    "writev",
    "send",
    "sendto",
    "sendmsg",
    "fcntl",
    "ioctl",
    "close",
    "shutdown",
    "setsockopt",
    "getsockopt",
    "poll",
    "cap_set",
    "open",
    "sendfile",
    "pipe",
    "splice",
    "epoll_create",
    "epoll_create1",
    "epoll_ctl",
    "epoll_wait",
];

pub(crate) fn call(cursor: &mut Cursor<'_>, defined: &Defined) -> Result<Call, Wrong> {
    cursor.skip();
    let line = cursor.line();
    let returns_us = if cursor.take("...") { Some(cursor.seconds()?) } else { None };
    let Some(name) = cursor.word() else {
        return cursor.expected("a packet (`<` or `>`), a system call, `command` or %{ code }%");
    };
    let name = name.to_owned();
    cursor.require("(")?;
    if !NAMES.contains(&name.as_str()) {
        return cursor.wrong(format!("the call {name} is not known"));
    }
    let arguments = values(cursor, defined, ")", 0)?;
    cursor.require("=")?;
    let result = value(cursor, defined, 0)?;
    let mut error = None;
    if cursor.peek_word().is_some_and(|word| word.starts_with('E')) {
        error = cursor.word().map(str::to_owned);
    }
    if cursor.peek() == Some(b'(') {
        cursor.between("(", ")", false)?; // What strace says of the error.
    }
    Ok(Call { line, name, arguments, result, error, returns_us })
}

/// Values up to a sign.
fn values(
    cursor: &mut Cursor<'_>,
    defined: &Defined,
    end: &str,
    depth: usize,
) -> Result<Vec<Value>, Wrong> {
    let mut values = Vec::new();
    if cursor.take(end) {
        return Ok(values);
    }
    loop {
        values.push(value(cursor, defined, depth)?);
        if cursor.take(end) {
            return Ok(values);
        }
        cursor.require(",")?;
    }
}

fn value(cursor: &mut Cursor<'_>, defined: &Defined, depth: usize) -> Result<Value, Wrong> {
    let first = single(cursor, defined, depth)?;
    if cursor.peek() != Some(b'|') {
        return Ok(first);
    }
    let mut all = vec![first];
    while cursor.take("|") {
        all.push(single(cursor, defined, depth)?);
    }
    Ok(Value::Or(all))
}

fn single(cursor: &mut Cursor<'_>, defined: &Defined, depth: usize) -> Result<Value, Wrong> {
    if depth > DEEPEST {
        return cursor.wrong(format!("more than {DEEPEST} brackets inside each other"));
    }
    if cursor.take("...") {
        return Ok(Value::Any);
    }
    if cursor.take("[") {
        return Ok(Value::List(values(cursor, defined, "]", depth + 1)?));
    }
    if cursor.take("{") {
        return Ok(Value::Braces(values(cursor, defined, "}", depth + 1)?));
    }
    if cursor.peek() == Some(b'"') {
        let mut text = Vec::new();
        while cursor.peek() == Some(b'"') {
            text.extend(unescaped(&cursor.between("\"", "\"", true)?));
        }
        return Ok(Value::Text(text, cursor.take("...")));
    }
    if let Some(number) = cursor.number() {
        return Ok(Value::Number(number));
    }
    let Some(word) = cursor.word() else {
        return cursor.expected("a value");
    };
    if cursor.take("(") {
        let argument = value(cursor, defined, depth + 1)?;
        cursor.require(")")?;
        if cursor.take("=") {
            return Ok(Value::Field(word.to_owned(), Box::new(value(cursor, defined, depth + 1)?)));
        }
        return Ok(Value::Apply(word.to_owned(), Box::new(argument)));
    }
    if cursor.take("=") {
        return Ok(Value::Field(word.to_owned(), Box::new(value(cursor, defined, depth + 1)?)));
    }
    Ok(match defined_as(word, defined) {
        same if same == word => Value::Word(word.to_owned()),
        other => match other.parse() {
            Ok(number) => Value::Number(number),
            Err(_) if other.starts_with('"') => {
                Value::Text(other.trim_matches('"').as_bytes().to_vec(), false)
            }
            Err(_) => Value::Word(other.to_owned()),
        },
    })
}

/// Bytes of a string with C's escapes.
fn unescaped(text: &str) -> Vec<u8> {
    let mut plain = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        (rest, _) = match (first, after) {
            (b'\\', [b'x', high, low, beyond @ ..]) => {
                let digit = |byte: &u8| char::from(*byte).to_digit(16).unwrap_or(0);
                let byte = u8::try_from(digit(high) << 4 | digit(low)).unwrap_or(0);
                (beyond, plain.push(byte))
            }
            (b'\\', [letter, beyond @ ..]) => {
                let byte = match letter {
                    b'n' => b'\n',
                    b't' => b'\t',
                    b'r' => b'\r',
                    b'0' => 0,
                    other => *other,
                };
                (beyond, plain.push(byte))
            }
            (byte, beyond) => (beyond, plain.push(*byte)),
        };
    }
    plain
}
