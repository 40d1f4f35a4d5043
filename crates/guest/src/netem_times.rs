//! Delay, jitter and seed of netem by rtnetlink: `tc` reads whole microseconds and sends ticks of 64 ns, and
//! only newer ones know `seed`.

use crate::batch::because;
use crate::netlink::{attribute, put_attribute, word, Netlink};
use crate::sys;
use std::io::{Error, Result};

/// `TCA_KIND`, `TCA_OPTIONS`.
const KIND: u16 = 1;
const OPTIONS: u16 = 2;
/// Length of `struct tcmsg`.
const TCMSG_BYTES: usize = 20;
/// Length of `struct tc_netem_qopt`, with which the options of a netem begin.
const QOPT_BYTES: usize = 24;
/// Attributes behind it that a change must repeat: `TCA_NETEM_REORDER`, `TCA_NETEM_LOSS`. Others that are
/// missing stay as they are (`netem_change`). A repeated `TCA_NETEM_PRNG_SEED` would begin the random numbers
/// anew: packets behind every change would share one fate.
const REPEATED: [u16; 2] = [3, 5];
/// `TCA_NETEM_LATENCY64`, `TCA_NETEM_JITTER64`.
const DELAY: u16 = 10;
const JITTER: u16 = 11;
/// `TCA_NETEM_PRNG_SEED`.
const SEED: u16 = 14;
/// Times that both microseconds and ticks of 64 ns divide.
const EXACT_NS: u64 = 8000;

/// Times of one netem, as its line says.
#[derive(Debug, PartialEq, Eq)]
struct Times<'a> {
    device: &'a str,
    handle: u32,
    delay_ns: u64,
    jitter_ns: u64,
    seed: Option<u64>,
}

/// Sets the times of a line of `tc` that has added or changed a netem; other lines need nothing.
///
/// # Errors
/// Says what the kernel answers.
pub(crate) fn set(line: &str) -> Result<()> {
    let Some(times) = times(line) else { return Ok(()) };
    if times.delay_ns % EXACT_NS == 0 && times.jitter_ns % EXACT_NS == 0 && times.seed.is_none() {
        return Ok(());
    }
    change(&times).map_err(|error| because(line, &error))
}

fn change(times: &Times<'_>) -> Result<()> {
    let index = sys::interface_index(times.device)?;
    let netlink = Netlink::open()?;
    let mut found = None;
    netlink.qdisc_messages(|message| {
        if word(message, 4) == index as u32 && word(message, 8) == times.handle {
            found = request(message, times);
        }
    })?;
    netlink.change_qdisc(&found.ok_or_else(|| Error::other("there is no such netem"))?)
}

/// Body of `RTM_NEWQDISC` that changes the times of a netem, from the kernel's description of it.
fn request(message: &[u8], times: &Times<'_>) -> Option<Vec<u8>> {
    let (place, attributes) = message.split_at_checked(TCMSG_BYTES)?;
    let (qopt, rest) = attribute(attributes, OPTIONS)?.split_at_checked(QOPT_BYTES)?;
    let mut options = qopt.to_vec();
    for kind in REPEATED {
        if let Some(content) = attribute(rest, kind) {
            put_attribute(&mut options, kind, content);
        }
    }
    put_attribute(&mut options, DELAY, &times.delay_ns.to_ne_bytes());
    put_attribute(&mut options, JITTER, &times.jitter_ns.to_ne_bytes());
    if let Some(seed) = times.seed {
        put_attribute(&mut options, SEED, &seed.to_ne_bytes());
    }
    let mut body = place.to_vec();
    put_attribute(&mut body, KIND, b"netem\0");
    put_attribute(&mut body, OPTIONS, &options);
    Some(body)
}

/// Times of a line `qdisc add|change dev DEVICE … handle N: netem … delay TIME [TIME] …`.
fn times(line: &str) -> Option<Times<'_>> {
    let (place, options) = line.split_once(" netem ")?;
    let (options, seed) = parted(options);
    // `slot distribution` has times, too, and no delay.
    let mut words = options.split_whitespace().skip_while(|word| *word != "delay").skip(1);
    let delay_ns = match words.next() {
        Some(word) => nanoseconds(word)?,
        None if seed.is_some() => 0,
        None => return None,
    };
    let jitter_ns = words.next().and_then(nanoseconds).unwrap_or(0);
    let after = |name: &str| place.split_whitespace().skip_while(|word| *word != name).nth(1);
    let major = u32::from_str_radix(after("handle")?.trim_end_matches(':'), 16).ok()?;
    Some(Times { device: after("dev")?, handle: major << 16, delay_ns, jitter_ns, seed })
}

