//! A place in a script's text: words, numbers and signs from there on, without comments.

use crate::Wrong;

/// Longest piece of a script that a message shows.
const SHOWN: usize = 40;

pub(crate) struct Cursor<'a> {
    text: &'a [u8],
    at: usize,
    line: u32,
}

impl<'a> Cursor<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        Self { text: text.as_bytes(), at: 0, line: 1 }
    }

    pub(crate) fn line(&self) -> u32 {
        self.line
    }

    pub(crate) fn wrong<T>(&self, message: impl Into<String>) -> Result<T, Wrong> {
        Err(Wrong { line: self.line, message: message.into() })
    }

    /// An error that names what is here and what is allowed.
    pub(crate) fn expected<T>(&mut self, allowed: &str) -> Result<T, Wrong> {
        self.skip();
        let rest = &self.text[self.at..];
        let end = rest.iter().position(|&byte| byte == b'\n').unwrap_or(rest.len()).min(SHOWN);
        let found = String::from_utf8_lossy(&rest[..end]).trim_end().to_owned();
        let found = if found.is_empty() { "the end".to_owned() } else { format!("`{found}`") };
        self.wrong(format!("expected {allowed}, found {found}"))
    }

    /// Skips white space and comments; an open comment ends at the end.
    pub(crate) fn skip(&mut self) {
        loop {
            let rest = &self.text[self.at..];
            if rest.first().is_some_and(u8::is_ascii_whitespace) {
                self.step(1);
            } else if rest.starts_with(b"//") {
                let end = rest.iter().position(|&byte| byte == b'\n').unwrap_or(rest.len());
                self.step(end);
            } else if rest.starts_with(b"/*") {
                let end = find(&rest[2..], b"*/").map_or(rest.len(), |end| end + 4);
                self.step(end);
            } else {
                return;
            }
        }
    }

    fn step(&mut self, bytes: usize) {
        let passed = &self.text[self.at..self.at + bytes];
        self.line += u32::try_from(passed.iter().filter(|&&b| b == b'\n').count()).unwrap_or(0);
        self.at += bytes;
    }

    /// The byte after white space and comments.
    pub(crate) fn peek(&mut self) -> Option<u8> {
        self.skip();
        self.text.get(self.at).copied()
    }

    /// True if a number is next, and a sign behind it.
    pub(crate) fn is_number_before(&mut self, sign: u8) -> bool {
        self.skip();
        let rest = &self.text[self.at..];
        let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let behind = rest[digits..].iter().find(|byte| !byte.is_ascii_whitespace());
        digits > 0 && behind == Some(&sign)
    }

    /// Takes a sign if it is next.
    pub(crate) fn take(&mut self, sign: &str) -> bool {
        self.skip();
        let found = self.text[self.at..].starts_with(sign.as_bytes());
        if found {
            self.step(sign.len());
        }
        found
    }

    pub(crate) fn require(&mut self, sign: &str) -> Result<(), Wrong> {
        if self.take(sign) {
            Ok(())
        } else {
            self.expected(&format!("`{sign}`"))
        }
    }

    /// Takes a whole word if it is next.
    pub(crate) fn take_word(&mut self, word: &str) -> bool {
        let found = self.peek_word() == Some(word);
        if found {
            self.step(word.len());
        }
        found
    }

    pub(crate) fn peek_word(&mut self) -> Option<&'a str> {
        self.skip();
        let rest = &self.text[self.at..];
        let end = rest.iter().position(|b| !is_of_word(*b)).unwrap_or(rest.len());
        std::str::from_utf8(&rest[..end]).ok().filter(|word| !word.is_empty())
    }

    /// Takes letters, digits and underscores.
    pub(crate) fn word(&mut self) -> Option<&'a str> {
        let word = self.peek_word()?;
        self.step(word.len());
        Some(word)
    }

    /// Takes everything up to white space or one of some signs.
    pub(crate) fn until(&mut self, ends: &[u8]) -> &'a str {
        self.skip();
        self.here(ends)
    }

    /// Takes everything from here up to white space or one of some signs.
    pub(crate) fn here(&mut self, ends: &[u8]) -> &'a str {
        let rest = &self.text[self.at..];
        let end = rest
            .iter()
            .position(|b| b.is_ascii_whitespace() || ends.contains(b))
            .unwrap_or(rest.len());
        let found = std::str::from_utf8(&rest[..end]).unwrap_or("");
        self.step(end);
        found
    }

    /// Takes the text between two signs; `escaped`: a backslash hides the character after it.
    pub(crate) fn between(
        &mut self,
        begin: &str,
        end: &str,
        escaped: bool,
    ) -> Result<String, Wrong> {
        self.require(begin)?;
        let rest = &self.text[self.at..];
        let mut length = 0;
        while !rest[length..].starts_with(end.as_bytes()) {
            length += if escaped && rest.get(length) == Some(&b'\\') { 2 } else { 1 };
            if length >= rest.len() {
                return self.wrong(format!("`{begin}` has no `{end}`"));
            }
        }
        let found = String::from_utf8_lossy(&rest[..length]).into_owned();
        self.step(length + end.len());
        Ok(found)
    }

    /// A whole number, decimal or with `0x`.
    pub(crate) fn number(&mut self) -> Option<i64> {
        self.skip();
        let rest = &self.text[self.at..];
        let minus = usize::from(rest.first() == Some(&b'-'));
        let digits = &rest[minus..];
        let (skipped, radix) = if digits.starts_with(b"0x") { (2, 16) } else { (0, 10) };
        let digits = &digits[skipped..];
        let length =
            digits.iter().position(|&b| !char::from(b).is_digit(radix)).unwrap_or(digits.len());
        let value =
            i64::from_str_radix(std::str::from_utf8(&digits[..length]).ok()?, radix).ok()?;
        self.step(minus + skipped + length);
        Some(if minus == 1 { -value } else { value })
    }

    /// A number within bounds.
    pub(crate) fn bounded(&mut self, what: &str, most: i64) -> Result<i64, Wrong> {
        match self.number() {
            Some(value) if (0..=most).contains(&value) => Ok(value),
            Some(value) => self.wrong(format!("{what} {value} is not between 0 and {most}")),
            None => self.expected(what),
        }
    }

    /// A time in seconds, as microseconds.
    pub(crate) fn seconds(&mut self) -> Result<i64, Wrong> {
        self.skip();
        let rest = &self.text[self.at..];
        let whole = rest.iter().position(|b| !b.is_ascii_digit()).unwrap_or(rest.len());
        let after = &rest[whole..];
        let has_fraction = after.first() == Some(&b'.') && !after.starts_with(b"...");
        let fraction = if has_fraction {
            let digits = &after[1..];
            digits.iter().position(|b| !b.is_ascii_digit()).unwrap_or(digits.len()) + 1
        } else {
            0
        };
        let text = std::str::from_utf8(&rest[..whole + fraction]).unwrap_or("");
        let Ok(seconds) = text.parse::<f64>() else {
            return self.expected("a time in seconds");
        };
        // A kernel in virtual time passes so long a time in some seconds.
        if seconds > 1e6 {
            return self.wrong(format!("the time {text} is above 1000000 s"));
        }
        self.step(text.len());
        // Truncated as packetdrill does, except for the error of a decimal fraction in binary.
        #[allow(clippy::cast_possible_truncation)]
        Ok((seconds * 1e6 + 1e-3) as i64)
    }
}

fn is_of_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

fn find(text: &[u8], sign: &[u8]) -> Option<usize> {
    text.windows(sign.len()).position(|window| window == sign)
}
