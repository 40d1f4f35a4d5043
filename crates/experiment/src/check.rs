//! Check of a cell: all errors of its fields, each with its path.

use crate::code::Code;
use crate::fields::WORST;
use crate::fields::{every, single, subflow};
use crate::fields::{Context, Expansion, Field, Form, Kind, Presence, Section};
use crate::limit::{limits, packet_limit};
use crate::near::nearest_name;
use crate::plugins;
use crate::quantity::{
    packets, parse, positive_size, positive_time, rate, share, signed_size, size, sysctl, time,
    RTT, SIZE, TIME,
};
use crate::queue::codepoint;
use crate::read::{below, item, Fields, Node, Refusal, Result, Step};
use crate::tree::Tree;
use crate::words::shown;
use dumbbell_model::catalogue::congestion_control::ENTRIES;
use serde_json::{Map, Value};
use std::sync::Arc;

/// Errors of the fields of a cell, in the order of the declarations.
pub(crate) fn check(section: &'static Section, value: &Value, context: &Context) -> Vec<Refusal> {
    let mut report = Report { errors: Vec::new(), context };
    report.section(section, &Node { value, at: Vec::new() });
    report.errors
}

/// Returns true if a file is right that differs from one that was right. `before`, `now`: both trees.
///
/// Values that both trees share are not checked again; relations between fields are, wherever one of
/// the fields may have changed.
pub(crate) fn still_right(
    section: &'static Section,
    value: &Value,
    context: &Context,
    (before, now): (&Tree, &Tree),
) -> bool {
    let mut report = Report { errors: Vec::new(), context };
    report.still_section(section, &Node { value, at: Vec::new() }, (before, now));
    report.errors.is_empty()
}

struct Report<'c> {
    errors: Vec<Refusal>,
    context: &'c Context,
}

