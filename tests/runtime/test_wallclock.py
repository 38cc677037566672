"""The runtime of live runs, and Ctrl-C."""

import signal
from concurrent.futures import ThreadPoolExecutor

from kcsim.runtime.wallclock import WallClockRuntime


def test_a_run_in_a_thread_ends_well_where_ctrl_c_is_ignored() -> None:
    """A script's background job is such a place: its tests run a cluster of ours."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with ThreadPoolExecutor(1) as pool:
            assert pool.submit(lambda: WallClockRuntime().run(_answer())).result() == "answered"
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)


async def _answer() -> str:
    return "answered"
