//! JSON Schema of experiment files, for editors.

use crate::fields::{experiment_file, sentence, Field, Form, Kind, Presence, Section};
use crate::quantity::{Family, BDP, PACKETS, RATE, RTT, SHARE, SIZE, TIME};
use dumbbell_model::catalogue::congestion_control;
use serde_json::{json, Map, Value};
use std::collections::BTreeMap;

/// Sections whose fields are the same in all cells.
const FIXED: &[&str] = &["dumbbell", "name", "description", "factors", "repeats", "seed", "search"];

/// JSON Schema (draft 2020-12). A reference to a factor is allowed in place of any value.
///
/// `metrics`: names of metrics.
pub fn json_schema(metrics: &[String]) -> Value {
    let mut made = Maker { metrics, defs: BTreeMap::new() };
    let root = made.section(experiment_file(), FIXED);
    let mut schema = Map::new();
    for (name, value) in [
        ("$schema", json!("https://json-schema.org/draft/2020-12/schema")),
        ("$id", json!("https://json.schemastore.org/dumbbell.json")),
        ("title", json!("Dumbbell experiment")),
        (
            "description",
            json!("An experiment with transport protocols, for the laboratory Dumbbell."),
        ),
    ] {
        schema.insert(name.to_owned(), value);
    }
    let defs: Map<String, Value> =
        made.defs.into_iter().map(|(name, one)| (name.to_owned(), one)).collect();
    schema.insert("$defs".to_owned(), defs.into());
    if let Value::Object(root) = root {
        schema
            .extend(root.into_iter().filter(|(name, _)| name != "title" && name != "description"));
    }
    schema.insert("examples".to_owned(), json!([example()]));
    schema.into()
}

fn example() -> Value {
    json!({
        "dumbbell": 1,
        "name": "two flows",
        "template": {
            "dumbbell": {"pairs": 2, "rate": "10 Mbit/s", "rtt": "$rtt", "buffer": "1 BDP"},
        },
        "flows": [
            {"name": "cubic", "from": "s1", "to": "d1", "tcp": "cubic"},
            {"name": "bbr", "from": "s2", "to": "d2", "tcp": "bbr", "start": "5 s"},
        ],
        "duration": "30 s",
        "factors": {"rtt": ["10 ms", "40 ms", "80 ms"]},
        "repeats": 10,
    })
}

fn reference() -> Value {
    json!({
        "type": "string",
        "pattern": r"\$(\{[^{}]+\}|[A-Za-z_])",
        "title": "Level of a factor",
    })
}

struct Maker<'m> {
    metrics: &'m [String],
    defs: BTreeMap<&'static str, Value>,
}

impl Maker<'_> {
    fn reference(&mut self, section: &'static Section) -> Value {
        if !self.defs.contains_key(section.name) {
            self.defs.insert(section.name, Value::Null); // it may hold itself
            let made = self.section(section, &[]);
            self.defs.insert(section.name, made);
        }
        json!({"$ref": format!("#/$defs/{}", section.name)})
    }

    fn section(&mut self, section: &'static Section, fixed: &[&str]) -> Value {
        let mut properties = Map::new();
        for field in &section.fields {
            properties.insert(field.name.to_owned(), self.field(field, fixed));
        }
        let needed: Vec<_> = section
            .fields
            .iter()
            .filter(|field| matches!(field.presence, Presence::Needed))
            .map(|field| field.name)
            .collect();
        let mut made = json!({
            "additionalProperties": false,
            "description": section.about,
            "properties": properties,
            "title": section.name,
            "type": "object",
        });
        if !needed.is_empty() {
            made["required"] = json!(needed);
        }
        if section.is_choice() {
            made["minProperties"] = 1.into();
            made["maxProperties"] = 1.into();
        }
        made
    }

    fn field(&mut self, field: &Field, fixed: &[&str]) -> Value {
        let mut made = self.kind(&field.kind);
        if matches!(field.presence, Presence::Optional) {
            made = either([made, json!({"type": "null"})]);
        }
        let mut made =
            if fixed.contains(&field.name) { made } else { json!({"anyOf": [made, reference()]}) };
        match &field.presence {
            Presence::Default(value) => made["default"] = value.clone(),
            Presence::Optional => made["default"] = Value::Null,
            Presence::Needed => {}
        }
        made["description"] = field.about.as_str().into();
        made
    }

    fn short(&mut self, section: &'static Section, form: &Form) -> Value {
        let mut short = (form.schema)();
        describe_names(&mut short);
        either([short, self.reference(section)])
    }

    fn kind(&mut self, kind: &Kind) -> Value {
        match kind {
            Kind::Section(get) => self.reference(get()),
            Kind::Short(get, form) => self.short(get(), form),
            Kind::Made(section, None) => self.reference(section),
            Kind::Made(section, Some(form)) => self.short(section, form),
            Kind::List(of, least, most, or_one) => {
                let item = self.kind(of);
                let mut list = json!({"type": "array", "items": {"anyOf": [item, reference()]}});
                if *least > 0 {
                    list["minItems"] = (*least).into();
                }
                list["maxItems"] = (*most).into();
                if *or_one {
                    either([list, item])
                } else {
                    list
                }
            }
            Kind::Map(of, _) => {
                let value = self.kind(of);
                let nothing = json!({"type": "null"});
                json!({
                    "type": "object",
                    "additionalProperties": {"anyOf": [value, nothing, reference()]},
                })
            }
            Kind::Subflows => {
                let each = self.reference(crate::fields::subflow());
                let number = json!({"type": "integer", "minimum": 1, "maximum": 64});
                either([number, json!({"type": "array", "items": each})])
            }
            Kind::Metric { worst } => {
                let mut names: Vec<&str> = self.metrics.iter().map(String::as_str).collect();
                if *worst {
                    names.extend(crate::fields::WORST.iter().map(|(name, _)| *name));
                }
                names.sort_unstable();
                names.dedup();
                json!({"type": "string", "enum": names})
            }
            scalar => {
                let mut made = scalar_schema(scalar);
                describe_names(&mut made);
                made
            }
        }
    }
}

