//! The catalogue: everything that an experiment can name, described once. It defines names and defaults
//! for experiment files, messages, documentation, the guest, `dumbbell kernel test` and the generators of
//! tests. It also lists the known columns of the result tables.

pub mod congestion_control;
pub mod discipline;
pub mod impairment;
pub mod known;
pub mod parameter;
pub mod plugin;
pub mod tcp_options;
pub mod traffic;

use serde::Serialize;

/// Name and release of an entry in Linux.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct InLinux {
    /// Name in `sysctl` or `tc`.
    pub name: &'static str,
    /// Option of the kernel's configuration; empty if it is always built in.
    pub option: &'static str,
    /// First release that has it.
    pub since: &'static str,
}

/// All entries, for Python.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Catalogue {
    /// Congestion controls.
    pub congestion_controls: &'static [congestion_control::Entry],
    /// Queue disciplines.
    pub disciplines: &'static [discipline::Entry],
    /// Impairments of links.
    pub impairments: &'static [impairment::Entry],
    /// TCP options of a host.
    pub tcp_options: &'static [tcp_options::Entry],
    /// Kinds of traffic.
    pub traffic: &'static [traffic::Entry],
    /// Known columns by engine (or `trace`) and table.
    pub known_columns: known::KnownColumns,
}

/// The catalogue.
pub const CATALOGUE: Catalogue = Catalogue {
    congestion_controls: congestion_control::ENTRIES,
    disciplines: &discipline::ENTRIES,
    impairments: impairment::ENTRIES,
    tcp_options: tcp_options::ENTRIES,
    traffic: traffic::ENTRIES,
    known_columns: known::KnownColumns,
};
