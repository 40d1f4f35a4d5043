//! Endpoints of flows, one kind of traffic per file. The world delivers packets and time to an
//! endpoint, takes its packets, and wakes it at its deadlines ([`Endpoint`]). The model's catalogue
//! defines the kinds (`catalogue/traffic.rs`).

mod build;
pub(crate) mod mptcp;
pub(crate) mod options;
mod page;

use crate::arena::{Arena, Handle};
use crate::arrive::{Arriving, FlowSpec};
use crate::events::{EventQueue, Source, Turn};
use crate::flow::{FlowState, FLOW_TIMERS};
use crate::soft_timers::{SoftRange, SoftTimers};
use build::TrafficEndpoint;
pub(crate) use build::{build, Setup};
use dumbbell_model::for_traffic;
use dumbbell_model::scenario::Flow;
use dumbbell_model::tables::{ns, ConnectionRow, FlowRow, ProbeRow, SampleRow, TransferRow};
use dumbbell_model::traffic::{self, TcpStack, Traffic};
use dumbbell_model::{Scenario, Span, Time};
use dumbbell_packet::frame::{ETHERNET_HEADER_BYTES, IPV4_HEADER_BYTES};
use dumbbell_packet::{Body, Packet, Segment};
use std::collections::VecDeque;

/// Packet that arrived at its destination.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrival<'a> {
    /// Index of the flow within the endpoint.
    pub(crate) lane: u32,
    /// True from the flow's source to its destination.
    pub(crate) outward: bool,
    /// ECN field of the IP header.
    pub(crate) ecn_field: u8,
    /// True if IP has reassembled the whole datagram.
    pub(crate) body: &'a Body,
}

/// Outgoing packet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Outgoing {
    pub(crate) flow: u32,
    pub(crate) outward: bool,
    /// True if the endpoint needs the departure time from the host's own link
    /// ([`Endpoint::on_queued`]).
    pub(crate) asks_departure: bool,
    pub(crate) ecn_field: u8,
    pub(crate) frame_bytes: u32,
    pub(crate) body: Body,
}

/// Packet that was created at this instant and is not yet sent. Its number and DSCP are missing.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Created {
    pub(crate) packet: Handle,
    pub(crate) asks_departure: bool,
}

/// Packets created at this instant and not yet sent.
pub(crate) struct Outbox<'a> {
    pub(crate) arena: &'a mut Arena,
    pub(crate) created: &'a mut VecDeque<Created>,
}

impl Outbox<'_> {
    #[inline(always)]
    pub(crate) fn push_back(&mut self, packet: Outgoing) {
        let Outgoing { flow, outward, asks_departure, ecn_field, frame_bytes, body } = packet;
        let packet = Packet { number: 0, flow, frame_bytes, outward, tos: ecn_field, body };
        let packet = self.arena.insert(packet);
        self.created.push_back(Created { packet, asks_departure });
    }

    /// Creates the packet of a TCP segment.
    #[inline(always)]
    pub(crate) fn push_segment(
        &mut self,
        flow: u32,
        outward: bool,
        asks_departure: bool,
        ecn_field: u8,
        segment: &Segment,
    ) {
        let packet = self.arena.insert_segment(flow, outward, ecn_field, segment);
        self.created.push_back(Created { packet, asks_departure });
    }

    pub(crate) fn extend(&mut self, packets: impl Iterator<Item = Outgoing>) {
        packets.for_each(|packet| self.push_back(packet));
    }
}

/// Timer of an endpoint. Each kind of traffic defines its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Timer {
    /// Timer of a flow; `kind` is below [`FLOW_TIMERS`].
    Flow { lane: u32, kind: usize },
    /// Soft timer of the flow's receiver that has a timer of this kind (`soft_timers`).
    Soft { lane: u32, kind: usize },
    /// Timer of the whole endpoint.
    Own,
}

/// Deadline of a timer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Deadline {
    /// Earliest deadline; [`Time::NEVER`] if there is none.
    pub(crate) at: Time,
    /// Earliest deadline on the timer wheel, or [`Time::NEVER`], with its insertion order.
    pub(crate) wheel: (Time, Turn),
    /// False: an event set earlier stays when the deadline moves later, and wakes the endpoint once
    /// without effect. True: the event moves.
    pub(crate) exact: bool,
    /// True if it follows all other events of its instant.
    pub(crate) last: bool,
    /// Change of the soft timer, with the side of its host: 0 for the flow's destination, 1 for its
    /// source.
    pub(crate) soft: Option<(SoftRange, usize)>,
}

impl Deadline {
    pub(crate) fn at(at: Option<Time>) -> Self {
        let wheel = (Time::NEVER, Turn::new(0, 0));
        Self { at: at.unwrap_or(Time::NEVER), wheel, exact: false, last: false, soft: None }
    }
}

/// Timers with changed deadlines, and the start of a flow.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Touched {
    pub(crate) flow: u32,
    pub(crate) lane: u32,
    /// One bit per timer kind of the flow, set in this order.
    pub(crate) timers: u8,
    /// True for the endpoint's own timer.
    pub(crate) own: bool,
    /// True if the flow starts, so that its window is sampled from now on.
    pub(crate) begins: bool,
    /// True if another step may follow.
    pub(crate) more: bool,
}

