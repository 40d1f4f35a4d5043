//! The hooks of a connection.

use crate::area::{Area, CONN, NUMBER, SAMPLE, VIEW_BYTES, WINDOW};
use crate::engine::words;
use crate::hooks::Hooks;
use crate::instance::Instance;
use crate::view::{self, View};
use dumbbell_cc::{
    AckEvent, AckSample, CaEvent, CaState, CongestionControl, Conn, LostSkb, RateSample, Window,
};
use dumbbell_plugin::table::{self, RawWindow};
use dumbbell_plugins::{kept, packets, Told};
use std::cell::{Cell, RefCell};
use wasmtime::{TypedFunc, WasmParams};

/// A hook that may change the window: state, connection, window, and a value or its address.
type Hook = (u32, u32, u32, u32);

/// Choice of a function of the table. Functions stay where they are: a copy takes as long as a call.
type Choice<P> = fn(&Hooks) -> &Option<TypedFunc<P, u32>>;

/// A congestion control whose hooks are those of an instance.
pub(crate) struct Control {
    /// Hooks that only give a number execute code, too.
    instance: RefCell<Instance>,
    flags: u32,
    /// No hook is called any more.
    failed: Cell<bool>,
    /// Time of the last hook that had one, ns.
    at_ns: Cell<u64>,
    told: Told,
}

impl Control {
    /// Hooks of a connection.
    pub(crate) fn new(instance: Instance, told: Told) -> Self {
        let flags = instance.flags;
        let (failed, at_ns) = (Cell::new(false), Cell::new(0));
        Self { instance: RefCell::new(instance), flags, failed, at_ns, told }
    }

    fn has(&self, bit: u32) -> bool {
        self.flags & bit != 0
    }

    fn fail(&self, name: &str, what: &str) {
        self.failed.set(true);
        self.told.failed(self.at_ns.get(), format!("{name}: {what}"));
    }

    /// Is there a hook, and did none fail?
    fn has_hook<P>(&self, chosen: Choice<P>) -> bool {
        !self.failed.get() && chosen(&self.instance.borrow().hooks).is_some()
    }

    /// Calls a hook that is there, and takes the window that it leaves behind if that is in bounds.
    ///
    /// `put`: writes what else the hook reads; `inputs`: its arguments.
    fn hook<P: WasmParams>(
        &mut self,
        name: &str,
        chosen: Choice<P>,
        conn: &Conn,
        window: &mut Window,
        put: impl FnOnce(&mut [u8; VIEW_BYTES]),
        inputs: impl FnOnce(Area) -> P,
    ) {
        self.at_ns.set(conn.now_ns);
        let instance = self.instance.get_mut();
        let inputs = inputs(instance.area);
        let bytes = instance.view();
        conn.put(&mut bytes[CONN as usize..]);
        RawWindow::from(&*window).put(&mut bytes[WINDOW as usize..]);
        put(bytes);
        let status = self.told.hook(conn.now_ns, || instance.call_hook(chosen, inputs));
        let done = instance.succeeded(status).and_then(|()| {
            let left = view::window(&instance.view()[WINDOW as usize..]);
            dumbbell_plugins::window(&left)?;
            Ok(left)
        });
        match done {
            Ok(left) => *window = left,
            Err(what) => self.fail(name, &what),
        }
    }

    /// Calls a hook with a number, if there is one.
    fn with_number(
        &mut self,
        name: &str,
        chosen: Choice<Hook>,
        conn: &Conn,
        window: &mut Window,
        number: u32,
    ) {
        if self.has_hook(chosen) {
            let inputs = |area: Area| (area.state, area.at(CONN), area.at(WINDOW), number);
            self.hook(name, chosen, conn, window, |_| (), inputs);
        }
    }

    /// Calls a hook with a sample, if there is one.
    fn with_sample(
        &mut self,
        name: &str,
        chosen: Choice<Hook>,
        conn: &Conn,
        window: &mut Window,
        sample: &impl View,
    ) {
        if self.has_hook(chosen) {
            let put = |bytes: &mut [u8; VIEW_BYTES]| sample.put(&mut bytes[SAMPLE as usize..]);
            let inputs = |area: Area| (area.state, area.at(CONN), area.at(WINDOW), area.at(SAMPLE));
            self.hook(name, chosen, conn, window, put, inputs);
        }
    }

    /// Calls a hook that gives a number of packets; `None`: there is none, or it fails.
    fn gives_packets(
        &mut self,
        name: &str,
        chosen: Choice<Hook>,
        conn: &Conn,
        window: &mut Window,
    ) -> Option<u32> {
        if !self.has_hook(chosen) {
            return None;
        }
        let at = self.instance.get_mut().area.at(NUMBER);
        self.with_number(name, chosen, conn, window, at);
        if self.failed.get() {
            return None;
        }
        let found = view::word(self.instance.get_mut().view(), NUMBER as usize);
        match packets(name, found) {
            Ok(()) => Some(found),
            Err(what) => {
                self.fail(name, &what);
                None
            }
        }
    }

    /// Calls a function that gives a number; `None`: there is none, it fails, or the caller's own is wanted.
    fn number<P: WasmParams>(
        &self,
        name: &str,
        chosen: Choice<P>,
        window: Option<&Window>,
        inputs: impl FnOnce(u32, u32) -> P,
    ) -> Option<u32> {
        if !self.has_hook(chosen) {
            return None;
        }
        let mut instance = self.instance.borrow_mut();
        if let Some(window) = window {
            RawWindow::from(window).put(&mut instance.view()[WINDOW as usize..]);
        }
        let area = instance.area;
        let inputs = inputs(area.state, area.at(WINDOW));
        let found = self.told.hook(self.at_ns.get(), || instance.call_hook(chosen, inputs));
        match found {
            Ok(found) => Some(found).filter(|found| *found != u32::MAX),
            Err(error) => {
                self.fail(name, &words(&error));
                None
            }
        }
    }
}

