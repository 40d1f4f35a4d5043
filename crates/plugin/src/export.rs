//! Makes the table of an algorithm in Rust.
#![allow(unsafe_code)]

use crate::table::{self, RawParameters, RawWindow, Table};
use crate::Window;
use crate::{AckEvent, AckSample, CaEvent, CaState, CongestionControl, Conn, LostSkb, RateSample};
use std::any::Any;
use std::cell::RefCell;
use std::ffi::{c_char, c_void, CStr};
use std::panic::{catch_unwind, AssertUnwindSafe};

/// Parameters that the experiment file gives an algorithm.
#[derive(Clone, Debug, Default)]
pub struct Parameters(Vec<(String, f64)>);

impl Parameters {
    /// Parameters by name.
    pub fn new(all: impl IntoIterator<Item = (String, f64)>) -> Self {
        Self(all.into_iter().collect())
    }

    /// Value of a parameter; `default` if the file does not give it.
    pub fn get(&self, name: &str, default: f64) -> f64 {
        self.0.iter().find(|(known, _)| known == name).map_or(default, |(_, value)| *value)
    }
}

/// What the caller knows of an algorithm before there is a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags(pub u32);

impl Flags {
    /// Nothing special.
    pub const NONE: Self = Self(0);
    /// See [`table::NEEDS_ECN`].
    pub const NEEDS_ECN: Self = Self(table::NEEDS_ECN);
    /// See [`table::L4S`].
    pub const L4S: Self = Self(table::L4S);
    /// See [`table::PACED_BY_FQ`].
    pub const PACED_BY_FQ: Self = Self(table::PACED_BY_FQ);

    /// Both.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// An algorithm that a plug-in exports.
pub trait Plugin: CongestionControl + Sized {
    /// What the caller knows of it beforehand.
    const FLAGS: Flags = Flags::NONE;

