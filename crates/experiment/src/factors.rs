//! Factors: their levels, and a file with one level of each in place.

use crate::read::{below, fail, item, shown, Fields, Loc, Node, Result, Step};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// A factor and its levels.
#[derive(Clone, Debug, PartialEq)]
pub struct Factor {
    /// Name.
    pub name: String,
    /// Label and value of each level.
    pub levels: Vec<(String, Value)>,
    /// Group: of the factors of a group the levels at one index belong together.
    pub group: usize,
    /// Paths that it sets, beside references.
    paths: Vec<String>,
}

/// Sections that are the same in all cells.
const FIXED: &[&str] = &["dumbbell", "name", "description", "repeats", "seed", "search"];

/// Text of a level, as it is written: `None` if the parser kept only its value.
fn text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Bool(flag) => Some(flag.to_string()),
        Value::Number(number) if !number.is_f64() => Some(number.to_string()),
        _ => None,
    }
}

fn level(node: &Node<'_>) -> Result<(String, Value)> {
    if let Value::Object(map) = node.value {
        if let (2, Some(label), Some(value)) = (map.len(), map.get("label"), map.get("value")) {
            return Ok((text(label).unwrap_or_else(|| label.to_string()), value.clone()));
        }
    }
    let label = text(node.value).unwrap_or_else(|| node.value.to_string());
    let label = label.split_whitespace().collect::<Vec<_>>().join(" ");
    if label.is_empty() || label.chars().count() > 200 {
        return node.fail("the level needs a label: {label: …, value: …}");
    }
    Ok((label, node.value.clone()))
}

fn factor(name: &str, node: &Node<'_>, group: usize) -> Result<Factor> {
    let mut chars = name.chars();
    let first = chars.next().is_some_and(|c| c.is_alphabetic() || c == '_');
    if !first || !chars.all(|c| c.is_alphanumeric() || "_.-".contains(c)) {
        return node.fail("the name of a factor is letters, digits, '_', '-', '.'");
    }
    let (mut paths, mut levels) = (Vec::new(), node.clone());
    if node.value.is_object() {
        let fields = node.only(&["levels", "path"])?;
        levels = fields.need("levels")?;
        for path in fields.read("path", Node::one_or_more)?.unwrap_or_default() {
            match path.text() {
                Some(text) => paths.push(text.to_owned()),
                None => return path.fail("path should be text"),
            }
        }
    }
    let levels = levels.items()?.iter().map(level).collect::<Result<Vec<_>>>()?;
    if levels.is_empty() {
        return node.fail("a factor without levels");
    }
    Ok(Factor { name: name.to_owned(), levels, group, paths })
}

/// Factors of a file, in its order.
///
/// # Errors
/// They are malformed.
pub fn factors(file: &Value) -> Result<Vec<Factor>> {
    let root = Node { value: file, at: Vec::new() };
    let Some(node) = root.any_fields()?.get("factors") else { return Ok(Vec::new()) };
    let fields = node.any_fields()?;
    let mut out: Vec<Factor> = Vec::new();
    if !fields.names().any(|name| ["grid", "zip", "points"].contains(&name)) {
        grid(&fields, &mut out)?;
    }
    for (name, part) in fields.all() {
        match name {
            "grid" if fields.get("grid").is_some() => grid(&part.any_fields()?, &mut out)?,
            "zip" => {
                let parts = if part.value.is_array() { part.items()? } else { vec![part.clone()] };
                for part in parts {
                    zip(&part.any_fields()?, &mut out)?;
                }
            }
            "points" => points(&part, &mut out)?,
            _ if out.iter().any(|factor| factor.name == name) => {}
            _ => return part.fail("beside grid, zip and points there are no factors"),
        }
    }
    for (i, one) in out.iter().enumerate() {
        if out[..i].iter().any(|other| other.name == one.name) {
            return node.fail(format!("{} is a factor already", one.name));
        }
    }
    Ok(out)
}

fn next_group(out: &[Factor]) -> usize {
    out.last().map_or(0, |factor| factor.group + 1)
}