impl Report<'_> {
    fn section(&mut self, section: &'static Section, node: &Node<'_>) {
        let empty = Map::new();
        let map = match node.value {
            Value::Null => &empty,
            Value::Object(map) => map,
            other => {
                let refusal = node.refusal("should be a mapping").found(shown(other));
                self.errors.push(refusal.allowed(section.names()).code(Code::FieldKind));
                return;
            }
        };
        let before = self.errors.len();
        let unknown = self.unknown(section, node, map);
        for field in &section.fields {
            match (map.get(field.name), &field.presence) {
                (None, Presence::Needed) if !unknown => self.errors.push(Refusal {
                    lacking: Some(field.name.to_owned()),
                    ..Refusal::new(&node.at, "is missing").code(Code::MissingField)
                }),
                _ => self.field(field, map, &node.at),
            }
        }
        if !unknown {
            self.relations(section, &Fields::of(map, node.at.clone()), before);
        }
    }

    /// Checks the value of a field that is written.
    fn field(&mut self, field: &Field, map: &Map<String, Value>, at: &[Step]) {
        match (map.get(field.name), &field.presence) {
            (None, _) | (Some(Value::Null), Presence::Optional) => {}
            (Some(value), _) => {
                self.value(&field.kind, &Node { value, at: below(at, field.name) });
            }
        }
    }

    /// Checks a section of which another value was right.
    fn still_section(
        &mut self,
        section: &'static Section,
        node: &Node<'_>,
        (before, now): (&Tree, &Tree),
    ) {
        let (Value::Object(map), Some(pairs)) = (node.value, before.paired(now)) else {
            return self.section(section, node);
        };
        let count = self.errors.len();
        for (old, new) in pairs.into_iter().filter(|(a, b)| !Arc::ptr_eq(&a.tree, &b.tree)) {
            let Some(field) = section.fields.iter().find(|field| field.name == &*new.key) else {
                continue;
            };
            match map.get(field.name) {
                Some(value) if !value.is_null() => {
                    let node = Node { value, at: below(&node.at, field.name) };
                    self.still(&field.kind, &node, (&old.tree, &new.tree));
                }
                _ => self.field(field, map, &node.at),
            }
        }
        self.relations(section, &Fields::of(map, node.at.clone()), count);
    }

    /// Checks a value of which another one was right.
    fn still(&mut self, kind: &Kind, node: &Node<'_>, trees: (&Tree, &Tree)) {
        match (kind, node.value, trees.0.items(), trees.1.items()) {
            (Kind::Section(get), ..) => self.still_section(get(), node, trees),
            (Kind::Made(section, None), ..) => self.still_section(section, node, trees),
            (Kind::List(of, ..), Value::Array(items), Some(old), Some(new))
                if old.len() == new.len() =>
            {
                for (i, (value, (old, new))) in items.iter().zip(old.iter().zip(new)).enumerate() {
                    if !Arc::ptr_eq(old, new) {
                        self.still(of, &Node { value, at: item(&node.at, i) }, (old, new));
                    }
                }
            }
            _ => self.value(kind, node),
        }
    }

    /// Checks relations between fields if they are right. `before`: errors of other sections.
    fn relations(&mut self, section: &'static Section, fields: &Fields<'_>, before: usize) {
        if self.errors.len() > before {
            return;
        }
        if !section.one_of.is_empty() {
            self.one_of(&section.one_of, fields);
        }
        for rule in &section.rules {
            if self.errors.len() == before {
                self.errors.extend(rule(fields, self.context).err());
            }
        }
    }

    /// Reports unknown fields; returns true if there is one.
    fn unknown(&mut self, section: &Section, node: &Node<'_>, map: &Map<String, Value>) -> bool {
        let before = self.errors.len();
        let known = |name: &str| section.fields.iter().any(|field| field.name == name);
        for name in map.keys().filter(|name| !known(name)) {
            let names = section.names();
            if let Some(refusal) = (section.forbidden)(node, name) {
                self.errors.push(refusal);
                continue;
            }
            let hint = (section.hint)(name);
            let near =
                if hint.is_some() { None } else { nearest_name(name, names.iter().copied()) };
            let near = near.map(str::to_owned);
            let message =
                hint.map_or("unknown field".to_owned(), |hint| format!("unknown field; {hint}"));
            let refusal = Refusal::new(&below(&node.at, name), message).allowed(names.clone());
            self.errors.push(refusal.nearest(near).code(Code::UnknownField));
        }
        self.errors.len() > before
    }

    fn one_of(&mut self, names: &[&str], fields: &Fields<'_>) {
        let given: Vec<_> =
            names.iter().copied().filter(|name| fields.get(name).is_some()).collect();
        if given.len() != 1 {
            let found = if given.is_empty() { "none".to_owned() } else { given.join(" and ") };
            let refusal = Refusal::new(&fields.at, "exactly one of these is needed").found(found);
            self.errors.push(refusal.allowed(names.iter().copied()).code(Code::OneOf));
        }
    }

    fn short(&mut self, section: &'static Section, form: &Form, node: &Node<'_>) {
        match (form.expand)(node) {
            Ok(Expansion::Same) => self.section(section, node),
            Ok(Expansion::As(value)) => {
                self.section(section, &Node { value: &value, at: node.at.clone() });
            }
            Ok(Expansion::Done) => {}
            Err(refusal) => self.errors.push(refusal),
        }
    }

    fn value(&mut self, kind: &Kind, node: &Node<'_>) {
        match kind {
            Kind::Section(get) => self.section(get(), node),
            Kind::Short(get, form) => self.short(get(), form, node),
            Kind::Made(section, None) => self.section(section, node),
            Kind::Made(section, Some(form)) => self.short(section, form, node),
            Kind::List(of, least, most, or_one) => {
                let items = match node.value {
                    Value::Array(items) => items.as_slice(),
                    single if *or_one => std::slice::from_ref(single),
                    other => return self.kind(node, "should be a list", other),
                };
                self.length(items.len(), *least, *most, node);
                for (i, value) in items.iter().enumerate() {
                    self.value(of, &Node { value, at: item(&node.at, i) });
                }
            }
            Kind::Map(of, most) => {
                let Value::Object(map) = node.value else {
                    return self.kind(node, "should be a mapping", node.value);
                };
                self.length(map.len(), 0, *most, node);
                for (name, value) in map {
                    let key = Value::from(name.as_str());
                    let here = below(&node.at, name);
                    let key = Node { value: &key, at: here.clone() };
                    self.errors.extend(key.name().err());
                    let nothing = value.is_null() && matches!(**of, Kind::Section(_));
                    if !nothing {
                        self.value(of, &Node { value, at: here });
                    }
                }
            }
            Kind::Use if node.text() == Some("all") => {}
            Kind::Use => {
                self.value(&Kind::List(Box::new(Kind::Whole(1, 1000)), 0, 20_000, false), node);
            }
            Kind::Subflows if node.value.is_array() => {
                let each = Kind::List(Box::new(Kind::Section(subflow)), 0, 20_000, false);
                self.value(&each, node);
            }
            scalar => self.errors.extend(scalar_of(scalar, node, self.context).err()),
        }
    }

    fn kind(&mut self, node: &Node<'_>, message: &str, found: &Value) {
        let refusal = node.refusal(message).code(Code::FieldKind);
        let container = found.is_array() || found.is_object();
        self.errors.push(if container { refusal } else { refusal.found(shown(found)) });
    }

    fn length(&mut self, length: usize, least: usize, most: usize, node: &Node<'_>) {
        let message = match length {
            length if length < least => "has too few entries",
            length if length > most => "has too many entries",
            _ => return,
        };
        self.errors.push(node.refusal(message).code(Code::OutOfRange));
    }
}

