//! A queue discipline as arguments of `tc`: itself, and where it has classes these, what belongs to
//! them, and their queues.

use crate::qdisc::{micros, refuse, ENDLESS_PACKETS};
use dumbbell_model::queue::{Fq, Htb, Pie, Queue, Red, Sfq};
use dumbbell_model::{Framing, Rate, ScenarioError, Span};

/// What `tc` adds: `qdisc`, `class` or `filter`, and its arguments after the device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Line {
    pub(crate) object: &'static str,
    pub(crate) arguments: String,
}

impl Line {
    pub(crate) fn qdisc(arguments: String) -> Self {
        Self { object: "qdisc", arguments }
    }

    /// For `tc -batch`.
    pub(crate) fn add(&self, device: &str) -> String {
        format!("{} add dev {device} {}", self.object, self.arguments)
    }
}

/// Lines of a queue and all below it, while handles are given out.
pub(crate) struct Builder<'a> {
    pub(crate) framing: Framing,
    /// Field of the scenario.
    pub(crate) field: &'a str,
    /// Of the next discipline.
    pub(crate) handle: usize,
    pub(crate) lines: Vec<Line>,
}

impl Builder<'_> {
    fn add(&mut self, object: &'static str, arguments: String) {
        self.lines.push(Line { object, arguments });
    }

    /// A queue at `place` (`root`, or `parent 1:1`); its handle.
    ///
    /// # Errors
    /// What Linux cannot do.
    pub(crate) fn queue(&mut self, place: &str, queue: &Queue) -> Result<usize, ScenarioError> {
        let handle = self.handle;
        self.handle += 1;
        let line = self.arguments(queue)?;
        self.add("qdisc", format!("{place} handle {handle}: {line}"));
        match queue {
            Queue::Prio { bands } => {
                for (i, band) in bands.iter().enumerate() {
                    self.filter(handle, i + 1, &band.dscp);
                    self.queue(&format!("parent {handle}:{}", i + 1), &band.queue)?;
                }
            }
            Queue::Drr { classes } => {
                for (i, class) in classes.iter().enumerate() {
                    let quantum = class.quantum_bytes;
                    let id = i + 1;
                    self.add(
                        "class",
                        format!("parent {handle}: classid {handle}:{id} drr quantum {quantum}"),
                    );
                    self.filter(handle, id, &class.dscp);
                    self.queue(&format!("parent {handle}:{id}"), &class.queue)?;
                }
            }
            Queue::Htb(htb) => self.htb(handle, htb)?,
            _ => {}
        }
        Ok(handle)
    }

    fn htb(&mut self, handle: usize, htb: &Htb) -> Result<(), ScenarioError> {
        let framed = shaped_framing(self.framing, self.field)?;
        let rates = |rate: Rate, ceil: Rate, burst: u64, cburst: u64| {
            let (rate, ceil) = (rate.as_bps(), ceil.as_bps());
            format!("htb rate {rate}bit ceil {ceil}bit burst {burst}b cburst {cburst}b{framed}")
        };
        let (rate, burst) = (htb.rate_bps, htb.burst_bytes);
        let root = rates(rate, rate, burst, burst);
        self.add("class", format!("parent {handle}: classid {handle}:1 {root} quantum 1514"));
        for (i, class) in htb.classes.iter().enumerate() {
            let id = htb_class(i);
            let rates =
                rates(class.rate_bps, class.ceil_bps, class.burst_bytes, class.cburst_bytes);
            self.add(
                "class",
                format!(
                    "parent {handle}:1 classid {handle}:{id:x} {rates} prio {} quantum {}",
                    class.priority, class.quantum_bytes
                ),
            );
            for point in &class.dscp {
                self.match_dscp(handle, id, *point);
            }
            self.queue(&format!("parent {handle}:{id:x}"), &class.queue)?;
        }
        Ok(())
    }

    /// Which packets belong to a class; without codepoints, all that no other filter takes.
    fn filter(&mut self, handle: usize, class: usize, dscp: &[u8]) {
        for point in dscp {
            self.match_dscp(handle, class, *point);
        }
        if dscp.is_empty() {
            let rest = format!("parent {handle}: protocol all prio 9 matchall");
            self.add("filter", format!("{rest} flowid {handle}:{class:x}"));
        }
    }

    fn match_dscp(&mut self, handle: usize, class: usize, point: u8) {
        let tos = format!(
            "parent {handle}: protocol ip prio 1 u32 match ip tos 0x{:02x} 0xfc",
            point << 2
        );
        self.add("filter", format!("{tos} flowid {handle}:{class:x}"));
    }

    fn arguments(&self, queue: &Queue) -> Result<String, ScenarioError> {
        Ok(match queue {
            Queue::DropTail { limit_packets, limit_bytes } => {
                fifo(*limit_packets, *limit_bytes, self.field)?
            }
            Queue::HeadDrop { limit_packets } => format!("pfifo_head_drop limit {limit_packets}"),
            Queue::Netem { .. } => return refuse(self.field, "netem in a class"),
            Queue::Red(red) if red.adaptive => {
                // It sends the flag in TCA_RED_FLAGS alone; the kernel's timer is set by the other.
                return refuse(self.field, "adaptive RED: tc does not make the kernel adapt");
            }
            Queue::Red(red) => red_arguments(red),
            Queue::Codel(codel) => format!(
                "codel limit {} {} {}",
                codel.limit_packets,
                times(codel.target, codel.interval),
                ecn(codel.ecn)
            ),
            Queue::FqCodel(fq) => format!(
                "fq_codel limit {} flows {} quantum {} {} {}",
                fq.limit_packets,
                fq.flows,
                fq.quantum_bytes,
                times(fq.target, fq.interval),
                ecn(fq.ecn)
            ),
            Queue::Pie(pie) => format!("pie limit {} {}", pie.limit_packets, pie_arguments(pie)),
            Queue::FqPie(fq) => format!(
                "fq_pie limit {} flows {} quantum {} ecn_prob {} {}",
                fq.pie.limit_packets,
                fq.flows,
                fq.quantum_bytes,
                fq.ecn_prob_percent,
                pie_arguments(&fq.pie)
            ),
            Queue::Sfq(Sfq { limit_packets, flows, depth_packets, quantum_bytes, headdrop }) => {
                let headdrop = if *headdrop { " headdrop" } else { "" };
                format!(
                    "sfq limit {limit_packets} flows {flows} depth {depth_packets} divisor 1024 \
                     quantum {quantum_bytes} perturb 0{headdrop}"
                )
            }
            Queue::Fq(Fq {
                limit_packets,
                flow_limit_packets,
                quantum_bytes,
                initial_quantum_bytes,
            }) => format!(
                "fq limit {limit_packets} flow_limit {flow_limit_packets} quantum {quantum_bytes} \
                 initial_quantum {initial_quantum_bytes}"
            ),
            Queue::Prio { bands } => {
                let rest = bands.iter().position(|band| band.dscp.is_empty()).unwrap_or(0);
                let map = vec![rest.to_string(); 16].join(" ");
                // tc knows no prio of one band; the other stays empty.
                format!("prio bands {} priomap {map}", bands.len().max(2))
            }
            Queue::Drr { .. } => "drr".to_owned(),
            Queue::Htb(htb) => {
                let rest = htb.classes.iter().position(|class| class.dscp.is_empty()).unwrap_or(0);
                format!("htb default {:x}", htb_class(rest))
            }
        })
    }
}

