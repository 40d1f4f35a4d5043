//! Relations between the fields of a section.

use crate::code::Code;
use crate::fields::Context;
use crate::near::nearest_name;
use crate::quantity::{share, size, time};
use crate::read::{below, Fields, Node, Refusal, Result};
use crate::words::{literal, shown};
use dumbbell_model::catalogue::tcp_options::ENTRIES;
use serde_json::Value;
use std::collections::BTreeSet;

/// A refusal of a field of the section.
fn at(fields: &Fields<'_>, name: &str, message: impl Into<String>) -> Refusal {
    Refusal::new(&below(&fields.at, name), message)
}

fn whole(fields: &Fields<'_>, name: &str, default: u64) -> u64 {
    fields.get(name).and_then(|node| node.value.as_u64()).unwrap_or(default)
}

/// Fields of a pipe that exclude each other.
const RIVALS: &[(&str, &str)] = &[
    ("rate", "shaper"),
    ("rate", "rates"),
    ("rates", "shaper"),
    ("buffer", "netem"),
    ("buffer", "queue"),
    ("netem", "queue"),
    ("overhead", "framing"),
];

pub(crate) fn rivals(fields: &Fields<'_>, _: &Context) -> Result<()> {
    let queue = fields.get("queue");
    let given = |name: &str| queue.as_ref().is_some_and(|node| node.value[name].is_object());
    let shapes = queue.as_ref().is_some_and(|node| !node.value["cake"]["bandwidth"].is_null());
    if given("htb") || shapes {
        let name = if given("htb") { "htb" } else { "cake with a bandwidth" };
        for other in ["rate", "rates", "shaper"] {
            if fields.get(other).is_some() {
                let message = format!("{name} has a rate of its own");
                return at(fields, other, message).code(Code::OneOf).err();
            }
        }
    }
    for (one, other) in RIVALS {
        if fields.get(one).is_some() && fields.get(other).is_some() {
            let message = format!("{one} and {other} exclude each other");
            return at(fields, other, message).code(Code::OneOf).err();
        }
    }
    Ok(())
}

pub(crate) fn slots(fields: &Fields<'_>, _: &Context) -> Result<()> {
    const MOST: u64 = i32::MAX as u64;
    let span = |name| Ok(fields.read(name, time)?.unwrap_or(0));
    let (min, max) = (span("min")?, span("max")?);
    let drawn = fields.get("distribution").is_some();
    if drawn == fields.get("max").is_some() || drawn && fields.get("min").is_some() {
        let refusal = Refusal::new(&fields.at, "slots have either max or distribution");
        let lacking = if drawn { Code::OneOf } else { Code::MissingField };
        return refusal.allowed(["max", "distribution"]).code(lacking).err();
    }
    if !drawn && min > max {
        return at(fields, "min", "longer than max").err();
    }
    if fields.read("bytes", size)?.unwrap_or(0) > MOST {
        return at(fields, "bytes", format!("at most {MOST} bytes")).err();
    }
    let (pause, every) = (span("pause")?, span("pause_every")?);
    if pause > 0 && pause >= every {
        return at(fields, "pause", "pause_every is needed, and longer than pause").err();
    }
    Ok(())
}

pub(crate) fn netem(fields: &Fields<'_>, _: &Context) -> Result<()> {
    let curve = fields.get("delay").is_some_and(|node| node.value.is_object());
    let word = ["loss", "ecn", "duplicate", "corrupt", "reorder", "seed"]
        .into_iter()
        .find(|name| fields.get(name).is_some())
        .or(curve.then_some("delay.mean"));
    match word {
        Some(word) if fields.get("jitter").is_some() => {
            let message =
                format!("jitter does not go with {word}: write delay: {{mean: …, jitter: …}}");
            at(fields, "jitter", message).code(Code::OneOf).err()
        }
        _ => Ok(()),
    }
}

fn words<'a>(fields: &Fields<'a>, name: &str) -> Vec<&'a str> {
    match fields.get(name).map(|node| node.value) {
        Some(Value::Array(items)) => items.iter().filter_map(Value::as_str).collect(),
        Some(Value::String(text)) => vec![text],
        _ => Vec::new(),
    }
}

