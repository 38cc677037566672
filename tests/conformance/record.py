"""Record what real brokers write, in the form of the recordings that our cluster is measured by.

python -m tests.conformance record FILE… --kafka-home DIR --out DIR [--runs N] [--logs DIR] [--zookeeper embedded|model]
    [--protocol-version V]

plays the steps of each FILE (its writes are not read), N times, on processes of a real Apache Kafka. Where FILE is a
recording itself, the differences from it are printed. With `--zookeeper model`, the brokers have our model of ZooKeeper.

python -m tests.conformance differ --seeds A..B --kafka-home DIR --out DIR [--runs N] [--logs DIR]

draws the steps from seeds, records them, and plays each on our cluster, on the model of ZooKeeper. A plan with differences
is recorded N times more, since Kafka itself does not always do the same: only differences from all of these runs count. The
others are printed, too, and so is what becomes on our cluster of a step that could not be recorded.

Exit status: 0 nothing differs; 1 something does; 2 a recording could not be made to its end; 64 a file or an argument cannot
be understood.
"""

import argparse
import re
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

from kcsim.brokers.apache_kafka.errors import InstallationError
from kcsim.brokers.apache_kafka.installation import KafkaInstallation, find_kafka
from kcsim.brokers.cluster.zookeeper_choice import ZooKeeperKind
from kcsim.brokers.config import PROTOCOL_VERSION
from kcsim.controller.capabilities import PROTOCOL_VERSIONS
from kcsim.zk.capture.write_comparison.differences import WriteDifference
from kcsim.zk.servers.errors import NoJavaError
from tests.conformance.replayed.compare import differences
from tests.conformance.replayed.on_kafka import Recorded, record, with_other_runs
from tests.conformance.replayed.play import play
from tests.conformance.replayed.random_plans import plan
from tests.conformance.replayed.recording import BadRecordingError, Recording, read_recording
from tests.conformance.replayed.report import report_lines

USAGE = 64
DIFFERS, NOT_WHOLE = 1, 2
COMMANDS = ("record", "differ")
WITHOUT_ZOOKEEPER_OPTION = (3, 0)
SIMULATED = "simulated"
SEEDS = re.compile(r"(\d+)(?:\.\.(\d+))?")


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.print_usage(sys.stderr)
        self.exit(USAGE, f"{self.prog}: {message}\n")


def main(arguments: Sequence[str]) -> int:
    """Run one of COMMANDS, which the first argument names, and return the exit status."""
    asked = _parser().parse_args(arguments)
    try:
        kafka = find_kafka(asked.kafka_home)
        plans = [read_recording(file) for file in asked.files] if asked.command == "record" else []
        asked.out.mkdir(parents=True, exist_ok=True)
    except (BadRecordingError, InstallationError, NoJavaError, OSError) as error:
        print(error, file=sys.stderr)
        return USAGE
    if asked.command == "record":
        return max(_record(_with_protocol(each, asked), kafka, asked) for each in plans)
    return _differ((_for_release(_with_protocol(plan(seed), asked), kafka) for seed in asked.seeds), kafka, asked)


def _with_protocol(given: Recording, asked: argparse.Namespace) -> Recording:
    if asked.protocol_version is None:
        return given
    return replace(given, settings={**given.settings, PROTOCOL_VERSION: asked.protocol_version})


def _for_release(drawn: Recording, kafka: KafkaInstallation) -> Recording:
    """Let commands ask a broker where the release has no --zookeeper for them: from 3.0 on."""
    if kafka.release < WITHOUT_ZOOKEEPER_OPTION:
        return drawn
    steps = tuple(replace(step, do=_asking_a_broker(step.do)) for step in drawn.steps)
    return replace(drawn, steps=steps)


