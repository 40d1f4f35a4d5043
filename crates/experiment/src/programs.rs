//! Programs of the user on hosts, for the kernel's engines.

use crate::code::Code;
use crate::quantity::time;
use crate::read::{Fields, Loc, Node, Refusal, Result};
use crate::shell::{is_of_shell, words};
use crate::words::shown;
use serde_json::{json, Map, Value};
use std::collections::BTreeSet;

const MOST_PAIRS: usize = 50;
const LONGEST_NAME: usize = 60;

/// A program on a host as written.
#[derive(Clone, Debug)]
pub(crate) struct Program {
    name: Option<String>,
    pub(crate) on: String,
    pub(crate) run: Vec<String>,
    start_ns: u64,
    stop_ns: Option<u64>,
    environment: Map<String, Value>,
    input: String,
    expect_exit: Option<u64>,
    pub(crate) at: Loc,
}

/// The text with `$` for `$$`, which is no reference to a factor.
fn unescaped(text: &str) -> String {
    text.replace("$$", "$")
}

/// Arguments of a command line, quoted as for a shell, or a list of them.
pub(crate) fn command(node: &Node<'_>) -> Result<Vec<String>> {
    let refuse = |message: String| {
        Refusal::new(&node.at, message).found(shown(node.value)).code(Code::Program).err()
    };
    if let Value::Array(items) = node.value {
        let texts: Option<Vec<String>> =
            items.iter().map(|item| item.as_str().map(unescaped)).collect();
        if let Some(texts) = texts.filter(|texts| !texts.is_empty()) {
            return Ok(texts);
        }
    }
    let Some(line) = node.text() else {
        return refuse("a command line, or a list of texts, is needed".to_owned());
    };
    let words = match words(&unescaped(line)) {
        Ok(words) => words,
        Err(error) => return refuse(format!("a command line with {error}")),
    };
    if words.is_empty() {
        return refuse("a program is needed".to_owned());
    }
    match words.iter().find(|word| is_of_shell(word)) {
        Some(word) => refuse(format!(
            "no shell reads this line, and {word} is for one: run: [sh, -c, \"…\"], or a list of \
             arguments"
        )),
        None => Ok(words),
    }
}

/// A text; a number counts as what the file writes.
pub(crate) fn text(node: &Node<'_>) -> Result<String> {
    match node.value {
        Value::String(text) => Ok(unescaped(text)),
        Value::Number(number) => Ok(match number.as_f64().filter(|_| number.is_f64()) {
            Some(float) => python(float),
            None => number.to_string(),
        }),
        other => {
            let refusal = Refusal::new(&node.at, "a text is needed").found(shown(other));
            refusal.code(Code::Program).err()
        }
    }
}

/// A number as Python writes it: `1.0`, `1e+20`.
fn python(number: f64) -> String {
    let scale = number.abs();
    if scale == 0.0 || (1e-4..1e16).contains(&scale) {
        return format!("{number:?}");
    }
    let written = format!("{number:e}");
    match written.split_once('e') {
        Some((head, exponent)) => {
            let (sign, digits) =
                exponent.strip_prefix('-').map_or(('+', exponent), |digits| ('-', digits));
            format!("{head}e{sign}{digits:0>2}")
        }
        None => written,
    }
}

impl Program {
    fn read(node: &Node<'_>) -> Result<Self> {
        let fields = node.any_fields()?;
        let mut environment = Map::new();
        if let Some(node) = fields.get("environment") {
            for (name, node) in node.any_fields()?.all() {
                environment.insert(name.to_owned(), text(&node)?.into());
            }
        }
        let exit = |node: &Node<'_>| node.any_fields()?.need("exit")?.whole(0, 255);
        Ok(Self {
            name: fields.read("name", Node::name)?,
            on: fields.need("on")?.name()?,
            run: command(&fields.need("run")?)?,
            start_ns: fields.read("start", time)?.unwrap_or(0),
            stop_ns: fields.read("stop", time)?,
            environment,
            input: fields.read("input", text)?.unwrap_or_default(),
            expect_exit: fields.read("expect", exit)?.map(|code| code as u64),
            at: node.at.clone(),
        })
    }

