//! The running simulation: dispatches events to pipes and endpoints. `forward` moves packets along
//! their paths.

mod arrivals;
mod fetch_ahead;
mod forward;
mod lifetime;
mod lookahead;
mod resolve;
mod soft_timers;
mod tables;

use crate::arena::{Arena, Handle};
use crate::arrive::Arriving;
use crate::drop_reason::DropReason;
use crate::endpoint::{Created, Endpoint, Ends, Io, Outbox, Run, Timer};
use crate::events::{EventQueue, Source, LAST};
use crate::flow::{FlowState, FLOW_TIMERS};
use crate::held::Held;
use crate::network::ip_fragment::Reassembly;
use crate::network::link::{Offered, Pipe, Release};
use crate::network::neighbour::Neighbours;
use crate::network::path::Paths;
use crate::network::route::Routes;
use crate::nodes::Nodes;
use crate::pause::Pause;
use crate::qdisc::Sight;
use crate::record::capture::Capture;
use crate::record::finished::Finished;
use crate::record::hops::Hops;
use crate::record::Recorder;
use crate::soft_timers::SoftTimers;
use crate::{Monitor, RunError};
use dumbbell_capture::Taps;
use dumbbell_cc::plugin::Plugins;
use dumbbell_model::{Scenario, ScenarioError, Time};
use dumbbell_packet::{Tap, TapPackets};
use std::collections::VecDeque;

/// Event sources per pipe: source `kind · number of pipes + pipe`. Hardly any pipe has others than
/// [`LINE`].
pub(crate) const PIPE_SOURCES: usize = 4;
pub(crate) const LINE: usize = 0;
pub(crate) const QUEUE: usize = 1;
const AGGREGATION: usize = 2;
const CHANGE: usize = 3;

/// Events between two calls of the monitor.
const MONITOR_EVENTS: u64 = 1 << 14;

pub(crate) struct World<'a> {
    pub(crate) scenario: Held<'a, Scenario>,
    pub(crate) nodes: Nodes,
    pub(crate) plugins: Held<'a, dyn Plugins + 'a>,
    pub(crate) seed: u64,
    pub(crate) now: Time,
    pub(crate) end: Time,
    /// End of this step.
    pub(crate) until: Time,
    /// Asks for the end of this step.
    pub(crate) pause: Option<Pause>,
    pub(crate) events: EventQueue,
    pub(crate) arena: Arena,
    pub(crate) pipes: Vec<Pipe>,
    pub(crate) routes: Routes,
    pub(crate) paths: Paths,
    /// Pipes to which packets may be handed on after their arrival (`network/lookahead`).
    pub(crate) patient: Vec<bool>,
    pub(crate) flows: Vec<FlowState>,
    /// TCP flows whose windows are sampled: begun, neither stopped nor ended.
    pub(crate) active: Vec<u32>,
    pub(crate) endpoints: Vec<Ends>,
    /// Flows that have just begun.
    pub(crate) begun: Vec<u32>,
    /// Flows that have just sent their last.
    pub(crate) over: Vec<u32>,
    /// Flows that may be over (`lifetime`).
    pub(crate) closing: Vec<u32>,
    /// Rows of flows that are over.
    pub(crate) finished: Finished,
    /// First violation of conservation by an endpoint that is freed.
    pub(crate) fault: Option<String>,
    /// Flows that arrive during the run.
    pub(crate) arriving: Arriving,
    /// Reason to end the run.
    pub(crate) refusal: Option<ScenarioError>,
    /// Some link duplicates packets.
    pub(crate) may_duplicate: bool,
    /// First event source of the endpoints' own timers, of arrivals, and of the flows' timers.
    pub(crate) own_base: usize,
    pub(crate) arrivals_base: usize,
    pub(crate) flow_base: usize,
    /// Destination nodes of a flow's packets, outward and back.
    pub(crate) targets: Vec<[u32; 2]>,
    pub(crate) taps: Taps,
    pub(crate) tap_packets: TapPackets,
    pub(crate) capture: Option<Capture>,
    pub(crate) hops: Option<Hops>,
    pub(crate) neighbours: Option<Neighbours>,
    /// Incomplete datagrams, by node.
    pub(crate) reassembly: Vec<Reassembly>,
    pub(crate) recorder: Recorder,
    /// Packets created at this instant and not yet sent.
    pub(crate) created: VecDeque<Created>,
    /// Packets at a node, to be forwarded or delivered at this instant.
    pub(crate) inbox: VecDeque<(Handle, usize)>,
    pub(crate) packets: u64,
    pub(crate) processed: u64,
    /// Number of wheel timers set so far.
    pub(crate) timers_set: u64,
    pub(crate) soft_timers: SoftTimers,
}

