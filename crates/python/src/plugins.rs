//! Plug-ins of a run: shared libraries, WebAssembly modules, and classes in Python.

use crate::policy::Policy;
use dumbbell_cc::{
    AckEvent as AckEventOf, AckSample as AckSampleOf, CaEvent, CaState, CongestionControl,
    Conn as ConnOf, LostSkb as LostSkbOf, RateSample as RateSampleOf, Window as WindowOf,
};
use dumbbell_model::catalogue::plugin::Facts;
use dumbbell_plugins::{packets, Library, Maker, Makers, Page, Told};
use dumbbell_wasm::Module;
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString, PyType};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Makers of the plug-ins of a run: SHA-256 → path of a library, module or policy, or class.
pub(crate) fn makers(given: &Bound<'_, PyDict>) -> PyResult<Makers> {
    let mut all = Makers::new();
    for (sha256, what) in given {
        let maker: Arc<dyn Maker> = if let Ok(class) = what.cast::<PyType>() {
            Arc::new(Class { class: class.clone().unbind() })
        } else {
            let path: PathBuf = what.extract()?;
            if is_module(&path) {
                Arc::new(Module::open(&path).map_err(PyValueError::new_err)?)
            } else if path.extension().is_some_and(|end| end == "onnx") {
                Arc::new(Policy::open(&path).map_err(PyValueError::new_err)?)
            } else {
                Arc::new(Arc::new(Library::open(&path).map_err(PyValueError::new_err)?))
            }
        };
        all.insert(sha256.extract()?, maker);
    }
    Ok(all)
}

/// Opens the page of a run.
pub(crate) fn page(path: Option<PathBuf>) -> PyResult<Arc<Page>> {
    let opened = path.map_or_else(Page::private, |path| Page::open(&path));
    opened.map(Arc::new).map_err(|error| PyOSError::new_err(error.to_string()))
}

fn is_module(path: &Path) -> bool {
    path.extension().is_some_and(|end| end == "wasm")
}

/// Name of the algorithm of a library or module; whether it needs ECN, is for L4S, is paced by fq. Runs its code. Raises `ValueError` with the reason if it is none.
#[pyfunction]
pub(crate) fn plugin_library(path: PathBuf) -> PyResult<(String, bool, bool, bool)> {
    let facts = if is_module(&path) {
        Module::open(&path).map(|module| module.facts(module.name(), ""))
    } else {
        Library::open(&path).map(|library| library.facts(library.name(), ""))
    };
    let facts = facts.map_err(PyValueError::new_err)?;
    Ok((facts.name, facts.needs_ecn, facts.l4s, facts.paced_by_fq))
}

