//! Words of a command line, quoted as for a shell.

/// Splits a command line as POSIX shells do, without their expansions.
///
/// # Errors
/// A quotation is not closed, or nothing follows a backslash.
pub(crate) fn words(line: &str) -> Result<Vec<String>, &'static str> {
    let mut out = Vec::new();
    // `None`: between words.
    let mut word: Option<String> = None;
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        if matches!(c, ' ' | '\t' | '\r' | '\n') {
            out.extend(word.take());
            continue;
        }
        let held = word.get_or_insert_with(String::new);
        match c {
            '\\' => held.push(chars.next().ok_or("no escaped character")?),
            '\'' | '"' => loop {
                let next = chars.next().ok_or("no closing quotation")?;
                match next {
                    _ if next == c => break,
                    '\\' if c == '"' => {
                        let escaped = chars.next().ok_or("no escaped character")?;
                        if !matches!(escaped, '"' | '\\') {
                            held.push('\\');
                        }
                        held.push(escaped);
                    }
                    _ => held.push(next),
                }
            },
            _ => held.push(c),
        }
    }
    out.extend(word);
    Ok(out)
}

/// Returns true for a word that only a shell reads: a pipe, a redirection, a list of commands; not `;` of
/// find's `-exec`.
pub(crate) fn is_of_shell(word: &str) -> bool {
    if matches!(word, "|" | "||" | "&" | "&&" | "<" | "2>/dev/null") {
        return true;
    }
    let rest = word.strip_prefix(['0', '1', '2', '&']).unwrap_or(word);
    let Some(rest) = rest.strip_prefix('>') else { return false };
    let rest = rest.strip_prefix('>').unwrap_or(rest);
    matches!(rest, "" | "&0" | "&1" | "&2")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted() {
        let line = r#"a 'b c' "d \"e\" \f" g\ h '' i"j"k"#;
        assert_eq!(words(line).unwrap(), ["a", "b c", r#"d "e" \f"#, "g h", "", "ijk"]);
        assert_eq!(words("a 'b"), Err("no closing quotation"));
        assert_eq!(words("a \\"), Err("no escaped character"));
    }

    #[test]
    fn signs_of_a_shell_are_known() {
        for word in ["|", "&&", ">", "2>>", "2>&1", "&>", "<", "2>/dev/null"] {
            assert!(is_of_shell(word), "{word}");
        }
        for word in [";", "a|b", "3>", ">x", "<<", "-"] {
            assert!(!is_of_shell(word), "{word}");
        }
    }
}
