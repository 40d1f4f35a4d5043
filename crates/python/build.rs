//! Derives the simulator's version from what it is made of.

fn main() -> std::io::Result<()> {
    dumbbell_identity::tell_cargo("dumbbell-sim", "DUMBBELL_SIM_SOURCES")
}