fn grid(fields: &Fields<'_>, out: &mut Vec<Factor>) -> Result<()> {
    for (name, node) in fields.all() {
        let one = factor(name, &node, next_group(out))?;
        for (i, (label, _)) in one.levels.iter().enumerate() {
            if one.levels[..i].iter().any(|(other, _)| other == label) {
                return node.fail(format!("a level is given twice: {label}"));
            }
        }
        out.push(one);
    }
    Ok(())
}

fn zip(fields: &Fields<'_>, out: &mut Vec<Factor>) -> Result<()> {
    let group = next_group(out);
    let read = fields.all().map(|(name, node)| factor(name, &node, group));
    let read = read.collect::<Result<Vec<_>>>()?;
    let Some(first) = read.first() else { return fail(&fields.at, "no factor is named") };
    if read.iter().any(|one| one.levels.len() != first.levels.len()) {
        return fail(&fields.at, "zipped factors need equally many levels");
    }
    out.extend(read);
    Ok(())
}

fn points(node: &Node<'_>, out: &mut Vec<Factor>) -> Result<()> {
    let group = next_group(out);
    let mut made: Vec<Factor> = Vec::new();
    for (i, point) in node.items()?.iter().enumerate() {
        let fields = point.any_fields()?;
        for (name, node) in fields.all() {
            let found = level(&node)?;
            match made.iter_mut().find(|one| one.name == name) {
                Some(one) => one.levels.push(found),
                None if i == 0 => made.push(Factor {
                    name: name.to_owned(),
                    levels: vec![found],
                    group,
                    paths: Vec::new(),
                }),
                None => return point.fail("every point needs the same factors"),
            }
        }
        if made.iter().any(|one| one.levels.len() != i + 1) {
            return point.fail("every point needs the same factors");
        }
    }
    if made.is_empty() {
        return node.fail("no factor is named");
    }
    out.extend(made);
    Ok(())
}

/// A reference in a text: its name and the bytes that it takes.
fn reference(text: &str) -> Option<(usize, usize, &str)> {
    let bytes = text.as_bytes();
    for (start, _) in text.match_indices('$') {
        if start > 0 && bytes[start - 1] == b'$' {
            continue;
        }
        let tail = &text[start + 1..];
        if let Some(inner) = tail.strip_prefix('{') {
            match inner.find(['{', '}']) {
                Some(end) if inner.as_bytes()[end] == b'}' => {
                    return Some((start, start + end + 3, inner[..end].trim()));
                }
                _ => continue,
            }
        }
        let word = |c: char| c.is_alphanumeric() || c == '_';
        let end = tail.find(|c| !word(c)).unwrap_or(tail.len());
        if end > 0 && !tail.starts_with(|c: char| c.is_numeric()) {
            return Some((start, start + 1 + end, &tail[..end]));
        }
    }
    None
}

/// Level in use of each factor.
struct Chosen<'a> {
    levels: BTreeMap<&'a str, &'a (String, Value)>,
    used: BTreeMap<&'a str, bool>,
}

impl<'a> Chosen<'a> {
    fn find(&mut self, name: &str, at: &[Step]) -> Result<&'a (String, Value)> {
        let Some((&key, &level)) = self.levels.get_key_value(name) else {
            let known: Vec<_> = self.levels.keys().copied().collect();
            return fail(at, format!("${name} is no factor (known: {})", known.join(", ")));
        };
        self.used.insert(key, true);
        Ok(level)
    }

    fn replaced(&mut self, value: &Value, at: &Loc) -> Result<Value> {
        match value {
            Value::Object(map) => {
                let mut out = Map::new();
                for (key, value) in map {
                    out.insert(key.clone(), self.replaced(value, &below(at, key))?);
                }
                Ok(Value::Object(out))
            }
            Value::Array(items) => {
                let one = |(i, value)| self.replaced(value, &item(at, i));
                items.iter().enumerate().map(one).collect()
            }
            Value::String(written) => self.text(written, at),
            other => Ok(other.clone()),
        }
    }

    fn text(&mut self, written: &str, at: &Loc) -> Result<Value> {
        let trimmed = written.trim();
        if let Some((0, end, name)) = reference(trimmed) {
            if end == trimmed.len() {
                return Ok(self.find(name, at)?.1.clone());
            }
        }
        let (mut out, mut rest) = (String::new(), written);
        while let Some((start, end, name)) = reference(rest) {
            let (_, value) = self.find(name, at)?;
            let Some(level) = text(value) else {
                return fail(at, format!("the level {} inside of a text", shown(value)));
            };
            out.push_str(&rest[..start]);
            out.push_str(&level);
            rest = &rest[end..];
        }
        Ok((out + rest).into())
    }
}

