//! TCP options of the hosts. Hosts with equal options share one set, so that ten thousand hosts do not
//! hold seventy options each.

use crate::options::Options;
use dumbbell_model::tcp_options::TcpOptions;
use dumbbell_model::Scenario;
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;

/// Sets of options, and which of them each node has.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct OptionSets {
    sets: Vec<Options>,
    /// By index of the node; `None`: a router or switch.
    of_nodes: Vec<Option<usize>>,
    /// The set of hosts that write no options.
    plain: Option<usize>,
}

impl OptionSets {
    /// Gives the next node options of its own.
    pub(super) fn push(&mut self, options: Options) {
        if self.sets.last() != Some(&options) {
            self.sets.push(options);
        }
        self.of_nodes.push(Some(self.sets.len() - 1));
    }

    /// Gives the next node the options of all hosts that write none. `make`: makes them once.
    pub(super) fn push_plain(&mut self, make: impl FnOnce() -> Options) {
        if self.plain.is_none() {
            self.sets.push(make());
            self.plain = Some(self.sets.len() - 1);
        }
        self.of_nodes.push(self.plain);
    }

    /// The next node is no host.
    pub(super) fn push_none(&mut self) {
        self.of_nodes.push(None);
    }

    /// Options of a node; `None`: it is no host.
    pub(crate) fn of(&self, node: usize) -> Option<&Options> {
        self.sets.get((*self.of_nodes.get(node)?)?)
    }

    /// Changes the options of some nodes. `change`: returns changed options of a node, if they change.
    pub(super) fn change(&mut self, change: impl Fn(usize, &Options) -> Option<Options>) {
        let mut changed = BTreeMap::new();
        for (node, set) in self.of_nodes.iter_mut().enumerate() {
            let Some(old) = *set else { continue };
            let Some(options) = self.sets.get(old).and_then(|options| change(node, options)) else {
                continue;
            };
            *set = Some(*changed.entry(old).or_insert_with(|| {
                self.sets.push(options);
                self.sets.len() - 1
            }));
        }
    }

    /// Calls `made` with each set once, and returns what it gave by index of the node.
    pub(crate) fn of_each_node<T: Clone>(&self, made: impl FnMut(&Options) -> T) -> Vec<Option<T>> {
        let made: Vec<T> = self.sets.iter().map(made).collect();
        self.of_nodes.iter().map(|set| made.get((*set)?).cloned()).collect()
    }

    /// Sets the options of a scenario's nodes. `None`: an option is wrong.
    pub(crate) fn fill(&self, scenario: &mut Scenario) -> Option<()> {
        let read = |set: &Options| TcpOptions::deserialize(&Value::from(set.clone())).ok();
        for (node, options) in scenario.nodes.iter_mut().zip(self.of_each_node(read)) {
            node.tcp = match options {
                Some(options) => Some(options?),
                None => None,
            };
        }
        Some(())
    }

    /// Sets the options of the nodes of a scenario in JSON.
    pub(crate) fn fill_json(&self, scenario: &mut Value) {
        let nodes = scenario["nodes"].as_array_mut().into_iter().flatten();
        for (node, options) in nodes.zip(self.of_each_node(Options::clone)) {
            node["tcp"] = options.into();
        }
    }
}
