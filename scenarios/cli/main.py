"""The entry point of the command kcsim: every end is an exit status with at most one line on stderr.

Only light modules are imported here, so that signals are handled before the rest is loaded.
"""

import os
import signal
import sys
from types import FrameType
from typing import NoReturn

INTERRUPTED_STATUS, CANNOT_START_STATUS = 130, 2
"""Values of ExitStatus, whose module is not loaded yet when the first Ctrl-C may come."""
INTERRUPTED_LINE = "kcsim: interrupted"
OUT_OF_MEMORY_LINE = b"kcsim: out of memory\n"
AGAIN_AFTER_S = 0.001


def main() -> None:
    """Run the command, and exit with its status."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _end_at_once)
    sys.unraisablehook = _interrupt_again
    sys.exit(_run())


def _end_at_once(number: int, frame: FrameType | None) -> NoReturn:
    """End the process without clean-up: before a command begins and after it has ended there is nothing to clean up."""
    try:
        os.write(2, f"{INTERRUPTED_LINE}\n".encode())
    finally:
        os._exit(INTERRUPTED_STATUS)


def _interrupt_again(lost: "sys.UnraisableHookArgs") -> None:
    """Raise a KeyboardInterrupt again that Python has discarded, as it does in a destructor or a weak reference's callback.

    The import of a module runs such callbacks. The interrupt comes a moment later, outside of this hook.
    """
    if lost.exc_type is not KeyboardInterrupt:
        sys.__unraisablehook__(lost)
        return
    signal.signal(signal.SIGALRM, lambda *_: signal.raise_signal(signal.SIGINT))
    signal.setitimer(signal.ITIMER_REAL, AGAIN_AFTER_S)


def _run() -> int:
    try:
        from kcsim.scenarios.cli.app import run_command_line
        from kcsim.scenarios.cli.failed_end import exit_status_of
        from kcsim.scenarios.cli.stop_signals import stop_signals_as_ctrl_c

        with stop_signals_as_ctrl_c():
            return exit_status_of(run_command_line)
    except MemoryError:
        _end_out_of_memory()
    except (ImportError, OSError) as error:  # an incomplete installation: exit_status_of reports what a command raises
        print(f"kcsim: {error}", file=sys.stderr)
        return CANNOT_START_STATUS


def _end_out_of_memory() -> NoReturn:
    """End the process without allocating: there may be no memory left for a message, for clean-up or for a traceback."""
    try:
        os.write(2, OUT_OF_MEMORY_LINE)
    finally:
        os._exit(CANNOT_START_STATUS)
