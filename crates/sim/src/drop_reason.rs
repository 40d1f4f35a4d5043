//! Why a packet was dropped.

/// Why a packet was dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum DropReason {
    Overflow,
    Random,
    Scripted,
    Policed,
    Corrupted,
    /// By the queue discipline, to tell of congestion.
    Aqm,
    /// An ACK, by the queue discipline: a later packet acknowledges at least as much.
    Filtered,
    /// The link was down, or went down while the packet was inside.
    LinkDown,
}

impl DropReason {
    pub(crate) const ALL: [Self; 8] = [
        Self::Overflow,
        Self::Random,
        Self::Scripted,
        Self::Policed,
        Self::Corrupted,
        Self::Aqm,
        Self::Filtered,
        Self::LinkDown,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Overflow => "overflow",
            Self::Random => "random",
            Self::Scripted => "scripted",
            Self::Policed => "policed",
            Self::Corrupted => "corrupted",
            Self::Aqm => "aqm",
            Self::Filtered => "filtered",
            Self::LinkDown => "link_down",
        }
    }
}
