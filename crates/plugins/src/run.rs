//! The plug-ins of one run.

use crate::page::Page;
use crate::stacks::Watched;
use dumbbell_cc::plugin::{Failure, Plugins};
use dumbbell_cc::CongestionControl;
use dumbbell_model::catalogue::plugin::{Facts, Plugin};
use dumbbell_model::TcpOptions;
use dumbbell_stack::{Log, Spec, Stack};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Makes instances of one plug-in.
pub trait Maker: Send + Sync {
    /// Creates the instance of a flow.
    ///
    /// # Errors
    /// What the plug-in said.
    fn make(&self, facts: &Facts, told: Told) -> Result<Box<dyn CongestionControl>, String>;
}

/// Makers by the SHA-256 of their files.
pub type Makers = BTreeMap<String, Arc<dyn Maker>>;

/// Makers of transport stacks by name.
pub type Stacks = BTreeMap<&'static str, Arc<dyn dumbbell_stack::Maker>>;

/// Logs of the connections of stacks by flow: of client and server.
pub type Logs = Arc<Mutex<BTreeMap<String, [Log; 2]>>>;

/// Where an instance tells what it does.
#[derive(Clone, Debug)]
pub struct Told {
    who: String,
    flow: String,
    number: u32,
    page: Arc<Page>,
    failure: Arc<Mutex<Option<Failure>>>,
}

impl Told {
    /// Tells that the instance failed. The first failure of a run counts.
    pub fn failed(&self, at_ns: u64, what: String) {
        let mut first = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
        if first.is_none() {
            let Self { who, flow, .. } = self.clone();
            *first = Some(Failure { who, flow, at_ns, what });
        }
    }

    /// Calls a hook at a time.
    pub fn hook<R>(&self, at_ns: u64, call: impl FnOnce() -> R) -> R {
        self.page.enter(self.number, at_ns);
        let found = call();
        self.page.leave();
        found
    }
}

/// The plug-ins of one run.
pub struct RunPlugins {
    makers: Makers,
    stacks: Stacks,
    /// `None`: nothing is logged.
    logs: Option<Logs>,
    page: Arc<Page>,
    flows: Mutex<u32>,
    failure: Arc<Mutex<Option<Failure>>>,
}

impl RunPlugins {
    /// Plug-ins that a run may use; `page` tells where it is.
    pub fn new(makers: Makers, page: Arc<Page>) -> Self {
        let (stacks, flows) = (Stacks::new(), Mutex::default());
        Self { makers, stacks, logs: None, page, flows, failure: Arc::default() }
    }

    /// Returns the plug-ins with these transport stacks.
    #[must_use]
    pub fn with_stacks(self, stacks: Stacks) -> Self {
        Self { stacks, ..self }
    }

    /// Returns the plug-ins with connections that write logs.
    #[must_use]
    pub fn with_logs(self, logs: Logs) -> Self {
        Self { logs: Some(logs), ..self }
    }

    fn told(&self, who: String, flow: &str) -> Told {
        let mut flows = self.flows.lock().unwrap_or_else(PoisonError::into_inner);
        let told = Told {
            who,
            flow: flow.to_owned(),
            number: *flows,
            page: Arc::clone(&self.page),
            failure: Arc::clone(&self.failure),
        };
        *flows += 1;
        told
    }
}

impl Plugins for RunPlugins {
    fn refusal(&self, plugin: Plugin) -> Option<String> {
        let known = self.makers.contains_key(&plugin.known().facts.sha256);
        (!known).then(|| "its file is not loaded".to_owned())
    }

    fn make(&self, plugin: Plugin, flow: &str, options: &TcpOptions) -> Box<dyn CongestionControl> {
        let facts = &plugin.known().facts;
        let told = self.told(format!("plug-in {}", facts.name), flow);
        let made = match self.makers.get(&facts.sha256) {
            Some(maker) => maker.make(facts, told.clone()),
            None => Err("its file is not loaded".to_owned()),
        };
        made.unwrap_or_else(|what| {
            told.failed(0, what);
            dumbbell_cc::plugin::instead(options)
        })
    }

    fn stacks(&self) -> Vec<&'static str> {
        self.stacks.keys().copied().collect()
    }

    fn stack(&self, name: &str, flow: &str, spec: &Spec) -> Result<Box<dyn Stack>, String> {
        let told = self.told(format!("stack {name}"), flow);
        let mut spec = spec.clone();
        if let Some(logs) = &self.logs {
            let own = <[Log; 2]>::default();
            spec.logs = Some(own.clone());
            logs.lock().unwrap_or_else(PoisonError::into_inner).insert(flow.to_owned(), own);
        }
        let maker = self.stacks.get(name).ok_or_else(|| format!("no stack {name}"));
        match maker.and_then(|maker| maker.make(&spec)) {
            Ok(stack) => Ok(Box::new(Watched::new(stack, told, spec.datagram_bytes))),
            Err(what) => {
                told.failed(0, what.clone());
                Err(what)
            }
        }
    }

    fn failure(&self) -> Option<Failure> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
