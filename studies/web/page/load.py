"""Loads a page with a real browser from a real server, and captures it: `load.py -o FOLDER`.

The page has the object sizes of study 2's Table 1; nginx serves it over HTTP/1.1 on several host
names, headless Chromium loads it over a line of a given rate and delay, tcpdump captures at the
client. Then curl fetches some objects one after another on one connection, captured likewise. It
needs root, and touches nothing outside namespaces of its own. In the folder: `page.pcap`,
`curl.pcap`, beside each what the server saw, a row per connection, and `facts.json`;
`describe.py` makes tables and figures of them.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import platform
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import page
from network import CLIENT, Failed, capturing, dropped, inside, network, run, serving

#: Program → Debian's package.
PROGRAMS = {
    "nginx": "nginx",
    "chromium": "chromium",
    "tcpdump": "tcpdump",
    "curl": "curl",
    "ip": "iproute2",
    "tc": "iproute2",
    "sysctl": "procps",
    "unshare": "util-linux",
}
_PATH = os.pathsep.join((os.environ.get("PATH", ""), "/usr/sbin", "/sbin"))
#: Longest times (s): of the browser, of everything.
_BROWSER_S, _ALL_S = 120, 240
_CURL_OBJECTS = 12


def main() -> int:
    """Checks what is needed, then does it in namespaces of its own."""
    wanted = _arguments()
    os.environ["PATH"] = _PATH
    if not wanted.inside:
        missing = _missing(wanted.nginx)
        if missing:
            return _failed(missing)
        # Whoever dies takes the next along: this, unshare, the namespaces' first process, all.
        command = ["setpriv", "--pdeathsig", "KILL", "unshare", "--net", "--mount", "--pid"]
        command += ["--fork", "--mount-proc", "--kill-child", sys.executable, __file__]
        with subprocess.Popen([*command, "--inside", *sys.argv[1:]]) as process:
            try:
                return process.wait()
            except KeyboardInterrupt:  # the process inside is told as well
                return process.wait(20)
    signal.signal(signal.SIGALRM, _too_late)
    signal.alarm(_ALL_S)
    try:
        # It hides the machine's in this namespace alone, and is gone with it.
        run(["mount", "-t", "tmpfs", "tmpfs", "/run"])
        with tempfile.TemporaryDirectory(prefix="page-load-", dir="/run") as folder:
            _load(wanted, Path(folder))
    except (Failed, OSError) as error:
        return _failed(str(error))
    except KeyboardInterrupt:
        _failed("stopped")
        return 130
    return 0


def _too_late(*_: object) -> None:
    raise Failed(f"not done in {_ALL_S} s")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("-o", "--output", type=Path, required=True, help="folder for what is found")
    parser.add_argument("--rate", default="4mbit", help="of the line, as tc has it [4mbit]")
    parser.add_argument("--rtt-ms", type=float, default=6.0, help="without queues [6]")
    parser.add_argument("--buffer", default="128kb", help="of the line, as tc has it [128kb]")
    parser.add_argument("--nginx", default="nginx", help="the program, if it is not installed")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    found = parser.parse_args()
    if not 0 <= found.rtt_ms <= 10_000:
        parser.error("--rtt-ms: from 0 to 10000")
    for option in ("rate", "buffer"):
        if not re.fullmatch(r"[0-9.]+[a-zA-Z]*", getattr(found, option)):
            parser.error(f"--{option}: as tc has it, {parser.get_default(option)}")
    return found


def _missing(nginx: str) -> str | None:
    """What is lacking, for people; None if nothing is."""
    if os.geteuid() != 0:
        return "this makes namespaces and captures in them: it needs the rights of root"
    lacking = [name for name in PROGRAMS if not shutil.which(nginx if name == "nginx" else name)]
    if lacking:
        packages = " ".join(dict.fromkeys(PROGRAMS[name] for name in lacking))
        return f"{', '.join(lacking)} not found; on Debian: apt-get install {packages}"
    if not Path("/dev/net/tun").exists():
        return "/dev/net/tun is missing: the kernel's option TUN"
    return None


def _failed(message: str) -> int:
    sys.stderr.write(f"load.py: {message}\n")
    return 2


def _load(wanted: argparse.Namespace, folder: Path) -> None:
    output: Path = wanted.output
    output.mkdir(parents=True, exist_ok=True)
    site = folder / "site"
    site.mkdir()
    things, hosts = page.things(), page.hosts()
    page.write(site, things)
    nginx, tcpdump = shutil.which(wanted.nginx) or "nginx", shutil.which("tcpdump") or "tcpdump"
    delay_us = round(wanted.rtt_ms * 500)
    with (
        network(hosts, wanted.rate, wanted.buffer, delay_us),
        serving(nginx, folder, site, hosts) as log,
    ):
        with capturing(tcpdump, output / "page.pcap"):
            _browse(folder, hosts)
        lost = dropped()
        requests = _logged(log)
        asked = {one.where.partition("/")[2] for one in requests if one.status == "200"}
        unseen = {thing.path[1:] for thing in things} - asked
        if unseen:
            raise Failed(f"the browser left out {len(unseen)} of {len(things)} objects")
        _write_connections(output / "page.csv", requests)
        with capturing(tcpdump, output / "curl.pcap"):
            _fetch(hosts[0], things)
        _write_connections(output / "curl.csv", _logged(log)[len(requests) :])
    facts = {
        "kernel": platform.release().partition("-")[0],
        "browser": run(["chromium", "--version"], 60).strip(),
        "server": _nginx_version(nginx),
        "rate": wanted.rate,
        "rtt_ms": wanted.rtt_ms,
        "buffer": wanted.buffer,
        "objects": len(things),
        "object_bytes": sum(thing.size for thing in things),
        "host_names": len(hosts),
        "dropped_at_bottleneck": lost,
    }
    (output / "facts.json").write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")
    sys.stdout.write(f"Loaded {len(things) + 1} objects; what was found is in {output}\n")


def _browse(folder: Path, hosts: Sequence[page.Host]) -> None:
    """Loads the page; the browser asks nobody for names or anything else."""
    rules = ", ".join(f"MAP {host.name} {host.address}" for host in hosts)
    off = (
        "HttpsUpgrades,HttpsFirstBalancedModeAutoEnable,LocalNetworkAccessChecks,OptimizationHints"
    )
    options = [
        "--headless=new",
        "--no-sandbox",  # as root there is none
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
        "--disable-quic",
        "--no-first-run",
        "--no-proxy-server",
        f"--disable-features={off}",
        f"--host-resolver-rules={rules}, MAP * ~NOTFOUND",
        f"--user-data-dir={folder / 'profile'}",
        "--dump-dom",
    ]
    os.environ["HOME"] = str(folder)
    command = ["chromium", *options, f"http://{hosts[0].name}/"]
    said = run(inside(CLIENT, *command), _BROWSER_S)
    if "<title>Page</title>" not in said:
        raise Failed("the browser showed another page")


def _fetch(host: page.Host, things: Sequence[page.Thing]) -> None:
    """Some small objects one after another over one connection of HTTP/1.1."""
    paths = [thing.path for thing in things if thing.class_ == "small"][:_CURL_OBJECTS]
    addresses = [f"http://{host.name}{path}" for path in paths]
    resolve = f"{host.name}:80:{host.address}"
    quiet = ["--silent", "--show-error", "--fail", "--http1.1", "--max-time", "30"]
    outputs = [word for _ in paths for word in ("-o", os.devnull)]
    run(inside(CLIENT, "curl", *quiet, "--resolve", resolve, *outputs, *addresses), 60)


class Request(NamedTuple):
    """What nginx logs of a request (`network.serving`): the client's port, its own name of the
    connection, its address, the status, the bytes of the response, host and path."""

    client_port: str
    connection: str
    server_address: str
    status: str
    bytes_sent: str
    where: str


def _logged(log: Path) -> list[Request]:
    return [Request(*line.split()) for line in log.read_text(encoding="utf-8").splitlines()]


def _write_connections(path: Path, requests: Sequence[Request]) -> None:
    """A row per connection: its ends, its requests, the bytes of their responses."""
    connections: dict[str, list[Request]] = {}
    for request in requests:
        connections.setdefault(request.connection, []).append(request)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("client_port", "server_address", "host", "requests", "response_bytes"))
        for mine in connections.values():
            first, sent = mine[0], sum(int(request.bytes_sent) for request in mine)
            host = first.where.partition("/")[0]
            writer.writerow((first.client_port, first.server_address, host, len(mine), sent))


def _nginx_version(nginx: str) -> str:
    done = subprocess.run([nginx, "-v"], capture_output=True, text=True, timeout=10, check=False)
    return done.stderr.strip().removeprefix("nginx version: ")


if __name__ == "__main__":
    sys.exit(main())
