//! Times of a measurement in nanoseconds: numbers, and dates.

/// Digits of a number that count.
const MOST_DIGITS: usize = 28;

/// A number times `unit`, rounded to the even neighbour if it is halfway; `None`: it is none.
/// Numbers above 10^36 become `i128::MAX`.
pub(super) fn number(text: &str, unit: u64) -> Option<i128> {
    let (negative, rest) = match text.strip_prefix(['-', '+']) {
        Some(rest) => (text.starts_with('-'), rest),
        None => (false, text),
    };
    let rest = rest.replace('_', "");
    let (head, exponent) = match rest.find(['e', 'E']) {
        Some(end) => (&rest[..end], rest[end + 1..].parse::<i64>().ok()?),
        None => (&rest[..], 0),
    };
    let (whole, part) = head.split_once('.').unwrap_or((head, ""));
    let digits = format!("{whole}{part}");
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let digits = digits.trim_start_matches('0');
    let kept = digits.len().min(MOST_DIGITS);
    let mantissa: i128 = if kept == 0 { 0 } else { digits[..kept].parse().ok()? };
    let dropped = i64::try_from(digits.len() - kept).ok()?;
    let exponent = exponent.checked_sub(i64::try_from(part.len()).ok()?)?.checked_add(dropped)?;
    let value = scaled(mantissa.saturating_mul(unit.into()), exponent);
    Some(if negative { -value } else { value })
}

/// A number times a power of ten, rounded.
fn scaled(mantissa: i128, exponent: i64) -> i128 {
    if mantissa == 0 {
        return 0;
    }
    let power = u32::try_from(exponent.unsigned_abs()).ok().and_then(|e| 10i128.checked_pow(e));
    match (exponent >= 0, power) {
        (true, Some(power)) => mantissa.checked_mul(power).unwrap_or(i128::MAX),
        (true, None) => i128::MAX,
        (false, None) => 0,
        (false, Some(power)) => {
            let (floor, rest) = (mantissa / power, mantissa % power);
            let up = match (2 * rest).cmp(&power) {
                std::cmp::Ordering::Greater => true,
                std::cmp::Ordering::Equal => floor % 2 == 1,
                std::cmp::Ordering::Less => false,
            };
            floor + i128::from(up)
        }
    }
}

/// Time of a date of ISO 8601, or that of G-NetTrack Pro, since 1970, ns; `None`: it is none.
pub(super) fn date(text: &str) -> Option<i128> {
    iso(text).or_else(|| nettrack(text)).map(|micros| i128::from(micros) * 1000)
}

/// Number of so many digits at the beginning, and what follows it.
fn digits(text: &str, count: usize) -> Option<(i64, &str)> {
    let head = text.get(..count).filter(|head| head.bytes().all(|byte| byte.is_ascii_digit()))?;
    Some((head.parse().ok()?, &text[count..]))
}

/// Days since 1970 of a date of the Gregorian calendar.
fn days(year: i64, month: i64, day: i64) -> Option<i64> {
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let lengths = [31, 28 + i64::from(leap), 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let index = usize::try_from(month - 1).ok()?;
    let length = *lengths.get(index)?;
    if year < 1 || !(1..=length).contains(&day) {
        return None;
    }
    let before = year - 1;
    let of_years = 365 * before + before / 4 - before / 100 + before / 400;
    Some(of_years + lengths[..index].iter().sum::<i64>() + day - 719_163)
}

fn iso(text: &str) -> Option<i64> {
    let (year, rest) = digits(text, 4)?;
    let extended = rest.starts_with('-');
    let part = |text| digits(if extended { str::strip_prefix(text, '-')? } else { text }, 2);
    let (month, rest) = part(rest)?;
    let (day, rest) = part(rest)?;
    let midnight = days(year, month, day)? * 86_400_000_000;
    if rest.is_empty() {
        return Some(midnight);
    }
    let rest = &rest[rest.chars().next()?.len_utf8()..];
    let (time, zone) = rest.split_at(rest.find(['+', '-', 'Z']).unwrap_or(rest.len()));
    let offset = match zone.chars().next() {
        None => 0,
        Some('Z') if zone.len() == 1 => 0,
        Some('+') => clock(&zone[1..])?,
        Some('-') => -clock(&zone[1..])?,
        Some(_) => return None,
    };
    Some(midnight + clock(time)? - offset)
}

/// Time of day, µs: `HH`, `HH:MM`, `HH:MM:SS.ffffff`, also without colons.
fn clock(text: &str) -> Option<i64> {
    let (hours, mut rest) = digits(text, 2)?;
    let (mut seconds, mut unit) = (hours * 3600, 60);
    let colons = rest.starts_with(':');
    let mut parts = 1;
    while parts < 3 && !rest.is_empty() {
        let (value, tail) = digits(if colons { rest.strip_prefix(':')? } else { rest }, 2)?;
        if value > 59 {
            return None;
        }
        seconds += value * unit;
        (unit, rest, parts) = (1, tail, parts + 1);
    }
    let mut micros = 0;
    if !rest.is_empty() {
        let fraction = rest.strip_prefix(['.', ','])?;
        if fraction.is_empty() || !fraction.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let head: String = fraction.chars().chain("000000".chars()).take(6).collect();
        micros = head.parse().ok()?;
    }
    if hours > 23 {
        return None;
    }
    Some(seconds * 1_000_000 + micros)
}

/// A date such as `2019.12.14_10.16.30`.
fn nettrack(text: &str) -> Option<i64> {
    let (date, time) = text.split_once('_')?;
    let (year, date) = digits(date, 4)?;
    let numbers = |text: &str| -> Option<Vec<i64>> {
        let one = |part: &str| Some(digits(part, part.len()).filter(|_| part.len() <= 2)?.0);
        text.split('.').map(one).collect()
    };
    let (date, time) = (numbers(date.strip_prefix('.')?)?, numbers(time)?);
    match (&date[..], &time[..]) {
        (&[month, day], &[hours @ 0..=23, minutes @ 0..=59, seconds @ 0..=59]) => {
            let seconds = 3600 * hours + 60 * minutes + seconds;
            Some((days(year, month, day)? * 86_400 + seconds) * 1_000_000)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_exact() {
        assert_eq!(number("1.5", 1_000_000_000), Some(1_500_000_000));
        assert_eq!(number("-0.0000000025", 1_000_000_000), Some(-2));
        assert_eq!(number("1_0e1", 1), Some(100));
        assert_eq!(number("1e99", 1), Some(i128::MAX));
        assert_eq!(number("nan", 1), None);
    }

    #[test]
    fn dates_are_known() {
        let second = 1_000_000_000;
        assert_eq!(date("1970-01-02"), Some(86_400 * second));
        assert_eq!(date("1970-01-01T01:00:00.5+01:00"), Some(second / 2));
        assert_eq!(date("2019.12.14_10.16.30"), Some(1_576_318_590 * second));
        assert_eq!(date("20191214T101630Z"), date("2019-12-14 10:16:30"));
        assert_eq!(date("2019-02-29"), None);
        assert_eq!(date("tomorrow"), None);
    }
}
