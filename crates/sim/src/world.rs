//! The running simulation: dispatches events, moves packets between nodes, lets the ends act.

use crate::arena::{Arena, Handle};
use crate::capture::Capture;
use crate::endpoint::Ends;
use crate::events::{EventQueue, Source};
use crate::flow::FlowState;
use crate::hops::Hops;
use crate::ip_fragment::{Fragment, Reassembly};
use crate::loss::{DropReason, LossModel};
use crate::multipath::Connection;
use crate::neighbour::Neighbours;
use crate::pipe::{Offered, Pipe, Release};
use crate::record::Recorder;
use crate::route::Routes;
use crate::{Monitor, RunError};
use dumbbell_capture::Taps;
use dumbbell_model::scenario::NodeKind;
use dumbbell_model::{Scenario, Time};
use dumbbell_packet::frame::NO_FLOW;
use dumbbell_packet::{Body, Packet, Tap, TapPackets};
use dumbbell_web::Running;
use std::collections::VecDeque;

/// Events of a pipe: source `PIPE_SOURCES · pipe + …`.
pub(crate) const PIPE_SOURCES: usize = 4;
const QUEUE: usize = 0;
const LINE: usize = 1;
const AGGREGATION: usize = 2;
const CHANGE: usize = 3;
/// Events of a flow, numbered after all pipes' events.
pub(crate) const FLOW_SOURCES: usize = 4;
pub(crate) const SENDER: usize = 0;
pub(crate) const RECEIVER: usize = 1;
const START_STOP: usize = 2;
const TRAFFIC: usize = 3;
/// Of a connection with data both ways: the halves of the other direction.
pub(crate) const REQUEST_SENDER: usize = START_STOP;
pub(crate) const REQUEST_RECEIVER: usize = TRAFFIC;

/// Behind all else that happens at an instant.
const LAST: u8 = 15;

/// Events between two looks at the monitor.
const MONITOR_EVENTS: u64 = 1 << 14;

pub(crate) struct World<'a> {
    pub(crate) scenario: &'a Scenario,
    pub(crate) now: Time,
    pub(crate) end: Time,
    pub(crate) events: EventQueue,
    pub(crate) arena: Arena,
    pub(crate) pipes: Vec<Pipe>,
    pub(crate) routes: Routes,
    /// Pipes to which packets may be handed on later than they come.
    pub(crate) patient: Vec<bool>,
    pub(crate) flows: Vec<FlowState>,
    /// TCP flows of whose windows samples are taken: those that have begun and neither stopped nor ended.
    pub(crate) active: Vec<u32>,
    pub(crate) sessions: Vec<Running>,
    pub(crate) connections: Vec<Connection>,
    /// Nodes where a flow's packets go, outward and back.
    pub(crate) targets: Vec<[u32; 2]>,
    pub(crate) taps: Taps,
    pub(crate) tap_packets: TapPackets,
    pub(crate) capture: Option<Capture>,
    pub(crate) hops: Option<Hops>,
    pub(crate) neighbours: Option<Neighbours>,
    /// Incomplete datagrams, by node.
    pub(crate) reassembly: Vec<Reassembly>,
    pub(crate) recorder: Recorder,
    /// Packets made at this instant and not yet on their way: flow, outward, frame, body.
    pub(crate) outbox: VecDeque<(u32, bool, u32, Body)>,
    /// Packets at a node, to be forwarded at this instant.
    pub(crate) inbox: VecDeque<(Handle, usize)>,
    pub(crate) packets: u64,
    pub(crate) processed: u64,
    /// Timers of the wheel that were set.
    pub(crate) timers_set: u64,
}