fn either(parts: [Value; 2]) -> Value {
    let mut all = Vec::new();
    for part in parts {
        match part {
            Value::Object(mut map) if map.len() == 1 && map.contains_key("anyOf") => {
                if let Some(Value::Array(inner)) = map.remove("anyOf") {
                    all.extend(inner);
                }
            }
            other => all.push(other),
        }
    }
    json!({ "anyOf": all })
}

/// A built-in congestion control, or a plug-in by its name. A schema cannot know the plug-ins of a file: a
/// name that begins as a built-in's is taken for a mistake.
pub(crate) fn algorithms(known: &[&'static str]) -> Value {
    let mut built_in = json!({"enum": known});
    describe_names(&mut built_in);
    let begins: Vec<&str> = known.iter().map(|name| name.get(..3).unwrap_or(name)).collect();
    let own = format!("^(?!{})[A-Za-z][^ ]*$", begins.join("|"));
    let names: Vec<String> = known.iter().map(|name| format!("\"{name}\"")).collect();
    let said = format!("unknown congestion control; known: {}", names.join(", "));
    json!({"anyOf": [
        built_in, {"type": "string", "pattern": own, "patternErrorMessage": said},
    ]})
}

/// Adds a description to each name of a congestion control, where an editor completes it.
fn describe_names(part: &mut Value) {
    let known = congestion_control::ENTRIES;
    let Some(Value::Array(names)) = part.get("enum") else { return };
    let found: Option<Vec<String>> = names
        .iter()
        .map(|name| {
            let entry = known.iter().find(|entry| Some(entry.name) == name.as_str())?;
            Some(format!("{}. {}", entry.title, sentence(entry.about)))
        })
        .collect();
    if let Some(found) = found {
        part["enumDescriptions"] = json!(found);
    }
}

/// Schema of a quantity. Letter case is free, for which patterns of JSON Schema have no sign.
fn quantity(title: &str, families: &[Family], examples: &[&str], positive: bool) -> Value {
    let mut units: Vec<String> = families
        .iter()
        .flat_map(|family| family.units)
        .map(|(unit, _)| unit.to_lowercase())
        .collect();
    units.sort();
    units.dedup();
    let any_case = |unit: &String| -> String {
        unit.chars()
            .map(|c| match c {
                c if c.is_ascii_alphabetic() => format!("[{}{c}]", c.to_ascii_uppercase()),
                c => c.to_string(),
            })
            .collect()
    };
    let units: Vec<_> = units.iter().map(any_case).collect();
    let above = if positive { r"(?![0._]+([eE][-+]?[0-9]+)?\s*[^0-9.])" } else { "" };
    let pattern = format!(
        r"^\s*{above}[0-9][0-9_]*(\.[0-9]+)?([eE][-+]?[0-9]+)?\s*({})\s*$",
        units.join("|")
    );
    json!({"type": "string", "pattern": pattern, "title": title, "examples": examples})
}

fn limit() -> Value {
    let units = [PACKETS, SIZE, BDP, TIME];
    let examples = ["100 packets", "64 KiB", "1 BDP", "50 ms"];
    json!({"anyOf": [
        quantity("Queue limit", &units, &examples, true),
        {
            "type": "string", "title": "Queue limit", "examples": ["1 BDP of flow1"],
            "pattern": r"^\s*[0-9][0-9.]*\s*[Bb][Dd][Pp] of ",
        },
    ]})
}

fn scalar_schema(kind: &Kind) -> Value {
    let times = ["10 ms", "5 s", "20 us"];
    let text = || json!({"type": "string"});
    let names = |names: &[&str]| json!({"type": "string", "enum": names});
    match kind {
        Kind::Time => quantity("Time", &[TIME], &times, false),
        Kind::PositiveTime => quantity("Time", &[TIME], &times, true),
        Kind::Rate => quantity("Rate", &[RATE], &["10 Mbit/s", "2.4 Gbit/s"], true),
        Kind::Size => quantity("Size", &[SIZE], &["1500 bytes", "5 KiB", "1 MiB"], false),
        Kind::PositiveSize => quantity("Size", &[SIZE], &["1500 bytes", "5 KiB"], true),
        Kind::Packets => quantity("Number of packets", &[PACKETS], &["1000 packets"], true),
        Kind::Share => quantity("Share", &[SHARE], &["1 %", "0.1 %", "50 ppm"], false),
        Kind::NsNumber | Kind::BytesNumber => {
            json!({"anyOf": [{"type": "integer", "minimum": 0}, {"type": "string"}]})
        }
        Kind::Limits => json!({"anyOf": [
            limit(), {"type": "array", "items": limit(), "minItems": 1, "maxItems": 2},
        ]}),
        Kind::PacketLimit => limit(),
        Kind::Jitter => quantity("Jitter", &[TIME, RTT], &["1 RTT", "10 ms"], false),
        Kind::Codepoint => json!({"anyOf": [
            {"enum": crate::queue::codepoint_names()}, {"type": "integer", "maximum": 63},
        ]}),
        Kind::Overhead => json!({"type": "string", "examples": ["24 bytes", "-4 bytes"]}),
        Kind::Initial => {
            json!({"type": "string", "examples": ["full", "empty", "random", "1500 bytes"]})
        }
        Kind::Sizes => json!({"anyOf": [
            {"type": "array", "minItems": 3, "maxItems": 3}, {"type": "string"},
        ]}),
        Kind::ReceiveBuffer => json!({"anyOf": [
            {"enum": ["pages", "small_head", "copied"]},
            {"type": "string", "examples": ["2304 bytes"]},
        ]}),
        Kind::Name => json!({"type": "string", "minLength": 1}),
        Kind::Flag => json!({"enum": [true, false, 0, 1]}),
        Kind::Number => json!({"type": "number"}),
        Kind::Positive => json!({"type": "number", "exclusiveMinimum": 0}),
        Kind::Bound => json!({"anyOf": [
            {"type": "number"}, {"type": "string", "pattern": "^[0-9.]+ *(%|ppm)$"},
        ]}),
        Kind::Whole(least, most) => {
            json!({"type": "integer", "minimum": *least as i64, "maximum": *most as i64})
        }
        Kind::Even => json!({"type": "integer", "minimum": 2, "maximum": 32, "multipleOf": 2}),
        Kind::Choice(known, _) => names(known),
        Kind::Algorithm => algorithms(&crate::fields::single()),
        Kind::SubflowAlgorithm => algorithms(&crate::check::of_subflows()),
        Kind::Command => json!({"anyOf": [
            {"type": "string", "minLength": 1},
            {"type": "array", "items": {"type": "string"}, "minItems": 1},
        ]}),
        Kind::Format => json!({"const": 1}),
        Kind::Factors => factors(),
        Kind::Space => space(),
        Kind::Use => json!({"anyOf": [
            {"const": "all"},
            {"type": "array", "items": {"type": "integer", "minimum": 1, "maximum": 1000}},
        ]}),
        _ => text(),
    }
}

fn path() -> Value {
    json!({
        "anyOf": [{"type": "string"}, {"type": "array"}],
        "description": "Field, or list of fields, that the factor sets, as flows[0].tcp.",
    })
}

fn factors() -> Value {
    let levels = json!({"type": "array", "minItems": 1});
    let mut described = levels.clone();
    described["description"] = "Levels of the factor.".into();
    let grid = json!({"type": "object", "additionalProperties": {"anyOf": [
        levels,
        {
            "type": "object",
            "properties": {"levels": described, "path": path()},
            "required": ["levels"],
            "additionalProperties": false,
        },
    ]}});
    let with = |mut value: Value, about: &str| {
        value["description"] = about.into();
        value
    };
    json!({"anyOf": [
        {
            "type": "object",
            "properties": {
                "grid": with(grid.clone(), "Factors, every combination of which is run."),
                "zip": {
                    "anyOf": [grid, {"type": "array", "items": grid}],
                    "description":
                        "Factors with the same number of levels, paired in order. A list holds several such groups.",
                },
                "points": {
                    "type": "array", "items": {"type": "object"}, "minItems": 1,
                    "description": "Combinations of levels, each with the same factors.",
                },
            },
            "additionalProperties": false,
        },
        grid,
    ]})
}

fn space() -> Value {
    let end = |about: &str| json!({"type": ["string", "number"], "description": about});
    let levels = json!({"type": "array", "minItems": 1});
    let values = json!({"type": "array", "minItems": 1, "description": "Values to choose from."});
    json!({"type": "object", "minProperties": 1, "additionalProperties": {"anyOf": [
        levels,
        {
            "type": "object",
            "properties": {"levels": values, "path": path()},
            "required": ["levels"],
            "additionalProperties": false,
        },
        {
            "type": "object",
            "properties": {
                "from": end("Lower end of the range."),
                "to": end("Upper end of the range."),
                "scale": {"enum": ["linear", "log"], "description": "Scale of the range: linear or log."},
                "start": end("Value without a search."),
                "path": path(),
            },
            "required": ["from", "to"],
            "additionalProperties": false,
        },
    ]}})
}
