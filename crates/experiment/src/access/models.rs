//! Named access links: what each is made of, and where its numbers come from.

use serde_json::{json, Map, Value};

/// New values of a link at equal intervals.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Epochs {
    /// Interval, ns.
    pub(crate) every_ns: u64,
    /// Time of the first new values, ns.
    pub(crate) first_ns: u64,
    /// New rates are the nominal rate times exp(U(-spread, spread)); 0: constant.
    pub(crate) rate_spread: f64,
    /// New delays of each direction are U(0, this) above the least, ns; alike in both.
    pub(crate) delay_ns: u64,
    /// Probability of a loss at the beginning of an interval.
    pub(crate) loss: f64,
    /// Length of this beginning, ns.
    pub(crate) loss_ns: u64,
}

/// Wait for a slot, ns; at most `packets` leave in one (0: all that wait).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wait {
    pub(crate) min_ns: u64,
    pub(crate) max_ns: u64,
    pub(crate) packets: u64,
}

/// An access link.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Model {
    /// Name in files.
    pub(crate) name: &'static str,
    /// Name on pages.
    title: &'static str,
    /// Nominal rate to the subscriber, bit/s.
    pub(crate) down_bps: u64,
    /// Nominal rate from the subscriber, bit/s.
    pub(crate) up_bps: u64,
    /// Base RTT of the link, both directions together, without waits for slots, ns.
    pub(crate) rtt_ns: u64,
    /// Slots of packets to the subscriber; `None`: they leave as serialised.
    pub(crate) down_wait: Option<Wait>,
    /// Slots of packets from the subscriber.
    pub(crate) up_wait: Option<Wait>,
    /// New values over time, of both directions; `None`: they stay.
    pub(crate) epochs: Option<Epochs>,
    /// Bytes on the wire beyond the Ethernet frame without FCS.
    pub(crate) overhead_bytes: i64,
    /// Limit of either queue: the bytes that the nominal rate carries in this time, ns.
    pub(crate) buffer_ns: u64,
    /// Quantity and where its number comes from.
    sources: &'static [(&'static str, &'static str)],
    /// Parts that the model leaves out.
    limits: &'static str,
}

const BUFFER: &str = "assumed: 100 ms of the nominal rate; in front of slots at least 300 packets";

