"""Pictures of a page: SVG of a moment, PNG frames, MP4 or GIF.

A browser draws them, so that they are
what the page shows; ffmpeg joins them.
"""

from __future__ import annotations

import base64
import html
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlencode

from dumbbell.codes import Code
from dumbbell.errors import DumbbellError
from dumbbell.files.output import replacing, write_output

#: Told how many frames were drawn.
Told = Callable[[int], None]
#: Frames that the browser draws at once.
_BATCH = 60
_TIMEOUT_S = 180
_BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
_EXPORTED = re.compile(r'<pre class="exported">(.*?)</pre>', re.DOTALL)


@dataclass(frozen=True, slots=True)
class Stretch:
    """Stretch of time of a film, its speed and frame rate.

    Attributes:
        from_s: Its beginning, virtual seconds.
        to_s: Its end.
        speed: Virtual seconds per second that is seen.
        fps: Frames per second that is seen.
        width: Of a frame, pixels.
        height: Of a frame, pixels.
    """

    from_s: float
    to_s: float
    speed: float
    fps: int = 30
    width: int = 1280
    height: int = 720

    @property
    def frames(self) -> int:
        """Number of frames."""
        return max(1, round((self.to_s - self.from_s) / self.speed * self.fps) + 1)


def svg(page: Path, at_s: float, width: int = 1280, height: int = 720) -> str:
    """The picture of a moment. Raises `DumbbellError` if there is no browser."""
    asked = {"export": "svg", "t": at_s, "width": width, "height": height}
    return html.unescape(_drawn(page, asked)[0])


def frames(page: Path, stretch: Stretch, told: Told) -> Iterator[bytes]:
    """The frames as PNG, one after the other; `told` how many were drawn.

    Raises `DumbbellError` if there is no browser.
    """
    total = stretch.frames
    step = (stretch.to_s - stretch.from_s) / max(1, total - 1)
    for first in range(0, total, _BATCH):
        count = min(_BATCH, total - first)
        asked = {
            "export": "png",
            "from": stretch.from_s + first * step,
            "to": stretch.from_s + (first + count - 1) * step,
            "count": count,
            "width": stretch.width,
            "height": stretch.height,
            "speed": stretch.speed,
        }
        for text in _drawn(page, asked):
            yield base64.b64decode(text.partition(",")[2])
        told(first + count)


def write_frames(page: Path, folder: Path, stretch: Stretch, told: Told) -> list[Path]:
    """Writes `frame-00000.png` and so on. Raises `DumbbellError` if that cannot be done."""
    written = []
    for number, data in enumerate(frames(page, stretch, told)):
        path = folder / f"frame-{number:05d}.png"
        write_output(path, data)
        written.append(path)
    return written


def write_film(page: Path, path: Path, stretch: Stretch, told: Told) -> None:
    """Writes an MP4 or a GIF, by the ending of its name.

    Raises `DumbbellError` if there is no ffmpeg or no browser, or ffmpeg fails.
    """
    ffmpeg = shutil.which("ffmpeg")
    if ffmpeg is None:
        raise DumbbellError(
            f"{path}: a film needs ffmpeg, which is not installed; or take --frames",
            code=Code.NOT_INSTALLED,
        )
    with tempfile.TemporaryDirectory(prefix="dumbbell-film-") as folder, replacing(path) as place:
        write_frames(page, Path(folder), stretch, told)
        filters = (
            "split[a][b];[a]palettegen=max_colors=128[p];[b][p]paletteuse=dither=none"
            if path.suffix == ".gif"
            else "format=yuv420p"
        )
        command = [ffmpeg, "-loglevel", "error", "-y", "-framerate", str(stretch.fps)]
        command += ["-i", f"{folder}/frame-%05d.png", "-vf", filters, str(place)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            last = done.stderr.strip().splitlines()[-1:] or ["no reason given"]
            raise DumbbellError(f"{path}: ffmpeg failed: {last[0]}", code=Code.ANIMATION)


def _drawn(page: Path, asked: dict[str, object]) -> list[str]:
    browser = next((found for name in _BROWSERS if (found := shutil.which(name))), None)
    if browser is None:
        raise DumbbellError(
            "pictures are drawn by a browser, and no chromium is installed; the page itself can"
            " save the moment that it shows",
            code=Code.NOT_INSTALLED,
        )
    with tempfile.TemporaryDirectory(prefix="dumbbell-browser-") as profile:
        command = [
            browser,
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-sync",
            f"--user-data-dir={profile}",
            "--virtual-time-budget=60000",
            "--dump-dom",
            f"{page.resolve().as_uri()}#{urlencode(asked)}",
        ]
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, timeout=_TIMEOUT_S, check=False
            )
        except subprocess.TimeoutExpired:
            raise DumbbellError(
                f"{browser}: drew nothing in {_TIMEOUT_S} s", code=Code.ANIMATION
            ) from None
    drawn = [str(one) for one in _EXPORTED.findall(done.stdout)]
    if not drawn:
        last = done.stderr.strip().splitlines()[-1:] or ["no reason given"]
        raise DumbbellError(f"{browser}: drew nothing: {last[0]}", code=Code.ANIMATION)
    return drawn
