"""What a shell offers to complete an argument: names of scenarios, lessons, events, settings, protections, brokers.

Each function takes what was typed so far, and returns the candidates that begin with it. Where there
is none, the shell offers files. A completion is a process of its own: no models are imported for it.
"""

from collections.abc import Iterable

COMPLETION_WITHIN_S = 2.0
"""A shell waits for its completions."""


def scenarios(incomplete: str) -> list[str]:
    """Return scenarios of the library."""
    from kcsim.scenarios.language.library import library_names

    return _beginning(library_names(), incomplete)


def lessons(incomplete: str) -> list[str]:
    """Return lessons of the course."""
    from kcsim.scenarios.lessons.lesson_names import lesson_names

    return _beginning(lesson_names(), incomplete)


def event_kinds(incomplete: str) -> list[str]:
    """Return kinds of event."""
    from kcsim.eventlog.events import EventKind

    return _beginning((kind.value for kind in EventKind), incomplete)


def protections(incomplete: str) -> list[str]:
    """Return protections of Kafka that can be switched off."""
    from kcsim.controller.protections import PROTECTION_NAMES

    return _beginning(PROTECTION_NAMES, incomplete)


def releases(incomplete: str) -> list[str]:
    """Return releases of Kafka that are simulated."""
    from kcsim.controller.capabilities import RELEASES

    return _beginning(RELEASES, incomplete)


def settings(incomplete: str) -> list[str]:
    """Return brokers' settings, each with the = that a value comes after."""
    from kcsim.brokers.config import SETTING_TYPES

    return _beginning((f"{name}=" for name in SETTING_TYPES), incomplete)


def fault_verbs(incomplete: str) -> list[tuple[str, str]]:
    """Return the faults of `kcsim fault`, with what they do."""
    from kcsim.scenarios.language.step_words import STEP_WORDS

    known = ((verb, words.command_help) for verb, words in STEP_WORDS.items() if words.command_help is not None)
    return [(verb, does) for verb, does in known if verb.startswith(incomplete)]


def fault_targets(incomplete: str) -> list[str]:
    """Return the nodes of the cluster that is up, and the roles that a target can name."""
    from kcsim.scenarios.cli.up_cluster.control import ControlError, running_clusters, send_request

    found = ["controller", "leader-of", "follower-of", "preferred-of"]
    try:
        for cluster in running_clusters():
            state = send_request("status", {}, cluster, COMPLETION_WITHIN_S)
            found += [*state["brokers"], *state["members"]]
    except ControlError:
        pass
    return _beginning(dict.fromkeys(found), incomplete)


def clusters(incomplete: str) -> list[str]:
    """Return the names of the clusters that are up."""
    from kcsim.scenarios.cli.up_cluster.control import ControlError, running_clusters

    try:
        return _beginning(running_clusters(), incomplete)
    except ControlError:
        return []


def _beginning(candidates: Iterable[str], incomplete: str) -> list[str]:
    return [candidate for candidate in candidates if candidate.startswith(incomplete)]
