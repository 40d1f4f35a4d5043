//! Is the packet that was sent the one that the script expects?

use crate::script::{Content, Flags, Ip, Packet, Segment, TcpOption, Tos};
use crate::settings::Settings;
use std::fmt::{Display, Formatter, Result as Written, Write};

/// Compares a sent packet with the script's.
///
/// # Errors
/// The first field that differs, with both values.
pub(crate) fn packet(
    expected: &Packet,
    sent: &Packet,
    settings: &Settings,
    tolerance_us: i64,
) -> Result<(), String> {
    let (Content::Tcp(script), Content::Tcp(live)) = (&expected.content, &sent.content) else {
        return Err("a segment of TCP was sent".to_owned());
    };
    ip(&expected.ip, &sent.ip)?;
    segment(script, live)?;
    options(script, live, settings, tolerance_us)
}

fn ip(expected: &Ip, sent: &Ip) -> Result<(), String> {
    let Tos::Byte(byte) = sent.tos else {
        return Ok(());
    };
    match expected.tos {
        Tos::Ecn(codepoint) if byte & 3 != codepoint => {
            return Err(format!(
                "ECN codepoint: expected {}, sent {}",
                ecn(codepoint),
                ecn(byte & 3)
            ));
        }
        Tos::Ect if !matches!(byte & 3, 1 | 2) => {
            return Err(format!("ECN codepoint: expected ect0 or ect1, sent {}", ecn(byte & 3)));
        }
        Tos::Byte(all) if byte != all => return field("TOS", u32::from(all), u32::from(byte)),
        _ => {}
    }
    match (expected.ttl, sent.ttl) {
        (Some(ttl), Some(found)) => field("TTL", u32::from(ttl), u32::from(found)),
        _ => Ok(()),
    }
}

fn ecn(codepoint: u8) -> &'static str {
    ["noecn", "ect1", "ect0", "ce"][usize::from(codepoint & 3)]
}

fn field(name: &str, expected: u32, sent: u32) -> Result<(), String> {
    if expected == sent {
        Ok(())
    } else {
        Err(format!("{name}: expected {expected}, sent {sent}"))
    }
}

fn segment(expected: &Segment, sent: &Segment) -> Result<(), String> {
    if expected.flags != sent.flags {
        return Err(format!(
            "flags: expected {}, sent {}",
            letters(expected.flags, expected.ace),
            letters(sent.flags, expected.ace)
        ));
    }
    field("sequence number", expected.seq, sent.seq)?;
    field("payload", u32::from(expected.payload_bytes), u32::from(sent.payload_bytes))?;
    field("acknowledgment number", expected.ack, sent.ack)?;
    if let (Some(window), Some(found)) = (expected.window, sent.window) {
        field("window", u32::from(window), u32::from(found))?;
    }
    field("urgent pointer", u32::from(expected.urgent), u32::from(sent.urgent))
}

fn options(
    expected: &Segment,
    sent: &Segment,
    settings: &Settings,
    tolerance_us: i64,
) -> Result<(), String> {
    let (Some(script), Some(live)) = (&expected.options, &sent.options) else {
        return Ok(());
    };
    let same = |a: &TcpOption, b: &TcpOption| match (a, b) {
        (TcpOption::Timestamps(value, _), TcpOption::Timestamps(found, _)) => {
            let ticks = i64::from(found.wrapping_sub(*value).cast_signed()).abs();
            settings.ts_tick_us == 0 || ticks * i64::from(settings.ts_tick_us) <= tolerance_us
        }
        (a, b) => a == b,
    };
    if script.len() == live.len() && script.iter().zip(live).all(|(a, b)| same(a, b)) {
        return Ok(());
    }
    Err(format!("options: expected <{}>, sent <{}>", Options(script), Options(live)))
}

/// True if two sent packets are parts of one that the script shows whole.
///
/// # Errors
/// The first field that differs.
pub(crate) fn continues(before: &Packet, next: &Packet) -> Result<(), String> {
    let (Content::Tcp(a), Content::Tcp(b)) = (&before.content, &next.content) else {
        return Err("a segment of TCP was sent".to_owned());
    };
    let loose = Flags::FIN | Flags::PSH | Flags::CWR;
    if (a.flags.0 ^ b.flags.0) & !loose != 0 {
        return Err("the flags of parts of one packet differ".to_owned());
    }
    field("sequence number", a.seq.wrapping_add(u32::from(a.payload_bytes)), b.seq)?;
    field("acknowledgment number", a.ack, b.ack)
}

