//! Checks of queues beyond the ranges of single parameters (`catalogue::discipline`).

use crate::catalogue::parameter::quantum;
use crate::queue::{Cake, Choke, Drr, Framing, Htb, Prio, Queue, Red};
use crate::scenario::{Pipe, Shaper};
use crate::units::Span;
use crate::validate::{above_zero, error, in_range, ScenarioError};

/// Maximum classes of one discipline.
const CLASSES_MAX: usize = 16;
/// Maximum depth of disciplines nested in classes.
const DEPTH_MAX: usize = 3;

/// Checks the queue of a pipe together with its shaper.
pub(crate) fn check_queue(at: &str, pipe: &Pipe) -> Result<(), ScenarioError> {
    let at = format!("{at}.queue");
    match (&pipe.queue, &pipe.shaper) {
        (Queue::DropTail { limit_packets: None, limit_bytes: None }, shaper) => {
            if *shaper == Shaper::None && pipe.slots.is_none() {
                return Ok(());
            }
            error(format!("{at}.drop_tail"), "needs a limit in packets or bytes")
        }
        (Queue::Netem { .. }, Shaper::Serial { .. } | Shaper::Trace { .. }) => {
            error(at, "netem stands alone or below tbf; give a serial link its delay instead")
        }
        (queue, shaper) if queue.own_rate().is_some() && *shaper != Shaper::None => {
            let name = queue.name();
            error(at, format!("{name} has a rate of its own; the link may not have another"))
        }
        (Queue::Cake(_), Shaper::None) if pipe.framing != Framing::default() => {
            let message = "cake has an overhead of its own; the link may not have another";
            error(format!("{at}.cake.overhead_bytes"), message)
        }
        (queue, _) if queue.own_rate().is_some() => check(&at, queue, 0),
        (Queue::Cake(_), Shaper::None) => error(
            format!("{at}.cake.bandwidth_bps"),
            "cake without a bandwidth needs a link with a rate",
        ),
        (Queue::DropTail { .. } | Queue::Netem { .. }, _) => check(&at, &pipe.queue, 0),
        (_, Shaper::None) => error(at, "a discipline needs a rate: without one nothing waits"),
        (queue, _) => check(&at, queue, 0),
    }
}

