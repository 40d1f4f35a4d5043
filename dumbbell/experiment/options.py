"""TCP of a host: profiles and options under their Linux names."""

from __future__ import annotations

import json
from typing import Annotated, Any

from dumbbell import _core
from dumbbell.errors import shortened
from dumbbell.experiment import units
from dumbbell.experiment.fields import (
    Checked,
    Flag,
    PositiveSize,
    PositiveTime,
    Strict,
    Time,
    choice,
    problem,
    sysctl_quantity,
    whole_number,
)
from dumbbell.experiment.units import SIZE, TIME, QuantityError

PROFILES: dict[str, dict[str, Any]] = {
    name: json.loads(text) for name, text in _core.profiles().items()
}
DEFAULT_PROFILE = "linux-6.1"
U32 = 2**32 - 1


def _memory(value: object) -> list[int]:
    """`[min, default, max]` or `min default max`, bytes unless a unit is given."""
    parts = value.split() if isinstance(value, str) else value
    if not isinstance(parts, list) or len(parts) != 3:
        raise problem("three sizes are needed: minimum, default, maximum", found=value)
    sizes = []
    for part in parts:
        text = str(part) if isinstance(part, int) and not isinstance(part, bool) else part
        if isinstance(text, str) and text.isascii() and text.isdigit() and len(text) <= 19:
            sizes.append(int(text))
            continue
        try:
            sizes.append(units.whole(part, SIZE))
        except QuantityError as error:
            raise problem(error.message, found=shortened(part), allowed=error.allowed) from None
    return sizes


def _receive_buffer(value: object) -> str | dict[str, Any]:
    """`pages`, `copied`, or the size of a buffer of its own."""
    if value in ("pages", "copied"):
        return str(value)
    try:
        size = units.whole(value, SIZE)
    except QuantityError as error:
        allowed = ("pages", "copied", "a size, as 2304 bytes")
        raise problem(error.message, found=shortened(value), allowed=allowed) from None
    return {"own": {"bytes": size}}


_BUFFERS = {
    "anyOf": [{"enum": ["pages", "copied"]}, {"type": "string", "examples": ["2304 bytes"]}]
}
_SIZES = {"anyOf": [{"type": "array", "minItems": 3, "maxItems": 3}, {"type": "string"}]}
NsNumber = Annotated[int, sysctl_quantity(TIME)]
BytesNumber = Annotated[int, sysctl_quantity(SIZE)]
Memory = Annotated[list[int], Checked(_memory, _SIZES)]
Profile = Annotated[str, choice(*PROFILES, what="profile")]
DelayedAck = Annotated[
    str, choice("adaptive", "every_second", "never", what="policy of delayed ACKs")
]
ReceiveBuffer = Annotated[Any, Checked(_receive_buffer, _BUFFERS)]
Whole = Annotated[int, whole_number(0, U32)]
Hz = Annotated[int, whole_number(100, 1000)]
WindowScale = Annotated[int, whole_number(-31, 31)]


class TcpOptionsSpec(Strict):
    """TCP options under their Linux sysctl names (without `net.ipv4.`), over a profile.

    Sysctls whose unit Linux fixes (`tcp_rmem`, `tcp_limit_output_bytes`, `…_ns`) take a bare
    number in that unit, or a quantity.
    """

    profile: Profile | None = None
    hz: Hz | None = None
    mtu: PositiveSize | None = None
    gso: Flag | None = None
    initcwnd: Whole | None = None
    initrwnd: Whole | None = None
    ssthresh: Whole | None = None
    rto_min: PositiveTime | None = None
    rto_initial: PositiveTime | None = None
    delayed_ack: DelayedAck | None = None
    tcp_sack: Flag | None = None
    tcp_dsack: Flag | None = None
    tcp_timestamps: Flag | None = None
    tcp_window_scaling: Flag | None = None
    tcp_ecn: Annotated[int, whole_number(0, 2)] | None = None
    tcp_reordering: Whole | None = None
    tcp_max_reordering: Whole | None = None
    tcp_recovery: Whole | None = None
    tcp_fack: Flag | None = None
    forward_retransmit: Flag | None = None
    rate_halving: Flag | None = None
    tcp_abc: Annotated[int, whole_number(0, 2)] | None = None
    tcp_early_retrans: Whole | None = None
    tcp_frto: Whole | None = None
    tcp_comp_sack_nr: Whole | None = None
    tcp_comp_sack_delay_ns: NsNumber | None = None
    tcp_comp_sack_slack_ns: NsNumber | None = None
    rx_segment: ReceiveBuffer | None = None
    tcp_rmem: Memory | None = None
    tcp_wmem: Memory | None = None
    tcp_moderate_rcvbuf: Flag | None = None
    tcp_adv_win_scale: WindowScale | None = None
    tcp_limit_output_bytes: BytesNumber | None = None
    queue_at_interface: Flag | None = None
    tcp_slow_start_after_idle: Flag | None = None
    tcp_pacing_ss_ratio: Whole | None = None
    tcp_pacing_ca_ratio: Whole | None = None
    tcp_min_rtt_wlen: Whole | None = None
    tcp_min_tso_segs: Whole | None = None
    tcp_retries2: Whole | None = None
    tcp_syn_retries: Whole | None = None
    mptcp_enabled: Flag | None = None
    cubic_hystart: Flag | None = None
    cubic_fast_convergence: Flag | None = None
    cubic_tcp_friendliness: Flag | None = None
    hystart_plus_plus: Flag | None = None

    def over(self, base: dict[str, Any]) -> dict[str, Any]:
        """A complete set, as the scenario names it, with these options in place of its own.

        A profile written here replaces the whole set first. Without SACK there is neither DSACK nor
        FACK, as in Linux, unless the file asks for it.
        """
        given = self.given()
        options = dict(base if self.profile is None else PROFILES[self.profile])
        for name, value in given.items():
            if name in TcpOptionsSpec.model_fields and name != "profile":
                options[SCENARIO_NAMES.get(name, name)] = value
        if given.get("tcp_sack") is False:
            options.update({name: False for name in _NEED_SACK if name not in given})
        return options


#: What Linux does only with SACK.
_NEED_SACK = ("tcp_dsack", "tcp_fack")

SCENARIO_NAMES = {
    "mtu": "mtu_bytes",
    "rto_initial": "rto_initial_ns",
    "rto_min": "rto_min_ns",
}


class HostSpec(TcpOptionsSpec):
    """A host: its TCP options, and how long it handles packets."""

    processing_jitter: Time | None = None

    def under(self, defaults: HostSpec) -> dict[str, Any]:
        """The complete options of this host: its profile, the defaults', then its own."""
        profile = self.profile or defaults.profile or DEFAULT_PROFILE
        common = defaults.model_copy(update={"profile": profile}).over({})
        return self.model_copy(update={"profile": None}).over(common)
