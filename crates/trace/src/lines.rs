//! Lines of a stream, in a buffer of fixed size.

use memchr::memchr;
use std::io::{self, Read};

const BUFFER_BYTES: usize = 1 << 20;
/// Maximum length of a line.
pub(crate) const LINE_BYTES_MAX: usize = 1 << 14;

/// A line.
pub(crate) struct Line<'a> {
    /// Text without the line end.
    pub(crate) text: &'a [u8],
    /// True if the line end is present.
    pub(crate) whole: bool,
    /// True if the line is too long; the text is its beginning.
    pub(crate) too_long: bool,
}

/// Splits a stream into lines.
pub(crate) struct Lines<R> {
    source: R,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    ended: bool,
}

impl<R: Read> Lines<R> {
    pub(crate) fn new(source: R) -> Self {
        Self { source, buffer: vec![0; BUFFER_BYTES], start: 0, end: 0, ended: false }
    }

    /// Next line; `None` at the end.
    pub(crate) fn next(&mut self) -> io::Result<Option<Line<'_>>> {
        let mut too_long = false;
        loop {
            let there = &self.buffer[self.start..self.end];
            if let Some(length) = memchr(b'\n', there) {
                let from = self.start;
                self.start += length + 1;
                let mut text = &self.buffer[from..from + length];
                if let [rest @ .., b'\r'] = text {
                    text = rest;
                }
                too_long |= text.len() > LINE_BYTES_MAX;
                return Ok(Some(Line { text, whole: true, too_long }));
            }
            if there.len() > LINE_BYTES_MAX {
                // Discards the line up to its end.
                too_long = true;
                self.start = self.end - 1;
            }
            if self.ended {
                let from = self.start;
                self.start = self.end;
                let text = &self.buffer[from..self.end];
                let some = !text.is_empty() || too_long;
                return Ok(some.then_some(Line { text, whole: false, too_long }));
            }
            self.fill()?;
        }
    }

    fn fill(&mut self) -> io::Result<()> {
        self.buffer.copy_within(self.start..self.end, 0);
        (self.start, self.end) = (0, self.end - self.start);
        loop {
            match self.source.read(&mut self.buffer[self.end..]) {
                Ok(read) => {
                    self.end += read;
                    self.ended = read == 0;
                    return Ok(());
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(bytes: &[u8]) -> Vec<(Vec<u8>, bool, bool)> {
        let mut lines = Lines::new(bytes);
        let mut found = Vec::new();
        while let Ok(Some(line)) = lines.next() {
            found.push((line.text.to_vec(), line.whole, line.too_long));
        }
        found
    }

    #[test]
    fn lines_end_where_they_end() {
        assert_eq!(texts(b""), []);
        let two = [(b"a".to_vec(), true, false), (b"b".to_vec(), false, false)];
        assert_eq!(texts(b"a\r\nb"), two);
    }

    #[test]
    fn what_is_too_long_is_one_line_and_the_next_is_found() {
        let mut bytes = vec![b'x'; 5 * BUFFER_BYTES];
        bytes.extend(b"\nnext\n");
        let found = texts(&bytes);
        assert_eq!(found.len(), 2);
        assert!(found[0].2);
        assert_eq!(found[1], (b"next".to_vec(), true, false));
    }
}
