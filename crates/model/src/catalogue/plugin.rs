//! Congestion controls from outside of the program. A scenario tells all that a run needs to know of one:
//! its content by SHA-256, and the facts of an [`Entry`]. So a run's identity covers it.

use super::congestion_control::{Entry, PLAIN};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// Longest name, bytes.
pub const LONGEST_NAME: usize = 40;

/// What a scenario says of a plug-in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Facts {
    /// Name in the experiment file and in results.
    pub name: String,
    /// SHA-256 of its file, in hexadecimal digits.
    pub sha256: String,
    /// Parameters that the experiment file gives it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parameters: Vec<(String, f64)>,
    /// See [`Entry::needs_ecn`].
    #[serde(default, skip_serializing_if = "is_false")]
    pub needs_ecn: bool,
    /// See [`Entry::l4s`].
    #[serde(default, skip_serializing_if = "is_false")]
    pub l4s: bool,
    /// See [`Entry::paced_by_fq`].
    #[serde(default, skip_serializing_if = "is_false")]
    pub paced_by_fq: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the form that serde asks for")]
const fn is_false(flag: &bool) -> bool {
    !*flag
}

/// A plug-in that the program has heard of.
#[derive(Debug)]
pub struct Known {
    /// What a scenario says of it.
    pub facts: Facts,
    /// The same in the form of built-in algorithms.
    pub entry: Entry,
}

/// Reference to a plug-in. Equal facts give the same reference, so it is small and can be compared.
#[derive(Clone, Copy, Debug)]
pub struct Plugin(&'static Known);

/// All plug-ins that were named in this process, by their facts as text. They are kept: flows of all
/// runs refer to them.
static KNOWN: Mutex<BTreeMap<String, &'static Known>> = Mutex::new(BTreeMap::new());

impl Plugin {
    /// The plug-in with these facts.
    pub fn new(facts: Facts) -> Self {
        let mut all = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        let key = format!("{facts:?}");
        if let Some(known) = all.get(&key) {
            return Self(known);
        }
        let name: &'static str = Box::leak(facts.name.clone().into_boxed_str());
        let Facts { needs_ecn, l4s, paced_by_fq, .. } = facts;
        let about = "From a plug-in.";
        let entry = Entry { name, title: name, about, needs_ecn, l4s, paced_by_fq, ..PLAIN };
        let known: &'static Known = Box::leak(Box::new(Known { facts, entry }));
        all.insert(key, known);
        Self(known)
    }

    /// What is known of it.
    pub fn known(self) -> &'static Known {
        self.0
    }
}

impl PartialEq for Plugin {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self.0, other.0)
    }
}

impl Eq for Plugin {}

#[cfg(test)]
mod tests {
    use crate::catalogue::congestion_control::Algorithm;

    #[test]
    fn equal_facts_are_one_plugin_and_written_as_they_are() {
        let text = r#"{"plugin":{"name":"mine","sha256":"ab","parameters":[["beta",0.7]],"needs_ecn":true}}"#;
        let read = |text: &str| serde_json::from_str::<Algorithm>(text).ok();
        let (one, two) = (read(text), read(text));
        assert!(one.is_some() && one == two);
        assert_ne!(one, read(&text.replace("0.7", "0.8")));
        let written = one.map(|one| serde_json::to_string(&one).unwrap_or_default());
        assert_eq!(written.as_deref(), Some(text));
        let entry = one.map(Algorithm::entry);
        assert!(entry.is_some_and(|entry| entry.name == "mine" && entry.needs_ecn));
        assert_eq!(read(&text.replace("sha256", "md5")), None);
    }
}