/// Output of an endpoint: packets, timers, started flows.
pub(crate) struct Io<'a> {
    pub(crate) out: Outbox<'a>,
    pub(crate) events: &'a mut EventQueue,
    /// Number of insertions into the timer wheel.
    pub(crate) timers_set: &'a mut u64,
    pub(crate) soft_timers: &'a mut SoftTimers,
    /// Destination nodes of each flow's packets, outward and back.
    pub(crate) targets: &'a [[u32; 2]],
    /// Event source of the first flow's first timer.
    pub(crate) flow_base: usize,
    /// Event source of the endpoint's own timer.
    pub(crate) own: Source,
    pub(crate) begun: &'a mut Vec<u32>,
    /// Flows that send nothing more.
    pub(crate) over: &'a mut Vec<u32>,
}

impl Io<'_> {
    #[inline(always)]
    fn set(&mut self, source: Source, deadline: Deadline) {
        let Deadline { at, wheel, exact, last, soft } = deadline;
        if let Some((range, side)) = soft {
            let flow = (source as usize - self.flow_base) / FLOW_TIMERS;
            self.soft_timers.set(self.events, self.targets[flow][side], source, range);
        }
        let before = match self.events.at(source) {
            Some(before) if !exact => before,
            _ => Time::NEVER,
        };
        let (fires, turn) = wheel;
        if fires <= at && fires != Time::NEVER {
            if fires <= before {
                self.events.set_wheel(source, fires, turn);
            }
        } else if at < before && last {
            self.events.set_last(source, at);
        } else if at < before {
            self.events.set(source, at);
        } else if exact {
            self.events.clear(source);
        }
    }
}

/// State of a run for the result tables.
#[derive(Clone, Copy)]
pub(crate) struct Run<'a> {
    pub(crate) scenario: &'a Scenario,
    pub(crate) arriving: &'a Arriving,
    pub(crate) flows: &'a [FlowState],
    /// Current time, or the end of the run.
    pub(crate) now: Time,
}

impl<'a> Run<'a> {
    /// Fields of a flow in the tables.
    pub(crate) fn spec(&self, flow: u32) -> FlowSpec<'a> {
        self.arriving.spec(self.scenario, self.flows[flow as usize].number)
    }

    /// Row of a flow in which only its names and its start are known.
    pub(crate) fn named(&self, flow: u32) -> FlowRow {
        let spec = self.spec(flow);
        FlowRow {
            flow: spec.name.into_owned(),
            group: spec.group.to_owned(),
            start_ns: ns(self.flows[flow as usize].start),
            ..FlowRow::default()
        }
    }
}

/// Rows of the result tables. An endpoint fills the rows that it has.
pub(crate) enum Report<'a> {
    /// Fills the sample of a flow.
    Sample {
        lane: u32,
        row: &'a mut SampleRow,
    },
    /// Fills the samples of the whole endpoint.
    OwnSample {
        rows: &'a mut Vec<SampleRow>,
    },
    /// Fills the totals of a flow.
    Flow {
        lane: u32,
        row: &'a mut FlowRow,
    },
    /// Fills the totals of the whole endpoint; `flows` contains the rows of all flows.
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
    /// Appends the secrets of TLS, as SSLKEYLOGFILE has them.
    Secrets {
        lines: &'a mut Vec<u8>,
    },
}

