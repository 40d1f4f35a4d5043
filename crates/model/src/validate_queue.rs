//! Checks of queues and disciplines that a type cannot express.

use crate::queue::{Codel, Fq, FqCodel, FqPie, Htb, Pie, Queue, Red, Sfq};
use crate::scenario::{Pipe, Shaper};
use crate::units::Span;
use crate::validate::{above_zero, error, in_range, ScenarioError};

/// Disciplines compare times modulo some of these.
const TIME_MAX: Span = Span::from_ms(60_000);
const QUANTUM_MAX_BYTES: u64 = 1 << 20;
const FLOWS_MAX: u64 = 65_536;
/// Classes of one discipline.
const CLASSES_MAX: usize = 16;
/// A discipline in a class of a discipline in a class.
const DEPTH_MAX: usize = 3;

/// The queue of a pipe, with its shaper.
///
/// `frame_bytes`: of the longest packet. A turn lets that pass, or most turns send nothing and rounds
/// cost more than packets (Shreedhar and Varghese 1995 §3).
pub(crate) fn check_queue(at: &str, pipe: &Pipe, frame_bytes: u64) -> Result<(), ScenarioError> {
    let at = format!("{at}.queue");
    match (&pipe.queue, &pipe.shaper) {
        (Queue::DropTail { limit_packets: None, limit_bytes: None }, shaper) => {
            if *shaper == Shaper::None {
                return Ok(());
            }
            error(format!("{at}.drop_tail"), "needs a limit in packets or bytes")
        }
        (Queue::Netem { .. }, Shaper::Serial { .. } | Shaper::Trace { .. }) => {
            error(at, "netem stands alone or below tbf; give a serial link its delay instead")
        }
        (Queue::Htb(_), shaper) if *shaper != Shaper::None => {
            error(at, "htb has a rate of its own; the link may not have another")
        }
        (Queue::Htb(_) | Queue::DropTail { .. } | Queue::Netem { .. }, _) => {
            check(&at, &pipe.queue, 0, frame_bytes)
        }
        (_, Shaper::None) => error(at, "a discipline needs a rate: without one nothing waits"),
        (queue, _) => check(&at, queue, 0, frame_bytes),
    }
}

fn check(at: &str, queue: &Queue, depth: usize, frame_bytes: u64) -> Result<(), ScenarioError> {
    let here = match queue {
        Queue::DropTail { .. } => format!("{at}.drop_tail"),
        Queue::HeadDrop { .. } => format!("{at}.head_drop"),
        other => format!("{at}.{}", other.name()),
    };
    if depth > 0 {
        match queue {
            Queue::Netem { .. } | Queue::Htb(_) => {
                return error(at, format!("{} may not be in a class", queue.name()));
            }
            Queue::DropTail { limit_packets: None, limit_bytes: None } => {
                return error(here, "needs a limit in packets or bytes");
            }
            _ if depth > DEPTH_MAX => {
                return error(at, format!("classes lie at most {DEPTH_MAX} deep"));
            }
            _ => {}
        }
    }
    match queue {
        Queue::DropTail { limit_packets, limit_bytes } => {
            above_zero(&here, "limit_packets", limit_packets.unwrap_or(1))?;
            above_zero(&here, "limit_bytes", limit_bytes.unwrap_or(1))
        }
        Queue::Netem { .. } => Ok(()),
        Queue::HeadDrop { limit_packets } => above_zero(&here, "limit_packets", *limit_packets),
        Queue::Red(red) => check_red(&here, red),
        Queue::Codel(Codel { limit_packets, target, interval, .. }) => {
            above_zero(&here, "limit_packets", *limit_packets)?;
            check_codel(&here, *target, *interval)
        }
        Queue::FqCodel(FqCodel {
            limit_packets, flows, quantum_bytes, target, interval, ..
        }) => {
            above_zero(&here, "limit_packets", *limit_packets)?;
            check_flows(&here, *flows, *quantum_bytes, frame_bytes)?;
            check_codel(&here, *target, *interval)
        }
        Queue::Pie(pie) => check_pie(&here, pie),
        Queue::FqPie(FqPie { pie, flows, quantum_bytes, ecn_prob_percent }) => {
            check_pie(&format!("{here}.pie"), pie)?;
            check_flows(&here, *flows, *quantum_bytes, frame_bytes)?;
            in_range(&here, "ecn_prob_percent", u64::from(*ecn_prob_percent), 0, 100)
        }
        Queue::Sfq(Sfq { limit_packets, flows, depth_packets, quantum_bytes, .. }) => {
            above_zero(&here, "limit_packets", *limit_packets)?;
            check_flows(&here, *flows, *quantum_bytes, frame_bytes)?;
            in_range(&here, "depth_packets", u64::from(*depth_packets), 1, 127)
        }
        Queue::Fq(Fq {
            limit_packets,
            flow_limit_packets,
            quantum_bytes,
            initial_quantum_bytes,
        }) => {
            above_zero(&here, "limit_packets", *limit_packets)?;
            above_zero(&here, "flow_limit_packets", *flow_limit_packets)?;
            check_quantum(&here, "quantum_bytes", *quantum_bytes, frame_bytes)?;
            check_quantum(&here, "initial_quantum_bytes", *initial_quantum_bytes, frame_bytes)
        }
        Queue::Prio { bands } => {
            check_classes(&here, "bands", bands.iter().map(|band| band.dscp.as_slice()))?;
            for (i, band) in bands.iter().enumerate() {
                check(&format!("{here}.bands[{i}].queue"), &band.queue, depth + 1, frame_bytes)?;
            }
            Ok(())
        }
        Queue::Drr { classes } => {
            check_classes(&here, "classes", classes.iter().map(|class| class.dscp.as_slice()))?;
            for (i, class) in classes.iter().enumerate() {
                let here = format!("{here}.classes[{i}]");
                check_quantum(&here, "quantum_bytes", class.quantum_bytes, frame_bytes)?;
                check(&format!("{here}.queue"), &class.queue, depth + 1, frame_bytes)?;
            }
            Ok(())
        }
        Queue::Htb(htb) => check_htb(&here, htb, depth, frame_bytes),
    }
}

