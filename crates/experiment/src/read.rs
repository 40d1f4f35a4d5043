//! Values of a parsed file with their paths, and refusals.

use crate::code::Code;
use crate::near::{nearest_name, printable};
use crate::words::shown;
use serde_json::{Map, Value};

/// Step of a path: a field, or an index of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Field of a mapping.
    Field(String),
    /// Index of a list.
    Index(usize),
}

/// Path of a value in the file.
pub type Loc = Vec<Step>;

/// A file that is refused: where, and why.
#[derive(Clone, Debug, PartialEq)]
pub struct Refusal {
    /// Path of the value.
    pub at: Loc,
    /// Message in one sentence.
    pub message: String,
    /// Value found; `None`: the message says it, or the file's text at `at` does.
    pub found: Option<String>,
    /// Values that are allowed.
    pub allowed: Vec<String>,
    /// Likeliest correction; `None`: the nearest of `allowed` to what was found, if one is near.
    pub nearest: Option<String>,
    /// Code of the cause; `None`: that of the section.
    pub code: Option<Code>,
    /// Field below `at` that is missing.
    pub lacking: Option<String>,
    /// True if the command line takes it.
    pub elsewhere: bool,
}

impl Refusal {
    /// A refusal of the value at a path.
    pub(crate) fn new(at: &[Step], message: impl Into<String>) -> Self {
        Self {
            at: at.to_vec(),
            message: message.into(),
            found: None,
            allowed: Vec::new(),
            nearest: None,
            code: None,
            lacking: None,
            elsewhere: false,
        }
    }

    /// With the value found.
    pub(crate) fn found(self, found: impl Into<String>) -> Self {
        Self { found: Some(found.into()), ..self }
    }

    /// With the values that are allowed.
    pub(crate) fn allowed<T: Into<String>>(self, allowed: impl IntoIterator<Item = T>) -> Self {
        Self { allowed: allowed.into_iter().map(Into::into).collect(), ..self }
    }

    /// With the likeliest correction.
    pub(crate) fn nearest(self, nearest: Option<String>) -> Self {
        Self { nearest, ..self }
    }

    /// With the code of the cause.
    pub(crate) fn code(self, code: Code) -> Self {
        Self { code: Some(code), ..self }
    }

    /// With the allowed value that is nearest to the one found.
    pub(crate) fn suggested(self) -> Self {
        let near = self.found.as_deref().and_then(|found| {
            nearest_name(found, self.allowed.iter().map(String::as_str)).map(str::to_owned)
        });
        Self { nearest: self.nearest.or(near), ..self }
    }

    /// As the error of a reader.
    pub(crate) fn err<T>(self) -> Result<T> {
        Err(self)
    }
}

pub(crate) type Result<T> = std::result::Result<T, Refusal>;

/// Fails with a message about a path.
pub(crate) fn fail<T>(at: &[Step], message: impl Into<String>) -> Result<T> {
    Refusal::new(at, message).err()
}

/// Fails because the playground does not take a field.
pub(crate) fn beyond<T>(at: &[Step], what: &str) -> Result<T> {
    let message = format!("`{what}` is not in the playground; the command line runs it");
    Err(Refusal { elsewhere: true, ..Refusal::new(at, message) })
}

/// A mapping of fields. Unlike `json!`, it does not copy their values.
pub(crate) fn object<const N: usize>(fields: [(&str, Value); N]) -> Value {
    fields.into_iter().collect()
}

/// Path with a field behind it.
pub(crate) fn below(at: &[Step], name: &str) -> Loc {
    let mut path = at.to_vec();
    path.push(Step::Field(name.to_owned()));
    path
}

/// Path with an index behind it.
pub(crate) fn item(at: &[Step], index: usize) -> Loc {
    let mut path = at.to_vec();
    path.push(Step::Index(index));
    path
}

/// A value and its path.
#[derive(Clone, Debug)]
pub(crate) struct Node<'a> {
    pub(crate) value: &'a Value,
    pub(crate) at: Loc,
}

impl<'a> Node<'a> {
    /// A refusal of this value.
    pub(crate) fn refusal(&self, message: impl Into<String>) -> Refusal {
        Refusal::new(&self.at, message)
    }

    /// Fails with a message about this value.
    pub(crate) fn fail<T>(&self, message: impl Into<String>) -> Result<T> {
        fail(&self.at, message)
    }

