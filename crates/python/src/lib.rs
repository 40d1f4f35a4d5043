//! The Python module `dumbbell._core`: only conversion between Python and the Rust crates.
//! `dumbbell/_core.pyi` describes its interface.

mod capture;
mod capture_packets;
mod experiment;
mod network;
mod packetdrill;
mod plugins;
mod policy;
mod stacks;
mod trace;
mod worlds;

use dumbbell_model::catalogue::CATALOGUE;
use dumbbell_model::tables::{Kind, ALL};
use dumbbell_model::tcp_options::{DEFAULT_PROFILE, PROFILES};
use dumbbell_model::{ipc, Scenario, ScenarioError as ModelError, Time};
use dumbbell_plugins::{Logs, Makers, Page, RunPlugins};
use dumbbell_sim::RunError;
use dumbbell_trace::{OpenError, Window};
use pyo3::exceptions::{PyException, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use pyo3::{create_exception, Bound};
use std::any::Any;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, PoisonError};

create_exception!(
    dumbbell._core,
    ScenarioError,
    PyException,
    "A scenario that cannot be run; `path` is the field, `message` what is wrong with it."
);
create_exception!(dumbbell._core, Cancelled, PyException, "The run was stopped by its monitor.");
create_exception!(dumbbell._core, PluginError, PyException, "A plug-in failed during a run.");
create_exception!(
    dumbbell._core,
    DefectError,
    PyException,
    "The simulator lost track of a packet, or broke off: a defect of the program."
);

/// Part of a monitor that the running simulation uses.
#[derive(Default)]
struct Shared {
    cancelled: AtomicBool,
    progress_ns: AtomicU64,
}

impl dumbbell_sim::Monitor for Shared {
    fn progress(&self, now: Time) -> bool {
        self.progress_ns.store(now.as_ns(), Ordering::Relaxed);
        !self.cancelled.load(Ordering::Relaxed)
    }
}

/// Monitor and page of a run.
struct Watched<'a> {
    shared: &'a Shared,
    page: &'a Page,
}

impl dumbbell_sim::Monitor for Watched<'_> {
    fn progress(&self, now: Time) -> bool {
        self.page.reached(now.as_ns());
        self.shared.progress(now)
    }
}

/// Monitor that shows the progress of a run and can stop it from another thread.
#[pyclass(frozen, module = "dumbbell._core")]
#[derive(Default)]
struct Monitor {
    shared: Arc<Shared>,
}

#[pymethods]
impl Monitor {
    #[new]
    fn new() -> Self {
        Self::default()
    }

    /// Virtual time reached, in nanoseconds.
    #[getter]
    fn progress_ns(&self) -> u64 {
        self.shared.progress_ns.load(Ordering::Relaxed)
    }

    /// True after `cancel` was called.
    #[getter]
    fn cancelled(&self) -> bool {
        self.shared.cancelled.load(Ordering::Relaxed)
    }

    /// Sets the progress of a run; for engines written in Python.
    fn report(&self, progress_ns: u64) {
        self.shared.progress_ns.store(progress_ns, Ordering::Relaxed);
    }

    /// Requests the end of the run, which then raises `Cancelled`.
    fn cancel(&self) {
        self.shared.cancelled.store(true, Ordering::Relaxed);
    }
}

/// Results of a run.
#[pyclass(frozen, module = "dumbbell._core")]
struct Output {
    tables: Vec<(&'static str, Py<PyBytes>)>,
    digest: String,
    packets: u64,
    events: u64,
    capture: Option<Py<PyBytes>>,
    logs: Vec<(String, [Py<PyBytes>; 2])>,
}

#[pymethods]
impl Output {
    /// Each table as an Arrow IPC stream, by name.
    #[getter]
    fn tables<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let tables = PyDict::new(py);
        for (name, bytes) in &self.tables {
            tables.set_item(name, bytes.bind(py))?;
        }
        Ok(tables)
    }

    /// SHA-256 over the tables.
    #[getter]
    fn digest(&self) -> &str {
        &self.digest
    }

    /// Packets that left a host.
    #[getter]
    fn packets(&self) -> u64 {
        self.packets
    }