fn check_red(at: &str, red: &Red) -> Result<(), ScenarioError> {
    above_zero(at, "limit_bytes", red.limit_bytes)?;
    above_zero(at, "min_bytes", red.min_bytes)?;
    above_zero(at, "average_packet_bytes", red.average_packet_bytes)?;
    if red.max_bytes <= red.min_bytes {
        let message = format!("{}; it must be above min ({})", red.max_bytes, red.min_bytes);
        return error(format!("{at}.max_bytes"), message);
    }
    if red.max_bytes > red.limit_bytes || red.limit_bytes >= 1 << 24 {
        let message =
            format!("{}; at least max ({}), below 16777216", red.limit_bytes, red.max_bytes);
        return error(format!("{at}.limit_bytes"), message);
    }
    let least = red.min_bytes / red.average_packet_bytes;
    if red.burst_packets < least.max(1) || red.burst_packets > 1 << 16 {
        let message = format!("{}; at least min over avpkt ({least})", red.burst_packets);
        return error(format!("{at}.burst_packets"), message);
    }
    if !(red.probability > 0.0 && red.probability <= 1.0) {
        let message = format!("{}; above 0 and at most 1", red.probability);
        return error(format!("{at}.probability"), message);
    }
    // Linux counts it per byte between both bounds, in 31 bits (`tc_red_eval_P`).
    let least = (red.max_bytes - red.min_bytes) as f64 / 2_147_483_648.0;
    if red.probability <= least {
        let message = format!("{}; above {least:.1e} with these bounds", red.probability);
        return error(format!("{at}.probability"), message);
    }
    Ok(())
}

fn check_codel(at: &str, target: Span, interval: Span) -> Result<(), ScenarioError> {
    above_zero(at, "interval_ns", interval.as_ns())?;
    if target > interval {
        let message = format!("{}; at most the interval ({})", ms(target), ms(interval));
        return error(format!("{at}.target_ns"), message);
    }
    // Linux counts both in 1024 ns and compares modulo 2^32.
    check_time(at, "interval_ns", interval)
}

fn check_pie(at: &str, pie: &Pie) -> Result<(), ScenarioError> {
    above_zero(at, "limit_packets", pie.limit_packets)?;
    above_zero(at, "target_ns", pie.target.as_ns())?;
    check_time(at, "target_ns", pie.target)?;
    check_time(at, "tupdate_ns", pie.tupdate)?;
    if pie.tupdate < Span::from_ms(1) {
        return error(format!("{at}.tupdate_ns"), format!("{}; at least 1 ms", ms(pie.tupdate)));
    }
    in_range(at, "alpha", u64::from(pie.alpha), 0, 32)?;
    in_range(at, "beta", u64::from(pie.beta), 0, 32)
}