fn scalar_of(kind: &Kind, node: &Node<'_>, context: &Context) -> Result<()> {
    match kind {
        Kind::Time => time(node).map(drop),
        Kind::PositiveTime => positive_time(node).map(drop),
        Kind::Rate => rate(node).map(drop),
        Kind::Size => size(node).map(drop),
        Kind::PositiveSize => positive_size(node).map(drop),
        Kind::Packets => packets(node).map(drop),
        Kind::Share => share(node).map(drop),
        Kind::NsNumber => sysctl(node, TIME).map(drop),
        Kind::BytesNumber => sysctl(node, SIZE).map(drop),
        Kind::Limits => limits(node).map(drop),
        Kind::PacketLimit => packet_limit(node).map(drop),
        Kind::Jitter => parse(node, &[TIME, RTT]).and_then(|(family, exact)| {
            let whole = family == TIME;
            if whole {
                crate::quantity::integer(node, family, exact).map(drop)
            } else {
                Ok(())
            }
        }),
        Kind::Codepoint => codepoint(node).map(drop),
        Kind::Overhead => signed_size(node).map(drop),
        Kind::Initial => initial(node),
        Kind::Sizes => crate::options::sizes(node).map(drop),
        Kind::ReceiveBuffer => crate::options::receive_buffer(node).map(drop),
        Kind::Name => node.name().map(drop),
        Kind::Flag => node.flag().map(drop),
        Kind::Text => text(node),
        Kind::Number => number(node).map(drop),
        Kind::Positive => positive(node),
        Kind::Bound => bound(node),
        Kind::Whole(least, most) => node.whole(*least, *most).map(drop),
        Kind::Even => even(node),
        Kind::Choice(names, what) => node.choice(names, what).map(drop),
        Kind::Algorithm => algorithm(node),
        Kind::SubflowAlgorithm => subflow_algorithm(node),
        Kind::Metric { worst } => metric(node, *worst, context),
        Kind::Command => crate::programs::command(node).map(drop),
        Kind::ProgramText => crate::programs::text(node).map(drop),
        Kind::Format => format(node),
        Kind::Subflows => node.whole(1, 64).map(drop),
        _ => Ok(()),
    }
}

fn refuse<T>(node: &Node<'_>, message: &str, code: Code) -> Result<T> {
    node.refusal(message).found(shown(node.value)).code(code).err()
}

