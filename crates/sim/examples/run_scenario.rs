//! Runs a scenario file and prints its `flows` table: `run_scenario FILE [SEED]`.
#![allow(clippy::print_stdout, clippy::disallowed_methods, clippy::disallowed_types)]

use dumbbell_model::tables::{Column, Table};
use dumbbell_model::{Scenario, Time};
use dumbbell_sim::Monitor;

struct Silent;
impl Monitor for Silent {
    fn progress(&self, _now: Time) -> bool {
        true
    }
}

fn print(table: &Table) {
    let columns: Vec<Vec<String>> = table.columns.iter().map(texts).collect();
    for row in 0..table.rows() {
        for (spec, values) in table.spec.columns.iter().zip(&columns) {
            print!("{}={} ", spec.name, values[row]);
        }
        println!();
    }
}

fn texts(column: &Column) -> Vec<String> {
    match column {
        Column::Int(values) => values.to_vec().iter().map(i64::to_string).collect(),
        Column::Float(values) => values.to_vec().iter().map(f64::to_string).collect(),
        Column::Text(values) => values.to_vec(),
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let file = arguments.next().ok_or("usage: run_scenario FILE [SEED]")?;
    let seed = arguments.next().map_or(Ok(1), |seed| seed.parse())?;
    let tables_wanted: usize = arguments.next().map_or(Ok(2), |n| n.parse())?;
    let scenario = Scenario::from_json(&std::fs::read_to_string(file)?)?;
    let start = std::time::Instant::now();
    let output = dumbbell_sim::run(&scenario, seed, &Silent)?;
    let wall = start.elapsed();
    output.tables.iter().take(tables_wanted).for_each(print);
    println!(
        "digest={} packets={} events={} wall={:.3}s",
        output.digest,
        output.packets,
        output.events,
        wall.as_secs_f64()
    );
    Ok(())
}
