//! The plug-ins of one run.

use crate::page::Page;
use dumbbell_cc::plugin::{Failure, Plugins};
use dumbbell_cc::CongestionControl;
use dumbbell_model::catalogue::plugin::{Facts, Plugin};
use dumbbell_model::TcpOptions;
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

/// Where an instance tells what it does.
#[derive(Clone, Debug)]
pub struct Told {
    plugin: String,
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
            let Self { plugin, flow, .. } = self.clone();
            *first = Some(Failure { plugin, flow, at_ns, what });
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
    page: Arc<Page>,
    flows: Mutex<u32>,
    failure: Arc<Mutex<Option<Failure>>>,
}

impl RunPlugins {
    /// Plug-ins that a run may use; `page` tells where it is.
    pub fn new(makers: Makers, page: Arc<Page>) -> Self {
        Self { makers, page, flows: Mutex::default(), failure: Arc::default() }
    }
}

impl Plugins for RunPlugins {
    fn refusal(&self, plugin: Plugin) -> Option<String> {
        let known = self.makers.contains_key(&plugin.known().facts.sha256);
        (!known).then(|| "its file is not loaded".to_owned())
    }

    fn make(&self, plugin: Plugin, flow: &str, options: &TcpOptions) -> Box<dyn CongestionControl> {
        let facts = &plugin.known().facts;
        let mut flows = self.flows.lock().unwrap_or_else(PoisonError::into_inner);
        let told = Told {
            plugin: facts.name.clone(),
            flow: flow.to_owned(),
            number: *flows,
            page: Arc::clone(&self.page),
            failure: Arc::clone(&self.failure),
        };
        *flows += 1;
        let made = match self.makers.get(&facts.sha256) {
            Some(maker) => maker.make(facts, told.clone()),
            None => Err("its file is not loaded".to_owned()),
        };
        made.unwrap_or_else(|what| {
            told.failed(0, what);
            dumbbell_cc::plugin::instead(options)
        })
    }

    fn failure(&self) -> Option<Failure> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