/// All access links.
pub(crate) const MODELS: &[Model] = &[
    Model {
        name: "wifi",
        title: "Wi-Fi of a home (802.11ac, 5 GHz)",
        down_bps: 200_000_000,
        up_bps: 200_000_000,
        rtt_ns: 100_000,
        down_wait: Some(Wait { min_ns: 100_000, max_ns: 2_800_000, packets: 64 }),
        up_wait: Some(Wait { min_ns: 100_000, max_ns: 2_800_000, packets: 64 }),
        epochs: None,
        overhead_bytes: 0,
        buffer_ns: 100_000_000,
        sources: &[
            ("rates", "assumed: 57 % of VHT-MCS 4, two streams, 80 MHz (351 Mbit/s, 802.11ac)"),
            ("slots", "wait chosen for the median RTT of Sui et al., MobiSys 2016: 3 ms"),
            ("packets of a slot", "64, the window of a compressed Block Ack (802.11n)"),
            ("buffer", BUFFER),
        ],
        limits: "The tail is shorter than measured; `pause` adds suspensions. Each direction has the medium for itself. Frames are not repeated, so none is late alone.",
    },
    Model {
        name: "starlink",
        title: "Starlink, stationary dish",
        down_bps: 150_000_000,
        up_bps: 15_000_000,
        rtt_ns: 30_000_000,
        down_wait: None,
        up_wait: Some(Wait { min_ns: 0, max_ns: 20_000_000, packets: 0 }),
        epochs: Some(Epochs { every_ns: 15_000_000_000, first_ns: 12_000_000_000, rate_spread: 0.5, delay_ns: 3_750_000, loss: 0.75, loss_ns: 200_000_000 }),
        overhead_bytes: 0,
        buffer_ns: 100_000_000,
        sources: &[
            ("rates", "assumed, within the ranges of WetLinks (Laniewski et al., TMA 2024: 0 to 400 and 0 to 50 Mbit/s)"),
            ("base RTT", "assumed; Huston 2024 has a least RTT of 30 ms"),
            ("slots", "0 to 20 ms: RTTs then differ by 6.7 ms on average from one ping to the next, as in Huston 2024"),
            ("15 s, at :12, :27, :42, :57", "Mohan et al., WWW 2024; Tanveer et al., LEO-NET 2023"),
            ("change of the RTT", "0 to 7.5 ms: two hops of 3.7 ms at the zenith to 7.5 ms at 25° (Huston, IETF 118), 550 km"),
            ("loss", "1 % on average, as Huston 2024 (1 to 2 %); that all of it lies in 200 ms after a change is assumed"),
            ("spread of rates", "assumed: × 0.6 to 1.65"),
            ("buffer", BUFFER),
        ],
        limits: "The uplink's rate stays. Losses between changes, obstructions, weather and load of the cell are left out. A run begins at second 0 of a minute.",
    },
    Model {
        name: "lte",
        title: "LTE, driving",
        down_bps: 8_000_000,
        up_bps: 5_000_000,
        rtt_ns: 40_000_000,
        down_wait: None,
        up_wait: Some(Wait { min_ns: 8_000_000, max_ns: 18_000_000, packets: 0 }),
        epochs: Some(Epochs { every_ns: 10_000_000_000, first_ns: 10_000_000_000, rate_spread: 1.2, delay_ns: 0, loss: 0.0, loss_ns: 0 }),
        overhead_bytes: 0,
        buffer_ns: 100_000_000,
        sources: &[
            ("rate down, its spread and 10 s", "5Gdataset (Raca et al., MMSys 2020), download, LTE while driving: median, quartiles and autocorrelation of DL_bitrate"),
            ("rate up", "assumed"),
            ("base RTT", "assumed"),
            ("slots", "scheduling request every 10 ms (3GPP TS 36.213 table 10.1.5-1), then 4 ms to the grant and 4 ms to the transmission (FDD, §8.0, §10.1)"),
            ("buffer", BUFFER),
        ],
        limits: "A loaded uplink has grants every 1 ms, the model every 8 to 18 ms. HARQ, handovers and stalls are left out.",
    },
    Model {
        name: "5g",
        title: "5G NSA, 3.5 GHz, static",
        down_bps: 43_000_000,
        up_bps: 15_000_000,
        rtt_ns: 25_000_000,
        down_wait: None,
        up_wait: Some(Wait { min_ns: 3_000_000, max_ns: 8_000_000, packets: 0 }),
        epochs: Some(Epochs { every_ns: 10_000_000_000, first_ns: 10_000_000_000, rate_spread: 1.97, delay_ns: 0, loss: 0.0, loss_ns: 0 }),
        overhead_bytes: 0,
        buffer_ns: 100_000_000,
        sources: &[
            ("rate down, its spread and 10 s", "5Gdataset (Raca et al., MMSys 2020), download, 5G, static: median, quartiles and autocorrelation of DL_bitrate"),
            ("rate up", "assumed"),
            ("base RTT", "15 ms below `lte`, as the median ping of the same set"),
            ("slots", "scheduling request every 5 ms, then 3 ms to the transmission at 30 kHz (3GPP TS 38.213 §9.2.4, TS 38.214 table 6.1.2.1.1-4); periods assumed"),
            ("buffer", BUFFER),
        ],
        limits: "As `lte`. A TDD pattern is not modelled slot by slot.",
    },
    Model {
        name: "docsis",
        title: "Cable (DOCSIS 3.1)",
        down_bps: 200_000_000,
        up_bps: 20_000_000,
        rtt_ns: 5_000_000,
        down_wait: None,
        up_wait: Some(Wait { min_ns: 2_000_000, max_ns: 8_000_000, packets: 0 }),
        epochs: None,
        overhead_bytes: 4,
        buffer_ns: 100_000_000,
        sources: &[
            ("rates", "assumed: a service of 200/20 Mbit/s"),
            ("base RTT", "10 ms in all (White et al., draft-white-tsvwg-lld-00), less the mean wait"),
            ("slots", "media acquisition of 2 to 8 ms (same draft; MAPs of 2 ms)"),
            ("overhead", "tc-cake(8), `docsis`: 18 bytes around the IP packet"),
            ("buffer", BUFFER),
        ],
        limits: "Piggybacked requests, which shorten the wait under load, and DOCSIS-PIE are left out: write `queue: pie` for the direction up (simulator only).",
    },
    Model {
        name: "gpon",
        title: "Fibre (GPON)",
        down_bps: 500_000_000,
        up_bps: 200_000_000,
        rtt_ns: 200_000,
        down_wait: None,
        up_wait: Some(Wait { min_ns: 250_000, max_ns: 2_000_000, packets: 0 }),
        epochs: None,
        overhead_bytes: 9,
        buffer_ns: 100_000_000,
        sources: &[
            ("rates", "assumed: a service of 500/200 Mbit/s within 2.488/1.244 Gbit/s (G.984.2)"),
            ("base RTT", "20 km of fibre, the reach of ITU-T G.984.1, at 5 µs/km"),
            ("slots", "from two frames of 125 µs (report, then grant; ITU-T G.984.3) to 2 ms, the target of G.987.3 for assured bandwidth"),
            ("overhead", "FCS 4 and GEM header 5 bytes (ITU-T G.984.3 §8.3)"),
            ("buffer", BUFFER),
        ],
        limits: "Competition of other subscribers for the cycle is left out.",
    },
    Model {
        name: "geo",
        title: "Geostationary satellite",
        down_bps: 25_000_000,
        up_bps: 3_000_000,
        rtt_ns: 600_000_000,
        down_wait: None,
        up_wait: None,
        epochs: None,
        overhead_bytes: 0,
        buffer_ns: 600_000_000,
        sources: &[
            ("rates", "the FCC's definition of broadband of 2015 (25/3 Mbit/s), which services are sold by"),
            ("base RTT", "600 ms (FCC 2020, rural auction); 4 × 35 786 km at c are 477 ms"),
            ("buffer", "assumed: one base RTT of the nominal rate"),
        ],
        limits: "Operators split TCP connections at the dish (PEP, RFC 3135): a plain TCP shows what an encrypted transport sees. Fading by rain is left out.",
    },
];

