//! Nodes of a scenario by name.

use dumbbell_model::scenario::{self, Scenario};
use dumbbell_model::TcpOptions;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Options among which equal ones are searched: hosts of one kind follow each other.
const SEARCHED: usize = 16;

/// Nodes by name (validated).
pub(crate) struct Nodes {
    numbers: BTreeMap<String, usize>,
    /// Nodes with a serial link.
    serial: BTreeSet<String>,
    /// Hosts whose fq paces all their connections, since one asks for it.
    paced: BTreeSet<String>,
    /// Options of connections, each once.
    options: RefCell<Vec<Arc<TcpOptions>>>,
}

impl Nodes {
    pub(crate) fn new(scenario: &Scenario) -> Self {
        let numbers = scenario.nodes.iter().enumerate().map(|(i, node)| (node.name.clone(), i));
        let sides = scenario.links.iter().flat_map(|l| [(&l.a, &l.forward), (&l.b, &l.backward)]);
        let serial = sides
            .filter(|(_, pipe)| matches!(pipe.shaper, scenario::Shaper::Serial { .. }))
            .map(|(node, _)| node.clone());
        let asks = |flow: &&scenario::Flow| flow.traffic.tcp().is_some_and(|tcp| tcp.fq);
        let paced = scenario.flows.iter().filter(asks).map(|flow| flow.from.clone());
        Self {
            numbers: numbers.collect(),
            serial: serial.collect(),
            paced: paced.collect(),
            options: RefCell::default(),
        }
    }

    /// Returns true if fq paces the connections of the host.
    pub(crate) fn is_paced(&self, name: &str) -> bool {
        self.paced.contains(name)
    }

    /// Returns true if the node has a serial link.
    pub(crate) fn is_serial(&self, name: &str) -> bool {
        self.serial.contains(name)
    }

    /// Returns the shared copy of these options. Most connections have the same.
    pub(crate) fn shared(&self, options: TcpOptions) -> Arc<TcpOptions> {
        let mut known = self.options.borrow_mut();
        if let Some(same) = known.iter().rev().take(SEARCHED).find(|known| ***known == options) {
            return Arc::clone(same);
        }
        let options = Arc::new(options);
        known.push(Arc::clone(&options));
        options
    }

    pub(crate) fn number(&self, name: &str) -> usize {
        self.numbers.get(name).copied().unwrap_or(0)
    }
}
