//! A survey of a capture as JSON.

use dumbbell_capture::file::OpenError;
use dumbbell_capture::survey::LENGTH_BINS;
use dumbbell_capture::{CaptureFile, Conversation, Layer, Survey};
use serde_json::{json, Value};
use std::fs::File;
use std::io::{self, Read};

/// Why there is none.
pub(crate) enum Failure {
    Io(io::Error),
    Other(String),
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

pub(crate) fn survey(path: &str) -> Result<String, Failure> {
    let source: Box<dyn Read> =
        if path == "-" { Box::new(io::stdin()) } else { Box::new(File::open(path)?) };
    let mut file = CaptureFile::open(source).map_err(|error| match error {
        OpenError::Io(error) => Failure::Io(error),
        OpenError::Unknown(_) => Failure::Other(error.to_string()),
    })?;
    let mut found = Survey::default();
    // A stream that breaks off is told as a problem: what came before it counts.
    let broken = file.read(|record| found.add(record)).err().map(|error| error.to_string());
    let problems: Vec<_> = file
        .problems()
        .iter()
        .map(|problem| json!({"offset": problem.offset, "message": problem.message}))
        .collect();
    let (first, last) = found.times_ns.unzip();
    let text = json!({
        "file": {
            "packets": found.total.packets,
            "bytes": found.total.bytes,
            "first_ns": first,
            "last_ns": last,
            "truncated_packets": found.truncated,
            "packets_without_ip": found.other,
            "problems": problems,
            "problem_count": file.problem_count(),
            "broken": broken,
        },
        "conversations": found.conversations.iter().map(conversation).collect::<Vec<_>>(),
        "lengths": lengths(&found),
    });
    Ok(text.to_string())
}

fn conversation(one: &Conversation) -> Value {
    let protocol = match one.layer {
        Layer::Ip => "ip",
        Layer::Tcp => "tcp",
        Layer::Udp => "udp",
    };
    let port = |port: u16| (one.layer != Layer::Ip).then_some(port);
    let [there, back] = one.counted;
    let (first, last) = one.times_ns.unzip();
    json!({
        "protocol": protocol,
        "address_a": one.a.0.to_string(),
        "port_a": port(one.a.1),
        "address_b": one.b.0.to_string(),
        "port_b": port(one.b.1),
        "packets_a_to_b": there.packets,
        "bytes_a_to_b": there.bytes,
        "packets_b_to_a": back.packets,
        "bytes_b_to_a": back.bytes,
        "first_ns": first,
        "last_ns": last,
    })
}

fn lengths(found: &Survey) -> Vec<Value> {
    let mut from = 0;
    let ends = LENGTH_BINS.iter().map(|&end| Some(end)).chain([None]);
    let mut bins = Vec::with_capacity(found.lengths.len());
    for (end, counted) in ends.zip(&found.lengths) {
        bins.push(json!({
            "from_bytes": from,
            "to_bytes": end,
            "packets": counted.packets,
            "bytes": counted.bytes,
        }));
        from = end.map_or(from, |end| end + 1);
    }
    bins
}