pub(crate) fn rewrite(fields: &Fields<'_>, _: &Context) -> Result<()> {
    const ACTIONS: [&str; 4] = ["ecn", "clear_flags", "set_flags", "strip_option"];
    if ACTIONS.iter().all(|name| fields.get(name).is_none()) {
        let refusal = Refusal::new(&fields.at, "changes nothing").allowed(ACTIONS);
        return refusal.code(Code::MissingField).err();
    }
    if fields.get("nth").is_some() && fields.get("flow").is_none() {
        let message = "numbers count the packets of a flow: flow is needed";
        return at(fields, "nth", message).code(Code::MissingField).err();
    }
    let mut both = words(fields, "set_flags");
    both.retain(|flag| words(fields, "clear_flags").contains(flag));
    if both.is_empty() {
        return Ok(());
    }
    both.sort_unstable();
    both.dedup();
    let refusal = at(fields, "set_flags", "a flag that is cleared, too").found(both.join(", "));
    refusal.code(Code::OneOf).err()
}

pub(crate) fn htb(fields: &Fields<'_>, _: &Context) -> Result<()> {
    if fields.get("queue").is_some() && fields.get("classes").is_some() {
        let refusal = at(fields, "queue", "queue and classes exclude each other");
        return refusal.code(Code::OneOf).err();
    }
    Ok(())
}

pub(crate) fn no_child(node: &Node<'_>, name: &str) -> Option<Refusal> {
    let child = ["queue", "classes", "bands", "child"].contains(&name);
    let message = "this discipline has no classes, so it takes no queue of its own";
    child.then(|| {
        let refusal = Refusal::new(&below(&node.at, name), message);
        refusal.allowed(["prio", "drr", "htb"]).code(Code::QueueParameters)
    })
}

pub(crate) fn one_amount(fields: &Fields<'_>, _: &Context) -> Result<()> {
    if fields.get("bytes").is_some() && fields.get("source").is_some() {
        let refusal = at(fields, "bytes", "bytes and source exclude each other");
        return refusal.code(Code::OneOf).err();
    }
    Ok(())
}

/// Fields of subflows, which a connection with one path does not have.
pub(crate) fn of_subflows(node: &Node<'_>, name: &str) -> Option<Refusal> {
    let known = ["scheduler", "path_manager", "subflows"].contains(&name);
    let message = format!("{name} is for the subflows of mptcp; a tcp flow has one path");
    let refusal = Refusal::new(&below(&node.at, name), message);
    known.then(|| refusal.found(shown(&node.value[name])))
}

/// Hint for a congestion control among TCP options.
pub(crate) fn of_a_flow(name: &str) -> Option<String> {
    let control = ["congestion_control", "tcp_congestion_control", "cc"].contains(&name);
    control.then(|| "a flow chooses its congestion control: `tcp: NAME`".to_owned())
}

/// Hint for a TCP option where no host is described. `here`: path of `sender` from there.
pub(crate) fn option_hint(name: &str, here: &str) -> Option<String> {
    let known = name == "profile" || ENTRIES.iter().any(|entry| entry.parameter.name == name);
    known.then(|| {
        format!(
            "a TCP option belongs to a host: below `{here}sender` or `{here}receiver` for this \
             flow, below `hosts` for all flows of a host"
        )
    })
}

/// Requests have a closed or an open loop; a closed loop has responses.
pub(crate) fn requests(fields: &Fields<'_>, _: &Context) -> Result<()> {
    let given: Vec<_> = ["think", "interval", "per_second"]
        .into_iter()
        .filter(|name| fields.get(name).is_some())
        .collect();
    if given.len() > 1 {
        let message = "at most one of think, interval and per_second is possible";
        return at(fields, given[1], message).found(given.join(" and ")).code(Code::Flow).err();
    }
    let closed = !matches!(given[..], ["interval" | "per_second"]);
    if closed && fields.get("response").is_none() {
        let message = "a closed loop needs response; messages without one need interval or \
                       per_second";
        return Refusal::new(&fields.at, message).code(Code::Flow).err();
    }
    let unanswered = fields.get("response").is_none();
    for name in ["service", "response_writes"] {
        if unanswered && fields.get(name).is_some() {
            let message = format!("{name} is for a response, and there is none");
            return at(fields, name, message).code(Code::Flow).err();
        }
    }
    Ok(())
}