    /// Name of the program's file and host.
    fn stem(&self) -> String {
        let path = self.run.first().map_or("", String::as_str);
        let file = path.rsplit('/').next().unwrap_or_default();
        let plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
        let mut stem = String::new();
        let mut replaced = false;
        for c in file.chars() {
            if plain(c) {
                stem.push(c);
            } else if !replaced {
                stem.push('-');
            }
            replaced = !plain(c);
        }
        let stem = stem.trim_matches(['-', '.']);
        format!("{}-{}", if stem.is_empty() { "program" } else { stem }, self.on)
    }

    /// Names in braces that look like hosts: arguments as `{d1}` or `{d1}:80`, but not `{print}`.
    pub(crate) fn addressed(&self) -> impl Iterator<Item = &str> {
        self.run.iter().skip(1).filter_map(|text| in_braces(text))
    }
}

/// The name of an argument that is nothing but a name in braces, with a number as hosts have.
fn in_braces(text: &str) -> Option<&str> {
    let (name, port) = text.strip_prefix('{')?.split_once('}')?;
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    let fits = name.len() > 1
        && name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.ends_with(|c: char| c.is_ascii_digit())
        && name.chars().all(plain)
        && (port.is_empty() || port.strip_prefix(':').is_some_and(digits));
    Some(name).filter(|_| fits)
}

/// Programs of a file.
pub(crate) fn programs(fields: &Fields<'_>) -> Result<Vec<Program>> {
    let Some(node) = fields.get("programs") else { return Ok(Vec::new()) };
    node.items()?.iter().map(Program::read).collect()
}

fn head(text: &str) -> String {
    text.chars().take(LONGEST_NAME).collect()
}

/// Programs in the form of the scenario. Without a name: that of its file and its host.
pub(crate) fn scenario(programs: &[Program]) -> Vec<Value> {
    let mut given: BTreeSet<String> =
        programs.iter().filter_map(|program| program.name.clone()).collect();
    let mut made = Vec::new();
    for program in programs {
        let name = program.name.clone().unwrap_or_else(|| {
            let stem = program.stem();
            let (mut name, mut count) = (head(&stem), 2);
            while given.contains(&name) && count < 1_000_000 {
                name = head(&format!("{stem}-{count}"));
                count += 1;
            }
            given.insert(name.clone());
            name
        });
        made.push(json!({
            "name": name,
            "on": program.on,
            "run": program.run,
            "start_ns": program.start_ns,
            "stop_ns": program.stop_ns,
            "environment": program.environment,
            "input": program.input,
            "expect_exit": program.expect_exit,
        }));
    }
    made
}

/// Words of an argument that may be names of hosts.
fn host_words(text: &str) -> impl Iterator<Item = &str> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    let parts = text.split(move |c| !plain(c));
    let begin = |part: &'_ str| part.find(|c: char| c.is_ascii_alphanumeric());
    parts.filter_map(move |part| Some(&part[begin(part)?..]))
}

/// Hosts that programs name, each with the program's number and own host.
///
/// Their RTTs give a buffer in BDP its size. Where no program names another host, each may talk to all of
/// them.
pub(crate) fn talks(programs: &[Program], hosts: &BTreeSet<&str>) -> Vec<(usize, [String; 2])> {
    let on_hosts =
        || programs.iter().enumerate().filter(|(_, program)| hosts.contains(program.on.as_str()));
    let mut named = Vec::new();
    for (i, program) in on_hosts() {
        let words: BTreeSet<&str> = program.run.iter().flat_map(|text| host_words(text)).collect();
        let others = words.into_iter().filter(|word| hosts.contains(word) && *word != program.on);
        named.extend(others.map(|word| (i, [program.on.clone(), word.to_owned()])));
    }
    if !named.is_empty() {
        return named;
    }
    let mut every = Vec::new();
    for (i, program) in on_hosts() {
        let others = hosts.iter().take(MOST_PAIRS).filter(|host| **host != program.on);
        every.extend(others.map(|host| (i, [program.on.clone(), (*host).to_owned()])));
    }
    every
}
