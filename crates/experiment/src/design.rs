//! Design of an experiment: the tree with overrides in place, its factors, the trees of its cells.

use crate::assign::{assign, parts, Fault, Part};
use crate::code::Code;
use crate::factors::{read_paths, Factor, Factors, Group, Level};
use crate::located::Located;
use crate::near::nearest_name;
use crate::reference::{each_reference, replaced};
use crate::tree::{Entry, Tree};
use crate::words::shortened;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Name of a factor, a path that it sets as written, its line, and its parts.
type ReadPath = (String, String, u32, Vec<Part>);
type Result<T> = std::result::Result<T, Located>;

/// Format of experiment files.
pub(crate) const FORMAT: u64 = 1;
const NEWER: &str = "a newer file format than this program reads, which is 1";
/// Sections that are the same in all cells.
const FIXED: &[&str] = &["dumbbell", "name", "description", "factors", "repeats", "seed", "search"];

/// An override: a factor with its levels, or a field with its value.
#[derive(Clone, Debug)]
pub struct Override {
    /// Name of the factor, or path of the field.
    pub name: String,
    /// Levels, or one value.
    pub values: Vec<Arc<Tree>>,
}

/// A name of a search's space.
#[derive(Clone, Debug, PartialEq)]
pub struct Dimension {
    /// Name.
    pub name: String,
    /// Levels of a list; `None`: it is a range.
    pub levels: Option<Vec<Arc<Level>>>,
    /// Paths that it sets.
    pub paths: Vec<String>,
}

/// Start value of a range of the space, which the caller reads: its level.
pub type Start<'a> = &'a dyn Fn(&str, &Tree, u32) -> Result<Level>;

/// Tree and factors of a file.
#[derive(Clone, Debug)]
pub struct Design {
    /// The tree, with overrides and the start values of a search in place.
    pub root: Arc<Tree>,
    /// The factors.
    pub factors: Factors,
    /// The space of its search.
    pub space: Vec<Dimension>,
    /// Paths of each factor, read.
    paths: Vec<ReadPath>,
}

impl Design {
    /// Reads a tree. `fields`: names of all sections. `reserved`: names that factors cannot have.
    pub fn new(
        root: Arc<Tree>,
        fields: &[&str],
        reserved: BTreeSet<String>,
        overrides: &[Override],
        start: Start<'_>,
    ) -> Result<Self> {
        check_head(&root)?;
        let factors = Factors::read(root.get("factors"), reserved)?;
        let mut design = Self { root, factors, space: Vec::new(), paths: Vec::new() };
        design.read_space(start)?;
        for one in overrides {
            design.set(one, fields)?;
        }
        design.check_references()?;
        design.start(overrides)?;
        design.paths = design.parsed_paths(&design.factors.all)?;
        Ok(design)
    }

    /// Tree of a cell.
    pub fn tree(&self, number: u64) -> Result<Arc<Tree>> {
        let levels = self.factors.cell(number);
        let named = self.factors.all.iter().zip(&levels);
        let named: BTreeMap<&str, &Arc<Tree>> =
            named.map(|(factor, level)| (factor.name.as_str(), &level.tree)).collect();
        self.with_levels(&named, &self.paths)
    }

    fn with_levels(
        &self,
        levels: &BTreeMap<&str, &Arc<Tree>>,
        paths: &[ReadPath],
    ) -> Result<Arc<Tree>> {
        let mut tree =
            if levels.is_empty() { self.root.clone() } else { replaced(&self.root, levels) };
        for (name, path, line, parts) in paths {
            let Some(level) = levels.get(name.as_str()) else { continue };
            tree = assign(&tree, parts, level, &[]).map_err(|fault| {
                let message = match fault {
                    Fault::Lacking(what) => format!("there is no such field: {what}"),
                    Fault::NoPath => "no path, such as flows[0].tcp".to_owned(),
                };
                let field = self.factors.get(name).map_or("factors", |one| one.field.as_str());
                Located::new(message, *line, format!("{field}.path")).found(shortened(path))
            })?;
        }
        Ok(tree)
    }