macro_rules! view {
    ($(#[$about:meta])* $name:ident of $inner:ident { $($field:ident: $kind:ty,)+ }) => {
        $(#[$about])*
        #[pyclass(frozen, module = "dumbbell._core")]
        pub(crate) struct $name($inner);

        #[pymethods]
        impl $name {
            $(#[getter]
            fn $field(&self) -> $kind {
                self.0.$field.into()
            })+
        }
    };
}

/// A state as Python sees it: its name in Linux.
struct State(&'static str);

impl From<CaState> for State {
    fn from(state: CaState) -> Self {
        Self(match state {
            CaState::Open => "open",
            CaState::Disorder => "disorder",
            CaState::Cwr => "cwr",
            CaState::Recovery => "recovery",
            CaState::Loss => "loss",
        })
    }
}

impl<'py> IntoPyObject<'py> for State {
    type Target = PyString;
    type Output = Bound<'py, PyString>;
    type Error = std::convert::Infallible;

    fn into_pyobject(self, py: Python<'py>) -> Result<Self::Output, Self::Error> {
        Ok(PyString::intern(py, self.0))
    }
}

const fn event_name(event: CaEvent) -> &'static str {
    match event {
        CaEvent::TxStart => "tx_start",
        CaEvent::CwndRestart => "cwnd_restart",
        CaEvent::CompleteCwr => "complete_cwr",
        CaEvent::Loss => "loss",
        CaEvent::TlpRecovery => "tlp_recovery",
    }
}

view! {
    /// What a hook may read of its connection.
    Conn of ConnOf {
        now_us: u64, now_ms: u64, now_ns: u64, srtt_us8: u32, min_rtt_us: u32, snd_una: u64,
        snd_nxt: u64, mss: u32, header_bytes: u32, in_flight: u32, sacked_out: u32, delivered: u64,
        delivered_us: u64, delivered_ce: u64, ecn: bool, lost: u64, app_limited: u64,
        cwnd_limited: bool, cwnd_limited_flight: bool, tlp_app_limited: bool, state: State,
        last_send_ms: u64, prior_cwnd: u32, wstamp_ns: u64, tsval_ms: u32, tsecr_ms: u32,
        random: u32,
    }
}

view! {
    /// Delivery rate over an ACK.
    RateSample of RateSampleOf {
        prior_delivered: u64, delivered: i64, interval_us: i64, rtt_us: i64, losses: u32,
        acked_sacked: u32, prior_in_flight: u32, app_limited: bool, retransmitted: bool,
        ack_delayed: bool, tx_in_flight: u32, lost: i64, marked: u32,
        acks_tlp_retransmission: bool,
    }
}

view! {
    /// Packets that an ACK acknowledged.
    AckSample of AckSampleOf { pkts_acked: u32, rtt_us: i64, in_flight: u32, }
}

view! {
    /// Properties of an ACK.
    AckEvent of AckEventOf { slow_path: bool, ece: bool, }
}

view! {
    /// An skb that was marked lost.
    LostSkb of LostSkbOf {
        packets: u32, tx_in_flight: u32, lost_since_sent: i64, app_limited: bool, used: bool,
    }
}

/// A class with the fields of a struct of `dumbbell-plugin`, which Python may set.
macro_rules! copied {
    ($(#[$about:meta])* $name:ident of $inner:ident { $($field:ident: $kind:ty,)+ }) => {
        $(#[$about])*
        #[pyclass(module = "dumbbell._core", get_all, set_all)]
        pub(crate) struct $name {
            $($field: $kind,)+
        }

        impl $name {
            const fn of(from: &$inner) -> Self {
                let $inner { $($field,)+ } = *from;
                Self { $($field,)+ }
            }

            const fn left(&self) -> $inner {
                let Self { $($field,)+ } = *self;
                $inner { $($field,)+ }
            }
        }
    };
}

copied! {
    /// What a hook may change.
    Window of WindowOf {
        cwnd: u32, cwnd_cnt: u32, ssthresh: u32, cwnd_clamp: u32, pacing_rate: u64, pacing: bool,
        app_limited: Option<u64>, mtu: Option<u32>, enter_cwr: bool,
    }
}

#[pymethods]
impl Window {
    /// True below the threshold, where every ACK grows the window (`tcp_in_slow_start`).
    fn in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }

    /// Grows the window in slow start up to the threshold. Returns the ACKed packets beyond it
    /// (`tcp_slow_start`).
    fn slow_start(&mut self, acked: u32) -> u32 {
        let mut window = self.left();
        let left = window.slow_start(acked);
        *self = Self::of(&window);
        left
    }

    /// Grows the window by one packet per `per` ACKed packets (`tcp_cong_avoid_ai`).
    fn additive_increase(&mut self, per: u32, acked: u32) {
        let mut window = self.left();
        window.additive_increase(per.max(1), acked);
        *self = Self::of(&window);
    }
}

/// A class that was declared a congestion control.
struct Class {
    class: Py<PyType>,
}

impl Maker for Class {
    fn make(&self, facts: &Facts, told: Told) -> Result<Box<dyn CongestionControl>, String> {
        Python::attach(|py| {
            let class = self.class.bind(py);
            let parameters = PyDict::new(py);
            let made = facts
                .parameters
                .iter()
                .try_for_each(|(name, value)| parameters.set_item(name, value))
                .and_then(|()| class.call((), Some(&parameters)))
                .map_err(|error| raised(py, &error))?;
            let has = |name: &str| made.hasattr(name).unwrap_or(false);
            if !has("ssthresh") {
                return Err(format!("class {} has no method ssthresh", shown(class)));
            }
            if !has("cong_avoid") && !has("cong_control") {
                let name = shown(class);
                return Err(format!("class {name} has no method cong_avoid or cong_control"));
            }
            let flag =
                |name: &str| made.getattr(name).and_then(|one| one.extract()).unwrap_or(false);
            let hooks = HOOKS.map(|name| {
                made.getattr(name).ok().filter(|found| found.is_callable()).map(Bound::unbind)
            });
            let (draws, counts_bytes) = (flag("draws"), flag("counts_bytes"));
            let phase = has("phase").then(|| made.clone().unbind());
            Ok(Box::new(Object { hooks, phase, draws, counts_bytes, failed: false, told })
                as Box<dyn CongestionControl>)
        })
    }
}

fn shown(class: &Bound<'_, PyType>) -> String {
    class.name().map_or_else(|_| String::new(), |name| name.to_string())
}

/// An exception in one line: its type and text, and the last line in the plug-in's file.
fn raised(py: Python<'_>, error: &PyErr) -> String {
    let text = error.to_string();
    let text = text.strip_suffix(": ").unwrap_or(&text);
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match error.traceback(py).and_then(|first| own_line(first.into_any()).ok().flatten()) {
        Some(line) => format!("{text} (line {line})"),
        None => text,
    }
}

/// Last line of a traceback in the file in which it begins, which is the plug-in's.
fn own_line(first: Bound<'_, PyAny>) -> PyResult<Option<u32>> {
    let file = |at: &Bound<'_, PyAny>| {
        at.getattr("tb_frame")?.getattr("f_code")?.getattr("co_filename")?.extract::<String>()
    };
    let (own, mut line, mut at) = (file(&first)?, None, first);
    while !at.is_none() {
        if file(&at)? == own {
            line = Some(at.getattr("tb_lineno")?.extract()?);
        }
        at = at.getattr("tb_next")?;
    }
    Ok(line)
}

/// Methods that are hooks.
const HOOKS: [&str; 10] = [
    "init",
    "ssthresh",
    "cong_avoid",
    "cong_control",
    "set_state",
    "cwnd_event",
    "in_ack_event",
    "pkts_acked",
    "marked_lost",
    "undo_cwnd",
];
const INIT: usize = 0;
const SSTHRESH: usize = 1;
const CONG_AVOID: usize = 2;
const CONG_CONTROL: usize = 3;
const SET_STATE: usize = 4;
const CWND_EVENT: usize = 5;
const IN_ACK_EVENT: usize = 6;
const PKTS_ACKED: usize = 7;
const MARKED_LOST: usize = 8;
const UNDO_CWND: usize = 9;

/// An instance of a class.
struct Object {
    hooks: [Option<Py<PyAny>>; HOOKS.len()],
    /// The object, if it has a phase.
    phase: Option<Py<PyAny>>,
    draws: bool,
    counts_bytes: bool,
    failed: bool,
    told: Told,
}

impl Object {
    /// Calls a hook with connection, window and a value. Returns what it returned, as a number.
    fn call<'v, V>(
        &mut self,
        hook: usize,
        conn: &ConnOf,
        window: &mut WindowOf,
        value: Option<V>,
        gives_packets: bool,
    ) -> Option<u32>
    where
        V: Send + 'v,
        for<'py> V: IntoPyObject<'py>,
    {
        let method = self.hooks[hook].as_ref().filter(|_| !self.failed)?;
        let name = HOOKS[hook];
        let done = self.told.hook(conn.now_ns, || {
            Python::attach(|py| -> Result<(WindowOf, Option<u32>), String> {
                let fail = |error: PyErr| raised(py, &error);
                let seen = Bound::new(py, Conn(*conn)).map_err(fail)?;
                let given = Bound::new(py, Window::of(window)).map_err(fail)?;
                let method = method.bind(py);
                let found = match value {
                    Some(value) => method.call1((seen, &given, value)),
                    None => method.call1((seen, &given)),
                };
                let found = found.map_err(fail)?;
                let left = given.borrow().left();
                let number = if gives_packets {
                    let number = found.extract::<u32>().map_err(|_| {
                        format!("it returned {found}; a whole number of packets is needed")
                    })?;
                    packets(name, number)?;
                    Some(number)
                } else {
                    None
                };
                dumbbell_plugins::window(&left)?;
                Ok((left, number))
            })
        });
        match done {
            Ok((left, number)) => {
                *window = left;
                number
            }
            Err(what) => {
                self.failed = true;
                self.told.failed(conn.now_ns, format!("{name}: {what}"));
                None
            }
        }
    }

    fn has(&self, hook: usize) -> bool {
        self.hooks[hook].is_some()
    }
}

/// No further value.
const NOTHING: Option<u32> = None;

impl CongestionControl for Object {
    fn init(&mut self, conn: &ConnOf, window: &mut WindowOf) {
        self.call(INIT, conn, window, NOTHING, false);
    }

    fn ssthresh(&mut self, conn: &ConnOf, window: &mut WindowOf) -> u32 {
        let otherwise = (window.cwnd / 2).max(2);
        self.call(SSTHRESH, conn, window, NOTHING, true).unwrap_or(otherwise)
    }

    fn undo_cwnd(&mut self, conn: &ConnOf, window: &mut WindowOf) -> u32 {
        let otherwise = window.cwnd.max(conn.prior_cwnd);
        self.call(UNDO_CWND, conn, window, NOTHING, true).unwrap_or(otherwise)
    }

    fn cong_avoid(&mut self, conn: &ConnOf, window: &mut WindowOf, acked: u32) {
        self.call(CONG_AVOID, conn, window, Some(acked), false);
    }

    fn cong_control(&mut self, conn: &ConnOf, window: &mut WindowOf, sample: &RateSampleOf) {
        self.call(CONG_CONTROL, conn, window, Some(RateSample(*sample)), false);
    }

    fn pkts_acked(&mut self, conn: &ConnOf, window: &mut WindowOf, sample: &AckSampleOf) {
        self.call(PKTS_ACKED, conn, window, Some(AckSample(*sample)), false);
    }

    fn in_ack_event(&mut self, conn: &ConnOf, window: &mut WindowOf, event: AckEventOf) {
        self.call(IN_ACK_EVENT, conn, window, Some(AckEvent(event)), false);
    }

    fn marked_lost(&mut self, conn: &ConnOf, window: &mut WindowOf, lost: &LostSkbOf) {
        self.call(MARKED_LOST, conn, window, Some(LostSkb(*lost)), false);
    }

    fn set_state(&mut self, conn: &ConnOf, window: &mut WindowOf, state: CaState) {
        self.call(SET_STATE, conn, window, Some(State::from(state)), false);
    }

    fn cwnd_event(&mut self, conn: &ConnOf, window: &mut WindowOf, event: CaEvent) {
        self.call(CWND_EVENT, conn, window, Some(event_name(event)), false);
    }

    fn wants_acks(&self) -> bool {
        self.has(IN_ACK_EVENT)
    }

    fn controls_rate(&self) -> bool {
        self.has(CONG_CONTROL)
    }

    fn wants_losses(&self) -> bool {
        self.has(MARKED_LOST)
    }

    fn draws(&self) -> bool {
        self.draws
    }

    fn counts_bytes(&self) -> bool {
        self.counts_bytes
    }

    fn phase(&self) -> &'static str {
        let Some(object) = self.phase.as_ref().filter(|_| !self.failed) else { return "" };
        Python::attach(|py| {
            let text =
                object.bind(py).getattr("phase").ok().and_then(|one| one.extract::<String>().ok());
            dumbbell_plugins::kept(text.unwrap_or_default().as_bytes())
        })
    }
}
