"""Reads a scenario from its file, or from the library, and says of everything wrong in it where it stands.

A problem is one line: FILE:LINE: what, with the offending value and the nearest valid word. All problems are told at once.
"""

from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import ValidationError
from pydantic_core import ErrorDetails
from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedBase
from ruamel.yaml.constructor import DuplicateKeyError
from ruamel.yaml.error import MarkedYAMLError, YAMLError

from kcsim.scenarios.language.consumer_steps import CONSUMER_VERBS
from kcsim.scenarios.language.schema import MAX_BROKERS, Scenario
from kcsim.scenarios.language.steps import verb_of
from kcsim.scenarios.language.topic_steps import TOPIC_VERBS
from kcsim.scenarios.language.words import ALL, NOT, KnownNames, did_you_mean, listed
from kcsim.scenarios.language.workload_steps import WORKLOAD_VERBS
from kcsim.zk import paths

LIBRARY = Path(__file__).parent.parent / "library"
SUFFIXES = (".yaml", ".yml")
FREE_TEXT = (
    *("as", "data", "path", "claim", "detail", "kind", "topic", "topics"),
    *(*TOPIC_VERBS, *WORKLOAD_VERBS, *CONSUMER_VERBS),
)
"""Keys whose values are no names of brokers."""


class Problem(NamedTuple):
    """Something wrong in a file. `line` counts from 1; None when it is about the file as a whole."""

    file: str
    line: int | None
    message: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.message}" if self.line else f"{self.file}: {self.message}"


