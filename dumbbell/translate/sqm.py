"""OpenWrt's SQM: /etc/config/sqm, or `uci show sqm`. Rates are in kbit/s."""

from __future__ import annotations

import re
from collections.abc import Callable

from dumbbell.translate.fields import whole
from dumbbell.translate.mistakes import TranslateError
from dumbbell.translate.network import Network, of_script
from dumbbell.translate.tc import Script, read_one

_SECTION = re.compile(r"\s*config\s+[\"']?([\w-]{1,40})[\"']?(?:\s+[\"']?([^\"'\s]{0,40}))?")
_OPTION = re.compile(r"\s*option\s+[\"']?([\w-]{1,40})[\"']?\s+[\"']?(.*?)[\"']?\s*\Z")
_SHOWN = re.compile(r"\s*sqm\.([\w@\[\]-]{1,60})\.(\w{1,40})=[\"']?(.*?)[\"']?\s*\Z")
SCRIPTS = ("simple.qos", "simplest.qos", "simplest_tbf.qos", "piece_of_cake.qos", "layer_cake.qos")
OPTIONS = (
    "enabled", "interface", "download", "upload", "qdisc", "script", "qdisc_advanced", "linklayer",
    "overhead", "tcMTU", "tcTSIZE", "tcMPU", "ilimit", "elimit", "itarget", "etarget",
    "ingress_ecn", "egress_ecn", "iqdisc_opts", "eqdisc_opts", "squash_dscp", "squash_ingress",
    "qdisc_really_really_advanced", "linklayer_advanced", "linklayer_adaptation_mechanism",
    "debug_logging", "verbosity", "shaper_burst", "ishaper_burst_dur_us", "eshaper_burst_dur_us",
    "use_mq", "name", "target", "idscp", "edscp", "target_interface", "debug_log",
)  # fmt: skip
#: Packets of SQM's fq_codel; duration of a burst.
_LIMIT, _BURST_US = 1001, 1000
_MTU_BITS = 1540 * 8
#: Leaves that SQM knows: with a target and ECN, and those whose limit is in packets.
_MANAGED = ("fq_codel", "codel", "fq_pie", "pie")
_LIMITED = (*_MANAGED, "sfq", "pfifo")
LEAVES = (*_LIMITED, "bfifo", "cake")


def read(text: str, file: str) -> Network:
    """Reads all sections. Raises `TranslateError`."""
    made = Script(file)
    for options in _sections(text, file):
        _queue(made, options, file)
    return of_script(made)


def _sections(text: str, file: str) -> list[dict[str, tuple[str, int]]]:
    found: dict[str, dict[str, tuple[str, int]]] = {}
    current = "#0"
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith("#"):
            continue
        section, option, shown = _SECTION.match(line), _OPTION.match(line), _SHOWN.match(line)
        if section is not None:
            current = f"{section[2] or ''}#{number}"
            found[current] = {}
        elif shown is not None:
            found.setdefault(shown[1], {})[shown[2]] = (shown[3], number)
        elif option is not None:
            if option[1] not in OPTIONS:
                message = "SQM has no such option"
                raise TranslateError(
                    message, file=file, line=number, found=option[1], allowed=OPTIONS
                )
            found.setdefault(current, {})[option[1]] = (
                option[2].split("' ")[0].split('" ')[0],
                number,
            )
    return list(found.values())[:50]


def _queue(made: Script, options: dict[str, tuple[str, int]], file: str) -> None:
    if not {"download", "upload"} & set(options):
        return

    def given(name: str, default: str) -> str:
        return options.get(name, (default, 0))[0] or default

    device = re.sub(r"[^\w.-]", "_", given("interface", "wan"))[:30]
    script, line = options.get("script", ("simple.qos", 1))
    if script not in SCRIPTS:
        raise TranslateError(
            "SQM has no such script", file=file, line=line, found=script, allowed=SCRIPTS
        )
    leaf, leaf_line = options.get("qdisc", ("fq_codel", line))
    if leaf not in LEAVES:
        message = "no such qdisc of SQM"
        raise TranslateError(message, file=file, line=leaf_line, found=leaf, allowed=LEAVES)
    if "cake" in script and "qdisc" in options and leaf != "cake":
        made.notes.lost(leaf_line, f"qdisc {leaf}", f"without effect: {script} always takes cake")
    if given("enabled", "1") == "0":
        where = options["enabled"][1]
        made.notes.became(where, "enabled 0", "the section is off; the experiment has it on")
    framing = _framing(made, given("linklayer", "none"), given("overhead", "0"), options, file)
    for way, target in (("upload", device), ("download", f"ifb-{device}")):
        text, line = options.get(way, ("0", 1))
        rate = whole(text, way, file, line, 10**9)
        if not rate:
            continue
        ingress = way == "download"
        extra = given("iqdisc_opts" if ingress else "eqdisc_opts", "")
        for command in _commands(script, rate, target, ingress, framing, extra, given):
            read_one(made, command.split(), line)
        root = made.interface(target).qdiscs.get("root")
        if script == "simple.qos" and root is not None:
            root.notes.lost(
                line,
                "simple.qos",
                "its three classes by DSCP: the flow has the one for best effort",
            )
        if ingress:
            made.interface(device).redirected = target


