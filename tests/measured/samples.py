"""A sound file of each format, made by hand."""

from __future__ import annotations

import json

from tests.measured.reports import encoded, tcp
from tests.measured.test_flent import file

SAMPLES = {
    "iperf3": encoded(tcp([[1_000_000, 2_000_000], [500_000, 250_000]], lost=1000)),
    "flent": json.dumps(file(4), indent=1).encode(),
    "csv": b"time_s,flow,goodput_mbps,rtt_ms\n1,a,8,20\n2,a,9,21\n2,b,4,22\n3,a,8.5,20\n",
}
