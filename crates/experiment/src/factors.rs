//! Factors of a file: their levels, how these are combined, the paths that they set.

use crate::code::Code;
use crate::located::Located;
use crate::near::nearest_name;
use crate::reference::references;
use crate::tree::{Entry, Tree};
use crate::words::shortened;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Most combinations of levels.
pub(crate) const MOST_CELLS: u64 = 1_000_000;
const MOST_LABEL: usize = 200;
const PARTS: [&str; 3] = ["grid", "zip", "points"];

type Result<T> = std::result::Result<T, Located>;

/// Level of a factor.
#[derive(Clone, Debug, PartialEq)]
pub struct Level {
    /// Spelling in the file.
    pub label: String,
    /// Value.
    pub tree: Arc<Tree>,
}

/// A factor.
#[derive(Clone, Debug, PartialEq)]
pub struct Factor {
    /// Name.
    pub name: String,
    /// Levels with different labels, in order.
    pub levels: Vec<Arc<Level>>,
    /// Paths that it sets beside references, with their lines.
    pub paths: Vec<(String, u32)>,
    /// Line in the file; 0: outside.
    pub line: u32,
    /// Field of the file that declares it.
    pub field: String,
}

/// Factors whose levels belong together: each row has one level of each.
#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    /// Names of the factors.
    pub names: Vec<String>,
    /// Combinations.
    pub rows: Vec<Vec<Arc<Level>>>,
}

/// All factors of a file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Factors {
    /// In the order of the file.
    pub all: Vec<Factor>,
    /// The cells are the product of the groups; the last one varies fastest.
    pub groups: Vec<Group>,
    reserved: BTreeSet<String>,
}

impl Factors {
    /// Reads the value of `factors`. `reserved`: names that factors cannot have.
    pub(crate) fn read(node: Option<&Arc<Tree>>, reserved: BTreeSet<String>) -> Result<Self> {
        let mut read = Self { reserved, ..Self::default() };
        let Some(node) = node.filter(|node| !node.is_null()) else { return Ok(read) };
        let entries = mapping(node, "factors")?;
        if !entries.iter().any(|entry| PARTS.contains(&&*entry.key)) {
            read.grid(node, "factors")?;
        } else {
            for entry in entries {
                read.part(entry)?;
            }
        }
        let count = read.count();
        if count > u128::from(MOST_CELLS) {
            let message = format!("{count} combinations, more than {MOST_CELLS}");
            return Located::new(message, node.line, "factors").code(Code::Cells).err();
        }
        Ok(read)
    }

    fn part(&mut self, entry: &Entry) -> Result<()> {
        let (at, node) = (format!("factors.{}", entry.key), &entry.tree);
        match &*entry.key {
            "grid" => self.grid(node, &at),
            "zip" => match node.items() {
                Some(groups) => groups.iter().try_for_each(|group| self.zip(group, &at)),
                None => self.zip(node, &at),
            },
            "points" => self.points(node, &at),
            _ => {
                let message = "beside grid, zip and points there are no factors; put it under grid";
                Located::new(message, entry.line, at).err()
            }
        }
    }

    /// Number of cells.
    pub fn count(&self) -> u128 {
        self.groups.iter().map(|group| group.rows.len() as u128).fold(1, u128::saturating_mul)
    }

    /// A factor by name.
    pub fn get(&self, name: &str) -> Option<&Factor> {
        self.all.iter().find(|factor| factor.name == name)
    }

    /// Names of all factors.
    pub fn names(&self) -> Vec<&str> {
        self.all.iter().map(|factor| factor.name.as_str()).collect()
    }

    /// Levels of a cell, one for each factor in order.
    pub fn cell(&self, number: u64) -> Vec<&Arc<Level>> {
        let mut rest = number as usize;
        let mut found: Vec<Option<&Arc<Level>>> = vec![None; self.all.len()];
        for group in self.groups.iter().rev() {
            let row = &group.rows[rest % group.rows.len().max(1)];
            rest /= group.rows.len().max(1);
            for (name, level) in group.names.iter().zip(row) {
                if let Some(at) = self.all.iter().position(|factor| factor.name == *name) {
                    found[at] = Some(level);
                }
            }
        }
        found.into_iter().flatten().collect()
    }

    /// Every combination is run.
    fn grid(&mut self, node: &Tree, at: &str) -> Result<()> {
        for entry in mapping(node, at)? {
            let levels = self.factor(entry, at, true)?;
            let rows = levels.into_iter().map(|level| vec![level]).collect();
            self.groups.push(Group { names: vec![entry.key.to_string()], rows });
        }
        Ok(())
    }