/// The models as JSON, by name.
pub fn models_json() -> Value {
    let wait = |wait: Option<Wait>| {
        wait.map(|one| json!({"min_ns": one.min_ns, "max_ns": one.max_ns, "packets": one.packets}))
    };
    let epochs = |epochs: Option<Epochs>| {
        epochs.map(|one| {
            json!({
                "every_ns": one.every_ns,
                "first_ns": one.first_ns,
                "rate_spread": one.rate_spread,
                "delay_ns": one.delay_ns,
                "loss": one.loss,
                "loss_ns": one.loss_ns,
            })
        })
    };
    let one = |model: &Model| {
        let sources: Map<String, Value> =
            model.sources.iter().map(|(name, text)| ((*name).to_owned(), (*text).into())).collect();
        let fields = json!({
            "title": model.title,
            "down_bps": model.down_bps,
            "up_bps": model.up_bps,
            "rtt_ns": model.rtt_ns,
            "sources": sources,
            "limits": model.limits,
            "down_wait": wait(model.down_wait),
            "up_wait": wait(model.up_wait),
            "epochs": epochs(model.epochs),
            "overhead_bytes": model.overhead_bytes,
            "buffer_ns": model.buffer_ns,
        });
        (model.name.to_owned(), fields)
    };
    Value::Object(MODELS.iter().map(one).collect())
}
