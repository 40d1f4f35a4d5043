//! Experiment files: cells, the JSON Schema, quantities.

use dumbbell_experiment::{
    json_schema, Content, Context, Entry, Experiment as Reader, Files, Level, Located, Metric,
    NoFiles, Override, Summary, Tree, Unreadable,
};
use dumbbell_model::catalogue::plugin::Facts;
use pyo3::create_exception;
use pyo3::exceptions::{PyException, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyDict, PyFloat, PyInt, PyList, PyString};
use serde_json::Value;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

create_exception!(
    dumbbell._core,
    RefusedError,
    PyException,
    "Errors of an experiment file: a tuple for each, `(message, outside, line, field, found, allowed, nearest, \
     code)`."
);

/// Deepest nesting of a tree.
const MOST_DEPTH: usize = 64;

/// A level: its label, and its value as a tree.
type Named<'py> = (String, Bound<'py, PyAny>);

/// Names of factors, and combinations of labels of their levels.
type Labels = (Vec<String>, Vec<Vec<String>>);

/// Lower and upper bound of a metric, and whether it is a share, by names, with the name that counts.
type Metrics = BTreeMap<String, (String, f64, f64, bool)>;

fn scalar(value: &Bound<'_, PyAny>) -> PyResult<Value> {
    if value.is_none() {
        return Ok(Value::Null);
    }
    if let Ok(flag) = value.cast::<PyBool>() {
        return Ok(flag.is_true().into());
    }
    if let Ok(text) = value.cast::<PyString>() {
        return Ok(text.to_str()?.into());
    }
    if let Ok(number) = value.cast::<PyInt>() {
        let whole = number.extract::<i64>().map(Value::from);
        let whole = whole.or_else(|_| number.extract::<u64>().map(Value::from));
        return whole.or_else(|_| number.extract::<f64>().map(Value::from));
    }
    if let Ok(number) = value.cast::<PyFloat>() {
        return Ok(number.value().into());
    }
    Err(PyTypeError::new_err("a value of no kind that files have"))
}

/// Tree of a `dumbbell.experiment.source.Node`.
fn tree(node: &Bound<'_, PyAny>, depth: usize) -> PyResult<Arc<Tree>> {
    if depth > MOST_DEPTH {
        return Err(PyTypeError::new_err("nested too deep"));
    }
    let value = node.getattr("value")?;
    let content = if let Ok(map) = value.cast::<PyDict>() {
        let lines = node.getattr("key_lines")?;
        let lines = lines.cast::<PyDict>()?;
        let mut entries = Vec::with_capacity(map.len());
        for (key, child) in map {
            let line = lines.get_item(&key)?.map_or(Ok(0), |line| line.extract())?;
            let key: String = key.extract()?;
            entries.push(Entry { key: key.into(), line, tree: tree(&child, depth + 1)? });
        }
        Content::Mapping(entries)
    } else if let Ok(items) = value.cast::<PyList>() {
        let items = items.iter().map(|item| tree(&item, depth + 1));
        Content::List(items.collect::<PyResult<_>>()?)
    } else {
        Content::Scalar(scalar(&value)?)
    };
    let text: String = node.getattr("text")?.extract()?;
    Ok(Arc::new(Tree { content, text: text.into(), line: node.getattr("line")?.extract()? }))
}

/// An error: message, override, line, field, value found, values allowed, nearest one, code.
type Refused = (
    String,
    Option<String>,
    u32,
    String,
    Option<String>,
    Vec<String>,
    Option<String>,
    Option<&'static str>,
);

fn of_python(error: Located) -> Refused {
    let code = error.code.map(|code| code.number());
    (
        error.message,
        error.outside,
        error.line,
        error.field,
        error.found,
        error.allowed,
        error.nearest,
        code,
    )
}

fn refused(errors: Vec<Located>) -> PyErr {
    RefusedError::new_err((errors.into_iter().map(of_python).collect::<Vec<_>>(),))
}

/// Files that Python reads. `read_file` returns bytes, a reason, or nothing if there are too many bytes;
/// `plugin` returns SHA-256 and facts, or a reason.
struct Read<'py> {
    files: Bound<'py, PyAny>,
}

