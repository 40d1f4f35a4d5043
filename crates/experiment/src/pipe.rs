//! Pipes: one direction of a link.

use crate::limit::{limits, packet_limit, Limit, Pending, Rate, FRAME_BYTES};
use crate::quantity::{positive_size, positive_time, rate, share, signed_size, size, time};
use crate::queue::{queue, Queue};
use crate::read::{fail, Fields, Loc, Node, Result};
use crate::Section;
use serde_json::{json, Map, Value};

/// Fields of a pipe.
pub(crate) const PIPE: Section = Section {
    name: "a direction of a link",
    taken: &[
        "rate",
        "shaper",
        "buffer",
        "netem",
        "queue",
        "delay",
        "jitter",
        "loss",
        "corruption",
        "duplication",
        "policer",
        "reordering",
        "ack_aggregation",
        "rewrites",
        "slots",
        "overhead",
        "framing",
        "changes",
    ],
    refused: &["rates"],
};

/// Fields of a packet-delivery trace.
pub(crate) const TRACE: Section =
    Section { name: "shaper.trace", taken: &["deliveries"], refused: &["file"] };

const TRACE_PACKET_BITS: u128 = 1504 * 8;
/// Bytes around the frame, minimum length, ATM cells (tc-cake(8), keywords of `overhead`).
const FRAMINGS: &[(&str, i64, u64, bool)] = &[
    ("ethernet", 38, 84, false),
    ("ether-vlan", 42, 84, false),
    ("pppoe", 46, 84, false),
    ("docsis", 18, 64, false),
    ("ipoa-vcmux", 8, 0, true),
    ("ipoa-llcsnap", 16, 0, true),
    ("bridged-vcmux", 24, 0, true),
    ("bridged-llcsnap", 32, 0, true),
    ("pppoa-vcmux", 10, 0, true),
    ("pppoa-llc", 14, 0, true),
    ("pppoe-vcmux", 32, 0, true),
    ("pppoe-llcsnap", 40, 0, true),
];
const ETHERNET_HEADER_BYTES: i64 = 14;

/// Linux's netem as the queue.
#[derive(Clone, Debug)]
pub(crate) struct Netem {
    delay_ns: Option<u64>,
    jitter_ns: u64,
    limit: Limit,
}

/// A shaper in the form of the scenario, and its rate for the BDP.
#[derive(Clone, Debug)]
struct Shaper {
    scenario: Value,
    rate: Option<Rate>,
}

macro_rules! pipe {
    ($($field:ident: $kind:ty,)+) => {
        /// Fields of a pipe that the file writes.
        #[derive(Clone, Debug, Default)]
        pub(crate) struct Pipe {
            $($field: Option<$kind>,)+
        }

        impl Pipe {
            /// Sets the fields that `over` writes.
            fn replace(&mut self, over: &Self) {
                $(if over.$field.is_some() {
                    self.$field.clone_from(&over.$field);
                })+
            }
        }
    };
}
pipe! {
    rate: u64,
    shaper: Shaper,
    buffer: Vec<Limit>,
    netem: Netem,
    queue: Queue,
    delay: u64,
    jitter: u64,
    loss: Value,
    corruption: f64,
    duplication: f64,
    policer: Value,
    reordering: Value,
    ack_aggregation: Value,
    slots: Value,
    rewrites: Value,
    overhead: i64,
    framing: Value,
    changes: Value,
}

/// Clears one field of `$held` if `$over` writes the other, for both orders.
macro_rules! rivals {
    ($held:ident, $over:ident, $(($one:ident, $other:ident)),+) => {
        $(if $over.$one.is_some() {
            $held.$other = None;
        }
        if $over.$other.is_some() {
            $held.$one = None;
        })+
    };
}

