//! Packets as a script writes them: `< [ect0] P. 1:1001(1000) ack 1 win 257 <nop,nop,sack 1:2>`.

use crate::cursor::Cursor;
use crate::parse::{defined_as, Defined};
use crate::script::{Content, Flags, Icmp, Ip, Packet, Segment, TcpOption, Tos};
use crate::Wrong;

const U32: i64 = u32::MAX as i64;
const U16: i64 = u16::MAX as i64;
/// Largest payload beside the longest headers of IPv4 and TCP.
const MOST_PAYLOAD: u16 = 65_535 - 20 - 60;
/// Kind of the option of Accurate ECN whose first counter is that of ECT(0), and of ECT(1) (RFC 9768, 3.2.3).
const ACCECN0: u8 = 172;
const ACCECN1: u8 = 174;
/// TCP Fast Open (RFC 7413); its experimental option (RFC 6994) begins with a number of its own.
const FAST_OPEN: u8 = 34;
const EXPERIMENTAL: u8 = 254;
const FAST_OPEN_EXPERIMENT: [u8; 2] = [0xF9, 0x89];
const MD5: u8 = 19;

pub(crate) fn packet(cursor: &mut Cursor<'_>, defined: &Defined) -> Result<Packet, Wrong> {
    cursor.skip();
    let line = cursor.line();
    let inbound = cursor.take("<");
    if !inbound {
        cursor.require(">")?;
    }
    let ip = ip(cursor)?;
    if inbound && ip.tos == Tos::Ect {
        return cursor.wrong("[ect01] is for packets that are sent");
    }
    if let Some(word) = cursor.peek_word() {
        if word == "icmp" {
            return Ok(Packet { ip, ports: None, content: Content::Icmp(icmp(cursor, defined)?) });
        }
        if ["udp", "ipv4", "ipv6", "gre", "GREv0", "mpls", "encap"].contains(&word) {
            return cursor.wrong(format!("packets of `{word}` are not played: TCP and ICMP are"));
        }
    }
    let ports = ports(cursor)?;
    let segment = segment(cursor, defined)?;
    if inbound && segment.window.is_none() && !segment.flags.has(Flags::RST) {
        let message = "a packet that arrives needs a window: `win NUMBER`".to_owned();
        return Err(Wrong { line, message });
    }
    if inbound && segment.payload_bytes > MOST_PAYLOAD {
        let message = format!("payload {} is above {MOST_PAYLOAD}", segment.payload_bytes);
        return Err(Wrong { line, message });
    }
    if inbound && segment.options.is_none() {
        let message = "`<...>` is for packets that are sent".to_owned();
        return Err(Wrong { line, message });
    }
    Ok(Packet { ip, ports, content: Content::Tcp(segment) })
}

fn ip(cursor: &mut Cursor<'_>) -> Result<Ip, Wrong> {
    let mut ip = Ip::default();
    let end = if cursor.take("[") {
        "]"
    } else if cursor.take("(") {
        ")"
    } else {
        return Ok(ip);
    };
    loop {
        match cursor.word() {
            Some("noecn") => ip.tos = Tos::Ecn(0),
            Some("ect1") => ip.tos = Tos::Ecn(1),
            Some("ect0") => ip.tos = Tos::Ecn(2),
            Some("ce") => ip.tos = Tos::Ecn(3),
            Some("ect01") => ip.tos = Tos::Ect,
            Some("tos") => ip.tos = Tos::Byte(small(cursor, "TOS")?),
            Some("ttl") => ip.ttl = Some(small(cursor, "TTL")?),
            Some("flowlabel") => {
                ip.flow_label = u32::try_from(cursor.bounded("flow label", 0xF_FFFF)?).ok();
            }
            _ => return cursor.expected("noecn, ect0, ect1, ect01, ce, tos, ttl or flowlabel"),
        }
        if !cursor.take(",") {
            break;
        }
    }
    cursor.require(end)?;
    Ok(ip)
}

fn small(cursor: &mut Cursor<'_>, what: &str) -> Result<u8, Wrong> {
    Ok(u8::try_from(cursor.bounded(what, 255)?).unwrap_or(0))
}

fn ports(cursor: &mut Cursor<'_>) -> Result<Option<(u16, u16)>, Wrong> {
    // Flags may begin with a digit, too: that of Accurate ECN's counter.
    if !cursor.is_number_before(b'>') {
        return Ok(None);
    }
    let source = cursor.bounded("port", U16)?;
    cursor.require(">")?;
    let destination = cursor.bounded("port", U16)?;
    Ok(Some((u16::try_from(source).unwrap_or(0), u16::try_from(destination).unwrap_or(0))))
}

