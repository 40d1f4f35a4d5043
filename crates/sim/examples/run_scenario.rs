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
    for row in 0..table.columns.first().map_or(0, rows) {
        for (spec, column) in table.spec.columns.iter().zip(&table.columns) {
            let value = match column {
                Column::Int(v) => v[row].to_string(),
                Column::Float(v) => v[row].to_string(),
                Column::Text(v) => v[row].clone(),
            };
            print!("{}={value} ", spec.name);
        }
        println!();
    }
}

fn rows(column: &Column) -> usize {
    match column {
        Column::Int(v) => v.len(),
        Column::Float(v) => v.len(),
        Column::Text(v) => v.len(),
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
