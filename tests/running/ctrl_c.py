"""Presses Ctrl-C 0 to 500 us behind a question; fails if one does not end it."""

import os
import pty
import select
import signal
import sys
import time

from dumbbell.cli.questions import next_line


def stopped(after_us: int) -> bool:
    """Whether Ctrl-C ends the wait for an answer within 60 s."""
    child, terminal = pty.fork()
    if child == 0:
        try:
            os.write(2, b"]: ")
            next_line()
        except KeyboardInterrupt:
            os._exit(130)
        finally:
            os._exit(1)
    shown = b""
    while not shown.endswith(b"]: "):
        shown += os.read(terminal, 100)
    press = time.perf_counter_ns() + after_us * 1000
    while time.perf_counter_ns() < press:
        pass
    os.write(terminal, b"\x03")
    end = os.pidfd_open(child)
    if not select.select([end], [], [], 60)[0]:
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    os.close(end)
    os.close(terminal)
    return os.waitstatus_to_exitcode(status) == 130


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)  # A shell's `&` ignores it.
    if not all(stopped(after_us) for after_us in range(0, 500, 2)):
        sys.exit("a Ctrl-C was lost")
