//! Endpoints: what is at the ends of flows, one kind of traffic per file. The world brings packets and
//! time to an endpoint, takes what it has to send, and wakes it when it wants to be woken
//! ([`Endpoint`]). The kinds are those of the model's catalogue (`catalogue/traffic.rs`).

mod build;
pub(crate) mod mptcp;
mod page;

use crate::events::{EventQueue, Source, Turn};
use crate::flow::FlowState;
pub(crate) use build::{build, Place};
use build::{Setup, TrafficEndpoint};
use dumbbell_model::for_traffic;
use dumbbell_model::scenario::Flow;
use dumbbell_model::tables::{ConnectionRow, FlowRow, ProbeRow, SampleRow, TransferRow};
use dumbbell_model::traffic::{self, Traffic};
use dumbbell_model::{Scenario, Span, Time};
use dumbbell_packet::frame::{ETHERNET_HEADER_BYTES, IPV4_HEADER_BYTES};
use dumbbell_packet::Body;
use std::collections::VecDeque;

/// Timers that a flow may have: `kind` in [`Timer::Flow`] is below.
pub(crate) const FLOW_TIMERS: usize = 4;

/// A packet at its destination.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrival<'a> {
    /// Index of the flow among those of the endpoint.
    pub(crate) lane: u32,
    /// Direction: from the flow's source to its destination.
    pub(crate) outward: bool,
    /// ECN field of the IP header.
    pub(crate) ecn_field: u8,
    /// A datagram is whole: IP has put its fragments together.
    pub(crate) body: &'a Body,
}

/// A packet to be sent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Outgoing {
    pub(crate) flow: u32,
    pub(crate) outward: bool,
    /// The endpoint asks when it will have left the host's own link ([`Endpoint::on_queued`]).
    pub(crate) asks_departure: bool,
    pub(crate) ecn_field: u8,
    pub(crate) frame_bytes: u32,
    pub(crate) body: Body,
}

/// Packets made at this instant and not yet on their way.
pub(crate) type Outbox = VecDeque<Outgoing>;

/// A timer of an endpoint. Each kind of traffic names its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Timer {
    /// Of one of its flows.
    Flow { lane: u32, kind: usize },
    /// Of the endpoint as a whole.
    Own,
}

/// When a timer is due.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Deadline {
    /// The earliest of all; [`Time::NEVER`]: none.
    pub(crate) at: Time,
    /// The earliest on the timer wheel, and its place in the order there.
    pub(crate) wheel: Option<(Time, Turn)>,
    /// Moved later, an event set before stays where it is and wakes the endpoint once in vain; this
    /// one is moved.
    pub(crate) exact: bool,
}

impl Deadline {
    pub(crate) fn at(at: Option<Time>) -> Self {
        Self { at: at.unwrap_or(Time::NEVER), wheel: None, exact: false }
    }
}

/// Timers whose deadlines may have changed, and how far a flow is.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Touched {
    pub(crate) flow: u32,
    pub(crate) lane: u32,
    /// A bit for each kind of timer of the flow, set in this order.
    pub(crate) timers: u8,
    /// The endpoint's own timer.
    pub(crate) own: bool,
    /// The flow begins: from now on its window is sampled.
    pub(crate) begins: bool,
    /// Another step may be left to do.
    pub(crate) more: bool,
}

/// What an endpoint acts on: packets made, timers, flows that begin.
pub(crate) struct Io<'a> {
    pub(crate) out: &'a mut Outbox,
    pub(crate) events: &'a mut EventQueue,
    /// Timers of the wheel that were set.
    pub(crate) timers_set: &'a mut u64,
    /// Event source of the first timer of the first flow.
    pub(crate) flow_base: usize,
    /// Event source of the endpoint's own timer.
    pub(crate) own: Source,
    pub(crate) begun: &'a mut Vec<u32>,
}

impl Io<'_> {
    fn set(&mut self, source: Source, deadline: Deadline) {
        let Deadline { at, wheel, exact } = deadline;
        let before = match self.events.at(source) {
            Some(before) if !exact => before,
            _ => Time::NEVER,
        };
        match wheel.filter(|(fires, _)| *fires <= at) {
            Some((fires, turn)) if fires <= before => self.events.set_wheel(source, fires, turn),
            None if at < before => self.events.set(source, at),
            None if exact => self.events.clear(source),
            _ => {}
        }
    }
}

