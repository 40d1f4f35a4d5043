//! Ends of flows. A flow of TCP is over when all its data and its FIN are acknowledged, or when it has
//! given up; when none of its packets is under way, and no timer is set. Then its endpoint is freed, and
//! only the rows of its totals are kept.

use crate::endpoint::{Endpoint, Ends, Gone, Run, FLOW_TIMERS};
use crate::flow::NOT_SAMPLED;
use crate::world::World;

impl World<'_> {
    /// Notes that flows have begun, or send nothing more.
    pub(crate) fn note_flows(&mut self) {
        while let Some(flow) = self.begun.pop() {
            let state = &mut self.flows[flow as usize];
            (state.start, state.sampled) = (self.now, self.active.len() as u32);
            self.active.push(flow);
        }
        while let Some(flow) = self.over.pop() {
            // Samples have a row of every flow until the end of the run.
            self.flows[flow as usize].ending = !self.scenario.sampling.samples;
            self.closing.push(flow);
        }
    }

    /// Frees the endpoints of flows that are over now.
    pub(crate) fn close_flows(&mut self) {
        while let Some(flow) = self.closing.pop() {
            let state = &self.flows[flow as usize];
            let mut timers = (0..FLOW_TIMERS).map(|kind| self.flow_timer(flow, kind));
            let waits = state.under_way > 0 || timers.any(|timer| self.events.at(timer).is_some());
            if state.ending && !waits {
                self.close(flow);
            }
        }
    }

    fn close(&mut self, flow: u32) {
        self.stop_sampling(flow);
        let endpoint = self.flows[flow as usize].endpoint as usize;
        let run = Run { scenario: self.scenario, flows: &self.flows, now: self.now };
        if let Err(fault) = self.endpoints[endpoint].check(&run) {
            self.fault.get_or_insert(fault);
        }
        let rows = self.rows_of(flow as usize);
        self.finished.keep(flow as usize, rows);
        self.endpoints[endpoint] = Ends::Gone(Gone);
        let state = &mut self.flows[flow as usize];
        state.ending = false;
        state.reorder = Default::default();
        state.arrived = None;
    }

    /// Samples the windows of all flows that are active.
    pub(crate) fn sample_windows(&mut self) {
        let mut at = 0;
        while let Some(&flow) = self.active.get(at) {
            let state = &self.flows[flow as usize];
            // A flow's means end at its stop: the send buffer may hold data beyond it.
            let goes_on = state.stop.is_none_or(|stop| self.now <= stop)
                && self.endpoints[state.endpoint as usize].sample_window(state.lane);
            if goes_on {
                at += 1;
            } else {
                self.stop_sampling(flow);
            }
        }
    }

    fn stop_sampling(&mut self, flow: u32) {
        let at = std::mem::replace(&mut self.flows[flow as usize].sampled, NOT_SAMPLED);
        if at != NOT_SAMPLED {
            self.active.swap_remove(at as usize);
            if let Some(&moved) = self.active.get(at as usize) {
                self.flows[moved as usize].sampled = at;
            }
        }
    }

    /// Rows of all flows that are not over yet.
    pub(crate) fn keep_rows(&mut self) {
        for flow in 0..self.flows.len() {
            if !matches!(self.endpoints[self.flows[flow].endpoint as usize], Ends::Gone(_)) {
                let rows = self.rows_of(flow);
                self.finished.keep(flow, rows);
            }
        }
    }
}
