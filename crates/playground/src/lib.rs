//! The simulator for pages without Python or network: an experiment file (parsed, as JSON) goes in,
//! result tables (JSON) come out. One run at a time; no clock, no thread.

mod answer;
#[cfg(target_arch = "wasm32")]
pub mod exports;

pub use answer::{answer, MOST_EVENTS};
