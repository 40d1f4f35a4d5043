//! One direction of a link as arguments of `tc`. A netem with a delay above a shaper would hand over all
//! packets of one instant before it asks the shaper for one (`netem_dequeue`). So the delay of a shaped
//! pipe is at a second interface, behind the queue's, as is the transmission time of its wire.

mod netem;
mod step;

use crate::discipline::{fifo, shaped_framing, Builder, Line};
use crate::tc::{micros, refuse, ENDLESS_PACKETS};
use dumbbell_model::scenario::{AckAggregation, Change, LinkState, Pipe, Shaper};
use dumbbell_model::{Queue, Rate, ScenarioError, Span};
use netem::{damage, held_back, loss, losses, rate, seed, Netem};
use std::collections::BTreeMap;
use step::Changes;
pub(crate) use step::{Step, DOWN_HANDLE};

/// Limit in bytes that tbf requires but does not use, since it has a child.
const UNUSED_BYTES: u64 = 1 << 20;
/// Rate at which a frame takes less than a nanosecond. With a rate netem keeps the order of packets: each
/// leaves after the one before it, whatever the jitter (`netem_enqueue`).
const IN_ORDER: &str = "rate 100000000000000bit";
/// Discipline of the class of [`Stages::wire_class`].
const WIRE: &str = "htb default 1";
/// Burst of a bucket that models a wire: one frame at a time.
const FULL_FRAME_BYTES: u64 = 1514;

/// Commands of a pipe, without the device.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Qdiscs {
    /// Commands that add disciplines, outermost first.
    pub(crate) lines: Vec<Line>,
    /// Number of disciplines from the outermost to the pipe's queue: handles 1:, 2:, …
    pub(crate) chain: usize,
    /// Action of the policer, if there is one.
    pub(crate) police: Option<String>,
    /// Numbers of the segments to drop, by name of the flow.
    pub(crate) scripted: BTreeMap<String, Vec<u64>>,
    /// True if headers are rewritten.
    pub(crate) rewrites: bool,
    /// Changes by time.
    pub(crate) changes: Changes,
    /// Aggregation of ACKs in front of all disciplines.
    pub(crate) aggregation: Option<AckAggregation>,
    /// Disciplines behind the queue, at an interface of their own.
    pub(crate) behind: Option<Behind>,
}

/// Disciplines of the interface behind the queue's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Behind {
    /// Commands that add them, outermost first.
    pub(crate) lines: Vec<Line>,
    /// Changes by time.
    pub(crate) changes: Changes,
    /// True if they have the delay of the pipe, which is in front of the queue otherwise.
    pub(crate) delays: bool,
}

impl Qdiscs {
    /// Returns true if a netem takes packets from their sockets (`skb_orphan_partial`).
    pub(crate) fn orphans(&self) -> bool {
        let mut arguments = self.lines.iter().map(|line| line.arguments.as_str());
        arguments.any(|line| {
            line.contains("netem ") && (line.contains(" delay ") || line.contains(" rate "))
        })
    }

    pub(crate) fn is_empty(&self) -> bool {
        let fails = self.changes.iter().any(|(_, step)| step.state().is_some());
        self.lines.is_empty()
            && self.police.is_none()
            && self.scripted.is_empty()
            && !self.rewrites
            && self.behind.is_none()
            && self.aggregation.is_none()
            && !fails
    }
}

/// Arguments of `tc` for the shaper of a pipe.
fn shaper(
    pipe: &Pipe,
    rate_bps: u64,
    burst_bytes: u64,
    field: &str,
) -> Result<String, ScenarioError> {
    let peak = match pipe.shaper {
        Shaper::Tbf { peak: Some(peak), .. } => {
            format!(" peakrate {}bit mtu {}b", peak.rate_bps.as_bps(), peak.burst_bytes)
        }
        _ => String::new(),
    };
    let framing = shaped_framing(pipe.framing, &format!("{field}.framing.overhead_bytes"))?;
    Ok(format!("tbf rate {rate_bps}bit burst {burst_bytes}b limit {UNUSED_BYTES}b{peak}{framing}"))
}

