//! Quantities with units, exact: text → fraction → whole number of base units. Sizes follow tc and
//! iperf (a kilobyte is 1024 bytes); rates use powers of 1000. Letter case is ignored.

use crate::code::Code;
use crate::near::nearest_name;
use crate::read::{Node, Refusal, Result};
use crate::words::shown;
use std::borrow::Cow;
use std::fmt::Write as _;

/// Largest whole number of base units.
pub(crate) const MAX: u128 = i64::MAX as u128;

/// Units of one quantity. Letter case is ignored.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Family {
    pub(crate) name: &'static str,
    /// Base unit, for messages.
    base: &'static str,
    /// Spelling and value in base units. The first spelling of a value is the usual one.
    pub(crate) units: &'static [(&'static str, u128)],
    /// Units that a message suggests for a bare number.
    likely: &'static [&'static str],
    /// Spelling of other tools, and the spelling here.
    others: &'static [(&'static str, &'static str)],
}

impl PartialEq for Family {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

pub(crate) const TIME: Family = Family {
    name: "time",
    base: "ns",
    units: &[
        ("ns", 1),
        ("us", 1_000),
        ("µs", 1_000),
        ("μs", 1_000),
        ("ms", 1_000_000),
        ("s", 1_000_000_000),
        ("min", 60_000_000_000),
        ("h", 3_600_000_000_000),
    ],
    likely: &["ms", "s", "us"],
    others: &[
        ("sec", "s"),
        ("secs", "s"),
        ("second", "s"),
        ("seconds", "s"),
        ("msec", "ms"),
        ("usec", "us"),
        ("m", "min"),
        ("minute", "min"),
        ("minutes", "min"),
        ("hour", "h"),
        ("hours", "h"),
        ("milliseconds", "ms"),
        ("microseconds", "us"),
        ("nanoseconds", "ns"),
    ],
};
pub(crate) const RATE: Family = Family {
    name: "rate",
    base: "bit/s",
    units: &[
        ("bit/s", 1),
        ("kbit/s", 1_000),
        ("Mbit/s", 1_000_000),
        ("Gbit/s", 1_000_000_000),
        ("Tbit/s", 1_000_000_000_000),
        ("bit", 1),
        ("kbit", 1_000),
        ("Mbit", 1_000_000),
        ("Gbit", 1_000_000_000),
        ("Tbit", 1_000_000_000_000),
    ],
    likely: &["Mbit/s", "Gbit/s", "kbit/s"],
    others: &[
        ("bps", "bit/s"),
        ("kbps", "kbit/s"),
        ("mbps", "Mbit/s"),
        ("gbps", "Gbit/s"),
        ("b/s", "bit/s"),
        ("kb/s", "kbit/s"),
        ("mb/s", "Mbit/s"),
        ("gb/s", "Gbit/s"),
        ("k", "kbit/s"),
        ("m", "Mbit/s"),
        ("g", "Gbit/s"),
        ("mbits", "Mbit/s"),
        ("mbits/s", "Mbit/s"),
    ],
};
pub(crate) const SIZE: Family = Family {
    name: "size",
    base: "bytes",
    units: &[
        ("bytes", 1),
        ("byte", 1),
        ("B", 1),
        ("KiB", 1 << 10),
        ("KB", 1 << 10),
        ("MiB", 1 << 20),
        ("MB", 1 << 20),
        ("GiB", 1 << 30),
        ("GB", 1 << 30),
        ("TiB", 1 << 40),
        ("TB", 1 << 40),
    ],
    likely: &["bytes", "KiB", "MiB"],
    others: &[("k", "KiB"), ("m", "MiB"), ("g", "GiB"), ("octets", "bytes")],
};
pub(crate) const PACKETS: Family = Family {
    name: "number of packets",
    base: "packets",
    units: &[("packets", 1), ("packet", 1)],
    likely: &["packets"],
    others: &[("p", "packets"), ("pkt", "packets"), ("pkts", "packets"), ("segments", "packets")],
};
pub(crate) const BDP: Family = Family {
    name: "multiple of the BDP",
    base: "BDP",
    units: &[("BDP", 1)],
    likely: &["BDP"],
    others: &[],
};
pub(crate) const RTT: Family = Family {
    name: "multiple of the base RTT",
    base: "RTT",
    units: &[("RTT", 1)],
    likely: &["RTT"],
    others: &[],
};
/// Shares in millionths.
pub(crate) const SHARE: Family = Family {
    name: "share",
    base: "1",
    units: &[("%", 10_000), ("ppm", 1)],
    likely: &["%", "ppm"],
    others: &[("percent", "%"), ("pct", "%")],
};

/// Value of a unit in the base unit of its family, in any case; `None`: it is unknown.
fn factor(family: Family, name: &str) -> Option<u128> {
    fn folded(text: &str) -> impl Iterator<Item = char> + '_ {
        text.chars().flat_map(char::to_lowercase)
    }
    let alike = |known: &str| known == name || folded(known).eq(folded(name));
    family.units.iter().find(|(known, _)| alike(known)).map(|(_, factor)| *factor)
}

