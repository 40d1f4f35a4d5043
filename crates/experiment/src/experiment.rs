//! An experiment: a file with overrides, whose cells are made when they are asked for.

use crate::check::check;
use crate::contents::contents;
use crate::design::{Design, Override, Start};
use crate::expand::{expand_tree, Expanded};
use crate::fields::{experiment_file, Context};
use crate::files::Files;
use crate::located::{located, Located};
use crate::plugins::Scope;
use crate::tree::Tree;
use serde_json::Value;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Most errors of a file.
pub(crate) const MOST_ERRORS: usize = 20;

/// An experiment file with overrides in place.
#[derive(Clone, Debug)]
pub struct Experiment {
    /// Tree, factors, and the space of a search.
    pub design: Design,
    pub(crate) context: Context,
}

impl Experiment {
    /// Reads a file.
    ///
    /// # Arguments
    /// - `root`: the file.
    /// - `overrides`: in the order in which they apply.
    /// - `reserved`: names that factors cannot have.
    /// - `start`: gives the start value of a range of the search's space.
    ///
    /// # Errors
    /// The factors, the space or an override is wrong.
    pub fn open(
        root: Arc<Tree>,
        overrides: &[Override],
        reserved: BTreeSet<String>,
        start: Start<'_>,
        context: Context,
    ) -> Result<Self, Located> {
        let fields = experiment_file().names();
        let design = Design::new(root, &fields, reserved, overrides, start)?;
        Ok(Self { design, context })
    }

    /// Makes a cell.
    ///
    /// # Errors
    /// All errors of its fields in the order of the lines, at most [`MOST_ERRORS`]; or the first one
    /// among parts that do not fit together.
    pub fn cell(&self, number: u64, files: &dyn Files) -> Result<Expanded, Vec<Located>> {
        self.cell_within(number, files, None)
    }

    /// Makes a cell with a bounded number of flows. `most_flows`: `None`: as many as fit into memory.
    ///
    /// # Errors
    /// As [`Self::cell`].
    pub fn cell_within(
        &self,
        number: u64,
        files: &dyn Files,
        most_flows: Option<u64>,
    ) -> Result<Expanded, Vec<Located>> {
        let tree = self.design.tree(number).map_err(|error| vec![error])?;
        let plain = self.checked(&tree)?;
        expand_tree(&plain, files, most_flows)
            .map_err(|refusal| vec![located(refusal.suggested(), &tree, false)])
    }

    /// Error of an engine about a field of a cell's scenario, placed in the file.
    pub fn place(&self, number: u64, path: &str, message: &str, files: &dyn Files) -> Located {
        let plain = |_| Located::new(format!("{path}: {message}"), 0, "");
        let made = self.cell(number, files).map_err(|mut errors| errors.swap_remove(0));
        match (made, self.design.tree(number)) {
            (Ok(made), Ok(tree)) => located(made.origins.refused(path, message), &tree, false),
            (Err(error), _) | (_, Err(error)) => plain(error),
        }
    }

    /// Contents of a cell beside its scenario, as JSON: `name`, `seed`, `repeats`, `expect`, `search`,
    /// and whether it has `access_links`.
    ///
    /// # Errors
    /// As [`Self::cell`].
    pub fn contents(&self, number: u64) -> Result<Value, Vec<Located>> {
        let tree = self.design.tree(number).map_err(|error| vec![error])?;
        let plain = self.checked(&tree)?;
        contents(&plain, &self.context).map_err(|refusal| vec![located(refusal, &tree, false)])
    }

    /// Plain value of a tree without factors, checked.
    fn checked(&self, tree: &Tree) -> Result<Value, Vec<Located>> {
        let plain = tree.plain_file();
        let _plugins = Scope::names(&plain);
        let errors = check(experiment_file(), &plain, &self.context);
        if !errors.is_empty() {
            let mut errors: Vec<_> =
                errors.into_iter().map(|error| located(error, tree, true)).collect();
            errors.sort_by_key(|error| error.line);
            errors.truncate(MOST_ERRORS);
            return Err(errors);
        }
        Ok(plain)
    }
}