fn ms(span: Span) -> String {
    format!("{} ms", span.as_ns() as f64 / 1e6)
}

fn check_time(at: &str, field: &str, time: Span) -> Result<(), ScenarioError> {
    if time > TIME_MAX {
        return error(format!("{at}.{field}"), "times of a discipline are at most 60 s");
    }
    Ok(())
}

fn check_flows(
    at: &str,
    flows: u32,
    quantum_bytes: u32,
    frame_bytes: u64,
) -> Result<(), ScenarioError> {
    in_range(at, "flows", u64::from(flows), 1, FLOWS_MAX)?;
    check_quantum(at, "quantum_bytes", quantum_bytes, frame_bytes)
}

fn check_quantum(at: &str, field: &str, bytes: u32, frame_bytes: u64) -> Result<(), ScenarioError> {
    if u64::from(bytes) < frame_bytes {
        let message = format!("{bytes}; below the longest frame ({frame_bytes} bytes: MTU and 14)");
        return error(format!("{at}.{field}"), message);
    }
    in_range(at, field, u64::from(bytes), frame_bytes, QUANTUM_MAX_BYTES)
}

/// One class takes what no other does, and no codepoint belongs to two.
fn check_classes<'a>(
    at: &str,
    field: &str,
    dscps: impl Iterator<Item = &'a [u8]>,
) -> Result<(), ScenarioError> {
    let mut owner = [None; 64];
    let (mut rest, mut count) = (None, 0);
    for (i, dscp) in dscps.enumerate() {
        count += 1;
        if dscp.is_empty() {
            if let Some(first) = rest.replace(i) {
                let message =
                    format!("takes what no other does, as {field}[{first}]: give it dscp");
                return error(format!("{at}.{field}[{i}]"), message);
            }
        }
        for point in dscp {
            let here = format!("{at}.{field}[{i}].dscp");
            let Some(place) = owner.get_mut(usize::from(*point)) else {
                return error(here, format!("{point} is no codepoint; it must be 0 to 63"));
            };
            if let Some(first) = place.replace(i) {
                return error(here, format!("{point} belongs to {field}[{first}] already"));
            }
        }
    }
    if count == 0 || count > CLASSES_MAX {
        return error(format!("{at}.{field}"), format!("{count}; 1 to {CLASSES_MAX}"));
    }
    if rest.is_none() {
        let message = "one must have no dscp and take what no other does";
        return error(format!("{at}.{field}"), message);
    }
    Ok(())
}

fn check_htb(at: &str, htb: &Htb, depth: usize, frame_bytes: u64) -> Result<(), ScenarioError> {
    above_zero(at, "rate_bps", htb.rate_bps.as_bps())?;
    above_zero(at, "burst_bytes", htb.burst_bytes)?;
    check_classes(at, "classes", htb.classes.iter().map(|class| class.dscp.as_slice()))?;
    let mut promised: u64 = 0;
    for (i, class) in htb.classes.iter().enumerate() {
        let at = format!("{at}.classes[{i}]");
        above_zero(&at, "rate_bps", class.rate_bps.as_bps())?;
        above_zero(&at, "burst_bytes", class.burst_bytes)?;
        above_zero(&at, "cburst_bytes", class.cburst_bytes)?;
        check_quantum(&at, "quantum_bytes", class.quantum_bytes, frame_bytes)?;
        in_range(&at, "priority", u64::from(class.priority), 0, 7)?;
        if class.ceil_bps < class.rate_bps {
            let message = format!("{}; below the rate ({})", class.ceil_bps, class.rate_bps);
            return error(format!("{at}.ceil_bps"), message);
        }
        if class.ceil_bps > htb.rate_bps {
            let message = format!("{}; above the parent's rate ({})", class.ceil_bps, htb.rate_bps);
            return error(format!("{at}.ceil_bps"), message);
        }
        promised = promised.saturating_add(class.rate_bps.as_bps());
        if promised > htb.rate_bps.as_bps() {
            let message = format!(
                "{}; the classes so far are promised {promised} bit/s, the parent has {}",
                class.rate_bps, htb.rate_bps
            );
            return error(format!("{at}.rate_bps"), message);
        }
        check(&format!("{at}.queue"), &class.queue, depth + 1, frame_bytes)?;
    }
    Ok(())
}
