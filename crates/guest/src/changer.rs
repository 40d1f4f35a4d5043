//! Changes of links during the run: one `tc` for each namespace, which waits for its lines.
//!
//! A process of its own for each change would end within the run, which takes 10 µs of a guest's time, and
//! some 20 ms of the host's.

use crate::batch::{because, program};
use crate::dualpi2;
use crate::netem_times;
use crate::plan::Plan;
use crate::realise::Namespaces;
use std::collections::btree_map::{BTreeMap, Entry};
use std::io::{BufRead, BufReader, Error, Result, Write};
use std::process::{Child, ChildStderr, ChildStdin, Stdio};

/// A command that `tc` does not know: its complaint says that the lines before it have taken effect.
const DONE: &str = "done";

/// `tc` of all namespaces in which links change.
pub(crate) struct Changer {
    running: BTreeMap<usize, Tc>,
}

impl Changer {
    /// Starts `tc` wherever the plan has changes.
    pub(crate) fn start(plan: &Plan, namespaces: &Namespaces) -> Result<Self> {
        let mut running = BTreeMap::new();
        for change in &plan.changes {
            if let Entry::Vacant(place) = running.entry(change.namespace) {
                place.insert(namespaces.within(change.namespace, Tc::start)?);
            }
        }
        Ok(Self { running })
    }

    /// Runs lines of `tc` in a namespace.
    pub(crate) fn change(
        &mut self,
        namespace: usize,
        lines: &[String],
        namespaces: &Namespaces,
    ) -> Result<()> {
        match self.running.get_mut(&namespace) {
            Some(tc) if !lines.iter().any(|line| dualpi2::is_one(line)) => {
                tc.run(lines)?;
                let exact = || lines.iter().try_for_each(|line| netem_times::set(line));
                namespaces.within(namespace, exact)
            }
            _ => namespaces.tc(namespace, lines),
        }
    }
}

/// `tc -force -batch -`, which goes on after mistakes.
struct Tc {
    child: Child,
    input: Option<ChildStdin>,
    errors: BufReader<ChildStderr>,
    /// Lines written so far.
    written: usize,
}

impl Tc {
    fn start() -> Result<Self> {
        let mut command = program("tc");
        command.args(["-force", "-batch", "-"]).stdin(Stdio::piped());
        command.stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(|error| because("tc", &error))?;
        let input = child.stdin.take();
        let errors = child.stderr.take().ok_or_else(|| Error::other("tc: no pipe"))?;
        Ok(Self { child, input, errors: BufReader::new(errors), written: 0 })
    }

    fn run(&mut self, lines: &[String]) -> Result<()> {
        let mut text = String::new();
        for line in lines {
            text += &netem_times::without_seed(line);
            text.push('\n');
        }
        text += DONE;
        text.push('\n');
        if let Some(input) = &mut self.input {
            input.write_all(text.as_bytes()).map_err(|error| because("tc", &error))?;
        }
        self.written += lines.len() + 1;
        let end = format!("Command failed -:{}", self.written);
        let mut said: Vec<String> = Vec::new();
        loop {
            let mut line = String::new();
            let read = self.errors.read_line(&mut line)?;
            if line.trim() == end {
                break;
            }
            said.push(line.trim().to_owned());
            if read == 0 {
                break;
            }
        }
        // The complaint about the command itself.
        said.pop();
        if said.is_empty() {
            return Ok(());
        }
        Err(Error::other(format!("tc: {}\n{}", said.join("\n"), lines.join("\n"))))
    }
}

impl Drop for Tc {
    fn drop(&mut self) {
        self.input = None;
        // It ends with its input; there is nothing to be done if it cannot.
        let _ = self.child.wait();
    }
}
