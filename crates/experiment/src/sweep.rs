//! Check of many cells in a row. What a cell shares with the one before it is kept: sections of the
//! file, nodes, links, traffic.
//!
//! A part is kept only if all that it is made of is equal, and whatever depends on parts that differ
//! is checked. This way only finds that a cell is right. If it does not, the cell is made as a whole, so
//! errors are those of a single cell.

use crate::build::{Before, Builder, Built, Same};
use crate::check::{check, still_right};
use crate::document::Document;
use crate::experiment::Experiment;
use crate::fields::experiment_file;
use crate::files::Files;
use crate::located::Located;
use crate::plugins::Scope;
use crate::read::Node;
use crate::tree::{Entry, Tree};
use dumbbell_model::Scenario;
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

/// Summary of right cells.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Sum of the virtual times of a run of each cell, ns.
    pub duration_ns: u64,
    /// Names of all flows.
    pub flows: BTreeSet<String>,
}

/// A cell that is right.
struct Right {
    tree: Arc<Tree>,
    plain: Value,
    document: Document,
    before: Before,
    scenario: Scenario,
}

impl Experiment {
    /// Checks cells in order.
    ///
    /// # Errors
    /// As [`Self::cell`], of the first wrong cell.
    pub fn check(&self, cells: Range<u64>, files: &dyn Files) -> Result<Summary, Vec<Located>> {
        let mut summary = Summary::default();
        let mut last = None;
        for number in cells {
            last = self.right(number, last, files, &mut summary.flows);
            let duration_ns = match &last {
                Some(right) => right.document.duration_ns,
                None => {
                    let made = self.cell(number, files)?;
                    let duration_ns = made.duration_ns();
                    summary.flows.extend(made.rtts_ns.into_iter().map(|(name, _)| name));
                    duration_ns
                }
            };
            summary.duration_ns = summary.duration_ns.saturating_add(duration_ns);
        }
        Ok(summary)
    }

    /// A cell if it is found to be right. `flows`: receives names of flows that are new.
    fn right(
        &self,
        number: u64,
        last: Option<Right>,
        files: &dyn Files,
        flows: &mut BTreeSet<String>,
    ) -> Option<Right> {
        let tree = self.design.tree(number).ok()?;
        let entries = tree.entries()?;
        let last = last.filter(|last| alike(&last.tree, entries));
        let names = last.as_ref().map(|last| differing(&last.tree, entries));
        let changed = |name: &str| names.as_ref().is_none_or(|names| names.contains(&name));
        let (old, plain, mut document, kept) = match last {
            Some(Right { tree: old, mut plain, document, before, scenario }) => {
                old.renew(&mut plain, &tree);
                (Some(old), plain, document, Some((before, scenario)))
            }
            None => (None, tree.plain_file(), Document::default(), None),
        };
        self.fields_right(&plain, old.as_deref(), &tree)?;
        let root = Node { value: &plain, at: Vec::new() };
        let _plugins = Scope::loaded(&root.any_fields().ok()?, files).ok()?;
        document.renew(&plain, &changed).ok()?;
        let (before, scenario) = made(&document, kept, files, names.as_deref(), flows)?;
        scenario.validate().ok()?;
        Some(Right { tree, plain, document, before, scenario })
    }

    /// `None` if a field is wrong. `before`: tree of a cell that was right.
    fn fields_right(&self, plain: &Value, before: Option<&Tree>, now: &Tree) -> Option<()> {
        let _plugins = Scope::names(plain);
        let file = experiment_file();
        let right = match before {
            None => check(file, plain, &self.context).is_empty(),
            Some(before) => still_right(file, plain, &self.context, (before, now)),
        };
        right.then_some(())
    }
}

/// Returns true if a tree has the same sections in the same order, and the same plug-ins, whose names
/// stand in all sections.
fn alike(tree: &Tree, entries: &[Entry]) -> bool {
    let known = tree.entries().unwrap_or_default();
    known.len() == entries.len()
        && known.iter().zip(entries).all(|(one, other)| {
            one.key == other.key && (&*one.key != "plugins" || Arc::ptr_eq(&one.tree, &other.tree))
        })
}

/// Sections that are not the same ones as those of a tree with sections of the same names.
fn differing<'a>(tree: &Tree, entries: &'a [Entry]) -> Vec<&'a str> {
    let known = tree.entries().unwrap_or_default();
    let pairs = known.iter().zip(entries);
    let other = pairs.filter(|(one, other)| !Arc::ptr_eq(&one.tree, &other.tree));
    other.map(|(_, entry)| &*entry.key).collect()
}

