"""Namespaces of a client, a router and a server, and what runs in them.

All of it belongs to a namespace of mounts, networks and processes that `load.py` makes for itself:
nothing reaches outside, and the kernel removes everything when that ends, however it ends.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from page import Host

CLIENT, ROUTER, SERVER = "client", "router", "server"
#: RFC 2544's addresses: not anybody's.
_CLIENT_ADDRESS, _ROUTER_CLIENT = "198.18.0.2", "198.18.0.1"
_ROUTER_SERVER = "198.18.1.254"
_HERE = Path(__file__).resolve().parent


class Failed(Exception):
    """A step that did not work; one message for people."""


def run(command: Sequence[str], timeout_s: float = 20) -> str:
    """What a program says; raises `Failed` if it fails or takes too long."""
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=timeout_s, check=False
        )
    except subprocess.TimeoutExpired:
        raise Failed(f"{command[0]} took longer than {timeout_s:g} s") from None
    if done.returncode:
        said = done.stderr.strip().splitlines()[-1:] or [f"exit code {done.returncode}"]
        raise Failed(f"{' '.join(command[:6])}: {said[0]}")
    return done.stdout


def inside(namespace: str, *command: str) -> list[str]:
    """The command in a namespace."""
    return ["ip", "netns", "exec", namespace, *command]


@contextlib.contextmanager
def network(hosts: Sequence[Host], rate: str, buffer: str, delay_us: int) -> Iterator[None]:
    """Client – delay – router – server; the router's token bucket (tc-tbf) is the bottleneck.

    `/run` has to be this process's own.

    Args:
        hosts: Their addresses are the server's.
        rate: Of the bottleneck in both directions, as tc has it.
        buffer: Room of its queues, as tc has it.
        delay_us: One way.
    """
    Path("/run/netns").mkdir()
    command = [sys.executable, str(_HERE / "delay_line.py"), "r1", "c0", str(delay_us)]
    with _background(command, stdin=True) as line:
        assert line.stdout is not None
        if line.stdout.readline().strip() != "ready":
            raise Failed("/dev/net/tun gives no TAP devices here")
        for name in (CLIENT, ROUTER, SERVER):
            run(["ip", "netns", "add", name])
            for setting in ("all", "default"):
                switch = Path(f"/proc/sys/net/ipv6/conf/{setting}/disable_ipv6")
                if switch.exists():
                    run(inside(name, "sysctl", "-qw", f"net.ipv6.conf.{setting}.disable_ipv6=1"))
        run(["ip", "link", "set", "c0", "netns", CLIENT])
        run(["ip", "link", "set", "r1", "netns", ROUTER])
        run(
            ["ip", "-n", SERVER, "link", "add", "s0", "type", "veth", "peer", "r0", "netns", ROUTER]
        )
        addresses = [(CLIENT, "c0", _CLIENT_ADDRESS), (ROUTER, "r1", _ROUTER_CLIENT)]
        addresses += [(ROUTER, "r0", _ROUTER_SERVER)]
        addresses += [(SERVER, "s0", host.address) for host in hosts]
        for name, device, address in addresses:
            run(["ip", "-n", name, "address", "add", f"{address}/24", "dev", device])
        for name, device in ((CLIENT, "c0"), (ROUTER, "r1"), (ROUTER, "r0"), (SERVER, "s0")):
            run(["ip", "-n", name, "link", "set", device, "up"])
            run(["ip", "-n", name, "link", "set", "lo", "up"])
        run(["ip", "-n", CLIENT, "route", "add", "default", "via", _ROUTER_CLIENT])
        run(["ip", "-n", SERVER, "route", "add", "default", "via", _ROUTER_SERVER])
        run(inside(ROUTER, "sysctl", "-qw", "net.ipv4.ip_forward=1"))
        bucket = ["root", "tbf", "rate", rate, "burst", "5kb", "limit", buffer]
        for name, device in ((ROUTER, "r1"), (CLIENT, "c0")):
            run(["tc", "-n", name, "qdisc", "add", "dev", device, *bucket])
        yield


def dropped() -> int:
    """Packets that the bottleneck's queue towards the client had no room for."""
    words = run(["tc", "-n", ROUTER, "-s", "qdisc", "show", "dev", "r1"]).split()
    return int(words[words.index("(dropped") + 1].rstrip(","))


@contextlib.contextmanager
def capturing(tcpdump: str, path: Path) -> Iterator[None]:
    """What passes the client's interface, 96 bytes of each frame; raises `Failed` at losses."""
    command = [tcpdump, "-i", "c0", "-s", "96", "-U", "--immediate-mode", "-Z", "root"]
    command += ["-w", str(path), "ip"]
    with _background(inside(CLIENT, *command)) as process:
        assert process.stderr is not None
        said = ""
        while "listening" not in said:
            said = process.stderr.readline()
            if not said:
                raise Failed("tcpdump did not begin")
        yield
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        lost = [line for line in process.stderr if "dropped by kernel" in line]
    if lost and not lost[0].startswith("0 "):
        raise Failed(f"tcpdump: {lost[0].strip()}")


@contextlib.contextmanager
def serving(nginx: str, folder: Path, site: Path, hosts: Sequence[Host]) -> Iterator[Path]:
    """Real nginx for all hosts; gives its log: a line per request (see `log_rows`)."""
    log = folder / "access.log"
    (folder / "nginx.conf").write_text(_configuration(folder, site, log, hosts), encoding="utf-8")
    command = [
        nginx,
        "-p",
        str(folder),
        "-c",
        str(folder / "nginx.conf"),
        "-e",
        str(folder / "error"),
    ]
    with _background(inside(SERVER, *command)) as process:
        deadline = time.monotonic() + 10
        while not log.exists():
            if process.poll() is not None or time.monotonic() > deadline:
                errors = folder / "error"
                said = errors.read_text(encoding="utf-8") if errors.exists() else ""
                raise Failed(f"nginx did not begin: {said.strip() or 'it says nothing'}")
            time.sleep(0.05)
        yield log


def _configuration(folder: Path, site: Path, log: Path, hosts: Sequence[Host]) -> str:
    servers = []
    for keeps in (True, False):
        listens = "".join(f"listen {h.address}:80; " for h in hosts if h.is_persistent is keeps)
        servers.append(f"server {{ {listens} keepalive_timeout {65 if keeps else 0}; }}")
    temporary = "".join(
        f"{kind}_temp_path {folder}/{kind};\n"
        for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    return f"""daemon off; user root; worker_processes 1;
pid {folder}/pid; error_log {folder}/error;
events {{ worker_connections 1024; }}
http {{
{temporary}
log_format page '$remote_port $connection $server_addr $status $bytes_sent $host$uri';
access_log {log} page;
types {{ text/html html; image/png png; text/javascript js; text/css css; }}
sendfile on; tcp_nopush on; root {site};
{" ".join(servers)}
}}
"""


@contextlib.contextmanager
def _background(command: Sequence[str], stdin: bool = False) -> Iterator[subprocess.Popen[str]]:
    """A program while the body runs; it is ended after it."""
    process = subprocess.Popen(
        command,
        stdin=subprocess.PIPE if stdin else subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "LC_ALL": "C"},
    )
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(5)
        except subprocess.TimeoutExpired:
            process.kill()