impl Pipe {
    /// Reads the fields of a pipe from a mapping that was checked.
    pub(crate) fn read(fields: &Fields<'_>) -> Result<Self> {
        let read = Self {
            rate: fields.read("rate", rate)?,
            shaper: fields.read("shaper", shaper)?,
            buffer: fields.read("buffer", limits)?,
            netem: fields.read("netem", netem)?,
            queue: fields.read("queue", queue)?,
            delay: fields.read("delay", time)?,
            jitter: fields.read("jitter", time)?,
            loss: fields.read("loss", loss)?,
            corruption: fields.read("corruption", share)?,
            duplication: fields.read("duplication", share)?,
            policer: fields.read("policer", |node| {
                let fields = node.only(&["rate", "burst"])?;
                let (rate, burst) = (rate(&fields.need("rate")?)?, fields.need("burst")?);
                Ok(json!({"rate_bps": rate, "burst_bytes": positive_size(&burst)?}))
            })?,
            reordering: fields.read("reordering", |node| {
                let fields = node.only(&["probability", "extra_delay"])?;
                let probability = share(&fields.need("probability")?)?;
                let extra = positive_time(&fields.need("extra_delay")?)?;
                Ok(json!({"probability": probability, "extra_delay_ns": extra}))
            })?,
            ack_aggregation: fields.read("ack_aggregation", |node| {
                let fields = node.only(&["max_wait", "max_acks"])?;
                let wait = positive_time(&fields.need("max_wait")?)?;
                let acks = fields.need("max_acks")?.whole(1, u32::MAX.into())?;
                Ok(json!({"max_wait_ns": wait, "max_acks": acks as u64}))
            })?,
            slots: fields.read("slots", slots)?,
            rewrites: fields.read("rewrites", rewrites)?,
            overhead: fields.read("overhead", signed_size)?,
            framing: fields.read("framing", framing)?,
            changes: fields.read("changes", |node| node.items()?.iter().map(change).collect())?,
        };
        read.check(fields)?;
        Ok(read)
    }

    /// Reads a mapping that holds only the fields of a pipe.
    pub(crate) fn alone(node: &Node<'_>) -> Result<Self> {
        Self::read(&node.fields(&PIPE)?)
    }

    fn check(&self, fields: &Fields<'_>) -> Result<()> {
        if self.shapes() && (self.rate.is_some() || self.shaper.is_some()) {
            let name = self.queue.as_ref().map_or("", |queue| queue.name);
            return fail(&fields.at, format!("{name} has a rate of its own"));
        }
        for (one, other) in [
            ("rate", "shaper"),
            ("buffer", "netem"),
            ("buffer", "queue"),
            ("netem", "queue"),
            ("overhead", "framing"),
        ] {
            if let (Some(_), Some(node)) = (fields.get(one), fields.get(other)) {
                return node.fail(format!("{one} and {other} exclude each other"));
            }
        }
        Ok(())
    }

    /// Returns true if the queue has a rate of its own.
    fn shapes(&self) -> bool {
        self.queue.as_ref().is_some_and(|queue| queue.own_rate.is_some())
    }

    /// Copy with the fields of `over` in place of its own.
    pub(crate) fn under(&self, over: Option<&Self>) -> Self {
        let mut held = self.clone();
        let Some(over) = over else { return held };
        let rates = over.rate.is_some() || over.shaper.is_some();
        if over.shapes() {
            (held.rate, held.shaper) = (None, None);
        } else if held.shapes() && (rates || over.buffer.is_some() || over.netem.is_some()) {
            held.queue = None;
        }
        rivals!(
            held,
            over,
            (rate, shaper),
            (buffer, netem),
            (buffer, queue),
            (netem, queue),
            (overhead, framing)
        );
        held.replace(over);
        held
    }

    /// Pipe of a template with its delay. Default queue limit: 1 BDP.
    pub(crate) fn shaped(&self, delay_ns: u64) -> Self {
        let mut made = self.clone();
        if let Some(netem) = &mut made.netem {
            netem.delay_ns.get_or_insert(delay_ns);
            return made;
        }
        made.delay.get_or_insert(delay_ns);
        let limited = made.buffer.is_some() || made.queue.is_some();
        if (made.rate.is_some() || made.shaper.is_some()) && !limited {
            made.buffer = Some(vec![Limit::Bdp(crate::quantity::Exact::ONE, None)]);
        }
        made
    }