/// Scenario of a file, made from the one before as far as possible. `None`: it is wrong.
///
/// `changed`: sections that differ from those of the scenario before; `None`: there is none.
fn made(
    document: &Document,
    mut kept: Option<(Before, Scenario)>,
    files: &dyn Files,
    changed: Option<&[&str]>,
    flows: &mut BTreeSet<String>,
) -> Option<(Before, Scenario)> {
    if let Some((before, scenario)) = &mut kept {
        if Builder::new(document, files).relink(before, scenario, changed?).is_some() {
            return kept;
        }
    }
    let changed = |name: &str| changed.is_none_or(|names| names.contains(&name));
    let (before, scenario) = kept.unzip();
    let before = before.unwrap_or_default();
    let built = Builder::new(document, files).renewed(None, before, &changed).ok()?;
    let Built { mut json, options, rtts_ns, same, mut before, .. } = built;
    let mut scenario = renewed(&mut json, scenario, &same)?;
    if !same.nodes {
        options.fill(&mut scenario)?;
    }
    if !same.flows {
        flows.extend(rtts_ns.into_iter().map(|(name, _)| name));
    }
    (before.json, before.options) = (json, options);
    Some((before, scenario))
}

/// Scenario of its JSON, with equal parts of the one before. `None`: a field has a wrong type.
fn renewed(json: &mut Value, before: Option<Scenario>, same: &Same) -> Option<Scenario> {
    let Some(mut before) = before else { return Scenario::deserialize(&*json).ok() };
    let list =
        |json: &mut Value, name: &str| std::mem::replace(&mut json[name], Value::Array(Vec::new()));
    // Parts that are not read again are left out.
    let nodes = same.nodes.then(|| list(json, "nodes"));
    let flows = same.flows.then(|| list(json, "flows"));
    let links = list(json, "links");
    let read = Scenario::deserialize(&*json);
    json["links"] = links;
    for (name, part) in [("nodes", nodes), ("flows", flows)] {
        if let Some(part) = part {
            json[name] = part;
        }
    }
    let mut made = read.ok()?;
    if same.nodes {
        made.nodes = before.nodes;
    }
    if same.flows {
        made.flows = before.flows;
    }
    let mut old = before.links.drain(..);
    for (link, same) in json["links"].as_array()?.iter().zip(&same.links) {
        let old = old.next();
        made.links.push(match old.filter(|_| *same) {
            Some(old) => old,
            None => Deserialize::deserialize(link).ok()?,
        });
    }
    Some(made)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fields::Context;
    use crate::files::NoFiles;
    use serde_json::json;

    fn opened(file: &Value) -> Experiment {
        let start = |_: &str, _: &Tree, _: u32| Err(Located::default());
        let root = Arc::new(Tree::of_value(file));
        Experiment::open(root, &[], BTreeSet::new(), &start, Context::default()).unwrap()
    }

    fn sweep(over: Value) -> Value {
        let mut file = json!({
            "dumbbell": 1,
            "name": "sweep",
            "template": {"dumbbell": {
                "pairs": 2, "rate": "10 Mbit/s", "rtt": "20 ms", "buffer": "1 BDP",
            }},
            "flows": [
                {"name": "a", "from": "s1", "to": "d1", "tcp": "cubic"},
                {"name": "b", "from": "s2", "to": "d2", "tcp": "reno", "start": "1 s"},
            ],
            "duration": "5 s",
        });
        for (name, value) in over.as_object().unwrap() {
            file[name] = value.clone();
        }
        file
    }

    /// Every cell but the first is found to be right with parts of the one before, and equals the cell
    /// that is made as a whole.
    fn equals(file: &Value) {
        let read = opened(file);
        let (mut last, mut flows, mut all) = (None, BTreeSet::new(), BTreeSet::new());
        for number in 0..read.design.factors.count() as u64 {
            let whole = read.cell(number, &NoFiles).unwrap();
            let right = read.right(number, last, &NoFiles, &mut flows).unwrap();
            let mut json = right.before.json.clone();
            right.before.options.fill_json(&mut json);
            assert_eq!(json, whole.json(), "cell {number} of {file}");
            assert_eq!(right.scenario, whole.scenario().unwrap(), "cell {number} of {file}");
            all.extend(whole.rtts_ns.into_iter().map(|(name, _)| name));
            last = Some(right);
        }
        assert_eq!(flows, all);
    }

    #[test]
    fn kept_parts_are_those_of_a_whole_cell() {
        let levels = |texts: &[&str]| json!(texts);
        for over in [
            json!({"factors": {"x": {"path": "template.dumbbell.rate", "levels": ["1 Mbit/s", "2 Mbit/s"]},
                "y": {"path": "template.dumbbell.rtt", "levels": ["1 ms", "30 ms", "20 ms"]}}}),
            json!({"factors": {"x": {"path": "flows[*].tcp", "levels": ["bbr", "cubic"]},
                "y": {"path": "duration", "levels": ["3 s", "300 s"]}}}),
            json!({"factors": {"x": {"path": "template.dumbbell.pairs", "levels": [2, 3, 4]},
                "y": {"path": "flows[0].start_jitter", "levels": ["1 RTT", "2 RTT", "1 ms"]}}}),
            json!({"hosts": {"s1": {"mtu": "1500 bytes"}}, "factors": {
                "x": {"path": "hosts.s1.mtu", "levels": ["1500 bytes", "9000 bytes"]},
                "y": {"path": "flows[1].start", "levels": levels(&["0 s", "2 s"])}}}),
            json!({"links": [{"name": "bottleneck", "loss": "1 %", "buffer": "10 ms"}], "factors": {
                "x": {"path": "links[0].loss", "levels": ["0 %", "2 %"]},
                "y": {"path": "links[0].buffer", "levels": ["3 packets", "2 BDP", "1 BDP of b"]},
                "z": {"path": "template.dumbbell.rtt", "levels": [["1 ms", "9 ms"], "20 ms"]}}}),
            json!({"template": {"parallel-paths": {"sources": 2, "rate": "9 Mbit/s", "rtt": "10 ms",
                "buffer": "9 packets"}}, "factors": {
                "x": {"path": "template.parallel-paths.spray", "levels": ["per_flow", "round_robin"]},
                "y": {"path": "template.parallel-paths.rate", "levels": ["9 Mbit/s", "8 Mbit/s"]}}}),
            json!({"arrivals": [{"name": "p", "from": "s1", "to": "d1", "load": "1 Mbit/s", "size": "9 KiB",
                "tcp": "reno"}], "sampling": {"keep": ["queues"], "repeats": 1}, "factors": {
                "x": {"path": "arrivals[0].load", "levels": ["2 Mbit/s", "3 Mbit/s"]},
                "y": {"path": "sampling.interval", "levels": ["1 ms", "2 ms"]}}}),
            json!({"flows": [{"name": "m", "from": "s1", "to": "d1", "mptcp": {"congestion_control": "lia", "path_manager": "ndiffports", "subflows": 2}},
                {"name": "b", "from": "s2", "to": "d2", "ping": "10 ms"}], "factors": {
                "x": {"path": "template.dumbbell.rate", "levels": ["1 Mbit/s", "2 Mbit/s"]},
                "y": {"path": "flows[1].ping", "levels": ["20 ms", "30 ms"]}}}),
        ] {
            equals(&sweep(over));
        }
    }

    #[test]
    fn errors_of_one_combination_are_those_of_the_cell() {
        for (over, wrong) in [
            // A start after the end of the run.
            (
                json!({"factors": {"x": {"path": "flows[1].start", "levels": ["1 s", "2 s", "4 s"]},
                "y": {"path": "duration", "levels": ["5 s", "6 s", "3 s"]}}}),
                8,
            ),
            // A level that is wrong with every other one.
            (
                json!({"factors": {"x": {"path": "flows[1].tcp", "levels": ["reno", "renoo"]},
                "y": {"path": "duration", "levels": ["5 s", "6 s"]}}}),
                2,
            ),
            // A host that only one template has.
            (
                json!({"factors": {"x": {"path": "template.dumbbell.pairs", "levels": [2, 1]},
                "y": {"path": "flows[1].from", "levels": ["s1", "s2"]},
                "z": {"path": "flows[1].to", "levels": ["d1"]}}}),
                3,
            ),
            // A ping too large for the smaller MTU.
            (
                json!({"flows": [{"from": "s1", "to": "d1", "ping": {"interval": "1 s", "payload": "$y"}}],
                "hosts": {"defaults": {"mtu": "$x"}},
                "factors": {"x": ["9000 bytes", "1500 bytes"], "y": ["1000 bytes", "2000 bytes"]}}),
                3,
            ),
            // A limit in BDP of a pipe without a rate.
            (
                json!({"links": [{"name": "r2-d1", "buffer": "$y"}, {"name": "s1-r1", "loss": "$x"}],
                "factors": {"x": ["1 %", "2 %"], "y": ["1 packets", "1 BDP"]}}),
                1,
            ),
        ] {
            let read = opened(&sweep(over));
            let count = read.design.factors.count() as u64;
            let found = read.check(0..count, &NoFiles).unwrap_err();
            assert_eq!(found, read.cell(wrong, &NoFiles).unwrap_err());
            assert!(read.check(0..wrong, &NoFiles).is_ok());
        }
    }
}