/// Value of a unit in the base unit of its family; 1 if it is unknown.
pub(crate) fn unit(family: Family, name: &str) -> u128 {
    factor(family, name).unwrap_or(1)
}

/// An exact number that is not negative: `mantissa` times ten to `exponent`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Exact {
    mantissa: u128,
    exponent: i32,
}

impl Exact {
    pub(crate) const ONE: Self = Self { mantissa: 1, exponent: 0 };

    /// Returns true if the number is 0.
    pub(crate) fn is_zero(self) -> bool {
        self.mantissa == 0
    }

    /// Numerator and denominator; `None`: too many digits.
    pub(crate) fn ratio(self) -> Option<(u128, u128)> {
        let mut low = self;
        while low.exponent < 0 && low.mantissa % 10 == 0 {
            low = Self { mantissa: low.mantissa / 10, exponent: low.exponent + 1 };
            if low.mantissa == 0 {
                return Some((0, 1));
            }
        }
        let power = 10u128.checked_pow(low.exponent.unsigned_abs())?;
        if low.exponent < 0 {
            Some((low.mantissa, power))
        } else {
            Some((low.mantissa.checked_mul(power)?, 1))
        }
    }

    /// The nearest floating-point number of a millionth of this.
    fn millionth(self) -> f64 {
        format!("{}e{}", self.mantissa, self.exponent - 6).parse().unwrap_or(f64::NAN)
    }
}

/// Whether a quantity is negative, its number as written, the number's value, the unit.
type Parts<'t> = (bool, &'t str, Exact, &'t str);

fn split(text: &str) -> Option<Parts<'_>> {
    let text = text.trim_start();
    let (negative, text) = match text.strip_prefix(['-', '+']) {
        Some(rest) => (text.starts_with('-'), rest.trim_start()),
        None => (false, text),
    };
    let bytes = text.as_bytes();
    let digit = |i: usize| bytes.get(i).is_some_and(u8::is_ascii_digit);
    let mut end = 0;
    if !digit(0) {
        return None;
    }
    while digit(end) || bytes.get(end) == Some(&b'_') {
        end += 1;
    }
    let mut digits: String = text[..end].replace('_', "");
    let mut exponent = 0i32;
    if bytes.get(end) == Some(&b'.') && digit(end + 1) {
        let start = end + 1;
        end = start;
        while digit(end) {
            end += 1;
        }
        let _ = write!(digits, "{}", &text[start..end]);
        exponent = -i32::try_from(end - start).ok()?;
    }
    if matches!(bytes.get(end), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(end + 1), Some(b'-' | b'+')));
        let start = end + 1 + sign;
        if digit(start) {
            let stop = if digit(start + 1) { start + 2 } else { start + 1 };
            exponent += text[end + 1..stop].parse::<i32>().ok()?;
            end = stop;
        }
    }
    let unit = text[end..].trim();
    if unit.starts_with('.') || unit.chars().any(|c| c.is_numeric()) || unit.chars().count() > 31 {
        return None;
    }
    let exact = Exact { mantissa: digits.parse().ok()?, exponent };
    Some((negative, &text[..end], exact, unit))
}