/// A packet in the words of a script.
pub(crate) struct Shown<'a>(pub(crate) &'a Packet);

impl Display for Shown<'_> {
    fn fmt(&self, out: &mut Formatter<'_>) -> Written {
        let Content::Tcp(segment) = &self.0.content else {
            return out.write_str("icmp");
        };
        match self.0.ip.tos {
            Tos::Ecn(codepoint) => write!(out, "[{}] ", ecn(codepoint))?,
            Tos::Byte(byte) if byte & 3 != 0 => write!(out, "[{}] ", ecn(byte & 3))?,
            Tos::Byte(_) | Tos::Unsaid => {}
            Tos::Ect => out.write_str("[ect01] ")?,
        }
        let end = segment.seq.wrapping_add(u32::from(segment.payload_bytes));
        let flags = letters(segment.flags, segment.ace);
        write!(out, "{flags} {}:{end}({})", segment.seq, segment.payload_bytes)?;
        if segment.flags.has(Flags::ACK) {
            write!(out, " ack {}", segment.ack)?;
        }
        if let Some(window) = segment.window {
            write!(out, " win {window}")?;
        }
        if segment.flags.has(Flags::URG) {
            write!(out, " urg {}", segment.urgent)?;
        }
        match &segment.options {
            None => out.write_str(" <...>"),
            Some(options) if options.is_empty() => Ok(()),
            Some(options) => write!(out, " <{}>", Options(options)),
        }
    }
}

fn letters(flags: Flags, ace: Option<u8>) -> String {
    let mut text = String::new();
    let all = [
        (Flags::FIN, 'F'),
        (Flags::SYN, 'S'),
        (Flags::RST, 'R'),
        (Flags::PSH, 'P'),
        (Flags::ACK, '.'),
        (Flags::URG, 'U'),
        (Flags::ECE, 'E'),
        (Flags::CWR, 'W'),
        (Flags::AE, 'A'),
    ];
    let ecn = Flags::ECE | Flags::CWR | Flags::AE;
    for (flag, letter) in all {
        if flags.has(flag) && (ace.is_none() || flag & ecn == 0) {
            text.push(letter);
        }
    }
    if ace.is_some() {
        let ace = u16::from(flags.has(Flags::ECE))
            + 2 * u16::from(flags.has(Flags::CWR))
            + 4 * u16::from(flags.has(Flags::AE));
        let _ = write!(text, "{ace}");
    }
    if text.is_empty() {
        text.push('-');
    }
    text
}

struct Options<'a>(&'a [TcpOption]);

impl Display for Options<'_> {
    fn fmt(&self, out: &mut Formatter<'_>) -> Written {
        for (at, option) in self.0.iter().enumerate() {
            if at > 0 {
                out.write_char(',')?;
            }
            match option {
                TcpOption::End => out.write_str("eol")?,
                TcpOption::Nop => out.write_str("nop")?,
                TcpOption::Mss(mss) => write!(out, "mss {mss}")?,
                TcpOption::WindowScale(scale) => write!(out, "wscale {scale}")?,
                TcpOption::SackPermitted => out.write_str("sackOK")?,
                TcpOption::Sack(blocks) => {
                    out.write_str("sack")?;
                    for (left, right) in blocks {
                        write!(out, " {left}:{right}")?;
                    }
                }
                TcpOption::Timestamps(value, echo) => write!(out, "TS val {value} ecr {echo}")?,
                TcpOption::Other(34, cookie) => {
                    out.write_str("FO ")?;
                    hex(out, cookie)?;
                }
                TcpOption::Other(kind @ (172 | 174), bytes) => counters(out, *kind, bytes)?,
                TcpOption::Other(kind, bytes) => {
                    write!(out, "option {kind} ")?;
                    hex(out, bytes)?;
                }
            }
        }
        Ok(())
    }
}

fn hex(out: &mut Formatter<'_>, bytes: &[u8]) -> Written {
    bytes.iter().try_for_each(|byte| write!(out, "{byte:02x}"))
}

/// Counters of Accurate ECN (RFC 9768, 3.2.3).
fn counters(out: &mut Formatter<'_>, kind: u8, bytes: &[u8]) -> Written {
    let names = if kind == 172 { ["e0b", "ceb", "e1b"] } else { ["e1b", "ceb", "e0b"] };
    out.write_str("ECN")?;
    for (name, count) in names.iter().zip(bytes.chunks_exact(3)) {
        let count = u32::from_be_bytes([0, count[0], count[1], count[2]]);
        write!(out, " {name} {count}")?;
    }
    Ok(())
}
