//! Scripts: settings, times, events.

use crate::cursor::Cursor;
use crate::script::{Action, At, Command, Event, Script, ScriptOption};
use crate::settings::{version_named, words_of_runners, Version};
use crate::{calls, packets, Wrong};

/// Words of `--define` and what replaces them.
pub(crate) type Defined = Vec<(String, String)>;

pub(crate) fn script(
    text: &str,
    given: &[(String, String)],
    version: Version,
) -> Result<Script, Wrong> {
    let mut cursor = Cursor::new(text);
    let mut own = Defined::new();
    let options = options(&mut cursor, &mut own)?;
    let version = asked_version(&options)?.unwrap_or(version);
    // Later ones replace earlier ones.
    let mut defined = words_of_runners(version);
    defined.extend_from_slice(given);
    defined.extend(own);
    let init = command(&mut cursor)?;
    let mut events = Vec::new();
    while !matches!(cursor.peek(), None | Some(b'`')) {
        events.push(event(&mut cursor, &defined)?);
    }
    let cleanup = command(&mut cursor)?;
    if cursor.peek().is_some() {
        return cursor.expected("the end after the last command");
    }
    match events.first() {
        None => return cursor.wrong("a script needs an event"),
        Some(Event { at: At::Absolute(0) | At::Relative(0), .. }) => {}
        Some(first) => {
            let message = "the first event is at time 0".to_owned();
            return Err(Wrong { line: first.line, message });
        }
    }
    Ok(Script { version, options, init, events, cleanup })
}

fn options(cursor: &mut Cursor<'_>, defined: &mut Defined) -> Result<Vec<ScriptOption>, Wrong> {
    let mut options = Vec::new();
    while cursor.take("--") {
        let line = cursor.line();
        let Some(name) = cursor.word() else {
            return cursor.expected("the name of an option");
        };
        let value = if cursor.take("=") { Some(cursor.here(b"").to_owned()) } else { None };
        if name == "define" {
            match value.as_deref().and_then(|value| value.split_once('=')) {
                Some((word, value)) => defined.push((word.to_owned(), value.to_owned())),
                None => return cursor.wrong("expected --define=NAME=VALUE"),
            }
        } else {
            options.push(ScriptOption { line, name: name.to_owned(), value });
        }
    }
    Ok(options)
}

/// The version of IP that a script asks for.
fn asked_version(options: &[ScriptOption]) -> Result<Option<Version>, Wrong> {
    let Some(option) = options.iter().find(|option| option.name == "ip_version") else {
        return Ok(None);
    };
    let given = option.value.as_deref().unwrap_or("");
    match version_named(given) {
        Some(version) => Ok(Some(version)),
        None => Err(Wrong {
            line: option.line,
            message: format!("ip_version `{given}`: ipv4, ipv4-mapped-ipv6 or ipv6"),
        }),
    }
}

fn command(cursor: &mut Cursor<'_>) -> Result<Option<Command>, Wrong> {
    if cursor.peek() != Some(b'`') {
        return Ok(None);
    }
    let line = cursor.line();
    Ok(Some(Command { line, text: cursor.between("`", "`", true)? }))
}

fn event(cursor: &mut Cursor<'_>, defined: &Defined) -> Result<Event, Wrong> {
    cursor.skip();
    let line = cursor.line();
    let at = time(cursor)?;
    let action = match cursor.peek() {
        Some(b'<') => Action::Inbound(packets::packet(cursor, defined)?),
        Some(b'>') => Action::Outbound(packets::packet(cursor, defined)?),
        Some(b'`') => Action::Shell(cursor.between("`", "`", true)?),
        Some(b'%') => {
            let code = cursor.between("%{", "}%", false)?;
            Action::Code(code.trim_matches([' ', '\t']).to_owned())
        }
        _ => Action::Call(calls::call(cursor, defined)?),
    };
    let of_packet = matches!(action, Action::Outbound(_));
    if !of_packet && matches!(at, At::Any | At::Range(..) | At::RelativeRange(..)) {
        let message = "only a packet that is sent has a range of times or `*`".to_owned();
        return Err(Wrong { line, message });
    }
    Ok(Event { line, at, action })
}

fn time(cursor: &mut Cursor<'_>) -> Result<At, Wrong> {
    if cursor.take("*") {
        return Ok(At::Any);
    }
    let relative = cursor.take("+");
    let from = cursor.seconds()?;
    if !cursor.take("~") {
        return Ok(if relative { At::Relative(from) } else { At::Absolute(from) });
    }
    if relative {
        cursor.require("+")?;
    }
    let to = cursor.seconds()?;
    if to < from {
        return cursor.wrong("the range of times is backwards");
    }
    Ok(if relative { At::RelativeRange(from, to) } else { At::Range(from, to) })
}

/// Returns the text that a definition gives for a word, or the word.
pub(crate) fn defined_as<'a>(word: &'a str, defined: &'a Defined) -> &'a str {
    defined.iter().rev().find(|(name, _)| name == word).map_or(word, |(_, value)| value)
}
