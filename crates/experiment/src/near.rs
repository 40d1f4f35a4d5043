//! Names that resemble one that is unknown, for messages.

use std::collections::BTreeMap;

/// Least similarity of a suggestion.
const CUTOFF: f64 = 0.6;
/// Longest part of a name that is compared, in characters.
const LONGEST: usize = 100;

/// Known name most similar to `name`, whatever the letter case; `None`: none is similar.
///
/// Similarity is that of Ratcliff and Obershelp: twice the characters of common blocks over all
/// characters. Of equally similar names the last in the order of code points counts.
pub(crate) fn nearest_name<'a>(
    name: &str,
    known: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    let word: Vec<char> = name.to_lowercase().chars().take(LONGEST).collect();
    let mut best: Option<(f64, String, &'a str)> = None;
    for one in known {
        let folded = one.to_lowercase();
        let chars: Vec<char> = folded.chars().collect();
        if ratio(chars.len().min(word.len()), &chars, &word) < CUTOFF {
            continue;
        }
        if ratio(shared(&chars, &word), &chars, &word) < CUTOFF {
            continue;
        }
        let found = ratio(matches(&chars, &word), &chars, &word);
        let better = best
            .as_ref()
            .is_none_or(|(ratio, text, _)| found > *ratio || (found >= *ratio && folded >= *text));
        if found >= CUTOFF && better {
            best = Some((found, folded, one));
        }
    }
    best.map(|(_, _, one)| one)
}

/// Known names for a message: the nearest one, then the others, short ones first.
pub(crate) fn suggested<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let mut rest: Vec<&str> = known.into_iter().collect();
    rest.sort_unstable_by_key(|one| (one.chars().count(), *one));
    rest.dedup();
    let near = nearest_name(name, rest.iter().copied());
    let others = rest.iter().copied().filter(|one| Some(*one) != near);
    near.into_iter().chain(others).map(str::to_owned).collect()
}

/// Share of common characters; 1 for two empty texts.
fn ratio(common: usize, a: &[char], b: &[char]) -> f64 {
    match a.len() + b.len() {
        0 => 1.0,
        length => 2.0 * common as f64 / length as f64,
    }
}

/// Characters that both have, in any order: at least as many as blocks hold.
fn shared(a: &[char], b: &[char]) -> usize {
    let mut left: BTreeMap<char, usize> = BTreeMap::new();
    for one in b {
        *left.entry(*one).or_default() += 1;
    }
    let mut take = |one: &char| match left.get_mut(one) {
        Some(count) if *count > 0 => {
            *count -= 1;
            true
        }
        _ => false,
    };
    a.iter().filter(|one| take(one)).count()
}

/// Characters of all common blocks: the longest one, then those on either side of it.
fn matches(a: &[char], b: &[char]) -> usize {
    let mut places: BTreeMap<char, Vec<usize>> = BTreeMap::new();
    for (j, one) in b.iter().enumerate() {
        places.entry(*one).or_default().push(j);
    }
    let mut total = 0;
    let mut open = vec![(0..a.len(), 0..b.len())];
    while let Some((left, right)) = open.pop() {
        let (mut first, mut second, mut longest) = (left.start, right.start, 0);
        let mut lengths: BTreeMap<usize, usize> = BTreeMap::new();
        for i in left.clone() {
            let mut next = BTreeMap::new();
            for &j in places.get(&a[i]).into_iter().flatten() {
                if !right.contains(&j) {
                    continue;
                }
                let before = j.checked_sub(1).and_then(|j| lengths.get(&j)).copied();
                let length = before.unwrap_or(0) + 1;
                next.insert(j, length);
                if length > longest {
                    (first, second, longest) = (i + 1 - length, j + 1 - length, length);
                }
            }
            lengths = next;
        }
        if longest > 0 {
            total += longest;
            open.push((left.start..first, right.start..second));
            open.push((first + longest..left.end, second + longest..right.end));
        }
    }
    total
}

/// Text for a message: at most `limit` characters, on one line.
pub(crate) fn shortened(text: &str, limit: usize) -> String {
    let head: String = text.chars().take(4 * limit).collect();
    let line = head.split_whitespace().collect::<Vec<_>>().join(" ");
    let line: String =
        line.chars().map(|c| if printable(c) { c } else { char::REPLACEMENT_CHARACTER }).collect();
    if line.chars().count() <= limit {
        return line;
    }
    line.chars().take(limit - 1).chain(['…']).collect()
}

/// Returns true if a character has a glyph, or is a space.
pub(crate) fn printable(c: char) -> bool {
    c == ' '
        || c.is_ascii_graphic()
        || (!c.is_ascii() && format!("a{c}").escape_debug().count() == 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suggests_what_resembles() {
        let algorithms = ["reno", "cubic", "bbr", "bbr3", "vegas", "westwood"];
        for (name, near) in [
            ("cubik", Some("cubic")),
            ("BBR", Some("bbr")),
            ("bbr2", Some("bbr")),
            ("westwod", Some("westwood")),
            ("quic", Some("cubic")),
            ("htcp", None),
            ("", None),
        ] {
            assert_eq!(nearest_name(name, algorithms), near, "{name}");
        }
    }

    #[test]
    fn short_names_come_first() {
        let known = ["d10", "s1", "d1", "d2"];
        assert_eq!(suggested("d100", known), ["d10", "d1", "d2", "s1"]);
        assert_eq!(suggested("x", known), ["d1", "d2", "s1", "d10"]);
    }

    #[test]
    fn messages_have_one_line() {
        assert_eq!(shortened(" a \n b\u{7}c ", 60), "a b\u{fffd}c");
        assert_eq!(shortened("abcdef", 4), "abc…");
        assert!(printable('é') && printable('\'') && !printable('\u{200b}'));
    }
}
