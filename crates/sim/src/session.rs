//! A run in steps. [`Session`] stops at any virtual time, or when a [`Pause`] is asked for; its results
//! do not depend on the steps.

use crate::held::Held;
use crate::pause::Pause;
use crate::world::World;
use crate::{
    arrive, refuse_plugins, refuse_programs, refuse_stacks, setup, Monitor, Output, RunError,
};
use dumbbell_cc::plugin::Plugins;
use dumbbell_model::digest::digest;
use dumbbell_model::{Scenario, Time};
use std::borrow::Cow;
use std::sync::Arc;

/// Never stops a run.
struct Unwatched;

impl Monitor for Unwatched {
    fn progress(&self, _now: Time) -> bool {
        true
    }
}

/// A run that the caller moves on step by step.
pub struct Session {
    world: World<'static>,
    reached: Time,
}

impl Session {
    /// Prepares a run. Nothing has happened yet.
    ///
    /// # Errors
    /// The scenario or a plug-in cannot be used.
    pub fn open(
        scenario: Arc<Scenario>,
        seed: u64,
        plugins: Arc<dyn Plugins>,
        pause: Option<Pause>,
    ) -> Result<Self, RunError> {
        let mut world = begin(Held::Shared(scenario), seed, Held::Shared(plugins))?;
        world.pause = pause;
        Ok(Self { world, reached: Time::ZERO })
    }

    /// Processes all events until `at`, that instant included. Returns the virtual time reached: `at`, the
    /// end of the run, or the time of an event that asked for a pause.
    ///
    /// # Errors
    /// A plug-in failed, or the scenario has too many flows at one time.
    pub fn run_until(&mut self, at: Time) -> Result<Time, RunError> {
        let paused = self.world.advance(at, &Unwatched)?;
        self.world.check_failures()?;
        let until = if paused { self.world.now } else { at.min(self.world.end) };
        self.reached = self.reached.max(until);
        Ok(self.reached)
    }

    /// Returns true if a flow of the scenario sends nothing more.
    pub fn is_over(&self, flow: usize) -> bool {
        self.world.flows.get(flow).is_some_and(|flow| flow.over || flow.closed)
    }

    /// Virtual time reached.
    pub fn reached(&self) -> Time {
        self.reached
    }

    /// Virtual time at which the run ends.
    pub fn end(&self) -> Time {
        self.world.end
    }

    /// Runs to the end and returns the results.
    ///
    /// # Errors
    /// See [`RunError`].
    pub fn finish(mut self) -> Result<Output, RunError> {
        self.world.pause = None;
        finish(self.world, &Unwatched)
    }
}

/// Builds the world of a run and sets its first events.
pub(crate) fn begin<'a>(
    mut scenario: Held<'a, Scenario>,
    seed: u64,
    plugins: Held<'a, dyn Plugins + 'a>,
) -> Result<World<'a>, RunError> {
    scenario.validate()?;
    refuse_programs(&scenario)?;
    refuse_plugins(&scenario, &*plugins)?;
    refuse_stacks(&scenario, &*plugins)?;
    if !scenario.arrivals.is_empty() && arrive::needs_all(&scenario) {
        let all = scenario.drawn(seed).into_owned();
        scenario = Held::Shared(Arc::new(Scenario { arrivals: Vec::new(), ..all }));
    }
    if let Cow::Owned(drawn) = scenario.with_drawn_pipes(seed) {
        scenario = Held::Shared(Arc::new(drawn));
    }
    let mut world = setup::world(scenario, seed, plugins)?;
    world.begin();
    Ok(world)
}

/// Runs a world to its end and collects its results.
pub(crate) fn finish(mut world: World<'_>, monitor: &dyn Monitor) -> Result<Output, RunError> {
    world.run(monitor)?;
    world.check_conservation()?;
    let tables = world.tables();
    world.check_failures()?; // A stack may fail while it tells its state.
    let digest = digest(&tables);
    let capture = world.capture_file();
    Ok(Output { tables, digest, packets: world.packets, events: world.processed, capture })
}
