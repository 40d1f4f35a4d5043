//! An endpoint of s2n-quic without its types, and its place in time.

use crate::io::{Arrived, Outgoing};
use crate::watch::Watch;
use s2n_quic_core::endpoint::Endpoint as _;
use s2n_quic_core::path::RemoteAddress;
use s2n_quic_core::time::{Clock, NoopClock, Timestamp};
use s2n_quic_transport::endpoint::{Config, Endpoint};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

/// Origin of s2n-quic's time, which has no 0: 1 µs. Only differences count.
fn origin() -> Timestamp {
    NoopClock.get_time()
}

/// A place in s2n-quic's time, which has a resolution of 1 µs.
pub(crate) fn at(now: Duration) -> Timestamp {
    origin() + now
}

/// An endpoint.
pub(crate) trait Port: Send {
    /// Does what the application has asked for. Returns whether it has asked for anything.
    fn poll_wakeups(&mut self, now: Timestamp) -> bool;

    /// Takes a datagram.
    fn receive(&mut self, now: Timestamp, arrived: &mut Arrived<'_>);

    /// Handles timers that have expired, and writes what is to be sent.
    fn transmit(&mut self, now: Timestamp, outgoing: &mut Outgoing);

    /// Time of the next timer.
    fn timeout(&self) -> Option<Duration>;

    /// State that the subscriber has seen.
    fn watch(&mut self) -> &Watch;
}

impl<C: Config<PathHandle = RemoteAddress, EventSubscriber = Watch>> Port for Endpoint<C> {
    fn poll_wakeups(&mut self, now: Timestamp) -> bool {
        // Each step polls until there is nothing to do: nobody needs to be woken.
        let mut context = Context::from_waker(Waker::noop());
        let polled = s2n_quic_core::endpoint::Endpoint::poll_wakeups(self, &mut context, &now);
        // An endpoint that has closed stays ready, with an error.
        matches!(polled, Poll::Ready(Ok(_)))
    }

    fn receive(&mut self, now: Timestamp, arrived: &mut Arrived<'_>) {
        s2n_quic_core::endpoint::Endpoint::receive(self, arrived, &now);
    }

    fn transmit(&mut self, now: Timestamp, outgoing: &mut Outgoing) {
        s2n_quic_core::endpoint::Endpoint::transmit(self, outgoing, &now);
    }

    fn timeout(&self) -> Option<Duration> {
        let due = s2n_quic_core::endpoint::Endpoint::timeout(self)?;
        Some(due.saturating_duration_since(origin()))
    }

    fn watch(&mut self) -> &Watch {
        self.subscriber()
    }
}
