//! Plug-ins that a file declares. Their names stand wherever that of a congestion control does, so they are
//! known to the whole thread while a cell is checked and read.

use crate::code::Code;
use crate::files::{Files, Unreadable};
use crate::read::{below, Fields, Node, Refusal, Result};
use crate::words::shown;
use dumbbell_model::catalogue::congestion_control::{Algorithm, ENTRIES};
use dumbbell_model::catalogue::plugin::{Facts, Plugin};
use serde_json::Value;
use std::cell::RefCell;

/// A declared name, and its algorithm once the file is read.
type Declared = (String, Option<Algorithm>);

thread_local! {
    static DECLARED: RefCell<Vec<Declared>> = const { RefCell::new(Vec::new()) };
}

/// Time in which the names of a file are known.
pub(crate) struct Scope(());

impl Scope {
    fn of(declared: Vec<Declared>) -> Self {
        DECLARED.set(declared);
        Self(())
    }

    /// Makes the names of a file known, for a check of its fields.
    pub(crate) fn names(file: &Value) -> Self {
        let plugins = file["plugins"].as_object();
        let names = plugins.into_iter().flat_map(|map| map.keys().cloned());
        Self::of(names.map(|name| (name, None)).collect())
    }

    /// Reads the plug-ins of a checked file.
    ///
    /// # Errors
    /// One cannot be loaded.
    pub(crate) fn loaded(file: &Fields<'_>, files: &dyn Files) -> Result<Self> {
        let written = file.read("plugins", |node| {
            node.any_fields().map(|fields| {
                fields.all().map(|(name, node)| load(name, &node, files)).collect::<Result<_>>()
            })
        })?;
        Ok(Self::of(written.transpose()?.unwrap_or_default()))
    }
}

impl Drop for Scope {
    fn drop(&mut self) {
        DECLARED.set(Vec::new());
    }
}

/// Names of the plug-ins that are known now.
pub(crate) fn names() -> Vec<String> {
    DECLARED.with_borrow(|all| all.iter().map(|(name, _)| name.clone()).collect())
}

/// A congestion control of the program, or a plug-in that was read.
pub(crate) fn algorithm(name: &str) -> Option<Algorithm> {
    let built_in = ENTRIES.iter().position(|entry| entry.name == name);
    built_in
        .map(|number| Algorithm::ALL[number])
        .or_else(|| DECLARED.with_borrow(|all| all.iter().find(|(known, _)| known == name)?.1))
}

/// Refuses the name of a congestion control of the program.
pub(crate) fn names_are_free(fields: &Fields<'_>) -> Result<()> {
    let Some(node) = fields.get("plugins") else { return Ok(()) };
    for (name, node) in node.any_fields()?.all() {
        if ENTRIES.iter().any(|entry| entry.name == name) {
            let message =
                format!("{name} is a congestion control of the program; name yours otherwise");
            return node.refusal(message).code(Code::NameTaken).err();
        }
    }
    Ok(())
}

fn load(name: &str, node: &Node<'_>, files: &dyn Files) -> Result<Declared> {
    let (path, at, parameters) = match node.value {
        Value::Object(_) => {
            let fields = node.any_fields()?;
            let path = fields.need("file")?.text().unwrap_or_default().to_owned();
            let given = fields.read("parameters", |node| {
                node.any_fields().map(|fields| {
                    fields
                        .all()
                        .map(|(name, node)| Some((name.to_owned(), node.value.as_f64()?)))
                        .collect::<Option<Vec<_>>>()
                        .unwrap_or_default()
                })
            })?;
            (path, below(&node.at, "file"), given.unwrap_or_default())
        }
        _ => (node.text().unwrap_or_default().to_owned(), node.at.clone(), Vec::new()),
    };
    let refuse = |message: String| {
        Refusal::new(&at, message)
            .found(shown(&Value::from(path.as_str())))
            .code(Code::Plugin)
            .err()
    };
    let found = match files.plugin(name, &path) {
        Ok(found) => found,
        Err(Unreadable::Nowhere) => return refuse("plug-ins cannot be loaded here".to_owned()),
        Err(Unreadable::TooLarge) => return refuse("the plug-in is too large".to_owned()),
        Err(Unreadable::Reason(reason)) => return refuse(format!("the plug-in: {reason}")),
    };
    let facts = Facts { name: name.to_owned(), parameters, ..found };
    Ok((name.to_owned(), Some(Algorithm::Plugin(Plugin::new(facts)))))
}
