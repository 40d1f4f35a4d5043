//! What an agent observes: quantities over a step, from what the sender's ACKs tell.

use dumbbell_cc::{Conn, RateSample};

/// What a quantity measures. Decides its unit, its bounds, and its normalised form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Rate, Mbit/s. Normalised: share of the largest throughput of the episode.
    Rate,
    /// Time, ms. Normalised: multiple of the minimum RTT.
    Delay,
    /// Packets. Normalised: multiple of largest throughput × minimum RTT.
    Packets,
    /// Share of packets, 0 to 1.
    Share,
    /// Quotient.
    Ratio,
    /// Quotient of either sign.
    Signed,
}

impl Kind {
    /// Unit of the value as it is.
    pub const fn unit(self) -> &'static str {
        match self {
            Self::Rate => "Mbit/s",
            Self::Delay => "ms",
            Self::Packets => "packets",
            Self::Share | Self::Ratio | Self::Signed => "",
        }
    }

    /// Least and largest value; values beyond are clipped.
    pub const fn bounds(self, normalised: bool) -> (f64, f64) {
        match (self, normalised) {
            (Self::Share, _) => (0.0, 1.0),
            (Self::Ratio, _) => (0.0, 100.0),
            (Self::Signed, _) => (-100.0, 100.0),
            (_, true) => (0.0, 100.0),
            (_, false) => (0.0, 1e7),
        }
    }
}

macro_rules! observations {
    ($($variant:ident $name:literal $kind:ident $about:literal;)+) => {
        /// An observed quantity.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Observation {
            $(#[doc = $about] $variant,)+
        }

        impl Observation {
            /// All, in the order of [`Step::values`].
            pub const ALL: &'static [Self] = &[$(Self::$variant,)+];

            /// Name in programs.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)+ }
            }

            /// What it measures.
            pub const fn kind(self) -> Kind {
                match self { $(Self::$variant => Kind::$kind,)+ }
            }

            /// One sentence.
            pub const fn about(self) -> &'static str {
                match self { $(Self::$variant => $about,)+ }
            }
        }
    };
}

observations! {
    Throughput "throughput" Rate "Payload that ACKs and SACKs reported, over the length of the step.";
    Goodput "goodput" Rate "Payload acknowledged in order, over the length of the step.";
    SendingRate "sending_rate" Rate "Payload sent between the last ACKs of this step and the one before, retransmissions included, over the length of the step.";
    MaxThroughput "max_throughput" Rate "Largest throughput of a step of this episode.";
    Rtt "rtt" Delay "Mean of the step's RTT samples; that of an earlier step if no sample came.";
    Srtt "srtt" Delay "Smoothed RTT (RFC 6298).";
    MinRtt "min_rtt" Delay "Minimum RTT of the connection (Linux's `tcp_min_rtt`).";
    QueueDelay "queue_delay" Delay "RTT beyond the minimum RTT.";
    RttRatio "rtt_ratio" Ratio "RTT over minimum RTT: Aurora's latency ratio.";
    RttGradient "rtt_gradient" Signed "Change of the RTT from the step before, over the length of the step: Aurora's latency gradient.";
    SendRatio "send_ratio" Ratio "Packets sent over packets acknowledged: Aurora's sending ratio; packets sent if none was acknowledged.";
    LossRate "loss_rate" Share "Packets marked lost, of those acknowledged or marked lost.";
    MarkRate "mark_rate" Share "Packets reported as ECN-marked, of those acknowledged.";
    InFlight "in_flight" Packets "Packets in flight at the last ACK, before it let others leave.";
    Cwnd "cwnd" Packets "Congestion window.";
    PacingRate "pacing_rate" Rate "Pacing rate.";
    Acks "acks" Packets "ACKs that arrived.";
    Length "step_length" Delay "Virtual time from the step before.";
}

/// Number of observations.
pub const OBSERVATIONS: usize = Observation::ALL.len();

/// A step of an agent.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    /// By [`Observation`], each in its unit.
    pub values: [f64; OBSERVATIONS],
    /// Throughput in packets per second.
    pub packets_per_s: f64,
    /// Packets of the largest throughput in one minimum RTT.
    bdp: f64,
}

impl Step {
    /// A value in its unit.
    pub fn get(&self, which: Observation) -> f64 {
        self.values[which as usize]
    }

    /// A value as an agent sees it, within its bounds.
    pub fn seen(&self, which: Observation, normalised: bool) -> f64 {
        let value = self.get(which);
        let over = |unit: f64| if unit > 0.0 { value / unit } else { 0.0 };
        let value = match which.kind() {
            Kind::Rate if normalised => over(self.get(Observation::MaxThroughput)),
            Kind::Delay if normalised => over(self.get(Observation::MinRtt)),
            Kind::Packets if normalised => over(self.bdp),
            _ => value,
        };
        let (low, high) = which.kind().bounds(normalised);
        value.clamp(low, high)
    }
}