def _framing(
    made: Script, layer: str, overhead: str, options: dict[str, tuple[str, int]], file: str
) -> str:
    """Words of the framing."""
    line = options.get("linklayer", options.get("overhead", ("", 1)))[1]
    if layer not in ("none", "ethernet", "atm", "adsl"):
        allowed = ("none", "ethernet", "atm")
        raise TranslateError(
            "SQM has no such linklayer", file=file, line=line, found=layer, allowed=allowed
        )
    count = whole(overhead.lstrip("-"), "overhead", file, line, 200)
    text, mpu_line = options.get("tcMPU", ("", line))
    mpu = whole(text or "0", "tcMPU", file, mpu_line, 256)
    if layer == "none":
        for name in ("tcMPU", "overhead"):
            if options.get(name, ("0", 0))[0] not in ("", "0"):
                why = "without effect: linklayer is none"
                made.notes.lost(options[name][1], f"{name} {options[name][0]}", why)
        return ""
    if not (count or mpu or layer in ("atm", "adsl")):
        return ""
    signed = -count if overhead.startswith("-") else count
    words = f"overhead {signed}" + (f" mpu {mpu}" if mpu else "")
    return words + (" atm" if layer in ("atm", "adsl") else "")


def _commands(
    script: str,
    rate: int,
    target: str,
    ingress: bool,
    framing: str,
    extra: str,
    given: Callable[[str, str], str],
) -> list[str]:
    """Commands of an SQM script for one direction."""
    if "cake" in script:
        tins = "diffserv3" if script == "layer_cake.qos" else "besteffort"
        words = f"bandwidth {rate}kbit {tins} {framing} {'ingress' if ingress else ''} {extra}"
        return [f"tc qdisc add dev {target} root cake {words}"]
    leaf = f"{_leaf(given, rate, ingress)} {extra}"
    burst = max(1600, rate * 1000 // 8 * _BURST_US // 10**6)
    framing = framing.replace(" atm", " linklayer atm")
    if script == "simplest_tbf.qos":
        bucket = f"tbf rate {rate}kbit burst {burst} latency 300ms {framing}"
        shaper = f"tc qdisc add dev {target} root handle 1: {bucket}"
        return [shaper, f"tc qdisc add dev {target} parent 1:1 {leaf}"]
    return [
        f"tc qdisc add dev {target} root handle 1: htb default 10",
        f"tc class add dev {target} parent 1: classid 1:10 htb rate {rate}kbit ceil {rate}kbit"
        f" burst {burst} cburst {burst} {framing}",
        f"tc qdisc add dev {target} parent 1:10 {leaf}",
    ]


def _leaf(given: Callable[[str, str], str], rate_kbps: int, ingress: bool) -> str:
    """The leaf ($QDISC) with `get_limit`, `get_ecn` and `get_target` of SQM's functions."""
    qdisc = given("qdisc", "fq_codel")
    words = [qdisc]
    limit = given("ilimit" if ingress else "elimit", "") or str(_LIMIT)
    if qdisc in _LIMITED:
        words.append(f"limit {limit}")
    elif qdisc == "bfifo":
        words.append(f"limit {int(limit) * 1514 if limit.isdigit() and len(limit) < 8 else limit}")
    if qdisc not in _MANAGED:
        return " ".join(words)
    ecn = given("ingress_ecn" if ingress else "egress_ecn", "ECN" if ingress else "NOECN").lower()
    words.append("ecn" if ecn == "ecn" else "noecn")
    wanted = given("itarget" if ingress else "etarget", "auto").lower()
    if wanted == "auto":
        words.append(_target(rate_kbps, interval="codel" in qdisc))
    elif wanted != "default":
        words.append(f"target {wanted}")
    return " ".join(words)


def _target(rate_kbps: int, *, interval: bool) -> str:
    """Target and CoDel's interval on slow links (`adapt_target_to_slow_link`)."""
    packet_us = _MTU_BITS * 1000 // rate_kbps
    if packet_us <= 5000:
        return ""
    target = packet_us * 3 // 2
    return f"target {target}us" + (f" interval {95_000 + target}us" if interval else "")
