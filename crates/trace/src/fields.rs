//! Fields of a line, separated by blanks or tabs, and their numbers. Values out of range are
//! `None`.

/// Iterator over the fields of a line.
pub(crate) struct Fields<'a> {
    line: &'a [u8],
    at: usize,
}

impl<'a> Fields<'a> {
    pub(crate) fn new(line: &'a [u8]) -> Self {
        Self { line, at: 0 }
    }

    /// Offset of the next field.
    #[inline]
    pub(crate) fn start(&mut self) -> usize {
        while matches!(self.line.get(self.at), Some(b' ' | b'\t')) {
            self.at += 1;
        }
        self.at
    }

    /// Next field; empty at the end.
    #[inline]
    pub(crate) fn next(&mut self) -> &'a [u8] {
        let start = self.start();
        while self.line.get(self.at).is_some_and(|byte| !matches!(byte, b' ' | b'\t')) {
            self.at += 1;
        }
        &self.line[start..self.at]
    }

    /// Text between two offsets.
    #[inline]
    pub(crate) fn between(&self, start: usize, end: usize) -> &'a [u8] {
        &self.line[start..end]
    }

    /// Offset of the end of the last field.
    #[inline]
    pub(crate) fn end(&self) -> usize {
        self.at
    }
}

/// Parses a whole number.
#[inline]
pub(crate) fn whole(field: &[u8]) -> Option<i64> {
    let (negative, digits) = match field {
        [b'-', rest @ ..] => (true, rest),
        rest => (false, rest),
    };
    if digits.is_empty() || digits.len() > 18 {
        return None;
    }
    let mut value = 0i64;
    for &byte in digits {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        value = value * 10 + i64::from(digit);
    }
    Some(if negative { -value } else { value })
}

/// Parses a hexadecimal number such as `0x10`.
pub(crate) fn hexadecimal(field: &[u8]) -> Option<u16> {
    let digits = field.strip_prefix(b"0x")?;
    if digits.is_empty() || digits.len() > 4 {
        return None;
    }
    u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

/// Parses decimal seconds; returns nanoseconds, rounded to nearest.
#[inline]
pub(crate) fn seconds(field: &[u8]) -> Option<i64> {
    let (negative, digits) = match field {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        rest => (false, rest),
    };
    let mut value = 0i64;
    let mut at = 0;
    while let Some(&byte) = digits.get(at) {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            break;
        }
        if at >= 9 {
            return None; // More than thirty years.
        }
        value = value * 10 + i64::from(digit);
        at += 1;
    }
    let whole = at;
    if digits.get(at) == Some(&b'.') {
        at += 1;
        let mut taken = 0;
        let mut round = false;
        while let Some(&byte) = digits.get(at) {
            let digit = byte.wrapping_sub(b'0');
            if digit > 9 {
                break;
            }
            match taken {
                0..9 => value = value * 10 + i64::from(digit),
                9 => round = digit >= 5,
                _ => {}
            }
            taken += 1;
            at += 1;
        }
        if whole == 0 && taken == 0 {
            return None;
        }
        for _ in taken.min(9)..9 {
            value *= 10;
        }
        value += i64::from(round);
    } else {
        if whole == 0 {
            return None;
        }
        value *= 1_000_000_000;
    }
    match digits.get(at) {
        None => Some(if negative { -value } else { value }),
        Some(b'e' | b'E') => by_exponent(field),
        Some(_) => None,
    }
}

/// Parses numbers such as 1e-05, as `%g` writes them.
#[cold]
fn by_exponent(field: &[u8]) -> Option<i64> {
    let value: f64 = std::str::from_utf8(field).ok()?.parse().ok()?;
    (value.abs() < 1e9).then(|| (value * 1e9).round() as i64)
}

/// Field for a message: printable and truncated.
pub(crate) fn shown(field: &[u8]) -> String {
    let text: String = field
        .iter()
        .take(40)
        .map(|&byte| if byte.is_ascii_graphic() || byte == b' ' { byte as char } else { '·' })
        .collect();
    if field.len() > 40 {
        format!("'{text}…'")
    } else {
        format!("'{text}'")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_are_exact_to_the_nanosecond() {
        for (text, ns) in [
            ("0", Some(0)),
            ("1", Some(1_000_000_000)),
            ("1.002336", Some(1_002_336_000)),
            ("0.0000000014", Some(1)),
            ("0.0000000015", Some(2)),
            (".5", Some(500_000_000)),
            ("3.", Some(3_000_000_000)),
            ("1e-05", Some(10_000)),
            ("-1.5", Some(-1_500_000_000)),
            ("123456789.5", Some(123_456_789_500_000_000)),
            ("1234567890", None),
            (".", None),
            ("", None),
            ("1.2.3", None),
            ("x", None),
            ("1e99", None),
            ("nan", None),
        ] {
            assert_eq!(seconds(text.as_bytes()), ns, "{text}");
        }
    }

    #[test]
    fn whole_numbers() {
        for (text, value) in [
            ("0", Some(0)),
            ("-1", Some(-1)),
            ("1073741824", Some(1 << 30)),
            ("", None),
            ("-", None),
        ] {
            assert_eq!(whole(text.as_bytes()), value, "{text}");
        }
        assert_eq!(whole(b"9999999999999999999"), None);
        assert_eq!(hexadecimal(b"0x12"), Some(0x12));
        assert_eq!(hexadecimal(b"12"), None);
    }
}
