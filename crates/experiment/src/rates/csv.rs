//! Rows of comma-separated values: fields in quotation marks may hold delimiters, and span lines.

/// Longest field, in characters.
const LONGEST: usize = 131_072;

/// Rows of a text with the number of their last line, counted from 1.
pub(super) struct Rows<'a> {
    lines: std::vec::IntoIter<&'a str>,
    delimiter: char,
    /// Lines read.
    pub(super) line: usize,
}

enum State {
    StartOfField,
    Plain,
    Quoted,
    /// Behind a quotation mark within quotation marks.
    Quote,
}

/// Lines of a text as Python's `splitlines` finds them.
pub(super) fn lines(text: &str) -> Vec<&str> {
    let ends = |c: char| {
        matches!(
            c,
            '\n' | '\r' | '\x0b' | '\x0c' | '\x1c'..='\x1e' | '\u{85}' | '\u{2028}' | '\u{2029}'
        )
    };
    let (mut out, mut rest) = (Vec::new(), text);
    while !rest.is_empty() {
        let Some(end) = rest.find(ends) else {
            out.push(rest);
            break;
        };
        out.push(&rest[..end]);
        let tail = &rest[end..];
        let width = tail.chars().next().map_or(1, char::len_utf8);
        rest = &tail[if tail.starts_with("\r\n") { 2 } else { width }..];
    }
    out
}

impl<'a> Rows<'a> {
    pub(super) fn new(lines: Vec<&'a str>, delimiter: char) -> Self {
        Self { lines: lines.into_iter(), delimiter, line: 0 }
    }

    /// The next row, empty for an empty line; `None`: there are no more.
    ///
    /// # Errors
    /// A field is too long.
    pub(super) fn next(&mut self) -> Result<Option<Vec<String>>, String> {
        let (mut row, mut field) = (Vec::new(), String::new());
        let mut state = State::StartOfField;
        let Some(mut line) = self.lines.next() else { return Ok(None) };
        self.line += 1;
        if line.is_empty() {
            return Ok(Some(row));
        }
        loop {
            for c in line.chars() {
                state = match state {
                    State::StartOfField | State::Plain | State::Quote if c == self.delimiter => {
                        row.push(std::mem::take(&mut field));
                        State::StartOfField
                    }
                    State::StartOfField | State::Quoted if c == '"' => match state {
                        State::Quoted => State::Quote,
                        _ => State::Quoted,
                    },
                    State::Quote if c == '"' => {
                        field.push(c);
                        State::Quoted
                    }
                    State::Quoted => {
                        field.push(c);
                        State::Quoted
                    }
                    State::StartOfField | State::Plain | State::Quote => {
                        field.push(c);
                        State::Plain
                    }
                };
                if field.len() > LONGEST && field.chars().count() > LONGEST {
                    return Err(format!("field larger than field limit ({LONGEST})"));
                }
            }
            if !matches!(state, State::Quoted) {
                break;
            }
            let Some(next) = self.lines.next() else { break };
            line = next;
            self.line += 1;
        }
        row.push(field);
        Ok(Some(row))
    }
}
