//! What an agent sets.

/// Largest window, packets, and largest pacing rate, bit/s, that factors reach.
const MOST: (f64, f64) = (1e5, 1e11);

/// What an agent sets; `None`: it leaves it as it is.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Action {
    /// Congestion window, packets.
    pub cwnd: Option<f64>,
    /// Pacing rate, bit/s.
    pub pacing_bps: Option<f64>,
}

/// Which parts an agent sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sets {
    /// The congestion window.
    pub cwnd: bool,
    /// The pacing rate.
    pub pacing: bool,
}

/// An element of an action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    /// Congestion window.
    Cwnd,
    /// Multiple of the congestion window.
    CwndFactor,
    /// Pacing rate.
    PacingRate,
    /// Multiple of the pacing rate.
    PacingFactor,
}

impl Act {
    /// All.
    pub const ALL: &'static [Self] =
        &[Self::Cwnd, Self::CwndFactor, Self::PacingRate, Self::PacingFactor];

    /// Name in programs.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Cwnd => "cwnd",
            Self::CwndFactor => "cwnd_factor",
            Self::PacingRate => "pacing_rate",
            Self::PacingFactor => "pacing_factor",
        }
    }

    /// Unit; empty: none.
    pub const fn unit(self) -> &'static str {
        match self {
            Self::Cwnd => "packets",
            Self::PacingRate => "Mbit/s",
            Self::CwndFactor | Self::PacingFactor => "",
        }
    }

    /// Least and largest value.
    pub const fn bounds(self) -> (f64, f64) {
        match self {
            Self::Cwnd => (1.0, 1e5),
            Self::PacingRate => (0.01, 1e5),
            Self::CwndFactor | Self::PacingFactor => (0.1, 10.0),
        }
    }

    /// One sentence.
    pub const fn about(self) -> &'static str {
        match self {
            Self::Cwnd => "Congestion window.",
            Self::CwndFactor => "Multiple of the present congestion window.",
            Self::PacingRate => "Pacing rate.",
            Self::PacingFactor => "Multiple of the present pacing rate.",
        }
    }
}

/// Elements of an action.
#[derive(Clone, Debug, PartialEq)]
pub struct Actions {
    /// What each element sets.
    pub acts: Vec<Act>,
    /// Elements are −1 to 1, on a logarithmic scale between their bounds.
    pub scaled: bool,
}

impl Actions {
    /// Number of elements.
    pub fn width(&self) -> usize {
        self.acts.len()
    }

    /// What they set.
    pub fn sets(&self) -> Sets {
        let has = |which: [Act; 2]| self.acts.iter().any(|act| which.contains(act));
        Sets {
            cwnd: has([Act::Cwnd, Act::CwndFactor]),
            pacing: has([Act::PacingRate, Act::PacingFactor]),
        }
    }

    /// Least and largest value of an element, as an agent gives it.
    pub fn bounds(&self, element: usize) -> (f64, f64) {
        if self.scaled {
            (-1.0, 1.0)
        } else {
            self.acts[element].bounds()
        }
    }

    /// An element in its unit.
    ///
    /// # Errors
    /// It is out of bounds: its name, and what is wrong.
    pub fn in_unit(&self, element: usize, value: f64) -> Result<f64, (&'static str, String)> {
        let (act, (low, high)) = (self.acts[element], self.bounds(element));
        // As far as numbers of 32 bits may be from the bounds.
        let margin = |bound: f64| 1e-6 * bound.abs();
        if !(value >= low - margin(low) && value <= high + margin(high)) {
            let unit = if self.scaled { "" } else { act.unit() };
            let space = if unit.is_empty() { "" } else { " " };
            return Err((
                act.name(),
                format!("found {value}; allowed: {low} to {high}{space}{unit}"),
            ));
        }
        if !self.scaled {
            return Ok(value);
        }
        let (lowest, highest) = act.bounds();
        Ok(lowest * libm::pow(highest / lowest, f64::midpoint(value.clamp(-1.0, 1.0), 1.0)))
    }

    /// What elements in their units set for a flow that has this window in packets, and this pacing rate in
    /// bit/s.
    pub fn action(&self, held: (f64, f64), values: &[f64]) -> Action {
        let (cwnd, pacing_bps) = held;
        let mut action = Action::default();
        for (act, value) in self.acts.iter().zip(values) {
            match act {
                Act::Cwnd => action.cwnd = Some(*value),
                Act::CwndFactor => action.cwnd = Some((cwnd * value).clamp(1.0, MOST.0)),
                Act::PacingRate => action.pacing_bps = Some(value * 1e6),
                Act::PacingFactor => {
                    action.pacing_bps = Some((pacing_bps * value).clamp(1e4, MOST.1));
                }
            }
        }
        action
    }
}
