//! A module with a congestion control.

use crate::control::Control;
use crate::engine::{engine, words, Limits, MOST_FILE_BYTES, MOST_MEMORY_BYTES};
use crate::instance::Instance;
use dumbbell_cc::CongestionControl;
use dumbbell_model::catalogue::plugin::Facts;
use dumbbell_plugins::{Described, Maker, Told};
use std::fmt;
use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use wasmtime::{ExternType, InstancePre, Linker};

/// Modules that stay compiled.
const MOST_KEPT: usize = 8;

/// Content and module, the last one used last.
static KEPT: Mutex<Vec<(Vec<u8>, Module)>> = Mutex::new(Vec::new());

/// A module that is compiled. Instances share it.
#[derive(Clone)]
pub struct Module {
    linked: Arc<InstancePre<Limits>>,
    described: Described,
    name: String,
}

impl fmt::Debug for Module {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Module").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Module {
    /// Compiles the module in a file and checks its table, or takes it from the last ones.
    ///
    /// # Errors
    /// It is none, or cannot be used.
    pub fn open(path: &Path) -> Result<Self, String> {
        let mut content = Vec::new();
        let file = File::open(path).map_err(|error| error.to_string())?;
        let read = file.take(MOST_FILE_BYTES as u64 + 1).read_to_end(&mut content);
        read.map_err(|error| error.to_string())?;
        let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
        let last = match kept.iter().position(|(known, _)| *known == content) {
            Some(at) => kept.remove(at),
            None => {
                let made = Self::compile(&content)?;
                (content, made)
            }
        };
        let module = last.1.clone();
        kept.push(last);
        if kept.len() > MOST_KEPT {
            kept.remove(0);
        }
        Ok(module)
    }

    /// Compiles a module and checks its table.
    ///
    /// # Errors
    /// It is none, or cannot be used.
    pub fn compile(content: &[u8]) -> Result<Self, String> {
        if content.len() > MOST_FILE_BYTES {
            let most = MOST_FILE_BYTES >> 20;
            return Err(format!("it is larger than {most} MiB"));
        }
        let none =
            |error| format!("it is no WebAssembly module that can be run: {}", words(&error));
        let module = wasmtime::Module::from_binary(engine()?, content).map_err(none)?;
        if let Some(import) = module.imports().next() {
            let (from, name) = (import.module().escape_debug(), import.name().escape_debug());
            return Err(format!("it imports {from}.{name}; a plug-in may import nothing"));
        }
        let needed = [
            ("memory", "memory", "it exports no memory"),
            (
                "__indirect_function_table",
                "table",
                "it exports no __indirect_function_table; link it with --export-table",
            ),
            ("dumbbell_cc_v1", "function", "it exports no function dumbbell_cc_v1"),
        ];
        for (name, kind, otherwise) in needed {
            let found = match module.get_export(name) {
                Some(ExternType::Memory(memory)) => {
                    let bytes = memory.minimum().saturating_mul(memory.page_size());
                    let most = MOST_MEMORY_BYTES as u64;
                    if bytes > most {
                        return Err(format!("its memory has {bytes} bytes; allowed are {most}"));
                    }
                    "memory"
                }
                Some(ExternType::Table(_)) => "table",
                Some(ExternType::Func(_)) => "function",
                _ => "",
            };
            if found != kind {
                return Err(otherwise.to_owned());
            }
        }
        let linked = Linker::new(engine()?).instantiate_pre(&module).map_err(none)?;
        let linked = Arc::new(linked);
        let described = Instance::start(&linked)?.described()?;
        let name = described.checked()?;
        Ok(Self { linked, described, name })
    }

    /// Name that the module gives its algorithm.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Facts for a scenario, without parameters.
    pub fn facts(&self, name: &str, sha256: &str) -> Facts {
        self.described.facts(name, sha256)
    }
}

impl Maker for Module {
    fn make(&self, facts: &Facts, told: Told) -> Result<Box<dyn CongestionControl>, String> {
        let made = told.hook(0, || Instance::create(&self.linked, &facts.parameters))?;
        Ok(Box::new(Control::new(made, told)))
    }
}