/// Returns true if a netem with a rate models a serial link. Its queue must be netem, or drop-tail with a
/// limit in packets, a constant rate and delay (netem keeps the departure times of queued packets, and the
/// delay is in front of it), no duplication (a netem that duplicates must not be the parent of another), and
/// no minimum length (netem has none).
pub(crate) fn serialised_by_netem(pipe: &Pipe) -> bool {
    matches!(pipe.shaper, Shaper::Serial { .. })
        && pipe.slots.is_none()
        && match pipe.queue {
            Queue::Netem { .. } => true,
            Queue::DropTail { limit_bytes, .. } => {
                limit_bytes.is_none()
                    && pipe.framing.mpu_bytes == 0
                    && pipe.duplication == 0.0
                    && pipe.changes.iter().all(|one| one.rate_bps.is_none() && one.delay.is_none())
            }
            _ => false,
        }
}

/// Rate of a netem behind a FIFO that stands for a wire: the bucket in front lets a frame go when the wire
/// begins to send it. `None` if the pipe is no such wire (netem has no minimum length).
fn wire_rate(pipe: &Pipe, rate_bps: Option<Rate>) -> Option<String> {
    let fifo =
        matches!((&pipe.shaper, &pipe.queue), (Shaper::Serial { .. }, Queue::DropTail { .. }));
    let wire = fifo && pipe.slots.is_none() && pipe.framing.mpu_bytes == 0;
    (wire && !serialised_by_netem(pipe)).then(|| rate(pipe, rate_bps.unwrap_or_default().as_bps()))
}

/// Returns true if the pipe is a wire whose rate or delay changes. The bucket in front of it is then a class
/// of HTB: a change leaves its tokens as they are, where that of a tbf fills the bucket (`tbf_change`), so
/// that with every change another frame would leave the queue.
fn is_changing_wire(pipe: &Pipe) -> bool {
    let changes = |one: &Change| one.rate_bps.is_some() || one.delay.is_some();
    wire_rate(pipe, pipe.rate()).is_some() && pipe.changes.iter().any(changes)
}

/// Commands of a pipe. `frame_bytes`: frame of the longest packet; `field`: path of the pipe in the
/// scenario.
///
/// # Errors
/// Refuses what Linux's queueing disciplines cannot do, at the field that asks for it.
pub(crate) fn qdiscs(pipe: &Pipe, frame_bytes: u64, field: &str) -> Result<Qdiscs, ScenarioError> {
    let at = |name: &str| format!("{field}.{name}");
    let fails = pipe.changes.iter().any(|change| change.state.is_some());
    if pipe.ack_aggregation.is_some() && fails {
        return refuse(at("ack_aggregation"), "aggregation of ACKs on a link that goes down");
    }
    let (_, scripted) = losses(&pipe.loss, &at("loss"))?;
    let stages = Stages::of(pipe, frame_bytes, field)?;
    let (lines, chain) = stages.commands()?;
    let police = pipe.policer.map(|policer| {
        format!(
            "matchall action police rate {}bit burst {}b conform-exceed drop",
            policer.rate_bps.as_bps(),
            policer.burst_bytes
        )
    });
    let (last, delays) = (stages.last(), stages.behind.is_some());
    let (changes, later) = stages.changes(frame_bytes)?;
    let behind = (!last.is_empty()).then_some(Behind { lines: last, changes: later, delays });
    let rewrites = !pipe.rewrites.is_empty();
    let aggregation = pipe.ack_aggregation;
    Ok(Qdiscs { lines, chain, police, scripted, rewrites, changes, aggregation, behind })
}

/// Limits of a drop-tail queue in packets and bytes.
fn limits(queue: &Queue) -> (Option<u64>, Option<u64>) {
    match *queue {
        Queue::DropTail { limit_packets, limit_bytes } => (limit_packets, limit_bytes),
        _ => (None, None),
    }
}

/// Chain of queueing disciplines of a pipe.
struct Stages<'a> {
    pipe: &'a Pipe,
    field: &'a str,
    /// Burst of the token bucket.
    burst_bytes: u64,
    /// Arguments of the disciplines without classes, outermost first.
    lines: Vec<String>,
    /// Arguments of the class of [`WIRE`], if it is among them.
    class: Option<String>,
    /// netem in front of the queue: loss and damage, and the delay where nothing shapes.
    wire: Netem,
    /// netem behind the queue, if it shapes: transmission time and delay.
    behind: Option<Netem>,
    /// netem that holds the queue.
    held: Option<Netem>,
    /// Innermost discipline.
    tree: Option<&'a Queue>,
}

