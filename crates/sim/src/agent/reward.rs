//! Rewards of a step, by name.

use super::observation::{Observation, Step};

macro_rules! rewards {
    ($($variant:ident $name:literal $formula:literal $source:literal;)+) => {
        /// A reward.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Reward {
            $(#[doc = $formula] $variant,)+
        }

        impl Reward {
            /// All.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)+];

            /// Name in programs.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)+ }
            }

            /// Formula in the names of observations.
            pub const fn formula(self) -> &'static str {
                match self { $(Self::$variant => $formula,)+ }
            }

            /// Paper or program.
            pub const fn source(self) -> &'static str {
                match self { $(Self::$variant => $source,)+ }
            }
        }
    };
}

rewards! {
    Power "power"
        "throughput / rtt, throughput in Mbit/s, rtt in ms"
        "Kleinrock 1979, *Power and deterministic rules of thumb for probabilistic problems in computer communications*";
    ThroughputDelay "throughput_delay"
        "ln(throughput) − ln(rtt), throughput in Mbit/s (at least 0.001), rtt in ms: the logarithm of power"
        "Winstein and Balakrishnan 2013, *TCP ex Machina*, §3.3 with α = β = δ = 1";
    Aurora "aurora"
        "10 × throughput − 1000 × rtt − 2000 × loss_rate, throughput in packets/s, rtt in s"
        "Jay, Rotman, Godfrey, Schapira and Tamar 2019, *A deep reinforcement learning perspective on Internet congestion control*, §4.2";
    Orca "orca"
        "(throughput − 5 × lost throughput) / max_throughput × min(1, 1.25 × min_rtt / srtt)"
        "Abbasloo, Yen and Chao 2020, *Classic meets modern*, §4.2, with the constants of its program (Soheil-ab/Orca, envwrapper.py)";
    Throughput "throughput"
        "throughput, Mbit/s"
        "none";
}

impl Reward {
    /// Reward of a step.
    pub fn of(self, step: &Step) -> f64 {
        let get = |which| step.get(which);
        let (throughput, most) = (get(Observation::Throughput), get(Observation::MaxThroughput));
        let (rtt_ms, min_rtt_ms) = (get(Observation::Rtt), get(Observation::MinRtt));
        let over = |part: f64, all: f64| if all > 0.0 { part / all } else { 0.0 };
        let loss = get(Observation::LossRate);
        match self {
            Self::Power => over(throughput, rtt_ms),
            Self::ThroughputDelay => libm::log(throughput.max(1e-3)) - libm::log(rtt_ms.max(1e-3)),
            Self::Aurora => 10.0 * step.packets_per_s - rtt_ms - 2000.0 * loss,
            Self::Orca => {
                // loss = lost / (lost + delivered), so lost / delivered = loss / (1 − loss).
                let lost = if loss < 1.0 { throughput * loss / (1.0 - loss) } else { most };
                let delay = over(1.25 * min_rtt_ms, get(Observation::Srtt)).min(1.0);
                over(throughput - 5.0 * lost, most) * delay
            }
            Self::Throughput => throughput,
        }
    }
}
