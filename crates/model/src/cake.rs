//! Choices of CAKE's parameters, by their words in `tc`.

use crate::catalogue::parameter::Value;
use serde::{Deserialize, Serialize};

macro_rules! choices {
    ($(#[$about:meta])* $name:ident { $($(#[$doc:meta])* $variant:ident $word:literal,)+ }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
        pub enum $name {
            $($(#[$doc])* #[serde(rename = $word)] $variant,)+
        }

        impl $name {
            /// Words in `tc`; the first is the default.
            pub const WORDS: &'static [&'static str] = &[$($word),+];

            /// Word in `tc`.
            pub fn word(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)+
                }
            }
        }

        impl From<$name> for Value {
            fn from(choice: $name) -> Self {
                Self::Name(choice.word())
            }
        }
    };
}

choices! {
    /// Priority tins, by codepoint.
    Diffserv {
        /// Bulk, best effort, voice.
        Three "diffserv3",
        /// Bulk, best effort, video, voice.
        Four "diffserv4",
        /// Eight classes of RFC 4594.
        Eight "diffserv8",
        /// The three bits of the precedence (RFC 791 §3.1).
        Precedence "precedence",
        /// One tin.
        BestEffort "besteffort",
    }
}

choices! {
    /// Units that share the rate equally.
    Isolation {
        /// Flows, and above them the hosts of both sides.
        Triple "triple-isolate",
        /// Flows, and above them source hosts.
        DualSource "dual-srchost",
        /// Flows, and above them destination hosts.
        DualDestination "dual-dsthost",
        /// Flows.
        Flows "flows",
        /// Pairs of hosts.
        Hosts "hosts",
        /// Source hosts.
        Source "srchost",
        /// Destination hosts.
        Destination "dsthost",
        /// One queue.
        Blind "flowblind",
    }
}

choices! {
    /// Removal of ACKs that a later one makes needless.
    AckFilter {
        /// None.
        Off "no-ack-filter",
        /// Two ACKs are kept.
        On "ack-filter",
        /// One ACK is kept.
        Aggressive "ack-filter-aggressive",
    }
}

choices! {
    /// Cells or code of the line, beyond `overhead` and `mpu`.
    Cells {
        /// None.
        None "noatm",
        /// ATM: cells of 53 bytes carry 48 (ITU-T I.361).
        Atm "atm",
        /// PTM: one byte more per 64 begun (IEEE 802.3 §61.3, 64/65-octet code).
        Ptm "ptm",
    }
}
