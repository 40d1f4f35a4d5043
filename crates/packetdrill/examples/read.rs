//! Reads scripts and says what is wrong in them.
#![allow(clippy::print_stdout)]
use dumbbell_packetdrill::{Script, Settings, settings::Version};
fn main() {
    for path in std::env::args().skip(1) {
        let text = std::fs::read_to_string(&path).unwrap_or_default();
        match Script::parse(&text, &[]) {
            Ok(s) => { let v = Settings::version(&s.options); if let Err(w) = v.and_then(|v| Settings::of(v.unwrap_or(Version::V4)).apply(&s.options)) { println!("{path}: {w}") } }
            Err(w) => println!("{path}: {w}"),
        }
    }
}