pub(crate) fn page(fields: &Fields<'_>, _: &Context) -> Result<()> {
    const MOST: usize = 100_000;
    if fields.get("protocol").is_some_and(|node| node.text() == Some("http/2"))
        && fields.get("connections").is_some()
    {
        let message = "HTTP/2 uses one connection to a server";
        return at(fields, "connections", message).code(Code::Page).err();
    }
    let refuse = |message: String| at(fields, "objects", message).code(Code::Page);
    let mut known: BTreeSet<String> = BTreeSet::new();
    let objects = fields.get("objects").map(|node| node.items()).transpose()?;
    for (i, node) in objects.unwrap_or_default().iter().enumerate() {
        let object = node.any_fields()?;
        let after = object.get("after").map(|node| match node.value {
            Value::Array(items) => items.iter().map(text).collect(),
            one => vec![text(one)],
        });
        for name in after.unwrap_or_default() {
            if !known.contains(&name) {
                let reason = "an object waits for those above it; there is none of this name";
                let near = nearest_name(&name, known.iter().map(String::as_str));
                let near = near.map(str::to_owned);
                return refuse(reason.to_owned()).found(name).nearest(near).err();
            }
        }
        let count = object.get("count").and_then(|node| node.value.as_u64());
        let name = object.need("name")?.name()?;
        for number in 1..=count.unwrap_or(1) {
            let one =
                count.map_or_else(|| name.clone(), |_| name.replace("{i}", &number.to_string()));
            let hint = if count.is_some() { "; with count, write {i} in the name" } else { "" };
            let message = format!("two objects are named {one}{hint}");
            if !known.insert(one) {
                return refuse(message).err();
            }
        }
        if known.len() > MOST {
            return refuse(format!("more than {MOST} objects, at {i}")).err();
        }
    }
    Ok(())
}

fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

pub(crate) fn pairs(fields: &Fields<'_>, _: &Context) -> Result<()> {
    let pairs = whole(fields, "pairs", 1);
    match fields.get("rtt").map(|node| node.value) {
        Some(Value::Array(each)) if each.len() as u64 != pairs => {
            let message = format!("{pairs} round trips are needed");
            let refusal = at(fields, "rtt", message).found(each.len().to_string());
            refusal.code(Code::Template).err()
        }
        _ => Ok(()),
    }
}

pub(crate) fn used_paths(fields: &Fields<'_>, _: &Context) -> Result<()> {
    let count = match fields.get("paths").map(|node| node.value) {
        Some(Value::Array(each)) => each.len() as u64,
        Some(value) => value.as_u64().unwrap_or(2),
        None => 2,
    };
    let Some(Value::Array(items)) = fields.get("use").map(|node| node.value) else { return Ok(()) };
    let used: Vec<u64> = items.iter().filter_map(Value::as_u64).collect();
    if let Some(number) = used.iter().find(|number| **number > count) {
        let known = (1..=count).map(|i| i.to_string());
        let refusal = at(fields, "use", "no such path").found(number.to_string()).allowed(known);
        return refusal.code(Code::Template).err();
    }
    if used.is_empty() || used.iter().collect::<BTreeSet<_>>().len() != used.len() {
        let found = literal(&Value::Array(items.clone()));
        let refusal = at(fields, "use", "each path once, and at least one").found(found);
        return refusal.code(Code::Template).err();
    }
    Ok(())
}

pub(crate) fn leaf_spine(fields: &Fields<'_>, _: &Context) -> Result<()> {
    const MOST: u64 = 25_000;
    let count = |name| whole(fields, name, 0);
    let links = count("leaves") * (count("hosts_per_leaf") + count("spines"));
    if links > MOST {
        let message = format!("at most {MOST} links: leaves × (hosts_per_leaf + spines)");
        let refusal = Refusal::new(&fields.at, message).found(links.to_string());
        return refusal.code(Code::Template).err();
    }
    Ok(())
}

pub(crate) fn one_template(fields: &Fields<'_>, _: &Context) -> Result<()> {
    let names = crate::template::NAMES;
    let given: Vec<_> = names.iter().copied().filter(|name| fields.get(name).is_some()).collect();
    if given.len() == 1 {
        return Ok(());
    }
    let found = if given.is_empty() { "none".to_owned() } else { given.join(" and ") };
    let refusal = Refusal::new(&fields.at, "exactly one template is needed").found(found);
    refusal.allowed(names).code(Code::Template).err()
}

pub(crate) fn load(fields: &Fields<'_>, _: &Context) -> Result<()> {
    let Some(rrul) = fields.get("rrul").or_else(|| fields.get("rrul_be")) else { return Ok(()) };
    let rrul = rrul.any_fields()?;
    if whole(&rrul, "up", 4) + whole(&rrul, "down", 4) == 0 {
        return at(fields, "rrul", "up and down are both 0: there is no load").err();
    }
    Ok(())
}

pub(crate) fn repeats(fields: &Fields<'_>, _: &Context) -> Result<()> {
    let (min, max) = (whole(fields, "min", 10), whole(fields, "max", 100));
    if fields.get("until").is_none() && min != max {
        let message = "`until` is missing; a fixed number is written as `repeats: 10`";
        return Refusal::new(&fields.at, message).code(Code::Repeats).err();
    }
    if min > max {
        let message = format!("should be at least min, which is {min}");
        return at(fields, "max", message).code(Code::Repeats).err();
    }
    Ok(())
}

