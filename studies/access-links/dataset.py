"""Statistics of 5Gdataset for `published.csv`: `python studies/access-links/dataset.py ARCHIVE`.

ARCHIVE is `5G-production-dataset.zip` of github.com/uccmisl/5Gdataset (commit 306d92e).
Seconds below 1 Mbit/s are left out: the application was idle in most of them.
"""

from __future__ import annotations

import csv
import io
import math
import statistics
import sys
import zipfile
from collections.abc import Iterator

#: Access link: network mode and folder.
CHOSEN = {"lte": ("LTE", "Download/Driving"), "5g": ("5G", "Download/Static")}
LEAST_KBPS = 1000
LAG_S = 5


def rates(archive: zipfile.ZipFile, mode: str, folder: str) -> Iterator[list[tuple[int, int]]]:
    """Second of the day and rate in kbit/s of each line, a list per file."""
    for name in archive.namelist():
        if not name.endswith(".csv") or name.startswith("__") or folder not in name:
            continue
        rows = csv.DictReader(io.StringIO(archive.read(name).decode("latin-1")))
        found = []
        for row in rows:
            text = row["DL_bitrate"]
            if row["NetworkMode"] == mode and text.isdigit() and int(text) > LEAST_KBPS:
                hour, minute, second = map(int, row["Timestamp"].split("_")[1].split("."))
                found.append((hour * 3600 + minute * 60 + second, int(text)))
        yield found


def correlation(series: list[dict[int, float]], lag: int) -> float:
    """Autocorrelation of the logarithm of the rate."""
    values = [value for one in series for value in one.values()]
    mean, variance = statistics.fmean(values), statistics.pvariance(values)
    products = [
        (one[at] - mean) * (one[at + lag] - mean) for one in series for at in one if at + lag in one
    ]
    return statistics.fmean(products) / variance


def main() -> None:
    """Prints rows of `published.csv`."""
    with zipfile.ZipFile(sys.argv[1]) as archive:
        for access, (mode, folder) in CHOSEN.items():
            found = list(rates(archive, mode, folder))
            of_all = sorted(kbps for one in found for _, kbps in one)
            source = f"5Gdataset, {mode}, {folder.partition('/')[2].lower()}"
            rows = [
                (f"rate_p{percent}_mbps", of_all[int(percent / 100 * (len(of_all) - 1))] / 1000)
                for percent in (10, 25, 50, 75, 90)
            ]
            lines = [f'{access},{name},{value:.1f},"{source}"' for name, value in rows]
            series = [{at: math.log(kbps) for at, kbps in one} for one in found]
            after = f"{correlation(series, LAG_S):.2f}"
            lines.append(f'{access},rate_correlation_{LAG_S}s,{after},"{source}"')
            sys.stdout.writelines(f"{line}\n" for line in lines)


if __name__ == "__main__":
    main()