    /// Copy with a longer delay.
    pub(crate) fn delayed(&self, extra_ns: u64) -> Self {
        let mut made = self.clone();
        if extra_ns > 0 {
            made.delay = Some(made.delay.unwrap_or(0) + extra_ns);
        }
        made
    }

    /// Pipe in the form of the scenario, and its limits.
    pub(crate) fn scenario(&self, extra_ns: u64, at: &Loc) -> Result<(Value, Pending)> {
        let own = self.queue.as_ref().and_then(|queue| queue.own_rate);
        let shaper = match (self.rate, own, &self.shaper) {
            (Some(rate), ..) => Shaper::serial(rate),
            (None, Some(rate), _) => {
                Shaper { scenario: "none".into(), rate: Some((rate.into(), 1)) }
            }
            (None, None, Some(shaper)) => shaper.clone(),
            (None, None, None) => Shaper { scenario: "none".into(), rate: None },
        };
        let mut limits = Vec::new();
        let queue = if let Some(netem) = &self.netem {
            limits.push(netem.limit.clone());
            let delay_ns = netem.delay_ns.unwrap_or(0);
            let fields = json!({
                "delay_ns": delay_ns, "jitter_ns": netem.jitter_ns, "limit_packets": null,
            });
            json!({ "netem": fields })
        } else if let Some(queue) = &self.queue {
            queue.scenario.clone()
        } else {
            limits = self.buffer.clone().unwrap_or_default();
            let shapes = shaper.scenario != "none" || self.slots.is_some();
            if shapes && limits.is_empty() {
                return fail(
                    at,
                    "a pipe with a rate needs a buffer: 100 packets, 64 KiB, 1 BDP, 50 ms",
                );
            }
            json!({"drop_tail": {"limit_packets": null, "limit_bytes": null}})
        };
        let plain = || {
            let overhead = self.overhead.unwrap_or(0);
            json!({"overhead_bytes": overhead, "mpu_bytes": 0, "atm": false})
        };
        let mut made = json!({
            "policer": self.policer,
            "loss": self.loss.clone().unwrap_or_else(|| "none".into()),
            "corruption": self.corruption.unwrap_or(0.0),
            "duplication": self.duplication.unwrap_or(0.0),
            "queue": queue,
            "shaper": shaper.scenario,
            "framing": self.framing.clone().unwrap_or_else(plain),
            "delay_ns": self.delay.unwrap_or(0) + extra_ns,
            "jitter_ns": self.jitter.unwrap_or(0),
            "reordering": self.reordering,
            "ack_aggregation": self.ack_aggregation,
            "changes": self.changes.clone().unwrap_or_else(|| json!([])),
        });
        if let Some(rewrites) = &self.rewrites {
            made["rewrites"] = rewrites.clone();
        }
        if let Some(slots) = &self.slots {
            made["slots"] = slots.clone();
        }
        Ok((made, Pending { limits, rate: shaper.rate, at: at.clone() }))
    }
}

impl Shaper {
    fn serial(rate: u64) -> Self {
        Self { scenario: json!({"serial": {"rate_bps": rate}}), rate: Some((rate.into(), 1)) }
    }
}

fn shaper(node: &Node<'_>) -> Result<Shaper> {
    let none = Shaper { scenario: "none".into(), rate: None };
    if node.text() == Some("none") {
        return Ok(none);
    }
    let fields = node.only(&["none", "serial", "tbf", "trace"])?;
    let chosen = fields.exactly_one(&["none", "serial", "tbf", "trace"])?;
    let node = fields.need(chosen)?;
    match chosen {
        "serial" => Ok(Shaper::serial(rate(&node.only(&["rate"])?.need("rate")?)?)),
        "tbf" => tbf(&node),
        "trace" => {
            let fields = node.fields(&TRACE)?;
            let deliveries = fields.need("deliveries")?;
            let times = deliveries.items()?;
            let times = times.iter().map(|node| node.whole(0, 1 << 40).map(|ms| ms as u64));
            let times = times.collect::<Result<Vec<u64>>>()?;
            let rate = match times.last() {
                Some(&last) if last > 0 => {
                    Some((times.len() as u128 * TRACE_PACKET_BITS * 1000, last.into()))
                }
                _ => None,
            };
            Ok(Shaper { scenario: json!({"trace": {"deliveries_ms": times}}), rate })
        }
        _ => Ok(none),
    }
}

