//! Fields of a tree by path, as factors and overrides set them: `flows[*].tcp`.

use crate::read::{Loc, Step};
use crate::tree::{dotted, Content, Entry, Tree};
use std::sync::Arc;

/// Step of a path to be set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Field(String),
    Index(usize),
    /// Every item of a list.
    Each,
}

/// Why a path cannot be set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The text is no path.
    NoPath,
    /// The tree lacks a part before the last; words about what it has.
    Lacking(String),
}

const MOST_PARTS: usize = 40;

/// Parts of a path.
pub(crate) fn parts(path: &str) -> Result<Vec<Part>, Fault> {
    let mut found = Vec::new();
    let mut rest = path;
    while !rest.is_empty() {
        if !found.is_empty() {
            rest = rest.strip_prefix('.').unwrap_or(rest);
        }
        if let Some(inner) = rest.strip_prefix('[') {
            let end = inner.find(']').ok_or(Fault::NoPath)?;
            let index = &inner[..end];
            let digits =
                (1..=6).contains(&index.len()) && index.bytes().all(|b| b.is_ascii_digit());
            found.push(match index {
                "*" => Part::Each,
                _ if digits => Part::Index(index.parse().map_err(|_| Fault::NoPath)?),
                _ => return Err(Fault::NoPath),
            });
            rest = &inner[end + 1..];
        } else {
            let end = rest.find(['.', '[', ']']).unwrap_or(rest.len());
            if end == 0 {
                return Err(Fault::NoPath);
            }
            found.push(Part::Field(rest[..end].to_owned()));
            rest = &rest[end..];
        }
    }
    if found.is_empty() || found.len() > MOST_PARTS {
        return Err(Fault::NoPath);
    }
    Ok(found)
}

/// Returns true for a section that a path may name although the file does not have it.
fn is_made(at: &[Step], name: &str) -> bool {
    match at {
        [] => ["hosts", "sampling"].contains(&name),
        [Step::Field(section)] => section == "hosts" && name == "defaults",
        _ => false,
    }
}

fn lacking<T>(at: &[Step], what: &str) -> Result<T, Fault> {
    let place = if at.is_empty() { "the file".to_owned() } else { dotted(at) };
    Err(Fault::Lacking(format!("{place} {what}")))
}

/// Copy of the tree with `value` as the field at a path. `above`: path of the tree.
pub(crate) fn assign(
    tree: &Arc<Tree>,
    path: &[Part],
    value: &Arc<Tree>,
    above: &[Step],
) -> Result<Arc<Tree>, Fault> {
    let Some((part, rest)) = path.split_first() else { return Ok(value.clone()) };
    let below = |step: Step| -> Loc { above.iter().cloned().chain([step]).collect() };
    let content = match (&tree.content, part) {
        (Content::List(items), part) => {
            let mut made = items.clone();
            let picked = match part {
                Part::Each => 0..items.len(),
                Part::Index(index) if *index < items.len() => *index..*index + 1,
                _ => {
                    let noun = if items.len() == 1 { "entry" } else { "entries" };
                    return lacking(above, &format!("has {} {noun}", items.len()));
                }
            };
            for i in picked {
                made[i] = assign(&items[i], rest, value, &below(Step::Index(i)))?;
            }
            Content::List(made)
        }
        (Content::Mapping(entries), Part::Field(name)) => {
            Content::Mapping(with_field(entries, name, rest, value, above)?)
        }
        _ => return lacking(above, "is neither a mapping nor a list"),
    };
    Ok(Arc::new(Tree { content, text: tree.text.clone(), line: tree.line }))
}

fn with_field(
    entries: &[Entry],
    name: &str,
    rest: &[Part],
    value: &Arc<Tree>,
    above: &[Step],
) -> Result<Vec<Entry>, Fault> {
    let mut made = entries.to_vec();
    let here: Loc = above.iter().cloned().chain([Step::Field(name.to_owned())]).collect();
    if let Some(entry) = made.iter_mut().find(|entry| &*entry.key == name) {
        entry.tree = assign(&entry.tree, rest, value, &here)?;
        return Ok(made);
    }
    let tree = if rest.is_empty() {
        value.clone()
    } else if is_made(above, name) {
        assign(&Arc::new(Tree::empty(value.line)), rest, value, &here)?
    } else {
        let known: Vec<_> = entries.iter().map(|entry| &*entry.key).collect();
        let known = if known.is_empty() { "no entries".to_owned() } else { known.join(", ") };
        return lacking(above, &format!("has {known}"));
    };
    made.push(Entry { key: name.into(), line: value.line, tree });
    Ok(made)
}
