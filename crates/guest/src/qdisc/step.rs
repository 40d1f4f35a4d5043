//! What `tc` does at an interface during the run: changes of values, outages of a link.

use crate::discipline::Line;
use dumbbell_model::scenario::LinkState;
use dumbbell_model::Span;

/// Discipline of a link that is down: it drops every packet, and counts.
const DOWN: &str = "root handle 7fff: netem limit 1 loss random 100%";
/// Major number of its handle.
pub(crate) const DOWN_HANDLE: u32 = 0x7fff;

/// Steps by time.
pub(crate) type Changes = Vec<(Span, Step)>;

/// A step of `tc` at a device during the run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Arguments of `tc qdisc change` after the device.
    Change(String),
    /// Arguments of `tc class change` after the device.
    Class(String),
    /// The link goes down. Its disciplines are removed, with their packets: as an interface that loses
    /// its carrier frees them (`dev_deactivate`), which a veth pair has in both directions only.
    Down,
    /// The link comes up: its disciplines as at the beginning, with the values of now.
    Up(Vec<Line>),
    /// The disciplines of the interface begin anew, without the packets that they had.
    Anew(Vec<Line>),
}

impl Step {
    /// Lines of `tc -batch`.
    pub(crate) fn lines(&self, device: &str) -> Vec<String> {
        match self {
            Self::Change(line) => vec![format!("qdisc change dev {device} {line}")],
            Self::Class(line) => vec![format!("class change dev {device} {line}")],
            Self::Down => vec![format!("qdisc replace dev {device} {DOWN}")],
            Self::Up(lines) | Self::Anew(lines) => {
                std::iter::once(format!("qdisc del dev {device} root"))
                    .chain(lines.iter().map(|line| line.add(device)))
                    .collect()
            }
        }
    }

    /// State of the link from now on; `None`: it stays.
    pub(crate) fn state(&self) -> Option<LinkState> {
        match self {
            Self::Change(_) | Self::Class(_) | Self::Anew(_) => None,
            Self::Down => Some(LinkState::Down),
            Self::Up(_) => Some(LinkState::Up),
        }
    }
}
