//! Derives this program's version from what it is made of.

fn main() -> std::io::Result<()> {
    dumbbell_identity::tell_cargo("dumbbell-guest", "DUMBBELL_GUEST_SOURCES")
}
