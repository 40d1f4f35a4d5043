"""Which page of `docs/models` describes which entry of the catalogue."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from dumbbell.catalogue import congestion_controls, disciplines, impairments, traffic_kinds
from tests.helpers import ROOT
from tests.model_figures import stem

FOLDER = ROOT / "docs" / "models"
#: Sections of every page, in this order.
SECTIONS = (
    "Model",
    "Source",
    "Scope and limits",
    "Parameters",
    "Validation",
    "Known differences",
)
#: Multipath TCP schedulers (`Scheduler` in `crates/model/src/multipath.rs`).
SCHEDULERS = ("default", "lowest_rtt", "round_robin", "redundant", "blest", "ecf")
#: Pages of several impairments; each other impairment has a page of its own name.
_IMPAIRMENTS = {
    "policer": "token-buckets",
    "loss.independent": "loss",
    "loss.gilbert_elliott": "loss",
    "loss.state": "loss",
    "loss.scripted": "loss",
    "corruption": "loss",
    "rewrites": "rewriting",
    "jitter": "jitter-and-reordering",
    "reordering": "jitter-and-reordering",
    "ack_aggregation": "ack-aggregation",
}
#: Pages that no entry of the catalogue has, by group, and the TCP options on them.
_SENDER = (
    "mtu gso initcwnd ssthresh rto_min rto_initial tcp_sack tcp_timestamps tcp_window_scaling "
    "tcp_wmem skb_small_head grow_skb fin_beyond_cwnd tcp_limit_output_bytes queue_at_interface "
    "tcp_slow_start_after_idle tcp_pacing_ss_ratio tcp_pacing_ca_ratio tcp_min_tso_segs hz "
    "tcp_abc hystart_plus_plus search search_rollback saved_cwnd saved_rtt "
    "rate_limited_increase tcp_syn_retries tcp_syn_linear_timeouts"
)
_RECOVERY = (
    "tcp_reordering tcp_max_reordering tcp_recovery tcp_fack forward_retransmit rate_halving "
    "tcp_early_retrans tcp_frto rack_always tcp_min_rtt_wlen tcp_retries2"
)
_ECN = "tcp_ecn tcp_ecn_option tcp_ecn_option_beacon"
_RECEIVER = (
    "initrwnd delayed_ack tcp_dsack tcp_comp_sack_nr tcp_comp_sack_delay_ns "
    "tcp_comp_sack_rtt_percent tcp_comp_sack_slack_ns tcp_rmem tcp_moderate_rcvbuf "
    "tcp_adv_win_scale scaling_ratio rcvbuf_grow delack_from_rto_min rx_segment"
)
_MULTIPATH = "mptcp_enabled mptcp_last_snd mptcp_sync_sndbuf mptcp_set_rcvlowat"
_CUBIC = "cubic_hystart cubic_fast_convergence cubic_tcp_friendliness"
_SLOW_START = "hystart_plus_plus search search_rollback saved_cwnd saved_rtt rate_limited_increase"


@dataclass(frozen=True)
class Page:
    """A page.

    Attributes:
        name: Name of its file, without `.md`.
        title: Heading, which links show.
        names: Names of the catalogue that it describes.
        options: TCP options that it lists.
    """

    name: str
    title: str
    names: tuple[str, ...] = ()
    options: tuple[str, ...] = field(default=())

    @property
    def path(self) -> Path:
        """The page's file."""
        return FOLDER / f"{self.name}.md"


def impairment_page(name: str) -> str:
    """Name of the page of an impairment."""
    return _IMPAIRMENTS.get(name, name)


def traffic_page(name: str) -> str:
    """Name of the page of a kind of traffic."""
    return "tcp-sender" if name == "tcp" else name


def _of_options(name: str, title: str, options: str, *names: str) -> Page:
    return Page(name, title, names, tuple(options.split()))


def groups() -> dict[str, list[Page]]:
    """Pages by the title of their group."""
    own = {"cubic": f"{_CUBIC} {_SLOW_START}", "reno": _SLOW_START, "lp": "tcp_timestamps"}
    controls = [
        _of_options(stem(one.name), one.title, own.get(one.name, ""), one.name)
        for one in congestion_controls().values()
    ]
    queues = [Page(one.name, one.title, (one.name,)) for one in disciplines().values()]
    titles = {
        "duplication": "Duplication",
        "token-buckets": "Token buckets and policers",
        "loss": "Loss and corruption",
        "ack-aggregation": "ACK aggregation",
        "slots": "Slots",
        "rewriting": "Rewriting of ECN",
        "jitter-and-reordering": "Jitter and reordering",
    }
    damage: dict[str, list[str]] = {}
    for name, found in impairments().items():
        titles.setdefault(impairment_page(name), found.title)
        damage.setdefault(impairment_page(name), []).append(name)
    traffic = [
        Page(name, one.title, (name,)) for name, one in traffic_kinds().items() if name != "tcp"
    ]
    return {
        "Congestion controls": controls,
        "Queue disciplines": queues,
        "TCP": [
            _of_options("tcp-sender", "TCP sender", _SENDER, "tcp"),
            _of_options("loss-recovery", "Loss recovery", _RECOVERY),
            _of_options("tcp-receiver", "TCP receiver", _RECEIVER),
            _of_options("ecn", "ECN and Accurate ECN", _ECN),
            _of_options("multipath-tcp", "Multipath TCP", _MULTIPATH),
            Page("schedulers", "Multipath TCP schedulers", SCHEDULERS),
            Page("smoltcp", "TCP of smoltcp"),
        ],
        "Links": [
            Page("links", "Links"),
            *(Page(name, titles[name], tuple(names)) for name, names in damage.items()),
            Page("access-links", "Access links"),
            Page("rate-traces", "Rate traces"),
        ],
        "Network": [
            Page("routing", "Routing and packet spraying"),
            Page("neighbours", "Neighbours (ARP)"),
            Page("fragments", "IP fragments"),
        ],
        "Traffic": [
            Page("tcp-applications", "TCP applications"),
            Page("arrivals", "Arrivals of short flows"),
            Page("web-pages", "Web pages"),
            *traffic,
            Page("voice", "Voice"),
        ],
        "Observation": [
            Page("captures", "Analysis of captures"),
            Page("metrics", "Metrics and intervals"),
            Page("virtual-time", "Virtual time"),
        ],
    }


def pages() -> list[Page]:
    """All pages."""
    return [page for group in groups().values() for page in group]


def link(name: str) -> str:
    """Link from a page of `docs` to the model of an entry of the catalogue."""
    (page,) = [page for page in pages() if name in page.names]
    return f"[`{name}`](models/{page.name}.md)"