/// Steps of a path such as `flows[*].tcp`.
fn steps(path: &str) -> Option<Vec<String>> {
    let mut out = Vec::new();
    for part in path.split('.') {
        let (name, mut rest) = part.split_at(part.find('[').unwrap_or(part.len()));
        if !name.is_empty() {
            out.push(name.to_owned());
        }
        while let Some(inner) = rest.strip_prefix('[') {
            let (index, more) = inner.split_once(']')?;
            if index != "*" && index.parse::<usize>().is_err() {
                return None;
            }
            out.push(format!("[{index}"));
            rest = more;
        }
        if !rest.is_empty() || part.is_empty() {
            return None;
        }
    }
    if out.is_empty() {
        None
    } else {
        Some(out)
    }
}

/// Sets the field at a path.
fn assign(value: &mut Value, path: &[String], new: &Value) -> std::result::Result<(), String> {
    let Some((step, rest)) = path.split_first() else {
        *value = new.clone();
        return Ok(());
    };
    if let Some(index) = step.strip_prefix('[') {
        let Value::Array(items) = value else { return Err(format!("{index} of no list")) };
        if index == "*" {
            return items.iter_mut().try_for_each(|one| assign(one, rest, new));
        }
        let number = index.parse::<usize>().unwrap_or(usize::MAX);
        return match items.get_mut(number) {
            Some(one) => assign(one, rest, new),
            None => Err(format!("a list has {} entries", items.len())),
        };
    }
    let Value::Object(map) = value else { return Err(format!("{step} of no mapping")) };
    if rest.is_empty() {
        map.insert(step.clone(), new.clone());
        return Ok(());
    }
    match map.get_mut(step) {
        Some(one) => assign(one, rest, new),
        None => Err(format!("there is no {step}")),
    }
}

/// File with a level of each factor in place, without its factors. `indices`: level by factor; the
/// first if none is given.
pub(crate) fn placed(file: &Value, indices: &BTreeMap<String, usize>) -> Result<Value> {
    let factors = factors(file)?;
    let index = |factor: &Factor| {
        let found = indices.get(&factor.name).copied().unwrap_or(0);
        found.min(factor.levels.len().saturating_sub(1))
    };
    let levels = factors.iter().map(|one| (one.name.as_str(), &one.levels[index(one)]));
    let mut chosen = Chosen { levels: levels.collect(), used: BTreeMap::new() };
    let mut map = file.as_object().cloned().unwrap_or_default();
    map.remove("factors");
    let mut out = Map::new();
    for (section, value) in &map {
        let before = chosen.used.len();
        let at = vec![Step::Field(section.clone())];
        let made = chosen.replaced(value, &at)?;
        if FIXED.contains(&section.as_str()) && (chosen.used.len() != before || made != *value) {
            return fail(&at, "the same in all cells; it cannot refer to a factor");
        }
        out.insert(section.clone(), made);
    }
    let mut out = Value::Object(out);
    for factor in &factors {
        let at = vec![Step::Field("factors".to_owned()), Step::Field(factor.name.clone())];
        if factor.paths.is_empty() && !chosen.used.contains_key(factor.name.as_str()) {
            let name = &factor.name;
            return fail(
                &at,
                format!(
                    "the factor changes nothing: write ${{{name}}} somewhere, or give it a path"
                ),
            );
        }
        for path in &factor.paths {
            let Some(steps) = steps(path) else {
                return fail(&at, format!("{path} is no path, such as flows[0].tcp"));
            };
            let new = &factor.levels[index(factor)].1;
            if let Err(message) = assign(&mut out, &steps, new) {
                return fail(&at, format!("there is no such field: {message}"));
            }
        }
    }
    Ok(out)
}