    /// Equally many levels, paired in order.
    fn zip(&mut self, node: &Tree, at: &str) -> Result<()> {
        let entries = mapping(node, at)?;
        if entries.is_empty() {
            return Located::new("no factor is named", node.line, at).err();
        }
        let mut columns = Vec::new();
        for entry in entries {
            columns.push((entry.key.to_string(), self.factor(entry, at, false)?));
        }
        let count = columns[0].1.len();
        if columns.iter().any(|(_, levels)| levels.len() != count) {
            let one = |(name, levels): &(String, Vec<_>)| format!("{name} has {}", levels.len());
            let found = columns.iter().map(one).collect::<Vec<_>>().join(", ");
            let message = "zipped factors need equally many levels";
            return Located::new(message, node.line, at).found(found).err();
        }
        let row = |i: usize| columns.iter().map(|(_, levels)| levels[i].clone()).collect();
        let rows = (0..count).map(row).collect();
        let names = columns.iter().map(|(name, _)| name.clone()).collect();
        self.add(Group { names, rows }, node.line, at)
    }

    /// Combinations, each with the same factors.
    fn points(&mut self, node: &Tree, at: &str) -> Result<()> {
        let Some(items) = node.items().filter(|items| !items.is_empty()) else {
            let message = "should be a list of points";
            return Located::new(message, node.line, at).found(shortened(&node.text)).err();
        };
        let mut group = Group { names: Vec::new(), rows: Vec::new() };
        for (i, point) in items.iter().enumerate() {
            let here = format!("{at}[{i}]");
            let entries = mapping(point, &here)?;
            let mut row = Vec::new();
            for entry in entries {
                row.push((
                    entry.key.to_string(),
                    level(&entry.tree, &format!("{here}.{}", entry.key))?,
                ));
            }
            if i == 0 {
                group.names = row.iter().map(|(name, _)| name.clone()).collect();
            }
            let by_name = |name: &String| row.iter().find(|(known, _)| known == name);
            let levels: Option<Vec<_>> =
                group.names.iter().map(|name| Some(by_name(name)?.1.clone())).collect();
            match levels {
                Some(levels) if levels.len() == row.len() => group.rows.push(levels),
                _ => {
                    let message =
                        format!("every point needs the same factors: {}", group.names.join(", "));
                    return Located::new(message, point.line, here).err();
                }
            }
        }
        if group.names.is_empty() {
            return Located::new("no factor is named", node.line, at).err();
        }
        for (i, name) in group.names.iter().enumerate() {
            self.declare(name, node.line, at)?;
            let levels = unique(group.rows.iter().map(|row| &row[i]));
            self.all.push(Factor {
                name: name.clone(),
                levels,
                paths: Vec::new(),
                line: node.line,
                field: format!("factors.{name}"),
            });
        }
        self.add(group, node.line, at)
    }

    /// Adds combined levels.
    fn add(&mut self, group: Group, line: u32, at: &str) -> Result<()> {
        let mut seen = BTreeSet::new();
        for row in &group.rows {
            let labels: Vec<_> = row.iter().map(|level| level.label.as_str()).collect();
            if !seen.insert(labels.clone()) {
                let message = "a combination is given twice";
                return Located::new(message, line, at).found(labels.join(", ")).err();
            }
        }
        self.groups.push(group);
        Ok(())
    }

    /// Fails if no factor can have this name.
    pub(crate) fn declare(&self, name: &str, line: u32, at: &str) -> Result<()> {
        let mut chars = name.chars();
        let first =
            chars.next().is_some_and(|c| (c.is_alphanumeric() && !c.is_numeric()) || c == '_');
        let rest = chars.all(|c| c.is_alphanumeric() || "_.-".contains(c));
        if !first || !rest || name.chars().count() > 100 {
            let message = "the name of a factor is letters, digits, '_', '-', '.'";
            return Located::new(message, line, at).found(shortened(name)).err();
        }
        if self.reserved.contains(name) {
            let message = format!("{name} is a column of the results; name the factor differently");
            return Located::new(message, line, at).err();
        }
        if self.get(name).is_some() {
            return Located::new(format!("{name} is a factor already"), line, at).err();
        }
        Ok(())
    }

    /// Reads a factor; returns its levels, equal labels included.
    pub(crate) fn factor(
        &mut self,
        entry: &Entry,
        at: &str,
        once: bool,
    ) -> Result<Vec<Arc<Level>>> {
        let (name, spec, line) = (&*entry.key, &entry.tree, entry.line);
        self.declare(name, line, at)?;
        let here = format!("{at}.{name}");
        let (mut levels, mut paths) = (spec, Vec::new());
        if let Some(entries) = spec.entries() {
            refuse_unknown(entries, &["levels", "path"], &here)?;
            let Some(written) = spec.get("levels") else {
                return Located::new("levels are missing", line, here).err();
            };
            levels = written;
            if let Some(path) = spec.get("path") {
                paths = read_paths(path, &here)?;
            }
        }
        let Some(items) = levels.items() else {
            let message = "should be a list of levels";
            return Located::new(message, line, here).found(shortened(&levels.text)).err();
        };
        if items.is_empty() {
            return Located::new("a factor without levels", line, here).err();
        }
        let mut read: Vec<Arc<Level>> = Vec::new();
        for (i, item) in items.iter().enumerate() {
            read.push(level(item, &format!("{here}[{i}]"))?);
        }
        let mut seen = BTreeSet::new();
        for (one, item) in read.iter().zip(items) {
            if !seen.insert(one.label.as_str()) && once {
                let message = "a level is given twice";
                return Located::new(message, item.line, here).found(one.label.as_str()).err();
            }
        }
        let (name, field) = (name.to_owned(), here);
        self.all.push(Factor { name, levels: unique(read.iter()), paths, line, field });
        Ok(read)
    }

