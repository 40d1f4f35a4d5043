//! Plans and results as JSON, for the programs around an engine.

use crate::script::ScriptOption;
use crate::settings::{version_named, Version};
use crate::{Failure, Played, Script, Settings, Wrong};
use serde_json::{json, Value};

/// A script that is to be played: from JSON with its text `script`, the `folder` of its file, `define`
/// and `options` as lists of pairs, and `ip_version`.
pub struct Plan {
    /// The script and its settings; or what is wrong in it.
    pub script: Result<(Script, Settings), Wrong>,
    /// Folder of its file.
    pub folder: String,
}

impl Plan {
    /// Reads a plan.
    ///
    /// # Errors
    /// It is no JSON.
    pub fn read(text: &str) -> Result<Self, serde_json::Error> {
        let plan: Value = serde_json::from_str(text)?;
        let word = |name: &str| plan[name].as_str().unwrap_or_default();
        let pairs = |name: &str| {
            let all = plan[name].as_array().map_or(&[][..], Vec::as_slice);
            all.iter().filter_map(pair).collect::<Vec<_>>()
        };
        let version = version_named(word("ip_version")).unwrap_or(Version::V4);
        let script = settled(word("script"), &pairs("define"), version, pairs("options"));
        Ok(Self { script, folder: word("folder").to_owned() })
    }
}

fn pair(value: &Value) -> Option<(String, String)> {
    Some((value[0].as_str()?.to_owned(), value[1].as_str()?.to_owned()))
}

/// The script and its settings: those of the version of IP, then the script's, then the plan's.
fn settled(
    text: &str,
    defined: &[(String, String)],
    version: Version,
    given: Vec<(String, String)>,
) -> Result<(Script, Settings), Wrong> {
    let script = Script::parse(text, defined, version)?;
    let mut settings = Settings::of(script.version);
    settings.apply(&script.options)?;
    let option = |(name, value)| ScriptOption { line: 0, name, value: Some(value) };
    settings.apply(&given.into_iter().map(option).collect::<Vec<_>>())?;
    Ok((script, settings))
}

impl From<Wrong> for Played {
    fn from(wrong: Wrong) -> Self {
        let failure = Failure { line: wrong.line, message: wrong.message, packets: None };
        Self { failure: Some(failure), ..Self::default() }
    }
}

impl Played {
    /// The result as JSON: `failure` with `line`, `message`, `expected` and `sent`; `seen` as lists of
    /// line, expected time and time in µs; `code` with `line`, `text` and `values`.
    pub fn to_json(&self) -> Value {
        let failure = self.failure.as_ref().map(|failure| {
            json!({
                "line": failure.line,
                "message": failure.message,
                "expected": failure.packets.as_ref().map(|packets| &packets.0),
                "sent": failure.packets.as_ref().map(|packets| &packets.1),
            })
        });
        let seen = self.seen.iter().map(|one| json!([one.line, one.expected_us, one.at_us]));
        let code = self
            .code
            .iter()
            .map(|one| json!({"line": one.line, "text": one.text, "values": one.values}));
        json!({
            "failure": failure,
            "seen": seen.collect::<Vec<_>>(),
            "code": code.collect::<Vec<_>>(),
        })
    }
}
