//! Errors with their place in the file.

use crate::code::Code;
use crate::read::Refusal;
use crate::tree::{descend, dotted, Content, Tree};
use crate::words::shortened;

/// Most allowed values that a sentence names.
const SHOWN: usize = 12;

/// An error of a file, or of an override beside it.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Located {
    /// Message in one sentence.
    pub message: String,
    /// The override, such as `--set rtt`; `None`: the error is in the file.
    pub outside: Option<String>,
    /// Line in the file; 0: it has none.
    pub line: u32,
    /// Path of the field, such as `flows[1].tcp`.
    pub field: String,
    /// Value found.
    pub found: Option<String>,
    /// Values that are allowed.
    pub allowed: Vec<String>,
    /// Likeliest correction.
    pub nearest: Option<String>,
    /// Code of the cause; `None`: that of the section.
    pub code: Option<Code>,
    /// True if the playground does not take it and the command line does.
    pub elsewhere: bool,
}

impl Located {
    /// An error at a line and a field.
    pub(crate) fn new(message: impl Into<String>, line: u32, field: impl Into<String>) -> Self {
        Self { message: message.into(), line, field: field.into(), ..Self::default() }
    }

    /// An error of an override.
    pub(crate) fn outside(message: impl Into<String>, place: String) -> Self {
        Self { message: message.into(), outside: Some(place), ..Self::default() }
    }

    pub(crate) fn found(self, found: impl Into<String>) -> Self {
        Self { found: Some(found.into()), ..self }
    }

    pub(crate) fn allowed<T: AsRef<str>>(self, allowed: &[T]) -> Self {
        Self { allowed: allowed.iter().map(|one| one.as_ref().to_owned()).collect(), ..self }
    }

    pub(crate) fn nearest(self, nearest: Option<String>) -> Self {
        Self { nearest, ..self }
    }

    pub(crate) fn code(self, code: Code) -> Self {
        Self { code: Some(code), ..self }
    }

    /// Message with what was found, the likeliest correction, and what is allowed.
    pub fn sentence(&self) -> String {
        let mut text = self.message.clone();
        if let Some(found) = &self.found {
            text += &format!("; found {}", if found.is_empty() { "nothing" } else { found });
        }
        if let Some(nearest) = &self.nearest {
            text += &format!("; did you mean {nearest}?");
        }
        if !self.allowed.is_empty() {
            let shown: Vec<_> = self.allowed.iter().take(SHOWN).map(|one| shortened(one)).collect();
            text += &format!("; allowed: {}", shown.join(", "));
            if self.allowed.len() > SHOWN {
                text += &format!(" and {} more", self.allowed.len() - SHOWN);
            }
        }
        text
    }

    /// As the error of a reader.
    pub(crate) fn err<T>(self) -> Result<T, Self> {
        Err(self)
    }
}

/// A refusal with its place in the tree of the cell. `as_written`: what was found is shown as the
/// file writes it.
pub(crate) fn located(refusal: Refusal, root: &Tree, as_written: bool) -> Located {
    let (tree, key_line, mut there) = descend(root, &refusal.at);
    let container = !matches!(tree.content, Content::Scalar(_));
    let line = if container { key_line } else { tree.line };
    let mut found = refusal.found;
    if as_written && !container && found.is_some() {
        found = Some(shortened(&tree.text));
    }
    if let Some(lacking) = refusal.lacking {
        there.push(crate::read::Step::Field(lacking.to_owned()));
    }
    Located {
        message: refusal.message,
        outside: (line == 0).then(|| "--set".to_owned()),
        line,
        field: dotted(&there),
        found,
        allowed: refusal.allowed,
        nearest: refusal.nearest,
        code: refusal.code,
        elsewhere: refusal.elsewhere,
    }
}
