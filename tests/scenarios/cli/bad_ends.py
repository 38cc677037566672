"""The table of bad ends: a command in a shell, and the exit status and line with which it has to end."""

from dataclasses import dataclass

from kcsim.scenarios.cli.command_exit import ExitStatus

RUN = "kcsim run controller-failover --zookeeper simulated"
LIVE = "kcsim run controller-failover --zookeeper model"
JVM = "kcsim run controller-race >out"
INTERRUPTED = "kcsim: interrupted"
OUT_OF_MEMORY = "OUT_OF_MEMORY"
NO_SPACE = "No space left on device"
STDOUT_FULL = f"kcsim: standard output: {NO_SPACE}"
DEPTH = 200_000
FILES = {
    "deep.json": "[" * DEPTH,
    "deep.jsonl": '{"seq": 0, "t_ms": 0, "node": "x", "kind": "RunStarted", "more": ' + "[" * DEPTH + "]" * DEPTH + "}\n",
    "notes.txt": "no trace\n",
}
HELD, UNDECIDED, USAGE, DRY_RUN = ExitStatus.HELD, ExitStatus.UNDECIDED, ExitStatus.USAGE, ExitStatus.DRY_RUN


@dataclass(frozen=True)
class BadEnd:
    """One bad end. In `message`, which is all of stderr, … stands for any text of one line.

    Attributes:
        event: a signal that the command gets, OUT_OF_MEMORY, or the seconds by which the wall clock is set forward or back a
            second later; and the module at whose import it comes. A signal with +1 comes a second later.
    """

    title: str
    shell: str
    status: ExitStatus
    message: str = ""
    event: tuple[str, str] | None = None


def _interrupted(title: str, signal: str, module: str, command: str = RUN) -> BadEnd:
    return BadEnd(title, command, ExitStatus.INTERRUPTED, INTERRUPTED, (signal, module))


def _out_of_memory(title: str, module: str) -> BadEnd:
    return BadEnd(title, f"{RUN} >out", UNDECIDED, "kcsim: out of memory", (OUT_OF_MEMORY, module))


FIRST, LIBRARY, RUNNER = "kcsim.scenarios.cli.app", "typer", "kcsim.scenarios.engine.runner"
JUDGED = "kcsim.scenarios.engine.expectations.violations"
EXPLORE = "kcsim explore --seeds 0..5 --jobs 1"
SHRINKING = (
    "kcsim explore --seeds 22..22 --jobs 1 --no-known-bugs 2>log >out; s=$?; tail -1 log >&2; "
    "test -e kcsim-explore/*/scenario.yaml || s=99; exit $s"
)