impl World<'_> {
    /// Processes events until a time, that instant included, or until a pause. Returns true for a pause.
    pub(crate) fn advance(&mut self, at: Time, monitor: &dyn Monitor) -> Result<bool, RunError> {
        self.until = at.min(self.end);
        while let Some((at, source)) = self.events.peek() {
            if at > self.until {
                break;
            }
            debug_assert!(at >= self.now, "time went back to {at} from {} by {source}", self.now);
            self.now = at;
            self.processed += 1;
            if self.processed % MONITOR_EVENTS == 0 {
                self.look_outside(monitor)?;
            }
            self.fetch_ahead();
            self.dispatch(source);
            self.drain();
            if !self.closing.is_empty() {
                self.close_flows();
            }
            if self.pause.as_ref().is_some_and(Pause::take) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Runs to the end.
    pub(crate) fn run(&mut self, monitor: &dyn Monitor) -> Result<(), RunError> {
        self.advance(self.end, monitor)?;
        self.check_failures()?;
        self.now = self.end;
        self.hand_on_all();
        self.finish_taps();
        monitor.progress(self.end);
        Ok(())
    }

    /// Returns the reason to end the run, if there is one.
    pub(crate) fn check_failures(&mut self) -> Result<(), RunError> {
        if let Some(refusal) = self.refusal.take() {
            return Err(refusal.into());
        }
        self.plugins.failure().map_or(Ok(()), |failure| Err(RunError::Plugin(failure)))
    }

    /// Tells the monitor the time. Ends the run if the monitor asks for it, or a plug-in failed.
    #[cold]
    fn look_outside(&self, monitor: &dyn Monitor) -> Result<(), RunError> {
        if let Some(failure) = self.plugins.failure() {
            return Err(RunError::Plugin(failure));
        }
        if monitor.progress(self.now) {
            Ok(())
        } else {
            Err(RunError::Cancelled)
        }
    }

    pub(crate) fn sample_source(&self) -> Source {
        (self.pipes.len() * PIPE_SOURCES) as Source
    }

    pub(crate) fn neighbour_source(&self) -> Source {
        self.sample_source() + 1
    }

    pub(crate) fn arrival_source(&self, process: usize) -> Source {
        (self.arrivals_base + process) as Source
    }

    fn dispatch(&mut self, source: Source) {
        let number = source as usize;
        if number < self.pipes.len() {
            self.line_event(number);
        } else if number < self.pipes.len() * (QUEUE + 1) {
            self.queue_event(number - self.pipes.len() * QUEUE);
        } else if number < self.pipes.len() * PIPE_SOURCES {
            self.pipe_event(number % self.pipes.len(), number / self.pipes.len());
        } else if source == self.sample_source() {
            self.sample();
        } else if source == self.neighbour_source() {
            self.neighbour_timeout();
        } else if number < self.own_base {
            self.events.clear(source);
            self.run_soft_timers(number - self.soft_timers.base);
        } else if number < self.arrivals_base {
            // Not cleared: `settle` sets it again.
            let endpoint = number - self.own_base;
            self.endpoints[endpoint].on_timer(self.now, Timer::Own);
            self.settle(endpoint);
        } else if number < self.flow_base {
            self.arrive(number - self.arrivals_base);
        } else {
            self.events.clear(source);
            let number = number - self.flow_base;
            let (flow, kind) = (&self.flows[number / FLOW_TIMERS], number % FLOW_TIMERS);
            let (endpoint, timer) = (flow.endpoint as usize, Timer::Flow { lane: flow.lane, kind });
            if flow.ending {
                self.closing.push((number / FLOW_TIMERS) as u32);
            }
            self.endpoints[endpoint].on_timer(self.now, timer);
            self.settle(endpoint);
        }
    }

    pub(crate) fn flow_timer(&self, flow: u32, kind: usize) -> Source {
        (self.flow_base + flow as usize * FLOW_TIMERS + kind) as Source
    }

    /// Returns an endpoint, and the parts of the world that it may change.
    fn io(&mut self, endpoint: usize) -> (&mut Ends, Io<'_>) {
        // Endpoints of flows that arrive have no timer of their own.
        let (flow_base, own) = (self.flow_base, (self.own_base + endpoint) as Source);
        let io = Io {
            out: Outbox { arena: &mut self.arena, created: &mut self.created },
            events: &mut self.events,
            timers_set: &mut self.timers_set,
            soft_timers: &mut self.soft_timers,
            targets: &self.targets,
            flow_base,
            own,
            begun: &mut self.begun,
            over: &mut self.over,
        };
        (&mut self.endpoints[endpoint], io)
    }

    /// Drains the endpoint's output and rearms its timers.
    pub(crate) fn settle(&mut self, endpoint: usize) {
        let now = self.now;
        let (ends, mut io) = self.io(endpoint);
        ends.settle(now, &mut io);
        if !(self.begun.is_empty() && self.over.is_empty()) {
            self.note_flows();
        }
    }

    /// A packet arrives at the far end of a pipe.
    fn line_event(&mut self, pipe: usize) {
        if !self.pipes[pipe].lookahead.is_zero() {
            return self.hand_on(pipe);
        }
        let arriving = &mut self.pipes[pipe];
        let (observed, to) = (arriving.observed, arriving.to as usize);
        let left_at = if observed { arriving.head_left_at() } else { None };
        let release = arriving.arrive(self.now);
        self.schedule_line(pipe);
        if let Some(packet) = self.emerged(pipe, left_at.unwrap_or(self.now), release) {
            self.carry(packet, to);
        }
    }

    /// The head of a pipe's queue may leave.
    fn queue_event(&mut self, pipe: usize) {
        self.pipes[pipe].open_trace();
        let last = self.release(pipe);
        self.pipes[pipe].close_trace();
        let Some(packet) = last else { return };
        let to = self.pipes[pipe].to as usize;
        if self.inbox.is_empty() {
            self.carry(packet, to);
        } else {
            self.inbox.push_back((packet, to));
        }
    }

    fn pipe_event(&mut self, pipe: usize, kind: usize) {
        match kind {
            AGGREGATION => {
                let sight = Sight { arena: &self.arena, targets: &self.targets };
                for (packet, offered) in self.pipes[pipe].release_batch(self.now, &sight) {
                    match offered {
                        Offered::Passed => self.passed(pipe, packet),
                        Offered::Dropped(reason) => self.drop_packet(pipe, packet, reason),
                        // Not below aggregation (validated).
                        Offered::Twice => drop(self.offer_twice(pipe, packet)),
                        Offered::Kept(_) | Offered::Behind => {}
                    }
                }
                self.schedule_pipe(pipe);
            }
            _ => {
                for lost in self.pipes[pipe].apply_change(self.now, &self.scenario) {
                    if let Some(left_at) = lost.left_at {
                        self.at_near_end(pipe, left_at, lost.packet);
                    }
                    self.drop_packet(pipe, lost.packet, DropReason::LinkDown);
                }
                self.schedule_pipe(pipe);
                self.schedule_line(pipe);
            }
        }
    }

    /// Releases all packets that may leave the queue now. Returns the last one that is at the far end;
    /// those before it are in the inbox.
    fn release(&mut self, pipe: usize) -> Option<Handle> {
        let mut last = None;
        let next = loop {
            match self.pipes[pipe].release(self.now) {
                Ok(release) => {
                    let Some(packet) = self.emerged(pipe, self.now, release) else { continue };
                    if let Some(before) = last.replace(packet) {
                        self.inbox.push_back((before, self.pipes[pipe].to as usize));
                    }
                }
                Err(next) => break next,
            }
        };
        self.schedule_queue(pipe, next);
        self.schedule_rare_events(pipe);
        last
    }

    /// As [`Self::release`], all into the inbox.
    pub(crate) fn release_to_inbox(&mut self, pipe: usize) {
        if let Some(packet) = self.release(pipe) {
            self.inbox.push_back((packet, self.pipes[pipe].to as usize));
        }
    }

    /// Handles a packet that left the queue at `left_at`. Returns it if it is at the far end.
    #[inline(always)]
    fn emerged(&mut self, pipe: usize, left_at: Time, release: Release) -> Option<Handle> {
        match release {
            Release::Arrived(packet) => {
                if packet.is_marked() {
                    self.arena.mark(packet);
                }
                if self.pipes[pipe].observed {
                    self.at_near_end(pipe, left_at, packet);
                    self.observe_arrival(pipe, packet);
                }
                return Some(packet);
            }
            Release::Damaged(packet) => {
                self.at_near_end(pipe, left_at, packet);
                self.drop_packet(pipe, packet, DropReason::Corrupted);
            }
            Release::OnLine => self.schedule_line(pipe),
            Release::Nothing => {}
        }
        None
    }

    /// Reports a packet that left the queue to the tap at the near end. Called when the packet has
    /// arrived: until then a change of rate may move its departure.
    pub(crate) fn at_near_end(&mut self, pipe: usize, left_at: Time, packet: Handle) {
        if let Some(hops) = &mut self.hops {
            hops.left(left_at, packet);
        }
        if let Some(tap) = self.pipes[pipe].taps.as_ref().and_then(|taps| taps.near) {
            self.at_tap(left_at, tap, true, packet);
        }
    }

    pub(crate) fn at_far_end(&mut self, pipe: usize, packet: Handle) {
        self.observe_arrival(pipe, packet);
        self.inbox.push_back((packet, self.pipes[pipe].to as usize));
    }

    fn observe_arrival(&mut self, pipe: usize, packet: Handle) {
        if let Some(hops) = &mut self.hops {
            hops.arrived(self.now, packet);
        }
        if let Some(tap) = self.pipes[pipe].taps.as_ref().and_then(|taps| taps.far) {
            self.at_tap(self.now, tap, false, packet);
        }
    }

    fn at_tap(&mut self, at: Time, tap: usize, leaves: bool, packet: Handle) {
        let packet = self.arena.get(packet);
        self.taps.frame(at, tap, packet);
        self.tap_packets.frame(at, tap, packet);
        if let Some(capture) = &mut self.capture {
            let flow = self.flows.get(packet.flow as usize);
            let endpoint = flow.map(|flow| &self.endpoints[flow.endpoint as usize]);
            let contents = endpoint.map(|one| one.contents(packet.outward, &packet.body));
            capture.frame(at, tap, leaves, packet, contents.unwrap_or_default());
        }
    }

    /// Reports to taps, at the end, the packets that left a queue and are still under way.
    fn finish_taps(&mut self) {
        for pipe in 0..self.pipes.len() {
            if self.pipes[pipe].taps.is_some() || self.hops.is_some() {
                for (left_at, packet) in self.pipes[pipe].under_way(self.end) {
                    self.at_near_end(pipe, left_at, packet);
                }
            }
        }
    }

    pub(crate) fn source(&self, pipe: usize, kind: usize) -> Source {
        (kind * self.pipes.len() + pipe) as Source
    }

    pub(crate) fn set(&mut self, source: Source, at: Option<Time>) {
        match at {
            Some(at) => self.events.set(source, at),
            None => self.events.clear(source),
        }
    }

    #[inline(always)]
    pub(crate) fn schedule_line(&mut self, pipe: usize) {
        let source = self.source(pipe, LINE);
        match (self.pipes[pipe].line_event(), self.pipes[pipe].draw()) {
            (Some(at), Some(draw)) => self.events.set_drawn(source, at, draw),
            (at, _) => self.set(source, at),
        }
    }

    /// Sets all events of a pipe.
    pub(crate) fn schedule_pipe(&mut self, pipe: usize) {
        let head = self.pipes[pipe].queue_event(self.now);
        self.schedule_queue(pipe, head);
        if !self.pipes[pipe].is_line_empty() {
            self.schedule_line(pipe);
        }
        self.schedule_rare_events(pipe);
    }

    fn schedule_rare_events(&mut self, pipe: usize) {
        if self.pipes[pipe].has_rare_events {
            let (aggregation, change) =
                (self.pipes[pipe].aggregation_event(), self.pipes[pipe].change_event());
            self.set(self.source(pipe, AGGREGATION), aggregation);
            self.set(self.source(pipe, CHANGE), change);
        }
    }

    /// Sets the event of a pipe's queue, and drops what its discipline discarded.
    fn schedule_queue(&mut self, pipe: usize, head: Option<Time>) {
        for (packet, reason) in self.pipes[pipe].discarded() {
            self.drop_packet(pipe, packet, reason);
        }
        let source = self.source(pipe, QUEUE);
        match head {
            Some(at) if self.pipes[pipe].leaves_last(self.now, at) => {
                self.events.set_drawn(source, at, LAST);
            }
            _ => self.set(source, head),
        }
    }

    /// Sets the first event of every flow and pipe.
    pub(crate) fn begin(&mut self) {
        for pipe in 0..self.pipes.len() {
            self.schedule_pipe(pipe);
        }
        for kind in 0..FLOW_TIMERS {
            for flow in 0..self.flows.len() {
                let (endpoint, lane) = (self.flows[flow].endpoint as usize, self.flows[flow].lane);
                let (ends, mut io) = self.io(endpoint);
                ends.rearm(flow as u32, lane, kind, &mut io);
            }
        }
        self.events.set(self.sample_source(), Time::ZERO + self.scenario.sampling.interval);
        for endpoint in 0..self.endpoints.len() {
            let (ends, mut io) = self.io(endpoint);
            ends.rearm_own(&mut io);
        }
        for process in 0..self.arriving.processes() {
            self.schedule_arrival(process);
        }
    }

    /// State of the run now.
    pub(crate) fn state(&self) -> Run<'_> {
        let Self { scenario, arriving, flows, now, .. } = self;
        Run { scenario, arriving, flows, now: *now }
    }

    /// State of the run at its end.
    pub(crate) fn at_end(&self) -> Run<'_> {
        Run { now: self.end, ..self.state() }
    }

    fn sample(&mut self) {
        self.sample_windows();
        let Self { scenario, arriving, flows, now, .. } = self;
        let run = Run { scenario, arriving, flows, now: *now };
        self.recorder.sample(&run, &self.endpoints, &mut self.pipes);
        let next = self.now + self.scenario.sampling.interval;
        self.events.set(self.sample_source(), next);
    }

    /// Checks that every packet was delivered, dropped, or is still inside.
    pub(crate) fn check_conservation(&mut self) -> Result<(), RunError> {
        let mut inside = 0;
        for pipe in &mut self.pipes {
            pipe.settle(self.now);
            let stats = &pipe.stats;
            let out = stats.left_packets + stats.dropped_total() + pipe.inside();
            if stats.arrived_packets != out {
                return Err(RunError::Conservation(format!(
                    "{}: {} packets in, {out} out, dropped or inside",
                    pipe.name, stats.arrived_packets
                )));
            }
            inside += pipe.inside();
        }
        inside += self.neighbours.as_ref().map_or(0, Neighbours::waiting) as u64;
        if inside != self.arena.alive() as u64 {
            return Err(RunError::Conservation(format!(
                "{} packets alive, {inside} inside pipes",
                self.arena.alive()
            )));
        }
        if let Some(fault) = self.fault.take() {
            return Err(RunError::Conservation(fault));
        }
        let run = self.state();
        let checks = self.endpoints.iter().map(|endpoint| endpoint.check(&run));
        checks.collect::<Result<(), _>>().map_err(RunError::Conservation)
    }
}
