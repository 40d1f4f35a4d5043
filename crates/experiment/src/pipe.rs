//! Pipes: one direction of a link.

use crate::code::Code;
use crate::files::Files;
use crate::framing::framing;
use crate::impairment::{loss, slots, waits, Change};
use crate::limit::{limits, Limit, Pending};
use crate::netem::{Netem, Waits};
use crate::quantity::{positive_size, positive_time, rate, share, signed_size, time};
use crate::queue::{queue, Queue};
use crate::rates::{Course, Joint, Rates, Steps};
use crate::read::{below, object, Fields, Node, Refusal, Result, Step};
use crate::rewrite::rewrites;
use crate::shaper::{shaper, Shaper};
use serde_json::{json, Value};

/// Fields that set the rate of a pipe.
const RATES: [&str; 3] = ["rate", "rates", "shaper"];

macro_rules! pipe {
    ($($field:ident: $kind:ty,)+) => {
        /// Fields of a pipe that the file writes.
        #[derive(Clone, Debug, Default, PartialEq)]
        pub(crate) struct Pipe {
            $(pub(crate) $field: Option<$kind>,)+
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
    rates: Rates,
    trace: Joint,
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
    waits: Waits,
    rewrites: Value,
    overhead: i64,
    framing: Value,
    changes: Vec<Change>,
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
        Ok(Self {
            rate: fields.read("rate", rate)?,
            rates: fields.read("rates", Rates::read)?,
            trace: fields.read("trace", Joint::read)?,
            shaper: fields.read("shaper", shaper)?,
            buffer: fields.read("buffer", limits)?,
            netem: fields.read("netem", Netem::read)?,
            queue: fields.read("queue", queue)?,
            delay: fields.read("delay", time)?,
            jitter: fields.read("jitter", time)?,
            loss: fields.read("loss", loss)?,
            corruption: fields.read("corruption", share)?,
            duplication: fields.read("duplication", share)?,
            policer: fields.read("policer", |node| {
                let fields = node.any_fields()?;
                let (rate, burst) = (rate(&fields.need("rate")?)?, fields.need("burst")?);
                Ok(json!({"rate_bps": rate, "burst_bytes": positive_size(&burst)?}))
            })?,
            reordering: fields.read("reordering", |node| {
                let fields = node.any_fields()?;
                let probability = share(&fields.need("probability")?)?;
                let extra = positive_time(&fields.need("extra_delay")?)?;
                Ok(json!({"probability": probability, "extra_delay_ns": extra}))
            })?,
            ack_aggregation: fields.read("ack_aggregation", |node| {
                let fields = node.any_fields()?;
                let wait = positive_time(&fields.need("max_wait")?)?;
                let acks = fields.need("max_acks")?.whole(1, u32::MAX.into())?;
                Ok(json!({"max_wait_ns": wait, "max_acks": acks as u64}))
            })?,
            slots: fields.read("slots", slots)?,
            waits: fields.read("slots", waits)?.flatten(),
            rewrites: fields.read("rewrites", rewrites)?,
            overhead: fields.read("overhead", signed_size)?,
            framing: fields.read("framing", framing)?,
            changes: fields
                .read("changes", |node| node.items()?.iter().map(Change::read).collect())?,
        })
    }

    /// Reads a mapping that holds only the fields of a pipe.
    pub(crate) fn alone(node: &Node<'_>) -> Result<Self> {
        Self::read(&node.any_fields()?)
    }

    /// Names of the fields among [`RATES`] that are written.
    pub(crate) fn own_rates(&self) -> impl Iterator<Item = &'static str> {
        let given = [self.rate.is_some(), self.rates.is_some(), self.shaper.is_some()];
        RATES.into_iter().zip(given).filter(|(_, given)| *given).map(|(name, _)| name)
    }

    /// Returns true if the queue has a rate of its own.
    fn shapes(&self) -> bool {
        self.queue.as_ref().is_some_and(|queue| queue.own_rate.is_some())
    }

    /// Copy with the fields of `over` in place of its own.
    pub(crate) fn under(&self, over: Option<&Self>) -> Self {
        let mut held = self.clone();
        let Some(over) = over else { return held };
        let rates = over.own_rates().next().is_some();
        if over.shapes() {
            (held.rate, held.rates, held.shaper) = (None, None, None);
        } else if held.shapes() && (rates || over.buffer.is_some() || over.netem.is_some()) {
            held.queue = None;
        }
        rivals!(
            held,
            over,
            (rate, shaper),
            (rate, rates),
            (rates, shaper),
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

    /// Puts the changes of an access link among the pipe's own.
    pub(crate) fn join_changes(&mut self, access: &Self) {
        let Some(theirs) = access.changes.as_ref().filter(|all| !all.is_empty()) else { return };
        if self.changes.as_ref() != Some(theirs) {
            let own = self.changes.take().unwrap_or_default();
            let mut both = [theirs.clone(), own].concat();
            both.sort_by_key(|change| change.at_ns);
            self.changes = Some(both);
        }
    }

    /// The joint trace of a run of `duration_ns`, if the pipe has one.
    ///
    /// # Errors
    /// Refuses a bad file, and values that another field sets, too.
    fn course(&self, files: &dyn Files, duration_ns: u64, at: &[Step]) -> Result<Option<Course>> {
        let Some(trace) = &self.trace else { return Ok(None) };
        let course = trace.course(files, duration_ns, at)?;
        let changed = self.changes.iter().flatten().flat_map(Change::names);
        let changed: Vec<_> = changed.collect();
        for name in course.names() {
            let other = match name {
                "rate" if self.shapes() => Some("queue"),
                "rate" => self.own_rates().next(),
                "delay" => self.netem.as_ref().map(|_| "netem"),
                _ => self.loss.as_ref().map(|_| "loss"),
            };
            let other = other.or(changed.contains(&name).then_some("changes"));
            if let Some(other) = other {
                let message =
                    format!("{other} sets the {name}, and the file of the trace does, too");
                return Refusal::new(&below(at, "trace"), message).code(Code::OneOf).err();
            }
        }
        Ok(Some(course))
    }

    /// Pipe in the form of the scenario, and its limits. `at`: its path in the file.
    pub(crate) fn scenario(
        &self,
        files: &dyn Files,
        duration_ns: u64,
        at: &[Step],
    ) -> Result<(Value, Pending)> {
        let course = self.course(files, duration_ns, at)?;
        let rates = self.rates.as_ref().map(|rates| rates.steps(files, at)).transpose()?;
        let own = self.queue.as_ref().and_then(|queue| queue.own_rate);
        let of_file = rates.as_ref().map(|rates| (rates.first_bps(), rates.mean_bps));
        let of_file = of_file.or(course.as_ref().and_then(|course| course.rate_bps));
        let (how, rate) = match (of_file, self.rate, own, &self.shaper) {
            (Some((first_bps, mean_bps)), ..) => {
                let (how, _) = Shaper::serial(first_bps).scenario(files, at)?;
                (how, Some((mean_bps.into(), 1)))
            }
            (None, Some(rate), ..) => Shaper::serial(rate).scenario(files, at)?,
            (None, None, Some(rate), _) => ("none".into(), Some((rate.into(), 1))),
            (None, None, None, Some(shaper)) => shaper.scenario(files, at)?,
            (None, None, None, None) => ("none".into(), None),
        };
        let (queue, limits) = self.waiting(&how, files, at)?;
        let mut changes = self.changes.clone().unwrap_or_default();
        changes.extend(rates.iter().flat_map(Steps::changes));
        changes.extend(course.iter().flat_map(|course| course.changes.iter().cloned()));
        if rates.is_some() || course.is_some() {
            changes.sort_by_key(|change| change.at_ns);
        }
        let (delay_ns, loss) = course.map_or((None, None), |one| (one.delay_ns, one.loss));
        let loss = loss.or_else(|| self.loss.clone());
        let plain = || {
            let overhead = self.overhead.unwrap_or(0);
            json!({"overhead_bytes": overhead, "mpu_bytes": 0, "atm": false})
        };
        let mut made = object([
            ("policer", self.policer.clone().into()),
            ("loss", loss.unwrap_or_else(|| "none".into())),
            ("corruption", self.corruption.unwrap_or(0.0).into()),
            ("duplication", self.duplication.unwrap_or(0.0).into()),
            ("queue", queue),
            ("shaper", how),
            ("framing", self.framing.clone().unwrap_or_else(plain)),
            ("delay_ns", delay_ns.or(self.delay).unwrap_or(0).into()),
            ("jitter_ns", self.jitter.unwrap_or(0).into()),
            ("reordering", self.reordering.clone().into()),
            ("ack_aggregation", self.ack_aggregation.clone().into()),
            ("changes", changes.iter().map(Change::scenario).collect()),
        ]);
        for (name, value) in [("slots", &self.slots), ("rewrites", &self.rewrites)] {
            let empty = value.as_ref().and_then(Value::as_array).is_some_and(Vec::is_empty);
            if let Some(value) = value.as_ref().filter(|_| !empty) {
                made[name] = value.clone();
            }
        }
        if let Some(waits) = self.waits.as_ref().filter(|_| self.slots.is_some()) {
            made["slots"]["distribution"] = waits.scenario(files, at)?;
        }
        Ok((made, Pending { limits, rate, at: at.to_vec() }))
    }

    /// Queue in the form of the scenario, and its limits. `how`: the shaper.
    fn waiting(&self, how: &Value, files: &dyn Files, at: &[Step]) -> Result<(Value, Vec<Limit>)> {
        if let Some(netem) = &self.netem {
            return Ok((netem.scenario(files, at)?, vec![netem.limit.clone()]));
        }
        if let Some(queue) = &self.queue {
            return Ok((queue.scenario.clone(), Vec::new()));
        }
        let limits = self.buffer.clone().unwrap_or_default();
        if (*how != "none" || self.slots.is_some()) && limits.is_empty() {
            let refusal = Refusal::new(at, "a pipe with a rate needs a buffer");
            let allowed = ["100 packets", "64 KiB", "1 BDP", "50 ms"];
            return refusal.allowed(allowed).code(Code::BufferMissing).err();
        }
        Ok((json!({"drop_tail": {"limit_packets": null, "limit_bytes": null}}), limits))
    }
}
