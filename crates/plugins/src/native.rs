//! An instance of a library's algorithm.
#![allow(unsafe_code)]

use crate::bounds;
use crate::described;
use crate::library::Library;
use crate::phases::kept;
use crate::run::{Maker, Told};
use dumbbell_cc::{
    AckEvent, AckSample, CaEvent, CaState, CongestionControl, Conn, LostSkb, RateSample, Window,
};
use dumbbell_model::catalogue::plugin::Facts;
use dumbbell_plugin::table::{self, Parameter, RawParameters, RawWindow, Table};
use std::alloc::{alloc_zeroed, dealloc, handle_alloc_error, Layout};
use std::ffi::{c_char, c_void, CStr, CString};
use std::sync::Arc;

/// Bytes of a message of a library.
const MESSAGE_BYTES: usize = 256;

impl Maker for Arc<Library> {
    fn make(&self, facts: &Facts, told: Told) -> Result<Box<dyn CongestionControl>, String> {
        Ok(Box::new(Native::new(Self::clone(self), facts, told)?))
    }
}

struct Native {
    library: Arc<Library>,
    state: *mut c_void,
    layout: Layout,
    flags: u32,
    /// No hook is called any more.
    failed: bool,
    told: Told,
}

// SAFETY: an instance is used by one thread at a time; a library keeps no state elsewhere (the header
// says so).
unsafe impl Send for Native {}

impl Native {
    fn new(library: Arc<Library>, facts: &Facts, told: Told) -> Result<Self, String> {
        let table = library.table();
        let align = match table.state_align {
            0 => align_of::<u64>(),
            align => align as usize,
        };
        let layout = Layout::from_size_align(table.state_size.max(1) as usize, align)
            .map_err(|error| error.to_string())?;
        // SAFETY: the size is not 0.
        let state = unsafe { alloc_zeroed(layout) };
        if state.is_null() {
            handle_alloc_error(layout);
        }
        let flags = table.flags;
        let mut made = Self { library, state: state.cast(), layout, flags, failed: true, told };
        let named: Vec<(CString, f64)> = facts
            .parameters
            .iter()
            .filter_map(|(name, value)| Some((CString::new(name.as_str()).ok()?, *value)))
            .collect();
        let list: Vec<Parameter> = named
            .iter()
            .map(|(name, value)| Parameter { name: name.as_ptr(), value: *value })
            .collect();
        let given = RawParameters { list: list.as_ptr(), count: list.len() as u32 };
        let create = made.table().create.ok_or("its table has no create")?;
        // SAFETY: the state has the size that the table asks for, and the parameters live until the end.
        let status = made.told.hook(0, || unsafe { create(made.state, &raw const given) });
        if status != 0 {
            return Err(format!("create: {}", made.message(status)));
        }
        made.failed = false;
        made.flags |= made.properties();
        Ok(made)
    }

    fn table(&self) -> &Table {
        self.library.table()
    }

    fn properties(&self) -> u32 {
        let table = self.table();
        if let Some(properties) = table.properties {
            // SAFETY: the state is created.
            return self.told.hook(0, || unsafe { properties(self.state) });
        }
        described::properties(
            table.in_ack_event.is_some(),
            table.cong_control.is_some(),
            table.marked_lost.is_some(),
        )
    }

    fn has(&self, bit: u32) -> bool {
        self.flags & bit != 0
    }

    /// Why the last hook failed.
    fn message(&self, status: i32) -> String {
        let mut text = [0u8; MESSAGE_BYTES];
        let Some(error) = self.table().error else { return format!("it returned {status}") };
        // SAFETY: so many bytes are there; the last one stays 0.
        unsafe { error(self.state, text.as_mut_ptr().cast::<c_char>(), MESSAGE_BYTES as u32 - 1) };
        let text = CStr::from_bytes_until_nul(&text).unwrap_or_default().to_string_lossy();
        if text.is_empty() {
            return format!("it returned {status}");
        }
        text.into_owned()
    }

    fn fail(&mut self, name: &str, at_ns: u64, what: &str) {
        self.failed = true;
        self.told.failed(at_ns, format!("{name}: {what}"));
    }

    /// Calls a hook, and takes the window that it leaves behind if that is in bounds.
    fn hook(
        &mut self,
        name: &str,
        conn: &Conn,
        window: &mut Window,
        call: impl FnOnce(*mut c_void, *const Conn, *mut RawWindow) -> i32,
    ) {
        let mut raw = RawWindow::from(&*window);
        let state = self.state;
        let status = self.told.hook(conn.now_ns, || call(state, conn, &raw mut raw));
        if status != 0 {
            let message = self.message(status);
            return self.fail(name, conn.now_ns, &message);
        }
        let left = Window::from(&raw);
        match bounds::window(&left) {
            Ok(()) => *window = left,
            Err(what) => self.fail(name, conn.now_ns, &what),
        }
    }

    /// Calls a hook that gives a number of packets, which is `otherwise` if it fails.
    fn packets(
        &mut self,
        name: &str,
        conn: &Conn,
        window: &mut Window,
        otherwise: u32,
        hook: unsafe extern "C" fn(*mut c_void, *const Conn, *mut RawWindow, *mut u32) -> i32,
    ) -> u32 {
        let mut found = 0;
        // SAFETY: the pointers are good for the time of the call.
        self.hook(name, conn, window, |state, conn, window| unsafe {
            hook(state, conn, window, &raw mut found)
        });
        if self.failed {
            return otherwise;
        }
        match bounds::packets(name, found) {
            Ok(()) => found,
            Err(what) => {
                self.fail(name, conn.now_ns, &what);
                otherwise
            }
        }
    }
}