    /// Fields of a mapping; `null` is an empty one.
    pub(crate) fn any_fields(&self) -> Result<Fields<'a>> {
        match self.value {
            Value::Null => Ok(Fields { map: None, at: self.at.clone() }),
            Value::Object(map) => Ok(Fields { map: Some(map), at: self.at.clone() }),
            other => self.fail(format!("should be a mapping, is {}", shown(other))),
        }
    }

    /// Items of a list.
    pub(crate) fn items(&self) -> Result<Vec<Self>> {
        let Value::Array(items) = self.value else {
            return self.fail(format!("should be a list, is {}", shown(self.value)));
        };
        let node = |(i, value)| Node { value, at: item(&self.at, i) };
        Ok(items.iter().enumerate().map(node).collect())
    }

    /// Items of a list; any other value is its only item.
    pub(crate) fn one_or_more(&self) -> Result<Vec<Self>> {
        let found = if self.value.is_array() { self.items()? } else { vec![self.clone()] };
        if found.is_empty() {
            return self.fail("at least one is needed");
        }
        Ok(found)
    }

    /// The text, if it is one.
    pub(crate) fn text(&self) -> Option<&'a str> {
        self.value.as_str()
    }

    /// A name: text, or a whole number.
    pub(crate) fn name(&self) -> Result<String> {
        let text = match self.value {
            Value::String(text) => text.clone(),
            Value::Number(number) if !number.is_f64() => number.to_string(),
            other => {
                let refusal = self.refusal("should be a name").found(shown(other));
                return refusal.code(Code::BadName).err();
            }
        };
        let fits = (1..=200).contains(&text.chars().count());
        if !fits || text.trim() != text || !text.chars().all(printable) {
            return self
                .refusal("a name of 1 to 200 printable characters is needed")
                .found(shown(self.value))
                .code(Code::BadName)
                .err();
        }
        Ok(text)
    }

    /// True or false; also 1 and 0.
    pub(crate) fn flag(&self) -> Result<bool> {
        match self.value {
            Value::Bool(flag) => Ok(*flag),
            other if other.as_u64() == Some(0) => Ok(false),
            other if other.as_u64() == Some(1) => Ok(true),
            other => self
                .refusal("should be true or false")
                .found(shown(other))
                .code(Code::FieldKind)
                .err(),
        }
    }

    /// A whole number in a range, both ends included.
    pub(crate) fn whole(&self, least: i128, most: i128) -> Result<i128> {
        let found = self.value.as_i64().map(i128::from).or(self.value.as_u64().map(i128::from));
        match found {
            Some(number) if (least..=most).contains(&number) => Ok(number),
            _ => self
                .refusal(format!("should be a whole number from {least} to {most}"))
                .found(shown(self.value))
                .code(Code::OutOfRange)
                .err(),
        }
    }

    /// One of some names. `what`: what a name stands for.
    pub(crate) fn choice(&self, names: &[&str], what: &str) -> Result<String> {
        match self.text() {
            Some(text) if names.contains(&text) => Ok(text.to_owned()),
            text => self
                .refusal(format!("unknown {what}"))
                .found(shown(self.value))
                .allowed(names.iter().copied())
                .nearest(
                    text.and_then(|text| nearest_name(text, names.iter().copied()))
                        .map(str::to_owned),
                )
                .code(Code::UnknownName)
                .err(),
        }
    }
}

/// Fields of a mapping.
#[derive(Clone, Debug)]
pub(crate) struct Fields<'a> {
    map: Option<&'a Map<String, Value>>,
    pub(crate) at: Loc,
}

impl<'a> Fields<'a> {
    /// Fields of a mapping made from a short form, or of a mapping that is written.
    pub(crate) fn of(map: &'a Map<String, Value>, at: Loc) -> Self {
        Self { map: Some(map), at }
    }

    /// A field; `None`: it is not written, or `null`.
    pub(crate) fn get(&self, name: &str) -> Option<Node<'a>> {
        let value = self.map?.get(name).filter(|value| !value.is_null())?;
        Some(Node { value, at: below(&self.at, name) })
    }

    /// A field that must be written.
    pub(crate) fn need(&self, name: &str) -> Result<Node<'a>> {
        self.get(name).map_or_else(|| fail(&self.at, format!("{name} is missing")), Ok)
    }

    /// A field read by `read`, if it is written.
    pub(crate) fn read<T>(
        &self,
        name: &str,
        read: impl FnOnce(&Node<'a>) -> Result<T>,
    ) -> Result<Option<T>> {
        self.get(name).map(|node| read(&node)).transpose()
    }

    /// Names of all fields, `null` ones included.
    pub(crate) fn names(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        self.map.into_iter().flat_map(Map::keys).map(String::as_str)
    }

    /// All fields, `null` ones included.
    pub(crate) fn all(&self) -> impl Iterator<Item = (&'a str, Node<'a>)> + use<'a, '_> {
        let node = |(name, value): (&'a String, &'a Value)| {
            (name.as_str(), Node { value, at: below(&self.at, name) })
        };
        self.map.into_iter().flatten().map(node)
    }

    /// The one of some fields that is written; the others are not.
    pub(crate) fn exactly_one(&self, names: &[&'static str]) -> Result<&'static str> {
        let given: Vec<_> = names.iter().copied().filter(|name| self.get(name).is_some()).collect();
        match given[..] {
            [one] => Ok(one),
            _ => {
                let found = if given.is_empty() { "none".to_owned() } else { given.join(" and ") };
                let refusal = Refusal::new(&self.at, "exactly one of these is needed").found(found);
                refusal.allowed(names.iter().copied()).code(Code::OneOf).err()
            }
        }
    }
}