    /// Events processed.
    #[getter]
    fn events(&self) -> u64 {
        self.events
    }

    /// Logs of the ends of stacks' connections by flow: of client and server.
    #[getter]
    fn logs<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let logs = PyDict::new(py);
        for (flow, [client, server]) in &self.logs {
            logs.set_item(flow, (client.bind(py), server.bind(py)))?;
        }
        Ok(logs)
    }

    /// Packets at the taps as pcapng, if the scenario asks for a capture.
    #[getter]
    fn capture(&self, py: Python<'_>) -> Option<Py<PyBytes>> {
        self.capture.as_ref().map(|bytes| bytes.clone_ref(py))
    }
}

fn scenario_error(py: Python<'_>, error: &ModelError) -> PyErr {
    let raised = ScenarioError::new_err((error.path.clone(), error.message.clone()));
    let value = raised.value(py);
    let set =
        value.setattr("path", &error.path).and_then(|()| value.setattr("message", &error.message));
    set.err().unwrap_or(raised)
}

fn run_error(py: Python<'_>, error: &RunError) -> PyErr {
    match error {
        RunError::Scenario(inner) => scenario_error(py, inner),
        RunError::Conservation(what) => DefectError::new_err(what.clone()),
        RunError::Plugin(failure) => PluginError::new_err(failure.to_string()),
        RunError::Cancelled => Cancelled::new_err("cancelled"),
    }
}

/// Message of a panic.
fn panic_message(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| payload.downcast_ref::<&str>().copied());
    text.unwrap_or("it broke off").to_owned()
}

/// Runs a scenario. Releases the interpreter's lock during the run.
///
/// `logged`: connections of stacks write logs.
/// `plugins`: SHA-256 → path of a library or policy, or class. `page`: file of 16 bytes that tells where the run is.
#[pyfunction]
#[pyo3(signature = (scenario_json, seed, monitor = None, plugins = None, page = None, logged = false))]
fn run(
    py: Python<'_>,
    scenario_json: &str,
    seed: u64,
    monitor: Option<&Bound<'_, Monitor>>,
    plugins: Option<&Bound<'_, PyDict>>,
    page: Option<PathBuf>,
    logged: bool,
) -> PyResult<Output> {
    let makers = plugins.map_or_else(|| Ok(Makers::new()), plugins::makers)?;
    let page = plugins::page(page)?;
    let plugins = RunPlugins::new(makers, Arc::clone(&page)).with_stacks(stacks::known());
    let logs = Logs::default();
    let plugins = if logged { plugins.with_logs(Arc::clone(&logs)) } else { plugins };
    let scenario = Scenario::from_json(scenario_json).map_err(|e| scenario_error(py, &e))?;
    let shared = monitor.map_or_else(Arc::default, |m| Arc::clone(&m.get().shared));
    let watched = Watched { shared: &shared, page: &page };
    let simulate = || {
        let output = dumbbell_sim::run_with(&scenario, seed, &watched, &plugins)?;
        drop(scenario);
        Ok(output)
    };
    // A run that panics shares no state with other runs, which continue.
    let output = py
        .detach(|| catch_unwind(AssertUnwindSafe(simulate)))
        .map_err(|payload| DefectError::new_err(panic_message(payload.as_ref())))?
        .map_err(|e| run_error(py, &e))?;
    let logs = logs.lock().unwrap_or_else(PoisonError::into_inner);
    let logs = logs.iter().map(|(flow, ends)| {
        (flow.clone(), ends.each_ref().map(|log| PyBytes::new(py, &log.bytes()).unbind()))
    });
    Ok(Output { logs: logs.collect(), ..self::output(py, output)? })
}

/// Results for Python.
fn output(py: Python<'_>, output: dumbbell_sim::Output) -> PyResult<Output> {
    let mut tables = Vec::with_capacity(output.tables.len());
    for table in output.tables {
        let name = table.spec.name;
        let stream = py.detach(|| ipc::stream(table));
        tables.push((name, bytes(py, stream)?.unbind()));
    }
    let capture = output.capture.map(|bytes| PyBytes::new(py, &bytes).unbind());
    let (packets, events) = (output.packets, output.events);
    Ok(Output { tables, digest: output.digest, packets, events, capture, logs: Vec::new() })
}