impl<'a> Stages<'a> {
    fn new(pipe: &'a Pipe, frame_bytes: u64, field: &'a str) -> Self {
        let keeps_order =
            pipe.jitter > Span::ZERO || pipe.changes.iter().any(|change| change.delay.is_some());
        let wire = Netem {
            delay: pipe.delay,
            jitter: pipe.jitter,
            limit: ENDLESS_PACKETS,
            other: damage(pipe),
            rate: if keeps_order { IN_ORDER.to_owned() } else { String::new() },
            ..Netem::default()
        };
        let burst_bytes = match pipe.shaper {
            Shaper::Tbf { burst_bytes, .. } => burst_bytes,
            _ => FULL_FRAME_BYTES.max(frame_bytes), // Of a wire.
        };
        Self {
            pipe,
            field,
            burst_bytes,
            lines: Vec::new(),
            class: None,
            wire,
            behind: None,
            held: None,
            tree: None,
        }
    }

    /// All stages of a pipe.
    fn of(pipe: &'a Pipe, frame_bytes: u64, field: &'a str) -> Result<Self, ScenarioError> {
        let (lost, _) = losses(&pipe.loss, &format!("{field}.loss"))?;
        let mut stages = Self::new(pipe, frame_bytes, field);
        stages.hold(lost)?;
        stages.delay()?;
        Ok(stages)
    }

    fn at(&self, name: &str) -> String {
        format!("{}.{name}", self.field)
    }

    /// Adds queue and shaper. `lost`: options of netem for loss.
    fn hold(&mut self, lost: String) -> Result<(), ScenarioError> {
        let pipe = self.pipe;
        match (&pipe.shaper, &pipe.queue) {
            (Shaper::Trace { .. }, _) => refuse(self.at("shaper"), "packet-delivery traces"),
            (_, Queue::Netem { delay, jitter, limit_packets, words }) => {
                let (delay, jitter, limit) = (*delay, *jitter, *limit_packets);
                let words = words.as_deref().cloned();
                self.netem(Netem { delay, jitter, limit, loss: lost, words, ..Netem::default() })
            }
            (_, queue) if pipe.slots.is_some() => {
                self.wire.loss = lost;
                self.slotted(queue)
            }
            (Shaper::None, queue) => {
                self.wire.loss = lost;
                self.tree = queue.own_rate().map(|_| queue);
                Ok(())
            }
            (Shaper::Serial { rate_bps }, queue) if serialised_by_netem(pipe) => {
                self.wire.loss = lost;
                // The packet on the wire counts against netem's limit, not against the scenario's.
                let limit = limits(queue).0.map_or(ENDLESS_PACKETS, |packets| packets + 1);
                let rate = rate(pipe, rate_bps.as_bps());
                self.lines.push(Netem { limit, rate, ..Netem::default() }.line());
                Ok(())
            }
            (Shaper::Serial { rate_bps } | Shaper::Tbf { rate_bps, .. }, queue) => {
                self.wire.loss = lost;
                if is_changing_wire(pipe) {
                    self.class = Some(self.wire_class(rate_bps.as_bps())?);
                    self.lines.push(WIRE.to_owned());
                } else {
                    self.lines.push(shaper(pipe, rate_bps.as_bps(), self.burst_bytes, self.field)?);
                }
                if queue.is_discipline() {
                    self.tree = Some(queue);
                    return Ok(());
                }
                let (mut limit_packets, mut limit_bytes) = limits(queue);
                if wire_rate(pipe, pipe.rate()).is_none()
                    && !matches!(pipe.shaper, Shaper::Tbf { .. })
                {
                    // The frame that waits for tokens models the one on the wire.
                    limit_packets = limit_packets.map(|packets| packets + 1);
                    limit_bytes = limit_bytes.map(|bytes| bytes + self.burst_bytes);
                }
                self.lines.push(fifo(limit_packets, limit_bytes, &self.at("queue"))?);
                Ok(())
            }
        }
    }

