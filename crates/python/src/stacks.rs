//! Transport stacks of this build.

use dumbbell_plugins::Stacks;

/// All stacks, by the name in experiment files.
pub(crate) fn known() -> Stacks {
    let mut stacks = Stacks::new();
    #[cfg(feature = "quinn")]
    stacks.insert("quinn", std::sync::Arc::new(dumbbell_quinn::Quinn));
    stacks
}