    /// Removes a factor that is tied to no other.
    pub(crate) fn remove(&mut self, name: &str) {
        self.all.retain(|factor| factor.name != name);
        self.groups.retain(|group| group.names.iter().all(|known| known != name));
    }

    /// Replaces the levels of a factor (`--set`).
    pub(crate) fn restrict(&mut self, name: &str, levels: &[Arc<Level>]) -> Result<()> {
        let Some(group) =
            self.groups.iter_mut().find(|group| group.names.iter().any(|n| n == name))
        else {
            return Ok(());
        };
        if group.names.len() == 1 {
            group.rows = levels.iter().map(|level| vec![level.clone()]).collect();
        } else {
            let known = self.all.iter().find(|factor| factor.name == name);
            let known: Vec<_> = known
                .iter()
                .flat_map(|one| &one.levels)
                .map(|level| level.label.as_str())
                .collect();
            for level in levels {
                if !known.contains(&level.label.as_str()) {
                    let message = "no such level of a factor that is tied to others";
                    return Located::outside(message, format!("--set {name}"))
                        .found(level.label.as_str())
                        .allowed(&known)
                        .nearest(
                            nearest_name(&level.label, known.iter().copied()).map(str::to_owned),
                        )
                        .code(Code::SetLevel)
                        .err();
                }
            }
            let place = group.names.iter().position(|known| known == name).unwrap_or(0);
            group.rows.retain(|row| levels.iter().any(|level| level.label == row[place].label));
        }
        for (i, name) in group.names.iter().enumerate() {
            let left = unique(group.rows.iter().map(|row| &row[i]));
            if let Some(factor) = self.all.iter_mut().find(|factor| factor.name == *name) {
                factor.levels = left;
            }
        }
        Ok(())
    }
}

/// Levels with different labels: each at its first place, the last one of equal labels.
fn unique<'a>(levels: impl Iterator<Item = &'a Arc<Level>>) -> Vec<Arc<Level>> {
    let mut found: Vec<Arc<Level>> = Vec::new();
    let mut places = std::collections::BTreeMap::new();
    for level in levels {
        match places.get(level.label.as_str()) {
            Some(&place) => found[place] = level.clone(),
            None => {
                places.insert(level.label.as_str(), found.len());
                found.push(level.clone());
            }
        }
    }
    found
}

fn mapping<'a>(node: &'a Tree, at: &str) -> Result<&'a [Entry]> {
    let wrong = || Located::new("should be a mapping", node.line, at).found(shortened(&node.text));
    node.entries().ok_or_else(wrong)
}

/// Fails at the first entry with another name.
pub(crate) fn refuse_unknown(entries: &[Entry], known: &[&str], at: &str) -> Result<()> {
    match entries.iter().find(|entry| !known.contains(&&*entry.key)) {
        Some(entry) => Located::new("unknown field", entry.line, format!("{at}.{}", entry.key))
            .allowed(known)
            .nearest(nearest_name(&entry.key, known.iter().copied()).map(str::to_owned))
            .code(Code::UnknownField)
            .err(),
        None => Ok(()),
    }
}

/// Paths that a factor sets.
pub(crate) fn read_paths(node: &Arc<Tree>, at: &str) -> Result<Vec<(String, u32)>> {
    let one = std::slice::from_ref(node);
    let read = |part: &Arc<Tree>| match part.words() {
        Some(text) => Ok((text.to_owned(), part.line)),
        None => {
            Located::new("path should be text", node.line, at).found(shortened(&part.text)).err()
        }
    };
    node.items().unwrap_or(one).iter().map(read).collect()
}

/// Reads a level: a value, or a label and a value.
pub(crate) fn level(node: &Arc<Tree>, at: &str) -> Result<Arc<Level>> {
    let (mut label, mut value) = (&node.text, node);
    if let (Some([_, _]), Some(named), Some(held)) =
        (node.entries(), node.get("label"), node.get("value"))
    {
        (label, value) = (&named.text, held);
    }
    let label = label.split_whitespace().collect::<Vec<_>>().join(" ");
    if label.is_empty() || label.chars().count() > MOST_LABEL {
        let found = if label.is_empty() { "nothing".to_owned() } else { shortened(&label) };
        let message = "the level needs a label: {label: …, value: …}";
        return Located::new(message, node.line, at).found(found).err();
    }
    if !references(&value.text).is_empty() {
        let message = "a level cannot refer to a factor";
        return Located::new(message, node.line, at).found(shortened(&value.text)).err();
    }
    Ok(Arc::new(Level { label, tree: value.clone() }))
}
