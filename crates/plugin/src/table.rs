//! The table of functions that a plug-in exports, in C's layout: `dumbbell_cc.h` declares the same.
//!
//! A function returns 0, or another number if it failed. A missing function stands for what Linux does
//! without it.

use crate::{AckEvent, AckSample, Conn, LostSkb, RateSample, Window};
use std::ffi::{c_char, c_void};

/// Version of the table.
pub const ABI: u32 = 1;
/// Name of the function that returns the table.
pub const SYMBOL: &[u8] = b"dumbbell_cc_v1\0";

/// Negotiates ECN at both ends (`TCP_CONG_NEEDS_ECN`).
pub const NEEDS_ECN: u32 = 1;
/// Sends ECT(1), and takes no other ECN than Accurate ECN (RFC 9331 §4).
pub const L4S: u32 = 1 << 1;
/// The fq qdisc of the sending host paces by default.
pub const PACED_BY_FQ: u32 = 1 << 2;
/// Congestion avoidance counts bytes (RFC 3465 §2.1).
pub const COUNTS_BYTES: u32 = 1 << 3;
/// Reads `random`.
pub const DRAWS: u32 = 1 << 4;
/// The hook `in_ack_event` is called.
pub const WANTS_ACKS: u32 = 1 << 5;
/// The hook `cong_control` does all congestion control.
pub const CONTROLS_RATE: u32 = 1 << 6;
/// The hook `marked_lost` is called.
pub const WANTS_LOSSES: u32 = 1 << 7;

/// Bit of [`RawWindow::flags`]: segments are paced.
pub const PACING: u32 = 1;
/// Bit of [`RawWindow::flags`]: `app_limited` is to be taken.
pub const SET_APP_LIMITED: u32 = 1 << 1;
/// Bit of [`RawWindow::flags`]: `mtu` is to be taken.
pub const SET_MTU: u32 = 1 << 2;
/// Bit of [`RawWindow::flags`]: the window is to be reduced as for a mark.
pub const ENTER_CWR: u32 = 1 << 3;

/// A parameter that the experiment file gives.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Parameter {
    /// Its name, with a zero byte at the end.
    pub name: *const c_char,
    /// Its value.
    pub value: f64,
}

/// All parameters.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct RawParameters {
    /// First of them.
    pub list: *const Parameter,
    /// Their number.
    pub count: u32,
}

/// [`Window`] in C's layout.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct RawWindow {
    /// See [`Window::pacing_rate`].
    pub pacing_rate: u64,
    /// See [`Window::app_limited`].
    pub app_limited: u64,
    /// See [`Window::cwnd`].
    pub cwnd: u32,
    /// See [`Window::cwnd_cnt`].
    pub cwnd_cnt: u32,
    /// See [`Window::ssthresh`].
    pub ssthresh: u32,
    /// See [`Window::cwnd_clamp`].
    pub cwnd_clamp: u32,
    /// See [`Window::mtu`].
    pub mtu: u32,
    /// [`PACING`] and so on.
    pub flags: u32,
}

impl From<&Window> for RawWindow {
    fn from(window: &Window) -> Self {
        let flag = |bit, set| if set { bit } else { 0 };
        Self {
            pacing_rate: window.pacing_rate,
            app_limited: window.app_limited.unwrap_or(0),
            cwnd: window.cwnd,
            cwnd_cnt: window.cwnd_cnt,
            ssthresh: window.ssthresh,
            cwnd_clamp: window.cwnd_clamp,
            mtu: window.mtu.unwrap_or(0),
            flags: flag(PACING, window.pacing)
                | flag(SET_APP_LIMITED, window.app_limited.is_some())
                | flag(SET_MTU, window.mtu.is_some())
                | flag(ENTER_CWR, window.enter_cwr),
        }
    }
}

impl From<&RawWindow> for Window {
    fn from(raw: &RawWindow) -> Self {
        let set = |bit| raw.flags & bit != 0;
        Self {
            cwnd: raw.cwnd,
            cwnd_cnt: raw.cwnd_cnt,
            ssthresh: raw.ssthresh,
            cwnd_clamp: raw.cwnd_clamp,
            pacing_rate: raw.pacing_rate,
            pacing: set(PACING),
            app_limited: set(SET_APP_LIMITED).then_some(raw.app_limited),
            mtu: set(SET_MTU).then_some(raw.mtu),
            enter_cwr: set(ENTER_CWR),
        }
    }
}