/// Up to three likely units: the first of each family, then the second of each.
fn likely(families: &[Family]) -> Vec<&'static str> {
    let ranked = |rank| families.iter().filter_map(move |family| family.likely.get(rank).copied());
    (0..3).flat_map(ranked).take(3).collect()
}

/// Suggestions for a number without a unit.
fn spelled(number: &str, exact: Exact, families: &[Family]) -> String {
    let mut spelled: Vec<String> = Vec::new();
    if let (true, Some((top, bottom))) = (families == [SHARE], exact.ratio()) {
        if top < bottom {
            spelled.push(format!("{} %", 100.0 * top as f64 / bottom as f64));
        }
    }
    spelled.extend(likely(families).iter().map(|unit| format!("{number} {unit}")));
    spelled.truncate(3);
    let last = spelled.pop().unwrap_or_default();
    if spelled.is_empty() {
        return last;
    }
    format!("{} or {last}", spelled.join(", "))
}

/// First spelling of each unit.
pub(crate) fn usual(families: &[Family]) -> Vec<&'static str> {
    let mut found: Vec<&str> = Vec::new();
    for family in families {
        for (place, (spelling, factor)) in family.units.iter().enumerate() {
            if !family.units[..place].iter().any(|(_, before)| before == factor) {
                found.push(spelling);
            }
        }
    }
    found
}

/// A number as Python writes it.
pub(crate) fn number_text(value: &serde_json::Value) -> Option<String> {
    let serde_json::Value::Number(number) = value else { return None };
    match number.as_f64().filter(|_| number.is_f64()) {
        Some(float) if float.fract() == 0.0 && float.abs() < 1e16 => Some(format!("{float:.1}")),
        _ => Some(number.to_string()),
    }
}

/// Reads a quantity of one of the families, in its base unit.
pub(crate) fn parse(node: &Node<'_>, families: &[Family]) -> Result<(Family, Exact)> {
    let text = node.text().map(Cow::Borrowed).or_else(|| number_text(node.value).map(Cow::Owned));
    let parts = text.as_deref().and_then(split);
    if let Some((false, _, exact, unit)) = parts {
        let known = families.iter().find_map(|family| Some((*family, factor(*family, unit)?)));
        let known = known.and_then(|(family, factor)| {
            Some((family, Exact { mantissa: exact.mantissa.checked_mul(factor)?, ..exact }))
        });
        if let Some(known) = known {
            return Ok(known);
        }
    }
    unread(node, families, parts)
}

/// Refusal of a text that is no quantity of the families. `parts`: of the text, if it has any.
fn unread<T>(node: &Node<'_>, families: &[Family], parts: Option<Parts<'_>>) -> Result<T> {
    let names: Vec<_> = families.iter().map(|family| family.name).collect();
    let name = names.join(" or ");
    let found = shown(node.value);
    let Some((negative, number, exact, unit)) = parts else {
        let examples = likely(families).into_iter().map(|unit| format!("10 {unit}"));
        let refusal = node.refusal(format!("not a {name}")).found(found).allowed(examples);
        return refusal.code(Code::Quantity).err();
    };
    if unit.is_empty() {
        let message = format!("a {name} needs a unit: {}", spelled(number, exact, families));
        return node.refusal(message).found(found).code(Code::UnitMissing).err();
    }
    if negative {
        let message = format!("a {name} cannot be negative");
        return node.refusal(message).found(found).code(Code::OutOfRange).err();
    }
    if families.iter().any(|family| factor(*family, unit).is_some()) {
        let message = format!("a {name} with too many digits");
        return node.refusal(message).found(found).code(Code::OutOfRange).err();
    }
    let folded = unit.to_lowercase();
    let usual = usual(families);
    let other = families.iter().flat_map(|family| family.others);
    let near = other.clone().find(|(known, _)| *known == folded).map(|(_, here)| *here);
    let near = near.or_else(|| nearest_name(unit, usual.iter().copied()));
    node.refusal(format!("unknown unit for a {name}"))
        .found(found)
        .allowed(usual)
        .nearest(near.map(|near| format!("{number} {near}")))
        .code(Code::UnitUnknown)
        .err()
}

