//! What the ends of TCP flows have made, and when they want to be woken.

use crate::endpoint::tcp::Requests;
use crate::endpoint::Ends;
use crate::events::{Source, Turn};
use crate::world::{World, FLOW_SOURCES, RECEIVER, REQUEST_RECEIVER, REQUEST_SENDER, SENDER};
use dumbbell_model::Time;
use dumbbell_packet::{Body, Segment};

/// What a TCP end has made, for the outbox.
fn sent(flow: u32, outward: bool, segment: Segment) -> (u32, bool, u32, Body) {
    (flow, outward, segment.frame_bytes(), Body::Tcp(segment))
}

impl World<'_> {
    /// Takes what the ends of a TCP flow want to send, and sets their timers.
    pub(crate) fn collect(&mut self, flow: u32) {
        self.collect_sender(flow);
        self.collect_receiver(flow);
        let base = self.flow_base() + flow as usize * FLOW_SOURCES;
        let Ends::Tcp(tcp) = &mut self.flows[flow as usize].ends else { return };
        let Some(requests) = &mut tcp.requests else { return };
        let Requests { sender, receiver, .. } = &mut **requests;
        self.outbox.extend(sender.out.drain(..).map(|segment| sent(flow, false, segment)));
        let set = &mut self.timers_set;
        let deadlines = [
            (REQUEST_SENDER, sender.next_deadline(), sender.wheel_turn(set)),
            (REQUEST_RECEIVER, receiver.next_deadline(), receiver.wheel_turn(set)),
        ];
        for (kind, deadline, wheel) in deadlines {
            self.set_timer(base + kind, deadline, wheel);
        }
    }

    /// The same of the end that sends the flow's data; the other one is far away in memory.
    pub(crate) fn collect_sender(&mut self, flow: u32) {
        let Ends::Tcp(tcp) = &mut self.flows[flow as usize].ends else { return };
        let sender = &mut tcp.sender;
        self.outbox.extend(sender.out.drain(..).map(|segment| sent(flow, true, segment)));
        let (deadline, wheel) = (sender.next_deadline(), sender.wheel_turn(&mut self.timers_set));
        let source = self.flow_base() + flow as usize * FLOW_SOURCES + SENDER;
        self.set_timer(source, deadline, wheel);
    }

    pub(crate) fn collect_receiver(&mut self, flow: u32) {
        let Ends::Tcp(tcp) = &mut self.flows[flow as usize].ends else { return };
        let receiver = &mut tcp.receiver;
        self.outbox.extend(receiver.out.drain(..).map(|segment| sent(flow, false, segment)));
        let (deadline, wheel) =
            (receiver.next_deadline(), receiver.wheel_turn(&mut self.timers_set));
        let source = self.flow_base() + flow as usize * FLOW_SOURCES + RECEIVER;
        self.set_timer(source, deadline, wheel);
    }

    /// A timer that moved later is left where it is: it wakes once in vain.
    fn set_timer(&mut self, source: usize, deadline: Time, wheel: Option<(Time, Turn)>) {
        let source = source as Source;
        let before = self.events.at(source).unwrap_or(Time::NEVER);
        match wheel.filter(|(at, _)| *at <= deadline) {
            Some((at, turn)) if at <= before => self.events.set_wheel(source, at, turn),
            None if deadline < before => self.events.set(source, deadline),
            _ => {}
        }
    }
}
