"""Generated random scenarios: they load, depend on profile and seed alone, and keep to the profile."""

import hashlib
import json
import subprocess
import sys
from collections import Counter

import pytest

from kcsim.brokers.config import PROTOCOL_VERSION
from kcsim.controller.capabilities import PROTOCOL_VERSIONS, Release, is_from, is_known_to
from kcsim.scenarios.explore.generator import SETTLE, Tree, generate
from kcsim.scenarios.explore.profile import Profile, ProfileError, load_profile, profile_names
from kcsim.scenarios.explore.scenario_tree import loaded
from kcsim.scenarios.explore.step_generators import STEP_GENERATORS
from kcsim.scenarios.language.scenario_file import load_text
from kcsim.scenarios.language.steps import VERBS, verb_of
from kcsim.scenarios.language.yaml_text import yaml_text

PATIENCE_S = 600
NEVER_DRAWN = {"wait", "rolling-restart", "zk-recreate"}
"""A wait is no action; a rolling restart waits for replicas that other faults may keep out of sync.

Znodes are deleted and created anew in one transaction by a KRaft controller that takes a cluster over, and by no operator.
"""


def trees(profile: str, seeds: int) -> list[Tree]:
    return [generate(load_profile(profile), seed) for seed in range(seeds)]


def drawn_verbs(tree: Tree) -> list[str | None]:
    """Return the verbs of the generated steps, without the beginning and the idle time at the end."""
    return [verb_of(step) for step in tree["timetable"] if "after" in step and step != SETTLE]


def digests() -> dict[str, str]:
    """Return for every profile the digest of the first scenarios that it generates."""
    return {name: hashlib.sha256(json.dumps(trees(name, 20)).encode()).hexdigest() for name in profile_names()}


@pytest.mark.parametrize("seeds", [4, pytest.param(40, marks=pytest.mark.slow)])
@pytest.mark.parametrize("profile", profile_names())
def test_every_scenario_drawn_is_the_one_that_its_file_loads_as(profile: str, seeds: int) -> None:
    for tree in trees(profile, seeds):
        assert load_text(yaml_text(tree), "drawn.yaml").scenario == loaded(tree).scenario


@pytest.mark.slow
def test_the_same_seed_gives_the_same_scenario_in_another_process() -> None:
    """The other process has another hash seed, so that a dependence on the order of a set would show."""
    code = "from tests.scenarios.explore.test_generator import digests; print(digests())"
    other = subprocess.run(
        [sys.executable, "-c", code],
        env={"PYTHONHASHSEED": "7"},
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )

    assert other.stdout.strip() == str(digests()), other.stderr


def test_seeds_are_drawn_apart_from_each_other() -> None:
    assert len({json.dumps(tree["timetable"]) for tree in trees("standard", 50)}) == 50


@pytest.mark.slow
def test_the_profile_all_comes_to_everything_that_a_timetable_can_do() -> None:
    done = {verb_of(step) for tree in trees("all", 300) for step in tree["timetable"]}

    assert set(VERBS) - done == NEVER_DRAWN - done


def test_a_profile_draws_only_what_it_has_weights_for() -> None:
    profile = load_profile("standard").with_weights({**dict.fromkeys(STEP_GENERATORS, 0), "kill": 3, "start": 1})
    done = Counter(verb for seed in range(30) for verb in drawn_verbs(generate(profile, seed)))

    assert set(done) == {"kill", "start"}


def test_spans_are_kept_to() -> None:
    profile = load_profile("standard").model_copy(update={"brokers": (2, 2), "steps": (5, 7), "topics": (3, 3)})
    drawn = [generate(profile, seed) for seed in range(30)]

    assert {tree["cluster"]["brokers"] for tree in drawn} == {2}
    assert {len(tree["cluster"]["topics"]) for tree in drawn} == {3}
    assert {len(drawn_verbs(tree)) for tree in drawn} == {5, 6, 7}


def test_a_record_that_only_the_leader_had_to_have_may_be_lost() -> None:
    """With acks=0 or acks=1 the loss of records is not judged; with acks=all it is."""
    excepted = {
        tree["workload"]["producers"]["writer"]["settings"]["acks"]: "invariants" in tree
        for tree in trees("network", 60)
        if "producers" in tree.get("workload", {})
    }

    assert excepted == {"all": False, "1": True, "0": True}


