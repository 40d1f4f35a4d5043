//! Counters of the kernel that are read while a run goes on.

use crate::netlink::Netlink;
use crate::plan::Plan;
use crate::realise::Namespaces;
use crate::scripted;
use crate::sys::{bpf_count, interface_index};
use std::collections::BTreeMap;
use std::io::Result;
use std::os::fd::{AsFd, OwnedFd};

/// What is watched of each pipe: its namespace's counters, and which interface.
pub(crate) struct Watch {
    pub(crate) netlinks: BTreeMap<usize, Netlink>,
    /// Interface index of each pipe.
    pub(crate) interfaces: Vec<i32>,
    /// For each scripted loss of the plan, what counts the segments it looks at.
    scripted: Vec<OwnedFd>,
}

impl Watch {
    /// Opens what is watched.
    pub(crate) fn open(plan: &Plan, namespaces: &Namespaces) -> Result<Self> {
        let mut netlinks = BTreeMap::new();
        let mut interfaces = Vec::with_capacity(plan.places.len());
        for place in &plan.places {
            namespaces.enter(place.namespace)?;
            interfaces.push(interface_index(&place.device)?);
            if let std::collections::btree_map::Entry::Vacant(free) =
                netlinks.entry(place.namespace)
            {
                free.insert(Netlink::open()?);
            }
        }
        namespaces.leave()?;
        let scripted =
            namespaces.scripted().iter().map(OwnedFd::try_clone).collect::<Result<_>>()?;
        Ok(Self { netlinks, interfaces, scripted })
    }

    /// What scripts have dropped at a pipe.
    pub(crate) fn scripted_drops(&self, plan: &Plan, pipe: usize) -> Result<u64> {
        let place = &plan.places[pipe];
        let mut dropped = 0;
        for (of, counter) in plan.scripted.iter().zip(&self.scripted) {
            if (of.namespace, &of.device) == (place.namespace, &place.device) {
                dropped += scripted::dropped(&of.nth, bpf_count(counter.as_fd())?);
            }
        }
        Ok(dropped)
    }
}