/// Endpoint of traffic: five methods for every kind, two for TCP, and three for datagrams with contents.
pub(crate) trait Endpoint {
    /// Processes an arrived packet. Returns true if its payload was a duplicate.
    fn on_packet(&mut self, now: Time, arrival: &Arrival<'_>) -> bool;

    /// Processes a timer. Calls before its deadline have no effect.
    fn on_timer(&mut self, now: Time, timer: Timer);

    /// Performs the next step and drains its packets. Returns the timers to rearm; `None` if no
    /// step was left.
    fn poll_transmit(&mut self, now: Time, out: &mut Outbox<'_>) -> Option<Touched>;

    /// Performs all steps: drains packets into the outbox and rearms timers.
    fn settle(&mut self, now: Time, io: &mut Io<'_>) {
        while let Some(touched) = self.poll_transmit(now, &mut io.out) {
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

    /// Deadline of a timer. `set` counts insertions into the timer wheel.
    fn next_deadline(&mut self, timer: Timer, set: &mut u64) -> Deadline;

    /// Fills rows of the tables.
    fn report(&self, run: &Run<'_>, report: Report<'_>);

    /// Sets the departure time of a packet from the host's own link; `None` if it has left. Returns
    /// the timer whose deadline may be earlier now.
    fn on_queued(&mut self, _lane: u32, _outward: bool, _leaves: Option<Time>) -> Option<usize> {
        None
    }

    /// A datagram was dropped by the network.
    fn on_dropped(&mut self, _outward: bool, _body: &Body) {}

    /// The network made a copy of a datagram.
    fn on_copied(&mut self, _outward: bool, _body: &Body) {}

    /// Contents of a datagram under way; empty: not known.
    fn contents(&self, _outward: bool, _body: &Body) -> &[u8] {
        &[]
    }

    /// Samples a flow's window for its means. Returns false if no further sample will follow.
    fn sample_window(&mut self, _lane: u32) -> bool {
        false
    }

    /// Checks conservation: arrived data is delivered, waiting or dropped.
    fn check(&self, _run: &Run<'_>) -> Result<(), String> {
        Ok(())
    }
}

/// Calls an expression with the endpoint of any kind.
macro_rules! each {
    ($ends:expr, [$($variant:ident)+], $endpoint:ident => $act:expr) => {
        match $ends {
            $(Ends::$variant($endpoint) => $act,)+
            Ends::Page($endpoint) => $act,
            Ends::Multipath($endpoint) => $act,
            Ends::Stack($endpoint) => $act,
            Ends::Gone($endpoint) => $act,
        }
    };
}

macro_rules! define {
    ($($variant:ident $module:ident $held:ty { $($entry:tt)+ };)+) => {
        $(pub(crate) mod $module;)+

        /// Endpoint of any kind: one per kind of traffic, two with several flows, TCP of a stack from outside,
        /// and the place of one that is over.
        pub(crate) enum Ends {
            $($variant(Box<<traffic::$variant as TrafficEndpoint>::Ends>),)+
            Page(Box<page::Page>),
            Multipath(Box<mptcp::ends::Multipath>),
            Stack(Box<tcp::stack::StackEnds>),
            Gone(Gone),
        }

        impl Ends {
            /// Returns true if it has several flows, or may have.
            pub(crate) fn is_group(&self) -> bool {
                matches!(self, Self::Page(_) | Self::Multipath(_))
            }

            /// Creates the endpoint of a single flow.
            pub(crate) fn open(setup: Setup<'_>, number: u32, flow: &Flow) -> Self {
                match &flow.traffic {
                    Traffic::Tcp(spec) if spec.stack != TcpStack::Linux => {
                        Self::Stack(Box::new(tcp::stack::StackEnds::new(setup, number, flow, spec)))
                    }
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

            fn poll_transmit(&mut self, now: Time, out: &mut Outbox<'_>) -> Option<Touched> {
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

            fn on_dropped(&mut self, outward: bool, body: &Body) {
                each!(self, [$($variant)+], endpoint => endpoint.on_dropped(outward, body));
            }

            fn on_copied(&mut self, outward: bool, body: &Body) {
                each!(self, [$($variant)+], endpoint => endpoint.on_copied(outward, body));
            }

            fn contents(&self, outward: bool, body: &Body) -> &[u8] {
                each!(self, [$($variant)+], endpoint => endpoint.contents(outward, body))
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
    /// Multipath TCP connection of this endpoint, if it is one.
    pub(crate) fn multipath(&self) -> Option<&mptcp::ends::Multipath> {
        match self {
            Self::Multipath(multipath) => Some(multipath),
            _ => None,
        }
    }
}

/// Place of an endpoint that is over: nothing arrives, no timer is set.
pub(crate) struct Gone;

impl Endpoint for Gone {
    fn on_packet(&mut self, _now: Time, _arrival: &Arrival<'_>) -> bool {
        debug_assert!(false, "a packet for a flow that is over");
        false
    }

    fn on_timer(&mut self, _now: Time, _timer: Timer) {
        debug_assert!(false, "a timer of a flow that is over");
    }

    fn poll_transmit(&mut self, _now: Time, _out: &mut Outbox<'_>) -> Option<Touched> {
        None
    }

    fn next_deadline(&mut self, _timer: Timer, _set: &mut u64) -> Deadline {
        Deadline::at(None)
    }

    fn report(&self, _run: &Run<'_>, _report: Report<'_>) {}
}

/// Start and stop times of a flow's application.
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

    /// Next start or stop time.
    pub(crate) fn next(&self) -> Option<Time> {
        if self.begun {
            self.stop
        } else {
            Some(self.start)
        }
    }

    /// Advances to the next time. Returns true for a start.
    pub(crate) fn turn(&mut self) -> bool {
        let begins = !self.begun;
        if self.begun {
            self.stop = None;
        }
        self.begun = true;
        begins
    }
}

/// Probe of a path's delay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Probe {
    pub(crate) sent: Time,
    /// Time until the reply arrived, or the packet itself.
    pub(crate) delay: Option<Span>,
}

/// Rows of a flow's probes, in sending order.
fn probe_rows<'a>(
    flow: &'a str,
    kind: &'a str,
    probes: &'a [Probe],
) -> impl Iterator<Item = ProbeRow> + 'a {
    probes.iter().enumerate().map(move |(number, probe)| ProbeRow {
        time_ns: ns(probe.sent),
        flow: flow.to_owned(),
        kind: kind.to_owned(),
        probe_number: number.into(),
        delay_ns: probe.delay.map(|delay| delay.as_ns()).into(),
    })
}

/// Frame length of an IP packet with this IP payload.
fn frame_bytes(ip_payload: u64) -> u32 {
    ETHERNET_HEADER_BYTES + IPV4_HEADER_BYTES + ip_payload as u32
}
