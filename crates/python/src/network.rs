//! Next hops and paths, for the reader of experiment files.

use dumbbell_model::paths::{far_end, Address, Fault, Network as Graph, Place};
use pyo3::create_exception;
use pyo3::exceptions::{PyException, PyKeyError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::collections::BTreeMap;

create_exception!(
    dumbbell._core,
    RoutingError,
    PyException,
    "Missing path, or a routing loop: `message`, `node`, and `flow` and explicit `route` at fault."
);

/// A link's index and its direction: 0 forward, 1 backward.
type Pipe = (usize, usize);

/// A flow: source, destination, and the links of both interfaces; `None`: any link.
type Flow = (String, String, Option<usize>, Option<usize>);

/// Graph of nodes and links.
#[pyclass(module = "dumbbell._core")]
pub(crate) struct Network {
    places: Vec<Place>,
    numbers: BTreeMap<String, usize>,
    graph: Graph,
}

fn split(pipe: usize) -> Pipe {
    (pipe / 2, pipe % 2)
}

impl Network {
    fn number(&self, name: &str) -> PyResult<usize> {
        self.numbers.get(name).copied().ok_or_else(|| PyKeyError::new_err(name.to_owned()))
    }

    fn address(&self, name: &str, link: Option<usize>) -> PyResult<Address> {
        Ok(Address { node: self.number(name)?, link })
    }

    fn error(&self, py: Python<'_>, fault: Fault, flow: Option<usize>) -> PyErr {
        let raised = RoutingError::new_err(fault.message.clone());
        let value = raised.value(py);
        let set = value
            .setattr("message", fault.message)
            .and_then(|()| value.setattr("node", &self.places[fault.node].name))
            .and_then(|()| value.setattr("flow", flow))
            .and_then(|()| value.setattr("route", fault.route));
        set.err().unwrap_or(raised)
    }
}

#[pymethods]
impl Network {
    /// Creates a network of nodes (name, forwards, sprays), links (both nodes), their fixed delays in
    /// ns (forward, backward), and explicit routes (node, destination, links).
    ///
    /// A node that only links name forwards.
    #[new]
    fn new(
        nodes: Vec<(String, bool, bool)>,
        links: Vec<(String, String)>,
        delays_ns: Vec<(u64, u64)>,
        routes: Vec<(String, String, Vec<usize>)>,
    ) -> PyResult<Self> {
        let mut places: Vec<Place> = nodes
            .into_iter()
            .map(|(name, forwards, sprays)| Place { name, forwards, sprays })
            .collect();
        let mut numbers: BTreeMap<String, usize> =
            places.iter().enumerate().map(|(i, place)| (place.name.clone(), i)).collect();
        let mut ends = Vec::with_capacity(links.len());
        for (a, b) in links {
            let [a, b] = [a, b].map(|name| {
                *numbers.entry(name).or_insert_with_key(|name| {
                    places.push(Place { name: name.clone(), forwards: true, sprays: false });
                    places.len() - 1
                })
            });
            ends.push((a, b));
        }
        let graph = Graph::new(places.clone(), ends, &delays_ns);
        let mut network = Self { places, numbers, graph };
        for (i, (at, to, via)) in routes.into_iter().enumerate() {
            // A route that names unknown nodes is refused later, by the check of scenarios.
            if let (Ok(at), Ok(to)) = (network.number(&at), network.number(&to)) {
                network.graph.add_route(i, at, to, &via);
            }
        }
        Ok(network)
    }

    /// Names of both nodes of a link.
    fn ends(&self, link: usize) -> (&str, &str) {
        let (a, b) = self.graph.ends()[link];
        (&self.places[a].name, &self.places[b].name)
    }

    /// Name of the node at the far end of a pipe.
    fn leads_to(&self, pipe: Pipe) -> &str {
        &self.places[far_end(2 * pipe.0 + pipe.1, self.graph.ends())].name
    }

    /// Indices of the links at a node, ascending.
    fn links_of(&self, node: &str) -> PyResult<Vec<usize>> {
        let node = self.number(node)?;
        Ok(self.graph.leaving(node).iter().map(|pipe| pipe / 2).collect())
    }

    /// Pipes that packets for host `to` take from `node`: all next hops where it sprays, else the
    /// first.
    fn next_hops(&mut self, node: &str, to: &str) -> PyResult<Vec<Pipe>> {
        let (node, to) = (self.number(node)?, self.address(to, None)?);
        let towards = self.graph.towards(to);
        let used = if self.places[node].sprays { usize::MAX } else { 1 };
        let hops = self.graph.next_hops(node, &towards);
        Ok(hops.into_iter().take(used).map(split).collect())
    }

    /// Raises `RoutingError` unless there is a path from one host to another and back, between these
    /// links.
    fn check(&mut self, py: Python<'_>, flow: Flow) -> PyResult<()> {
        self.round_trips(py, vec![flow]).map(|_| ())
    }

    /// Base RTT of each flow, and the largest one of the flows through each pipe, ns.
    ///
    /// Raises `RoutingError`: there is no path, or it has a loop.
    fn round_trips<'py>(
        &mut self,
        py: Python<'py>,
        flows: Vec<Flow>,
    ) -> PyResult<(Vec<u64>, Bound<'py, PyDict>)> {
        let mut rtts_ns = Vec::with_capacity(flows.len());
        let mut through_ns = vec![None; 2 * self.graph.ends().len()];
        for (i, (from, to, local, remote)) in flows.into_iter().enumerate() {
            let [from, to] = [self.address(&from, local)?, self.address(&to, remote)?];
            let mut path = |from: Address, to| self.graph.path(from.node, to, from.link);
            let both = path(from, to).and_then(|there| Ok([there, path(to, from)?]));
            let both = both.map_err(|fault| self.error(py, fault, Some(i)))?;
            let rtt_ns = both[0].delay_ns.saturating_add(both[1].delay_ns);
            rtts_ns.push(rtt_ns);
            for &pipe in both.iter().flat_map(|path| &path.pipes) {
                through_ns[pipe] = through_ns[pipe].max(Some(rtt_ns));
            }
        }
        let largest = PyDict::new(py);
        for (pipe, rtt_ns) in through_ns.into_iter().enumerate() {
            if let Some(rtt_ns) = rtt_ns {
                largest.set_item(split(pipe), rtt_ns)?;
            }
        }
        Ok((rtts_ns, largest))
    }
}