/// An encoded table.
fn bytes<E: std::fmt::Display>(
    py: Python<'_>,
    stream: Result<ipc::Pieces, E>,
) -> PyResult<Bound<'_, PyBytes>> {
    let pieces = stream.map_err(|e| PyException::new_err(e.to_string()))?;
    PyBytes::new_with(py, pieces.len(), |mut bytes| Ok(pieces.write_to(&mut bytes)?))
}

/// Contents of a capture file. Tables are JSON texts; large tables come in pieces.
#[pyclass(frozen)]
struct Survey(capture::Surveyed);

#[pymethods]
impl Survey {
    /// All tables but `conversations` and `connections`.
    #[getter]
    fn small(&self) -> &str {
        &self.0.small
    }

    #[getter]
    fn conversation_count(&self) -> usize {
        self.0.conversation_count()
    }

    #[getter]
    fn connection_count(&self) -> usize {
        self.0.connection_count()
    }

    /// Rows of `count` conversations from index `start`.
    fn conversations(&self, start: usize, count: usize) -> PyResult<String> {
        self.0.conversations(start, count).map_err(capture_error)
    }

    /// Rows of `count` connections from index `start`: two of each opened connection.
    fn connections(&self, start: usize, count: usize) -> PyResult<String> {
        self.0.connections(start, count).map_err(capture_error)
    }
}

/// Reads the contents of a capture file. `-` is standard input.
///
/// Only frames from `from_ns` after the first timestamp until before `to_ns`, if these are given.
#[pyfunction]
#[pyo3(signature = (path, from_ns=None, to_ns=None))]
fn survey(
    py: Python<'_>,
    path: &str,
    from_ns: Option<i64>,
    to_ns: Option<i64>,
) -> PyResult<Survey> {
    let window = capture::Window::new(from_ns, to_ns);
    py.detach(|| capture::survey(path, window)).map(Survey).map_err(capture_error)
}

/// Packets of connections by their numbers in a capture (an empty list: all), at most `most` of
/// each, as JSON.
#[pyfunction(name = "capture_packets", signature = (path, connections, most, from_ns=None, to_ns=None))]
fn packets_of_capture(
    py: Python<'_>,
    path: &str,
    connections: Vec<u32>,
    most: usize,
    from_ns: Option<i64>,
    to_ns: Option<i64>,
) -> PyResult<String> {
    py.detach(|| {
        capture_packets::packets(path, &connections, most, capture::Window::new(from_ns, to_ns))
    })
    .map_err(capture_error)
}

/// Packets of one connection of a capture as arrays of numbers: name → type of numpy and bytes.
///
/// `source` is a path, or the bytes of a capture.
#[pyfunction]
#[pyo3(signature = (source, connection, most, from_ns=None, to_ns=None))]
fn capture_series<'py>(
    py: Python<'py>,
    source: &Bound<'py, PyAny>,
    connection: u32,
    most: usize,
    from_ns: Option<i64>,
    to_ns: Option<i64>,
) -> PyResult<Bound<'py, PyDict>> {
    let window = capture::Window::new(from_ns, to_ns);
    let arrays = if let Ok(bytes) = source.cast::<PyBytes>() {
        let bytes = bytes.as_bytes();
        py.detach(|| {
            let file = capture::opened(bytes)?;
            Ok(capture_packets::series(file, connection, most, window))
        })
    } else {
        let path: String = source.extract()?;
        py.detach(|| {
            let file = capture::open(&path)?;
            Ok(capture_packets::series(file, connection, most, window))
        })
    }
    .map_err(capture_error)?;
    let named = PyDict::new(py);
    for (name, kind, bytes) in arrays {
        named.set_item(name, (kind, PyBytes::new(py, &bytes)))?;
    }
    Ok(named)
}