/// Whole number of the base unit.
pub(crate) fn integer(node: &Node<'_>, family: Family, exact: Exact) -> Result<u64> {
    let message = match exact.ratio() {
        Some((number, 1)) if number <= MAX => return Ok(number as u64),
        Some((_, 1)) | None => format!("a {} too large", family.name),
        Some((top, bottom)) if top % bottom == 0 && top / bottom <= MAX => {
            return Ok((top / bottom) as u64);
        }
        Some(_) => format!("not a whole number of {}", family.base),
    };
    node.refusal(message).found(shown(node.value)).code(Code::OutOfRange).err()
}

/// A quantity that is a whole number of the base unit.
fn whole(node: &Node<'_>, family: Family) -> Result<u64> {
    let (family, exact) = parse(node, &[family])?;
    integer(node, family, exact)
}

/// A quantity above 0.
fn positive(node: &Node<'_>, family: Family) -> Result<u64> {
    match whole(node, family)? {
        0 => node
            .refusal(format!("a {} above 0 is needed", family.name))
            .found(shown(node.value))
            .code(Code::OutOfRange)
            .err(),
        number => Ok(number),
    }
}

/// A time, ns.
pub(crate) fn time(node: &Node<'_>) -> Result<u64> {
    whole(node, TIME)
}

/// A time above 0, ns.
pub(crate) fn positive_time(node: &Node<'_>) -> Result<u64> {
    positive(node, TIME)
}

/// A rate above 0, bit/s.
pub(crate) fn rate(node: &Node<'_>) -> Result<u64> {
    positive(node, RATE)
}

/// A size in bytes.
pub(crate) fn size(node: &Node<'_>) -> Result<u64> {
    whole(node, SIZE)
}

/// A size above 0, bytes.
pub(crate) fn positive_size(node: &Node<'_>) -> Result<u64> {
    positive(node, SIZE)
}

/// Packets, above 0.
pub(crate) fn packets(node: &Node<'_>) -> Result<u64> {
    positive(node, PACKETS)
}

/// A sysctl with a unit that Linux fixes: a bare number, or a quantity.
pub(crate) fn sysctl(node: &Node<'_>, family: Family) -> Result<u64> {
    match node.value.as_u64() {
        Some(number) if u128::from(number) <= MAX => Ok(number),
        _ => whole(node, family),
    }
}

/// A size with a sign, bytes.
pub(crate) fn signed_size(node: &Node<'_>) -> Result<i64> {
    let rest = node.text().and_then(|text| text.trim().strip_prefix('-'));
    let value = rest.map(serde_json::Value::from);
    let bare = Node { value: value.as_ref().unwrap_or(node.value), at: node.at.clone() };
    let magnitude = size(&bare).map_err(|refusal| {
        let refusal = Refusal { nearest: None, ..refusal };
        refusal.found(shown(node.value)).allowed(["24 bytes", "-4 bytes"])
    })?;
    Ok(if rest.is_some() { -(magnitude as i64) } else { magnitude as i64 })
}

/// A share of 1.
pub(crate) fn share(node: &Node<'_>) -> Result<f64> {
    let (_, exact) = parse(node, &[SHARE])?;
    match exact.ratio() {
        Some((top, bottom)) if top > 1_000_000 * bottom => {
            node.refusal("more than 100 %").found(shown(node.value)).code(Code::OutOfRange).err()
        }
        None => node.fail("a share with too many digits"),
        Some(_) => Ok(exact.millionth()),
    }
}