class ScenarioFileError(Exception):
    """A scenario that cannot be used. `problems` are sorted by line; the message has one line for each."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        super().__init__("\n".join(map(str, problems)))
        self.problems = tuple(problems)


def library_names() -> list[str]:
    """The names of the scenarios that come with the simulator, sorted."""
    return sorted(path.stem for path in LIBRARY.glob("*.yaml"))


def find_scenario(name: str) -> Path:
    """Return the file meant by a path or by a name in the library; a file comes first.

    Raises: ScenarioFileError when there is neither, with the nearest one.
    """
    path = Path(name)
    if not name:
        raise ScenarioFileError([Problem("''", None, "names no scenario")])
    if path.exists() and not path.is_dir():  # also a pipe, as in kcsim run <(…)
        return path
    if name in library_names():
        return LIBRARY / f"{name}.yaml"
    if path.is_dir():
        raise ScenarioFileError([Problem(name, None, "is a directory, not a scenario file")])
    if path.suffix in SUFFIXES or len(path.parts) > 1:
        beside = sorted(p.name for p in path.parent.glob("*.y*ml")) if path.parent.is_dir() else []
        near = get_close_matches(path.name, beside, n=1, cutoff=0.5)
        hint = f"; did you mean {path.parent / near[0]}?" if near else did_you_mean(path.stem, library_names())
        raise ScenarioFileError([Problem(name, None, f"no such file{hint}")])
    known = did_you_mean(name, library_names()) or f"; the library has {listed(library_names())}"
    raise ScenarioFileError([Problem(name, None, f"neither a file nor a scenario of the library{known}")])


class LoadedScenario(NamedTuple):
    """A scenario, and where its steps stand: the line, from 1, of each step of the timetable."""

    file: str
    scenario: Scenario
    step_lines: tuple[int, ...]


def load_scenario(path: Path) -> LoadedScenario:
    """Read a scenario file. Raises: ScenarioFileError with every problem found in it."""
    return _Loader(path).load()


class _Loader:
    """Loads one file; keeps the tree as it was read, which knows the line of everything."""

    def __init__(self, path: Path) -> None:
        self._file = str(path)
        self._path = path
        self._problems: list[Problem] = []

    def load(self) -> LoadedScenario:
        tree = self._read()
        if not isinstance(tree, dict):
            what = "the file is empty" if tree is None else f"{_shown(tree)} is no scenario"
            raise ScenarioFileError(
                [Problem(self._file, 1, f"{what}; a scenario begins with name:, description:, cluster:")]
            )
        scenario = None
        try:
            try:
                scenario = Scenario.model_validate(tree, context=self._known_names(tree))
            except ValidationError as error:
                for detail in error.errors(include_url=False):
                    self._add_detail(tree, detail)
            self._check_names_given(tree.get("timetable"))
        except RecursionError:
            raise ScenarioFileError([Problem(self._file, 1, "an alias (*) refers to what it stands in")]) from None
        if self._problems or scenario is None:
            unique = dict.fromkeys(sorted(self._problems, key=lambda problem: problem.line or 0))
            raise ScenarioFileError(list(unique))
        timetable = tree["timetable"]
        lines = (_line(timetable, place) or 1 for place in range(len(timetable)))
        return LoadedScenario(self._file, scenario, tuple(lines))

    def _read(self) -> Any:
        try:
            return YAML(typ="rt").load(self._path.read_text(encoding="utf-8"))
        except RecursionError:
            raise ScenarioFileError([Problem(self._file, None, "not a scenario: lists within lists without end")]) from None
        except UnicodeDecodeError as error:
            raise ScenarioFileError([Problem(self._file, None, f"not text in UTF-8 (byte {error.start})")]) from None
        except OSError as error:
            raise ScenarioFileError([Problem(self._file, None, f"cannot be read: {error.strerror}")]) from None
        except DuplicateKeyError as error:
            key = (error.problem or "").partition('"')[2].partition('"')[0]
            raise ScenarioFileError([Problem(self._file, _marked(error), f"key {key!r} is there twice")]) from None
        except MarkedYAMLError as error:
            told = " ".join(f"{error.context or ''} {error.problem or ''}".split())
            raise ScenarioFileError([Problem(self._file, _marked(error), f"not YAML: {told}")]) from None
        except YAMLError as error:
            raise ScenarioFileError([Problem(self._file, None, f"not YAML: {' '.join(str(error).split())}")]) from None

    # --- names

    def _known_names(self, tree: Mapping[str, Any]) -> KnownNames:
        given = [(step.get("as"), "zookeeper" in step) for step in _steps(tree.get("timetable"))]
        zookeeper = tree.get("zookeeper")
        members = zookeeper.get("members", 1) if isinstance(zookeeper, dict) else 1
        return KnownNames(
            brokers=tuple(_broker_names(tree.get("cluster"))),
            aliases=tuple(name for name, is_server in given if isinstance(name, str) and not is_server),
            members=tuple(f"member-{n}" for n in range(1, members + 1 if isinstance(members, int) else 1)),
            member_aliases=tuple(name for name, is_server in given if isinstance(name, str) and is_server),
            topics=_known_topics(tree),
            racks=tuple(_rack_names(tree.get("cluster"))),
            clients=tuple(_client_names(tree)),
            producers=_known_producers(tree),
            endless_producers=tuple(_endless_producers(tree)),
            consumers=_known_consumers(tree),
            groups=_known_groups(tree),
            report=lambda mapping, key, message: self._problems.append(Problem(self._file, _line(mapping, key), message)),
        )

    def _check_names_given(self, timetable: Any) -> None:
        """A name given with `as` is given once, to one broker or server, and before it is used."""
        steps = list(_steps(timetable))
        first = {step["as"]: n for n, step in reversed(list(enumerate(steps))) if isinstance(step.get("as"), str)}
        for number, step in enumerate(steps):
            for mapping, key, name in _names_in(step):
                if first.get(name, -1) >= number:
                    self._problems.append(
                        Problem(self._file, _line(mapping, key), f"{name!r} is used before a step has given this name")
                    )
            alias = step.get("as")
            if isinstance(alias, str) and first[alias] != number:
                self._problems.append(Problem(self._file, _line(step, "as"), f"the name {alias!r} is given twice"))
            if alias is not None and _is_several(step):
                self._problems.append(Problem(self._file, _line(step, "as"), f"{alias!r} would name several; name one"))

    # --- what pydantic found

    def _add_detail(self, tree: Any, detail: ErrorDetails) -> None:
        place: list[str | int] = [part for part in detail["loc"] if not str(part).startswith(("<", "[key]"))]
        context = detail.get("ctx", {})
        if detail["type"] == "kcsim" and context["at"] is not None:
            place.append(context["at"])
        line, here, parent = 1, tree, None
        for part in place:
            if isinstance(here, dict | list):
                line = _line(here, part) or line
                here, parent = _child(here, part), here
        if isinstance(parent, dict) and here is None and detail["input"] is None:
            return  # a key without a value: reported as such already
        key = next((part for part in reversed(place) if isinstance(part, str)), "")
        self._problems.append(Problem(self._file, line, _sentence(detail, key)))


def _sentence(detail: ErrorDetails, key: str) -> str:
    given, context = _shown(detail["input"]), detail.get("ctx", {})
    match detail["type"]:
        case "kcsim":
            return str(context["message"])
        case "missing":
            return f"{key} is missing"
        case "int_type":
            return f"{key}: {given} is no whole number"
        case "string_type":
            return f"{key}: {given} is no text"
        case "bool_type":
            return f"{key}: {given} is neither true nor false{did_you_mean(given, ('true', 'false'))}"
        case "list_type":
            return f"{key}: {given} is no list"
        case "model_type" | "model_attributes_type" | "dict_type":
            return f"{key}: {given} is no mapping of keys to values"
        case "literal_error":
            expected = str(context["expected"]).replace("'", "")
            hint = did_you_mean(detail["input"], expected.replace(" or ", ", ").split(", "))
            return f"{key}: {given} is none of {expected}{hint}"
        case "string_pattern_mismatch":
            return f"{key}: {given} does not match {context['pattern']}"
        case "too_short" | "string_too_short":
            return (
                f"{key} is empty" if context["min_length"] == 1 else f"{key} has fewer than {context['min_length']} entries"
            )
        case _:
            return f"{key}: {given}: {detail['msg'][0].lower()}{detail['msg'][1:]}"


# --- the tree as it was read ---------------------------------------------------------------------------------------------


def _line(node: Any, part: object) -> int | None:
    """The line, from 1, of a key or an item; that of the whole when it is not there; None if that is unknown as well."""
    if not isinstance(node, CommentedBase):
        return None
    lc = node.lc
    try:
        row = lc.key(part)[0] if isinstance(node, dict) else lc.item(part)[0]
    except (KeyError, IndexError, TypeError):  # missing, or merged in from elsewhere
        row = lc.line
    return int(row) + 1 if row is not None else None


def _child(node: Any, part: str | int) -> Any:
    try:
        return node[part]
    except (KeyError, IndexError, TypeError):
        return None


def _marked(error: MarkedYAMLError) -> int | None:
    mark = error.problem_mark or error.context_mark
    return int(mark.line) + 1 if mark is not None else None


def _shown(value: object) -> str:
    text = repr(value) if isinstance(value, str | int | float | bool | None) else str(value)
    text = {"None": "nothing", "True": "true", "False": "false"}.get(text, text)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _steps(timetable: Any) -> Iterator[Mapping[str, Any]]:
    yield from (step for step in timetable if isinstance(step, dict)) if isinstance(timetable, list) else ()


def _broker_names(cluster: Any) -> Iterator[str]:
    brokers = cluster.get("brokers") if isinstance(cluster, dict) else None
    if isinstance(brokers, list):
        yield from (f"broker-{item['id']}" for item in brokers if isinstance(item, dict) and isinstance(item.get("id"), int))
    elif isinstance(brokers, int):
        yield from (f"broker-{number}" for number in range(1, min(brokers, MAX_BROKERS) + 1))


def _rack_names(cluster: Any) -> Iterator[str]:
    brokers, racks = (cluster.get(key) if isinstance(cluster, dict) else None for key in ("brokers", "racks"))
    if isinstance(brokers, list):
        named = (item.get("rack") for item in brokers if isinstance(item, dict))
        yield from dict.fromkeys(rack for rack in named if isinstance(rack, str))
    elif isinstance(racks, int):
        yield from (f"rack-{number}" for number in range(1, min(racks, MAX_BROKERS) + 1))


def _client_names(tree: Mapping[str, Any]) -> Iterator[str]:
    """The nodes that producers and consumers are on the network."""
    yield from (f"producer-{name}" for name in _known_producers(tree) or ())
    yield from (f"consumer-{name}" for name in _known_consumers(tree) or ())


def _known_topics(tree: Mapping[str, Any]) -> dict[str, range | None] | None:
    """Topics that the file declares or makes by hand, each with its partitions; None if they are not understood."""
    cluster = tree.get("cluster")
    declared = cluster.get("topics", {}) if isinstance(cluster, dict) else None
    if not isinstance(declared, dict):
        return None
    counts = {str(name): _partition_count(topic) for name, topic in declared.items()}
    for step in _steps(tree.get("timetable")):
        grown = step.get("add-partitions")
        for name, wanted in grown.items() if isinstance(grown, dict) else ():
            before, after = counts.get(name), _last_number(wanted) + 1 if isinstance(wanted, dict) else wanted
            counts[name] = max(before, after) if isinstance(before, int) and isinstance(after, int) else None
        for by_hand in (step.get("zk-create"), step.get("zk-set")):
            path = by_hand.get("path") if isinstance(by_hand, dict) else None
            known = paths.parse(path) if isinstance(path, str) else None
            if known is not None and known.kind is paths.PathKind.TOPIC and known.topic is not None:
                counts[known.topic] = None
    return {name: range(count) if isinstance(count, int) and count > 0 else None for name, count in counts.items()}


def _producers(tree: Mapping[str, Any]) -> Any:
    workload = tree.get("workload", {})
    return workload.get("producers", {}) if isinstance(workload, dict) else None


def _known_producers(tree: Mapping[str, Any]) -> tuple[str, ...] | None:
    """Every producer; None if they are not understood."""
    producers = _producers(tree)
    return tuple(map(str, producers)) if isinstance(producers, dict) else None


def _groups(tree: Mapping[str, Any]) -> Any:
    workload = tree.get("workload", {})
    return workload.get("groups", {}) if isinstance(workload, dict) else None


def _known_groups(tree: Mapping[str, Any]) -> tuple[str, ...] | None:
    """Every consumer group; None if they are not understood."""
    groups = _groups(tree)
    return tuple(map(str, groups)) if isinstance(groups, dict) else None


def _known_consumers(tree: Mapping[str, Any]) -> tuple[str, ...] | None:
    """Every consumer, of all groups; None if they are not understood."""
    groups = _groups(tree)
    if not isinstance(groups, dict):
        return None
    members = [group.get("members") if isinstance(group, dict) else None for group in groups.values()]
    if not all(isinstance(named, list | dict) for named in members):
        return None
    return tuple(str(name) for named in members for name in named or ())


def _endless_producers(tree: Mapping[str, Any]) -> Iterator[str]:
    producers = _producers(tree)
    for name, producer in producers.items() if isinstance(producers, dict) else ():
        if isinstance(producer, dict) and "records" not in producer:
            yield str(name)


def _partition_count(topic: Any) -> int | None:
    if not isinstance(topic, dict):
        return None
    assignment, partitions = topic.get("assignment"), topic.get("partitions")
    count = len(assignment) if isinstance(assignment, dict) else partitions
    return count if isinstance(count, int) else None


def _last_number(assignment: Mapping[Any, Any]) -> int:
    return max((number for number in assignment if isinstance(number, int)), default=-1)


def _names_in(node: Any, key: str = "") -> Iterator[tuple[Any, str, str]]:
    """Yield every text in a step that may be a name: (the mapping it is in, its key, the name)."""
    for part, value in node.items() if isinstance(node, dict) else ():
        if part in FREE_TEXT:
            continue
        for item in value if isinstance(value, list) else [value]:
            if isinstance(item, str):
                yield node, part, item.removeprefix(NOT)
            else:
                yield from _names_in(item)


def _is_several(step: Mapping[str, Any]) -> bool:
    verb = verb_of(step)
    to_whom = step.get(verb) if verb else None
    if isinstance(to_whom, dict):
        to_whom = next(iter(to_whom.values()), None)
    return to_whom == ALL or (isinstance(to_whom, list) and len(to_whom) > 1)
