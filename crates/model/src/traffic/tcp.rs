//! A TCP connection.

use super::{Carrier, Demand, TrafficKind};
use crate::catalogue::congestion_control::Algorithm;
use crate::tcp_options::TcpOptions;
use crate::units::Rate;
use crate::validate::above_zero;
use crate::writer::Source;
use crate::ScenarioError;
use serde::{Deserialize, Serialize};

/// A TCP connection and the applications at its ends.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tcp {
    /// Congestion control of the sender.
    pub congestion_control: Algorithm,
    /// `true`: the fq qdisc of the sending host paces the flow. `false`: TCP paces it itself where the
    /// congestion control asks for pacing.
    pub fq: bool,
    /// Sending application.
    pub source: Source,
    /// Receiving application.
    pub sink: Sink,
    /// TCP options of the sending host, where this flow has its own.
    pub sender: Option<TcpOptions>,
    /// TCP options of the receiving host, where this flow has its own.
    pub receiver: Option<TcpOptions>,
}

/// The receiving application.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sink {
    /// Bytes that must be readable before it reads (SO_RCVLOWAT). 1: it reads at once.
    pub lowat_bytes: u64,
    /// Highest read rate. `null`: it reads all there is.
    pub rate_bps: Option<Rate>,
}

impl Sink {
    /// Checks the fields of the sink at `at`.
    pub(crate) fn check(self, at: &str) -> Result<(), ScenarioError> {
        above_zero(at, "sink.lowat_bytes", self.lowat_bytes)?;
        match self.rate_bps {
            Some(rate) => above_zero(at, "sink.rate_bps", rate.as_bps()),
            None => Ok(()),
        }
    }
}

impl TrafficKind for Tcp {
    fn check(&self, at: &str) -> Result<(), ScenarioError> {
        for (field, options) in [("sender", &self.sender), ("receiver", &self.receiver)] {
            if let Some(options) = options {
                options.check(&format!("{at}.{field}"))?;
            }
        }
        self.sink.check(at)?;
        self.source.check(&format!("{at}.source"))
    }

    fn carrier(&self) -> Carrier {
        Carrier::Tcp
    }

    fn demand(&self, _seconds: f64) -> Option<Demand> {
        None
    }
}