impl Files for Read<'_> {
    fn read(&self, name: &str, most_bytes: u64) -> Result<Vec<u8>, Unreadable> {
        let reason = |error: PyErr| Unreadable::Reason(error.to_string());
        let found = self.files.call_method1("read_file", (name, most_bytes)).map_err(reason)?;
        if let Ok(bytes) = found.cast::<PyBytes>() {
            return Ok(bytes.as_bytes().to_vec());
        }
        if found.is_none() {
            return Err(Unreadable::TooLarge);
        }
        Err(Unreadable::Reason(found.extract().unwrap_or_default()))
    }

    fn plugin(&self, name: &str, path: &str) -> Result<Facts, Unreadable> {
        let reason = |error: PyErr| Unreadable::Reason(error.to_string());
        let found = self.files.call_method1("plugin", (name, path)).map_err(reason)?;
        if let Ok(said) = found.extract::<String>() {
            return Err(Unreadable::Reason(said));
        }
        let (sha256, needs_ecn, l4s, paced_by_fq) = found.extract().map_err(reason)?;
        let (name, parameters) = (name.to_owned(), Vec::new());
        Ok(Facts { name, sha256, parameters, needs_ecn, l4s, paced_by_fq })
    }
}

/// Cell of an experiment.
#[pyclass(frozen, get_all, module = "dumbbell._core")]
pub(crate) struct Cell {
    /// Label of each factor's level, in order.
    labels: Vec<String>,
    /// Scenario as canonical JSON.
    scenario: String,
    /// SHA-256 of the scenario without its name; `None`: to be computed from the text.
    content: Option<[u8; 32]>,
    /// Scenario without tables over time, for later repeats.
    unsampled: Option<String>,
    /// As `content`, of `unsampled`.
    unsampled_content: Option<[u8; 32]>,
    /// Number of first repeats with tables over time.
    sampled: u64,
    /// Base RTT of each flow, ns.
    rtt_ns: Vec<(String, u64)>,
    /// Virtual time of a run.
    duration_ns: u64,
}

/// An experiment file with overrides, whose cells are made when they are asked for.
#[pyclass(frozen, module = "dumbbell._core")]
pub(crate) struct Experiment {
    reader: Reader,
}