/// A run, for those who fill its tables.
#[derive(Clone, Copy)]
pub(crate) struct Run<'a> {
    pub(crate) scenario: &'a Scenario,
    pub(crate) flows: &'a [FlowState],
    /// Now, or the end.
    pub(crate) now: Time,
}

/// Rows of the result tables. An endpoint fills those that it has.
pub(crate) enum Report<'a> {
    /// The state of a flow now.
    Sample {
        lane: u32,
        row: &'a mut SampleRow,
    },
    /// The state of the endpoint as a whole.
    OwnSample {
        rows: &'a mut Vec<SampleRow>,
    },
    /// Totals of a flow.
    Flow {
        lane: u32,
        row: &'a mut FlowRow,
    },
    /// Totals of the endpoint as a whole; `flows` has the rows of all flows.
    OwnFlow {
        flows: &'a [FlowRow],
        rows: &'a mut Vec<FlowRow>,
    },
    Transfers {
        rows: &'a mut Vec<TransferRow>,
    },
    Probes {
        rows: &'a mut Vec<ProbeRow>,
    },
    Connections {
        rows: &'a mut Vec<ConnectionRow>,
    },
}

/// The five verbs of an endpoint, and two that only TCP has something to say to.
pub(crate) trait Endpoint {
    /// A packet of a flow is at its end. Returns true if its payload was there already.
    fn on_packet(&mut self, now: Time, arrival: &Arrival<'_>) -> bool;

    /// A timer is due, or was.
    fn on_timer(&mut self, now: Time, timer: Timer);

    /// Takes the next step of what is to be done now, and hands over the packets made. Returns the
    /// timers to be set anew; `None`: nothing was left to do.
    fn poll_transmit(&mut self, now: Time, out: &mut Outbox) -> Option<Touched>;

    /// Does all that is to be done now: packets go into the outbox, timers are set.
    fn settle(&mut self, now: Time, io: &mut Io<'_>) {
        while let Some(touched) = self.poll_transmit(now, io.out) {
            if touched.begins {
                io.begun.push(touched.flow);
            }
            let mut timers = touched.timers;
            while timers != 0 {
                let kind = timers.trailing_zeros() as usize;
                timers &= timers - 1;
                self.rearm(touched.flow, touched.lane, kind, io);
            }
            if touched.own {
                self.rearm_own(io);
            }
            if !touched.more {
                break;
            }
        }
    }

    /// Sets a timer of a flow.
    fn rearm(&mut self, flow: u32, lane: u32, kind: usize, io: &mut Io<'_>) {
        let deadline = self.next_deadline(Timer::Flow { lane, kind }, io.timers_set);
        io.set((io.flow_base + flow as usize * FLOW_TIMERS + kind) as Source, deadline);
    }

    /// Sets the endpoint's own timer.
    fn rearm_own(&mut self, io: &mut Io<'_>) {
        let deadline = self.next_deadline(Timer::Own, io.timers_set);
        io.set(io.own, deadline);
    }

    /// When a timer wants to be woken. `set` counts timers as they are set.
    fn next_deadline(&mut self, timer: Timer, set: &mut u64) -> Deadline;

    /// Fills rows of the tables.
    fn report(&self, run: &Run<'_>, report: Report<'_>);

    /// The host's own link lets a packet go at `leaves`; `None`: it has. Returns the timer that may
    /// be due sooner for that.
    fn on_queued(&mut self, _lane: u32, _outward: bool, _leaves: Option<Time>) -> Option<usize> {
        None
    }

    /// Samples a flow's window for its means. Returns false if there will be no other.
    fn sample_window(&mut self, _lane: u32) -> bool {
        false
    }

    /// Contract: what arrived is what was delivered, waits or was thrown away.
    fn check(&self, _run: &Run<'_>) -> Result<(), String> {
        Ok(())
    }
}

/// Calls an expression with the endpoint of whichever kind it is.
macro_rules! each {
    ($ends:expr, [$($variant:ident)+], $endpoint:ident => $act:expr) => {
        match $ends {
            $(Ends::$variant($endpoint) => $act,)+
            Ends::Page($endpoint) => $act,
            Ends::Multipath($endpoint) => $act,
        }
    };
}

macro_rules! define {
    ($($variant:ident $module:ident $held:ty { $($entry:tt)+ };)+) => {
        $(pub(crate) mod $module;)+

        /// All endpoints: one per kind of traffic, and two that several flows belong to.
        pub(crate) enum Ends {
            $($variant(Box<<traffic::$variant as TrafficEndpoint>::Ends>),)+
            Page(Box<page::Page>),
            Multipath(Box<mptcp::ends::Multipath>),
        }

        impl Ends {
            /// The endpoint of a flow of its own.
            fn open(setup: Setup<'_>, number: u32, flow: &Flow) -> Self {
                match &flow.traffic {
                    $(Traffic::$variant(spec) => {
                        Self::$variant(Box::new(spec.open(setup, number, flow)))
                    })+
                }
            }
        }

        impl Endpoint for Ends {
            fn on_packet(&mut self, now: Time, arrival: &Arrival<'_>) -> bool {
                each!(self, [$($variant)+], endpoint => endpoint.on_packet(now, arrival))
            }

            fn on_timer(&mut self, now: Time, timer: Timer) {
                each!(self, [$($variant)+], endpoint => endpoint.on_timer(now, timer));
            }

            fn poll_transmit(&mut self, now: Time, out: &mut Outbox) -> Option<Touched> {
                each!(self, [$($variant)+], endpoint => endpoint.poll_transmit(now, out))
            }

            fn settle(&mut self, now: Time, io: &mut Io<'_>) {
                each!(self, [$($variant)+], endpoint => endpoint.settle(now, io));
            }

            fn next_deadline(&mut self, timer: Timer, set: &mut u64) -> Deadline {
                each!(self, [$($variant)+], endpoint => endpoint.next_deadline(timer, set))
            }

            fn report(&self, run: &Run<'_>, report: Report<'_>) {
                each!(self, [$($variant)+], endpoint => endpoint.report(run, report));
            }

            fn on_queued(&mut self, lane: u32, outward: bool, leaves: Option<Time>) -> Option<usize> {
                each!(self, [$($variant)+], endpoint => endpoint.on_queued(lane, outward, leaves))
            }

            fn sample_window(&mut self, lane: u32) -> bool {
                each!(self, [$($variant)+], endpoint => endpoint.sample_window(lane))
            }

            fn check(&self, run: &Run<'_>) -> Result<(), String> {
                each!(self, [$($variant)+], endpoint => endpoint.check(run))
            }
        }
    };
}
for_traffic!(define);

#[cfg(test)]
impl Ends {
    /// The connection of Multipath TCP that it is, if it is one.
    pub(crate) fn multipath(&self) -> Option<&mptcp::ends::Multipath> {
        match self {
            Self::Multipath(multipath) => Some(multipath),
            _ => None,
        }
    }
}

/// When the application of a flow begins and stops.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Life {
    start: Time,
    stop: Option<Time>,
    begun: bool,
}

