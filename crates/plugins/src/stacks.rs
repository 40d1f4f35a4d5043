//! Transport stacks in a run: a stack that panics, or breaks the rules of the seam, is not called again, and
//! the run fails with its name, the flow and the time.

use crate::run::Told;
use dumbbell_stack::{Side, Stack, State, Transmit};
use std::any::Any;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::time::Duration;

/// Calls at one instant that no transfer needs. A stack that asks for a deadline in the past for ever, or
/// that sends for ever, comes to this.
const CALLS_AT_ONCE: u32 = 100_000;

/// A stack that is watched.
pub(crate) struct Watched {
    /// `None` after a failure.
    stack: Option<Box<dyn Stack>>,
    told: Told,
    /// Largest UDP payload on the hosts' interfaces.
    datagram_bytes: usize,
    at: Duration,
    calls: u32,
}

/// Words for a panic.
fn panicked(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| payload.downcast_ref::<&str>().copied());
    format!("panic: {}", text.unwrap_or("without a message"))
}

impl Watched {
    pub(crate) fn new(stack: Box<dyn Stack>, told: Told, datagram_bytes: u16) -> Self {
        let (at, datagram_bytes) = (Duration::ZERO, usize::from(datagram_bytes));
        Self { stack: Some(stack), told, datagram_bytes, at, calls: 0 }
    }

    fn failed(&mut self, what: String) {
        self.stack = None;
        self.told.failed(u64::try_from(self.at.as_nanos()).unwrap_or(u64::MAX), what);
    }

    /// Calls the stack at a time; `None` if it has failed.
    fn call<R>(&mut self, now: Duration, call: impl FnOnce(&mut dyn Stack) -> R) -> Option<R> {
        if now > self.at {
            (self.at, self.calls) = (now, 0);
        }
        self.calls += 1;
        if self.calls > CALLS_AT_ONCE && self.stack.is_some() {
            self.failed(format!(
                "more than {CALLS_AT_ONCE} datagrams and deadlines at this time: time stands still"
            ));
        }
        let stack = self.stack.as_mut()?;
        match catch_unwind(AssertUnwindSafe(|| call(stack.as_mut()))) {
            Ok(found) => Some(found),
            Err(payload) => {
                self.failed(panicked(payload.as_ref()));
                None
            }
        }
    }
}

impl Stack for Watched {
    fn open(&mut self, now: Duration) {
        self.call(now, |stack| stack.open(now));
    }

    fn stop(&mut self, now: Duration) {
        self.call(now, |stack| stack.stop(now));
    }

    fn receive(&mut self, now: Duration, side: Side, ecn_field: u8, datagram: &[u8]) {
        self.call(now, |stack| stack.receive(now, side, ecn_field, datagram));
    }

    fn wake(&mut self, now: Duration, side: Side) {
        self.call(now, |stack| stack.wake(now, side));
    }

    fn transmit(&mut self, now: Duration, side: Side, out: &mut Vec<u8>) -> Option<Transmit> {
        let before = out.len();
        let sent = self.call(now, |stack| stack.transmit(now, side, out)).flatten()?;
        let bytes = out.len().saturating_sub(before);
        let largest = sent.datagram_bytes.min(bytes);
        if largest > self.datagram_bytes {
            let most = self.datagram_bytes;
            self.failed(format!("it sent a datagram of {largest} bytes; the MTU leaves {most}"));
            return None;
        }
        if largest == 0 || sent.ecn_field > 3 {
            self.failed(format!("it sent {bytes} bytes as {sent:?}"));
            return None;
        }
        Some(sent)
    }

    fn deadline(&mut self, side: Side) -> Option<Duration> {
        self.call(self.at, |stack| stack.deadline(side)).flatten()
    }

    fn state(&self) -> State {
        // After a failure the run has no tables.
        let Some(stack) = &self.stack else { return State::default() };
        catch_unwind(AssertUnwindSafe(|| stack.state())).unwrap_or_else(|payload| {
            let at_ns = u64::try_from(self.at.as_nanos()).unwrap_or(u64::MAX);
            self.told.failed(at_ns, panicked(payload.as_ref()));
            State::default()
        })
    }
}
