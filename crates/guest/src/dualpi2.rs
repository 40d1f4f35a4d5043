//! DualPI2 by rtnetlink: released `tc` may be older than the kernel's discipline. Lines have the words of
//! iproute2's `tc … dualpi2`, so that a newer `tc` reads them too.

use crate::batch::because;
use crate::discipline::OnLinux;
use crate::netlink::{put_attribute, word, Netlink};
use crate::tc::micros;
use crate::xstats::Xstats;
use crate::{netlink, sys};
use dumbbell_model::queue::Dualpi2;
use dumbbell_model::ScenarioError;
use std::io::{Error, Result};

const NAME: &str = "dualpi2";
/// `TCA_KIND`, `TCA_OPTIONS`.
const KIND: u16 = 1;
const OPTIONS: u16 = 2;
/// `NLA_F_NESTED`.
const NESTED: u16 = 1 << 15;
/// `TCA_DUALPI2_…` by their words. A flag is the value of a word of its own.
const NUMBERS: [(&str, u16); 7] = [
    ("limit", 1),
    ("target", 3),
    ("tupdate", 4),
    ("alpha", 5),
    ("beta", 6),
    ("step_thresh", 8),
    ("min_qlen_step", 9),
];
const BYTES: [(&str, u16); 2] = [("coupling_factor", 10), ("classic_protection", 13)];
const FLAGS: [(&str, u16, u8); 6] = [
    ("overflow", 11, 0),
    ("drop_on_overload", 11, 1),
    ("drop_dequeue", 12, 0),
    ("drop_enqueue", 12, 1),
    ("l4s_ect", 14, 1),
    ("any_ect", 14, 3),
];
/// `TC_H_ROOT`.
const ROOT: u32 = 0xffff_ffff;
/// Weights in netlink are 256ths per second, in `tc` numbers per second.
const PER_S: f64 = 256.0;

impl OnLinux for Dualpi2 {
    fn arguments(&self, _: &str) -> std::result::Result<String, ScenarioError> {
        let either = |on: bool, yes: &'static str, no: &'static str| if on { yes } else { no };
        Ok(format!(
            "limit {} target {} tupdate {} alpha {} beta {} step_thresh {} min_qlen_step {} \
             coupling_factor {} classic_protection {} {} {} {}",
            self.limit_packets,
            micros(self.target.as_ns()),
            micros(self.tupdate.as_ns()),
            f64::from(self.alpha) / PER_S,
            f64::from(self.beta) / PER_S,
            micros(self.step_threshold.as_ns()),
            self.min_qlen_step,
            self.coupling_factor,
            self.classic_protection_percent,
            either(self.drop_on_overload, "drop_on_overload", "overflow"),
            either(self.drop_enqueue, "drop_enqueue", "drop_dequeue"),
            either(self.any_ect, "any_ect", "l4s_ect"),
        ))
    }

    /// `struct tc_dualpi2_xstats`: probability, delays of C and L, packets of C and L, longest queue, marks.
    fn xstats(bytes: &[u8], common: Xstats) -> Xstats {
        Xstats {
            dropped_overflow: common.overlimits.into(),
            marked: netlink::known_word(bytes, 24).into(),
            probability: (f64::from(word(bytes, 0)) / f64::from(u32::MAX)).into(),
            ..common
        }
    }
}

/// Returns true for a line of `tc` that adds a DualPI2.
pub(crate) fn is_one(line: &str) -> bool {
    line.starts_with("qdisc add") && line.split_whitespace().any(|word| word == NAME)
}

/// Adds the discipline of a line: `qdisc add dev DEVICE root|parent X:Y handle Z: dualpi2 …`.
///
/// # Errors
/// Says what the kernel answers. A kernel without DualPI2 answers "No such file or directory".
pub(crate) fn add(line: &str) -> Result<()> {
    request(line)
        .and_then(|body| Netlink::open()?.add_qdisc(&body))
        .map_err(|error| because(line, &error))
}

/// Body of `RTM_NEWQDISC`: `struct tcmsg` and attributes.
fn request(line: &str) -> Result<Vec<u8>> {
    let missing = || Error::other("not a line of DualPI2");
    let (place, options) = line.split_once(NAME).ok_or_else(missing)?;
    let (mut interface, mut handle, mut parent) = (0, 0, ROOT);
    let mut words = place.split_whitespace();
    while let Some(word) = words.next() {
        match word {
            "dev" => interface = sys::interface_index(words.next().ok_or_else(missing)?)?,
            "handle" => handle = classid(words.next().ok_or_else(missing)?),
            "parent" => parent = classid(words.next().ok_or_else(missing)?),
            _ => {}
        }
    }
    let mut body = vec![0_u8; 4];
    body.extend(interface.to_ne_bytes());
    for number in [handle, parent, 0] {
        body.extend(number.to_ne_bytes());
    }
    put_attribute(&mut body, KIND, b"dualpi2\0");
    put_attribute(&mut body, OPTIONS | NESTED, &attributes(options)?);
    Ok(body)
}

fn attributes(options: &str) -> Result<Vec<u8>> {
    let mut found = Vec::new();
    let mut words = options.split_whitespace();
    while let Some(name) = words.next() {
        if let Some((_, kind, value)) = FLAGS.iter().find(|flag| flag.0 == name) {
            put_attribute(&mut found, *kind, &[*value]);
            continue;
        }
        let unknown = || Error::other(format!("DualPI2's {name} cannot be set"));
        let value = words.next().ok_or_else(unknown)?;
        let scale = if matches!(name, "alpha" | "beta") { PER_S } else { 1.0 };
        let number: f64 = value.trim_end_matches("us").parse().map_err(|_| unknown())?;
        let number = (number * scale) as u32;
        if let Some((_, kind)) = NUMBERS.iter().find(|one| one.0 == name) {
            put_attribute(&mut found, *kind, &number.to_ne_bytes());
        } else if let Some((_, kind)) = BYTES.iter().find(|one| one.0 == name) {
            put_attribute(&mut found, *kind, &[u8::try_from(number).map_err(|_| unknown())?]);
        } else {
            return Err(unknown());
        }
    }
    Ok(found)
}

/// Number of a handle: major and minor, hexadecimal.
fn classid(text: &str) -> u32 {
    let (major, minor) = text.split_once(':').unwrap_or((text, ""));
    let part = |digits: &str| u32::from_str_radix(digits, 16).unwrap_or(0);
    part(major) << 16 | part(minor)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::netlink::attribute;

    #[test]
    fn a_line_becomes_attributes() -> Result<()> {
        let line = "qdisc add dev lo parent 1:1 handle 2: dualpi2 limit 50 alpha 0.16015625 \
                    step_thresh 500us coupling_factor 2 overflow any_ect";
        assert!(is_one(line) && !is_one("qdisc add dev lo root fq"));
        let body = request(line)?;
        assert_eq!([word(&body, 4), word(&body, 8), word(&body, 12)], [1, 2 << 16, 1 << 16 | 1]);
        assert_eq!(attribute(&body[20..], KIND), Some(&b"dualpi2\0"[..]));
        let options = attribute(&body[20..], OPTIONS).unwrap_or(&[]);
        let number = |kind| attribute(options, kind).map(|bytes| word(bytes, 0));
        assert_eq!([1, 5, 8].map(number), [Some(50), Some(41), Some(500)]);
        let byte = |kind| attribute(options, kind).and_then(|bytes| bytes.first().copied());
        assert_eq!([10, 11, 14].map(byte), [2, 0, 3].map(Some));
        assert!(request("qdisc add dev lo root dualpi2 memlimit 3").is_err());
        Ok(())
    }
}
