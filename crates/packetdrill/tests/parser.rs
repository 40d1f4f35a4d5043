//! The parser takes any text: it reads a script or says what is wrong, and never panics.

use dumbbell_packetdrill::settings::Version;
use dumbbell_packetdrill::{Script, Settings, Wrong};
use proptest::prelude::*;

const SCRIPT: &str = r#"--tolerance_usecs=9000
`sysctl -q net.ipv4.tcp_ecn=0`
 0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
+0 bind(3, ..., ...) = 0 // a comment
+0 listen(3, 4) = 0
+.1 < [ect0] SEW 0:0(0) win 32000 <mss 1000,sackOK,TS val 7 ecr 0,nop,wscale 7>
+0~+.01 > S. 0:0(0) ack 1 <...>
+0...0.2 accept(3, ..., ...) = 4
+0 < [ce] 6. 1:11(10) ack 1 win 9 <nop,nop,sack 1:2 3:4>
* > (tos 0x2) P. 1:5(4) ack 1
+0 < icmp unreachable frag_needed mtu 1200 [1:5(4)]
+0 sendmsg(4, {msg_name(...)=..., msg_iov(2)=[{..., 10}, {"a\x41b"..., 20}], msg_flags=0}, MSG_MORE | 0x40) = 30
+0 write(4, ..., 10) = -1 EAGAIN (Resource temporarily unavailable)
+0 %{ assert tcpi_snd_cwnd == 10 }%
`true`
"#;

fn parsed(text: &str) -> Result<Script, Wrong> {
    let script = Script::parse(text, &[("WORD".to_owned(), "\"value\"".to_owned())], Version::V4)?;
    Settings::of(script.version).apply(&script.options)?;
    Ok(script)
}

fn lines(text: &str) -> u32 {
    u32::try_from(text.matches('\n').count()).unwrap_or(u32::MAX) + 1
}

/// The message is one line, not long, and the line is one of the text.
fn is_fair(text: &str) -> Result<(), TestCaseError> {
    if let Err(wrong) = parsed(text) {
        prop_assert!((1..=lines(text)).contains(&wrong.line), "{wrong}");
        prop_assert!(!wrong.message.is_empty());
    }
    Ok(())
}

#[test]
fn a_script_with_everything_is_read() {
    let script = parsed(SCRIPT).expect("a script");
    assert_eq!(script.events.len(), 12);
}

/// A script after the usual first lines; what is said, and at which line.
fn said(rest: &str) -> (u32, String) {
    let wrong = parsed(&format!("0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n{rest}\n"));
    let wrong = wrong.expect_err("wrong");
    (wrong.line, wrong.message)
}

#[test]
fn what_is_wrong_is_named_with_its_line() {
    for (rest, line, message) in [
        ("+0 %{ assert True", 2, "`%{` has no `}%`"),
        ("+0 `true", 2, "`` ` `` has no `` ` ``"),
        ("+0 write(3, \"a, 1) = 1", 2, "`\"` has no `\"`"),
        ("+0 < . 1:1001(10) ack 1 win 9", 2, "1:1001 are not 10 bytes"),
        ("+0 < . 1:1(0) ack 1", 2, "a packet that arrives needs a window"),
        ("+0 < X 1:1(0) win 9", 2, "`X`: flags are of"),
        ("+0 < . -1:1(2) win 9", 2, "sequence number -1 is not between 0 and"),
        ("+0 < . 1:70001(70000) win 9", 2, "payload 70000 is not between 0 and 65535"),
        ("+0 < . 1:1(0) ack 4294967296 win 9", 2, "is not between 0 and 4294967295"),
        ("+0 < . 1:1(0) ack 99999999999999999999 win 9", 2, "expected acknowledgment number"),
        ("+0 < . 1:65536(65535) ack 1 win 9", 2, "payload 65535 is above 65455"),
        ("+9999999 `true`", 2, "is above 1000000 s"),
        ("+0 < S 0:0(0) win 9 <mss 1000,wscale 7>", 2, "7 bytes of options"),
        ("+.2~+.1 > . 1:1(0) ack 1", 2, "backwards"),
        ("+0~+1 write(3, ..., 1) = 1", 2, "only a packet that is sent has a range"),
        ("-1 write(3, ..., 1) = 1", 2, "expected a time in seconds"),
        ("+0 write(3, ..., 1)", 3, "expected `=`"),
        ("+0 < udp (10)", 2, "packets of `udp` are not played"),
        ("+0 `true`\n+0 `true`\nrubbish", 4, "expected a time"),
    ] {
        let found = said(rest);
        assert_eq!(found.0, line, "{rest}: {}", found.1);
        assert!(found.1.contains(message) || message.starts_with("``"), "{rest}: {}", found.1);
    }
    assert_eq!(said("+0 write(3, ..., 1)\n+0 `true`").0, 3);
    let late = parsed("\n+.1 < . 1:1(0) ack 1 win 9").expect_err("late");
    assert_eq!((late.line, late.message.as_str()), (2, "the first event is at time 0"));
    for option in [
        "mtu=0",
        "mtu=99999999",
        "local_ip=::1",
        "local_ip=999.1.1.1",
        "netmask_ip=1.2.3.4",
        "tolerance_usecs=-5",
        "tolerance_percent=NaN",
        "tolerance_percent=-1",
        "mss=70000",
    ] {
        let wrong = parsed(&format!("\n--{option}\n0 socket(..., 1, 2) = 3\n")).expect_err(option);
        assert_eq!(wrong.line, 2, "{option}");
        assert!(wrong.message.contains(option), "{}", wrong.message);
    }
    let unknown = parsed("--unknown=1\n0 socket(..., 1, 2) = 3\n").expect_err("unknown");
    assert_eq!((unknown.line, unknown.message.contains("--unknown is not known")), (1, true));
}

#[test]
fn flags_may_begin_with_the_counter_of_accurate_ecn() {
    assert!(parsed("0 < 5. 1:1(0) ack 1 win 9\n").is_ok());
    assert!(parsed("0 < 5000 > 8080 5. 1:1(0) ack 1 win 9\n").is_ok());
}

#[test]
fn deep_nesting_is_refused() {
    for sign in ["[", "{", "f(", "a=", "a(1)="] {
        let text = format!("0 write({}1", sign.repeat(200_000));
        assert!(parsed(&text).is_err(), "{sign}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn any_text_is_read_or_refused(text in "\\PC*") {
        is_fair(&text)?;
    }

    #[test]
    fn any_signs_of_the_language_are_read_or_refused(
        text in "[-+*0-9a-fxSFRPEWA.:~<>()\\[\\]{}=|,\"`%/ \\n\\\\é]{0,200}",
    ) {
        is_fair(&format!("0 {text}"))?;
    }

    #[test]
    fn a_changed_script_is_read_or_refused(
        at in 0..SCRIPT.len(), length in 0..30usize, other in "[ -~\\n]{0,12}|99999999999999999999|-1|é",
    ) {
        let end = (at + length).min(SCRIPT.len());
        is_fair(&format!("{}{other}{}", &SCRIPT[..at], &SCRIPT[end..]))?;
    }

    #[test]
    fn a_script_that_ends_early_is_read_or_refused(at in 0..SCRIPT.len()) {
        is_fair(&SCRIPT[..at])?;
    }
}