fn check(at: &str, queue: &Queue, depth: usize) -> Result<(), ScenarioError> {
    let here = match queue {
        Queue::DropTail { .. } => format!("{at}.drop_tail"),
        other => format!("{at}.{}", other.entry().map_or(other.name(), |entry| entry.key)),
    };
    if depth > 0 {
        match queue {
            Queue::Netem { .. } | Queue::Htb(_) => {
                return error(at, format!("{} may not be in a class", queue.name()));
            }
            Queue::Cake(_) if queue.own_rate().is_some() => {
                let message = "cake in a class may not have a rate of its own";
                return error(format!("{here}.bandwidth_bps"), message);
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
    queue.check_ranges(&here)?;
    match queue {
        Queue::DropTail { limit_packets, limit_bytes } => {
            above_zero(&here, "limit_packets", limit_packets.unwrap_or(1))?;
            above_zero(&here, "limit_bytes", limit_bytes.unwrap_or(1))
        }
        Queue::Red(red) => check_red(&here, red),
        Queue::Choke(choke) => check_choke(&here, choke),
        Queue::Codel(codel) => check_codel(&here, codel.target, codel.interval),
        Queue::FqCodel(fq) => check_codel(&here, fq.target, fq.interval),
        Queue::Prio(Prio { bands }) => {
            check_classes(&here, "bands", bands.iter().map(|band| band.dscp.as_slice()))?;
            for (i, band) in bands.iter().enumerate() {
                check(&format!("{here}.bands[{i}].queue"), &band.queue, depth + 1)?;
            }
            Ok(())
        }
        Queue::Drr(Drr { classes }) => {
            check_classes(&here, "classes", classes.iter().map(|class| class.dscp.as_slice()))?;
            for (i, class) in classes.iter().enumerate() {
                let here = format!("{here}.classes[{i}]");
                check_quantum(&here, class.quantum_bytes)?;
                check(&format!("{here}.queue"), &class.queue, depth + 1)?;
            }
            Ok(())
        }
        Queue::Htb(htb) => check_htb(&here, htb, depth),
        Queue::Cake(cake) => check_cake(&here, cake),
        _ => Ok(()),
    }
}

fn check_red(at: &str, red: &Red) -> Result<(), ScenarioError> {
    if red.limit_bytes >= 1 << 24 {
        let message =
            format!("{}; at least max ({}), below 16777216", red.limit_bytes, red.max_bytes);
        return error(format!("{at}.limit_bytes"), message);
    }
    if red.nodrop && !red.ecn {
        return error(format!("{at}.nodrop"), "true; it needs ecn: what is not marked is dropped");
    }
    let bounds = [red.min_bytes, red.max_bytes, red.limit_bytes];
    check_bounds(at, ["min_bytes", "max_bytes", "limit_bytes"], bounds)?;
    let least = red.min_bytes / red.average_packet_bytes;
    check_burst(at, red.burst_packets, least, "min over avpkt")?;
    check_probability(at, red.probability, red.max_bytes - red.min_bytes)
}

fn check_choke(at: &str, choke: &Choke) -> Result<(), ScenarioError> {
    let bounds = [choke.min_packets, choke.max_packets, choke.limit_packets];
    check_bounds(at, ["min_packets", "max_packets", "limit_packets"], bounds)?;
    check_burst(at, choke.burst_packets, choke.min_packets, "min")?;
    // `tc` assumes packets of 1000 bytes.
    check_probability(at, choke.probability, 1000 * (choke.max_packets - choke.min_packets))
}

/// Checks `min`, `max` and `limit` of a RED average.
fn check_bounds(
    at: &str,
    fields: [&str; 3],
    [min, max, limit]: [u64; 3],
) -> Result<(), ScenarioError> {
    if max <= min {
        let message = format!("{max}; it must be above min ({min})");
        return error(format!("{at}.{}", fields[1]), message);
    }
    if max > limit {
        let message = format!("{limit}; at least max ({max})");
        return error(format!("{at}.{}", fields[2]), message);
    }
    Ok(())
}

fn check_burst(at: &str, burst: u64, least: u64, rule: &str) -> Result<(), ScenarioError> {
    if burst < least {
        let message = format!("{burst}; at least {rule} ({least})");
        return error(format!("{at}.burst_packets"), message);
    }
    Ok(())
}

/// Checks that Linux can represent the probability per byte between both bounds, in 31 bits
/// (`tc_red_eval_P`).
fn check_probability(at: &str, probability: f64, range_bytes: u64) -> Result<(), ScenarioError> {
    let least = range_bytes as f64 / 2_147_483_648.0;
    if probability <= least {
        let message = format!("{probability}; above {least:.1e} with these bounds");
        return error(format!("{at}.probability"), message);
    }
    Ok(())
}

fn check_codel(at: &str, target: Span, interval: Span) -> Result<(), ScenarioError> {
    if target > interval {
        let ms = |span: Span| format!("{} ms", span.as_ns() as f64 / 1e6);
        let message = format!("{}; at most the interval ({})", ms(target), ms(interval));
        return error(format!("{at}.target_ns"), message);
    }
    Ok(())
}

/// Checks what `tc cake` and the kernel take.
fn check_cake(at: &str, cake: &Cake) -> Result<(), ScenarioError> {
    const LEAST_OVERHEAD: i32 = -64;
    if cake.overhead_bytes < LEAST_OVERHEAD {
        let message = format!("{}; it must be {LEAST_OVERHEAD} to 256", cake.overhead_bytes);
        return error(format!("{at}.overhead_bytes"), message);
    }
    let bps = cake.bandwidth.as_bps();
    // The kernel's clock knows no slower rate (`cake_set_rate`).
    if (1..512).contains(&bps) {
        return error(format!("{at}.bandwidth_bps"), format!("{bps}; at least 512 bit/s"));
    }
    Ok(())
}

/// Checks the quantum of a class.
fn check_quantum(at: &str, bytes: u32) -> Result<(), ScenarioError> {
    quantum("quantum", 0).at("quantum_bytes", "").check(at, bytes.into())
}

/// Checks that there is exactly one default class, and that no DSCP belongs to two classes.
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

fn check_htb(at: &str, htb: &Htb, depth: usize) -> Result<(), ScenarioError> {
    above_zero(at, "rate_bps", htb.rate_bps.as_bps())?;
    above_zero(at, "burst_bytes", htb.burst_bytes)?;
    check_classes(at, "classes", htb.classes.iter().map(|class| class.dscp.as_slice()))?;
    let mut promised: u64 = 0;
    for (i, class) in htb.classes.iter().enumerate() {
        let at = format!("{at}.classes[{i}]");
        above_zero(&at, "rate_bps", class.rate_bps.as_bps())?;
        above_zero(&at, "burst_bytes", class.burst_bytes)?;
        above_zero(&at, "cburst_bytes", class.cburst_bytes)?;
        check_quantum(&at, class.quantum_bytes)?;
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
        check(&format!("{at}.queue"), &class.queue, depth + 1)?;
    }
    Ok(())
}