fn segment(cursor: &mut Cursor<'_>, defined: &Defined) -> Result<Segment, Wrong> {
    let (flags, ace) = flags(cursor)?;
    let (seq, payload_bytes) = range(cursor)?;
    let mut segment = Segment { flags, ace, seq, payload_bytes, ..Segment::default() };
    if cursor.take_word("ack") {
        segment.ack = number32(cursor, "acknowledgment number")?;
    }
    if cursor.take_word("win") {
        segment.window = u16::try_from(cursor.bounded("window", U16)?).ok();
    }
    if cursor.take_word("urg") {
        segment.urgent = u16::try_from(cursor.bounded("urgent pointer", U16)?).unwrap_or(0);
    }
    segment.options = options(cursor, defined)?;
    Ok(segment)
}

/// tcpdump's letters; `.` is ACK, a digit the counter of Accurate ECN.
fn flags(cursor: &mut Cursor<'_>) -> Result<(Flags, Option<u8>), Wrong> {
    let text = cursor.until(b"").to_owned();
    if text == "-" {
        return Ok((Flags(0), None));
    }
    let (mut bits, mut ace) = (0, None);
    for letter in text.chars() {
        bits |= match letter {
            'F' => Flags::FIN,
            'S' => Flags::SYN,
            'R' => Flags::RST,
            'P' => Flags::PSH,
            '.' => Flags::ACK,
            'U' => Flags::URG,
            'E' => Flags::ECE,
            'W' => Flags::CWR,
            'A' => Flags::AE,
            '0'..='7' if ace.is_none() => {
                ace = letter.to_digit(8).and_then(|digit| u8::try_from(digit).ok());
                0
            }
            _ => {
                return cursor.wrong(format!("`{text}`: flags are of FSRPEWAU, `.` and one digit"))
            }
        };
    }
    let ecn = bits & (Flags::ECE | Flags::CWR | Flags::AE);
    if text.is_empty() || (ace.is_some() && ecn != 0) {
        return cursor.wrong(format!(
            "`{text}`: flags are of FSRPEWAU and `.`, and have either E, W, A or a digit"
        ));
    }
    if let Some(ace) = ace {
        bits |= u16::from(ace & 1) * Flags::ECE + u16::from(ace >> 1 & 1) * Flags::CWR;
        bits |= u16::from(ace >> 2 & 1) * Flags::AE;
    }
    Ok((Flags(bits), ace))
}

fn number32(cursor: &mut Cursor<'_>, what: &str) -> Result<u32, Wrong> {
    Ok(u32::try_from(cursor.bounded(what, U32)?).unwrap_or(0))
}

/// `1:1001(1000)`.
fn range(cursor: &mut Cursor<'_>) -> Result<(u32, u16), Wrong> {
    let from = number32(cursor, "sequence number")?;
    cursor.require(":")?;
    let to = number32(cursor, "sequence number")?;
    cursor.require("(")?;
    let bytes = cursor.bounded("payload", U16)?;
    cursor.require(")")?;
    let bytes = u16::try_from(bytes).unwrap_or(0);
    if to != from.wrapping_add(u32::from(bytes)) {
        return cursor.wrong(format!("{from}:{to} are not {bytes} bytes"));
    }
    Ok((from, bytes))
}

fn options(cursor: &mut Cursor<'_>, defined: &Defined) -> Result<Option<Vec<TcpOption>>, Wrong> {
    let mut options = Vec::new();
    if !cursor.take("<") {
        return Ok(Some(options));
    }
    if cursor.take("...") {
        cursor.require(">")?;
        return Ok(None);
    }
    loop {
        options.push(option(cursor, defined)?);
        if !cursor.take(",") {
            break;
        }
    }
    cursor.require(">")?;
    let bytes: usize = options.iter().map(TcpOption::bytes).sum();
    if bytes % 4 != 0 || bytes > 40 {
        return cursor.wrong(format!("{bytes} bytes of options: at most 40, in steps of 4 (nop)"));
    }
    Ok(Some(options))
}