impl Life {
    pub(crate) fn new(start: Time, stop: Option<Time>) -> Self {
        Self { start, stop, begun: false }
    }

    /// When it begins, or stops after that.
    pub(crate) fn next(&self) -> Option<Time> {
        if self.begun {
            self.stop
        } else {
            Some(self.start)
        }
    }

    /// Its time has come. Returns true if it begins.
    pub(crate) fn turn(&mut self) -> bool {
        let begins = !self.begun;
        if self.begun {
            self.stop = None;
        }
        self.begun = true;
        begins
    }
}

/// A packet that measures its path's delay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Probe {
    pub(crate) sent: Time,
    /// Until its answer, or itself, was there.
    pub(crate) delay: Option<Span>,
}

/// Rows of a flow's probes, in the order in which they were sent.
fn probe_rows<'a>(
    flow: &'a str,
    kind: &'a str,
    probes: &'a [Probe],
) -> impl Iterator<Item = ProbeRow> + 'a {
    probes.iter().enumerate().map(move |(number, probe)| ProbeRow {
        time_ns: crate::record::ns(probe.sent),
        flow: flow.to_owned(),
        kind: kind.to_owned(),
        probe_number: number.into(),
        delay_ns: probe.delay.map(|delay| delay.as_ns()).into(),
    })
}

/// Frame of an IP packet with so many bytes above IP.
fn frame_bytes(ip_payload: u64) -> u32 {
    ETHERNET_HEADER_BYTES + IPV4_HEADER_BYTES + ip_payload as u32
}
