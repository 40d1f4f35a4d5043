//! An instance of a module: the memory of one connection.

use crate::area::{self, Area, MESSAGE, MESSAGE_BYTES, PARAMETERS, VIEW_BYTES};
use crate::engine::{words, Limits, MOST_INSTRUCTIONS, MOST_MEMORY_BYTES};
use crate::hooks::{Hooks, RawTable, TABLE_BYTES};
use crate::view;
use dumbbell_plugins::Described;
use wasmtime::{InstancePre, Memory, Store, TypedFunc, WasmParams, WasmResults};

/// Longest text that is read, bytes.
const MOST_TEXT_BYTES: usize = 1024;

/// A module with its table, before there is a connection.
pub(crate) struct Started {
    store: Store<Limits>,
    memory: Memory,
    functions: wasmtime::Table,
    table: RawTable,
    described: Described,
}

/// An instance with the state of a connection.
pub(crate) struct Instance {
    store: Store<Limits>,
    memory: Memory,
    /// Functions of the table.
    pub(crate) hooks: Hooks,
    /// Addresses of the caller's values.
    pub(crate) area: Area,
    /// Bits that describe the algorithm.
    pub(crate) flags: u32,
}

impl Started {
    /// The constant part of the table, whose functions exist.
    ///
    /// # Errors
    /// One of them does not, or has other arguments.
    pub(crate) fn described(mut self) -> Result<Described, String> {
        Hooks::find(&mut self.store, &self.functions, self.table.numbers())?;
        Ok(self.described)
    }
}

impl Instance {
    /// Instantiates a module and reads its table.
    ///
    /// # Errors
    /// It fails, or has no table of this version.
    pub(crate) fn start(linked: &InstancePre<Limits>) -> Result<Started, String> {
        let mut store = Store::new(linked.module().engine(), Limits);
        store.limiter(|limits| limits);
        let failed = |error: wasmtime::Error| format!("its start: {}", words(&error));
        store.set_fuel(MOST_INSTRUCTIONS).map_err(failed)?;
        let instance = linked.instantiate(&mut store).map_err(failed)?;
        let lost = "it exports no memory or table";
        let memory = instance.get_memory(&mut store, "memory").ok_or(lost)?;
        let functions = instance.get_table(&mut store, "__indirect_function_table").ok_or(lost)?;
        if let Ok(initialize) = instance.get_typed_func::<(), ()>(&mut store, "_initialize") {
            initialize.call(&mut store, ()).map_err(failed)?;
        }
        let get = instance
            .get_typed_func::<(), u32>(&mut store, "dumbbell_cc_v1")
            .map_err(|_| "its dumbbell_cc_v1 has other arguments than in dumbbell_cc.h")?;
        let at = get
            .call(&mut store, ())
            .map_err(|error| format!("dumbbell_cc_v1: {}", words(&error)))?;
        if at == 0 {
            return Err("dumbbell_cc_v1 returns no table".to_owned());
        }
        let outside = "its table is outside of its memory";
        let data = memory.data(&store).get(at as usize..).unwrap_or_default();
        if data.len() < 8 {
            return Err(outside.to_owned());
        }
        Described::begins(view::word(data, 0), view::word(data, 4), TABLE_BYTES)?;
        let table = RawTable::read(data.first_chunk().ok_or(outside)?);
        let name = match table.name() {
            0 => None,
            at => Some(text(memory.data(&store), at).ok_or("its name is outside of its memory")?),
        };
        let described = table.described(name.map(<[u8]>::to_vec));
        described.checked()?;
        Ok(Started { store, memory, functions, table, described })
    }

    /// Instantiates a module for a connection.
    ///
    /// # Errors
    /// It fails.
    pub(crate) fn create(
        linked: &InstancePre<Limits>,
        parameters: &[(String, f64)],
    ) -> Result<Self, String> {
        let Started { mut store, memory, functions, table, described } = Self::start(linked)?;
        let hooks = Hooks::find(&mut store, &functions, table.numbers())?;
        let base = memory.data_size(&store) as u32;
        let length = area::parameters(parameters, 0).len();
        let area = Area::new(base, length, described.state_size);
        memory.grow(&mut store, u64::from(area.pages)).map_err(|_| {
            format!(
                "its memory with the state has more than {MOST_MEMORY_BYTES} bytes, or cannot grow"
            )
        })?;
        let given = area::parameters(parameters, area.at(PARAMETERS));
        memory
            .write(&mut store, area.at(PARAMETERS) as usize, &given)
            .map_err(|error| error.to_string())?;
        let flags = described.flags;
        let mut made = Self { store, memory, hooks, area, flags };
        let status = made.call_hook(|hooks| &hooks.create, (area.state, area.at(PARAMETERS)));
        made.succeeded(status).map_err(|what| format!("create: {what}"))?;
        made.flags |= match made.hooks.properties {
            None => made.hooks.flags(),
            Some(_) => made
                .call_hook(|hooks| &hooks.properties, area.state)
                .map_err(|error| format!("properties: {}", words(&error)))?,
        };
        Ok(made)
    }

    /// Calls a function of the table, which may execute [`MOST_INSTRUCTIONS`]. It is there.
    #[inline]
    pub(crate) fn call_hook<P: WasmParams, R: WasmResults>(
        &mut self,
        chosen: fn(&Hooks) -> &Option<TypedFunc<P, R>>,
        inputs: P,
    ) -> wasmtime::Result<R> {
        let function = chosen(&self.hooks).as_ref();
        let function =
            function.ok_or_else(|| wasmtime::Error::msg("its table has no such hook"))?;
        self.store.set_fuel(MOST_INSTRUCTIONS)?;
        function.call(&mut self.store, inputs)
    }

    /// Checks what a hook returned.
    ///
    /// # Errors
    /// Why it failed: what the module says, or else how.
    pub(crate) fn succeeded(&mut self, status: wasmtime::Result<u32>) -> Result<(), String> {
        let how = match status {
            Ok(0) => return Ok(()),
            Ok(status) => format!("it returned {}", status.cast_signed()),
            Err(error) => words(&error),
        };
        Err(self.said().unwrap_or(how))
    }

    /// Text of the module on its last failure.
    fn said(&mut self) -> Option<String> {
        let (state, at) = (self.area.state, self.area.at(MESSAGE));
        self.hooks.error.as_ref()?;
        self.memory.write(&mut self.store, at as usize, &[0]).ok()?;
        self.call_hook(|hooks| &hooks.error, (state, at, MESSAGE_BYTES - 1)).ok()?;
        let said = text(self.memory.data(&self.store), at)?;
        let said = &said[..said.len().min(MESSAGE_BYTES as usize)];
        let said = String::from_utf8_lossy(said).into_owned();
        (!said.is_empty()).then_some(said)
    }

    /// Bytes of the caller's values.
    #[inline]
    pub(crate) fn view(&mut self) -> &mut [u8; VIEW_BYTES] {
        let base = self.area.base as usize;
        let data = self.memory.data_mut(&mut self.store);
        data[base..].first_chunk_mut().expect("memory does not become smaller")
    }

    /// Text at an address.
    pub(crate) fn text(&self, at: u32) -> Option<&[u8]> {
        text(self.memory.data(&self.store), at)
    }
}

/// Bytes at an address up to a zero, no more than [`MOST_TEXT_BYTES`].
fn text(memory: &[u8], at: u32) -> Option<&[u8]> {
    let all = memory.get(at as usize..)?;
    let all = &all[..all.len().min(MOST_TEXT_BYTES)];
    let end = all.iter().position(|byte| *byte == 0);
    Some(&all[..end.unwrap_or(all.len())])
}