impl World<'_> {
    /// Runs to the end.
    pub(crate) fn run(&mut self, monitor: &dyn Monitor) -> Result<(), RunError> {
        while let Some((at, source)) = self.events.peek() {
            if at > self.end {
                break;
            }
            debug_assert!(at >= self.now, "time went back to {at} from {} by {source}", self.now);
            self.now = at;
            self.processed += 1;
            if self.processed % MONITOR_EVENTS == 0 && !monitor.progress(at) {
                return Err(RunError::Cancelled);
            }
            self.fetch_ahead();
            self.dispatch(source);
            self.drain();
        }
        self.now = self.end;
        self.hand_on_all();
        self.finish_taps();
        monitor.progress(self.end);
        Ok(())
    }

    pub(crate) fn flow_base(&self) -> usize {
        self.pipes.len() * PIPE_SOURCES
    }

    pub(crate) fn sample_source(&self) -> Source {
        (self.flow_base() + self.flows.len() * FLOW_SOURCES) as Source
    }

    pub(crate) fn neighbour_source(&self) -> Source {
        self.sample_source() + 1
    }

    fn dispatch(&mut self, source: Source) {
        let number = source as usize;
        let base = self.flow_base();
        if number < base {
            self.pipe_event(number / PIPE_SOURCES, number % PIPE_SOURCES);
        } else if source == self.sample_source() {
            self.sample();
        } else if source == self.neighbour_source() {
            self.neighbour_timeout();
        } else if source > self.neighbour_source() + self.sessions.len() as Source {
            self.connection_event(source);
        } else if source > self.neighbour_source() {
            self.session_event(source);
        } else {
            let number = number - base;
            self.flow_event(number / FLOW_SOURCES, number % FLOW_SOURCES, source);
        }
    }

    fn pipe_event(&mut self, pipe: usize, kind: usize) {
        match kind {
            QUEUE => {
                self.pipes[pipe].open_trace();
                self.release(pipe);
                self.pipes[pipe].close_trace();
            }
            LINE => {
                if !self.pipes[pipe].lookahead.is_zero() {
                    return self.hand_on(pipe);
                }
                let left_at = self.pipes[pipe].head_left_at().unwrap_or(self.now);
                let release = self.pipes[pipe].arrive(self.now);
                self.schedule_line(pipe);
                self.emerged(pipe, left_at, release);
            }
            AGGREGATION => {
                for release in self.pipes[pipe].release_batch(self.now) {
                    self.emerged(pipe, self.now, release);
                }
                self.schedule_pipe(pipe);
            }
            _ => {
                let flows = self.scenario.flows.len();
                let number = |name: &str| {
                    let index = self.scenario.flows.iter().position(|flow| flow.name == name)?;
                    Some(index as u32)
                };
                self.pipes[pipe].apply_change(self.now, |change| {
                    change.loss.as_ref().map(|loss| LossModel::new(loss, flows, number))
                });
                self.schedule_pipe(pipe);
            }
        }
    }

    /// Lets go from a queue what may leave now.
    fn release(&mut self, pipe: usize) {
        loop {
            let release = self.pipes[pipe].release(self.now);
            if release == Release::Nothing {
                break;
            }
            self.emerged(pipe, self.now, release);
        }
        self.schedule_pipe(pipe);
    }

    /// A packet that left the queue at `left_at` has come through.
    fn emerged(&mut self, pipe: usize, left_at: Time, release: Release) {
        match release {
            Release::Arrived(packet) => {
                if packet.is_marked() {
                    self.arena.mark(packet);
                }
                self.at_near_end(pipe, left_at, packet);
                self.at_far_end(pipe, packet);
            }
            Release::Damaged(packet) => {
                self.at_near_end(pipe, left_at, packet);
                self.drop_packet(pipe, packet, DropReason::Corrupted);
            }
            Release::OnLine => self.schedule_line(pipe),
            Release::Nothing => {}
        }
    }

    /// What a capture at the interface sees: the packet as it leaves the queue. It is told only
    /// when the packet has arrived, since until then its departure may change.
    fn at_near_end(&mut self, pipe: usize, left_at: Time, packet: Handle) {
        if let Some(hops) = &mut self.hops {
            hops.left(left_at, packet);
        }
        if let Some(tap) = self.pipes[pipe].taps.as_ref().and_then(|taps| taps.near) {
            self.at_tap(left_at, tap, true, packet);
        }
    }

    pub(crate) fn at_far_end(&mut self, pipe: usize, packet: Handle) {
        if let Some(hops) = &mut self.hops {
            hops.arrived(self.now, packet);
        }
        if let Some(tap) = self.pipes[pipe].taps.as_ref().and_then(|taps| taps.far) {
            self.at_tap(self.now, tap, false, packet);
        }
        self.inbox.push_back((packet, self.pipes[pipe].to as usize));
    }

    fn at_tap(&mut self, at: Time, tap: usize, leaves: bool, packet: Handle) {
        let packet = self.arena.get(packet);
        self.taps.frame(at, tap, packet);
        self.tap_packets.frame(at, tap, packet);
        if let Some(capture) = &mut self.capture {
            capture.frame(at, tap, leaves, packet);
        }
    }

    /// At the end: packets that have left a queue that is looked at and are still under way.
    fn finish_taps(&mut self) {
        for pipe in 0..self.pipes.len() {
            if self.pipes[pipe].taps.is_some() || self.hops.is_some() {
                for (left_at, packet) in self.pipes[pipe].under_way(self.end) {
                    self.at_near_end(pipe, left_at, packet);
                }
            }
        }
    }

    pub(crate) fn set(&mut self, source: usize, at: Option<Time>) {
        match at {
            Some(at) => self.events.set(source as Source, at),
            None => self.events.clear(source as Source),
        }
    }

    pub(crate) fn schedule_line(&mut self, pipe: usize) {
        let source = pipe * PIPE_SOURCES + LINE;
        match (self.pipes[pipe].line_event(), self.pipes[pipe].draw()) {
            (Some(at), Some(draw)) => self.events.set_drawn(source as Source, at, draw),
            (at, _) => self.set(source, at),
        }
    }

    /// Sets all events of a pipe.
    pub(crate) fn schedule_pipe(&mut self, pipe: usize) {
        let now = self.now;
        let queue = self.pipes[pipe].queue_event(now);
        for (packet, reason) in self.pipes[pipe].discarded() {
            self.drop_packet(pipe, packet, reason);
        }
        match queue {
            Some(at) if self.pipes[pipe].leaves_last(self.now, at) => {
                self.events.set_drawn((pipe * PIPE_SOURCES + QUEUE) as Source, at, LAST);
            }
            _ => self.set(pipe * PIPE_SOURCES + QUEUE, queue),
        }
        self.schedule_line(pipe);
        let (aggregation, change) =
            (self.pipes[pipe].aggregation_event(), self.pipes[pipe].change_event());
        self.set(pipe * PIPE_SOURCES + AGGREGATION, aggregation);
        self.set(pipe * PIPE_SOURCES + CHANGE, change);
    }

    /// Forwards and sends until nothing is left to do at this instant, first come, first served.
    fn drain(&mut self) {
        loop {
            if let Some((packet, node)) = self.inbox.pop_front() {
                self.at_node(packet, node);
            } else if let Some((flow, outward, frame_bytes, body)) = self.outbox.pop_front() {
                self.send(flow, outward, frame_bytes, body);
            } else {
                break;
            }
        }
    }

    /// Makes a packet and puts it on its first link.
    fn send(&mut self, flow: u32, outward: bool, frame_bytes: u32, body: Body) {
        let state = &mut self.flows[flow as usize];
        let number = state.sent[usize::from(!outward)];
        state.sent[usize::from(!outward)] += 1;
        if outward {
            state.sent_bytes += u64::from(frame_bytes);
        }
        self.packets += 1;
        let node = self.targets[flow as usize][usize::from(outward)] as usize;
        let ecn_field = match (&state.ends, &body) {
            (Ends::Tcp(tcp), Body::Tcp(segment)) if outward => tcp.sender.ecn_field(segment),
            (Ends::Tcp(tcp), Body::Tcp(segment)) => {
                tcp.requests.as_ref().map_or(0, |requests| requests.sender.ecn_field(segment))
            }
            _ => 0,
        };
        let tos = state.dscp << 2 | ecn_field;
        let packet = self.arena.insert(Packet { number, flow, frame_bytes, outward, tos, body });
        let leaves = match self.routes.origin(flow, outward) {
            Some(pipe) => self.take(packet, node, pipe),
            None => self.forward(packet, node),
        };
        self.tell_sender(flow, outward, &body, leaves);
    }

    /// Small queues: the sender's own link says when a segment will have left it.
    fn tell_sender(&mut self, flow: u32, outward: bool, body: &Body, leaves: Option<Time>) {
        let kind = if outward { SENDER } else { REQUEST_SENDER };
        let source = (self.flow_base() + flow as usize * FLOW_SOURCES + kind) as Source;
        let Ends::Tcp(tcp) = &mut self.flows[flow as usize].ends else { return };
        let Body::Tcp(segment) = body else { return };
        let sender = match &mut tcp.requests {
            _ if outward => &mut tcp.sender,
            Some(requests) => &mut requests.sender,
            None => return,
        };
        if !sender.host_link_queues || segment.payload_bytes == 0 {
            return;
        }
        sender.host_queued(leaves);
        let deadline = sender.next_deadline();
        if deadline != Time::NEVER && self.events.at(source).is_none_or(|at| deadline < at) {
            self.events.set(source, deadline);
        }
    }

    /// A packet is at a node: its end, or a hop.
    fn at_node(&mut self, packet: Handle, node: usize) {
        if packet.flow == NO_FLOW {
            self.arp_at_node(packet, node);
        } else if node == self.target(packet) {
            self.deliver(packet);
        } else {
            self.forward(packet, node);
        }
    }

    pub(crate) fn target(&self, packet: Handle) -> usize {
        self.targets[packet.flow as usize][usize::from(!packet.outward)] as usize
    }

    /// Offers a packet to the next pipe. Returns when it will have left the node, if known.
    fn forward(&mut self, packet: Handle, node: usize) -> Option<Time> {
        let destination = self.routes.destination(packet.flow, packet.outward);
        // Every flow's routes were checked before the run.
        let has_payload = || self.arena.get(packet).payload_bytes() > 0;
        let pipe = self.routes.next_pipe(node, destination, packet.flow, has_payload)?;
        self.take(packet, node, pipe)
    }

    /// Offers a packet to a pipe, once the address of who is behind it is known.
    fn take(&mut self, packet: Handle, node: usize, pipe: usize) -> Option<Time> {
        let mut pipe = pipe;
        if self.neighbours.is_some() && self.scenario.nodes[node].kind != NodeKind::Switch {
            let destination = self.routes.destination(packet.flow, packet.outward);
            pipe = self.resolved(packet, node, destination, pipe)?;
        }
        self.enter(pipe, packet)
    }

    /// Offers a packet to a pipe, twice if it is duplicated there.
    pub(crate) fn enter(&mut self, pipe: usize, packet: Handle) -> Option<Time> {
        if self.pipes[pipe].duplicates() {
            let copy = self.arena.insert(*self.arena.get(packet));
            self.offer(pipe, copy);
        }
        self.offer(pipe, packet)
    }

    fn offer(&mut self, pipe: usize, packet: Handle) -> Option<Time> {
        if let Some(hops) = &mut self.hops {
            hops.offered(self.now, pipe, packet, self.arena.get(packet));
        }
        match self.pipes[pipe].offer(self.now, packet, &self.arena) {
            Offered::Passed => {
                self.at_near_end(pipe, self.now, packet);
                self.at_far_end(pipe, packet);
                None
            }
            Offered::Dropped(reason) => {
                self.drop_packet(pipe, packet, reason);
                None
            }
            Offered::Kept(leaves) => {
                self.put_on_line(pipe, packet);
                self.kept(pipe);
                leaves
            }
        }
    }

    /// A packet was put into a pipe: set what events it changed.
    pub(crate) fn kept(&mut self, pipe: usize) {
        if self.pipes[pipe].follows() {
            return;
        }
        if self.pipes[pipe].is_line() {
            // It may have overtaken the head: by reordering, or because the delay fell.
            let source = (pipe * PIPE_SOURCES + LINE) as Source;
            let head = self.pipes[pipe].line_event();
            if self.events.at(source).is_none_or(|at| head < Some(at)) {
                self.schedule_line(pipe);
            }
            return;
        }
        let at = self.pipes[pipe].queue_event(self.now);
        let waits = self.pipes[pipe].is_trace() || self.pipes[pipe].gathers;
        if at.is_some_and(|at| at <= self.now) && !waits {
            self.release(pipe);
        } else {
            self.schedule_pipe(pipe);
        }
    }

    pub(crate) fn drop_packet(&mut self, pipe: usize, packet: Handle, reason: DropReason) {
        self.arena.free(packet);
        if let Some(flow) = self.flows.get_mut(packet.flow as usize) {
            flow.dropped += 1;
        }
        if let Some(hops) = &mut self.hops {
            hops.dropped(self.now, pipe, reason, packet, self.arena.get(packet));
        }
        let (name, packet) = (&self.pipes[pipe].name, self.arena.get(packet));
        self.recorder.drop(self.now, name, reason.name(), packet);
        if let Some(capture) = &mut self.capture {
            capture.dropped(name, reason.name(), packet);
        }
    }

    /// A packet arrives at its end.
    fn deliver(&mut self, handle: Handle) {
        self.arena.free(handle);
        if let Some(hops) = &mut self.hops {
            hops.gone(handle);
        }
        let packet = self.arena.get(handle);
        // What the handle knows is not asked of the packet, which comes from far away.
        let flow = &mut self.flows[handle.flow as usize];
        if !handle.outward {
            self.hand_over(handle);
            return;
        }
        flow.received_packets += 1;
        flow.received_bytes += u64::from(handle.frame_bytes);
        if packet.payload_bytes() > 0 {
            flow.reorder.arrive(packet.number);
        }
        if flow.arrived.as_mut().is_none_or(|arrived| arrived.insert(packet.number)) {
            self.hand_over(handle);
            return;
        }
        let before = flow.ends.duplicate_packets();
        self.hand_over(handle);
        let flow = &mut self.flows[handle.flow as usize];
        flow.copies += flow.ends.duplicate_packets() - before;
    }

    /// Its end takes the packet.
    fn hand_over(&mut self, handle: Handle) {
        let packet = self.arena.get(handle);
        let now = self.now;
        let (outward, flow) = (handle.outward, &mut self.flows[handle.flow as usize]);
        match (&mut flow.ends, &packet.body) {
            (Ends::Tcp(tcp), Body::Tcp(segment)) if tcp.requests.is_some() => {
                let before = tcp.receiver.duplicate_packets;
                let end = if outward { tcp.client() } else { tcp.server() };
                if let Some(mut end) = end {
                    end.on_segment(now, segment, handle.tos & 3);
                }
                if let Some(capture) = self.capture.as_mut().filter(|_| outward) {
                    capture.arrived(packet, tcp.receiver.duplicate_packets > before);
                }
                self.session_turn(handle.flow);
                self.collect(handle.flow);
            }
            (Ends::Tcp(tcp), &Body::Tcp(segment)) if tcp.subflow.is_some() => {
                let Some(of) = tcp.subflow else { return };
                let had = self.at_subflow(handle.flow, of, outward, &segment, handle.tos & 3);
                if let Some(capture) = self.capture.as_mut().filter(|_| outward) {
                    capture.arrived(self.arena.get(handle), had);
                }
            }
            (Ends::Tcp(tcp), Body::Tcp(segment)) => {
                if outward {
                    let before = tcp.receiver.duplicate_packets;
                    tcp.receiver.on_segment(now, segment, handle.tos & 3);
                    if let Some(capture) = &mut self.capture {
                        capture.arrived(packet, tcp.receiver.duplicate_packets > before);
                    }
                    self.collect_receiver(handle.flow);
                } else {
                    tcp.sender.on_segment(now, segment);
                    tcp.sender.run_source();
                    self.collect_sender(handle.flow);
                }
            }
            (Ends::Udp(udp), &Body::Udp { datagram, payload_bytes, fragment, fragments }) => {
                let whole = if fragments == 1 {
                    Some(u64::from(payload_bytes))
                } else {
                    let [to, from] = self.targets[handle.flow as usize];
                    let (flow, frame_bytes) = (handle.flow, handle.frame_bytes);
                    let part = Fragment {
                        flow,
                        datagram,
                        fragment,
                        fragments,
                        frame_bytes,
                        payload_bytes,
                    };
                    self.reassembly[to as usize].arrive(now, from, part)
                };
                if let Some(bytes) = whole {
                    if udp.sink.deliver(now, datagram, bytes) {
                        udp.source.arrived(now, datagram);
                    }
                }
            }
            (Ends::Ping(ping), &Body::Ping { number, .. }) => {
                if outward {
                    let (frame, body) = ping.frame(number);
                    self.outbox.push_back((handle.flow, false, frame, body));
                } else {
                    ping.reply(now, number);
                }
            }
            _ => {}
        }
    }

    fn flow_event(&mut self, flow: usize, kind: usize, source: Source) {
        self.events.clear(source);
        let now = self.now;
        if let Some(of) = self.subflow(flow as u32) {
            match kind {
                SENDER => self.subflow_sender_event(of),
                RECEIVER => self.subflow_receiver_event(of),
                START_STOP => {
                    let state = &self.flows[flow];
                    if let Some(stop) = state.stop.filter(|_| now == state.start) {
                        self.events.set(source, stop);
                    }
                    self.subflow_starts_or_stops(flow as u32, of);
                }
                _ => self.stop_connection(of.connection),
            }
            return;
        }
        let state = &mut self.flows[flow];
        match (&mut state.ends, kind) {
            (Ends::Tcp(tcp), _) if tcp.requests.is_some() => {
                let end = match kind {
                    SENDER | REQUEST_RECEIVER => tcp.server(),
                    _ => tcp.client(),
                };
                if let Some(mut end) = end {
                    if matches!(kind, SENDER | REQUEST_SENDER) {
                        end.send(now, |sender| {
                            sender.on_timeout(now);
                            sender.run_source();
                        });
                    } else {
                        end.receive(|receiver| receiver.on_timeout(now));
                    }
                }
                self.session_turn(flow as u32);
                self.collect(flow as u32);
            }
            (Ends::Tcp(tcp), SENDER) => {
                tcp.sender.on_timeout(now);
                tcp.sender.run_source();
                self.collect_sender(flow as u32);
            }
            (Ends::Tcp(tcp), RECEIVER) => {
                tcp.receiver.on_timeout(now);
                self.collect_receiver(flow as u32);
            }
            (Ends::Tcp(tcp), START_STOP) => {
                if now == state.start {
                    self.active.push(flow as u32);
                    tcp.sender.start(now);
                    if let Some(stop) = state.stop {
                        self.events.set(source, stop);
                    }
                } else {
                    tcp.sender.stop(now);
                }
                self.collect(flow as u32);
            }
            (Ends::Udp(udp), TRAFFIC) => {
                let mut out = Vec::new();
                udp.source.send(now, &mut out);
                if let Some(at) = udp.source.next_at() {
                    self.events.set(source, at);
                }
                self.outbox.extend(out.into_iter().map(|(f, body)| (flow as u32, true, f, body)));
            }
            (Ends::Ping(ping), TRAFFIC) => {
                let (frame, body) = ping.request(now);
                if let Some(at) = ping.next_at() {
                    self.events.set(source, at);
                }
                self.outbox.push_back((flow as u32, true, frame, body));
            }
            _ => {}
        }
    }

    /// Sets the first event of every flow and pipe.
    pub(crate) fn begin(&mut self) {
        for pipe in 0..self.pipes.len() {
            self.schedule_pipe(pipe);
        }
        let base = self.flow_base();
        for (index, flow) in self.flows.iter().enumerate() {
            let source = base + index * FLOW_SOURCES;
            match &flow.ends {
                Ends::Tcp(tcp) if tcp.requests.is_some() => {}
                Ends::Tcp(_) => self.events.set((source + START_STOP) as Source, flow.start),
                Ends::Udp(udp) => {
                    if let Some(at) = udp.source.next_at() {
                        self.events.set((source + TRAFFIC) as Source, at);
                    }
                }
                Ends::Ping(ping) => {
                    if let Some(at) = ping.next_at() {
                        self.events.set((source + TRAFFIC) as Source, at);
                    }
                }
            }
        }
        for connection in &self.scenario.connections {
            let first = self.scenario.flows.iter().position(|f| f.name == connection.first());
            if let (Some(stop), Some(first)) = (connection.stop, first) {
                let source = base + first * FLOW_SOURCES + TRAFFIC;
                self.events.set(source as Source, Time::ZERO + stop);
            }
        }
        self.events.set(self.sample_source(), Time::ZERO + self.scenario.sampling.interval);
        self.begin_sessions();
    }

    fn sample(&mut self) {
        let (flows, now) = (&mut self.flows, self.now);
        self.active.retain(|&flow| flows[flow as usize].sample_window(now));
        let (flows, connections) = (&self.flows, &self.connections);
        self.recorder.sample(self.now, self.scenario, flows, connections, &mut self.pipes);
        let next = self.now + self.scenario.sampling.interval;
        self.events.set(self.sample_source(), next);
    }

    /// Contract: every packet was delivered, dropped, or is still inside.
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
        self.check_connections().map_err(RunError::Conservation)
    }
}
