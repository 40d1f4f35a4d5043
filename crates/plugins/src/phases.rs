//! Names of phases that plug-ins give.

use std::sync::{Mutex, PoisonError};

/// Longest name, bytes.
const LONGEST: usize = 32;
/// Most names: they are kept until the end of the process.
const MOST: usize = 256;

static NAMES: Mutex<Vec<&'static str>> = Mutex::new(Vec::new());

/// The name as a text that stays. Empty if it is no text, `…` if there are too many names.
pub fn kept(name: &[u8]) -> &'static str {
    let Ok(name) = std::str::from_utf8(&name[..name.len().min(LONGEST)]) else { return "" };
    let mut all = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = all.iter().find(|known| **known == name) {
        return known;
    }
    if all.len() == MOST {
        return "…";
    }
    let leaked: &'static str = Box::leak(name.to_owned().into_boxed_str());
    all.push(leaked);
    leaked
}
