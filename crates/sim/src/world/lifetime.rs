//! Ends of flows. A flow of TCP is over when all its data and its FIN are acknowledged, or when it has
//! given up; when none of its packets is under way, and no timer is set. Then its endpoint is freed, and
//! only the rows of its totals are kept.

use crate::endpoint::{Endpoint, Ends, Gone};
use crate::flow::{FlowState, FLOW_TIMERS, NOT_SAMPLED};
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
            let state = &mut self.flows[flow as usize];
            (state.over, state.ending) = (true, !self.scenario.sampling.samples);
            self.closing.push(flow);
        }
    }

    /// Frees the endpoints of flows that are over now.
    pub(crate) fn close_flows(&mut self) {
        while let Some(flow) = self.closing.pop() {
            let state = &self.flows[flow as usize];
            let mut timers = (0..FLOW_TIMERS).map(|kind| self.flow_timer(flow, kind));
            let soft = |&host: &u32| self.soft_timers.waits(host, self.flow_timer(flow, 0));
            let waits = state.under_way > 0
                || timers.any(|timer| self.events.at(timer).is_some())
                || self.targets[flow as usize].iter().any(soft);
            if state.ending && !waits {
                self.close(flow);
            }
        }
    }

    fn close(&mut self, flow: u32) {
        self.stop_sampling(flow);
        let endpoint = self.flows[flow as usize].endpoint as usize;
        let run = self.state();
        if let Err(fault) = self.endpoints[endpoint].check(&run) {
            self.fault.get_or_insert(fault);
        }
        let rows = self.rows_of(flow as usize);
        self.endpoints[endpoint] = Ends::Gone(Gone);
        let state = &mut self.flows[flow as usize];
        self.finished.keep(state.number as usize, rows);
        self.arriving.release(state, flow);
        (state.ending, state.closed) = (false, true);
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
            let FlowState { number, closed, .. } = self.flows[flow];
            if !closed {
                let rows = self.rows_of(flow);
                self.finished.keep(number as usize, rows);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::endpoint::Ends;
    use crate::held::Held::Lent;
    use crate::lab::{delay, dumbbell, mbps, segments, serial, tcp, tcp_of, Silent};
    use dumbbell_cc::plugin::NoPlugins;
    use dumbbell_model::scenario::{Algorithm, Arrivals, Size};
    use dumbbell_model::{Scenario, Span};

    /// A flow of ten segments every 10 ms on average, alone on a link.
    fn scenario() -> Scenario {
        let forward = serial(mbps(100), Span::from_ms(1), 100);
        let mut scenario = dumbbell(Span::from_s(20), 1, forward, delay(Span::from_ms(1)));
        (scenario.sampling.samples, scenario.sampling.drops) = (false, false);
        scenario.taps.clear();
        let mut flow = tcp("web", 0, Algorithm::Cubic, segments(1));
        scenario.arrivals.push(Arrivals {
            name: "web".into(),
            group: String::new(),
            from: flow.from.clone(),
            to: flow.to.clone(),
            start: Span::ZERO,
            stop: Some(Span::from_s(18)),
            dscp: 0,
            per_second: 100.0,
            size: Size::Fixed { bytes: 14_480 },
            tcp: Box::new(tcp_of(&mut flow).clone()),
        });
        scenario
    }

    #[test]
    fn memory_follows_the_flows_at_one_time() {
        let scenario = scenario();
        let Ok(mut world) = crate::session::begin(Lent(&scenario), 1, Lent(&NoPlugins)) else {
            panic!("no world")
        };
        assert!(world.run(&Silent).is_ok() && world.check_conservation().is_ok());
        // A flow lasts some 10 ms; its last time-out (200 ms) keeps its place. Little's law: 20 places on
        // average of 1800 flows; Poisson, ten standard deviations.
        let places = world.flows.len();
        assert!((10..=65).contains(&places), "{places}");
        assert!(world.endpoints.iter().all(|ends| matches!(ends, Ends::Gone(_))));
        assert!(world.flows.iter().all(|flow| flow.closed && flow.under_way == 0));
        assert!(world.active.is_empty());
        let tables = world.tables();
        let [flows, transfers] = [0, 2].map(|table: usize| tables[table].rows());
        assert_eq!(flows, transfers);
        assert!((1545..=2055).contains(&flows), "{flows}"); // mean 1800, six standard deviations
    }
}
