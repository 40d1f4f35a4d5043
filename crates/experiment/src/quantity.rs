//! Quantities with units, exact: text → fraction → whole number of base units. Sizes follow tc and
//! iperf (a kilobyte is 1024 bytes); rates use powers of 1000. Letter case is ignored.

use crate::read::{shown, Node, Result};
use std::fmt::Write as _;

/// Largest whole number of base units.
pub(crate) const MAX: u128 = i64::MAX as u128;

/// Units of one quantity, in lower case, with their values in base units.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Family {
    pub(crate) name: &'static str,
    base: &'static str,
    units: &'static [(&'static str, u128)],
    likely: &'static [&'static str],
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
};
pub(crate) const RATE: Family = Family {
    name: "rate",
    base: "bit/s",
    units: &[
        ("bit/s", 1),
        ("kbit/s", 1_000),
        ("mbit/s", 1_000_000),
        ("gbit/s", 1_000_000_000),
        ("tbit/s", 1_000_000_000_000),
        ("bit", 1),
        ("kbit", 1_000),
        ("mbit", 1_000_000),
        ("gbit", 1_000_000_000),
        ("tbit", 1_000_000_000_000),
    ],
    likely: &["Mbit/s", "Gbit/s", "kbit/s"],
};
pub(crate) const SIZE: Family = Family {
    name: "size",
    base: "bytes",
    units: &[
        ("bytes", 1),
        ("byte", 1),
        ("b", 1),
        ("kib", 1 << 10),
        ("kb", 1 << 10),
        ("mib", 1 << 20),
        ("mb", 1 << 20),
        ("gib", 1 << 30),
        ("gb", 1 << 30),
        ("tib", 1 << 40),
        ("tb", 1 << 40),
    ],
    likely: &["bytes", "KiB", "MiB"],
};
pub(crate) const PACKETS: Family = Family {
    name: "number of packets",
    base: "packets",
    units: &[("packets", 1), ("packet", 1)],
    likely: &["packets"],
};
pub(crate) const BDP: Family =
    Family { name: "multiple of the BDP", base: "BDP", units: &[("bdp", 1)], likely: &["BDP"] };
pub(crate) const RTT: Family = Family {
    name: "multiple of the base RTT",
    base: "RTT",
    units: &[("rtt", 1)],
    likely: &["RTT"],
};
/// Shares in millionths.
const SHARE: Family =
    Family { name: "share", base: "1", units: &[("%", 10_000), ("ppm", 1)], likely: &["%", "ppm"] };

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

/// Number, unit and whether it is negative, of a text.
fn split(text: &str) -> Option<(bool, Exact, &str)> {
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
    Some((negative, exact, unit))
}

/// Suggestions for a number without a unit.
fn spelled(number: &str, families: &[Family]) -> String {
    let mut units: Vec<&str> = Vec::new();
    for rank in 0..3 {
        units.extend(families.iter().filter_map(|family| family.likely.get(rank)));
    }
    let spelled: Vec<_> = units.iter().take(3).map(|unit| format!("{number} {unit}")).collect();
    spelled.join(" or ")
}

/// Reads a quantity of one of the families, in its base unit.
pub(crate) fn parse(node: &Node<'_>, families: &[Family]) -> Result<(Family, Exact)> {
    let names: Vec<_> = families.iter().map(|family| family.name).collect();
    let name = names.join(" or ");
    let text = match node.value {
        serde_json::Value::String(text) => text.clone(),
        serde_json::Value::Number(number) => number.to_string(),
        _ => String::new(),
    };
    let Some((negative, exact, unit)) = split(&text) else {
        let examples = spelled("10", families);
        return node.fail(format!("{} is not a {name}, such as {examples}", shown(node.value)));
    };
    if unit.is_empty() {
        return node.fail(format!("a {name} needs a unit: {}", spelled(&text, families)));
    }
    if negative {
        return node.fail(format!("a {name} cannot be negative"));
    }
    let folded = unit.to_lowercase();
    for family in families {
        if let Some((_, factor)) = family.units.iter().find(|(known, _)| *known == folded) {
            let Some(mantissa) = exact.mantissa.checked_mul(*factor) else {
                return node.fail(format!("a {name} with too many digits"));
            };
            return Ok((*family, Exact { mantissa, ..exact }));
        }
    }
    let number = text.trim().trim_end_matches(unit).trim();
    node.fail(format!("unknown unit {unit} for a {name}: {}", spelled(number, families)))
}

/// Whole number of the base unit.
pub(crate) fn integer(node: &Node<'_>, family: Family, exact: Exact) -> Result<u64> {
    match exact.ratio() {
        Some((number, 1)) if number <= MAX => Ok(number as u64),
        Some((_, 1)) | None => node.fail(format!("a {} too large", family.name)),
        Some(_) => node.fail(format!("not a whole number of {}", family.base)),
    }
}

/// A quantity that is a whole number of the base unit.
fn whole(node: &Node<'_>, family: Family) -> Result<u64> {
    let (family, exact) = parse(node, &[family])?;
    integer(node, family, exact)
}

/// A quantity above 0.
fn positive(node: &Node<'_>, family: Family) -> Result<u64> {
    match whole(node, family)? {
        0 => node.fail(format!("a {} above 0 is needed", family.name)),
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
    let Some(text) = node.text() else { return Ok(size(node)? as i64) };
    let Some(rest) = text.trim().strip_prefix('-') else { return Ok(size(node)? as i64) };
    let rest = serde_json::Value::String(rest.to_owned());
    let magnitude = size(&Node { value: &rest, at: node.at.clone() })?;
    Ok(-(magnitude as i64))
}

/// A share of 1.
pub(crate) fn share(node: &Node<'_>) -> Result<f64> {
    let (_, exact) = parse(node, &[SHARE])?;
    match exact.ratio() {
        Some((top, bottom)) if top > 1_000_000 * bottom => node.fail("more than 100 %"),
        None => node.fail("a share with too many digits"),
        Some(_) => Ok(exact.millionth()),
    }
}
