//! The interrupt of a host's soft timers.

use super::World;
use crate::endpoint::{Endpoint, Timer};
use crate::flow::FLOW_TIMERS;

impl World<'_> {
    /// Runs the soft timers of a host (`hrtimer_run_softirq`).
    pub(crate) fn run_soft_timers(&mut self, host: usize) {
        while let Some(timer) = self.soft_timers.take_due(host, self.now) {
            let number = timer as usize - self.flow_base;
            let (flow, kind) = (&self.flows[number / FLOW_TIMERS], number % FLOW_TIMERS);
            let (endpoint, timer) = (flow.endpoint as usize, Timer::Soft { lane: flow.lane, kind });
            if flow.ending {
                self.closing.push((number / FLOW_TIMERS) as u32);
            }
            self.endpoints[endpoint].on_timer(self.now, timer);
            self.settle(endpoint);
        }
        self.soft_timers.program(&mut self.events, host);
    }
}
