//! Sets the simulator's version to a hash of its sources.

fn main() -> std::io::Result<()> {
    dumbbell_identity::set_cargo_variable("dumbbell-sim", "DUMBBELL_SIM_SOURCES")
}
