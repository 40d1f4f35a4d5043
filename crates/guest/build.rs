//! Derives this program's version from what it is made of.

fn main() -> std::io::Result<()> {
    dumbbell_identity::set_cargo_variable("dumbbell-guest", "DUMBBELL_GUEST_SOURCES")
}