fn tbf(node: &Node<'_>) -> Result<Shaper> {
    let fields = node.only(&["rate", "burst", "peak", "initial"])?;
    let own = rate(&fields.need("rate")?)?;
    let burst = positive_size(&fields.need("burst")?)?;
    let initial = match fields.get("initial") {
        None => Value::Null,
        Some(node) => match node.text() {
            Some("full") => burst.into(),
            Some("empty") => 0.into(),
            Some("random") => Value::Null,
            _ => size(&node)?.into(),
        },
    };
    let peak = fields.read("peak", |node| {
        let fields = node.only(&["rate", "burst"])?;
        let burst = fields.read("burst", positive_size)?.unwrap_or(FRAME_BYTES);
        Ok(json!({"rate_bps": rate(&fields.need("rate")?)?, "burst_bytes": burst}))
    })?;
    let made = json!({
        "rate_bps": own, "burst_bytes": burst, "initial_bytes": initial, "peak": peak,
    });
    Ok(Shaper { scenario: json!({ "tbf": made }), rate: Some((own.into(), 1)) })
}

fn netem(node: &Node<'_>) -> Result<Netem> {
    let fields = node.only(&["delay", "jitter", "limit"])?;
    Ok(Netem {
        delay_ns: fields.read("delay", time)?,
        jitter_ns: fields.read("jitter", time)?.unwrap_or(0),
        limit: packet_limit(&fields.need("limit")?)?,
    })
}

fn loss(node: &Node<'_>) -> Result<Value> {
    const KINDS: &[&str] = &["none", "independent", "gilbert_elliott", "scripted"];
    if node.text() == Some("none") {
        return Ok("none".into());
    }
    if !node.value.is_object() {
        return Ok(json!({"independent": {"probability": share(node)?}}));
    }
    let fields = node.only(KINDS)?;
    let chosen = fields.exactly_one(KINDS)?;
    let node = fields.need(chosen)?;
    Ok(match chosen {
        "independent" => {
            let probability = share(&node.only(&["probability"])?.need("probability")?)?;
            json!({"independent": {"probability": probability}})
        }
        "gilbert_elliott" => {
            let names = &["good_to_bad", "bad_to_good", "loss_good", "loss_bad"];
            let fields = node.only(names)?;
            json!({"gilbert_elliott": {
                "good_to_bad": share(&fields.need("good_to_bad")?)?,
                "bad_to_good": share(&fields.need("bad_to_good")?)?,
                "loss_good": fields.read("loss_good", share)?.unwrap_or(0.0),
                "loss_bad": fields.read("loss_bad", share)?.unwrap_or(1.0),
            }})
        }
        "scripted" => {
            let mut drops = Vec::new();
            for one in node.items()? {
                let fields = one.only(&["flow", "nth"])?;
                let flow = fields.need("flow")?.name()?;
                for nth in fields.need("nth")?.one_or_more()? {
                    drops.push(json!({"flow": flow, "nth": nth.whole(1, 1 << 53)? as u64}));
                }
            }
            json!({"scripted": {"drops": drops}})
        }
        _ => "none".into(),
    })
}

fn rewrites(node: &Node<'_>) -> Result<Value> {
    let made: Result<Vec<_>> = node.items()?.iter().map(rewrite).collect();
    Ok(made?.into())
}

