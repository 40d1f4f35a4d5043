//! Counters of the kernel that are read during a run.

use crate::netlink::Netlink;
use crate::plan::Plan;
use crate::realise::Namespaces;
use crate::scripted;
use crate::sys::{bpf_count, interface_index};
use std::collections::BTreeMap;
use std::io::Result;
use std::os::fd::{AsFd, OwnedFd};

/// Sources of the counters of each pipe.
pub(crate) struct Watch {
    pub(crate) netlinks: BTreeMap<usize, Netlink>,
    /// Interface index of each pipe.
    pub(crate) interfaces: Vec<i32>,
    /// Interface index of the second part of each pipe that has one, in the namespace [`Self::wires`].
    pub(crate) behind: Vec<Option<i32>>,
    pub(crate) wires: usize,
    /// Segment counter of each scripted loss of the plan.
    scripted: Vec<OwnedFd>,
}

impl Watch {
    /// Opens the sources.
    pub(crate) fn open(plan: &Plan, namespaces: &Namespaces) -> Result<Self> {
        let mut netlinks = BTreeMap::new();
        let mut interfaces = Vec::with_capacity(plan.queues.len());
        for location in &plan.queues {
            namespaces.enter(location.namespace)?;
            interfaces.push(interface_index(&location.device)?);
            if let std::collections::btree_map::Entry::Vacant(free) =
                netlinks.entry(location.namespace)
            {
                free.insert(Netlink::open()?);
            }
        }
        // Always the last one.
        let wires = plan.namespaces.len().saturating_sub(1);
        let mut behind = Vec::with_capacity(plan.queues.len());
        for location in &plan.queues {
            let Some(device) = &location.behind else {
                behind.push(None);
                continue;
            };
            namespaces.enter(wires)?;
            behind.push(Some(interface_index(device)?));
            if let std::collections::btree_map::Entry::Vacant(free) = netlinks.entry(wires) {
                free.insert(Netlink::open()?);
            }
        }
        namespaces.leave()?;
        let scripted =
            namespaces.scripted().iter().map(OwnedFd::try_clone).collect::<Result<_>>()?;
        Ok(Self { netlinks, interfaces, behind, wires, scripted })
    }

    /// Reads the number of scripted drops at a pipe.
    pub(crate) fn scripted_drops(&self, plan: &Plan, pipe: usize) -> Result<u64> {
        let location = &plan.queues[pipe];
        let mut dropped = 0;
        for (of, counter) in plan.scripted.iter().zip(&self.scripted) {
            if (of.namespace, &of.device) == (location.namespace, &location.device) {
                dropped += scripted::dropped(&of.nth, bpf_count(counter.as_fd())?);
            }
        }
        Ok(dropped)
    }
}