    /// Class of a wire whose values change: a frame may leave when the one before has been sent.
    fn wire_class(&self, bps: u64) -> Result<String, ScenarioError> {
        let framing = shaped_framing(self.pipe.framing, &self.at("framing.overhead_bytes"))?;
        Ok(format!("htb rate {bps}bit ceil {bps}bit burst 1b cburst 1b quantum 1514{framing}"))
    }

    /// Place of the discipline of that class among the lines.
    fn wire(&self) -> Option<usize> {
        self.lines.iter().position(|line| line == WIRE)
    }

    /// Adds the netem that holds packets until their slots.
    fn slotted(&mut self, queue: &Queue) -> Result<(), ScenarioError> {
        let Some(slots) = &self.pipe.slots else { return Ok(()) };
        if queue.is_discipline() {
            return refuse(self.at("queue"), "slots behind a discipline");
        }
        let (Some(limit), None) = limits(queue) else {
            return refuse(self.at("queue"), "slots behind a queue whose limit is not in packets");
        };
        if self.pipe.framing.mpu_bytes > 0 {
            return refuse(
                self.at("framing.mpu_bytes"),
                "slots behind a wire with a minimum length",
            );
        }
        if slots.pause > Span::ZERO {
            return refuse(self.at("slots.pause_ns"), "pauses of slots");
        }
        let mut slot = match &slots.distribution {
            Some(waits) => {
                let (delay, jitter) = (waits.delay.as_ns(), waits.jitter.as_ns());
                let name = waits.distribution.name();
                format!("slot distribution {name} {} {}", micros(delay), micros(jitter))
            }
            None => format!("slot {} {}", micros(slots.min.as_ns()), micros(slots.max.as_ns())),
        };
        if slots.packets > 0 {
            slot += &format!(" packets {}", slots.packets);
        }
        if slots.bytes > 0 {
            slot += &format!(" bytes {}b", slots.bytes);
        }
        let rate = match self.pipe.shaper {
            Shaper::Serial { rate_bps } => rate(self.pipe, rate_bps.as_bps()),
            _ => String::new(),
        };
        let own = slots.distribution.as_ref().and_then(|waits| waits.seed);
        let line = Netem { limit, rate, slot, ..Netem::default() }.line();
        self.lines.push(line + &seed(own));
        Ok(())
    }

    /// Adds netem as the queue, below a token bucket or with its own rate.
    fn netem(&mut self, mut inner: Netem) -> Result<(), ScenarioError> {
        let pipe = self.pipe;
        match &pipe.shaper {
            Shaper::Tbf { rate_bps, burst_bytes, .. } => {
                self.lines.push(shaper(pipe, rate_bps.as_bps(), *burst_bytes, self.field)?);
            }
            Shaper::Serial { rate_bps } => inner.rate = rate(pipe, rate_bps.as_bps()),
            Shaper::None | Shaper::Trace { .. } => {}
        }
        if pipe.delay == Span::ZERO && pipe.jitter == Span::ZERO {
            inner.other = std::mem::take(&mut self.wire.other);
        }
        let own = inner.words.as_ref().and_then(|words| words.seed);
        self.lines.push(inner.line() + &seed(own));
        self.held = Some(inner);
        Ok(())
    }

    /// Returns true if packets have a delay at some time of the run.
    fn delayed(&self) -> bool {
        let pipe = self.pipe;
        pipe.delay > Span::ZERO
            || pipe.jitter > Span::ZERO
            || pipe.changes.iter().any(|change| change.delay.is_some())
    }

    /// Moves the delay behind a queue that shapes.
    fn split(&mut self) {
        let shapes = self.tree.is_some()
            || self.wire().is_some()
            || self.lines.iter().any(|line| line.starts_with("tbf"));
        let rate = wire_rate(self.pipe, self.pipe.rate());
        if self.held.is_some() || !shapes || !(self.delayed() || rate.is_some()) {
            return;
        }
        let Netem { delay, jitter, limit, .. } = self.wire;
        let rate = rate.unwrap_or_else(|| std::mem::take(&mut self.wire.rate));
        self.behind = Some(Netem { delay, jitter, limit, rate, ..Netem::default() });
        (self.wire.delay, self.wire.jitter) = (Span::ZERO, Span::ZERO);
        self.wire.rate = String::new();
    }

