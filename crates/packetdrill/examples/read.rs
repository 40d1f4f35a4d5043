//! Reads scripts and says what is wrong in them.
#![allow(clippy::print_stdout)]
use dumbbell_packetdrill::{Script, Settings, settings::Version};
fn main() {
    for path in std::env::args().skip(1) {
        let text = std::fs::read_to_string(&path).unwrap_or_default();
        match Script::parse(&text, &[], Version::V4) {
            Ok(s) => { if let Err(w) = Settings::of(s.version).apply(&s.options) { println!("{path}: {w}") } }
            Err(w) => println!("{path}: {w}"),
        }
    }
}
