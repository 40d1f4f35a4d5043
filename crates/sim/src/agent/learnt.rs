//! A policy that has learnt in an environment, as the congestion control of a flow. It sees what an agent
//! sees, and acts when an agent acts: when the connection is established, and at the end of each step.

use super::action::{Act, Action, Actions};
use super::control::{lock, Control, Shared, Stepping};
use super::observation::{Observation, Step};
use crate::pause::Pause;
use dumbbell_cc::{CongestionControl, Conn, RateSample, Window};
use dumbbell_policy::{Metadata, Model, Network};
use std::sync::{Arc, Mutex};

/// Where a flow tells that its policy failed: virtual time in ns, and what it did.
pub type Fail = Box<dyn Fn(u64, String) + Send>;

/// Version of the notes in a policy's file.
const VERSION: &str = "1";
/// Shortest and longest step, ns.
const STEP_NS: (u64, u64) = (1_000, 3_600_000_000_000);

/// A policy.
#[derive(Clone, Debug, PartialEq)]
pub struct Learnt {
    /// Its network.
    pub network: Network,
    /// Inputs.
    pub observations: Vec<Observation>,
    /// Inputs have no unit.
    pub normalised: bool,
    /// Outputs.
    pub actions: Actions,
    /// What ends a step.
    pub stepping: Stepping,
    /// Length of a step, or its most, ns.
    pub length_ns: u64,
}

/// A note of the file.
fn note<'a>(notes: &'a Metadata, name: &str) -> Result<&'a str, String> {
    let key = format!("dumbbell_{name}");
    match notes.get(&key) {
        Some(found) => Ok(found),
        None => Err(format!("it has no note {key}; dumbbell.gym.save_policy writes such files")),
    }
}

fn flag(notes: &Metadata, name: &str) -> Result<bool, String> {
    let found = note(notes, name)?;
    found.parse().map_err(|_| format!("note dumbbell_{name}: found {found}; allowed: true, false"))
}

fn number(notes: &Metadata, name: &str, (low, high): (u64, u64)) -> Result<u64, String> {
    let found = note(notes, name)?;
    let number = found.parse().ok().filter(|number| (low..=high).contains(number));
    number.ok_or_else(|| format!("note dumbbell_{name}: found {found}; allowed: {low} to {high}"))
}

/// Names of a note, each of which is one of `all`.
fn names<T: Copy>(
    notes: &Metadata,
    name: &str,
    all: &[T],
    of: impl Fn(T) -> &'static str,
) -> Result<Vec<T>, String> {
    let known = |found: &str| all.iter().copied().find(|one| of(*one) == found);
    note(notes, name)?
        .split(',')
        .map(|one| known(one).ok_or_else(|| format!("note dumbbell_{name}: there is no {one}")))
        .collect()
}

impl Learnt {
    /// Reads a policy from a file of ONNX.
    ///
    /// # Errors
    /// It is none.
    pub fn read(file: &[u8]) -> Result<Self, String> {
        let Model { network, metadata: notes } = Model::read(file)?;
        let version = note(&notes, "version")?;
        if version != VERSION {
            return Err(format!("its notes have version {version}; this Dumbbell has {VERSION}"));
        }
        let count = number(&notes, "count", (1, 1_000_000))? as u32;
        let stepping = match note(&notes, "step")? {
            "time" => Stepping::Time,
            "rtt" => Stepping::RoundTrips(count),
            "acks" => Stepping::Acks(count),
            other => {
                return Err(format!("note dumbbell_step: found {other}; allowed: time, rtt, acks"));
            }
        };
        let learnt = Self {
            observations: names(&notes, "observations", Observation::ALL, Observation::name)?,
            normalised: flag(&notes, "normalised")?,
            actions: Actions {
                acts: names(&notes, "actions", Act::ALL, Act::name)?,
                scaled: flag(&notes, "scaled")?,
            },
            stepping,
            length_ns: number(&notes, "length_ns", STEP_NS)?,
            network,
        };
        let (inputs, outputs) = (learnt.network.inputs, learnt.network.outputs);
        let (seen, set) = (learnt.observations.len(), learnt.actions.width());
        if inputs != seen {
            return Err(format!("its network has {inputs} inputs for {seen} observations"));
        }
        if outputs != set {
            return Err(format!("its network has {outputs} outputs for {set} actions"));
        }
        Ok(learnt)
    }

    /// Action for these observations: the outputs within their bounds. NaN stays NaN.
    pub fn act(&self, seen: &[f32]) -> Vec<f64> {
        let inputs: Vec<f64> = seen.iter().map(|value| f64::from(*value)).collect();
        let mut outputs = self.network.evaluate(&inputs);
        for (element, value) in outputs.iter_mut().enumerate() {
            let (low, high) = self.actions.bounds(element);
            *value = value.clamp(low, high);
        }
        outputs
    }

    fn decide(&self, step: &Step, held: (f64, f64)) -> Result<Action, String> {
        let seen = |which: &Observation| step.seen(*which, self.normalised) as f32;
        let outputs = self.act(&self.observations.iter().map(seen).collect::<Vec<_>>());
        let in_unit = |(element, value)| {
            self.actions.in_unit(element, value).map_err(|(name, what)| format!("{name}: {what}"))
        };
        let values: Result<Vec<f64>, String> =
            outputs.into_iter().enumerate().map(in_unit).collect();
        Ok(self.actions.action(held, &values?))
    }

    /// The congestion control of a flow.
    pub fn control(self: Arc<Self>, fail: Fail) -> Box<dyn CongestionControl> {
        let pause = Pause::default();
        let shared = Arc::new(Mutex::new(Shared::new(self.stepping, pause.clone())));
        let control = Control { shared, sets: self.actions.sets() };
        Box::new(Follower { control, policy: self, pause, ends_ns: u64::MAX, fail: Some(fail) })
    }
}

/// A flow that follows a policy.
struct Follower {
    control: Control,
    policy: Arc<Learnt>,
    /// Asked for by the control when a step has its round trips or ACKs.
    pause: Pause,
    /// End of the step at the latest, ns.
    ends_ns: u64,
    /// `None`: the policy has failed.
    fail: Option<Fail>,
}

impl Follower {
    /// Ends a step at a virtual time, and takes the next action.
    fn step(&mut self, at_ns: u64) {
        let mut shared = lock(&self.control.shared);
        let step = shared.step(at_ns);
        self.ends_ns = at_ns + self.policy.length_ns;
        match self.policy.decide(&step, shared.held()) {
            Ok(action) => {
                shared.act(action);
                shared.begin_step();
            }
            Err(what) => {
                self.ends_ns = u64::MAX;
                if let Some(fail) = self.fail.take() {
                    fail(at_ns, what);
                }
            }
        }
    }
}

impl CongestionControl for Follower {
    fn init(&mut self, conn: &Conn, window: &mut Window) {
        self.control.init(conn, window);
        self.pause.take();
        self.step(conn.now_ns);
    }

    fn ssthresh(&mut self, conn: &Conn, window: &mut Window) -> u32 {
        self.control.ssthresh(conn, window)
    }

    fn controls_rate(&self) -> bool {
        true
    }

    fn cong_control(&mut self, conn: &Conn, window: &mut Window, sample: &RateSample) {
        // An ACK at the end of a step belongs to it.
        while self.ends_ns < conn.now_ns {
            self.step(self.ends_ns);
        }
        self.control.cong_control(conn, window, sample);
        if self.pause.take() && self.fail.is_some() {
            self.step(conn.now_ns);
        }
    }

    fn phase(&self) -> &'static str {
        "policy"
    }
}