type State = *mut c_void;
type Status = i32;

/// The table. Functions get the state of a connection, and what the hook of
/// [`CongestionControl`](crate::CongestionControl) with their name gets.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
#[expect(missing_docs, reason = "the hooks are described at the trait")]
pub struct Table {
    /// [`ABI`].
    pub abi: u32,
    /// Bytes of this table.
    pub size: u32,
    /// Name of the algorithm, with a zero byte at the end.
    pub name: *const c_char,
    /// [`NEEDS_ECN`] and so on.
    pub flags: u32,
    /// Bytes of a connection's state, which the caller allocates and clears.
    pub state_size: u32,
    /// Alignment of a state, bytes.
    pub state_align: u32,
    /// 0.
    pub reserved: u32,
    /// Initialises a state.
    pub create: Option<unsafe extern "C" fn(State, *const RawParameters) -> Status>,
    /// Frees what a state holds.
    pub release: Option<unsafe extern "C" fn(State)>,
    /// Writes why the last function failed into so many bytes, with a zero byte at the end.
    pub error: Option<unsafe extern "C" fn(State, *mut c_char, u32)>,
    /// Bits that follow from a new state, beside `flags`.
    pub properties: Option<unsafe extern "C" fn(State) -> u32>,
    pub init: Option<unsafe extern "C" fn(State, *const Conn, *mut RawWindow) -> Status>,
    pub syn_acked: Option<unsafe extern "C" fn(State, u32) -> Status>,
    pub ssthresh:
        Option<unsafe extern "C" fn(State, *const Conn, *mut RawWindow, *mut u32) -> Status>,
    pub cong_avoid: Option<unsafe extern "C" fn(State, *const Conn, *mut RawWindow, u32) -> Status>,
    pub cong_control: Option<
        unsafe extern "C" fn(State, *const Conn, *mut RawWindow, *const RateSample) -> Status,
    >,
    pub set_state: Option<unsafe extern "C" fn(State, *const Conn, *mut RawWindow, u32) -> Status>,
    pub cwnd_event: Option<unsafe extern "C" fn(State, *const Conn, *mut RawWindow, u32) -> Status>,
    pub in_ack_event:
        Option<unsafe extern "C" fn(State, *const Conn, *mut RawWindow, *const AckEvent) -> Status>,
    pub pkts_acked: Option<
        unsafe extern "C" fn(State, *const Conn, *mut RawWindow, *const AckSample) -> Status,
    >,
    pub marked_lost:
        Option<unsafe extern "C" fn(State, *const Conn, *mut RawWindow, *const LostSkb) -> Status>,
    pub undo_cwnd:
        Option<unsafe extern "C" fn(State, *const Conn, *mut RawWindow, *mut u32) -> Status>,
    /// Values of these functions are numbers; `u32::MAX` stands for the caller's own.
    pub growth_limit: Option<unsafe extern "C" fn(State, *const RawWindow, u32) -> u32>,
    pub tso_segs: Option<unsafe extern "C" fn(State, *const RawWindow, u32) -> u32>,
    pub min_tso_segs: Option<unsafe extern "C" fn(State, *const RawWindow) -> u32>,
    pub pacing_ratio: Option<unsafe extern "C" fn(State) -> u32>,
    pub sndbuf_expand: Option<unsafe extern "C" fn(State) -> u32>,
    pub min_cwnd: Option<unsafe extern "C" fn(State, *const RawWindow) -> u32>,
    /// Name of the phase, with a zero byte at the end.
    pub phase: Option<unsafe extern "C" fn(State) -> *const c_char>,
}

// SAFETY: a table is constant, and its pointers lead to what lives as long as the library.
#[allow(unsafe_code)]
unsafe impl Sync for Table {}
// SAFETY: as above.
#[allow(unsafe_code)]
unsafe impl Send for Table {}
