//! Worlds in which agents learn: many runs, moved on by one call.

use crate::{
    output, panic_message, plugins, run_error, scenario_error, stacks, DefectError, Output,
};
use dumbbell_cc::plugin::{Failure, Plugins};
use dumbbell_cc::CongestionControl;
use dumbbell_model::catalogue::plugin::Plugin;
use dumbbell_model::{Scenario, Span, TcpOptions};
use dumbbell_plugins::{Makers, Page, RunPlugins};
use dumbbell_sim::agent::{Act, Actions, Agents, Observation, Reward, Step, Stepping};
use dumbbell_sim::{Pause, RunError, Session};
use dumbbell_stack::{Spec, Stack};
use pyo3::buffer::PyBuffer;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::{Arc, Mutex, PoisonError};

/// A run.
struct World {
    session: Session,
    agents: Arc<Agents>,
    /// Numbers of the agents' flows.
    flows: Vec<usize>,
    last: Vec<Step>,
    /// The episode is over for all agents.
    over: bool,
}

/// What all worlds have in common.
struct Common {
    agents: Vec<String>,
    actions: Actions,
    stepping: Stepping,
    /// Length of a step, or the most of one that ends by ACKs.
    length: Span,
    observations: Vec<Observation>,
    normalised: bool,
    reward: Reward,
    /// Page of the stacks of flows without an agent.
    page: Arc<Page>,
}

/// Agents, and the stacks of the flows beside them.
struct Beside {
    agents: Arc<Agents>,
    stacks: RunPlugins,
}

impl Plugins for Beside {
    fn refusal(&self, plugin: Plugin) -> Option<String> {
        self.agents.refusal(plugin)
    }

    fn make(&self, plugin: Plugin, flow: &str, options: &TcpOptions) -> Box<dyn CongestionControl> {
        self.agents.make(plugin, flow, options)
    }

    fn stacks(&self) -> Vec<&'static str> {
        self.stacks.stacks()
    }

    fn stack(&self, name: &str, flow: &str, spec: &Spec) -> Result<Box<dyn Stack>, String> {
        self.stacks.stack(name, flow, spec)
    }

    fn failure(&self) -> Option<Failure> {
        self.stacks.failure()
    }
}

/// Runs of scenarios with agents.
#[pyclass(module = "dumbbell._core")]
pub(crate) struct Worlds(Mutex<(Inner, Option<Arrays>)>);

/// Arrays of Python that a step reads and writes.
struct Arrays {
    actions: PyBuffer<f64>,
    observations: PyBuffer<f32>,
    rewards: PyBuffer<f64>,
    terminated: PyBuffer<u8>,
    truncated: PyBuffer<u8>,
}

struct Inner {
    common: Common,
    scenarios: Vec<Arc<Scenario>>,
    worlds: Vec<Option<World>>,
    actions: Vec<f64>,
    observations: Vec<f32>,
    rewards: Vec<f64>,
    terminated: Vec<u8>,
    truncated: Vec<u8>,
}

impl World {
    fn open(
        common: &Common,
        scenario: &Arc<Scenario>,
        seed: u64,
    ) -> Result<Option<Self>, RunError> {
        let sets = common.actions.sets();
        let pause = Pause::default();
        let agents = Arc::new(Agents::new(&common.agents, sets, common.stepping, &pause));
        let stacks = RunPlugins::new(Makers::new(), Arc::clone(&common.page));
        let stacks = stacks.with_stacks(stacks::known());
        let plugins = Arc::new(Beside { agents: Arc::clone(&agents), stacks });
        let mut session = Session::open(Arc::clone(scenario), seed, plugins, Some(pause))?;
        if !agents.open(&mut session)? {
            return Ok(None);
        }
        let number = |name: &String| scenario.flows.iter().position(|flow| flow.name == *name);
        let flows = common.agents.iter().map(|name| number(name).unwrap_or(usize::MAX)).collect();
        let now = session.reached();
        let last = (0..common.agents.len()).map(|agent| agents.step(agent, now)).collect();
        Ok(Some(Self { session, agents, flows, last, over: false }))
    }

    /// Takes the actions of all agents and moves on by a step.
    fn step(&mut self, common: &Common, actions: &[f64]) -> Result<(), RunError> {
        for (agent, values) in actions.chunks_exact(common.actions.width()).enumerate() {
            let action = common.actions.action(self.agents.held(agent), values);
            self.agents.act(agent, action);
        }
        self.agents.begin_step();
        let at = self.session.reached() + common.length;
        let now = self.session.run_until(at)?;
        for (agent, last) in self.last.iter_mut().enumerate() {
            *last = self.agents.step(agent, now);
        }
        Ok(())
    }

    fn is_at_end(&self) -> bool {
        self.session.reached() >= self.session.end()
    }
}

