//! Congestion controls and transport stacks from outside of the program: who makes their instances, and how
//! they fail.

use crate::CongestionControl;
use dumbbell_model::catalogue::plugin::Plugin;
use dumbbell_model::TcpOptions;
use dumbbell_stack::{Spec, Stack};
use std::fmt;

/// Where a plug-in failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Kind and name: `plug-in mine`, `stack quinn`.
    pub who: String,
    /// Flow whose instance failed.
    pub flow: String,
    /// Virtual time, ns.
    pub at_ns: u64,
    /// What it did.
    pub what: String,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { who, flow, at_ns, what } = self;
        let (s, us) = (at_ns / 1_000_000_000, at_ns % 1_000_000_000 / 1000);
        write!(f, "{who}, flow {flow}, at {s}.{us:06} s: {what}")
    }
}

/// Plug-ins of a run. A plug-in that failed is not called again; the run then ends with its failure.
pub trait Plugins: Send + Sync {
    /// Why a plug-in cannot be used; `None`: it can be.
    fn refusal(&self, plugin: Plugin) -> Option<String>;

    /// Creates the instance of a flow.
    fn make(&self, plugin: Plugin, flow: &str, options: &TcpOptions) -> Box<dyn CongestionControl>;

    /// Transport stacks of this build, by name.
    fn stacks(&self) -> Vec<&'static str> {
        Vec::new()
    }

    /// Creates the connection of a flow.
    ///
    /// # Errors
    /// What the stack cannot do.
    fn stack(&self, name: &str, _flow: &str, _spec: &Spec) -> Result<Box<dyn Stack>, String> {
        Err(format!("this build has no stack {name}"))
    }

    /// First failure of an instance.
    fn failure(&self) -> Option<Failure>;
}

/// What sends in place of an instance that could not be made, until the run ends.
pub fn instead(options: &TcpOptions) -> Box<dyn CongestionControl> {
    crate::reno::new(options)
}

/// No plug-ins.
#[derive(Clone, Copy, Debug)]
pub struct NoPlugins;

impl Plugins for NoPlugins {
    fn refusal(&self, _: Plugin) -> Option<String> {
        Some("no plug-ins can be loaded here".to_owned())
    }

    fn make(&self, _: Plugin, _: &str, options: &TcpOptions) -> Box<dyn CongestionControl> {
        instead(options)
    }

    fn failure(&self) -> Option<Failure> {
        None
    }
}
