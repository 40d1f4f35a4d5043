//! Named access links, as the pipes of a link.

mod models;

use crate::code::Code;
use crate::impairment::Change;
use crate::limit::{Limit, FRAME_BYTES};
use crate::link::Both;
use crate::near::nearest_name;
use crate::pipe::Pipe;
use crate::quantity::{positive_time, rate};
use crate::queue::Queue;
use crate::read::{below, item, Node, Refusal, Result, Step};
use models::{Epochs, Model, Wait, MODELS};
use serde_json::{json, Value};
use sha2::{Digest, Sha256};

pub use models::models_json;

/// Least limit of a queue in front of slots, packets.
const LEAST_PACKETS: u64 = 300;

/// An access link as written. `None`: as the model says.
#[derive(Clone, Debug)]
pub(crate) struct Access {
    model: &'static Model,
    down_bps: Option<u64>,
    up_bps: Option<u64>,
    rtt_ns: Option<u64>,
    subscriber: Option<String>,
    draw: u64,
}

/// Values that changes start from, and return to.
struct Base {
    /// Rate, bit/s; `None`: it stays.
    rate_bps: Option<u64>,
    delay_ns: u64,
    /// Loss outside of moments of loss.
    loss: Value,
}

fn model(node: &Node<'_>) -> Result<&'static Model> {
    let names: Vec<_> = MODELS.iter().map(|model| model.name).collect();
    let name = node.choice(&names, "access link")?;
    let found = MODELS.iter().find(|model| model.name == name);
    found.map_or_else(|| node.fail("unknown access link"), Ok)
}

impl Access {
    /// Reads the field `access`: a name, or a mapping.
    pub(crate) fn read(node: &Node<'_>) -> Result<Self> {
        if node.text().is_some() {
            let model = model(node)?;
            let (down_bps, up_bps, rtt_ns) = (None, None, None);
            return Ok(Self { model, down_bps, up_bps, rtt_ns, subscriber: None, draw: 1 });
        }
        let fields = node.any_fields()?;
        let draw = fields.read("draw", |node| node.whole(0, u32::MAX.into()))?;
        Ok(Self {
            model: model(&fields.need("type")?)?,
            down_bps: fields.read("down", rate)?,
            up_bps: fields.read("up", rate)?,
            rtt_ns: fields.read("rtt", positive_time)?,
            subscriber: fields.read("subscriber", Node::name)?,
            draw: draw.unwrap_or(1) as u64,
        })
    }

    /// Forward and backward pipe.
    ///
    /// # Arguments
    /// - `both`: fields of the pipes that the link writes itself.
    /// - `ends`: names of both nodes.
    /// - `duration_ns`: duration of the run; values change until then.
    /// - `at`: path of the link in the file.
    pub(crate) fn pipes(
        &self,
        both: &Both,
        ends: (&str, &str),
        duration_ns: u64,
        at: &[Step],
    ) -> Result<[Pipe; 2]> {
        let here = below(at, "access");
        let written = [Some(&both.shared), both.own[0].as_ref(), both.own[1].as_ref()];
        let mut rates = written.iter().flatten().flat_map(|pipe| pipe.own_rates());
        if let Some(name) = rates.next() {
            let message =
                format!("an access link has its own {name}; write access: {{type, down, up}}");
            return Refusal::new(&here, message).found(name).code(Code::Access).err();
        }
        let subscriber = self.subscriber.as_deref().unwrap_or(ends.0);
        if ![ends.0, ends.1].contains(&subscriber) {
            let near = nearest_name(subscriber, [ends.0, ends.1]).unwrap_or(subscriber);
            let message = "the subscriber is at neither end of the link";
            let refusal = Refusal::new(&below(&here, "subscriber"), message).found(near);
            return refusal.allowed([ends.0, ends.1]).code(Code::Access).err();
        }
        let mut made = [Pipe::default(), Pipe::default()];
        for (side, name) in ["forward", "backward"].into_iter().enumerate() {
            let own = both.own[side].as_ref();
            let of_side = own.and_then(|pipe| pipe.changes.as_ref());
            if let Some(changes) = of_side.or(both.shared.changes.as_ref()) {
                let at = if of_side.is_some() { below(at, name) } else { at.to_vec() };
                self.refuse_changes(changes, &at)?;
            }
            let up = (subscriber == ends.0) == (side == 0);
            made[side] = self.pipe(up, duration_ns, [own, Some(&both.shared)], at)?;
        }
        Ok(made)
    }

    /// Pipe of a direction. `own`: the pipes that the file writes, from which changes start.
    fn pipe(
        &self,
        up: bool,
        duration_ns: u64,
        own: [Option<&Pipe>; 2],
        at: &[Step],
    ) -> Result<Pipe> {
        let model = self.model;
        let (rate, wait) = if up {
            (self.up_bps.unwrap_or(model.up_bps), model.up_wait)
        } else {
            (self.down_bps.unwrap_or(model.down_bps), model.down_wait)
        };
        let rtt_ns = self.rtt_ns.unwrap_or(model.rtt_ns);
        let delay_ns = if up { rtt_ns / 2 } else { rtt_ns - rtt_ns / 2 };
        let bytes = u128::from(rate) * u128::from(model.buffer_ns) / 8_000_000_000;
        let bytes = (bytes as u64).max(FRAME_BYTES);
        // In packets behind slots, as the kernel's netem counts; the ACKs of a fast download find
        // place.
        let packets = bytes.div_ceil(FRAME_BYTES).max(LEAST_PACKETS);
        let limit = if wait.is_some() { Limit::Packets(packets) } else { Limit::Bytes(bytes) };
        let mut made = Pipe {
            rate: Some(rate),
            delay: Some(delay_ns),
            buffer: Some(vec![limit]),
            overhead: Some(model.overhead_bytes).filter(|bytes| *bytes != 0),
            slots: wait.map(slots),
            ..Pipe::default()
        };
        if let Some(epochs) = &model.epochs {
            // Behind slots the rate stays: the kernel's netem cannot change it.
            let rate_bps = if wait.is_some() { None } else { Some(rate) };
            let given = || own.into_iter().flatten();
            if rate_bps.is_some() && epochs.rate_spread > 0.0 {
                self.refuse_shaping(given().find_map(|pipe| pipe.queue.as_ref()), at)?;
            }
            let base = Base {
                rate_bps,
                delay_ns: given().find_map(|pipe| pipe.delay).unwrap_or(delay_ns),
                loss: given().find_map(|pipe| pipe.loss.clone()).unwrap_or_else(|| "none".into()),
            };
            let changes = self.changes(epochs, &base, duration_ns);
            made.changes = Some(changes).filter(|changes| !changes.is_empty());
        }
        Ok(made)
    }

    /// Refuses changes of values that the access link sets itself.
    fn refuse_changes(&self, changes: &[Change], at: &[Step]) -> Result<()> {
        let mut taken = vec!["rate"];
        if let Some(epochs) = &self.model.epochs {
            taken.extend(Some("delay").filter(|_| epochs.delay_ns > 0));
            taken.extend(Some("loss").filter(|_| epochs.loss > 0.0));
        }
        for (number, change) in changes.iter().enumerate() {
            if let Some(name) = change.names().into_iter().find(|name| taken.contains(name)) {
                let message =
                    format!("an access link of type {} has its own {name}", self.model.name);
                let here = below(&item(&below(at, "changes"), number), name);
                return Refusal::new(&here, message).found(name).code(Code::Access).err();
            }
        }
        Ok(())
    }

    /// Refuses a queue with a rate of its own where the rate of the access link changes.
    fn refuse_shaping(&self, queue: Option<&Queue>, at: &[Step]) -> Result<()> {
        let Some(queue) = queue.filter(|queue| queue.own_rate.is_some()) else { return Ok(()) };
        let message = format!(
            "the rate of {} changes over time, and {} has a rate of its own: shape on a link of its \
             own in front of this one, or leave the bandwidth out",
            self.model.name,
            queue.shaping()
        );
        Refusal::new(&below(at, "access"), message).code(Code::Access).err()
    }

    /// New values until the end of the run.
    fn changes(&self, epochs: &Epochs, base: &Base, duration_ns: u64) -> Vec<Change> {
        let mut made = Vec::new();
        let times = (epochs.first_ns..duration_ns).step_by(epochs.every_ns.max(1) as usize);
        for (number, at_ns) in times.enumerate() {
            let mut change = Change { at_ns, ..Change::default() };
            if let Some(rate) = base.rate_bps.filter(|_| epochs.rate_spread > 0.0) {
                let exponent = (2.0 * self.draw("rate", number) - 1.0) * epochs.rate_spread;
                let kilobits = (rate as f64 * libm::exp(exponent) / 1000.0).round_ties_even();
                change.rate_bps = Some((kilobits as u64).max(1).saturating_mul(1000));
            }
            if epochs.delay_ns > 0 {
                let extra_ns = self.draw("delay", number) * epochs.delay_ns as f64;
                change.delay_ns = Some(base.delay_ns + extra_ns as u64 / 1000 * 1000);
            }
            if epochs.loss > 0.0 {
                change.loss = Some(json!({"independent": {"probability": epochs.loss}}));
            }
            if !change.names().is_empty() {
                made.push(change);
            }
            let until_ns = at_ns + epochs.loss_ns;
            if epochs.loss > 0.0 && until_ns < duration_ns {
                let loss = Some(base.loss.clone());
                made.push(Change { at_ns: until_ns, loss, ..Change::default() });
            }
        }
        made
    }

    /// Number from 0 to 1, the same for both directions and for all runs of a `draw`.
    fn draw(&self, quantity: &str, number: usize) -> f64 {
        let text = format!("{}/{}/{quantity}/{number}", self.model.name, self.draw);
        let digest = Sha256::digest(text.as_bytes());
        let head = digest.iter().take(6).fold(0u64, |held, byte| held << 8 | u64::from(*byte));
        head as f64 / (1u64 << 48) as f64
    }
}

fn slots(wait: Wait) -> Value {
    json!({
        "min_ns": wait.min_ns,
        "max_ns": wait.max_ns,
        "packets": wait.packets,
        "bytes": 0,
        "pause_ns": 0,
        "pause_every_ns": 0,
    })
}