impl Inner {
    /// Writes the observations of a world.
    fn observe(&mut self, number: usize) {
        let Some(Some(world)) = self.worlds.get(number) else { return };
        let (per_agent, agents) = (self.common.observations.len(), world.last.len());
        let places = self.observations.chunks_exact_mut(per_agent).skip(number * agents);
        for (place, step) in places.zip(&world.last) {
            for (value, which) in place.iter_mut().zip(&self.common.observations) {
                *value = step.seen(*which, self.common.normalised) as f32;
            }
        }
    }

    fn reset(&mut self, number: usize, scenario: usize, seed: u64) -> Result<bool, RunError> {
        self.worlds[number] = None;
        self.worlds[number] = World::open(&self.common, &self.scenarios[scenario], seed)?;
        self.observe(number);
        Ok(self.worlds[number].is_some())
    }

    /// Moves on the worlds whose episode is not over. Returns the numbers of the others.
    fn step(&mut self) -> Result<Vec<usize>, RunError> {
        let agents = self.common.agents.len();
        let width = agents * self.common.actions.width();
        let mut over = Vec::new();
        for number in 0..self.worlds.len() {
            let rows = number * agents..(number + 1) * agents;
            let Some(world) = self.worlds[number].as_mut().filter(|world| !world.over) else {
                over.push(number);
                self.rewards[rows.clone()].fill(0.0);
                self.terminated[rows.clone()].fill(0);
                self.truncated[rows].fill(0);
                continue;
            };
            world.step(&self.common, &self.actions[number * width..][..width])?;
            world.over = true;
            for (agent, at) in rows.enumerate() {
                let gone = world.session.is_over(world.flows[agent]);
                let ends = !gone && world.is_at_end();
                world.over &= gone || ends;
                self.rewards[at] = self.common.reward.of(&world.last[agent]);
                (self.terminated[at], self.truncated[at]) = (u8::from(gone), u8::from(ends));
            }
            self.observe(number);
        }
        Ok(over)
    }

    /// Checks the actions of the worlds that move on, and brings them to their units. Returns what is wrong
    /// with the first one that no agent can take.
    fn understand(&mut self) -> Result<(), String> {
        let Self { common, actions, worlds, .. } = self;
        let (width, agents) = (common.actions.width(), common.agents.len());
        for (at, value) in actions.iter_mut().enumerate() {
            let row = at / width;
            if worlds[row / agents].as_ref().is_none_or(|world| world.over) {
                continue;
            }
            let agent = &common.agents[row % agents];
            let refused = |(name, what)| format!("action {name} of agent {agent}: {what}");
            *value = common.actions.in_unit(at % width, *value).map_err(refused)?;
        }
        Ok(())
    }
}

fn named<T: Copy>(all: &[T], name: &str, of: impl Fn(T) -> &'static str) -> PyResult<T> {
    let found = all.iter().copied().find(|one| of(*one) == name);
    found.ok_or_else(|| PyValueError::new_err(name.to_owned()))
}

/// Runs without the interpreter's lock; a panic is an error.
fn apart<T: Send>(py: Python<'_>, act: impl FnOnce() -> Result<T, RunError> + Send) -> PyResult<T> {
    py.detach(|| catch_unwind(AssertUnwindSafe(act)))
        .map_err(|payload| DefectError::new_err(panic_message(payload.as_ref())))?
        .map_err(|error| run_error(py, &error))
}

impl Worlds {
    fn inner(&mut self) -> &mut Inner {
        &mut self.0.get_mut().unwrap_or_else(PoisonError::into_inner).0
    }
}

#[pymethods]
impl Worlds {
    /// `stepping` is `time`, `rtt` or `acks`; `count` round trips or ACKs; `length_ns` the length of a step,
    /// or its most. A name that is unknown raises `ValueError` with the name.
    #[new]
    #[expect(clippy::too_many_arguments, reason = "one call from Python")]
    fn new(
        worlds: usize,
        agents: Vec<String>,
        actions: Vec<String>,
        scaled: bool,
        stepping: &str,
        count: u32,
        length_ns: u64,
        observations: Vec<String>,
        normalised: bool,
        reward: &str,
    ) -> PyResult<Self> {
        let acts: PyResult<Vec<Act>> =
            actions.iter().map(|name| named(Act::ALL, name, Act::name)).collect();
        let seen: PyResult<Vec<Observation>> = observations
            .iter()
            .map(|name| named(Observation::ALL, name, Observation::name))
            .collect();
        let stepping = match stepping {
            "rtt" => Stepping::RoundTrips(count),
            "acks" => Stepping::Acks(count),
            _ => Stepping::Time,
        };
        let common = Common {
            agents,
            actions: Actions { acts: acts?, scaled },
            stepping,
            length: Span::from_ns(length_ns),
            observations: seen?,
            normalised,
            reward: named(Reward::ALL, reward, Reward::name)?,
            page: plugins::page(None)?,
        };
        let rows = worlds * common.agents.len();
        let inner = Inner {
            scenarios: Vec::new(),
            worlds: (0..worlds).map(|_| None).collect(),
            actions: vec![0.0; rows * common.actions.width()],
            observations: vec![0.0; rows * common.observations.len()],
            rewards: vec![0.0; rows],
            terminated: vec![0; rows],
            truncated: vec![0; rows],
            common,
        };
        Ok(Self(Mutex::new((inner, None))))
    }