fn option(cursor: &mut Cursor<'_>, defined: &Defined) -> Result<TcpOption, Wrong> {
    Ok(match cursor.word() {
        Some("nop") => TcpOption::Nop,
        Some("eol") => TcpOption::End,
        Some("mss") => TcpOption::Mss(u16::try_from(cursor.bounded("MSS", U16)?).unwrap_or(0)),
        Some("wscale") => TcpOption::WindowScale(small(cursor, "window scale")?),
        Some("sackOK") => TcpOption::SackPermitted,
        Some("sack") => {
            let mut blocks = Vec::new();
            while cursor.peek().is_some_and(|byte| byte.is_ascii_digit()) {
                let left = number32(cursor, "left edge")?;
                cursor.require(":")?;
                blocks.push((left, number32(cursor, "right edge")?));
            }
            TcpOption::Sack(blocks)
        }
        Some("TS") => {
            cursor.require("val")?;
            let value = number32(cursor, "timestamp")?;
            cursor.require("ecr")?;
            TcpOption::Timestamps(value, number32(cursor, "timestamp")?)
        }
        Some("FO") => TcpOption::Other(FAST_OPEN, blob(cursor, defined)?),
        Some("FOEXP") => {
            let mut bytes = FAST_OPEN_EXPERIMENT.to_vec();
            bytes.extend(blob(cursor, defined)?);
            TcpOption::Other(EXPERIMENTAL, bytes)
        }
        Some("md5") => TcpOption::Other(MD5, blob(cursor, defined)?),
        Some("ECN") => accecn(cursor)?,
        _ => {
            return cursor
                .expected("nop, eol, mss, wscale, sackOK, sack, TS, FO, FOEXP, md5 or ECN")
        }
    })
}

/// `ECN e1b 1 ceb 0 e0b 1`: counters of 24 bits.
fn accecn(cursor: &mut Cursor<'_>) -> Result<TcpOption, Wrong> {
    let first_is_ect1 = cursor.peek_word() == Some("e1b");
    let (kind, order) = if first_is_ect1 {
        (ACCECN1, ["e1b", "ceb", "e0b"])
    } else {
        (ACCECN0, ["e0b", "ceb", "e1b"])
    };
    let mut bytes = Vec::new();
    for name in order {
        if !cursor.take_word(name) {
            break;
        }
        let count = cursor.bounded("counter", 0xFF_FFFF)?;
        bytes.extend(&u32::try_from(count).unwrap_or(0).to_be_bytes()[1..]);
    }
    if bytes.is_empty() {
        return cursor.expected("e0b or e1b");
    }
    Ok(TcpOption::Other(kind, bytes))
}

/// Bytes in hexadecimal; a word of `--define` may stand for them. None is no byte.
fn blob(cursor: &mut Cursor<'_>, defined: &Defined) -> Result<Vec<u8>, Wrong> {
    let Some(word) = cursor.word() else {
        return Ok(Vec::new());
    };
    let text = defined_as(word, defined).trim_matches('"').to_owned();
    let digits: Option<Vec<u8>> =
        text.chars().map(|c| c.to_digit(16).and_then(|d| u8::try_from(d).ok())).collect();
    match digits {
        Some(digits) if digits.len() % 2 == 0 => {
            Ok(digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect())
        }
        _ => cursor.wrong(format!("`{text}` are no bytes in hexadecimal; --define={word}=…")),
    }
}

fn icmp(cursor: &mut Cursor<'_>, defined: &Defined) -> Result<Icmp, Wrong> {
    cursor.require("icmp")?;
    let Some(kind) = cursor.word() else {
        return cursor.expected("a type of ICMP");
    };
    let kind = kind.to_owned();
    let mut icmp = Icmp { kind, code: None, mtu: None, quoted: (0, 0) };
    loop {
        match cursor.peek_word() {
            Some("mtu") => {
                cursor.require("mtu")?;
                icmp.mtu = Some(number32(cursor, "MTU")?);
            }
            Some(word) if icmp.code.is_none() && !word.as_bytes()[0].is_ascii_digit() => {
                icmp.code = cursor.word().map(|word| defined_as(word, defined).to_owned());
            }
            _ => break,
        }
    }
    if cursor.take("[") {
        icmp.quoted = range(cursor)?;
        cursor.require("]")?;
    }
    Ok(icmp)
}

impl TcpOption {
    /// Length in the header.
    pub(crate) fn bytes(&self) -> usize {
        match self {
            Self::End | Self::Nop => 1,
            Self::SackPermitted => 2,
            Self::WindowScale(_) => 3,
            Self::Mss(_) => 4,
            Self::Timestamps(..) => 10,
            Self::Sack(blocks) => 2 + 8 * blocks.len(),
            Self::Other(_, bytes) => 2 + bytes.len(),
        }
    }
}