def test_some_are_left_as_they_are_and_given_time() -> None:
    """Invariants at quiescence with dead brokers are judged only in scenarios that end with idle time, without recovery."""
    ends = {("afterwards" in tree, tree["timetable"][-1] == SETTLE) for tree in trees("standard", 60)}

    assert ends == {(True, False), (False, True)}


def test_clusters_have_the_protocol_versions_of_their_profile() -> None:
    def versions(profile: Profile) -> set[str]:
        settings = [generate(profile, seed)["cluster"]["settings"] for seed in range(30)]
        return {one["inter.broker.protocol.version"] for one in settings}

    standard = load_profile("standard")
    assert versions(standard) == {"2.8"}
    assert versions(standard.model_copy(update={"protocol_versions": ["2.6", "2.8"]})) == {"2.6", "2.8"}
    assert versions(standard.model_copy(update={"protocol_versions": ["2.7"]})) == {"2.7"}


def test_a_cluster_is_upgraded_to_what_its_oldest_release_knows_and_never_back() -> None:
    """An operator raises the protocol version when all brokers have a release that knows it."""
    profile = load_profile("upgrade")
    raised = set()
    for seed in range(40):
        tree = generate(profile, seed)
        oldest = Release(tree["cluster"]["release"])
        first = tree["cluster"]["settings"][PROTOCOL_VERSION]
        changes = [step for step in tree["timetable"] if "release" in step]
        assert all(is_from(step["release"], oldest) for step in changes)
        for broker in range(1, tree["cluster"]["brokers"] + 1):
            own = [step for step in changes if f"broker-{broker}" in (step.get("start"), step.get("restart"))]
            versions = [first, *(step["settings"][PROTOCOL_VERSION] for step in own)]
            assert versions == sorted(versions, key=PROTOCOL_VERSIONS.index)
            assert all(is_known_to(version, oldest) for version in versions)
            raised.add(versions[0] != versions[-1])
    assert raised == {True, False}


# --- profiles --------------------------------------------------------------------------------------------------------------


def test_every_profile_has_the_name_of_its_file() -> None:
    assert [load_profile(name).name for name in profile_names()] == profile_names()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("weights: {kil: 4}", "weights: unknown step 'kil'; did you mean kill?"),
        ("weights: {kill: much}", "weights: kill: 'much' is no weight, which is a whole number from 0 on"),
        ("weights: {kill: 0}", "weights: all weights are 0"),
        ("brokers: [5, 3]\nweights: {kill: 1}", "brokers: [5, 3] is no span; write [least, most]"),
        ("broker: [3, 5]\nweights: {kill: 1}", "broker: unknown key; did you mean brokers?"),
        (
            "protocol-versions: [2.8, 2.5]\nweights: {kill: 1}",
            "protocol-versions.1: 2.5 is no value of inter.broker.protocol.version, which is a release from 2.6 to 3.9",
        ),
        ("releases: [2.7]\nweights: {kill: 1}", "releases.0: 2.7 is no release of Kafka that is simulated: 2.8 to 3.9"),
        (
            "releases: [3.9, 2.8]\nprotocol-versions: [3.0]\nweights: {kill: 1}",
            "releases: Kafka 2.8 knows none of the protocol versions",
        ),
        ("protocol-versions: []\nweights: {kill: 1}", "protocol-versions: List should have at least 1 item"),
        ("weights: {kill: 1", "not YAML: "),
    ],
)
def test_a_profile_that_is_wrong_says_where(tmp_path_factory: pytest.TempPathFactory, change: str, message: str) -> None:
    file = tmp_path_factory.mktemp("profile") / "mine.yaml"
    file.write_text(f"name: mine\ndescription: Mine.\n{change}\n")

    with pytest.raises(ProfileError) as error:
        load_profile(str(file))

    assert f"{file}: {message}" in str(error.value)


def test_a_mistyped_profile_is_refused_with_the_nearest() -> None:
    with pytest.raises(ProfileError, match=r"no profile 'standart'; did you mean standard\?"):
        load_profile("standart")


def test_a_weight_of_an_unknown_step_generator_is_refused() -> None:
    profile: Profile = load_profile("standard")

    with pytest.raises(ProfileError, match="unknown step 'eat'"):
        profile.with_weights({"eat": 4})
