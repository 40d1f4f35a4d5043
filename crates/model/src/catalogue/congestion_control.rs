//! Congestion controls. To add one, write an entry here and a file of its module's name in `crates/cc`
//! with a function `new`.

use super::plugin::{Facts, Plugin};
use super::InLinux;
use serde::de::Error;
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;

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
                about: "Grows by a packet per RTT, halves its window at a loss.",
            };
            Bic bic {
                title: "BIC",
                linux: Some(InLinux { name: "bic", option: "TCP_CONG_BIC", since: "2.6.8" }),
                source: "Xu, Harfoush, Rhee 2004; Linux's tcp_bic.c",
                about: "Approaches the window of the last loss by binary search, then probes beyond it.",
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
                about: "Paces at the measured bottleneck rate; probes for a higher rate and for the minimum RTT.",
            };
            Westwood westwood {
                title: "Westwood+",
                linux: Some(InLinux {
                    name: "westwood",
                    option: "TCP_CONG_WESTWOOD",
                    since: "2.6.13",
                }),
                source: "Mascolo et al. 2001, Grieco and Mascolo 2004; Linux's tcp_westwood.c",
                about: "Reno, but a loss sets the window to the measured rate times the minimum RTT.",
            };
            Scalable scalable {
                title: "Scalable",
                linux: Some(InLinux {
                    name: "scalable",
                    option: "TCP_CONG_SCALABLE",
                    since: "2.6.13",
                }),
                source: "Kelly 2003; Linux's tcp_scalable.c",
                about: "Grows by a fixed share of its window per RTT, falls by an eighth at a loss.",
            };
            Highspeed highspeed {
                title: "HighSpeed",
                linux: Some(InLinux {
                    name: "highspeed",
                    option: "TCP_CONG_HSTCP",
                    since: "2.6.13",
                }),
                source: "RFC 3649; Linux's tcp_highspeed.c",
                about: "The larger its window, the faster it grows and the less it falls at a loss.",
            };
            Vegas vegas {
                title: "Vegas",
                linux: Some(InLinux { name: "vegas", option: "TCP_CONG_VEGAS", since: "2.6.13" }),
                source: "Brakmo, O'Malley, Peterson 1994; Linux's tcp_vegas.c",
                about: "Keeps two to four packets queued; it estimates them from the RTT.",
            };
            Veno veno {
                title: "Veno",
                linux: Some(InLinux { name: "veno", option: "TCP_CONG_VENO", since: "2.6.18" }),
                source: "Fu and Liew 2003; Linux's tcp_veno.c",
                about: "Reno, but a loss while the queue is short counts as random: the window falls by a fifth.",
            };
            Htcp htcp {
                title: "H-TCP",
                linux: Some(InLinux { name: "htcp", option: "TCP_CONG_HTCP", since: "2.6.13" }),
                source: "Leith and Shorten 2004; Linux's tcp_htcp.c",
                about: "Grows faster the longer ago the last loss was; a loss takes the share of the RTT that is queueing delay.",
            };
            Illinois illinois {
                title: "Illinois",
                linux: Some(InLinux {
                    name: "illinois",
                    option: "TCP_CONG_ILLINOIS",
                    since: "2.6.22",
                }),
                source: "Liu, Başar, Srikant 2006; Linux's tcp_illinois.c",
                about: "The longer packets wait in the queue, the slower it grows and the further it falls at a loss.",
            };
            Yeah yeah {
                title: "YeAH",
                linux: Some(InLinux { name: "yeah", option: "TCP_CONG_YEAH", since: "2.6.22" }),
                source: "Baiocchi, Castellani, Vacirca 2007; Linux's tcp_yeah.c",
                about: "Scalable while few packets are queued, otherwise Reno; lowers its window to empty the queue.",
            };
            Hybla hybla {
                title: "Hybla",
                linux: Some(InLinux { name: "hybla", option: "TCP_CONG_HYBLA", since: "2.6.13" }),
                source: "Caini and Firrincieli 2004; Linux's tcp_hybla.c",
                about: "Grows over a path with a long RTT as fast as Reno does with an RTT of 25 ms.",
            };
            Dctcp dctcp {
                title: "DCTCP",
                linux: Some(InLinux { name: "dctcp", option: "TCP_CONG_DCTCP", since: "3.18" }),
                needs_ecn: true,
                source: "RFC 8257; Linux's tcp_dctcp.c",
                about: "The window falls by half the share of marked packets. Needs DCTCP and ECN at both ends.",
            };
            Bbr3 bbr3 {
                title: "BBR v3",
                linux: Some(InLinux { name: "bbr", option: "TCP_CONG_BBR", since: "" }),
                paced_by_fq: true,
                source: "draft-ietf-ccwg-bbr; google/bbr's v3",
                about: "BBR with bounds on rate and window that losses set, so that it shares with other flows.",
            };
            Prague prague {
                title: "Prague",
                linux: Some(InLinux { name: "prague", option: "TCP_CONG_PRAGUE", since: "" }),
                needs_ecn: true,
                l4s: true,
                source: "draft-briscoe-iccrg-prague-congestion-control, RFC 9331; L4STeam/linux's tcp_prague.c",
                about: "DCTCP for the Internet: sends ECT(1), uses Accurate ECN, and grows as on a path of 25 ms.",
            };
            Nv nv {
                title: "NV",
                linux: Some(InLinux { name: "nv", option: "TCP_CONG_NV", since: "4.8" }),
                source: "Brakmo 2010; Linux's tcp_nv.c",
                about: "Vegas by rates: keeps ten packets queued. For data centres in which all flows use it.",
            };
            Cdg cdg {
                title: "CDG",
                linux: Some(InLinux { name: "cdg", option: "TCP_CONG_CDG", since: "4.2" }),
                source: "Hayes and Armitage 2011; Linux's tcp_cdg.c",
                about: "Reno that also backs off at random, the more often the faster the RTT grows.",
            };
            Lp lp {
                title: "LP",
                linux: Some(InLinux { name: "lp", option: "TCP_CONG_LP", since: "2.6.18" }),
                source: "Kuzmanovic and Knightly 2003; Linux's tcp_lp.c",
                about: "Reno for background traffic: yields to other flows as soon as one-way delays show a queue.",
            };
            LedbatPlusPlus ledbat_plus_plus {
                name: "ledbat++",
                title: "LEDBAT++",
                source: "draft-irtf-iccrg-ledbat-plus-plus-01, RFC 6817",
                about: "For background traffic: keeps a queue of at most 60 ms, and pauses to measure the base delay.",
            };
            Copa copa {
                title: "Copa",
                source: "Arun and Balakrishnan 2018",
                about: "Keeps two packets queued; competes as NewReno while other flows fill the queue.",
            };
            Lia lia {
                title: "LIA",
                coupled: true,
                source: "RFC 6356",
                about: "Linked increases: all subflows together grow as one TCP flow on the best path.",
            };
            Olia olia {
                title: "OLIA",
                coupled: true,
                source: "Khalili et al. 2013",
                about: "Opportunistic linked increases: moves traffic to the best paths.",
            };
            Balia balia {
                title: "BALIA",
                coupled: true,
                source: "Peng et al. 2016",
                about: "Balanced linked adaptation: a compromise between LIA and OLIA.",
            };
            Wvegas wvegas {
                title: "wVegas",
                coupled: true,
                source: "Cao, Xu, Fu 2012",
                about: "Weighted Vegas: equalises congestion on all paths, measured by delay.",
            };
        }
    };
}

