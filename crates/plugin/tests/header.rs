//! `dumbbell_cc.h` has the layout of the types in Rust: a C compiler says so.

use dumbbell_plugin::table::{RawWindow, Table};
use dumbbell_plugin::{AckEvent, AckSample, Conn, LostSkb, RateSample};
use std::fmt::Write as _;
use std::mem::offset_of;
use std::process::Command;

macro_rules! layout {
    ($text:ident, $kind:ty, $name:literal, $($field:ident)+) => {
        $(writeln!(
            $text, "_Static_assert(offsetof(struct {}, {}) == {}, \"{0}.{1}\");",
            $name, stringify!($field), offset_of!($kind, $field)
        ).expect("a text grows");)+
        writeln!($text, "_Static_assert(sizeof(struct {}) == {}, \"{0}\");", $name, size_of::<$kind>())
            .expect("a text grows");
    };
}

#[test]
fn the_header_has_the_layout_of_the_types() {
    let mut text = "#include <stddef.h>\n#include \"dumbbell_cc.h\"\n".to_owned();
    layout!(text, Conn, "dumbbell_conn", now_us now_ms srtt_us8 min_rtt_us snd_una snd_nxt mss header_bytes
        in_flight sacked_out delivered delivered_us delivered_ce ecn lost app_limited cwnd_limited
        cwnd_limited_flight tlp_app_limited state last_send_ms prior_cwnd wstamp_ns now_ns tsval_ms tsecr_ms
        random);
    layout!(text, RawWindow, "dumbbell_window", pacing_rate app_limited cwnd cwnd_cnt ssthresh cwnd_clamp mtu
        flags);
    layout!(text, RateSample, "dumbbell_rate_sample", prior_delivered delivered interval_us rtt_us losses
        acked_sacked prior_in_flight app_limited retransmitted ack_delayed tx_in_flight lost marked
        acks_tlp_retransmission);
    layout!(text, AckSample, "dumbbell_ack_sample", pkts_acked rtt_us in_flight);
    layout!(text, AckEvent, "dumbbell_ack_event", slow_path ece);
    layout!(text, LostSkb, "dumbbell_lost_skb", packets tx_in_flight lost_since_sent app_limited used);
    layout!(text, Table, "dumbbell_cc", abi size name flags state_size state_align reserved create release
        error properties init syn_acked ssthresh cong_avoid cong_control set_state cwnd_event in_ack_event
        pkts_acked marked_lost undo_cwnd growth_limit tso_segs min_tso_segs pacing_ratio sndbuf_expand
        min_cwnd phase);
    let source = std::env::temp_dir().join(format!("dumbbell-header-{}.c", std::process::id()));
    std::fs::write(&source, text).expect("the folder for temporary files can be written");
    let include = concat!("-I", env!("CARGO_MANIFEST_DIR"), "/include");
    let done = Command::new("cc").args(["-fsyntax-only", include]).arg(&source).output();
    let done = done.expect("there is a C compiler");
    std::fs::remove_file(&source).expect("the file was there");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
}
