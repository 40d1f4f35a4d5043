//! References to factors in texts: `${name}` and `$name`. `$$` is none.

use crate::tree::{Content, Entry, Tree};
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A reference in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Reference<'a> {
    pub(crate) begin: usize,
    pub(crate) end: usize,
    pub(crate) name: &'a str,
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// All references of a text, in order.
pub(crate) fn references(text: &str) -> Vec<Reference<'_>> {
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(begin) = text[from..].find('$').map(|at| from + at) {
        from = begin + 1;
        if text[..begin].ends_with('$') {
            continue;
        }
        let rest = &text[begin + 1..];
        if let Some(inner) = rest.strip_prefix('{') {
            let Some(length) = inner.find(['{', '}']) else { continue };
            if inner[length..].starts_with('}') {
                let end = begin + 2 + length + 1;
                found.push(Reference { begin, end, name: inner[..length].trim() });
                from = end;
            }
        } else if rest.chars().next().is_some_and(|c| is_word(c) && !c.is_numeric()) {
            let length = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
            found.push(Reference { begin, end: begin + 1 + length, name: &rest[..length] });
            from = begin + 1 + length;
        }
    }
    found
}

/// Calls `seen` with each reference below a value, and the value that holds it.
pub(crate) fn each_reference<'a>(tree: &'a Tree, seen: &mut impl FnMut(&'a str, &'a Tree)) {
    match &tree.content {
        Content::Mapping(entries) => entries.iter().for_each(|one| each_reference(&one.tree, seen)),
        Content::List(items) => items.iter().for_each(|one| each_reference(one, seen)),
        Content::Scalar(Value::String(text)) if text.contains('$') => {
            references(text).iter().for_each(|one| seen(one.name, tree));
        }
        Content::Scalar(_) => {}
    }
}

/// The tree with levels in place of references; references to other names stay.
pub(crate) fn replaced(tree: &Arc<Tree>, levels: &BTreeMap<&str, &Arc<Tree>>) -> Arc<Tree> {
    match &tree.content {
        Content::Mapping(entries) => {
            let below = |entry: &Entry| {
                if &*entry.key == "factors" {
                    entry.tree.clone()
                } else {
                    replaced(&entry.tree, levels)
                }
            };
            let made: Vec<_> = entries.iter().map(below).collect();
            if entries.iter().zip(&made).all(|(entry, new)| Arc::ptr_eq(&entry.tree, new)) {
                return tree.clone();
            }
            let entries = entries.iter().zip(made);
            let entries = entries.map(|(entry, tree)| Entry { tree, ..entry.clone() }).collect();
            Arc::new(Tree { content: Content::Mapping(entries), ..Tree::clone(tree) })
        }
        Content::List(items) => {
            let made: Vec<_> = items.iter().map(|item| replaced(item, levels)).collect();
            if items.iter().zip(&made).all(|(item, new)| Arc::ptr_eq(item, new)) {
                return tree.clone();
            }
            Arc::new(Tree { content: Content::List(made), ..Tree::clone(tree) })
        }
        Content::Scalar(Value::String(text)) if text.contains('$') => filled(tree, text, levels),
        Content::Scalar(_) => tree.clone(),
    }
}

fn filled(tree: &Arc<Tree>, text: &str, levels: &BTreeMap<&str, &Arc<Tree>>) -> Arc<Tree> {
    let trimmed = text.trim();
    if let [one] = references(trimmed)[..] {
        if one.begin == 0 && one.end == trimmed.len() {
            return levels.get(one.name).map_or_else(|| tree.clone(), |level| Arc::clone(level));
        }
    }
    let (mut made, mut from) = (String::new(), 0);
    for one in references(text) {
        made += &text[from..one.begin];
        match levels.get(one.name) {
            Some(level) => made += &level.text,
            None => made += &text[one.begin..one.end],
        }
        from = one.end;
    }
    made += &text[from..];
    if made == text {
        return tree.clone();
    }
    let content = Content::Scalar(Value::String(made.clone()));
    Arc::new(Tree { content, text: made.into(), line: tree.line })
}
