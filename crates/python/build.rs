//! Sets the simulator's version to a hash of its sources.

fn main() -> std::io::Result<()> {
    dumbbell_identity::tell_cargo("dumbbell-sim", "DUMBBELL_SIM_SOURCES")
}
