//! A TCP connection.

use super::{seed, Carrier, Demand, TrafficKind};
use crate::catalogue::congestion_control::Algorithm;
use crate::rng::Rng;
use crate::tcp_options::TcpOptions;
use crate::units::{Rate, Span};
use crate::validate::{above_zero, in_range};
use crate::writer::Source;
use crate::ScenarioError;
use dumbbell_stack::{Log, Spec};
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
    /// TCP_NODELAY at both ends. Absent: set for pages only, as web servers and browsers do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nodelay: Option<bool>,
    /// TCP_NOTSENT_LOWAT of the sender: it writes while less than this is not sent. Absent: the send
    /// buffer decides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notsent_lowat_bytes: Option<u32>,
    /// Stack of the sender. The receiver's is Linux's.
    #[serde(default, skip_serializing_if = "TcpStack::is_linux")]
    pub stack: TcpStack,
}

/// Implementation of TCP.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TcpStack {
    /// Linux.
    #[default]
    Linux,
    /// smoltcp. Whether a build has it is known where a run begins.
    Smoltcp,
}

impl TcpStack {
    fn is_linux(&self) -> bool {
        *self == Self::Linux
    }

    /// Name in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Linux => "linux",
            Self::Smoltcp => "smoltcp",
        }
    }
}

/// Congestion controls of smoltcp.
const OF_SMOLTCP: [&str; 2] = ["cubic", "reno"];

impl Tcp {
    /// Task of the stack that sends from a host with this MTU; `random`: stream of the flow.
    pub fn spec(&self, mtu_bytes: u32, random: Rng) -> Spec {
        let bytes = match self.source {
            Source::Bulk { bytes, .. } => bytes,
            _ => None,
        };
        Spec {
            congestion_control: self.congestion_control.entry().name.to_owned(),
            streams: 1,
            bytes,
            datagram_bytes: u16::try_from(mtu_bytes).unwrap_or(u16::MAX),
            seed: seed(random),
            encrypts: false,
            secrets: Log::default(),
            logs: None,
        }
    }

    /// Returns true if its sockets have TCP_NODELAY: Nagle's algorithm does not hold small segments.
    pub fn nodelay(&self) -> bool {
        self.nodelay.unwrap_or(self.source.is_driven())
    }

    /// Name of stack and congestion control in tables.
    pub fn label(&self) -> String {
        let control = self.congestion_control.entry().name;
        match self.stack {
            TcpStack::Linux => control.to_owned(),
            TcpStack::Smoltcp => format!("{}:{control}", self.stack.name()),
        }
    }

    /// Checks that the stack can do what is asked for.
    fn check_stack(&self, at: &str) -> Result<(), ScenarioError> {
        if self.stack == TcpStack::Linux {
            return Ok(());
        }
        let control = self.congestion_control.entry().name;
        let (field, what) = if !OF_SMOLTCP.contains(&control) {
            (
                "congestion_control",
                format!("smoltcp has no {control}; allowed: {}", OF_SMOLTCP.join(", ")),
            )
        } else if self.fq {
            ("fq", "smoltcp does not pace: its host needs no fq".to_owned())
        } else if !matches!(self.source, Source::Bulk { refill, .. } if refill == Span::ZERO) {
            ("source", "smoltcp's application writes in bulk: give bytes, or no source".to_owned())
        } else if self.notsent_lowat_bytes.is_some() {
            ("notsent_lowat_bytes", "smoltcp has no TCP_NOTSENT_LOWAT".to_owned())
        } else if self.nodelay.is_some() {
            ("nodelay", "smoltcp's sender keeps its own default".to_owned())
        } else if self.sender.is_some() {
            ("sender", "TCP options at the sender are Linux's; smoltcp has none of them".to_owned())
        } else {
            return Ok(());
        };
        Err(ScenarioError { path: format!("{at}.{field}"), message: what })
    }
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
        self.check_stack(at)?;
        let lowat = u64::from(self.notsent_lowat_bytes.unwrap_or(1));
        in_range(at, "notsent_lowat_bytes", lowat, 1, i32::MAX as u64)?;
        self.sink.check(at)?;
        self.source.check(&format!("{at}.source"))
    }

    fn carrier(&self) -> Carrier {
        Carrier::Tcp
    }

    fn stack(&self) -> Option<&'static str> {
        (self.stack != TcpStack::Linux).then(|| self.stack.name())
    }

    fn demand(&self, _seconds: f64) -> Option<Demand> {
        None
    }
}
