//! Answers to the requests of a page, as JSON.
//!
//! Request: `{"file": …, "levels": {factor: index}, "run": true}`. Answer: `factors`, and `tables`,
//! `digest`, `seed`, or `error` with `at` (steps), `message` and `elsewhere` (the command line takes
//! it).

use dumbbell_experiment::{Context, Experiment, Factors, Located, NoFiles, Tree};
use dumbbell_model::tables::{Kind, Table};
use dumbbell_model::units::Time;
use dumbbell_model::Scenario;
use dumbbell_sim::Monitor;
use serde_json::{json, Map, Value};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Most events of a run in a page, estimated: some ten seconds of a browser.
pub const MOST_EVENTS: f64 = 2e7;
/// Most memory of a run in a page, estimated.
const MOST_BYTES: f64 = 5e8;

/// Most flows of a page: a browser draws each.
const MOST_FLOWS: u64 = 1000;
/// Sections of a file that need more than a page has.
const BEYOND: [&str; 3] = ["programs", "plugins", "search"];

/// Tables that a page shows.
const SHOWN: &[&str] = &["flows", "samples", "queues", "pipes", "probes"];

struct Endless;

impl Monitor for Endless {
    fn progress(&self, _: Time) -> bool {
        true
    }
}

/// Steps of a path such as `flows[1].tcp`.
fn steps(field: &str) -> Vec<Value> {
    let parts = field.split(['.', '[', ']']).filter(|part| !part.is_empty());
    parts.map(|part| part.parse::<usize>().map_or_else(|_| part.into(), Value::from)).collect()
}

fn refused(errors: &[Located]) -> Value {
    let Some(error) = errors.first() else { return failed("the file is wrong") };
    json!({
        "at": steps(&error.field), "message": error.sentence(), "elsewhere": error.elsewhere,
    })
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

/// Refuses what needs more than a page has.
fn within_reach(file: &Value) -> Result<(), Value> {
    let beyond = BEYOND.into_iter().find(|name| !file[*name].is_null());
    beyond.map_or(Ok(()), |name| {
        let message = format!("`{name}` is not in the playground; the command line runs it");
        Err(json!({"at": [name], "message": message, "elsewhere": true}))
    })
}

/// Refuses what would hold a page for too long.
fn within_bounds(scenario: &Scenario) -> Result<(), Value> {
    let cost = dumbbell_sim::budget(scenario).map_err(|error| failed(error.to_string()))?;
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

/// Factors with the labels of their levels. Those of a group change together.
fn described(factors: &Factors) -> Value {
    let mut found = Vec::new();
    for (number, group) in factors.groups.iter().enumerate() {
        for (i, name) in group.names.iter().enumerate() {
            let labels: Vec<_> = group.rows.iter().map(|row| row[i].label.as_str()).collect();
            found.push(json!({"name": name, "levels": labels, "group": number}));
        }
    }
    found.into()
}

/// Number of the cell with these indices of levels, by factor; the first where none is given.
fn number(factors: &Factors, levels: &Value) -> u64 {
    factors.groups.iter().fold(0, |number, group| {
        let index = group.names.iter().find_map(|name| levels[name].as_u64()).unwrap_or(0);
        let count = group.rows.len() as u64;
        number * count + index.min(count.saturating_sub(1))
    })
}

fn run(request: &Value, out: &mut Map<String, Value>) -> Result<(), Value> {
    let file = request.get("file").unwrap_or(&Value::Null);
    within_reach(file)?;
    let no_start = |_: &str, _: &Tree, _: u32| Err(Located::default());
    let root = Arc::new(Tree::of_value(file));
    let experiment = Experiment::open(root, &[], BTreeSet::new(), &no_start, Context::default());
    let experiment = experiment.map_err(|error| refused(&[error]))?;
    let factors = &experiment.design.factors;
    out.insert("factors".to_owned(), described(factors));
    let number = number(factors, request.get("levels").unwrap_or(&Value::Null));
    let cell = experiment.cell_within(number, &NoFiles, Some(MOST_FLOWS));
    let cell = cell.map_err(|errors| refused(&errors))?;
    let scenario = cell.scenario().map_err(|error| failed(error.to_string()))?;
    within_bounds(&scenario)?;
    if request.get("run") != Some(&Value::Bool(true)) {
        return Ok(());
    }
    let output = dumbbell_sim::run(&scenario, cell.seed, &Endless)
        .map_err(|error| failed(error.to_string()))?;
    let shown = output.tables.iter().filter(|table| SHOWN.contains(&table.spec.name));
    let tables: Map<String, Value> =
        shown.map(|table| (table.spec.name.to_owned(), columns(table))).collect();
    out.insert("tables".to_owned(), tables.into());
    out.insert("digest".to_owned(), output.digest.into());
    out.insert("seed".to_owned(), cell.seed.into());
    out.insert("duration_ns".to_owned(), cell.duration_ns().into());
    out.insert("packets".to_owned(), output.packets.into());
    out.insert("events".to_owned(), output.events.into());
    out.insert("scenario".to_owned(), cell.json());
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
