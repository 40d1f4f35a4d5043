//! A file as a tree that keeps the text and the line of every value. Trees share what they have in
//! common: a cell's tree copies only the way to what its levels change.

use crate::read::{Loc, Step};
use serde_json::{Map, Value};
use std::sync::Arc;

/// A value in a file.
#[derive(Clone, Debug, PartialEq)]
pub struct Tree {
    /// The value.
    pub content: Content,
    /// Text as written, white space folded.
    pub text: Arc<str>,
    /// First line, counted from 1; 0: outside the file.
    pub line: u32,
}

/// Content of a tree.
#[derive(Clone, Debug, PartialEq)]
pub enum Content {
    /// Text, number, true, false or nothing.
    Scalar(Value),
    /// Items in order.
    List(Vec<Arc<Tree>>),
    /// Entries in order.
    Mapping(Vec<Entry>),
}

/// Entry of a mapping.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// Name.
    pub key: Arc<str>,
    /// Line of the name; 0: outside the file.
    pub line: u32,
    /// Value.
    pub tree: Arc<Tree>,
}

impl Tree {
    /// Tree of a parsed value whose text and lines are not known.
    pub fn of_value(value: &Value) -> Self {
        let content = match value {
            Value::Array(items) => {
                Content::List(items.iter().map(|item| Arc::new(Self::of_value(item))).collect())
            }
            Value::Object(map) => {
                let entry = |(key, value): (&String, &Value)| Entry {
                    key: key.as_str().into(),
                    line: 0,
                    tree: Arc::new(Self::of_value(value)),
                };
                Content::Mapping(map.iter().map(entry).collect())
            }
            scalar => Content::Scalar(scalar.clone()),
        };
        let text = match value {
            Value::String(text) => text.split_whitespace().collect::<Vec<_>>().join(" "),
            other => other.to_string(),
        };
        Self { content, text: text.into(), line: 0 }
    }

    /// An empty mapping.
    pub(crate) fn empty(line: u32) -> Self {
        Self { content: Content::Mapping(Vec::new()), text: "".into(), line }
    }

    /// Value without text and lines.
    pub fn plain(&self) -> Value {
        match &self.content {
            Content::Scalar(value) => value.clone(),
            Content::List(items) => items.iter().map(|item| item.plain()).collect(),
            Content::Mapping(entries) => {
                let one = |entry: &Entry| (entry.key.to_string(), entry.tree.plain());
                Value::Object(entries.iter().map(one).collect::<Map<_, _>>())
            }
        }
    }

    /// Value of a file without text, lines and factors.
    pub(crate) fn plain_file(&self) -> Value {
        let Some(entries) = self.entries() else { return self.plain() };
        let kept = entries.iter().filter(|entry| &*entry.key != "factors");
        Value::Object(kept.map(|entry| (entry.key.to_string(), entry.tree.plain())).collect())
    }

    /// Entries of a mapping; `None`: it is none.
    pub fn entries(&self) -> Option<&[Entry]> {
        match &self.content {
            Content::Mapping(entries) => Some(entries),
            _ => None,
        }
    }

    /// Entries of two mappings with the same names in the same order, in pairs; `None`: they are none.
    pub(crate) fn paired<'a>(&'a self, other: &'a Self) -> Option<Vec<(&'a Entry, &'a Entry)>> {
        let (one, other) = (self.entries()?, other.entries()?);
        let alike = one.len() == other.len() && one.iter().zip(other).all(|(a, b)| a.key == b.key);
        alike.then(|| one.iter().zip(other).collect())
    }

    /// Turns the plain value of this tree into that of another one.
    pub(crate) fn renew(&self, value: &mut Value, now: &Self) {
        match (value.as_object_mut(), self.paired(now)) {
            (Some(map), Some(pairs)) => {
                for (old, new) in pairs.into_iter().filter(|(a, b)| !Arc::ptr_eq(&a.tree, &b.tree))
                {
                    if let Some(value) = map.get_mut(&*new.key) {
                        old.tree.renew(value, &new.tree);
                    }
                }
            }
            _ => *value = now.plain(),
        }
    }

    /// Items of a list; `None`: it is none.
    pub fn items(&self) -> Option<&[Arc<Self>]> {
        match &self.content {
            Content::List(items) => Some(items),
            _ => None,
        }
    }

    /// The text, if the value is text.
    pub fn words(&self) -> Option<&str> {
        match &self.content {
            Content::Scalar(Value::String(text)) => Some(text),
            _ => None,
        }
    }

    /// Returns true if the value is nothing.
    pub fn is_null(&self) -> bool {
        self.content == Content::Scalar(Value::Null)
    }

    /// Entry of a mapping by name.
    pub fn entry(&self, key: &str) -> Option<&Entry> {
        self.entries()?.iter().find(|entry| &*entry.key == key)
    }

    /// Value of a mapping by name.
    pub fn get(&self, key: &str) -> Option<&Arc<Self>> {
        Some(&self.entry(key)?.tree)
    }
}

/// Deepest existing value on a path: the value, the line of its key or its own, the existing steps.
pub(crate) fn descend<'a>(root: &'a Tree, at: &[Step]) -> (&'a Tree, u32, Loc) {
    let (mut tree, mut line, mut there) = (root, root.line, Loc::new());
    for step in at {
        match (step, &tree.content) {
            (Step::Field(name), Content::Mapping(_)) => {
                let Some(entry) = tree.entry(name) else { continue };
                (tree, line) = (&entry.tree, entry.line);
            }
            (Step::Index(index), Content::List(items)) => {
                let Some(item) = items.get(*index) else { continue };
                (tree, line) = (item, item.line);
            }
            _ => continue,
        }
        there.push(step.clone());
    }
    (tree, line, there)
}

/// Path in text form: `flows[1].tcp`.
pub(crate) fn dotted(at: &[Step]) -> String {
    let mut text = String::new();
    for step in at {
        match step {
            Step::Index(index) => text += &format!("[{index}]"),
            Step::Field(name) if text.is_empty() => text += name,
            Step::Field(name) => {
                text.push('.');
                text += name;
            }
        }
    }
    text
}