impl Drop for Native {
    fn drop(&mut self) {
        if let Some(release) = self.table().release.filter(|_| !self.failed) {
            // SAFETY: the state is created, and not used again.
            unsafe { release(self.state) };
        }
        // SAFETY: allocated with this layout.
        unsafe { dealloc(self.state.cast(), self.layout) };
    }
}

/// A hook of the table that is there, if no hook failed.
macro_rules! hook {
    ($self:ident.$name:ident($conn:ident, $window:ident, $($value:expr),*)) => {
        if let Some(hook) = $self.table().$name.filter(|_| !$self.failed) {
            // SAFETY: the pointers are good for the time of the call.
            $self.hook(stringify!($name), $conn, $window, |state, conn, window| unsafe {
                hook(state, conn, window, $($value),*)
            });
        }
    };
}

/// A number of the table; `None`: the caller's own.
macro_rules! number {
    ($self:ident.$name:ident($($value:expr),*)) => {
        $self.table().$name.filter(|_| !$self.failed)
            // SAFETY: the pointers are good for the time of the call.
            .map(|hook| unsafe { hook($self.state, $($value),*) })
            .filter(|found| *found != u32::MAX)
    };
}

impl CongestionControl for Native {
    fn init(&mut self, conn: &Conn, window: &mut Window) {
        hook!(self.init(conn, window,));
    }

    fn syn_acked(&mut self, rtt_us: u32) {
        let Some(hook) = self.table().syn_acked.filter(|_| !self.failed) else { return };
        // SAFETY: the state is created.
        let status = self.told.hook(0, || unsafe { hook(self.state, rtt_us) });
        if status != 0 {
            let message = self.message(status);
            self.fail("syn_acked", 0, &message);
        }
    }

    fn ssthresh(&mut self, conn: &Conn, window: &mut Window) -> u32 {
        let otherwise = (window.cwnd / 2).max(2);
        match self.table().ssthresh.filter(|_| !self.failed) {
            Some(hook) => self.packets("ssthresh", conn, window, otherwise, hook),
            None => otherwise,
        }
    }

    fn undo_cwnd(&mut self, conn: &Conn, window: &mut Window) -> u32 {
        let otherwise = window.cwnd.max(conn.prior_cwnd);
        match self.table().undo_cwnd.filter(|_| !self.failed) {
            Some(hook) => self.packets("undo_cwnd", conn, window, otherwise, hook),
            None => otherwise,
        }
    }

    fn cong_avoid(&mut self, conn: &Conn, window: &mut Window, acked: u32) {
        hook!(self.cong_avoid(conn, window, acked));
    }

    fn cong_control(&mut self, conn: &Conn, window: &mut Window, sample: &RateSample) {
        hook!(self.cong_control(conn, window, sample));
    }

    fn pkts_acked(&mut self, conn: &Conn, window: &mut Window, sample: &AckSample) {
        hook!(self.pkts_acked(conn, window, sample));
    }

    fn in_ack_event(&mut self, conn: &Conn, window: &mut Window, event: AckEvent) {
        hook!(self.in_ack_event(conn, window, &raw const event));
    }

    fn marked_lost(&mut self, conn: &Conn, window: &mut Window, lost: &LostSkb) {
        hook!(self.marked_lost(conn, window, lost));
    }

    fn set_state(&mut self, conn: &Conn, window: &mut Window, state: CaState) {
        hook!(self.set_state(conn, window, state as u32));
    }

    fn cwnd_event(&mut self, conn: &Conn, window: &mut Window, event: CaEvent) {
        hook!(self.cwnd_event(conn, window, event as u32));
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
        let raw = RawWindow::from(window);
        number!(self.growth_limit(&raw const raw, flight))
    }

    fn tso_segs(&self, mss: u32, window: &Window) -> Option<u32> {
        let raw = RawWindow::from(window);
        number!(self.tso_segs(&raw const raw, mss))
    }

    fn min_tso_segs(&self, window: &Window) -> Option<u32> {
        let raw = RawWindow::from(window);
        number!(self.min_tso_segs(&raw const raw))
    }

    fn pacing_ratio(&self) -> Option<u32> {
        number!(self.pacing_ratio())
    }

    fn sndbuf_expand(&self) -> u32 {
        number!(self.sndbuf_expand()).unwrap_or(2).clamp(1, 100)
    }

    fn min_cwnd(&self, window: &Window) -> u32 {
        let raw = RawWindow::from(window);
        number!(self.min_cwnd(&raw const raw)).unwrap_or(window.ssthresh)
    }

    fn phase(&self) -> &'static str {
        let Some(hook) = self.table().phase.filter(|_| !self.failed) else { return "" };
        // SAFETY: the state is created; the header asks for a text with a zero byte.
        let text = unsafe {
            let text = hook(self.state);
            if text.is_null() {
                return "";
            }
            CStr::from_ptr(text)
        };
        kept(text.to_bytes())
    }
}