fn initial(node: &Node<'_>) -> Result<()> {
    if matches!(node.text(), Some("full" | "empty" | "random")) {
        return Ok(());
    }
    let allowed = ["full", "empty", "random", "a size such as 1500 bytes"];
    size(node).map(drop).map_err(|refusal| Refusal { nearest: None, ..refusal }.allowed(allowed))
}

fn text(node: &Node<'_>) -> Result<()> {
    node.text().map_or_else(|| refuse(node, "should be text", Code::FieldKind), |_| Ok(()))
}

fn number(node: &Node<'_>) -> Result<f64> {
    let parsed = node.value.as_f64().or_else(|| node.text()?.trim().parse().ok());
    parsed.map_or_else(|| refuse(node, "should be a number", Code::FieldKind), Ok)
}

fn positive(node: &Node<'_>) -> Result<()> {
    match node.value.as_f64() {
        Some(number) if number > 0.0 => Ok(()),
        _ => refuse(node, "a number above 0 is needed", Code::OutOfRange),
    }
}

fn bound(node: &Node<'_>) -> Result<()> {
    if node.value.is_number() || parse(node, &[crate::quantity::SHARE]).is_ok() {
        return Ok(());
    }
    let message = "should be a number without the metric's unit; of a share also a percentage";
    node.refusal(message).found(shown(node.value)).allowed(["15", "0.95", "95 %"]).err()
}

fn even(node: &Node<'_>) -> Result<()> {
    const MOST: u64 = 32;
    match node.value.as_u64() {
        Some(ports) if (2..=MOST).contains(&ports) && ports % 2 == 0 => Ok(()),
        _ => refuse(node, "should be an even number from 2 to 32", Code::Template),
    }
}

fn algorithm(node: &Node<'_>) -> Result<()> {
    let (single, name) = (single(), node.text().unwrap_or_default());
    let own = plugins::names();
    if own.iter().any(|known| known == name) {
        return Ok(());
    }
    if !single.contains(&name) && every().contains(&name) {
        let message = format!(
            "{name} couples the subflows of a multipath connection (mptcp:); tcp has one path"
        );
        return node.refusal(message).found(name).allowed(single).err();
    }
    let own = own.iter().map(String::as_str);
    let known: Vec<_> = single.into_iter().chain(own).collect();
    node.choice(&known, "congestion control").map(drop)
}

fn needs(name: &str) -> bool {
    ENTRIES.iter().any(|entry| entry.name == name && entry.needs_ecn)
}

/// Congestion controls of subflows, which do not negotiate ECN.
pub(crate) fn of_subflows() -> Vec<&'static str> {
    every().into_iter().filter(|name| !needs(name)).collect()
}

fn subflow_algorithm(node: &Node<'_>) -> Result<()> {
    let known = of_subflows();
    match node.text() {
        Some(name) if plugins::names().iter().any(|own| own == name) => Ok(()),
        Some(name) if needs(name) => {
            let message = format!(
                "{name} needs ECN at both ends, which multipath connections do not negotiate"
            );
            node.refusal(message).found(name).allowed(known).err()
        }
        _ => node.choice(&known, "congestion control").map(drop),
    }
}

fn metric(node: &Node<'_>, worst: bool, context: &Context) -> Result<()> {
    let Some(metrics) = &context.metrics else { return text(node) };
    let name = node.text().unwrap_or_default();
    if metrics.contains_key(name) || (worst && WORST.iter().any(|(known, _)| *known == name)) {
        return Ok(());
    }
    let mut allowed: Vec<_> = metrics.values().map(|metric| metric.name.as_str()).collect();
    if worst {
        allowed.extend(WORST.iter().map(|(name, _)| *name));
    }
    allowed.sort_unstable();
    allowed.dedup();
    let what = if worst { "metric or worst case" } else { "metric" };
    node.choice(&allowed, what).map(drop)
}

fn format(node: &Node<'_>) -> Result<()> {
    match node.value.as_u64() {
        Some(1) => Ok(()),
        _ => node
            .refusal("unknown file format")
            .found(shown(node.value))
            .allowed(["1"])
            .code(Code::NotExperiment)
            .err(),
    }
}