/// Minor number of a class below HTB's own.
fn htb_class(index: usize) -> usize {
    16 + index
}

fn times(target: Span, interval: Span) -> String {
    format!("target {} interval {}", micros(target.as_ns()), micros(interval.as_ns()))
}

fn ecn(on: bool) -> &'static str {
    if on {
        "ecn"
    } else {
        "noecn"
    }
}

fn pie_arguments(pie: &Pie) -> String {
    let bytemode = if pie.bytemode { "bytemode" } else { "nobytemode" };
    format!(
        "target {} tupdate {} alpha {} beta {} {} {bytemode}",
        micros(pie.target.as_ns()),
        micros(pie.tupdate.as_ns()),
        pie.alpha,
        pie.beta,
        ecn(pie.ecn)
    )
}

/// The bandwidth says how the average falls in idle times, which below a shaper are never noticed.
fn red_arguments(red: &Red) -> String {
    let mut line = format!(
        "red limit {} min {} max {} avpkt {} burst {} probability {} bandwidth 10mbit",
        red.limit_bytes,
        red.min_bytes,
        red.max_bytes,
        red.average_packet_bytes,
        red.burst_packets,
        red.probability
    );
    for (wanted, name) in [(red.ecn, " ecn"), (red.harddrop, " harddrop")] {
        if wanted {
            line += name;
        }
    }
    line
}

pub(crate) fn fifo(
    limit_packets: Option<u64>,
    limit_bytes: Option<u64>,
    field: &str,
) -> Result<String, ScenarioError> {
    match (limit_packets, limit_bytes) {
        (Some(_), Some(_)) => refuse(field, "limits in packets and in bytes on one queue"),
        (None, Some(bytes)) => Ok(format!("bfifo limit {bytes}b")),
        (packets, None) => Ok(format!("pfifo limit {}", packets.unwrap_or(ENDLESS_PACKETS))),
    }
}

/// The framing of tbf and htb.
///
/// # Errors
/// They take no overhead below 0.
pub(crate) fn shaped_framing(framing: Framing, field: &str) -> Result<String, ScenarioError> {
    let Framing { overhead_bytes, mpu_bytes, atm } = framing;
    if framing == Framing::default() {
        return Ok(String::new());
    }
    if overhead_bytes < 0 {
        return refuse(field, "an overhead below 0 with a token bucket");
    }
    let mut line = format!(" overhead {overhead_bytes} mpu {mpu_bytes}");
    line += if atm { " linklayer atm" } else { " linklayer ethernet" };
    Ok(line)
}