    /// Adds the netem in front of the queue as outermost discipline, if it is needed.
    fn delay(&mut self) -> Result<(), ScenarioError> {
        self.split();
        let (pipe, wire) = (self.pipe, &self.wire);
        let passive = wire.delay == Span::ZERO
            && wire.jitter == Span::ZERO
            && wire.loss.is_empty()
            && wire.other.is_empty();
        let delays = self.behind.is_none();
        let changes = |change: &Change| change.loss.is_some() || (delays && change.delay.is_some());
        let changed = self.held.is_none() && pipe.changes.iter().any(changes);
        if !passive || changed {
            self.lines.insert(0, wire.line());
        }
        let netems = self.lines.iter().filter(|line| line.starts_with("netem")).count();
        let twice = matches!(&pipe.queue, Queue::Netem { words: Some(words), .. }
            if words.duplicate.probability > 0.0);
        if (pipe.duplication > 0.0 || twice) && netems > 1 {
            let field = if twice { "queue.netem.words.duplicate" } else { "duplication" };
            return refuse(self.at(field), "duplication beside another netem");
        }
        Ok(())
    }

    /// Returns all commands, outermost first, and the length of the chain down to the pipe's queue.
    fn commands(&self) -> Result<(Vec<Line>, usize), ScenarioError> {
        let placed = |(depth, line): (usize, &String)| format!("{} {line}", place(depth));
        let mut lines: Vec<Line> =
            self.lines.iter().enumerate().map(placed).map(Line::qdisc).collect();
        if let (Some(depth), Some(class)) = (self.wire(), &self.class) {
            let arguments = format!("{} {class}", class_place(depth));
            lines.insert(depth + 1, Line { object: "class", arguments });
        }
        let mut chain = self.lines.len();
        if let Some(queue) = self.tree {
            let field = self.at("queue");
            let here = match chain {
                0 => "root".to_owned(),
                depth => format!("parent {depth}:1"),
            };
            let (framing, handle) = (self.pipe.framing, chain + 1);
            let mut builder = Builder { framing, field: &field, handle, lines: Vec::new() };
            builder.queue(&here, queue)?;
            lines.append(&mut builder.lines);
            // The queue of HTB's only class is the pipe's queue.
            chain += match queue {
                Queue::Htb(htb) if htb.classes.len() == 1 => 2,
                _ => 1,
            };
        }
        Ok((lines, chain))
    }

    /// Timed changes of the queue's interface and of the one behind it. Every line of `tc qdisc change`
    /// carries all options of its stage.
    fn changes(mut self, frame_bytes: u64) -> Result<(Changes, Changes), ScenarioError> {
        let (mut steps, mut later) = (Vec::new(), Vec::new());
        let (mut now, mut down) = (self.pipe.clone(), false);
        for (i, change) in self.pipe.changes.iter().enumerate() {
            let field = format!("{}.changes[{i}]", self.field);
            note(&mut now, change);
            let values = self.change(change, &field)?;
            let behind = self.change_behind(change);
            // A link that is down has no discipline to change. It comes up with the newest values.
            if !down && change.state.is_none() {
                steps.extend(values.into_iter().map(|step| (change.at, step)));
                later.extend(behind.map(|line| (change.at, Step::Change(line))));
            }
            let Some(state) = change.state else { continue };
            down = state == LinkState::Down;
            let stages = Stages::of(&now, frame_bytes, self.field)?;
            let step = match state {
                LinkState::Down => Step::Down,
                LinkState::Up => Step::Up(stages.commands()?.0),
            };
            steps.push((change.at, step));
            // What travels is lost with what waits.
            let last = stages.last();
            if !last.is_empty() {
                later.push((change.at, Step::Anew(last)));
            }
        }
        Ok((steps, later))
    }

