"""The words about each step: for the narration of a run, and for the help of `kcsim fault`.

Apart from the classes of the steps, so that commands that only print need not import these.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True, slots=True)
class StepWords:
    """The words about one step.

    Attributes:
        phrase: what the scenario does, in `scenario {phrase}`; the target and the detail of the step's event follow, or
            stand where the phrase has {target} and {detail}.
        armed: the phrase while the step waits for its trigger, for a step that can; {detail} is the trigger.
        logged_as: the `fault` or `op` of the step's event, if it is not the verb.
        is_seen_in_effect: the narration has no line for the step's event, because the events that follow have one.
        command_help: what `kcsim fault` does with this verb; None if there is no such command.
    """

    phrase: str
    armed: str | None = None
    logged_as: str | None = None
    is_seen_in_effect: bool = False
    command_help: str | None = None


STEP_WORDS: Mapping[str, StepWords] = MappingProxyType(
    {
        "kill": StepWords(
            "kills",
            armed="sees to it that {target} is killed {detail}",
            is_seen_in_effect=True,
            command_help="kill it as SIGKILL does: its session is left to expire",
        ),
        "start": StepWords("starts", command_help="start it, with the logs that it has on disk"),
        "stop": StepWords(
            "stops",
            is_seen_in_effect=True,
            command_help="stop it as SIGTERM does: controlled shutdown, its leaders are moved away first",
        ),
        "restart": StepWords(
            "restarts",
            command_help="stop it in order, as SIGTERM does, and start it again",
        ),
        "rolling-restart": StepWords("restarts, one after the other,"),
        "pause": StepWords(
            "pauses",
            armed="sees to it that {target} freezes {detail}",
            is_seen_in_effect=True,
            command_help="freeze it, as a long garbage collection does: it sends no heartbeat",
        ),
        "resume": StepWords("resumes", is_seen_in_effect=True, command_help="resume it after pause"),
        "expire": StepWords(
            "has ZooKeeper expire {target}'s session, although {target} lives",
            command_help="let ZooKeeper expire its session, although it is alive",
        ),
        "disconnect": StepWords("cuts {target} off from ZooKeeper", command_help="cut it off from ZooKeeper"),
        "reconnect": StepWords("lets {target} reach ZooKeeper again", command_help="reconnect it to ZooKeeper"),
        "slow-follower": StepWords("sets the replication speed of"),
        "fail-log-dir": StepWords(
            "breaks a log directory of", is_seen_in_effect=True, command_help="fail one of its log directories"
        ),
        "zookeeper": StepWords("acts on a server of ZooKeeper"),
        "partition": StepWords(
            "cuts the network {detail}", command_help="block all messages between it and all others, or those behind `and`"
        ),
        "slow-link": StepWords("slows the network down {detail}"),
        "lossy-link": StepWords("makes the network unreliable {detail}"),
        "break-connections": StepWords(
            "breaks the connections {detail}",
            armed="sees to it that a connection breaks {detail}",
            command_help="break the connections that are open there, once",
        ),
        "inject-error": StepWords(
            "has answers carry an error {detail}", armed="sees to it that clients are answered with an error: {detail}"
        ),
        "heal": StepWords(
            "heals the network {detail}", command_help="remove the faults of the network there; heal all: everywhere"
        ),
        "create-topic": StepWords("creates topic"),
        "delete-topic": StepWords("asks for the deletion of"),
        "add-partitions": StepWords("adds partitions to"),
        "reassign": StepWords("asks for reassignment"),
        "cancel-reassignment": StepWords("asks the controller to reassign", logged_as="alter-partition-reassignments"),
        "elect-preferred": StepWords("asks for the preferred leaders"),
        "elect-unclean": StepWords("asks the controller to elect leaders", logged_as="elect-leaders"),
        "set-config": StepWords("changes settings"),
        "produce": StepWords("has records written by"),
        "start-workload": StepWords("starts"),
        "stop-workload": StepWords("stops"),
        "start-consumers": StepWords("starts"),
        "stop-consumers": StepWords("stops"),
        "crash-consumers": StepWords("kills", logged_as="kill", is_seen_in_effect=True),
        "pause-consumers": StepWords("pauses", logged_as="pause", is_seen_in_effect=True),
        "resume-consumers": StepWords("wakes"),
        "stall-consumers": StepWords("keeps {target}'s application busy: it {detail}", logged_as="stall"),
        "zk-create": StepWords("creates", logged_as="create"),
        "zk-recreate": StepWords("replaces", logged_as="recreate"),
        "zk-set": StepWords("sets", logged_as="set"),
        "zk-delete": StepWords("deletes", logged_as="delete"),
        "wait": StepWords("waits"),
    }
)
"""Verb -> its words."""
WORDS_OF_EVENTS: Mapping[str, StepWords] = MappingProxyType(
    {
        **{words.logged_as: words for words in STEP_WORDS.values() if words.logged_as is not None},
        **{verb: words for verb, words in STEP_WORDS.items() if words.logged_as is None},
    }
)
"""`fault` or `op` of an event -> the words about the step that causes such events."""