pub(crate) fn until(fields: &Fields<'_>, _: &Context) -> Result<()> {
    let names = ["relative_half_width", "half_width"];
    let given: Vec<_> = names.iter().filter_map(|name| fields.get(name)).collect();
    let [node] = &given[..] else {
        let refusal = Refusal::new(&fields.at, "exactly one width is needed").allowed(names);
        return refusal.code(Code::Repeats).err();
    };
    let width = number(node).map_or_else(|| share(node), Ok)?;
    if width > 0.0 && width.is_finite() {
        return Ok(());
    }
    Refusal::new(&fields.at, "a width above 0 is needed").code(Code::Repeats).err()
}

/// A number, also as text.
fn number(node: &Node<'_>) -> Option<f64> {
    node.value.as_f64().or_else(|| node.text()?.trim().parse().ok())
}

/// A bound: a number, or a percentage.
fn bound(fields: &Fields<'_>, name: &str) -> Result<Option<f64>> {
    fields.read(name, |node| number(node).map_or_else(|| share(node), Ok))
}

pub(crate) fn expect(fields: &Fields<'_>, context: &Context) -> Result<()> {
    let (above, below) = (bound(fields, "above")?, bound(fields, "below")?);
    if above.is_none() && below.is_none() {
        let refusal = Refusal::new(&fields.at, "a bound is missing").allowed(["above", "below"]);
        return refusal.code(Code::Expect).err();
    }
    if let (Some(above), Some(below)) = (above, below) {
        if above >= below {
            let message = format!("nothing is above {above} and below {below}");
            return at(fields, "above", message).code(Code::Expect).err();
        }
    }
    let metric = fields.get("metric").and_then(|node| node.text());
    let known = context.metrics.as_ref().zip(metric);
    let Some(metric) = known.and_then(|(metrics, name)| metrics.get(name)) else { return Ok(()) };
    let (low, high) = metric.bounds;
    let bound = |value: f64| if value.is_infinite() { "inf".to_owned() } else { value.to_string() };
    let words =
        format!("{} lies between {} and {}: nothing is", metric.name, bound(low), bound(high));
    match (above, below) {
        (Some(above), _) if above >= high => {
            at(fields, "above", format!("{words} above {above}")).code(Code::Expect).err()
        }
        (_, Some(below)) if below <= low => {
            at(fields, "below", format!("{words} below {below}")).code(Code::Expect).err()
        }
        _ => Ok(()),
    }
}

pub(crate) fn constraint(fields: &Fields<'_>, context: &Context) -> Result<()> {
    let metric = fields.get("metric").and_then(|node| node.text());
    let known = context.metrics.as_ref().zip(metric);
    let Some(metric) = known.and_then(|(metrics, name)| metrics.get(name)) else { return Ok(()) };
    for name in ["above", "below"] {
        if let Some(bound) = bound(fields, name)?.filter(|bound| metric.is_share && *bound > 1.0) {
            let message = format!("{} is a share, from 0 to 1", metric.name);
            let refusal = at(fields, name, message).found(bound.to_string());
            return refusal.nearest(Some(format!("{bound} %"))).err();
        }
    }
    Ok(())
}

/// Worst cases by name, and their metrics. Their goal is the smallest value.
pub(crate) const WORST: &[(&str, &str)] =
    &[("share", "share"), ("starvation", "fair_share_min"), ("utilisation", "utilisation")];

pub(crate) fn attack(fields: &Fields<'_>, _: &Context) -> Result<()> {
    let metric = fields.get("metric").and_then(|node| node.text()).unwrap_or_default();
    if fields.get("goal").is_none() && !WORST.iter().any(|(name, _)| *name == metric) {
        let message = format!("the worst of {metric} is not known: give a goal");
        return Refusal::new(&fields.at, message).allowed(["minimise", "maximise"]).err();
    }
    Ok(())
}

pub(crate) fn traffic(fields: &Fields<'_>, _: &Context) -> Result<()> {
    let kinds = ["flows", "arrivals", "pages", "requests", "programs", "workload"];
    let given = |name: &&str| match fields.get(name).map(|node| node.value) {
        Some(Value::Array(items)) => !items.is_empty(),
        Some(_) => true,
        None => false,
    };
    if kinds.iter().any(given) {
        return Ok(());
    }
    let refusal = at(fields, "flows", "there is no traffic").allowed(kinds);
    refusal.code(Code::NoTraffic).err()
}

pub(crate) fn plugins(fields: &Fields<'_>, _: &Context) -> Result<()> {
    crate::plugins::names_are_free(fields)
}
