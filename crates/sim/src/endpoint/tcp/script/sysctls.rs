//! Sysctls of a script: fields of the options of the same name.

use dumbbell_model::TcpOptions;
use serde_json::Value;
use std::sync::Arc;

/// Sysctls of things that a script of the model never reaches, and those whose effect is the same
/// for any value that suites set.
const WITHOUT_EFFECT: [&str; 13] = [
    // TCP builds skbs of several segments for every device (since Linux 4.17).
    "tso",
    "gso",
    "tcp_fastopen",
    "tcp_fastopen_key",
    "tcp_fastopen_blackhole_timeout_sec",
    "tcp_syncookies",
    "tcp_synack_retries",
    "tcp_tso_win_divisor",
    "tcp_notsent_lowat",
    "tcp_invalid_ratelimit",
    "gro",
    "lro",
    "tcp_fack",
];

/// What a handshake agrees on: a sysctl has no effect on it later.
const AGREED: [&str; 5] =
    ["tcp_timestamps", "tcp_sack", "tcp_dsack", "tcp_window_scaling", "tcp_ecn"];

/// Sets a sysctl of a connection that has begun, as far as it still looks at it.
pub(super) fn set_later(options: &mut Arc<TcpOptions>, name: &str, value: &str) {
    if !AGREED.contains(&name) {
        set(Arc::make_mut(options), name, value);
    }
}

/// Sets a sysctl. True if it is known.
pub(super) fn set(options: &mut TcpOptions, name: &str, value: &str) -> bool {
    if WITHOUT_EFFECT.contains(&name) {
        return true;
    }
    if !name.starts_with("tcp_") {
        return false;
    }
    let Ok(Value::Object(mut fields)) = serde_json::to_value(&*options) else { return false };
    let Some(field) = fields.get_mut(name) else { return false };
    let number = |text: &str| text.parse::<i64>().ok().map(Value::from);
    let new = match field {
        Value::Bool(_) => value.parse::<i64>().ok().map(|number| Value::from(number != 0)),
        Value::Number(_) => number(value),
        Value::Array(_) => {
            value.split_whitespace().map(number).collect::<Option<Vec<_>>>().map(Value::from)
        }
        _ => None,
    };
    let Some(new) = new else { return false };
    *field = new;
    match serde_json::from_value::<TcpOptions>(Value::Object(fields)) {
        Ok(read) if read.check("sysctl").is_ok() => {
            *options = read;
            true
        }
        _ => false,
    }
}