fn rewrite(node: &Node<'_>) -> Result<Value> {
    const ECN: &[&str] = &["not_ect", "ect1", "ect0", "ce"];
    const FLAGS: &[&str] = &["ece", "cwr", "ae"];
    let fields = node.only(&["flow", "nth", "ecn", "clear_flags", "set_flags", "strip_option"])?;
    let chosen = |node: &Node<'_>, among: &[&str]| match node.text() {
        Some(name) if among.contains(&name) => Ok(Value::from(name)),
        _ => node.fail("unknown name"),
    };
    let flags = |name| {
        let read = |node: &Node<'_>| {
            node.one_or_more()?.iter().map(|one| chosen(one, FLAGS)).collect::<Result<Vec<_>>>()
        };
        Ok(fields.read(name, read)?.unwrap_or_default())
    };
    let numbers = |node: &Node<'_>| {
        let read = |one: &Node<'_>| Ok(one.whole(1, 1 << 53)? as u64);
        node.one_or_more()?.iter().map(read).collect::<Result<Vec<_>>>()
    };
    let made = json!({
        "flow": fields.read("flow", Node::name)?,
        "nth": fields.read("nth", numbers)?.unwrap_or_default(),
        "ecn": fields.read("ecn", |node| chosen(node, ECN))?,
        "clear_flags": flags("clear_flags")?,
        "set_flags": flags("set_flags")?,
        "strip_accecn":
            fields.read("strip_option", |node| chosen(node, &["accecn"]))?.is_some(),
    });
    Ok(made)
}

fn change(node: &Node<'_>) -> Result<Value> {
    let fields = node.only(&["at", "rate", "delay", "loss", "state"])?;
    let mut made = json!({
        "at_ns": time(&fields.need("at")?)?,
        "rate_bps": fields.read("rate", rate)?,
        "delay_ns": fields.read("delay", time)?,
        "loss": fields.read("loss", loss)?,
    });
    let state = fields.read("state", |node| match node.text() {
        Some(name @ ("up" | "down")) => Ok(Value::from(name)),
        _ => node.fail("neither up nor down"),
    })?;
    if let Some(state) = state {
        made["state"] = state;
    }
    Ok(made)
}

fn framing(node: &Node<'_>) -> Result<Value> {
    let made = |overhead: i64, mpu: u64, atm: bool| json!({"overhead_bytes": overhead, "mpu_bytes": mpu, "atm": atm});
    let Some(name) = node.text() else {
        let fields = node.only(&["overhead", "mpu", "atm"])?;
        return Ok(made(
            fields.read("overhead", signed_size)?.unwrap_or(0),
            fields.read("mpu", size)?.unwrap_or(0),
            fields.read("atm", Node::flag)?.unwrap_or(false),
        ));
    };
    if name == "none" {
        return Ok(made(0, 0, false));
    }
    match FRAMINGS.iter().find(|(known, ..)| *known == name) {
        Some((_, around, mpu, atm)) => Ok(made(around - ETHERNET_HEADER_BYTES, *mpu, *atm)),
        None => node.fail(format!("unknown framing {name}")),
    }
}

fn slots(node: &Node<'_>) -> Result<Value> {
    const MOST: i128 = i32::MAX as i128;
    let fields = node.only(&["min", "max", "packets", "bytes", "pause", "pause_every"])?;
    let span = |name| Ok(fields.read(name, time)?.unwrap_or(0));
    let (min, max) = (span("min")?, positive_time(&fields.need("max")?)?);
    let packets = fields.read("packets", |node| node.whole(0, MOST))?.unwrap_or(0);
    let bytes = fields.read("bytes", size)?.unwrap_or(0);
    let (pause, every) = (span("pause")?, span("pause_every")?);
    if min > max || i128::from(bytes) > MOST || (pause > 0 && pause >= every) {
        return node.fail("min above max, more than 2 GiB, or a pause that never ends");
    }
    let mut made = Map::new();
    for (name, value) in [
        ("min_ns", min),
        ("max_ns", max),
        ("packets", packets as u64),
        ("bytes", bytes),
        ("pause_ns", pause),
        ("pause_every_ns", every),
    ] {
        made.insert(name.to_owned(), value.into());
    }
    Ok(Value::Object(made))
}