/// A line without its seed, which is its last word, and the seed.
fn parted(line: &str) -> (&str, Option<u64>) {
    match line.rsplit_once(" seed ") {
        Some((rest, seed)) => (rest, seed.parse().ok()),
        None => (line, None),
    }
}

/// A line as any `tc` reads it.
pub(crate) fn without_seed(line: &str) -> String {
    parted(line).0.to_owned()
}

/// Reads a time as [`crate::tc::micros`] writes it.
fn nanoseconds(text: &str) -> Option<u64> {
    let number = text.strip_suffix("us")?;
    let (whole, rest) = number.split_once('.').unwrap_or((number, "0"));
    Some(whole.parse::<u64>().ok()? * 1000 + rest.parse::<u64>().ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tc::micros;

    #[test]
    fn the_times_of_a_line_are_exact() {
        let line =
            "qdisc add dev e1 parent 1:1 handle a: netem limit 9 delay 12.500us 0.250us loss 1%";
        let found =
            Times { device: "e1", handle: 10 << 16, delay_ns: 12_500, jitter_ns: 250, seed: None };
        assert_eq!(times(line), Some(found));
        let line = "qdisc change dev e1 root handle 1: netem limit 9 delay 6500us loss random 1%";
        let found =
            Times { device: "e1", handle: 1 << 16, delay_ns: 6_500_000, jitter_ns: 0, seed: None };
        assert_eq!(times(line), Some(found));
        let line = "qdisc add dev e1 root handle 1: netem limit 9 loss random 1% seed 77";
        let found =
            Times { device: "e1", handle: 1 << 16, delay_ns: 0, jitter_ns: 0, seed: Some(77) };
        assert_eq!(times(line), Some(found));
        assert_eq!(without_seed(line), line.trim_end_matches(" seed 77"));
        for other in
            ["qdisc add dev e1 root handle 1: netem limit 9 rate 5bit", "qdisc add dev e1 root fq"]
        {
            assert_eq!(times(other), None);
        }
        for ns in [0, 7, 70, 999, 1000, 6_500_064] {
            assert_eq!(nanoseconds(&micros(ns)), Some(ns));
        }
    }

    #[test]
    fn a_change_keeps_limit_reordering_and_loss_and_goes_on_in_the_random_numbers() {
        let mut options: Vec<u8> = (0..QOPT_BYTES as u8).collect();
        put_attribute(&mut options, 1, &[1; 12]);
        put_attribute(&mut options, 3, &[7; 8]);
        put_attribute(&mut options, 5, &[5; 20]);
        put_attribute(&mut options, DELAY, &[0; 8]);
        put_attribute(&mut options, 14, &[6; 8]);
        let mut message = vec![3; TCMSG_BYTES];
        put_attribute(&mut message, OPTIONS, &options);
        let wanted =
            Times { device: "e1", handle: 0, delay_ns: 6_500_000, jitter_ns: 1, seed: Some(9) };
        let body = request(&message, &wanted).unwrap_or_default();
        assert_eq!(body[..TCMSG_BYTES], message[..TCMSG_BYTES]);
        assert_eq!(attribute(&body[TCMSG_BYTES..], KIND), Some(&b"netem\0"[..]));
        let (qopt, rest) =
            attribute(&body[TCMSG_BYTES..], OPTIONS).unwrap_or(&[]).split_at(QOPT_BYTES);
        assert_eq!(qopt, &options[..QOPT_BYTES]);
        assert_eq!(attribute(rest, 1), None);
        assert_eq!(attribute(rest, 3), Some(&[7; 8][..]));
        assert_eq!(attribute(rest, 5), Some(&[5; 20][..]));
        assert_eq!(attribute(rest, 14), Some(&9_u64.to_ne_bytes()[..]));
        assert_eq!(attribute(rest, DELAY), Some(&6_500_000_u64.to_ne_bytes()[..]));
        assert_eq!(attribute(rest, JITTER), Some(&1_u64.to_ne_bytes()[..]));
        assert_eq!(request(&message[..30], &wanted), None);
    }
}
