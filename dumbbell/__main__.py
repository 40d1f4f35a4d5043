"""Program `dumbbell`. Ctrl-C ends it with one line at any time, imports included."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from types import FrameType

_STOPPED = 130
_SHOW_CURSOR = b"\x1b[?25h"


class _Interruptions:
    """Handler of Ctrl-C: the first one raises `KeyboardInterrupt`, the second ends at once."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self, number: int, frame: FrameType | None) -> None:
        self.count += 1
        if self.count == 1:
            raise KeyboardInterrupt
        tell()
        if sys.stderr is not None and sys.stderr.isatty():
            os.write(2, _SHOW_CURSOR)  # a bar may have hidden it
        os._exit(_STOPPED)


def tell() -> None:
    """Prints that the program was stopped, unless this is already printed."""
    console = sys.modules.get("dumbbell.console")
    if console is None or not console.claim_last_word():
        with contextlib.suppress(OSError):
            os.write(2, b"dumbbell: stopped\n")


def main() -> None:
    """Entry point of the console script."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _Interruptions())
    try:
        from dumbbell.cli import main as run

        run()
    except KeyboardInterrupt:
        tell()
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        sys.exit(_STOPPED)
    except SystemExit as ending:
        if ending.code == _STOPPED:
            tell()
            # The interpreter removes its handlers at exit: another Ctrl-C must not reach it.
            signal.signal(signal.SIGINT, signal.SIG_IGN)
        raise


if __name__ == "__main__":
    main()