/// Description of a congestion control.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Entry {
    /// Name in experiment files and in results; that of the module unless the entry says otherwise.
    pub name: &'static str,
    /// Name on pages.
    pub title: &'static str,
    /// Name and release in Linux; `None`: no kernel has it.
    pub linux: Option<InLinux>,
    /// Couples all subflows of a Multipath TCP connection. A TCP connection cannot use it.
    pub coupled: bool,
    /// The fq qdisc of the sending host paces it by default.
    pub paced_by_fq: bool,
    /// Negotiates ECN whatever the host's options say, and both ends use it
    /// (`TCP_CONG_NEEDS_ECN`).
    pub needs_ecn: bool,
    /// Sends ECT(1), and takes no other ECN than Accurate ECN (RFC 9331 §4).
    pub l4s: bool,
    /// RFC, paper, or file of the Linux kernel.
    pub source: &'static str,
    /// Description in one sentence.
    pub about: &'static str,
}

/// Defaults of an entry.
pub(super) const PLAIN: Entry = Entry {
    name: "",
    title: "",
    linux: None,
    coupled: false,
    paced_by_fq: false,
    needs_ecn: false,
    l4s: false,
    source: "",
    about: "",
};

/// Gives an entry without a name that of its module.
const fn named(module: &'static str, entry: Entry) -> Entry {
    if entry.name.is_empty() {
        Entry { name: module, ..entry }
    } else {
        entry
    }
}

macro_rules! define {
    ($($variant:ident $module:ident { $($field:ident: $value:expr,)+ };)+) => {
        /// A congestion control.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Algorithm {
            $(
                #[doc = concat!("`", stringify!($module), "`; see [`Entry`].")]
                $variant,
            )+
            /// An algorithm from outside of the program.
            Plugin(Plugin),
        }

        /// All congestion controls of the program.
        pub const ENTRIES: &[Entry] =
            &[$(named(stringify!($module), Entry { $($field: $value,)+ ..PLAIN }),)+];

        impl Algorithm {
            /// All congestion controls of the program, in the order of [`ENTRIES`].
            pub const ALL: &'static [Self] = &[$(Self::$variant,)+];

            /// Returns its entry.
            pub fn entry(self) -> &'static Entry {
                match self {
                    $(Self::$variant => &ENTRIES[Built::$variant as usize],)+
                    Self::Plugin(plugin) => &plugin.known().entry,
                }
            }
        }

        /// Positions in [`ENTRIES`].
        enum Built {
            $($variant,)+
        }
    };
}
for_congestion_controls!(define);

impl Algorithm {
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

impl Serialize for Algorithm {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Plugin(plugin) => {
                let mut map = to.serialize_map(Some(1))?;
                map.serialize_entry("plugin", &plugin.known().facts)?;
                map.end()
            }
            _ => to.serialize_str(self.entry().name),
        }
    }
}

impl<'de> Deserialize<'de> for Algorithm {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Written<'a> {
            Name(Cow<'a, str>),
            Outside { plugin: Facts },
        }
        match Written::deserialize(from)? {
            Written::Name(name) => {
                let found = ENTRIES.iter().position(|entry| entry.name == name);
                found.map(|index| Self::ALL[index]).ok_or_else(|| {
                    D::Error::custom(format_args!("no congestion control is called {name}"))
                })
            }
            Written::Outside { plugin } => Ok(Self::Plugin(Plugin::new(plugin))),
        }
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
            assert_eq!(serde_json::from_str::<Algorithm>(&written).ok(), Some(algorithm));
            assert_eq!(algorithm.entry(), entry);
            assert!(!entry.title.is_empty() && entry.about.ends_with('.'), "{}", entry.name);
            assert!(!entry.coupled || entry.linux.is_none(), "{}: Linux couples none", entry.name);
        }
    }
}