def _asking_a_broker(do: Mapping[str, Any]) -> Mapping[str, Any]:
    renamed = {"--zookeeper": "--bootstrap-server", "ZK": "BS"}
    return {**do, "tool": [renamed.get(word, word) for word in do["tool"]]} if "tool" in do else do


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="python -m tests.conformance", description=(__doc__ or "").partition("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    recorder = commands.add_parser("record", help="record what real brokers do in the steps of a file")
    recorder.add_argument("files", nargs="+", type=Path, metavar="FILE", help="a recording, or steps alone")
    recorder.add_argument("--runs", type=_count, default=1, metavar="N", help="how many times to play each")
    recorder.add_argument(
        "--zookeeper",
        choices=(ZooKeeperKind.EMBEDDED.value, ZooKeeperKind.MODEL.value),
        default=ZooKeeperKind.EMBEDDED.value,
        help="the brokers' ZooKeeper: a real one, or our model of it (default: %(default)s)",
    )
    differ = commands.add_parser("differ", help="draw steps from seeds, and compare our cluster with real brokers")
    differ.add_argument("--seeds", type=_seeds, required=True, metavar="A..B", help="a range of seeds, or one")
    differ.add_argument("--runs", type=_count, default=2, metavar="N", help="how many times more to record what differs")
    for each in (recorder, differ):
        each.add_argument("--kafka-home", type=Path, metavar="DIR", help="an Apache Kafka; else KAFKA_HOME, or make kafka's")
        each.add_argument("--out", type=Path, required=True, metavar="DIR", help="where the recordings are kept")
        each.add_argument(
            "--protocol-version",
            choices=PROTOCOL_VERSIONS,
            help="inter.broker.protocol.version of the brokers, instead of that of FILE",
        )
        each.add_argument("--logs", type=Path, metavar="DIR", help="where the brokers' own log files are kept")
    return parser


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of runs")
    return int(text)


def _seeds(text: str) -> range:
    found = SEEDS.fullmatch(text)
    if found is None or (found[2] and int(found[2]) < int(found[1])):
        raise argparse.ArgumentTypeError(f"{text!r} is no range of seeds, such as 0..19")
    return range(int(found[1]), int(found[2] or found[1]) + 1)


# --- record ----------------------------------------------------------------------------------------------------------------


def _record(given: Recording, kafka: KafkaInstallation, asked: argparse.Namespace) -> int:
    runs = [_recorded(given, kafka, asked, f"{given.name}-{number}") for number in range(1, asked.runs + 1)]
    recording = with_other_runs(runs[0].recording, [run.recording for run in runs[1:]])
    _keep(recording, asked.out)
    if runs[0].ended_by is not None:
        print(f"{given.name}: step {len(recording.steps) + 1}: {runs[0].ended_by}")
    was_recorded = any(step.writes is not None for step in given.steps)
    found = differences(given, recording) if was_recorded else []
    for line in report_lines(given.name, found, given, recording, ("then", "now")):
        print(line)
    outcome = "" if not was_recorded else f", {len(found)} differences from the file" if found else ", as in the file"
    print(f"{given.name}: {len(recording.steps)} steps recorded{outcome}", flush=True)
    return NOT_WHOLE if runs[0].ended_by is not None else DIFFERS if found else 0


def _recorded(given: Recording, kafka: KafkaInstallation, asked: argparse.Namespace, run: str) -> Recorded:
    zookeeper = ZooKeeperKind(asked.zookeeper) if asked.command == "record" else ZooKeeperKind.EMBEDDED
    return record(given, kafka, None if asked.logs is None else asked.logs / run, zookeeper)


def _keep(recording: Recording, directory: Path) -> None:
    (directory / f"{recording.name}.json").write_text(recording.text(), encoding="utf-8")


# --- differ ----------------------------------------------------------------------------------------------------------------


def _differ(plans: Iterable[Recording], kafka: KafkaInstallation, asked: argparse.Namespace) -> int:
    agree = differ = steps = writes = 0
    for given in plans:
        began = time.monotonic()
        found, kept = _compared(given, kafka, asked)
        if not kept.steps:
            continue
        _keep(kept, asked.out)
        steps, writes = steps + len(kept.steps), writes + sum(len(step.writes or ()) for step in kept.steps)
        agree, differ = agree + (not found), differ + bool(found)
        print(f"{given.name}: {'differs' if found else 'agrees'}, {time.monotonic() - began:.0f} s", flush=True)
    print(f"{agree} agree, {differ} differ: {steps} steps, {writes} writes compared")
    return DIFFERS if differ else 0


def _compared(
    given: Recording, kafka: KafkaInstallation, asked: argparse.Namespace
) -> tuple[list[WriteDifference], Recording]:
    """Return our run's differences from every run of Kafka, and a recording of these, or of one that agrees with ours."""
    first = _recorded(given, kafka, asked, f"{given.name}-1")
    kept = first.recording
    if first.unfinished is not None:
        print(f"{given.name}: step {len(kept.steps) + 1} not recorded: {first.ended_by}")
        last = play(replace(kept, steps=(*kept.steps, first.unfinished)), SIMULATED).steps[-1]
        print(f"{given.name}: on ours: {last.do}: {last.problem or last.not_supported or 'played to its end'}")
    if not kept.steps:
        return [], kept
    ours = play(kept, SIMULATED)
    found = differences(kept, ours)
    for number in range(2, 2 + asked.runs) if found else ():
        other = _recorded(given, kafka, asked, f"{given.name}-{number}").recording
        # A run that ended sooner does not show the steps after its end.
        if len(other.steps) >= len(kept.steps) and not differences(other, play(other, SIMULATED)):
            for line in report_lines(f"{kept.name}, not from run {number}", found, kept, ours):
                print(line)
            return [], other
        kept = with_other_runs(kept, [other])
        ours = play(kept, SIMULATED)
        found = differences(kept, ours)
    for line in report_lines(kept.name, found, kept, ours):
        print(line)
    return found, kept
