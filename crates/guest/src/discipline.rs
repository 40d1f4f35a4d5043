//! Queues and queue disciplines as arguments of `tc`, with their classes, filters and child queues, and
//! the statistics that the kernel reports of them.

use crate::netlink::Qdisc;
use crate::tc::{refuse, ENDLESS_PACKETS};
use crate::xstats::Xstats;
use dumbbell_model::catalogue::discipline::ENTRIES;
use dumbbell_model::queue::{self, Drr, Htb, Prio, Queue};
use dumbbell_model::{for_disciplines, Framing, Rate, ScenarioError};

/// Builder of a discipline on the kernel's engines.
pub(crate) trait OnLinux {
    /// Arguments of `tc` after the name.
    ///
    /// # Errors
    /// Refuses what Linux cannot do, at `field` of the scenario.
    fn arguments(&self, field: &str) -> Result<String, ScenarioError> {
        refuse(field, "no Linux has this discipline")
    }

    /// Adds classes, filters and the queues of classes.
    ///
    /// # Errors
    /// Refuses what Linux cannot do.
    fn below(&self, _handle: usize, _builder: &mut Builder<'_>) -> Result<(), ScenarioError> {
        Ok(())
    }

    /// Adds the statistics that this discipline reports (`tc_…_xstats`).
    fn xstats(_bytes: &[u8], common: Xstats) -> Xstats {
        common
    }
}

macro_rules! builders {
    ($($variant:ident $module:ident $entry:tt $({ $($parameters:tt)+ })?;)+) => {
        fn arguments(queue: &Queue, field: &str) -> Result<String, ScenarioError> {
            let arguments = match queue {
                Queue::DropTail { limit_packets, limit_bytes } => {
                    return fifo(*limit_packets, *limit_bytes, field);
                }
                Queue::Netem { .. } => return refuse(field, "netem in a class"),
                $(Queue::$variant(one) => one.arguments(field)?,)+
            };
            Ok(format!("{} {arguments}", queue.name()).trim_end().to_owned())
        }

        fn below(
            queue: &Queue,
            handle: usize,
            builder: &mut Builder<'_>,
        ) -> Result<(), ScenarioError> {
            match queue {
                Queue::DropTail { .. } | Queue::Netem { .. } => Ok(()),
                $(Queue::$variant(one) => one.below(handle, builder),)+
            }
        }

        /// Reads the statistics of a discipline by the name of its type in the catalogue.
        fn read_xstats(variant: &str, bytes: &[u8], common: Xstats) -> Xstats {
            match variant {
                $(stringify!($variant) => <queue::$variant as OnLinux>::xstats(bytes, common),)+
                _ => common,
            }
        }
    };
}
for_disciplines!(builders);

/// Reads the statistics that a discipline of the kernel reports.
pub(crate) fn xstats(qdisc: &Qdisc) -> Xstats {
    let common = Xstats::common(qdisc.dropped, qdisc.overlimits);
    let entry =
        ENTRIES.iter().find(|entry| entry.linux.is_some_and(|linux| linux.name == qdisc.kind));
    entry.map_or(common, |entry| read_xstats(entry.variant, &qdisc.xstats, common))
}

/// A line for `tc`: `qdisc`, `class` or `filter`, and its arguments after the device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Line {
    pub(crate) object: &'static str,
    pub(crate) arguments: String,
}

impl Line {
    pub(crate) fn qdisc(arguments: String) -> Self {
        Self { object: "qdisc", arguments }
    }

    /// Line of `tc -batch` that adds the object to a device.
    pub(crate) fn add(&self, device: &str) -> String {
        format!("{} add dev {device} {}", self.object, self.arguments)
    }
}

/// Collects the lines of a queue and its child queues, and assigns handles.
pub(crate) struct Builder<'a> {
    pub(crate) framing: Framing,
    /// Field of the scenario that describes the queue.
    pub(crate) field: &'a str,
    /// Handle of the next discipline.
    pub(crate) handle: usize,
    pub(crate) lines: Vec<Line>,
}

impl Builder<'_> {
    fn add(&mut self, object: &'static str, arguments: String) {
        self.lines.push(Line { object, arguments });
    }

    /// Adds a queue at `place` (`root`, or `parent 1:1`) and returns its handle.
    ///
    /// # Errors
    /// Refuses what Linux cannot do.
    pub(crate) fn queue(&mut self, place: &str, queue: &Queue) -> Result<usize, ScenarioError> {
        let handle = self.handle;
        self.handle += 1;
        let line = arguments(queue, self.field)?;
        self.add("qdisc", format!("{place} handle {handle}: {line}"));
        below(queue, handle, self)?;
        Ok(handle)
    }

    /// Adds the filters of a class. A class without DSCPs takes all other packets.
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
}

