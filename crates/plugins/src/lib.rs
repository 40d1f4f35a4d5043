//! Plug-ins as the simulator uses them: shared libraries with the table of `dumbbell-plugin`. Whatever a
//! plug-in returns is checked; a run ends with the first failure. A crash or an endless loop inside a
//! library cannot be stopped in its process: [`Page`] tells another process where the run was.

mod bounds;
mod described;
mod library;
mod native;
mod page;
mod phases;
mod run;
mod stacks;

pub use bounds::{packets, window};
pub use described::{properties, Described};
pub use library::Library;
pub use page::{Page, PAGE_BYTES};
pub use phases::kept;
pub use run::{Logs, Maker, Makers, RunPlugins, Stacks, Told};
