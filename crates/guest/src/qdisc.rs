//! One direction of a link as arguments of `tc`. The order of a constant delay and a queue does not change
//! arrival times. The delay comes first, since netem can be the parent of a shaper, not its child.

use crate::discipline::{fifo, shaped_framing, Builder, Line};
use crate::tc::{micros, refuse, ENDLESS_PACKETS};
use dumbbell_model::scenario::{Change, LinkState, Loss, Pipe, Shaper};
use dumbbell_model::{Framing, Queue, ScenarioError, Span};
use std::collections::BTreeMap;

/// Limit in bytes that tbf requires but does not use, since it has a child.
const UNUSED_BYTES: u64 = 1 << 20;
/// Rate at which a frame takes less than a nanosecond. With a rate netem keeps the order of packets: each
/// leaves after the one before it, whatever the jitter (`netem_enqueue`).
const IN_ORDER: &str = "rate 100000000000000bit";
/// Burst of a bucket that models a wire: one frame at a time.
const FULL_FRAME_BYTES: u64 = 1514;

/// Discipline of a link that is down: it drops every packet, and counts.
const DOWN: &str = "root handle 7fff: netem limit 1 loss random 100%";
/// Major number of its handle.
pub(crate) const DOWN_HANDLE: u32 = 0x7fff;

/// A step of `tc` at a device during the run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Arguments of `tc qdisc change` after the device.
    Change(String),
    /// The link goes down. Its disciplines are removed, with their packets: as an interface that loses
    /// its carrier frees them (`dev_deactivate`), which a veth pair has in both directions only.
    Down,
    /// The link comes up: its disciplines as at the beginning, with the values of now.
    Up(Vec<Line>),
}

impl Step {
    /// Lines of `tc -batch`.
    pub(crate) fn lines(&self, device: &str) -> Vec<String> {
        match self {
            Self::Change(line) => vec![format!("qdisc change dev {device} {line}")],
            Self::Down => vec![format!("qdisc replace dev {device} {DOWN}")],
            Self::Up(lines) => std::iter::once(format!("qdisc del dev {device} root"))
                .chain(lines.iter().map(|line| line.add(device)))
                .collect(),
        }
    }

    /// State of the link from now on; `None`: it stays.
    pub(crate) fn state(&self) -> Option<LinkState> {
        match self {
            Self::Change(_) => None,
            Self::Down => Some(LinkState::Down),
            Self::Up(_) => Some(LinkState::Up),
        }
    }
}

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
    pub(crate) changes: Vec<(Span, Step)>,
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
            && !fails
    }
}

/// Options of one netem.
#[derive(Clone, Debug, Default)]
struct Netem {
    delay: Span,
    jitter: Span,
    limit: u64,
    loss: String,
    other: String,
    rate: String,
    slot: String,
}

impl Netem {
    fn line(&self) -> String {
        let mut line = format!("netem limit {}", self.limit);
        if self.delay > Span::ZERO || self.jitter > Span::ZERO {
            // netem's jitter is the half width around the mean; the scenario's adds to the delay.
            let half = self.jitter.as_ns() / 2;
            line += &format!(" delay {}", micros(self.delay.as_ns() + half));
            if half > 0 {
                line += &format!(" {}", micros(half));
            }
        }
        for part in [&self.loss, &self.other, &self.rate, &self.slot] {
            if !part.is_empty() {
                line += " ";
                line += part;
            }
        }
        line
    }
}

fn percent(probability: f64) -> String {
    format!("{}%", probability * 100.0)
}

