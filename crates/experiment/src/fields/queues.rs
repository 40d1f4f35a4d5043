//! Fields of queues.

use crate::fields::{def, list, need, opt, rules, section, sections, Form, Kind, Section};
use crate::fields::{of_parameter, sentence};
use crate::queue::default_of;
use dumbbell_model::catalogue::discipline::{Entry, ENTRIES};
use dumbbell_model::catalogue::parameter::{Default as Given, Parameter};
use serde_json::json;

/// A classless discipline with the parameters of its entry in the catalogue.
fn listed(entry: &'static Entry) -> &'static Section {
    let field = |one: &Parameter| match one.default {
        Given::Derived(_) | Given::Required => {
            opt(one.name, of_parameter(one, false), &sentence(one.about))
        }
        Given::Given(_) => {
            def(one.name, of_parameter(one, false), default_of(one), &sentence(one.about))
        }
    };
    let name: &'static str = format!("{}Spec", entry.variant).leak();
    let about = format!("{}. {}", entry.title, entry.about);
    let fields = entry.parameters.iter().map(field).collect();
    Box::leak(Box::new(section(name, &about, fields).forbidden(rules::no_child)))
}

/// All disciplines by name.
fn disciplines() -> Section {
    let kind = |entry: &'static Entry| match entry.name {
        "prio" => Kind::Section(prio),
        "drr" => Kind::Section(drr),
        "htb" => Kind::Section(htb),
        _ => Kind::Made(listed(entry), None),
    };
    let about = |entry: &Entry| format!("{}. {}", entry.title, sentence(entry.about));
    let fields = ENTRIES.iter().map(|entry| opt(entry.name, kind(entry), &about(entry))).collect();
    let names: Vec<_> = ENTRIES.iter().map(|entry| entry.name).collect();
    section("QueueSpec", "A queue or a queue discipline, by its name in `tc`.", fields)
        .one_of(&names)
}

sections! {
    queue = disciplines();
    band = section("BandSpec", "A band of prio. The band without codepoints takes all other packets.", vec![
        opt("dscp", list(Kind::Codepoint, 1, 64, true), "Codepoints of packets of this band. One band without codepoints takes all others."),
        opt("queue", Kind::Short(queue, Form::QUEUE), "Queue discipline of this band."),
    ]);
    prio = section("PrioSpec", "Strict priority. The first band is served first.", vec![
        need("bands", list(Kind::Section(band), 1, 16, false), "Bands, highest priority first."),
    ]);
    drr_class = section("DrrClassSpec", "A class of DRR.", vec![
        opt("dscp", list(Kind::Codepoint, 1, 64, true), "Codepoints of packets of this band. One band without codepoints takes all others."),
        opt("queue", Kind::Short(queue, Form::QUEUE), "Queue discipline of this band."),
        def("quantum", Kind::PositiveSize, json!(1514), "Bytes that the class may send in its turn."),
    ]);
    drr = section("DrrSpec", "Deficit Round Robin (Shreedhar and Varghese 1995).", vec![
        need("classes", list(Kind::Section(drr_class), 1, 16, false), "Classes, each with its codepoints, quantum and queue."),
    ]);
    htb_class = section("HtbClassSpec", "A class of HTB.", vec![
        opt("dscp", list(Kind::Codepoint, 1, 64, true), "Codepoints of packets of this band. One band without codepoints takes all others."),
        opt("queue", Kind::Short(queue, Form::QUEUE), "Queue discipline of this band."),
        need("rate", Kind::Rate, "Rate that the class has for itself."),
        opt("ceil", Kind::Rate, "Rate that the class may reach by borrowing."),
        def("burst", Kind::PositiveSize, json!(1600), "Burst at the rate."),
        def("cburst", Kind::PositiveSize, json!(1600), "Burst at the ceiling."),
        def("prio", Kind::Whole(0, 7), json!(0), "Priority among classes that borrow; 0 is the highest."),
        def("quantum", Kind::PositiveSize, json!(1514), "Bytes that the class may send in its turn."),
    ]);
    htb = section("HtbSpec", "Hierarchy Token Bucket: one queue, or classes that share the rate.", vec![
        need("rate", Kind::Rate, "Rate of the root class."),
        def("burst", Kind::PositiveSize, json!(1600), "Burst of the root class."),
        opt("queue", Kind::Short(queue, Form::QUEUE), "Queue discipline of the only class."),
        opt("classes", list(Kind::Section(htb_class), 1, 16, false), "Classes, each with its codepoints, rates and queue."),
    ]).rule(rules::htb);
}
