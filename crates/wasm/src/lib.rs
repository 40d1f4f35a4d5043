//! Plug-ins that are WebAssembly modules: the table of `dumbbell-plugin` with pointers of 32 bits, in the
//! memory of the module. A module may import nothing. It has limits of memory, stack and instructions, and
//! no instruction whose result depends on the processor.

mod area;
mod control;
mod engine;
mod hooks;
mod instance;
mod module;
mod view;

pub use module::Module;
