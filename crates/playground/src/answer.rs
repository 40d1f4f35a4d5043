//! Answers to the requests of a page, as JSON.
//!
//! Request: `{"file": …, "levels": {factor: index}, "run": true}`. Answer: `factors`, and `tables`,
//! `digest`, `seed`, or `error` with `at` (steps), `message` and `elsewhere` (the command line takes
//! it).

use dumbbell_experiment::{expand, factors, Expanded, Refusal, Step};
use dumbbell_model::tables::{Kind, Table};
use dumbbell_model::units::Time;
use dumbbell_sim::Monitor;
use serde_json::{json, Map, Value};
use std::collections::BTreeMap;

/// Most events of a run in a page, estimated: some ten seconds of a browser.
pub const MOST_EVENTS: f64 = 2e7;
/// Most memory of a run in a page, estimated.
const MOST_BYTES: f64 = 5e8;

/// Tables that a page shows.
const SHOWN: &[&str] = &["flows", "samples", "queues", "pipes", "probes"];

struct Endless;

impl Monitor for Endless {
    fn progress(&self, _: Time) -> bool {
        true
    }
}

fn refused(refusal: &Refusal) -> Value {
    let step = |step: &Step| match step {
        Step::Field(name) => Value::from(name.as_str()),
        Step::Index(index) => Value::from(*index),
    };
    let at: Vec<_> = refusal.at.iter().map(step).collect();
    json!({"at": at, "message": refusal.message, "elsewhere": refusal.elsewhere})
}

fn failed(message: impl Into<String>) -> Value {
    json!({"at": [], "message": message.into(), "elsewhere": false})
}

/// Columns of a table by name.
fn columns(table: &Table) -> Value {
    use dumbbell_model::tables::Column;
    let mut out = Map::new();
    for (spec, column) in table.spec.columns.iter().zip(&table.columns) {
        let values: Value = match (spec.kind, column) {
            (Kind::Int, Column::Int(values)) => values.to_vec().into(),
            (Kind::Float, Column::Float(values)) => values.to_vec().into(),
            (Kind::Text, Column::Text(values)) => values.to_vec().into(),
            _ => Value::Null,
        };
        out.insert(spec.name.to_owned(), values);
    }
    Value::Object(out)
}

/// Refuses what would hold a page for too long.
fn within_bounds(cell: &Expanded) -> Result<(), Value> {
    let cost = dumbbell_sim::budget(&cell.scenario).map_err(|error| failed(error.to_string()))?;
    if cost.events > MOST_EVENTS || cost.memory_bytes > MOST_BYTES {
        let millions = (cost.events / 1e6).ceil();
        let most = MOST_EVENTS / 1e6;
        return Err(json!({
            "at": ["duration"],
            "message": format!(
                "about {millions} million events, too many for a page (at most {most} million); \
                 the command line runs it"
            ),
            "elsewhere": true,
        }));
    }
    Ok(())
}

fn run(request: &Value, out: &mut Map<String, Value>) -> Result<(), Value> {
    let file = request.get("file").unwrap_or(&Value::Null);
    let found = factors(file).map_err(|refusal| refused(&refusal))?;
    let described = found.iter().map(|factor| {
        let labels: Vec<_> = factor.levels.iter().map(|(label, _)| label.as_str()).collect();
        json!({"name": factor.name, "levels": labels, "group": factor.group})
    });
    out.insert("factors".to_owned(), described.collect());
    let levels = request.get("levels").and_then(Value::as_object);
    let levels: BTreeMap<String, usize> = levels
        .into_iter()
        .flatten()
        .map(|(name, index)| (name.clone(), index.as_u64().unwrap_or(0) as usize))
        .collect();
    let cell = expand(file, &levels).map_err(|refusal| refused(&refusal))?;
    within_bounds(&cell)?;
    if request.get("run") != Some(&Value::Bool(true)) {
        return Ok(());
    }
    let output = dumbbell_sim::run(&cell.scenario, cell.seed, &Endless)
        .map_err(|error| failed(error.to_string()))?;
    let shown = output.tables.iter().filter(|table| SHOWN.contains(&table.spec.name));
    let tables: Map<String, Value> =
        shown.map(|table| (table.spec.name.to_owned(), columns(table))).collect();
    out.insert("tables".to_owned(), tables.into());
    out.insert("digest".to_owned(), output.digest.into());
    out.insert("seed".to_owned(), cell.seed.into());
    out.insert("duration_ns".to_owned(), cell.json["duration_ns"].clone());
    out.insert("packets".to_owned(), output.packets.into());
    out.insert("events".to_owned(), output.events.into());
    out.insert("scenario".to_owned(), cell.json);
    Ok(())
}

/// Answer to a request.
pub fn answer(request: &str) -> String {
    let mut out = Map::new();
    match serde_json::from_str(request) {
        Ok(request) => {
            if let Err(error) = run(&request, &mut out) {
                out.insert("error".to_owned(), error);
            }
        }
        Err(error) => {
            out.insert("error".to_owned(), failed(error.to_string()));
        }
    }
    Value::Object(out).to_string()
}