/// Summary of an event trace of ns-2 or ns-3: JSON text, and result tables as Arrow IPC streams by
/// name. `-` is standard input. The monitor counts bytes instead of nanoseconds.
#[pyfunction]
#[pyo3(signature = (path, monitor = None))]
fn trace_summary<'py>(
    py: Python<'py>,
    path: &str,
    monitor: Option<&Bound<'py, Monitor>>,
) -> PyResult<(String, Bound<'py, PyDict>)> {
    let shared = monitor.map_or_else(Arc::default, |m| Arc::clone(&m.get().shared));
    text_and_tables(py, py.detach(|| trace::summary(path, &shared)))
}

/// Hops of all packets of a trace within an interval, `most` hops at most. Returns as
/// [`trace_summary`].
#[pyfunction]
#[pyo3(signature = (path, from_ns, to_ns, most, monitor = None))]
fn trace_hops<'py>(
    py: Python<'py>,
    path: &str,
    from_ns: i64,
    to_ns: i64,
    most: usize,
    monitor: Option<&Bound<'py, Monitor>>,
) -> PyResult<(String, Bound<'py, PyDict>)> {
    let shared = monitor.map_or_else(Arc::default, |m| Arc::clone(&m.get().shared));
    let window = Window { from_ns, to_ns, most };
    text_and_tables(py, py.detach(|| trace::hops(path, window, &shared)))
}

fn text_and_tables(
    py: Python<'_>,
    found: Result<trace::TextAndTables, OpenError>,
) -> PyResult<(String, Bound<'_, PyDict>)> {
    let (text, tables) = found.map_err(|error| match error {
        OpenError::Io(error) => error.into(),
        OpenError::Stopped => Cancelled::new_err("cancelled"),
        OpenError::Nothing(_) => PyValueError::new_err(error.to_string()),
    })?;
    let named = PyDict::new(py);
    for table in tables {
        let name = table.spec.name;
        named.set_item(name, bytes(py, ipc::stream(table))?)?;
    }
    Ok((text, named))
}

fn capture_error(error: capture::Failure) -> PyErr {
    match error {
        capture::Failure::Io(error) => error.into(),
        capture::Failure::Other(message) => PyValueError::new_err(message),
    }
}

/// Matches the packets of captures at several points: JSON text about points and flows, and the
/// table `packets` as an Arrow IPC stream. `files` holds path and name of each file; at most `most`
/// packets are kept.
#[pyfunction]
fn capture_sightings<'py>(
    py: Python<'py>,
    files: Vec<(String, String)>,
    most: usize,
) -> PyResult<(String, Bound<'py, PyDict>)> {
    let (text, table) = py.detach(|| capture::sightings(&files, most)).map_err(capture_error)?;
    text_and_tables(py, Ok((text, vec![table])))
}

/// Checks a scenario without running it.
#[pyfunction]
fn validate(py: Python<'_>, scenario_json: &str) -> PyResult<()> {
    Scenario::from_json(scenario_json).map(|_| ()).map_err(|e| scenario_error(py, &e))
}

/// Estimates the cost of a run: events, rows, bytes of memory and captures. Also returns the flow
/// with the most packets, the indices of flows without a bottleneck, the record with the most rows,
/// and the field that needs most memory.
#[pyfunction]
fn budget<'py>(py: Python<'py>, scenario_json: &str) -> PyResult<Bound<'py, PyDict>> {
    let found = Scenario::from_json(scenario_json)
        .and_then(|scenario| dumbbell_sim::budget(&scenario))
        .map_err(|e| scenario_error(py, &e))?;
    let estimate = PyDict::new(py);
    estimate.set_item("events", found.events)?;
    estimate.set_item("rows", found.rows)?;
    estimate.set_item("memory_bytes", found.memory_bytes)?;
    estimate.set_item("heaviest", found.heaviest)?;
    estimate.set_item("capture_bytes", found.capture_bytes)?;
    estimate.set_item("busiest", found.busiest)?;
    estimate.set_item("boundless", found.boundless)?;
    estimate.set_item("longest", found.longest)?;
    Ok(estimate)
}

/// TCP option profiles: name → JSON.
#[pyfunction]
fn profiles(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let profiles = PyDict::new(py);
    for (name, text) in PROFILES {
        profiles.set_item(name, text)?;
    }
    Ok(profiles)
}

