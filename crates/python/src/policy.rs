//! Learnt policies.

use dumbbell_cc::CongestionControl;
use dumbbell_model::catalogue::plugin::Facts;
use dumbbell_plugins::{Maker, Told};
use dumbbell_policy::{Layer, MOST_BYTES};
use dumbbell_sim::agent::{Act, Learnt, Observation, Stepping};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

/// A policy as Python sees it, and as flows follow it.
#[pyclass(frozen, module = "dumbbell._core")]
pub(crate) struct Policy(pub(crate) Arc<Learnt>);

/// Kind of a layer, and its weights per output and biases; both are empty if it has none.
type LayerParts = (&'static str, Vec<Vec<f64>>, Vec<f64>);

impl Policy {
    /// Reads a policy's file.
    pub(crate) fn open(path: &Path) -> Result<Self, String> {
        let mut bytes = Vec::new();
        let file = File::open(path).map_err(|error| error.to_string())?;
        // One byte more than allowed, so that the reader refuses a longer file.
        file.take(MOST_BYTES as u64 + 1)
            .read_to_end(&mut bytes)
            .map_err(|error| error.to_string())?;
        Learnt::read(&bytes).map(|learnt| Self(Arc::new(learnt)))
    }
}

#[pymethods]
impl Policy {
    #[new]
    fn new(file: &[u8]) -> PyResult<Self> {
        Learnt::read(file).map(|one| Self(Arc::new(one))).map_err(PyValueError::new_err)
    }

    #[getter]
    fn observations(&self) -> Vec<&'static str> {
        self.0.observations.iter().copied().map(Observation::name).collect()
    }

    #[getter]
    fn actions(&self) -> Vec<&'static str> {
        self.0.actions.acts.iter().copied().map(Act::name).collect()
    }

    #[getter]
    fn normalised(&self) -> bool {
        self.0.normalised
    }

    #[getter]
    fn scaled(&self) -> bool {
        self.0.actions.scaled
    }

    /// What ends a step, how many of it, and the length of a step or its most in ns.
    #[getter]
    fn step(&self) -> (&'static str, u32, u64) {
        let (kind, count) = match self.0.stepping {
            Stepping::Time => ("time", 1),
            Stepping::RoundTrips(count) => ("rtt", count),
            Stepping::Acks(count) => ("acks", count),
        };
        (kind, count, self.0.length_ns)
    }

    #[getter]
    fn layers(&self) -> Vec<LayerParts> {
        let parts = |layer: &Layer| match layer {
            Layer::Relu => ("relu", Vec::new(), Vec::new()),
            Layer::Tanh => ("tanh", Vec::new(), Vec::new()),
            Layer::Dense(dense) => {
                let rows = dense.weights.chunks_exact(dense.inputs).map(<[f64]>::to_vec);
                ("dense", rows.collect(), dense.bias.clone())
            }
        };
        self.0.network.layers.iter().map(parts).collect()
    }

    /// Action for observations.
    #[expect(clippy::needless_pass_by_value, reason = "a list of Python")]
    fn act(&self, observations: Vec<f32>) -> PyResult<Vec<f64>> {
        let (found, asked) = (observations.len(), self.0.network.inputs);
        if found != asked {
            let message = format!("observations: found {found} values; allowed: {asked}");
            return Err(PyValueError::new_err(message));
        }
        Ok(self.0.act(&observations))
    }
}

impl Maker for Policy {
    fn make(&self, facts: &Facts, told: Told) -> Result<Box<dyn CongestionControl>, String> {
        if let Some((name, _)) = facts.parameters.first() {
            return Err(format!("a policy has no parameters; found {name}"));
        }
        let fail = move |at_ns, what| told.failed(at_ns, what);
        Ok(Arc::clone(&self.0).control(Box::new(fail)))
    }
}