impl OnLinux for Prio {
    fn arguments(&self, _: &str) -> Result<String, ScenarioError> {
        let rest = self.bands.iter().position(|band| band.dscp.is_empty()).unwrap_or(0);
        let map = vec![rest.to_string(); 16].join(" ");
        // tc refuses prio with one band; the second stays empty.
        Ok(format!("bands {} priomap {map}", self.bands.len().max(2)))
    }

    fn below(&self, handle: usize, builder: &mut Builder<'_>) -> Result<(), ScenarioError> {
        for (i, band) in self.bands.iter().enumerate() {
            builder.filter(handle, i + 1, &band.dscp);
            builder.queue(&format!("parent {handle}:{}", i + 1), &band.queue)?;
        }
        Ok(())
    }

    fn xstats(_: &[u8], common: Xstats) -> Xstats {
        common.of_classes()
    }
}

impl OnLinux for Drr {
    fn arguments(&self, _: &str) -> Result<String, ScenarioError> {
        Ok(String::new())
    }

    fn below(&self, handle: usize, builder: &mut Builder<'_>) -> Result<(), ScenarioError> {
        for (i, class) in self.classes.iter().enumerate() {
            let (id, quantum) = (i + 1, class.quantum_bytes);
            let line = format!("parent {handle}: classid {handle}:{id} drr quantum {quantum}");
            builder.add("class", line);
            builder.filter(handle, id, &class.dscp);
            builder.queue(&format!("parent {handle}:{id}"), &class.queue)?;
        }
        Ok(())
    }

    fn xstats(_: &[u8], common: Xstats) -> Xstats {
        common.of_classes()
    }
}

impl OnLinux for Htb {
    fn arguments(&self, _: &str) -> Result<String, ScenarioError> {
        let rest = self.classes.iter().position(|class| class.dscp.is_empty()).unwrap_or(0);
        Ok(format!("default {:x}", htb_class(rest)))
    }

    fn below(&self, handle: usize, builder: &mut Builder<'_>) -> Result<(), ScenarioError> {
        let framed = shaped_framing(builder.framing, builder.field)?;
        let rates = |rate: Rate, ceil: Rate, burst: u64, cburst: u64| {
            let (rate, ceil) = (rate.as_bps(), ceil.as_bps());
            format!("htb rate {rate}bit ceil {ceil}bit burst {burst}b cburst {cburst}b{framed}")
        };
        let (rate, burst) = (self.rate_bps, self.burst_bytes);
        let root = rates(rate, rate, burst, burst);
        builder.add("class", format!("parent {handle}: classid {handle}:1 {root} quantum 1514"));
        for (i, class) in self.classes.iter().enumerate() {
            let id = htb_class(i);
            let rates =
                rates(class.rate_bps, class.ceil_bps, class.burst_bytes, class.cburst_bytes);
            let place = format!("parent {handle}:1 classid {handle}:{id:x}");
            let (priority, quantum) = (class.priority, class.quantum_bytes);
            builder.add("class", format!("{place} {rates} prio {priority} quantum {quantum}"));
            for point in &class.dscp {
                builder.match_dscp(handle, id, *point);
            }
            builder.queue(&format!("parent {handle}:{id:x}"), &class.queue)?;
        }
        Ok(())
    }

    fn xstats(_: &[u8], common: Xstats) -> Xstats {
        common.of_classes()
    }
}

/// Minor number of a class below HTB's root class.
fn htb_class(index: usize) -> usize {
    16 + index
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

/// Framing arguments of tbf and htb.
///
/// # Errors
/// Refuses an overhead below 0.
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

#[cfg(test)]
mod tests {
    use super::*;
    use dumbbell_model::tables::Int;

    #[test]
    fn the_state_of_codel_is_read() {
        let numbers: [i32; 9] = [1514, 7, 2, 30_000, -250, 3, 4, 1, 0];
        let bytes = numbers.iter().flat_map(|number| number.to_ne_bytes()).collect();
        let qdisc =
            Qdisc { kind: "codel".to_owned(), xstats: bytes, dropped: 10, ..Qdisc::default() };
        let found = xstats(&qdisc);
        assert_eq!(found.codel, Some((true, 7, -250_000)));
        let counted = [found.marked, found.dropped_overflow, found.dropped_aqm(10_u32.into())];
        assert_eq!(counted.map(Int::get), [4, 3, 7].map(Some));
        let short = Qdisc { kind: "fq_codel".to_owned(), ..Qdisc::default() };
        assert_eq!(xstats(&short).new_flows, Int::UNKNOWN);
    }
}
