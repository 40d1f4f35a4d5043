//! Event traces: summary, and hops of all packets of an interval.

use crate::Shared;
use dumbbell_model::tables::{DropRow, FlowRow, HopRow, PipeRow, QueueRow, SampleRow, Table};
use dumbbell_sim::Monitor as _;
use dumbbell_trace::delays::Delays;
use dumbbell_trace::sequence::Mark;
use dumbbell_trace::{EventSink, Hops, OpenError, Reading, Summary, Window};
use serde_json::{json, Value};
use std::fs::File;
use std::io::Read;

/// JSON text and tables.
pub(crate) type TextAndTables = (String, Vec<Table>);

fn read(path: &str, kept: &mut impl EventSink, shared: &Shared) -> Result<Reading, OpenError> {
    let source: Box<dyn Read> =
        if path == "-" { Box::new(std::io::stdin()) } else { Box::new(File::open(path)?) };
    // The monitor counts bytes here instead of nanoseconds.
    dumbbell_trace::read(source, kept, |bytes| {
        shared.progress(dumbbell_model::Time::ZERO + dumbbell_model::Span::from_ns(bytes))
    })
}

fn delays(of: &Delays) -> Value {
    if of.count == 0 {
        return json!({ "count": 0 });
    }
    json!({
        "count": of.count,
        "mean_ns": of.mean_ns(),
        "min_ns": of.min_ns,
        "p50_ns": of.quantile_ns(0.5),
        "p95_ns": of.quantile_ns(0.95),
        "p99_ns": of.quantile_ns(0.99),
        "max_ns": of.max_ns,
    })
}

fn common(reading: &Reading) -> serde_json::Map<String, Value> {
    let network = &reading.network;
    let node = |number: u32| network.nodes[number as usize].clone();
    let links: Vec<_> = (0..network.links.len() as u32)
        .map(|number| {
            let link = &network.links[number as usize];
            json!({
                "pipe": network.pipe_name(number),
                "from": node(link.from),
                "to": link.to.map(node),
            })
        })
        .collect();
    let flows: Vec<_> = network
        .flows
        .iter()
        .enumerate()
        .map(|(number, &stream)| {
            let stream = &network.streams[stream as usize];
            json!({
                "flow": network.flow_name(number as u32),
                "kind": stream.kind,
                "fid": stream.fid,
                "from": stream.ends[0],
                "to": stream.ends[1],
            })
        })
        .collect();
    let problems: Vec<_> = reading
        .problems
        .iter()
        .map(|one| json!({ "line": one.line, "lines": one.lines, "message": one.message }))
        .collect();
    let remarks: Vec<_> =
        reading.remarks.iter().map(|(at, text)| json!({ "time_ns": at, "text": text })).collect();
    let value = json!({
        "format": reading.format.name(),
        "lines": reading.lines,
        "events": reading.events,
        "bytes": reading.bytes,
        "first_ns": reading.times_ns.0,
        "last_ns": reading.times_ns.1,
        "nodes": network.nodes,
        "links": links,
        "flows": flows,
        "problems": problems,
        "remarks": remarks,
    });
    match value {
        Value::Object(map) => map,
        _ => serde_json::Map::new(),
    }
}

fn streams(summary: &Summary, reading: &Reading) -> Vec<Value> {
    let network = &reading.network;
    let rows = network.streams.iter().zip(&summary.streams.counts).enumerate();
    rows.map(|(number, (stream, counts))| {
        let points = summary.points(number as u32).into_iter().map(|(mark, points, stride)| {
            let name = match mark {
                Mark::Sent => "sent",
                Mark::Retransmitted => "again",
                Mark::Dropped => "dropped",
            };
            let times: Vec<_> = points.iter().map(|point| point.time_ns).collect();
            let seqs: Vec<_> = points.iter().map(|point| point.seq).collect();
            (name.to_owned(), json!({ "time_ns": times, "seq": seqs, "one_of": stride }))
        });
        let points: serde_json::Map<_, _> = points.collect();
        json!({
            "flow": network.flow_name(stream.flow),
            "direction": if stream.outward { "out" } else { "back" },
            "from": stream.ends[0],
            "to": stream.ends[1],
            "first_ns": counts.times_ns.map(|times| times.0),
            "last_ns": counts.times_ns.map(|times| times.1),
            "sent_packets": counts.sent_packets,
            "sent_bytes": counts.sent_bytes,
            "data_packets": counts.data_packets,
            "retransmitted_packets": counts.retransmitted_packets,
            "received_packets": counts.received_packets,
            "received_bytes": counts.received_bytes,
            "delivered_bytes": counts.delivered_bytes,
            "dropped_packets": counts.dropped_packets,
            "delay": delays(&counts.delays),
            "sequence": points,
        })
    })
    .collect()
}

/// Totals, delays and problems as JSON, and the result tables.
pub(crate) fn summary(path: &str, shared: &Shared) -> Result<TextAndTables, OpenError> {
    let mut summary = Summary::default();
    let reading = read(path, &mut summary, shared)?;
    summary.end(&reading);
    let mut text = common(&reading);
    text.insert("interval_ns".into(), summary.interval_ns().into());
    text.insert("dropped_packets".into(), summary.dropped.into());
    let links = summary.links.iter().enumerate().map(|(number, link)| {
        json!({
            "pipe": reading.network.pipe_name(number as u32),
            "waits": delays(&link.waits),
            "transits": delays(&link.transits),
            "dropped_in_queue": link.dropped[0],
            "dropped_on_line": link.dropped[1],
        })
    });
    text.insert("delays".into(), links.collect());
    text.insert("streams".into(), streams(&summary, &reading).into());
    let tables = vec![
        FlowRow::table(&summary.flows(&reading)),
        PipeRow::table(&summary.pipes(&reading)),
        SampleRow::table(&summary.samples(&reading)),
        QueueRow::table(&summary.queues(&reading)),
        DropRow::table(&summary.drops(&reading)),
    ];
    Ok((Value::Object(text).to_string(), tables))
}

/// Contents of a trace as JSON, and the table `hops` of an interval.
pub(crate) fn hops(
    path: &str,
    window: Window,
    shared: &Shared,
) -> Result<TextAndTables, OpenError> {
    let mut hops = Hops::new(window);
    let reading = read(path, &mut hops, shared)?;
    let mut text = common(&reading);
    text.insert("left_out".into(), hops.left_out.into());
    Ok((Value::Object(text).to_string(), vec![HopRow::table(&hops.rows(&reading))]))
}
