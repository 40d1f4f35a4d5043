//! Congestion controls. To add one, write an entry here and a file of the same name in `crates/cc` with
//! a function `new`.

use super::InLinux;
use serde::{Deserialize, Serialize};

/// Calls a macro with `Variant module { entry };` for every congestion control. The order affects no
/// result.
#[macro_export]
macro_rules! for_congestion_controls {
    ($call:ident) => {
        $call! {
            Reno reno {
                title: "Reno",
                linux: Some(InLinux { name: "reno", option: "", since: "2.6.13" }),
                source: "RFC 5681; Linux's tcp_cong.c",
                about: "Grows by a packet per round trip, halves at a loss.",
            };
            Bic bic {
                title: "BIC",
                linux: Some(InLinux { name: "bic", option: "TCP_CONG_BIC", since: "2.6.8" }),
                source: "Xu, Harfoush, Rhee 2004; Linux's tcp_bic.c",
                about: "Searches the window of the last loss by bisection.",
            };
            Cubic cubic {
                title: "CUBIC",
                linux: Some(InLinux { name: "cubic", option: "TCP_CONG_CUBIC", since: "2.6.13" }),
                source: "RFC 9438; Linux's tcp_cubic.c",
                about: "Grows as a cubic function of the time since the last loss. Linux's default.",
            };
            Bbr bbr {
                title: "BBR",
                linux: Some(InLinux { name: "bbr", option: "TCP_CONG_BBR", since: "4.9" }),
                paced_by_fq: true,
                source: "BBR v1: Cardwell et al. 2016; Linux's tcp_bbr.c",
                about: "Paces at the measured bottleneck rate, probes for rate and round-trip time.",
            };
            Westwood westwood {
                title: "Westwood+",
                linux: Some(InLinux {
                    name: "westwood",
                    option: "TCP_CONG_WESTWOOD",
                    since: "2.6.13",
                }),
                source: "Mascolo et al. 2001, Grieco and Mascolo 2004; Linux's tcp_westwood.c",
                about: "Reno that falls, at a loss, to the measured rate times the least RTT.",
            };
            Lia lia {
                title: "LIA",
                coupled: true,
                source: "RFC 6356",
                about: "Linked increases: all subflows together grow as one TCP on the best path.",
            };
            Olia olia {
                title: "OLIA",
                coupled: true,
                source: "Khalili et al. 2013",
                about: "Opportunistic linked increases: moves to the best paths.",
            };
            Balia balia {
                title: "BALIA",
                coupled: true,
                source: "Peng et al. 2016",
                about: "Balanced linked adaptation, between LIA and OLIA.",
            };
            Wvegas wvegas {
                title: "wVegas",
                coupled: true,
                source: "Cao, Xu, Fu 2012",
                about: "Weighted Vegas: equal congestion on all paths, seen by delay.",
            };
        }
    };
}

/// Description of a congestion control.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Entry {
    /// Name in experiment files and in results.
    pub name: &'static str,
    /// Name on pages.
    pub title: &'static str,
    /// Name and release in Linux; `None`: no kernel has it.
    pub linux: Option<InLinux>,
    /// Couples all subflows of a Multipath TCP connection. A TCP connection cannot use it.
    pub coupled: bool,
    /// The fq qdisc of the sending host paces it by default.
    pub paced_by_fq: bool,
    /// RFC, paper, or file of the Linux kernel.
    pub source: &'static str,
    /// Description in one sentence.
    pub about: &'static str,
}

/// Defaults of an entry.
const PLAIN: Entry = Entry {
    name: "",
    title: "",
    linux: None,
    coupled: false,
    paced_by_fq: false,
    source: "",
    about: "",
};

macro_rules! define {
    ($($variant:ident $module:ident { $($field:ident: $value:expr,)+ };)+) => {
        /// A congestion control.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum Algorithm {
            $(
                #[doc = concat!("`", stringify!($module), "`; see [`Entry`].")]
                $variant,
            )+
        }

        /// All congestion controls.
        pub const ENTRIES: &[Entry] =
            &[$(Entry { name: stringify!($module), $($field: $value,)+ ..PLAIN },)+];

        impl Algorithm {
            /// All congestion controls, in the order of [`ENTRIES`].
            pub const ALL: &'static [Self] = &[$(Self::$variant,)+];
        }
    };
}
for_congestion_controls!(define);

impl Algorithm {
    /// Returns its entry.
    pub fn entry(self) -> &'static Entry {
        &ENTRIES[self as usize]
    }

    /// Name in Linux; its own name if no kernel has it.
    pub fn linux_name(self) -> &'static str {
        let entry = self.entry();
        entry.linux.map_or(entry.name, |linux| linux.name)
    }

    /// Returns true if it couples all subflows of a connection.
    pub fn is_coupled(self) -> bool {
        self.entry().coupled
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_in_files_are_the_entries() {
        for (&algorithm, entry) in Algorithm::ALL.iter().zip(ENTRIES) {
            let written = serde_json::to_string(&algorithm).unwrap_or_default();
            assert_eq!(written, format!("\"{}\"", entry.name));
            assert_eq!(algorithm.entry(), entry);
            assert!(!entry.title.is_empty() && entry.about.ends_with('.'), "{}", entry.name);
            assert!(!entry.coupled || entry.linux.is_none(), "{}: Linux couples none", entry.name);
        }
    }
}
