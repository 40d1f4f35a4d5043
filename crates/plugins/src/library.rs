//! A shared library with a congestion control.
#![allow(unsafe_code)]

use crate::described::Described;
use dumbbell_model::catalogue::plugin::Facts;
use dumbbell_plugin::table::{Table, SYMBOL};
use std::ffi::CStr;
use std::path::Path;

/// A library that is loaded. Its functions run in this process.
#[derive(Debug)]
pub struct Library {
    /// The library's own copy, of which no more than `size` bytes were read.
    table: Table,
    described: Described,
    name: String,
    /// Keeps the library loaded.
    _library: libloading::Library,
}

impl Library {
    /// Loads a library and checks its table.
    ///
    /// # Errors
    /// It is none, or was built for another version or processor.
    pub fn open(path: &Path) -> Result<Self, String> {
        // SAFETY: code of a stranger runs here; the caller has chosen a process for that.
        let library = unsafe { libloading::Library::new(path) }.map_err(|error| reason(&error))?;
        // SAFETY: the symbol is the one that the header declares.
        let found = unsafe {
            library.get::<unsafe extern "C" fn() -> *const Table>(SYMBOL).map(|symbol| *symbol)
        };
        let get = found.map_err(|_| "it exports no function dumbbell_cc_v1".to_owned())?;
        // SAFETY: as the header declares it.
        let given = unsafe { get() };
        if given.is_null() {
            return Err("dumbbell_cc_v1 returns no table".to_owned());
        }
        // SAFETY: every version of the table begins with these two numbers.
        let (abi, size) = unsafe { ((*given).abi, (*given).size) };
        Described::begins(abi, size, size_of::<Table>())?;
        // SAFETY: version and size are those of this type.
        let table = unsafe { *given };
        let described = described(&table);
        let name = described.checked()?;
        Ok(Self { table, described, name, _library: library })
    }

    /// The table.
    pub(crate) fn table(&self) -> &Table {
        &self.table
    }

    /// Name that the library gives its algorithm.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Facts for a scenario, without parameters.
    pub fn facts(&self, name: &str, sha256: &str) -> Facts {
        self.described.facts(name, sha256)
    }
}

/// The constant part of a table.
fn described(table: &Table) -> Described {
    // SAFETY: the header asks for a text with a zero byte.
    let name = (!table.name.is_null()).then(|| unsafe { CStr::from_ptr(table.name) });
    Described {
        name: name.map(|name| name.to_bytes().to_vec()),
        flags: table.flags,
        state_size: table.state_size,
        state_align: table.state_align,
        creates: table.create.is_some(),
        reduces: table.ssthresh.is_some(),
        grows: table.cong_avoid.is_some() || table.cong_control.is_some(),
    }
}

/// What the loader says, without the path in front.
fn reason(error: &libloading::Error) -> String {
    let text = error.to_string();
    let text = text.rsplit_once(".so: ").map_or(text.as_str(), |(_, rest)| rest);
    format!("it is no library for this machine: {text}")
}
