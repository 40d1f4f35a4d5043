//! RTT at a capture point: from a data segment that passed once to the first cumulative ACK of its
//! last byte (`docs/metrics.md`), smoothed as in RFC 6298 §2.

/// RTT samples.
#[derive(Clone, Copy, Debug, Default)]
pub struct Rtt {
    /// Number of samples.
    pub samples: u64,
    /// Sum of the samples.
    pub sum_ns: i128,
    /// Minimum; 0 without samples.
    pub min_ns: i64,
    /// Maximum; 0 without samples.
    pub max_ns: i64,
    smoothed_ns: Option<i64>,
}

impl Rtt {
    pub(crate) fn add(&mut self, sample_ns: i64) {
        // Timestamps that go backwards measure nothing.
        if sample_ns < 0 {
            return;
        }
        if self.samples == 0 {
            (self.min_ns, self.max_ns) = (sample_ns, sample_ns);
        }
        self.samples += 1;
        self.sum_ns += i128::from(sample_ns);
        self.min_ns = self.min_ns.min(sample_ns);
        self.max_ns = self.max_ns.max(sample_ns);
    }

    /// Adds a sample of the path's RTT, without the receiver's waiting times.
    pub(crate) fn smooth(&mut self, sample_ns: i64) {
        let sample_ns = sample_ns.max(0);
        self.smoothed_ns = match self.smoothed_ns {
            None => Some(sample_ns),
            Some(smoothed_ns) => Some(smoothed_ns + (sample_ns - smoothed_ns) / 8),
        };
    }

    /// Mean in nanoseconds; `None` without samples.
    pub fn mean_ns(&self) -> Option<f64> {
        (self.samples > 0).then(|| self.sum_ns as f64 / self.samples as f64)
    }

    /// Smoothed RTT; `None` without samples.
    pub(crate) fn smoothed_ns(&self) -> Option<i64> {
        self.smoothed_ns
    }
}