    /// State of a new connection.
    fn new(parameters: &Parameters) -> Self;
}

/// Exports an algorithm: `export!(Type, name: "mine");`. A panic inside of it ends the run that it
/// belongs to, with its message.
#[macro_export]
macro_rules! export {
    ($algorithm:ty, name: $name:literal) => {
        /// Table of the algorithm, for Dumbbell.
        #[no_mangle]
        pub extern "C" fn dumbbell_cc_v1() -> *const $crate::table::Table {
            static TABLE: $crate::table::Table =
                $crate::table::Table::of::<$algorithm>(concat!($name, "\0"));
            &raw const TABLE
        }
    };
}

thread_local! {
    /// Message of the last panic.
    static MESSAGE: RefCell<String> = const { RefCell::new(String::new()) };
    /// Copy of the last phase, with a zero byte.
    static PHASE: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Calls what may panic. 0: it did not.
fn guarded(call: impl FnOnce()) -> i32 {
    match catch_unwind(AssertUnwindSafe(call)) {
        Ok(()) => 0,
        Err(payload) => {
            keep(&*payload);
            1
        }
    }
}

/// Keeps the message of a panic.
fn keep(payload: &(dyn Any + Send)) {
    let text = payload.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| payload.downcast_ref::<&str>().copied());
    let text = text.unwrap_or("it panicked");
    MESSAGE.with(|message| *message.borrow_mut() = format!("it panicked: {text}"));
}

/// Keeps messages where a panic ends the call at once: WebAssembly has no unwinding.
fn keep_at_panic() {
    #[cfg(target_family = "wasm")]
    std::panic::set_hook(Box::new(|info| keep(info.payload())));
}

/// Calls what may panic and gives a number; `u32::MAX` if it panicked.
fn number(call: impl FnOnce() -> Option<u32>) -> u32 {
    let mut found = None;
    guarded(|| found = call());
    found.unwrap_or(u32::MAX)
}

/// Calls a hook that may change the window.
///
/// # Safety
/// The pointers come from the caller of the table.
unsafe fn hook<T: Plugin>(
    state: *mut c_void,
    conn: *const Conn,
    raw: *mut RawWindow,
    call: impl FnOnce(&mut T, &Conn, &mut Window),
) -> i32 {
    // SAFETY: `state` was made by `create`, the others are the caller's for the time of the call.
    let (algorithm, conn, raw) = unsafe { (&mut *state.cast::<T>(), &*conn, &mut *raw) };
    guarded(|| {
        let mut window = Window::from(&*raw);
        call(algorithm, conn, &mut window);
        *raw = RawWindow::from(&window);
    })
}

unsafe extern "C" fn create<T: Plugin>(state: *mut c_void, given: *const RawParameters) -> i32 {
    // SAFETY: the caller gives so many parameters, whose names end with a zero byte.
    let listed = unsafe {
        let RawParameters { list, count } = *given;
        (0..count as usize).map(|at| *list.add(at)).collect::<Vec<_>>()
    };
    let named = listed.iter().map(|one| {
        // SAFETY: as above.
        let name = unsafe { CStr::from_ptr(one.name) };
        (name.to_string_lossy().into_owned(), one.value)
    });
    let parameters = Parameters::new(named);
    keep_at_panic();
    // SAFETY: `state` has the size and alignment that the table asks for.
    guarded(|| unsafe { state.cast::<T>().write(T::new(&parameters)) })
}

unsafe extern "C" fn release<T: Plugin>(state: *mut c_void) {
    // SAFETY: `state` was made by `create`, and is not used again.
    guarded(|| unsafe { state.cast::<T>().drop_in_place() });
}

unsafe extern "C" fn error(_: *mut c_void, to: *mut c_char, size: u32) {
    MESSAGE.with(|message| {
        let message = message.borrow();
        let length = message.len().min(size.saturating_sub(1) as usize);
        // SAFETY: the caller gives `size` bytes.
        unsafe {
            to.cast::<u8>().copy_from_nonoverlapping(message.as_ptr(), length);
            *to.add(length) = 0;
        }
    });
}

unsafe extern "C" fn properties<T: Plugin>(state: *mut c_void) -> u32 {
    // SAFETY: `state` was made by `create`.
    let algorithm = unsafe { &*state.cast::<T>() };
    let flag = |bit, set| if set { bit } else { 0 };
    number(|| {
        Some(
            flag(table::COUNTS_BYTES, algorithm.counts_bytes())
                | flag(table::DRAWS, algorithm.draws())
                | flag(table::WANTS_ACKS, algorithm.wants_acks())
                | flag(table::CONTROLS_RATE, algorithm.controls_rate())
                | flag(table::WANTS_LOSSES, algorithm.wants_losses()),
        )
    })
}

macro_rules! hooks {
    ($($name:ident($($value:ident: $kind:ty),*) |$algorithm:ident, $conn:ident, $window:ident| $call:expr;)+) => {
        $(unsafe extern "C" fn $name<T: Plugin>(
            state: *mut c_void, conn: *const Conn, window: *mut RawWindow, $($value: $kind),*
        ) -> i32 {
            // SAFETY: the pointers come from the caller of the table.
            unsafe { hook::<T>(state, conn, window, |$algorithm, $conn, $window| $call) }
        })+
    };
}

hooks! {
    init() |it, conn, window| it.init(conn, window);
    ssthresh(to: *mut u32) |it, conn, window| *to = it.ssthresh(conn, window);
    undo_cwnd(to: *mut u32) |it, conn, window| *to = it.undo_cwnd(conn, window);
    cong_avoid(acked: u32) |it, conn, window| it.cong_avoid(conn, window, acked);
    cong_control(sample: *const RateSample) |it, conn, window| it.cong_control(conn, window, &*sample);
    pkts_acked(sample: *const AckSample) |it, conn, window| it.pkts_acked(conn, window, &*sample);
    in_ack_event(event: *const AckEvent) |it, conn, window| it.in_ack_event(conn, window, *event);
    marked_lost(lost: *const LostSkb) |it, conn, window| it.marked_lost(conn, window, &*lost);
    set_state(to: u32) |it, conn, window| if let Some(to) = CaState::numbered(to) { it.set_state(conn, window, to) };
    cwnd_event(event: u32) |it, conn, window| if let Some(event) = CaEvent::numbered(event) { it.cwnd_event(conn, window, event) };
}

unsafe extern "C" fn syn_acked<T: Plugin>(state: *mut c_void, rtt_us: u32) -> i32 {
    // SAFETY: `state` was made by `create`.
    let algorithm = unsafe { &mut *state.cast::<T>() };
    guarded(|| algorithm.syn_acked(rtt_us))
}

macro_rules! numbers {
    ($($name:ident($($value:ident: $kind:ty),*) |$algorithm:ident| $call:expr;)+) => {
        $(unsafe extern "C" fn $name<T: Plugin>(state: *mut c_void, $($value: $kind),*) -> u32 {
            // SAFETY: `state` was made by `create`, the other pointers are the caller's.
            let $algorithm = unsafe { &*state.cast::<T>() };
            number(|| $call)
        })+
    };
}

/// A window of the caller.
fn read(raw: *const RawWindow) -> Window {
    // SAFETY: the pointer comes from the caller of the table.
    Window::from(unsafe { &*raw })
}

numbers! {
    growth_limit(window: *const RawWindow, flight: u32) |it| it.growth_limit(&read(window), flight);
    tso_segs(window: *const RawWindow, mss: u32) |it| it.tso_segs(mss, &read(window));
    min_tso_segs(window: *const RawWindow) |it| it.min_tso_segs(&read(window));
    pacing_ratio() |it| it.pacing_ratio();
    sndbuf_expand() |it| Some(it.sndbuf_expand());
    min_cwnd(window: *const RawWindow) |it| Some(it.min_cwnd(&read(window)));
}

unsafe extern "C" fn phase<T: Plugin>(state: *mut c_void) -> *const c_char {
    // SAFETY: `state` was made by `create`.
    let algorithm = unsafe { &*state.cast::<T>() };
    let mut name = "";
    guarded(|| name = algorithm.phase());
    PHASE.with(|phase| {
        let mut phase = phase.borrow_mut();
        phase.clear();
        phase.extend(name.bytes().take_while(|byte| *byte != 0));
        phase.push(0);
        phase.as_ptr().cast()
    })
}

impl Table {
    /// Table of an algorithm. `name` ends with a zero byte.
    pub const fn of<T: Plugin>(name: &'static str) -> Self {
        assert!(name.len() > 1 && name.as_bytes()[name.len() - 1] == 0, "a name is needed");
        Self {
            abi: table::ABI,
            size: size_of::<Self>() as u32,
            name: name.as_ptr().cast(),
            flags: T::FLAGS.0,
            state_size: size_of::<T>() as u32,
            state_align: align_of::<T>() as u32,
            reserved: 0,
            create: Some(create::<T>),
            release: Some(release::<T>),
            error: Some(error),
            properties: Some(properties::<T>),
            init: Some(init::<T>),
            syn_acked: Some(syn_acked::<T>),
            ssthresh: Some(ssthresh::<T>),
            cong_avoid: Some(cong_avoid::<T>),
            cong_control: Some(cong_control::<T>),
            set_state: Some(set_state::<T>),
            cwnd_event: Some(cwnd_event::<T>),
            in_ack_event: Some(in_ack_event::<T>),
            pkts_acked: Some(pkts_acked::<T>),
            marked_lost: Some(marked_lost::<T>),
            undo_cwnd: Some(undo_cwnd::<T>),
            growth_limit: Some(growth_limit::<T>),
            tso_segs: Some(tso_segs::<T>),
            min_tso_segs: Some(min_tso_segs::<T>),
            pacing_ratio: Some(pacing_ratio::<T>),
            sndbuf_expand: Some(sndbuf_expand::<T>),
            min_cwnd: Some(min_cwnd::<T>),
            phase: Some(phase::<T>),
        }
    }
}
