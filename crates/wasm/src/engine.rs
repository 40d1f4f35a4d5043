//! The engine, and the limits of a module.

use std::sync::OnceLock;
use wasmtime::{Config, Engine, Error, ResourceLimiter, Trap};

/// Largest file of a module, bytes.
pub(crate) const MOST_FILE_BYTES: usize = 8 << 20;
/// Largest memory of an instance, bytes. The area of the caller is part of it.
pub(crate) const MOST_MEMORY_BYTES: usize = 16 << 20;
/// Instructions that a hook may execute.
pub(crate) const MOST_INSTRUCTIONS: u64 = 100_000_000;
/// Stack of a hook, bytes.
const STACK_BYTES: usize = 512 << 10;
/// Entries of the table of functions.
const MOST_FUNCTIONS: usize = 65_536;

/// The engine of this process.
///
/// # Errors
/// There is none for this processor.
pub(crate) fn engine() -> Result<&'static Engine, String> {
    static ENGINE: OnceLock<Result<Engine, String>> = OnceLock::new();
    let made = ENGINE.get_or_init(|| Engine::new(&config()).map_err(|error| words(&error)));
    made.as_ref().map_err(Clone::clone)
}

fn config() -> Config {
    let mut config = Config::new();
    // Results do not depend on the processor.
    config.consume_fuel(true).cranelift_nan_canonicalization(true);
    config.wasm_simd(false).wasm_relaxed_simd(false);
    // What no compiler writes by default.
    config.wasm_memory64(false).wasm_multi_memory(false).wasm_tail_call(false);
    config.max_wasm_stack(STACK_BYTES).wasm_backtrace(false);
    // A flow has an instance: its memory takes no more addresses than it has bytes.
    config.memory_reservation(0).memory_reservation_for_growth(0).memory_guard_size(0);
    config.guard_before_linear_memory(false).memory_init_cow(false);
    config
}

/// Limits of an instance. A module that wants more fails, so that no result depends on the machine's memory.
pub(crate) struct Limits;

impl ResourceLimiter for Limits {
    fn memory_growing(
        &mut self,
        _current: usize,
        desired: usize,
        declared: Option<usize>,
    ) -> wasmtime::Result<bool> {
        if desired > MOST_MEMORY_BYTES {
            let text =
                format!("it asked for {desired} bytes of memory; allowed are {MOST_MEMORY_BYTES}");
            return Err(Error::msg(text));
        }
        Ok(declared.is_none_or(|most| desired <= most))
    }

    fn memory_grow_failed(&mut self, error: Error) -> wasmtime::Result<()> {
        Err(error)
    }

    fn table_growing(
        &mut self,
        _current: usize,
        desired: usize,
        declared: Option<usize>,
    ) -> wasmtime::Result<bool> {
        Ok(desired <= MOST_FUNCTIONS && declared.is_none_or(|most| desired <= most))
    }

    fn instances(&self) -> usize {
        1
    }

    fn tables(&self) -> usize {
        8
    }

    fn memories(&self) -> usize {
        1
    }
}

/// What an error says.
pub(crate) fn words(error: &Error) -> String {
    match error.downcast_ref::<Trap>() {
        Some(Trap::OutOfFuel) => {
            format!("it did not return within {MOST_INSTRUCTIONS} instructions")
        }
        Some(Trap::StackOverflow) => {
            format!("it used more than {STACK_BYTES} bytes of stack")
        }
        Some(Trap::MemoryOutOfBounds) => "it used an address outside of its memory".to_owned(),
        Some(Trap::UnreachableCodeReached) => "it reached an instruction unreachable".to_owned(),
        Some(trap) => trap.to_string(),
        None => error.root_cause().to_string().lines().next().unwrap_or_default().to_owned(),
    }
}
