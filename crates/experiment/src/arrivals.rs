//! Flows that arrive at random, with sizes drawn from a distribution.

use crate::code::Code;
use crate::kind::{known, long};
use crate::options::Options;
use crate::quantity::{positive_size, rate, share, time};
use crate::queue::codepoint;
use crate::read::{Fields, Loc, Node, Refusal, Result};
use crate::stream::Stream;
use crate::words::shown;
use serde_json::{json, Map, Value};

const SIZES: [&str; 5] = ["fixed", "exponential", "lognormal", "pareto", "empirical"];

/// Distribution of sizes, bytes.
#[derive(Clone, Debug)]
pub(crate) enum Size {
    Fixed(u64),
    Exponential {
        mean: u64,
    },
    Lognormal {
        median: u64,
        sigma: f64,
    },
    Pareto {
        shape: f64,
        min: u64,
        max: u64,
    },
    /// Sizes, and the shares of the flows that have at most each.
    Empirical(Vec<(u64, f64)>),
}

/// Poisson process of TCP flows as written.
#[derive(Clone, Debug)]
pub(crate) struct Arrivals {
    name: String,
    group: String,
    pub(crate) from: String,
    pub(crate) to: String,
    start_ns: u64,
    stop_ns: Option<u64>,
    dscp: u64,
    per_second: f64,
    size: Size,
    stream: Stream,
    pub(crate) at: Loc,
}

fn positive(node: &Node<'_>) -> Result<f64> {
    match node.value.as_f64() {
        Some(number) if number > 0.0 => Ok(number),
        _ => {
            let refusal = Refusal::new(&node.at, "a number above 0 is needed");
            refusal.found(shown(node.value)).code(Code::OutOfRange).err()
        }
    }
}

impl Size {
    pub(crate) fn read(node: &Node<'_>) -> Result<Self> {
        if !node.value.is_object() {
            return Ok(Self::Fixed(positive_size(node)?));
        }
        let fields = node.any_fields()?;
        let kind = fields.exactly_one(&SIZES)?;
        let node = fields.need(kind)?;
        let bytes = |fields: &Fields<'_>, name| positive_size(&fields.need(name)?);
        Ok(match kind {
            "fixed" => Self::Fixed(positive_size(&node)?),
            "exponential" => {
                let mut held = Map::new();
                let fields = long(&node, "mean", &mut held)?;
                known(&fields, &["mean"])?;
                Self::Exponential { mean: bytes(&fields, "mean")? }
            }
            "lognormal" => {
                let fields = node.any_fields()?;
                let sigma = positive(&fields.need("sigma")?)?;
                Self::Lognormal { median: bytes(&fields, "median")?, sigma }
            }
            "pareto" => {
                let fields = node.any_fields()?;
                let shape = positive(&fields.need("shape")?)?;
                Self::Pareto { shape, min: bytes(&fields, "min")?, max: bytes(&fields, "max")? }
            }
            _ => {
                let point = |node: &Node<'_>| {
                    let fields = node.any_fields()?;
                    Ok((bytes(&fields, "size")?, share(&fields.need("upto")?)?))
                };
                Self::Empirical(node.one_or_more()?.iter().map(point).collect::<Result<_>>()?)
            }
        })
    }

    pub(crate) fn scenario(&self) -> Value {
        match self {
            Self::Fixed(bytes) => json!({"fixed": {"bytes": bytes}}),
            Self::Exponential { mean } => json!({"exponential": {"mean_bytes": mean}}),
            Self::Lognormal { median, sigma } => {
                json!({"lognormal": {"median_bytes": median, "sigma": sigma}})
            }
            Self::Pareto { shape, min, max } => {
                json!({"pareto": {"shape": shape, "min_bytes": min, "max_bytes": max}})
            }
            Self::Empirical(points) => json!({"empirical": {"points": points}}),
        }
    }

    /// Mean of the distribution, bytes.
    fn mean_bytes(&self) -> f64 {
        match self {
            Self::Fixed(bytes) => *bytes as f64,
            Self::Exponential { mean } => *mean as f64,
            Self::Lognormal { median, sigma } => *median as f64 * libm::exp(sigma * sigma / 2.0),
            Self::Pareto { shape, min, max } => {
                let (shape, least, most) = (*shape, *min as f64, *max as f64);
                let within = 1.0 - libm::pow(least / most, shape);
                if (shape - 1.0).abs() < 1e-9 {
                    return least * libm::log(most / least) / within;
                }
                let cut = 1.0 - libm::pow(least / most, shape - 1.0);
                shape / (shape - 1.0) * least * cut / within
            }
            Self::Empirical(points) => {
                let mut mean = points.first().map_or(0.0, |(size, upto)| *size as f64 * upto);
                for pair in points.windows(2) {
                    let [(low, share), (high, upto)] = [pair[0], pair[1]];
                    let middle = (u128::from(low) + u128::from(high)) as f64 / 2.0;
                    mean += middle * (upto - share);
                }
                mean
            }
        }
    }
}

impl Arrivals {
    fn read(node: &Node<'_>) -> Result<Self> {
        let fields = node.any_fields()?;
        let size = Size::read(&fields.need("size")?)?;
        let per_second = match fields.exactly_one(&["per_second", "load"])? {
            // Payload bits per second over the mean size.
            "load" => rate(&fields.need("load")?)? as f64 / (8.0 * size.mean_bytes()),
            _ => positive(&fields.need("per_second")?)?,
        };
        Ok(Self {
            name: fields.need("name")?.name()?,
            group: fields.read("group", Node::name)?.unwrap_or_default(),
            from: fields.need("from")?.name()?,
            to: fields.need("to")?.name()?,
            start_ns: fields.read("start", time)?.unwrap_or(0),
            stop_ns: fields.read("stop", time)?,
            dscp: fields.read("dscp", codepoint)?.unwrap_or(0),
            per_second,
            size,
            stream: Stream::arriving(&fields.need("tcp")?)?,
            at: node.at.clone(),
        })
    }

    /// The process in the form of the scenario. `hosts`: options of both hosts.
    pub(crate) fn scenario(&self, hosts: [Option<&Options>; 2]) -> Value {
        json!({
            "name": self.name,
            "group": self.group,
            "from": self.from,
            "to": self.to,
            "start_ns": self.start_ns,
            "stop_ns": self.stop_ns,
            "dscp": self.dscp,
            "per_second": self.per_second,
            "size": self.size.scenario(),
            "tcp": self.stream.transport(self.stream.source.clone(), hosts),
        })
    }
}

/// Arrival processes of a file.
pub(crate) fn arrivals(fields: &Fields<'_>) -> Result<Vec<Arrivals>> {
    let Some(node) = fields.get("arrivals") else { return Ok(Vec::new()) };
    node.items()?.iter().map(Arrivals::read).collect()
}