    fn parsed_paths(&self, all: &[Factor]) -> Result<Vec<ReadPath>> {
        let mut found = Vec::new();
        for factor in all {
            for (path, line) in &factor.paths {
                let parts = parts(path).map_err(|_| {
                    let message = "no path, such as flows[0].tcp";
                    Located::new(message, *line, format!("{}.path", factor.field))
                        .found(shortened(path))
                })?;
                found.push((factor.name.clone(), path.clone(), *line, parts));
            }
        }
        Ok(found)
    }

    /// Reads the space of the search, and adds its names to the factors with their start values.
    fn read_space(&mut self, start: Start<'_>) -> Result<()> {
        const AT: &str = "search.space";
        let root = self.root.clone();
        let Some(search) = root.get("search").filter(|search| search.entries().is_some()) else {
            return Ok(());
        };
        let Some(space) = search.entry("space") else {
            return Located::new("is missing", search.line, AT).err();
        };
        let Some(entries) = space.tree.entries().filter(|entries| !entries.is_empty()) else {
            let text = shortened(&space.tree.text);
            let found = if text.is_empty() { "nothing".to_owned() } else { text };
            let message = "should be a mapping of names to ranges or lists";
            return Located::new(message, space.line, AT).found(found).err();
        };
        for entry in entries {
            self.read_dimension(entry, AT, start)?;
        }
        Ok(())
    }

    fn read_dimension(&mut self, entry: &Entry, at: &str, start: Start<'_>) -> Result<()> {
        let (name, spec) = (entry.key.to_string(), &entry.tree);
        let here = format!("{at}.{name}");
        if let Some(known) = self.factors.get(&name) {
            let message = format!("{name} is a factor already, in line {}", known.line);
            return Located::new(message, entry.line, here).err();
        }
        let is_range = spec.entries().is_some() && spec.get("levels").is_none();
        let dimension = if is_range {
            self.factors.declare(&name, entry.line, at)?;
            let level = start(&name, spec, entry.line)?;
            let paths = spec.get("path").map(|path| read_paths(path, &here)).transpose()?;
            self.factors.all.push(Factor {
                name: name.clone(),
                levels: vec![Arc::new(level)],
                paths: paths.unwrap_or_default(),
                line: entry.line,
                field: here,
            });
            None
        } else {
            let levels = self.factors.factor(entry, at, true)?;
            if let Some(factor) = self.factors.all.last_mut() {
                factor.levels = levels[..1].to_vec();
                factor.line = entry.line;
            }
            Some(levels)
        };
        let Some(factor) = self.factors.all.last() else { return Ok(()) };
        let rows = vec![factor.levels.clone()];
        let paths = factor.paths.iter().map(|(path, _)| path.clone()).collect();
        self.space.push(Dimension { name: name.clone(), levels: dimension, paths });
        self.factors.groups.push(Group { names: vec![name], rows });
        Ok(())
    }

    /// Puts the start values of the space in place, of names without an override.
    fn start(&mut self, overrides: &[Override]) -> Result<()> {
        let fixed: Vec<Factor> = self
            .factors
            .all
            .iter()
            .filter(|factor| self.space.iter().any(|one| one.name == factor.name))
            .filter(|factor| overrides.iter().all(|one| one.name != factor.name))
            .cloned()
            .collect();
        let levels =
            fixed.iter().map(|factor| (factor.name.as_str(), &factor.levels[0].tree)).collect();
        self.root = self.with_levels(&levels, &self.parsed_paths(&fixed)?)?;
        fixed.iter().for_each(|factor| self.factors.remove(&factor.name));
        Ok(())
    }

