//! Programs of the user that run on hosts, on the kernel's engines.

use crate::scenario::{NodeKind, Scenario};
use crate::units::Span;
use crate::validate::{error, ScenarioError};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// Maximum number of programs of a scenario.
pub const PROGRAMS_MAX: usize = 1000;
/// Maximum length of a name, which is also the name of files.
const NAME_MAX: usize = 64;
/// Maximum size of arguments, environment and input of one program, in bytes.
const TEXT_MAX: usize = 1 << 20;

/// A program on a host. It sees the host's addresses and links, and virtual time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Program {
    /// Name: letters, digits, `-`, `_`, `.`.
    pub name: String,
    /// Host on which it runs.
    pub on: String,
    /// Program and arguments. `{NAME}` is the address of the host NAME; other braces stay.
    pub run: Vec<String>,
    /// Start.
    #[serde(rename = "start_ns")]
    pub start: Span,
    /// Time of SIGTERM; `null`: the end of the run.
    #[serde(rename = "stop_ns")]
    pub stop: Option<Span>,
    /// Variables of its environment.
    pub environment: BTreeMap<String, String>,
    /// Text on its standard input.
    pub input: String,
    /// Exit code that it must have; `null`: any, also a signal.
    pub expect_exit: Option<i32>,
}

impl Scenario {
    /// Checks names, hosts, times and sizes of programs.
    pub(crate) fn check_programs(&self) -> Result<(), ScenarioError> {
        if self.programs.len() > PROGRAMS_MAX {
            return error("programs", format!("more than {PROGRAMS_MAX}"));
        }
        let mut names = BTreeSet::new();
        for (i, program) in self.programs.iter().enumerate() {
            let at = format!("programs[{i}]");
            if !is_name(&program.name) {
                let allowed = "letters, digits, and - _ . after the first, up to 64";
                return error(
                    format!("{at}.name"),
                    format!("{:?}; allowed: {allowed}", program.name),
                );
            }
            if !names.insert(&program.name) {
                return error(format!("{at}.name"), format!("{} is there already", program.name));
            }
            let node = self.nodes.iter().find(|node| node.name == program.on);
            match node.map(|node| node.kind) {
                Some(NodeKind::Host) => {}
                Some(_) => {
                    return error(format!("{at}.on"), format!("{} is not a host", program.on))
                }
                None => return error(format!("{at}.on"), format!("no node {}", program.on)),
            }
            self.check_program(&at, program)?;
        }
        Ok(())
    }

    fn check_program(&self, at: &str, program: &Program) -> Result<(), ScenarioError> {
        if program.run.first().is_none_or(String::is_empty) {
            return error(format!("{at}.run"), "no program");
        }
        if program.start >= self.duration {
            return error(format!("{at}.start_ns"), "not before the end of the run");
        }
        if program.stop.is_some_and(|stop| stop <= program.start) {
            return error(format!("{at}.stop_ns"), "not after the start");
        }
        let variables = program.environment.iter();
        if let Some((name, _)) = variables.clone().find(|(n, _)| n.is_empty() || n.contains('=')) {
            return error(
                format!("{at}.environment"),
                format!("{name:?} is no name of a variable"),
            );
        }
        let texts = program.run.iter().chain(variables.flat_map(|(name, value)| [name, value]));
        if texts.clone().any(|text| text.contains('\0')) {
            return error(format!("{at}.run"), "a text with the character 0");
        }
        if texts.map(String::len).sum::<usize>() + program.input.len() > TEXT_MAX {
            return error(format!("{at}.run"), format!("more than {TEXT_MAX} bytes of text"));
        }
        Ok(())
    }
}

fn is_name(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric();
    name.len() <= NAME_MAX
        && name.starts_with(plain)
        && name.chars().all(|c| plain(c) || matches!(c, '-' | '_' | '.'))
}

/// Names in braces: `d1` in `http://{d1}:8080/`. Other braces, as of JSON, stay.
pub fn hosts_named(text: &str) -> Vec<&str> {
    let after = text.split('{').skip(1);
    let inner = after.filter_map(|part| part.split_once('}')).map(|(name, _)| name);
    inner.filter(|name| is_name(name)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_in_braces_are_hosts() {
        assert_eq!(hosts_named("http://{d1}:8080/{s1}"), ["d1", "s1"]);
        assert_eq!(hosts_named("{\"key\": {}} } {"), Vec::<&str>::new());
        assert_eq!(hosts_named("{print $1}"), Vec::<&str>::new());
    }
}