fn overrides(given: Vec<(String, Vec<Bound<'_, PyAny>>)>) -> PyResult<Vec<Override>> {
    let one = |(name, values): (String, Vec<Bound<'_, PyAny>>)| {
        let values = values.iter().map(|node| tree(node, 0)).collect::<PyResult<_>>()?;
        Ok(Override { name, values })
    };
    given.into_iter().map(one).collect()
}

fn context(metrics: Option<Metrics>) -> Context {
    let one = |(known, (name, low, high, is_share)): (String, (String, f64, f64, bool))| {
        (known, Metric { name, bounds: (low, high), is_share })
    };
    Context { metrics: metrics.map(|metrics| metrics.into_iter().map(one).collect()) }
}

#[pymethods]
impl Experiment {
    /// Reads a file. Raises `RefusedError`, and what `start` raises.
    ///
    /// `overrides`: names with their values. `reserved`: names that factors cannot have. `start`: gives the
    /// level of the start value of a range of a search's space. `metrics`: bounds by name.
    #[new]
    fn new(
        root: &Bound<'_, PyAny>,
        given: Vec<(String, Vec<Bound<'_, PyAny>>)>,
        reserved: BTreeSet<String>,
        start: &Bound<'_, PyAny>,
        metrics: Option<Metrics>,
    ) -> PyResult<Self> {
        let raised = RefCell::new(None);
        let called = |name: &str| -> PyResult<Level> {
            let (label, node): Named<'_> = start.call1((name,))?.extract()?;
            Ok(Level { label, tree: tree(&node, 0)? })
        };
        let start = |name: &str, _: &Tree, _: u32| {
            called(name).map_err(|error| {
                raised.replace(Some(error));
                Located::default()
            })
        };
        let (root, given) = (tree(root, 0)?, overrides(given)?);
        let reader = Reader::open(root, &given, reserved, &start, context(metrics));
        if let Some(error) = raised.into_inner() {
            return Err(error);
        }
        Ok(Self { reader: reader.map_err(|error| refused(vec![error]))? })
    }

    /// Number of cells.
    #[getter]
    fn count(&self) -> u64 {
        self.reader.design.factors.count() as u64
    }

    /// Labels of each factor's levels, in order.
    #[getter]
    fn factors(&self) -> Vec<(String, Vec<String>)> {
        let labels = |levels: &[Arc<Level>]| levels.iter().map(|one| one.label.clone()).collect();
        let all = &self.reader.design.factors.all;
        all.iter().map(|factor| (factor.name.clone(), labels(&factor.levels))).collect()
    }

    /// Groups of factors, each with the labels of its combinations. The cells are their product; the last one
    /// varies fastest.
    #[getter]
    fn groups(&self) -> Vec<Labels> {
        let labels = |row: &Vec<Arc<Level>>| row.iter().map(|level| level.label.clone()).collect();
        let groups = self.reader.design.factors.groups.iter();
        groups.map(|one| (one.names.clone(), one.rows.iter().map(labels).collect())).collect()
    }

    /// Names of the search's space, with the paths that each sets.
    #[getter]
    fn space(&self) -> Vec<(String, Vec<String>)> {
        let all = &self.reader.design.space;
        all.iter().map(|one| (one.name.clone(), one.paths.clone())).collect()
    }

    /// Contents of the first cell beside its scenario, as JSON. Raises `RefusedError`.
    fn contents(&self) -> PyResult<String> {
        Ok(self.reader.contents(0).map_err(refused)?.to_string())
    }

    /// A cell. `files`: reads files by name. Raises `RefusedError`.
    fn cell(&self, number: u64, files: Bound<'_, PyAny>) -> PyResult<Cell> {
        let made = self.reader.cell(number, &Read { files }).map_err(refused)?;
        let levels = self.reader.design.factors.cell(number);
        let (scenario, content) = made.canonical();
        let (duration_ns, sampled) = (made.duration_ns(), made.sampled);
        let rtt_ns = made.rtts_ns.clone();
        let (unsampled, unsampled_content) =
            made.without_tables().map(|later| later.canonical()).unzip();
        Ok(Cell {
            labels: levels.iter().map(|level| level.label.clone()).collect(),
            duration_ns,
            scenario,
            content,
            unsampled,
            unsampled_content: unsampled_content.flatten(),
            sampled,
            rtt_ns,
        })
    }

    /// Error of an engine about a field of a cell's scenario, placed in the file.
    fn place(&self, number: u64, path: &str, message: &str, files: Bound<'_, PyAny>) -> Refused {
        of_python(self.reader.place(number, path, message, &Read { files }))
    }

    /// Checks cells from `begin` to before `end` on all processors: the sum of their virtual times in ns, and the
    /// names of their flows. Raises `RefusedError` for the first bad one.
    fn check(
        &self,
        py: Python<'_>,
        begin: u64,
        end: u64,
        files: Bound<'_, PyAny>,
    ) -> PyResult<(u64, BTreeSet<String>)> {
        let threads = std::thread::available_parallelism().map_or(1, |count| count.get() as u64);
        let each = (end - begin).div_ceil(threads).max(1);
        let part = |first: u64| self.reader.check(first..(first + each).min(end), &NoFiles);
        let parts: Vec<_> = py.detach(|| {
            std::thread::scope(|scope| {
                let begins = (begin..end).step_by(each as usize);
                let started: Vec<_> =
                    begins.map(|first| scope.spawn(move || part(first))).collect();
                started
                    .into_iter()
                    .map(|one| one.join().unwrap_or_else(|_| Err(Vec::new())))
                    .collect()
            })
        });
        let mut all = Summary::default();
        for found in parts {
            match found {
                Ok(found) => {
                    all.duration_ns = all.duration_ns.saturating_add(found.duration_ns);
                    all.flows.extend(found.flows);
                }
                // Without files here: read one after the other, the cells may be right.
                Err(_) => {
                    all = self.reader.check(begin..end, &Read { files }).map_err(refused)?;
                    break;
                }
            }
        }
        Ok((all.duration_ns, all.flows))
    }
}

/// JSON Schema of experiment files. `metrics`: names of metrics.
#[pyfunction]
pub(crate) fn experiment_schema(metrics: Vec<String>) -> String {
    json_schema(&metrics).to_string()
}

/// Models of access links by name, as JSON.
#[pyfunction]
pub(crate) fn access_models() -> String {
    dumbbell_experiment::models_json().to_string()
}

/// Objects of typical pages by name, as JSON.
#[pyfunction]
pub(crate) fn typical_pages() -> String {
    dumbbell_experiment::typical_json().to_string()
}