    /// Commands of the interface behind the queue's: transmission time and delay, then reordering.
    fn last(&self) -> Vec<Line> {
        let reordering = held_back(self.pipe);
        let netems = self.behind.iter().chain(reordering.iter());
        let placed = |(depth, netem): (usize, &Netem)| format!("{} {}", place(depth), netem.line());
        netems.enumerate().map(placed).map(Line::qdisc).collect()
    }

    /// Line of a change at the interface behind the queue's.
    fn change_behind(&mut self, change: &Change) -> Option<String> {
        let rate = change.rate_bps.and_then(|rate| wire_rate(self.pipe, Some(rate)));
        let behind = self.behind.as_mut()?;
        if change.delay.is_none() && rate.is_none() {
            return None;
        }
        behind.delay = change.delay.unwrap_or(behind.delay);
        behind.rate = rate.unwrap_or_else(|| std::mem::take(&mut behind.rate));
        Some(format!("{} {}", place(0), behind.line()))
    }

    /// Steps of one change of values at the queue's interface.
    fn change(&mut self, change: &Change, field: &str) -> Result<Vec<Step>, ScenarioError> {
        let mut steps = Vec::new();
        if let Some(rate_bps) = change.rate_bps {
            steps.extend(self.new_rate(rate_bps.as_bps(), field)?);
        }
        let delay = change.delay.filter(|_| self.behind.is_none());
        if delay.is_some() || change.loss.is_some() {
            let depth = if self.held.is_some() { self.lines.len() - 1 } else { 0 };
            let stage = self.held.as_mut().unwrap_or(&mut self.wire);
            stage.delay = delay.unwrap_or(stage.delay);
            if let Some(new) = &change.loss {
                let line = loss(new, &format!("{field}.loss"))?;
                // Only an explicit loss of 0 removes an earlier loss.
                stage.loss = if line.is_empty() { "loss random 0%".to_owned() } else { line };
            }
            steps.push(Step::Change(format!("{} {}", place(depth), stage.line())));
        }
        Ok(steps)
    }

    /// Steps of a change of rate.
    fn new_rate(&self, bps: u64, field: &str) -> Result<Vec<Step>, ScenarioError> {
        if let Some(depth) = self.wire() {
            let class = self.wire_class(bps)?;
            return Ok(vec![Step::Class(format!("{} {class}", class_place(depth)))]);
        }
        let depth = self.lines.iter().position(|line| line.starts_with("tbf"));
        match (&self.pipe.shaper, depth) {
            (Shaper::Tbf { .. } | Shaper::Serial { .. }, Some(depth)) => {
                let line = shaper(self.pipe, bps, self.burst_bytes, self.field)?;
                let mut lines = vec![format!("{} {line}", place(depth))];
                // tbf resets the limit of a fifo child.
                if let Some(child) = self.lines.get(depth + 1).filter(|s| s.contains("fifo")) {
                    lines.push(format!("{} {child}", place(depth + 1)));
                }
                Ok(lines.into_iter().map(Step::Change).collect())
            }
            (Shaper::Serial { .. }, None) => {
                refuse(format!("{field}.rate_bps"), "a new rate for a netem that serialises")
            }
            _ => refuse(format!("{field}.rate_bps"), "a new rate where there is no shaper"),
        }
    }
}

/// Sets the values of a change in the description of a pipe.
fn note(pipe: &mut Pipe, change: &Change) {
    if let Some(loss) = &change.loss {
        pipe.loss.clone_from(loss);
    }
    if let Some(new) = change.delay {
        match &mut pipe.queue {
            Queue::Netem { delay, .. } => *delay = new,
            _ => pipe.delay = new,
        }
    }
    if let (Some(new), Shaper::Serial { rate_bps } | Shaper::Tbf { rate_bps, .. }) =
        (change.rate_bps, &mut pipe.shaper)
    {
        *rate_bps = new;
    }
}

/// Place of the only class of a discipline at a depth.
fn class_place(depth: usize) -> String {
    format!("parent {0}: classid {0}:1", depth + 1)
}

fn place(depth: usize) -> String {
    match depth {
        0 => "root handle 1:".to_owned(),
        _ => format!("parent {depth}:1 handle {}:", depth + 1),
    }
}

#[cfg(test)]
mod tests;
