//! Linux's default scheduler (`mptcp_subflow_get_send` of 6.1): the subflow that will finish
//! sending its queued data first, for a burst of up to 64 KB. Since 6.6 a burst ends with the event
//! that began it.

use super::{Pick, Schedule, Stream, View};

/// MPTCP_SEND_BURST_SIZE: 64 KB less TCP header, options, IPv6 header and fragment header.
const BURST_BYTES: u64 = 65_536 - 20 - 40 - 40 - 8;

pub(super) struct Linux {
    /// True if a burst outlasts the event that began it (`msk->last_snd`).
    keeps_burst: bool,
    /// Subflow of the current burst, and the bytes left of it.
    last: Option<(usize, i64)>,
    /// Mean pacing rate of each subflow (`avg_pacing_rate`).
    rates: Vec<u64>,
}

impl Linux {
    pub(super) fn new(keeps_burst: bool) -> Self {
        Self { keeps_burst, last: None, rates: Vec::new() }
    }
}

impl Schedule for Linux {
    fn pick(&mut self, stream: &Stream, subflows: &[View]) -> Option<Pick> {
        let pick = |subflow| Pick { subflow, from: stream.next, most_bytes: u64::MAX };
        if let Some((last, burst)) = self.last.filter(|_| self.keeps_burst) {
            if burst > 0 && subflows[last].has_memory && subflows[last].active {
                return Some(pick(last));
            }
        }
        self.rates.resize(subflows.len(), 0);
        let mut best: [Option<(usize, u64)>; 2] = [None; 2];
        let mut regular = false;
        for (i, subflow) in subflows.iter().enumerate().filter(|(_, subflow)| subflow.active) {
            regular |= !subflow.backup;
            if self.rates[i] == 0 {
                self.rates[i] = subflow.pacing_rate;
            }
            let pace = u64::from(self.rates[i] as u32);
            if pace == 0 {
                continue;
            }
            let linger = (subflow.queued_bytes << 32) / pace;
            let slot = &mut best[usize::from(subflow.backup)];
            if slot.is_none_or(|(_, least)| linger < least) {
                *slot = Some((i, linger));
            }
        }
        // A backup only if there is no other subflow.
        let (chosen, _) = best[usize::from(!regular)]?;
        let subflow = &subflows[chosen];
        if !subflow.has_memory {
            return None;
        }
        let burst = BURST_BYTES.min(stream.window_end.saturating_sub(stream.next));
        if burst == 0 {
            self.last = None;
            return Some(pick(chosen));
        }
        let (queued, rate) = (subflow.queued_bytes, u128::from(subflow.pacing_rate));
        let sum = u128::from(self.rates[chosen]) * u128::from(queued) + rate * u128::from(burst);
        self.rates[chosen] = (sum / u128::from(burst + queued)) as u64;
        self.last = Some((chosen, burst as i64));
        Some(pick(chosen))
    }

    fn sent(&mut self, _pick: &Pick, bytes: u64) {
        if let Some((_, burst)) = &mut self.last {
            *burst -= bytes as i64;
        }
    }

    fn reset(&mut self) {
        self.last = None;
    }

    fn burst_lasts(&self) -> bool {
        self.last.is_some_and(|(_, burst)| burst > 0)
    }

    fn fills_buffers(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{path, stream};
    use super::*;

    #[test]
    fn it_fills_what_empties_first() {
        let mut paths = [path(10, 10, 0), path(10, 10, 0)];
        paths[0].queued_bytes = 40_000;
        paths[1].queued_bytes = 50_000;
        paths[1].pacing_rate = 2_000_000; // 25 ms against 40.
        let pick = Linux::new(true).pick(&stream(100), &paths);
        assert_eq!(pick.map(|pick| pick.subflow), Some(1));
        paths[1].pacing_rate = 1_000_000;
        let pick = Linux::new(true).pick(&stream(100), &paths);
        assert_eq!(pick.map(|pick| pick.subflow), Some(0));
    }

    #[test]
    fn a_burst_stays_where_it_began() {
        let mut scheduler = Linux::new(true);
        let mut paths = [path(10, 10, 0), path(10, 10, 0)];
        let mut order = Vec::new();
        for _ in 0..120 {
            let Some(pick) = scheduler.pick(&stream(200), &paths) else { break };
            scheduler.sent(&pick, 1000);
            paths[pick.subflow].queued_bytes += 1000;
            order.push(pick.subflow);
        }
        // 65 428 bytes: 66 packets start within the burst.
        assert_eq!(order.iter().take_while(|&&subflow| subflow == 0).count(), 66);
        assert_eq!(order[66..].iter().take_while(|&&subflow| subflow == 1).count(), 54);
    }

    #[test]
    fn without_last_snd_each_decision_is_a_new_one() {
        let mut scheduler = Linux::new(false);
        let mut paths = [path(10, 10, 0), path(10, 10, 0)];
        let pick = scheduler.pick(&stream(200), &paths);
        assert_eq!(pick.map(|pick| pick.subflow), Some(0));
        paths[0].queued_bytes = 1000;
        if let Some(pick) = pick {
            scheduler.sent(&pick, 1000);
        }
        assert!(scheduler.burst_lasts());
        assert_eq!(scheduler.pick(&stream(200), &paths).map(|pick| pick.subflow), Some(1));
    }

    #[test]
    fn no_memory_on_the_best_means_to_wait() {
        let mut paths = [path(10, 10, 0), path(10, 10, 0)];
        paths[0].has_memory = false;
        paths[1].queued_bytes = 1;
        assert_eq!(Linux::new(true).pick(&stream(9), &paths), None);
    }
}