/// Profile of a host that names none.
#[pyfunction]
const fn default_profile() -> &'static str {
    DEFAULT_PROFILE
}

/// Catalogue of everything that an experiment can name, as JSON.
#[pyfunction]
fn catalogue() -> PyResult<String> {
    serde_json::to_string(&CATALOGUE).map_err(|error| PyValueError::new_err(error.to_string()))
}

/// Result tables as JSON: names, meanings and columns.
#[pyfunction]
fn tables() -> String {
    let tables: Vec<_> = ALL
        .iter()
        .map(|table| {
            let columns: Vec<_> = table
                .columns
                .iter()
                .map(|column| {
                    let kind = match column.kind {
                        Kind::Int => "int",
                        Kind::Float => "float",
                        Kind::Text => "text",
                    };
                    serde_json::json!({
                        "name": column.name, "kind": kind, "meaning": column.meaning,
                    })
                })
                .collect();
            let meaning = table.meaning.trim();
            serde_json::json!({ "name": table.name, "meaning": meaning, "columns": columns })
        })
        .collect();
    serde_json::Value::Array(tables).to_string()
}

/// The extension module.
#[pymodule]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    module.add("version", env!("CARGO_PKG_VERSION"))?;
    let engine = concat!(env!("CARGO_PKG_VERSION"), "+", env!("DUMBBELL_SIM_SOURCES"));
    module.add("engine_version", engine)?;
    module.add("ScenarioError", py.get_type::<ScenarioError>())?;
    module.add("RoutingError", py.get_type::<network::RoutingError>())?;
    module.add("Cancelled", py.get_type::<Cancelled>())?;
    module.add("PluginError", module.py().get_type::<PluginError>())?;
    module.add("PluginError", py.get_type::<PluginError>())?;
    module.add("DefectError", py.get_type::<DefectError>())?;
    module.add_class::<Monitor>()?;
    module.add_class::<Output>()?;
    module.add_class::<Survey>()?;
    module.add_class::<network::Network>()?;
    module.add_class::<worlds::Worlds>()?;
    module.add_function(wrap_pyfunction!(worlds::gym_catalogue, module)?)?;
    module.add_function(wrap_pyfunction!(run, module)?)?;
    module.add_function(wrap_pyfunction!(packetdrill::play_packetdrill, module)?)?;
    module.add_function(wrap_pyfunction!(plugins::plugin_library, module)?)?;
    module.add_class::<policy::Policy>()?;
    module.add_class::<plugins::Conn>()?;
    module.add_class::<plugins::Window>()?;
    module.add_class::<plugins::RateSample>()?;
    module.add_class::<plugins::AckSample>()?;
    module.add_class::<plugins::AckEvent>()?;
    module.add_class::<plugins::LostSkb>()?;
    module.add_function(wrap_pyfunction!(experiment::experiment_schema, module)?)?;
    module.add_function(wrap_pyfunction!(experiment::access_models, module)?)?;
    module.add_function(wrap_pyfunction!(experiment::typical_pages, module)?)?;
    module.add_class::<experiment::Experiment>()?;
    module.add_class::<experiment::Cell>()?;
    module.add("RefusedError", module.py().get_type::<experiment::RefusedError>())?;
    module.add_function(wrap_pyfunction!(survey, module)?)?;
    module.add_function(wrap_pyfunction!(packets_of_capture, module)?)?;
    module.add_function(wrap_pyfunction!(capture_series, module)?)?;
    module.add_function(wrap_pyfunction!(capture_sightings, module)?)?;
    module.add_function(wrap_pyfunction!(trace_summary, module)?)?;
    module.add_function(wrap_pyfunction!(trace_hops, module)?)?;
    module.add_function(wrap_pyfunction!(validate, module)?)?;
    module.add_function(wrap_pyfunction!(budget, module)?)?;
    module.add_function(wrap_pyfunction!(default_profile, module)?)?;
    module.add_function(wrap_pyfunction!(profiles, module)?)?;
    module.add_function(wrap_pyfunction!(catalogue, module)?)?;
    module.add_function(wrap_pyfunction!(tables, module)?)
}
