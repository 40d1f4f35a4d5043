//! Fields of a protobuf message (protobuf.dev, *Encoding*). Nothing is allocated by a length in the file.

/// The file's message is not one of protobuf.
pub(crate) const BROKEN: &str = "it is no ONNX file, or a part of one";

/// Value of a field.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Value<'a> {
    Number(u64),
    Word(u32),
    Bytes(&'a [u8]),
    /// 64 bits, which no field that is read here has.
    Long,
}

/// Reads fields one after another.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fields<'a>(pub(crate) &'a [u8]);

impl<'a> Fields<'a> {
    /// Next field: its number and value. `None` at the end.
    pub(crate) fn next(&mut self) -> Result<Option<(u64, Value<'a>)>, String> {
        if self.0.is_empty() {
            return Ok(None);
        }
        let key = self.number()?;
        let value = match key & 7 {
            0 => Value::Number(self.number()?),
            1 => {
                self.take(8)?;
                Value::Long
            }
            2 => {
                let length = self.number()?;
                Value::Bytes(self.take(length)?)
            }
            5 => {
                let word = self.take(4)?;
                Value::Word(word.iter().rev().fold(0, |all, byte| all << 8 | u32::from(*byte)))
            }
            _ => return Err(BROKEN.to_owned()),
        };
        Ok(Some((key >> 3, value)))
    }

    /// A number of variable length.
    pub(crate) fn number(&mut self) -> Result<u64, String> {
        let mut found = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.take(1)?[0];
            found |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(found);
            }
        }
        Err(BROKEN.to_owned())
    }

    fn take(&mut self, length: u64) -> Result<&'a [u8], String> {
        let length = usize::try_from(length).map_err(|_| BROKEN)?;
        let (taken, rest) = self.0.split_at_checked(length).ok_or(BROKEN)?;
        self.0 = rest;
        Ok(taken)
    }
}

/// A text of the file, shortened for messages and without control characters.
pub(crate) fn shown(name: &[u8]) -> String {
    let text = String::from_utf8_lossy(&name[..name.len().min(40)]);
    let text: String = text.chars().map(|one| if one.is_control() { '?' } else { one }).collect();
    if text.is_empty() {
        return "without name".to_owned();
    }
    text
}
