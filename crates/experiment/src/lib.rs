//! Experiment files to scenarios, for pages without Python. A documented subset: what a file holds
//! beyond it is refused by name. Whatever is taken gives the scenario that `dumbbell/experiment` gives
//! (`tests/playground/test_expansion.py`). The file is parsed already; there is no I/O.

mod build;
mod factors;
mod flow;
mod limit;
mod link;
mod node;
mod options;
mod pipe;
mod quantity;
mod queue;
mod read;
mod sampling;
mod template;

pub use build::{expand, Expanded};
pub use factors::{factors, Factor};
pub use read::{Loc, Refusal, Step};
use serde_json::Value;

/// A mapping of experiment files: fields that the playground takes, and fields that only the command
/// line takes.
#[derive(Clone, Copy, Debug)]
pub struct Section {
    /// Name for the documentation.
    pub name: &'static str,
    /// Fields that the playground takes.
    pub taken: &'static [&'static str],
    /// Fields that it refuses by name.
    pub refused: &'static [&'static str],
}

/// Fields that the playground refuses by name, by mapping.
pub const SECTIONS: &[Section] =
    &[build::FILE, template::KINDS, link::LINK, pipe::PIPE, pipe::TRACE, flow::FLOW];

/// The fields of [`SECTIONS`] as JSON.
pub fn sections() -> Value {
    let one = |section: &Section| {
        serde_json::json!({
            "name": section.name, "taken": section.taken, "refused": section.refused,
        })
    };
    SECTIONS.iter().map(one).collect()
}
