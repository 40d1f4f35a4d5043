//! Transport stacks of this build.

use dumbbell_plugins::Stacks;

/// All stacks, by the name in experiment files.
pub(crate) fn known() -> Stacks {
    Stacks::from([
        #[cfg(feature = "quinn")]
        ("quinn", std::sync::Arc::new(dumbbell_quinn::Quinn) as _),
        #[cfg(feature = "s2n")]
        ("s2n", std::sync::Arc::new(dumbbell_s2n::S2n) as _),
        #[cfg(feature = "smoltcp")]
        ("smoltcp", std::sync::Arc::new(dumbbell_smoltcp::Smoltcp) as _),
    ])
}
