//! A shared library with a congestion control.
#![allow(unsafe_code)]

use dumbbell_model::catalogue::plugin::{Facts, LONGEST_NAME};
use dumbbell_plugin::table::{self, Table, ABI, SYMBOL};
use std::ffi::CStr;
use std::path::Path;

/// Largest state of a connection, bytes.
pub const MOST_STATE_BYTES: u32 = 1 << 20;
/// Largest alignment of a state, bytes.
const MOST_ALIGN: u32 = 4096;

/// A library that is loaded. Its functions run in this process.
#[derive(Debug)]
pub struct Library {
    /// The library's own copy, of which no more than `size` bytes were read.
    table: Table,
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
        if abi != ABI {
            return Err(format!("its table has version {abi}; this Dumbbell has {ABI}"));
        }
        if size as usize != size_of::<Table>() {
            let own = size_of::<Table>();
            return Err(format!("its table has {size} bytes; version {ABI} has {own}"));
        }
        // SAFETY: version and size are those of this type.
        let table = unsafe { *given };
        let name = checked(&table)?;
        Ok(Self { table, name, _library: library })
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
        let flag = |bit| self.table.flags & bit != 0;
        Facts {
            name: name.to_owned(),
            sha256: sha256.to_owned(),
            parameters: Vec::new(),
            needs_ecn: flag(table::NEEDS_ECN),
            l4s: flag(table::L4S),
            paced_by_fq: flag(table::PACED_BY_FQ),
        }
    }
}

/// Checks a table; returns the algorithm's name.
fn checked(table: &Table) -> Result<String, String> {
    if table.name.is_null() {
        return Err("its table has no name".to_owned());
    }
    // SAFETY: the header asks for a text with a zero byte.
    let name = unsafe { CStr::from_ptr(table.name) };
    let name = name.to_str().map_err(|_| "its name is no text".to_owned())?;
    if name.is_empty() || name.len() > LONGEST_NAME {
        return Err(format!("its name has {} bytes; allowed are 1 to {LONGEST_NAME}", name.len()));
    }
    if table.state_size > MOST_STATE_BYTES {
        let size = table.state_size;
        return Err(format!("its state has {size} bytes; allowed are {MOST_STATE_BYTES}"));
    }
    let align = table.state_align;
    if align > MOST_ALIGN || (align != 0 && !align.is_power_of_two()) {
        return Err(format!(
            "its state is aligned to {align}; allowed are powers of two to {MOST_ALIGN}"
        ));
    }
    let needed = [
        ("create", table.create.is_some()),
        ("ssthresh", table.ssthresh.is_some()),
        ("cong_avoid or cong_control", table.cong_avoid.is_some() || table.cong_control.is_some()),
    ];
    match needed.iter().find(|(_, given)| !given) {
        Some((name, _)) => Err(format!("its table has no {name}")),
        None => Ok(name.to_owned()),
    }
}

/// What the loader says, without the path in front.
fn reason(error: &libloading::Error) -> String {
    let text = error.to_string();
    let text = text.rsplit_once(".so: ").map_or(text.as_str(), |(_, rest)| rest);
    format!("it is no library for this machine: {text}")
}