    /// Applies an override.
    fn set(&mut self, one: &Override, fields: &[&str]) -> Result<()> {
        let place = format!("--set {}", one.name);
        if one.values.is_empty() {
            return Located::outside("no level is given", place).code(Code::SetForm).err();
        }
        if let Some(factor) = self.factors.get(&one.name) {
            let dimension = self.space.iter().find(|known| known.name == one.name);
            let own = dimension.and_then(|one| one.levels.as_ref()).unwrap_or(&factor.levels);
            let chosen = |tree: &Arc<Tree>| {
                let label = tree.text.split_whitespace().collect::<Vec<_>>().join(" ");
                let known = own.iter().find(|level| level.label == label);
                let made = || Arc::new(Level { label: label.clone(), tree: tree.clone() });
                known.cloned().unwrap_or_else(made)
            };
            let levels: Vec<_> = one.values.iter().map(chosen).collect();
            return self.factors.restrict(&one.name, &levels);
        }
        let [value] = &one.values[..] else {
            return Located::outside("a field takes one value", place).code(Code::SetForm).err();
        };
        let known = self.factors.names();
        let sections: Vec<_> =
            fields.iter().copied().filter(|name| !["factors", "dumbbell"].contains(name)).collect();
        let path = parts(&one.name).ok().filter(
            |path| matches!(&path[0], Part::Field(name) if sections.contains(&name.as_str())),
        );
        let Some(path) = path else {
            let every = known.iter().chain(&sections).copied();
            return Located::outside("neither a factor nor a field", place)
                .allowed(&known)
                .nearest(nearest_name(&one.name, every).map(str::to_owned))
                .code(Code::SetField)
                .err();
        };
        self.root = assign(&self.root, &path, value, &[]).map_err(|fault| {
            let Fault::Lacking(what) = fault else {
                return Located::outside("neither a factor nor a field", place.clone());
            };
            Located::outside(format!("no such field: {what}"), place.clone()).code(Code::SetField)
        })?;
        Ok(())
    }

    /// Every reference names a factor, and every factor has an effect.
    fn check_references(&self) -> Result<()> {
        let known = self.factors.names();
        let mut used: BTreeSet<&str> = self
            .factors
            .all
            .iter()
            .filter(|factor| !factor.paths.is_empty())
            .map(|factor| factor.name.as_str())
            .collect();
        let mut wrong = None;
        for entry in self.root.entries().unwrap_or_default() {
            let section = &*entry.key;
            if section == "factors" {
                continue;
            }
            each_reference(&entry.tree, &mut |name, tree| {
                if wrong.is_some() {
                    return;
                }
                if !known.contains(&name) {
                    let message = format!("${{{}}} is no factor", shortened(name));
                    wrong = Some(
                        Located::new(message, tree.line, section)
                            .allowed(&known)
                            .nearest(nearest_name(name, known.iter().copied()).map(str::to_owned))
                            .code(Code::Reference),
                    );
                } else if FIXED.contains(&section) {
                    let message = "the same in all cells; it cannot refer to a factor";
                    wrong = Some(Located::new(message, tree.line, section).code(Code::Reference));
                }
                used.insert(known.iter().find(|one| **one == name).copied().unwrap_or(""));
            });
        }
        if let Some(wrong) = wrong {
            return Err(wrong);
        }
        match self.factors.all.iter().find(|factor| !used.contains(factor.name.as_str())) {
            Some(factor) => {
                let message = format!(
                    "the factor changes nothing: write ${{{}}} somewhere, or give it a path",
                    factor.name
                );
                Located::new(message, factor.line, &*factor.field).code(Code::UnusedFactor).err()
            }
            None => Ok(()),
        }
    }
}

fn check_head(root: &Tree) -> Result<()> {
    if root.entries().is_none() {
        let message = "an experiment is a mapping of fields";
        return Located::new(message, root.line, "").code(Code::NotExperiment).err();
    }
    let Some(version) = root.get("dumbbell") else {
        let message = "no experiment of Dumbbell: the file should begin with 'dumbbell: 1'";
        return Located::new(message, root.line, "").code(Code::NotExperiment).err();
    };
    match version.plain().as_u64() {
        Some(number) if number > FORMAT => Located::new(NEWER, version.line, "dumbbell")
            .found(&*version.text)
            .code(Code::NotExperiment)
            .err(),
        _ => Ok(()),
    }
}