    /// Adds a scenario and returns its number. With `kept` its tables are recorded.
    fn add(&mut self, py: Python<'_>, scenario_json: &str, kept: bool) -> PyResult<usize> {
        let inner = self.inner();
        let made = Scenario::from_json(scenario_json).and_then(|mut scenario| {
            Agents::take(&mut scenario, &inner.common.agents)?;
            let sampling = &mut scenario.sampling;
            if !kept {
                (sampling.samples, sampling.queues, sampling.drops) = (false, false, false);
                (sampling.probes, sampling.packets) = (false, None);
                (sampling.capture, sampling.hops) = (None, None);
                scenario.taps.clear();
            }
            scenario.validate()?;
            Ok(scenario)
        });
        let scenario = made.map_err(|error| scenario_error(py, &error))?;
        inner.scenarios.push(Arc::new(scenario));
        Ok(inner.scenarios.len() - 1)
    }

    /// Names the arrays that hold actions, and take observations, rewards and ends.
    fn bind(
        &mut self,
        actions: PyBuffer<f64>,
        observations: PyBuffer<f32>,
        rewards: PyBuffer<f64>,
        terminated: PyBuffer<u8>,
        truncated: PyBuffer<u8>,
    ) {
        let arrays = Arrays { actions, observations, rewards, terminated, truncated };
        self.0.get_mut().unwrap_or_else(PoisonError::into_inner).1 = Some(arrays);
    }

    /// Begins an episode of a world and writes its observations. Returns false if an agent's connection is
    /// not established before the end of the run.
    fn reset(
        &mut self,
        py: Python<'_>,
        world: usize,
        scenario: usize,
        seed: u64,
    ) -> PyResult<bool> {
        let (inner, arrays) = self.0.get_mut().unwrap_or_else(PoisonError::into_inner);
        let open = apart(py, || inner.reset(world, scenario, seed))?;
        if let Some(arrays) = arrays {
            arrays.observations.copy_from_slice(py, &inner.observations)?;
        }
        Ok(open)
    }

    /// Takes the actions of all worlds, moves them on, and writes observations, rewards and ends. Returns the
    /// numbers of the worlds whose episode was over, and which have not moved.
    fn step(&mut self, py: Python<'_>) -> PyResult<Vec<usize>> {
        let (inner, arrays) = self.0.get_mut().unwrap_or_else(PoisonError::into_inner);
        let Some(arrays) = arrays else { return Err(PyValueError::new_err("no arrays")) };
        arrays.actions.copy_to_slice(py, &mut inner.actions)?;
        inner.understand().map_err(PyValueError::new_err)?;
        let over = apart(py, || inner.step())?;
        arrays.observations.copy_from_slice(py, &inner.observations)?;
        arrays.rewards.copy_from_slice(py, &inner.rewards)?;
        arrays.terminated.copy_from_slice(py, &inner.terminated)?;
        arrays.truncated.copy_from_slice(py, &inner.truncated)?;
        Ok(over)
    }

    /// All observations of an agent's last step, each in its unit, and its virtual time in s.
    fn values(&mut self, world: usize, agent: usize) -> Option<(f64, Vec<f64>)> {
        let world = self.inner().worlds.get(world)?.as_ref()?;
        let reached_s = world.session.reached().as_ns() as f64 / 1e9;
        Some((reached_s, world.last.get(agent)?.values.to_vec()))
    }

    /// Runs a world to its end with the last action, and returns its results. The world is closed.
    fn finish(&mut self, py: Python<'_>, world: usize) -> PyResult<Output> {
        let taken = self.inner().worlds.get_mut(world).and_then(Option::take);
        let Some(taken) = taken else {
            return Err(PyValueError::new_err("no episode"));
        };
        let found = apart(py, || taken.session.finish())?;
        output(py, found)
    }
}

/// What agents can see, set and be rewarded by, as JSON.
#[pyfunction]
pub(crate) fn gym_catalogue() -> String {
    let observations = Observation::ALL.iter().map(|one| {
        let bounds = [false, true].map(|normalised| one.kind().bounds(normalised));
        serde_json::json!({
            "name": one.name(), "kind": format!("{:?}", one.kind()).to_lowercase(),
            "unit": one.kind().unit(), "about": one.about(), "bounds": bounds,
        })
    });
    let rewards = Reward::ALL.iter().map(|one| {
        serde_json::json!({
            "name": one.name(), "formula": one.formula(), "source": one.source(),
        })
    });
    let actions = Act::ALL.iter().map(|one| {
        let (low, high) = one.bounds();
        serde_json::json!({
            "name": one.name(), "unit": one.unit(), "low": low, "high": high,
            "about": one.about(),
        })
    });
    serde_json::json!({
        "observations": observations.collect::<Vec<_>>(),
        "rewards": rewards.collect::<Vec<_>>(),
        "actions": actions.collect::<Vec<_>>(),
    })
    .to_string()
}