BAD_ENDS = (
    _interrupted("Ctrl-C before the first module is loaded", "SIGINT", FIRST),
    _interrupted("Ctrl-C while the command line is loaded", "SIGINT", LIBRARY),
    _interrupted("Ctrl-C while the run is prepared", "SIGINT", RUNNER),
    _interrupted("Ctrl-C in a search", "SIGINT", "kcsim.scenarios.explore.trial", EXPLORE),
    _interrupted("SIGTERM before the first module is loaded", "SIGTERM", FIRST),
    _interrupted("SIGTERM while the run is prepared", "SIGTERM", RUNNER),
    _interrupted("SIGTERM in a search", "SIGTERM", "kcsim.scenarios.explore.trial", EXPLORE),
    _interrupted("SIGHUP before the first module is loaded", "SIGHUP", FIRST),
    _interrupted("SIGHUP while the run is prepared", "SIGHUP", RUNNER),
    _interrupted("SIGHUP in a search", "SIGHUP", "kcsim.scenarios.explore.trial", EXPLORE),
    *(
        _interrupted(
            f"{name} while a failing scenario is shrunk", f"{signal}+1", "kcsim.scenarios.explore.failure_reports", SHRINKING
        )
        for name, signal in (("Ctrl-C", "SIGINT"), ("SIGTERM", "SIGTERM"), ("SIGHUP", "SIGHUP"))
    ),
    BadEnd("SIGPIPE", "kcsim scenario list >out", HELD, "", ("SIGPIPE", LIBRARY)),
    BadEnd("stdout on a full disk, during a run", f"{RUN} >/dev/full", UNDECIDED, STDOUT_FULL),
    BadEnd("stdout on a full disk, at the end", "kcsim scenario list >/dev/full", UNDECIDED, STDOUT_FULL),
    BadEnd("stdout on a full disk, unbuffered", "PYTHONUNBUFFERED=1 kcsim scenario list >/dev/full", UNDECIDED, STDOUT_FULL),
    BadEnd("stdout on a full disk, stderr closed", "kcsim scenario list >/dev/full 2>&-", UNDECIDED),
    BadEnd("stdout and stderr on a full disk", "kcsim scenario list >/dev/full 2>/dev/full", UNDECIDED),
    BadEnd(
        "JSON on a full disk",
        f"{RUN} --output json 2>log >/dev/full; s=$?; tail -1 log >&2; exit $s",
        UNDECIDED,
        STDOUT_FULL,
    ),
    BadEnd(
        "trace on a full disk",
        f"{RUN} --trace /dev/full >out",
        UNDECIDED,
        f"kcsim: --trace: /dev/full cannot be written: {NO_SPACE}",
    ),
    BadEnd("stdout closed", "kcsim scenario list >&-", HELD),
    BadEnd("stdin closed", f"{RUN} <&- >out", HELD),
    BadEnd("the reader leaves during a run", f"{RUN} | true; exit ${{PIPESTATUS[0]}}", HELD),
    BadEnd("LANG=C", f"LC_ALL=C LANG=C {RUN} >out", HELD),
    BadEnd(
        "an encoding without a character of the output",
        "PYTHONIOENCODING=ascii kcsim events",
        UNDECIDED,
        "kcsim: the output's encoding, ascii, has no character …; set PYTHONIOENCODING=utf-8",
    ),
    BadEnd("a trace nested too deep", "kcsim show deep.jsonl", USAGE, "deep.jsonl:1: not an event: nested too deeply"),
    BadEnd(
        "a scenario nested too deep",
        "kcsim scenario check deep.json",
        USAGE,
        "deep.json: not a scenario: lists within lists without end",
    ),
    BadEnd("a trace that is none", "kcsim why notes.txt 1", USAGE, "notes.txt:1: not an event: …"),
    BadEnd("4 GB of address space", f"ulimit -v 4000000; {RUN} >out", HELD),
    BadEnd("2 GB of address space", f"ulimit -v 2000000; {RUN} >out", HELD),
    BadEnd("4 GB of address space, with a JVM", f"ulimit -v 4000000; {JVM}", HELD),
    BadEnd(
        "1 GB of address space, with a JVM",
        f"ulimit -v 1000000; {JVM}",
        UNDECIDED,
        "kcsim: member-1 died with status 1; the end of its log: …",
    ),
    BadEnd(
        "1 GB of address space, with a JVM: files that it leaves",
        f"ulimit -v 1000000; {JVM} 2>log; s=$?; ls *crash* *hs_err* *replay* core* 2>/dev/null >&2; exit $s",
        UNDECIDED,
    ),
    BadEnd("a clock that is set back an hour", f"{LIVE} >out", HELD, "", ("CLOCK-3600", RUNNER)),
    BadEnd("a clock that is set forward a day", f"{LIVE} >out", HELD, "", ("CLOCK+86400", RUNNER)),
    _out_of_memory("no memory left while the command line is loaded", LIBRARY),
    _out_of_memory("no memory left while the run is prepared", RUNNER),
    _out_of_memory("no memory left while the run is judged", JUDGED),
    BadEnd(
        "files of at most 4 KB",
        f"trap '' XFSZ; ulimit -f 4; {RUN} --trace t.jsonl | cat >/dev/null; exit ${{PIPESTATUS[0]}}",
        UNDECIDED,
        "kcsim: --trace: t.jsonl cannot be written: File too large",
    ),
    BadEnd(
        "a ZooKeeper that is not ours, without --execute", "kcsim run controller-race --zookeeper 127.0.0.1:1 >out", DRY_RUN
    ),
    BadEnd("the same, as JSON", "kcsim run controller-race --zookeeper 127.0.0.1:1 --output json >out", DRY_RUN),
)
