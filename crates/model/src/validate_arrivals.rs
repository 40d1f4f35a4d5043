//! Checks of arrivals.

use crate::scenario::{Arrivals, NodeKind, Scenario, Size};
use crate::traffic::TrafficKind;
use crate::validate::{above_zero, error, in_range, ScenarioError};

/// Maximum expected number of flows of one process: numbers have 32 bits.
const FLOWS_MAX: f64 = 4e9;
const BYTES_MAX: u64 = 1 << 40;

impl Scenario {
    /// Checks hosts, rate and sizes of each process.
    pub(crate) fn check_arrivals(&self) -> Result<(), ScenarioError> {
        for (i, arrivals) in self.arrivals.iter().enumerate() {
            let at = format!("arrivals[{i}]");
            if arrivals.name.is_empty() {
                return error(format!("{at}.name"), "is empty");
            }
            if self.arrivals[..i].iter().any(|other| other.name == arrivals.name) {
                return error(format!("{at}.name"), format!("{} arrive already", arrivals.name));
            }
            let own = format!("{}.", arrivals.name);
            if let Some(flow) = self.flows.iter().find(|flow| flow.name.starts_with(&own)) {
                let message = format!("{} is the name of a flow, as its own would be", flow.name);
                return error(format!("{at}.name"), message);
            }
            self.check_arrivals_of(&at, arrivals)?;
        }
        Ok(())
    }

    fn check_arrivals_of(&self, at: &str, arrivals: &Arrivals) -> Result<(), ScenarioError> {
        for (field, name) in [("from", &arrivals.from), ("to", &arrivals.to)] {
            let node = self.nodes.iter().find(|node| node.name == *name);
            match node.map(|node| node.kind) {
                Some(NodeKind::Host) => {}
                Some(_) => return error(format!("{at}.{field}"), format!("{name} is not a host")),
                None => return error(format!("{at}.{field}"), format!("no node {name}")),
            }
        }
        if arrivals.from == arrivals.to {
            return error(format!("{at}.to"), format!("{} sends to itself", arrivals.from));
        }
        if arrivals.stop.is_some_and(|stop| stop <= arrivals.start) {
            return error(format!("{at}.stop_ns"), "not after the start");
        }
        in_range(at, "dscp", u64::from(arrivals.dscp), 0, 63)?;
        let expected = arrivals.expected(self.duration);
        if !(arrivals.per_second > 0.0 && expected <= FLOWS_MAX) {
            let message = format!(
                "{} a second; more than 0 and at most {FLOWS_MAX} in all are needed",
                arrivals.per_second
            );
            return error(format!("{at}.per_second"), message);
        }
        arrivals.tcp.check(&format!("{at}.tcp"))?;
        check_size(&format!("{at}.size"), &arrivals.size)
    }
}

/// Checks a distribution of sizes at `at`.
pub(crate) fn check_size(at: &str, size: &Size) -> Result<(), ScenarioError> {
    let bytes = |field: &str, bytes: u64| {
        above_zero(at, field, bytes)?;
        in_range(at, field, bytes, 1, BYTES_MAX)
    };
    let positive = |field: &str, value: f64, most: f64| {
        if value > 0.0 && value <= most {
            return Ok(());
        }
        error(format!("{at}.{field}"), format!("{value}; above 0 and at most {most} is needed"))
    };
    match size {
        Size::Fixed { bytes: size } => bytes("fixed.bytes", *size),
        Size::Exponential { mean_bytes } => bytes("exponential.mean_bytes", *mean_bytes),
        Size::Lognormal { median_bytes, sigma } => {
            bytes("lognormal.median_bytes", *median_bytes)?;
            positive("lognormal.sigma", *sigma, 5.0)
        }
        Size::Pareto { shape, min_bytes, max_bytes } => {
            positive("pareto.shape", *shape, 100.0)?;
            bytes("pareto.min_bytes", *min_bytes)?;
            bytes("pareto.max_bytes", *max_bytes)?;
            if min_bytes >= max_bytes {
                return error(format!("{at}.pareto.max_bytes"), "not above the least");
            }
            Ok(())
        }
        Size::Empirical { points } => {
            let at = format!("{at}.empirical.points");
            for (i, pair) in points.windows(2).enumerate() {
                if pair[0].0 >= pair[1].0 || pair[0].1 >= pair[1].1 {
                    return error(format!("{at}[{}]", i + 1), "sizes and shares must rise");
                }
            }
            match (points.first(), points.last()) {
                (Some(first), Some(last)) if first.1 >= 0.0 && last.1 == 1.0 => {
                    above_zero(&at, "first", first.0)?;
                    in_range(&at, "last", last.0, 1, BYTES_MAX)
                }
                _ => error(at, "a first share of 0 or more and a last of 1 are needed"),
            }
        }
    }
}