/// Counters of a connection.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
    pub(super) delivered: u64,
    pub(super) lost: u64,
    pub(super) in_flight: u32,
    pub(super) acked_bytes: u64,
    pub(super) marked: u64,
}

impl Counts {
    /// Packets sent: delivered, lost or in flight.
    fn sent(&self) -> u64 {
        self.delivered + self.lost + u64::from(self.in_flight)
    }
}

/// What ACKs have told, and where the last step ended.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct State {
    now: Counts,
    before: Counts,
    mss: u32,
    srtt_us8: u32,
    min_rtt_us: u32,
    acks: u64,
    rtt_sum_us: u64,
    rtt_samples: u64,
    rtt_ms: f64,
    /// End of the last step, ns.
    at_ns: u64,
    /// Largest throughput of a step, packets per second.
    max_packets_per_s: f64,
}

impl State {
    /// The connection is established.
    pub(super) fn begin(&mut self, conn: &Conn, counts: Counts) {
        (self.now, self.before, self.at_ns) = (counts, counts, conn.now_ns);
        self.read(conn);
        self.rtt_ms = f64::from(self.srtt_us8) / 8000.0;
    }

    fn read(&mut self, conn: &Conn) {
        (self.mss, self.srtt_us8) = (conn.mss, conn.srtt_us8);
        self.min_rtt_us = conn.min_rtt_us.min((conn.srtt_us8 / 8).max(1));
    }

    /// Adds an ACK.
    pub(super) fn acked(&mut self, conn: &Conn, counts: Counts, sample: &RateSample) {
        self.now = counts;
        self.read(conn);
        self.acks += 1;
        if sample.rtt_us >= 0 {
            self.rtt_sum_us += sample.rtt_us as u64;
            self.rtt_samples += 1;
        }
    }

    /// Ends the step at a virtual time.
    pub(super) fn step(&mut self, now_ns: u64, cwnd: u32, pacing_rate: u64) -> Step {
        let (now, before) = (self.now, self.before);
        let length_s = now_ns.saturating_sub(self.at_ns) as f64 / 1e9;
        let per_s = |count: f64| if length_s > 0.0 { count / length_s } else { 0.0 };
        let mbps = |packets: f64| packets * f64::from(self.mss) * 8.0 / 1e6;
        let delivered = (now.delivered - before.delivered) as f64;
        let lost = now.lost.saturating_sub(before.lost) as f64;
        let sent = now.sent().saturating_sub(before.sent()) as f64;
        let marked = (now.marked.saturating_sub(before.marked)) as f64;
        let bytes = now.acked_bytes.saturating_sub(before.acked_bytes) as f64;
        let packets_per_s = per_s(delivered);
        let max_packets_per_s = self.max_packets_per_s.max(packets_per_s);
        let rtt_ms = match self.rtt_samples {
            0 => self.rtt_ms,
            samples => self.rtt_sum_us as f64 / samples as f64 / 1000.0,
        };
        let min_rtt_ms = f64::from(self.min_rtt_us) / 1000.0;
        let share = |part: f64, all: f64| if all > 0.0 { part / all } else { 0.0 };
        let paced = if pacing_rate == u64::MAX { 0.0 } else { pacing_rate as f64 * 8.0 / 1e6 };
        let mut values = [0.0; OBSERVATIONS];
        for &which in Observation::ALL {
            values[which as usize] = match which {
                Observation::Throughput => mbps(packets_per_s),
                Observation::Goodput => per_s(bytes) * 8.0 / 1e6,
                Observation::SendingRate => mbps(per_s(sent)),
                Observation::MaxThroughput => mbps(max_packets_per_s),
                Observation::Rtt => rtt_ms,
                Observation::Srtt => f64::from(self.srtt_us8) / 8000.0,
                Observation::MinRtt => min_rtt_ms,
                Observation::QueueDelay => (rtt_ms - min_rtt_ms).max(0.0),
                Observation::RttRatio => share(rtt_ms, min_rtt_ms),
                Observation::RttGradient => per_s((rtt_ms - self.rtt_ms) / 1000.0),
                Observation::SendRatio => sent / delivered.max(1.0),
                Observation::LossRate => share(lost, lost + delivered),
                Observation::MarkRate => share(marked, delivered).min(1.0),
                Observation::InFlight => f64::from(now.in_flight),
                Observation::Cwnd => f64::from(cwnd),
                Observation::PacingRate => paced,
                Observation::Acks => self.acks as f64,
                Observation::Length => length_s * 1000.0,
            };
        }
        (self.before, self.at_ns, self.rtt_ms) = (now, now_ns, rtt_ms);
        (self.acks, self.rtt_sum_us, self.rtt_samples) = (0, 0, 0);
        self.max_packets_per_s = max_packets_per_s;
        Step { values, packets_per_s, bdp: max_packets_per_s * min_rtt_ms / 1000.0 }
    }
}
