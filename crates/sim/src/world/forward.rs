//! Path of a packet: from its host through the pipes to its destination, with what is recorded of it.

use crate::arena::Handle;
use crate::drop_reason::DropReason;
use crate::endpoint::{Arrival, Created, Endpoint, Ends, Timer};
use crate::network::ip_fragment::defragment;
use crate::network::link::Offered;
use crate::network::path::Hop;
use crate::qdisc::Sight;
use crate::world::{World, LINE, QUEUE};
use dumbbell_model::scenario::NodeKind;
use dumbbell_model::Time;
use dumbbell_packet::frame::NO_FLOW;
use dumbbell_packet::Body;

impl World<'_> {
    /// Forwards and sends until nothing is left to do at this instant, in order of arrival.
    pub(crate) fn drain(&mut self) {
        loop {
            if let Some((packet, node)) = self.inbox.pop_front() {
                self.carry(packet, node);
            } else if let Some(packet) = self.created.pop_front() {
                self.send(packet);
            } else {
                break;
            }
        }
    }

    /// Numbers a packet and offers it to its first link.
    fn send(&mut self, created: Created) {
        let Created { mut packet, asks_departure } = created;
        let Handle { flow, outward, .. } = packet;
        let state = &mut self.flows[flow as usize];
        let number = state.sent[usize::from(!outward)];
        state.sent[usize::from(!outward)] += 1;
        state.under_way += 1;
        if outward {
            state.sent_bytes += u64::from(packet.frame_bytes);
        }
        self.packets += 1;
        packet.tos |= state.dscp << 2;
        self.arena.complete(packet, number);
        let leaves = self.leave_host(packet, asks_departure);
        if asks_departure {
            self.tell_departure(flow, outward, leaves);
        }
    }

    /// Offers a packet to its first link. Returns when it leaves the host, if known and asked for.
    fn leave_host(&mut self, mut packet: Handle, asks_departure: bool) -> Option<Time> {
        let pipe = match self.paths.next(packet) {
            Hop::Pipe(_) if !asks_departure => {
                self.carry(packet, 0);
                return None;
            }
            Hop::Pipe(pipe) => {
                packet.hop += 1;
                pipe
            }
            Hop::Neighbour(pipe) => self.resolve_next(&mut packet, pipe)?,
            Hop::Destination | Hop::Choice => {
                let node = self.targets[packet.flow as usize][usize::from(packet.outward)] as usize;
                match self.routes.origin(packet.flow, packet.outward) {
                    Some(pipe) => self.take(&mut packet, pipe)?,
                    None => self.choose(&mut packet, node)?,
                }
            }
        };
        self.enter(pipe, packet)
    }

    /// Takes a packet at a node through pipes that it passes at once, to the next one or to its
    /// destination.
    pub(crate) fn carry(&mut self, mut packet: Handle, mut node: usize) {
        loop {
            let pipe = match self.paths.next(packet) {
                Hop::Destination => return self.deliver(packet),
                Hop::Pipe(pipe) => {
                    packet.hop += 1;
                    pipe
                }
                Hop::Neighbour(pipe) => match self.resolve_next(&mut packet, pipe) {
                    Some(pipe) => pipe,
                    None => return,
                },
                Hop::Choice if packet.flow == NO_FLOW => return self.arp_at_node(packet, node),
                Hop::Choice if node == self.target(packet) => return self.deliver(packet),
                Hop::Choice => match self.choose(&mut packet, node) {
                    Some(pipe) => pipe,
                    None => return,
                },
            };
            let passed = &mut self.pipes[pipe];
            if !passed.passes {
                self.enter(pipe, packet);
                return;
            }
            passed.pass(packet);
            node = passed.to as usize;
            if !self.inbox.is_empty() {
                // Others of this instant come first.
                return self.inbox.push_back((packet, node));
            }
        }
    }

    /// Reports to TCP Small Queues when a packet leaves the host's own link.
    fn tell_departure(&mut self, flow: u32, outward: bool, leaves: Option<Time>) {
        let state = &self.flows[flow as usize];
        let (endpoint, lane) = (state.endpoint as usize, state.lane);
        let Some(kind) = self.endpoints[endpoint].on_queued(lane, outward, leaves) else { return };
        let timer = Timer::Flow { lane, kind };
        let deadline = self.endpoints[endpoint].next_deadline(timer, &mut self.timers_set).at;
        let source = self.flow_timer(flow, kind);
        if deadline != Time::NEVER && self.events.at(source).is_none_or(|at| deadline < at) {
            self.events.set(source, deadline);
        }
    }

    pub(crate) fn target(&self, packet: Handle) -> usize {
        self.targets[packet.flow as usize][usize::from(!packet.outward)] as usize
    }

    /// Chooses the pipe of a packet at a node, and moves the packet behind it.
    fn choose(&mut self, packet: &mut Handle, node: usize) -> Option<usize> {
        let destination = self.routes.destination(packet.flow, packet.outward);
        // Routes were checked before the run.
        let has_payload = || self.arena.get(*packet).payload_bytes() > 0;
        let pipe = self.routes.next_pipe(node, destination, packet.flow, has_payload)?;
        self.take(packet, pipe)
    }

    /// Moves a packet behind a pipe, or behind another whose neighbour is known.
    fn take(&mut self, packet: &mut Handle, pipe: usize) -> Option<usize> {
        let node = self.pipes[pipe ^ 1].to as usize;
        if self.neighbours.is_some() && self.scenario.nodes[node].kind != NodeKind::Switch {
            return self.resolve(packet, pipe);
        }
        packet.hop = self.paths.taken(*packet, pipe).1;
        Some(pipe)
    }

    /// Offers a packet to a pipe, twice if the pipe duplicates it.
    #[inline(never)]
    pub(crate) fn enter(&mut self, pipe: usize, mut packet: Handle) -> Option<Time> {
        if self.pipes[pipe].rewrites() {
            packet.tos = self.pipes[pipe].rewrite(packet.tos, self.arena.get_mut(packet));
        }
        if self.pipes[pipe].duplicates() {
            let copy = self.copied(packet);
            self.offer(pipe, copy);
        }
        self.offer(pipe, packet)
    }

    #[inline(always)]
    fn offer(&mut self, pipe: usize, packet: Handle) -> Option<Time> {
        if self.pipes[pipe].leaves_first {
            self.release_due(pipe);
        }
        if let Some(hops) = &mut self.hops {
            hops.offered(self.now, pipe, packet, self.arena.get(packet));
        }
        let sight = Sight { arena: &self.arena, targets: &self.targets };
        match self.pipes[pipe].offer(self.now, packet, &sight) {
            Offered::Passed => {
                self.passed(pipe, packet);
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
            Offered::Twice => self.offer_twice(pipe, packet),
            Offered::Behind => {
                if !self.pipes[pipe].gathers {
                    self.release_due(pipe);
                }
                None
            }
        }
    }

    /// Offers the copy that netem wants of a packet, then the packet itself.
    #[inline(never)]
    pub(crate) fn offer_twice(&mut self, pipe: usize, packet: Handle) -> Option<Time> {
        let copy = Handle { tos: packet.tos, ..self.copied(packet) };
        if let Some(hops) = &mut self.hops {
            hops.offered(self.now, pipe, copy, self.arena.get(copy));
        }
        for (offered, one) in [
            (self.pipes[pipe].offer_copy(self.now, copy), copy),
            (self.pipes[pipe].go_on(self.now, packet), packet),
        ] {
            match offered {
                Offered::Dropped(reason) => self.drop_packet(pipe, one, reason),
                Offered::Kept(_) => {
                    self.put_on_line(pipe, one);
                    self.kept(pipe);
                }
                Offered::Passed | Offered::Behind | Offered::Twice => self.release_due(pipe),
            }
        }
        None
    }

    /// Copy of a packet, with its place on the way.
    fn copied(&mut self, packet: Handle) -> Handle {
        let copy = self.arena.insert(*self.arena.get(packet));
        if let Some(flow) = self.flows.get_mut(packet.flow as usize) {
            flow.under_way += 1;
        }
        self.tell(copy, Endpoint::on_copied);
        Handle { hop: packet.hop, ..copy }
    }

    /// Releases what may leave a queue by now, if its event is due and still to come.
    fn release_due(&mut self, pipe: usize) {
        let source = self.source(pipe, QUEUE);
        if self.events.at(source).is_some_and(|at| at <= self.now) {
            self.release_to_inbox(pipe);
        }
    }

    /// Handles a packet that passed the pipe without delay.
    pub(crate) fn passed(&mut self, pipe: usize, packet: Handle) {
        self.at_near_end(pipe, self.now, packet);
        self.at_far_end(pipe, packet);
    }

    /// Sets the events that a packet inside the pipe has changed.
    #[inline(always)]
    pub(crate) fn kept(&mut self, pipe: usize) {
        if self.pipes[pipe].follows() {
            return;
        }
        if self.pipes[pipe].is_line {
            // Reordering, or a shorter delay, may have placed it before the head.
            let source = self.source(pipe, LINE);
            let head = self.pipes[pipe].line_event();
            if self.events.at(source).is_none_or(|at| head < Some(at)) {
                self.schedule_line(pipe);
            }
            return;
        }
        let at = self.pipes[pipe].queue_event(self.now);
        let waits = self.pipes[pipe].is_trace() || self.pipes[pipe].gathers;
        if at.is_some_and(|at| at <= self.now) && !waits {
            self.release_to_inbox(pipe);
        } else {
            self.schedule_pipe(pipe);
        }
    }

    /// Tells the endpoint of a datagram what became of it.
    fn tell(&mut self, packet: Handle, what: fn(&mut Ends, bool, &Body)) {
        let body = &self.arena.get(packet).body;
        let Body::Udp { .. } = body else { return };
        let endpoint = self.flows[packet.flow as usize].endpoint as usize;
        what(&mut self.endpoints[endpoint], packet.outward, body);
    }

    pub(crate) fn drop_packet(&mut self, pipe: usize, packet: Handle, reason: DropReason) {
        let handle = packet;
        self.tell(packet, Endpoint::on_dropped);
        if let Some(flow) = self.flows.get_mut(packet.flow as usize) {
            flow.dropped += 1;
            flow.under_way -= 1;
            if flow.ending {
                self.closing.push(packet.flow);
            }
        }
        if let Some(hops) = &mut self.hops {
            hops.dropped(self.now, pipe, reason, packet, self.arena.get(packet));
        }
        let packet = self.arena.get(packet);
        self.recorder.drop(self.now, pipe, reason, packet);
        if let Some(capture) = &mut self.capture {
            capture.dropped(&self.pipes[pipe].name, reason.name(), packet);
        }
        self.arena.free(handle);
    }

    /// Hands a packet to its endpoint.
    fn deliver(&mut self, handle: Handle) {
        if let Some(hops) = &mut self.hops {
            hops.gone(handle);
        }
        let packet = self.arena.get(handle);
        // The handle is in the cache, the packet may not be.
        let flow = &mut self.flows[handle.flow as usize];
        flow.under_way -= 1;
        if flow.ending {
            self.closing.push(handle.flow);
        }
        let mut copied = false;
        if handle.outward {
            flow.received_packets += 1;
            flow.received_bytes += u64::from(handle.frame_bytes);
            copied = flow.arrived.as_mut().is_some_and(|arrived| !arrived.insert(packet.number));
            // The first copy to arrive counts alone (RFC 4737 §3).
            if packet.payload_bytes() > 0 && !copied {
                flow.reorder.arrive(packet.number);
            }
        }
        let endpoint = flow.endpoint as usize;
        let hosts = self.targets[handle.flow as usize];
        let joined;
        let body = if packet.body.is_fragment() {
            joined = defragment(&mut self.reassembly, self.now, handle, hosts, &packet.body);
            joined.as_ref()
        } else {
            Some(&packet.body)
        };
        if let Some(body) = body {
            let (lane, outward, ecn_field) = (flow.lane, handle.outward, handle.tos & 3);
            let arrival = Arrival { lane, outward, ecn_field, body };
            let had = self.endpoints[endpoint].on_packet(self.now, &arrival);
            flow.copies += u64::from(had && copied);
            if let Some(capture) = self.capture.as_mut().filter(|_| outward) {
                capture.arrived(packet, had);
            }
        }
        self.arena.free(handle);
        self.settle(endpoint);
    }
}