/// Calls a hook of the table by its name: with a number, or with a sample.
macro_rules! hook {
    ($self:ident.$name:ident($conn:ident, $window:ident, number $value:expr)) => {{
        $self.with_number(stringify!($name), |hooks| &hooks.$name, $conn, $window, $value);
    }};
    ($self:ident.$name:ident($conn:ident, $window:ident, sample $value:expr)) => {{
        $self.with_sample(stringify!($name), |hooks| &hooks.$name, $conn, $window, $value);
    }};
}

/// A number of the table.
macro_rules! number {
    ($self:ident.$name:ident($window:expr, |$state:ident, $at:ident| $inputs:expr)) => {
        $self.number(stringify!($name), |hooks| &hooks.$name, $window, |$state, $at| $inputs)
    };
}

impl CongestionControl for Control {
    fn init(&mut self, conn: &Conn, window: &mut Window) {
        let chosen: Choice<(u32, u32, u32)> = |hooks| &hooks.init;
        if self.has_hook(chosen) {
            let inputs = |area: Area| (area.state, area.at(CONN), area.at(WINDOW));
            self.hook("init", chosen, conn, window, |_| (), inputs);
        }
    }

    fn syn_acked(&mut self, rtt_us: u32) {
        let chosen: Choice<(u32, u32)> = |hooks| &hooks.syn_acked;
        if self.has_hook(chosen) {
            let instance = self.instance.get_mut();
            let state = instance.area.state;
            let status = self.told.hook(0, || instance.call_hook(chosen, (state, rtt_us)));
            if let Err(what) = instance.succeeded(status) {
                self.fail("syn_acked", &what);
            }
        }
    }

    fn ssthresh(&mut self, conn: &Conn, window: &mut Window) -> u32 {
        let otherwise = (window.cwnd / 2).max(2);
        self.gives_packets("ssthresh", |hooks| &hooks.ssthresh, conn, window).unwrap_or(otherwise)
    }

    fn undo_cwnd(&mut self, conn: &Conn, window: &mut Window) -> u32 {
        let otherwise = window.cwnd.max(conn.prior_cwnd);
        self.gives_packets("undo_cwnd", |hooks| &hooks.undo_cwnd, conn, window).unwrap_or(otherwise)
    }

    fn cong_avoid(&mut self, conn: &Conn, window: &mut Window, acked: u32) {
        hook!(self.cong_avoid(conn, window, number acked));
    }

    fn cong_control(&mut self, conn: &Conn, window: &mut Window, sample: &RateSample) {
        hook!(self.cong_control(conn, window, sample sample));
    }

    fn pkts_acked(&mut self, conn: &Conn, window: &mut Window, sample: &AckSample) {
        hook!(self.pkts_acked(conn, window, sample sample));
    }

    fn in_ack_event(&mut self, conn: &Conn, window: &mut Window, event: AckEvent) {
        hook!(self.in_ack_event(conn, window, sample & event));
    }

    fn marked_lost(&mut self, conn: &Conn, window: &mut Window, lost: &LostSkb) {
        hook!(self.marked_lost(conn, window, sample lost));
    }

    fn set_state(&mut self, conn: &Conn, window: &mut Window, state: CaState) {
        hook!(self.set_state(conn, window, number state as u32));
    }

    fn cwnd_event(&mut self, conn: &Conn, window: &mut Window, event: CaEvent) {
        hook!(self.cwnd_event(conn, window, number event as u32));
    }

    fn wants_acks(&self) -> bool {
        self.has(table::WANTS_ACKS)
    }

    fn controls_rate(&self) -> bool {
        self.has(table::CONTROLS_RATE)
    }

    fn wants_losses(&self) -> bool {
        self.has(table::WANTS_LOSSES)
    }

    fn draws(&self) -> bool {
        self.has(table::DRAWS)
    }

    fn counts_bytes(&self) -> bool {
        self.has(table::COUNTS_BYTES)
    }

    fn growth_limit(&self, window: &Window, flight: u32) -> Option<u32> {
        number!(self.growth_limit(Some(window), |state, at| (state, at, flight)))
    }

    fn tso_segs(&self, mss: u32, window: &Window) -> Option<u32> {
        number!(self.tso_segs(Some(window), |state, at| (state, at, mss)))
    }

    fn min_tso_segs(&self, window: &Window) -> Option<u32> {
        number!(self.min_tso_segs(Some(window), |state, at| (state, at)))
    }

    fn pacing_ratio(&self) -> Option<u32> {
        number!(self.pacing_ratio(None, |state, _at| state))
    }

    fn sndbuf_expand(&self) -> u32 {
        number!(self.sndbuf_expand(None, |state, _at| state)).unwrap_or(2).clamp(1, 100)
    }

    fn min_cwnd(&self, window: &Window) -> u32 {
        number!(self.min_cwnd(Some(window), |state, at| (state, at))).unwrap_or(window.ssthresh)
    }

    fn phase(&self) -> &'static str {
        match number!(self.phase(None, |state, _at| state)) {
            None | Some(0) => "",
            Some(at) => kept(self.instance.borrow().text(at).unwrap_or_default()),
        }
    }
}