fn loss(loss: &Loss, field: &str) -> Result<String, ScenarioError> {
    match loss {
        Loss::None => Ok(String::new()),
        Loss::Independent { probability } => Ok(format!("loss random {}", percent(*probability))),
        Loss::GilbertElliott { good_to_bad, bad_to_good, loss_good, loss_bad } => Ok(format!(
            "loss gemodel {} {} {} {}",
            percent(*good_to_bad),
            percent(*bad_to_good),
            percent(*loss_bad),
            percent(*loss_good)
        )),
        Loss::Scripted { .. } => refuse(field, "scripted loss from a time on"),
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
/// limit in packets, a constant rate (netem keeps the departure times of queued packets), no duplication
/// (a netem that duplicates must not be the parent of another), and no minimum length (netem has none).
pub(crate) fn serialised_by_netem(pipe: &Pipe) -> bool {
    matches!(pipe.shaper, Shaper::Serial { .. })
        && pipe.slots.is_none()
        && match pipe.queue {
            Queue::Netem { .. } => true,
            Queue::DropTail { limit_bytes, .. } => {
                limit_bytes.is_none()
                    && pipe.framing.mpu_bytes == 0
                    && pipe.duplication == 0.0
                    && pipe.changes.iter().all(|change| change.rate_bps.is_none())
            }
            _ => false,
        }
}

/// Commands of a pipe. `frame_bytes`: frame of the longest packet; `field`: path of the pipe in the
/// scenario.
///
/// # Errors
/// Refuses what Linux's queueing disciplines cannot do, at the field that asks for it.
pub(crate) fn qdiscs(pipe: &Pipe, frame_bytes: u64, field: &str) -> Result<Qdiscs, ScenarioError> {
    let at = |name: &str| format!("{field}.{name}");
    if pipe.ack_aggregation.is_some() {
        return refuse(at("ack_aggregation"), "aggregation of ACKs");
    }
    if pipe.reordering.is_some() {
        return refuse(at("reordering"), "holding packets back by a fixed time");
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
    let changes = stages.changes(frame_bytes)?;
    let rewrites = !pipe.rewrites.is_empty();
    Ok(Qdiscs { lines, chain, police, scripted, rewrites, changes })
}

/// Loss as options of netem, and scripted drops by flow.
fn losses(spec: &Loss, field: &str) -> Result<(String, BTreeMap<String, Vec<u64>>), ScenarioError> {
    let mut scripted: BTreeMap<String, Vec<u64>> = BTreeMap::new();
    let Loss::Scripted { drops } = spec else { return Ok((loss(spec, field)?, scripted)) };
    for drop in drops {
        scripted.entry(drop.flow.clone()).or_default().push(drop.nth);
    }
    Ok((String::new(), scripted))
}

/// Duplication and corruption as options of netem.
fn damage(pipe: &Pipe) -> String {
    let mut parts = Vec::new();
    if pipe.duplication > 0.0 {
        parts.push(format!("duplicate {}", percent(pipe.duplication)));
    }
    if pipe.corruption > 0.0 {
        parts.push(format!("corrupt {}", percent(pipe.corruption)));
    }
    parts.join(" ")
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
    /// netem with the delay.
    wire: Netem,
    /// netem that holds the queue.
    held: Option<Netem>,
    /// Innermost discipline.
    tree: Option<&'a Queue>,
}

impl<'a> Stages<'a> {
    fn new(pipe: &'a Pipe, frame_bytes: u64, field: &'a str) -> Self {
        let wire = Netem {
            delay: pipe.delay,
            jitter: pipe.jitter,
            limit: ENDLESS_PACKETS,
            other: damage(pipe),
            rate: if pipe.jitter > Span::ZERO { IN_ORDER.to_owned() } else { String::new() },
            ..Netem::default()
        };
        let burst_bytes = match pipe.shaper {
            Shaper::Tbf { burst_bytes, .. } => burst_bytes,
            _ => FULL_FRAME_BYTES.max(frame_bytes), // Of a wire.
        };
        Self { pipe, field, burst_bytes, lines: Vec::new(), wire, held: None, tree: None }
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
            (_, Queue::Netem { delay, jitter, limit_packets }) => {
                let (delay, jitter, limit) = (*delay, *jitter, *limit_packets);
                self.netem(Netem { delay, jitter, limit, loss: lost, ..Netem::default() })
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
                self.lines.push(shaper(pipe, rate_bps.as_bps(), self.burst_bytes, self.field)?);
                if queue.is_discipline() {
                    self.tree = Some(queue);
                    return Ok(());
                }
                let (mut limit_packets, mut limit_bytes) = limits(queue);
                if matches!(pipe.shaper, Shaper::Serial { .. }) {
                    // The frame that waits for tokens models the one on the wire.
                    limit_packets = limit_packets.map(|packets| packets + 1);
                    limit_bytes = limit_bytes.map(|bytes| bytes + self.burst_bytes);
                }
                self.lines.push(fifo(limit_packets, limit_bytes, &self.at("queue"))?);
                Ok(())
            }
        }
    }

    /// Adds the netem that holds packets until their slots.
    fn slotted(&mut self, queue: &Queue) -> Result<(), ScenarioError> {
        let Some(slots) = self.pipe.slots else { return Ok(()) };
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
        let mut slot = format!("slot {} {}", micros(slots.min.as_ns()), micros(slots.max.as_ns()));
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
        self.lines.push(Netem { limit, rate, slot, ..Netem::default() }.line());
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
        self.lines.push(inner.line());
        self.held = Some(inner);
        Ok(())
    }

    /// Adds the netem with the delay as outermost discipline, if it is needed.
    fn delay(&mut self) -> Result<(), ScenarioError> {
        let (pipe, wire) = (self.pipe, &self.wire);
        let passive = wire.delay == Span::ZERO
            && wire.jitter == Span::ZERO
            && wire.loss.is_empty()
            && wire.other.is_empty();
        let changes = |change: &Change| change.loss.is_some() || change.delay.is_some();
        let changed = self.held.is_none() && pipe.changes.iter().any(changes);
        if !passive || changed {
            self.lines.insert(0, wire.line());
        }
        let netems = self.lines.iter().filter(|line| line.starts_with("netem")).count();
        if pipe.duplication > 0.0 && netems > 1 {
            return refuse(self.at("duplication"), "duplication above another netem");
        }
        Ok(())
    }

    /// Returns all commands, outermost first, and the length of the chain down to the pipe's queue.
    fn commands(&self) -> Result<(Vec<Line>, usize), ScenarioError> {
        let placed = |(depth, line): (usize, &String)| format!("{} {line}", place(depth));
        let mut lines: Vec<Line> =
            self.lines.iter().enumerate().map(placed).map(Line::qdisc).collect();
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

    /// Timed changes. Every line of `tc qdisc change` carries all options of its stage.
    fn changes(mut self, frame_bytes: u64) -> Result<Vec<(Span, Step)>, ScenarioError> {
        let (mut steps, mut now, mut down) = (Vec::new(), self.pipe.clone(), false);
        for (i, change) in self.pipe.changes.iter().enumerate() {
            let field = format!("{}.changes[{i}]", self.field);
            note(&mut now, change);
            let lines = self.change(change, &field)?;
            // A link that is down has no discipline to change. It comes up with the newest values.
            if !down && change.state.is_none() {
                steps.extend(lines.into_iter().map(|line| (change.at, Step::Change(line))));
            }
            let Some(state) = change.state else { continue };
            down = state == LinkState::Down;
            let step = match state {
                LinkState::Down => Step::Down,
                LinkState::Up => Step::Up(Stages::of(&now, frame_bytes, self.field)?.commands()?.0),
            };
            steps.push((change.at, step));
        }
        Ok(steps)
    }

    /// Lines of one change of values.
    fn change(&mut self, change: &Change, field: &str) -> Result<Vec<String>, ScenarioError> {
        let mut lines = Vec::new();
        if let Some(rate_bps) = change.rate_bps {
            lines.extend(self.new_rate(rate_bps.as_bps(), field)?);
        }
        if change.delay.is_some() || change.loss.is_some() {
            let depth = if self.held.is_some() { self.lines.len() - 1 } else { 0 };
            let stage = self.held.as_mut().unwrap_or(&mut self.wire);
            stage.delay = change.delay.unwrap_or(stage.delay);
            if let Some(new) = &change.loss {
                let line = loss(new, &format!("{field}.loss"))?;
                // Only an explicit loss of 0 removes an earlier loss.
                stage.loss = if line.is_empty() { "loss random 0%".to_owned() } else { line };
            }
            lines.push(format!("{} {}", place(depth), stage.line()));
        }
        Ok(lines)
    }

    /// Adds the lines of a change of rate.
    fn new_rate(&self, bps: u64, field: &str) -> Result<Vec<String>, ScenarioError> {
        let depth = self.lines.iter().position(|line| line.starts_with("tbf"));
        match (&self.pipe.shaper, depth) {
            (Shaper::Tbf { .. } | Shaper::Serial { .. }, Some(depth)) => {
                let line = shaper(self.pipe, bps, self.burst_bytes, self.field)?;
                let mut lines = vec![format!("{} {line}", place(depth))];
                // tbf resets the limit of a fifo child.
                if let Some(child) = self.lines.get(depth + 1).filter(|s| s.contains("fifo")) {
                    lines.push(format!("{} {child}", place(depth + 1)));
                }
                Ok(lines)
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

fn place(depth: usize) -> String {
    match depth {
        0 => "root handle 1:".to_owned(),
        _ => format!("parent {depth}:1 handle {}:", depth + 1),
    }
}

/// Rate of netem, with overhead per packet and size of cells.
fn rate(pipe: &Pipe, rate_bps: u64) -> String {
    let Framing { overhead_bytes, atm, .. } = pipe.framing;
    match (overhead_bytes, atm) {
        (0, false) => format!("rate {rate_bps}bit"),
        (bytes, false) => format!("rate {rate_bps}bit {bytes}"),
        (bytes, true) => format!("rate {rate_bps}bit {bytes} 48 5"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dumbbell_model::scenario::Policer;
    use dumbbell_model::Rate;

    fn bare() -> Pipe {
        Pipe {
            policer: None,
            loss: Loss::None,
            corruption: 0.0,
            duplication: 0.0,
            queue: Queue::DropTail { limit_packets: None, limit_bytes: None },
            shaper: Shaper::None,
            framing: Framing::default(),
            delay: Span::ZERO,
            jitter: Span::ZERO,
            reordering: None,
            ack_aggregation: None,
            slots: None,
            rewrites: Vec::new(),
            changes: Vec::new(),
        }
    }

    fn lines(pipe: &Pipe) -> Vec<String> {
        qdiscs(pipe, 1514, "p")
            .map(|found| found.lines.iter().map(|line| line.arguments.clone()).collect())
            .unwrap_or_default()
    }

    #[test]
    fn a_wire_without_anything_needs_no_qdisc() {
        assert_eq!(qdiscs(&bare(), 1514, "p"), Ok(Qdiscs::default()));
    }

    #[test]
    fn study_1_has_netem_as_the_child_of_tbf() {
        let pipe = Pipe {
            shaper: Shaper::Tbf {
                rate_bps: Rate::from_bps(10_000_000),
                burst_bytes: 5120,
                initial_bytes: None,
                peak: None,
            },
            queue: Queue::Netem { delay: Span::from_ms(5), jitter: Span::ZERO, limit_packets: 100 },
            loss: Loss::Independent { probability: 0.01 },
            ..bare()
        };
        let expected = [
            "root handle 1: tbf rate 10000000bit burst 5120b limit 1048576b",
            "parent 1:1 handle 2: netem limit 100 delay 5000us loss random 1%",
        ];
        assert_eq!(lines(&pipe), expected);
    }

    #[test]
    fn a_serial_link_is_a_netem_with_a_rate_behind_its_delay() {
        let pipe = Pipe {
            shaper: Shaper::Serial { rate_bps: Rate::from_bps(1_000_000) },
            queue: Queue::DropTail { limit_packets: Some(50), limit_bytes: None },
            delay: Span::from_ms(10),
            ..bare()
        };
        let expected = [
            "root handle 1: netem limit 1000000 delay 10000us",
            "parent 1:1 handle 2: netem limit 51 rate 1000000bit",
        ];
        assert_eq!(lines(&pipe), expected);
        let bytes = Queue::DropTail { limit_packets: None, limit_bytes: Some(30_000) };
        let pipe = Pipe { queue: bytes, delay: Span::ZERO, ..pipe };
        let expected = [
            "root handle 1: tbf rate 1000000bit burst 1514b limit 1048576b",
            "parent 1:1 handle 2: bfifo limit 31514b",
        ];
        assert_eq!(lines(&pipe), expected);
    }

    #[test]
    fn jitter_of_a_link_keeps_the_order_and_that_of_a_netem_does_not() {
        let jitter = Span::from_ms(2);
        let pipe = Pipe { delay: Span::from_ms(5), jitter, ..bare() };
        let line = "root handle 1: netem limit 1000000 delay 6000us 1000us rate 100000000000000bit";
        assert_eq!(lines(&pipe), [line]);
        let queue = Queue::Netem { delay: Span::from_ms(5), jitter, limit_packets: 100 };
        let line = "root handle 1: netem limit 100 delay 6000us 1000us";
        assert_eq!(lines(&Pipe { queue, ..bare() }), [line]);
    }

    #[test]
    fn a_netem_that_duplicates_stands_alone() {
        let pipe = Pipe {
            shaper: Shaper::Serial { rate_bps: Rate::from_bps(1_000_000) },
            queue: Queue::DropTail { limit_packets: Some(50), limit_bytes: None },
            duplication: 0.01,
            ..bare()
        };
        let expected = [
            "root handle 1: netem limit 1000000 duplicate 1%",
            "parent 1:1 handle 2: tbf rate 1000000bit burst 1514b limit 1048576b",
            "parent 2:1 handle 3: pfifo limit 51",
        ];
        assert_eq!(lines(&pipe), expected);
        let queue =
            Queue::Netem { delay: Span::from_ms(5), jitter: Span::ZERO, limit_packets: 100 };
        let pipe = Pipe { queue, delay: Span::from_ms(1), ..pipe };
        assert!(qdiscs(&pipe, 1514, "p").is_err_and(|error| error.path == "p.duplication"));
    }

    #[test]
    fn changes_carry_all_options_of_their_stage() {
        let change = Change {
            at: Span::from_s(5),
            rate_bps: None,
            delay: Some(Span::from_ms(20)),
            loss: Some(Loss::None),
            state: None,
        };
        let pipe = Pipe {
            delay: Span::from_ms(10),
            loss: Loss::Independent { probability: 0.5 },
            policer: Some(Policer { rate_bps: Rate::from_bps(8000), burst_bytes: 3000 }),
            changes: vec![change],
            ..bare()
        };
        let Ok(found) = qdiscs(&pipe, 1514, "p") else { panic!("refused") };
        let line = "root handle 1: netem limit 1000000 delay 20000us loss random 0%";
        assert_eq!(found.changes, [(Span::from_s(5), Step::Change(line.to_owned()))]);
        let police = "matchall action police rate 8000bit burst 3000b conform-exceed drop";
        assert_eq!(found.police.as_deref(), Some(police));
    }

    #[test]
    fn a_link_comes_up_with_the_values_of_then() {
        let state = |s, state| Change {
            at: Span::from_s(s),
            rate_bps: None,
            delay: None,
            loss: None,
            state: Some(state),
        };
        let slower =
            Change { delay: Some(Span::from_ms(20)), state: None, ..state(2, LinkState::Up) };
        let pipe = Pipe {
            delay: Span::from_ms(10),
            changes: vec![state(1, LinkState::Down), slower, state(3, LinkState::Up)],
            ..bare()
        };
        let Ok(found) = qdiscs(&pipe, 1514, "p") else { panic!("refused") };
        let steps: Vec<_> = found.changes.iter().flat_map(|(_, step)| step.lines("d")).collect();
        let expected = [
            "qdisc replace dev d root handle 7fff: netem limit 1 loss random 100%",
            "qdisc del dev d root",
            "qdisc add dev d root handle 1: netem limit 1000000 delay 20000us",
        ];
        assert_eq!(steps, expected);
        let pipe = Pipe { delay: Span::ZERO, ..pipe };
        assert!(qdiscs(&pipe, 1514, "p").is_ok_and(|found| !found.is_empty()));
    }

    #[test]
    fn what_linux_cannot_do_is_refused_by_field() {
        let pipe = Pipe { shaper: Shaper::Trace { deliveries_ms: vec![1] }, ..bare() };
        let Err(error) = qdiscs(&pipe, 1514, "links[0].forward") else { panic!("accepted") };
        assert_eq!(error.path, "links[0].forward.shaper");
    }
}
