"""Steps drawn from seeds: equal seeds give equal steps; every generator is used, and each plan is a valid recording."""

import json
import subprocess
import sys
from collections import Counter

import pytest

from tests.conformance.replayed.random_plans import BROKERS, STEPS, TOPICS, plan
from tests.conformance.replayed.shapes import VERBS, check_recording

SEEDS = range(300)
NOT_DRAWN = {"reassign"}  # it would often be refused: reassign_if_free is drawn instead


def verbs(seed: int) -> list[str]:
    return [verb for step in plan(seed).steps for verb in step.do if verb in VERBS]


def test_the_same_seed_gives_the_same_steps() -> None:
    assert [plan(seed) for seed in SEEDS] == [plan(seed) for seed in SEEDS]


@pytest.mark.parametrize("hash_seed", ["1", "2"])
def test_whatever_the_order_of_hashes(hash_seed: str) -> None:
    program = "from tests.conformance.replayed.random_plans import plan; print([plan(s).text() for s in range(40)])"
    done = subprocess.run([sys.executable, "-c", program], env={"PYTHONHASHSEED": hash_seed}, capture_output=True, text=True)
    assert done.stdout.strip() == str([plan(seed).text() for seed in range(40)])


def test_different_seeds_give_different_steps() -> None:
    assert len({plan(seed).text() for seed in SEEDS}) == len(SEEDS)


@pytest.mark.parametrize("seed", range(50))
def test_what_is_drawn_can_be_read_as_a_recording(seed: int) -> None:
    drawn = plan(seed)
    check_recording(json.loads(drawn.text()))
    assert drawn.brokers[0] == 1
    assert len(drawn.brokers) in BROKERS
    assert STEPS[0] <= len(drawn.steps) <= STEPS[1] + 2


def test_every_verb_is_drawn() -> None:
    drawn = Counter(verb for seed in SEEDS for verb in verbs(seed))
    assert {*VERBS} - drawn.keys() == NOT_DRAWN


@pytest.mark.parametrize("seed", range(50))
def test_never_are_all_brokers_down(seed: int) -> None:
    """At least one broker has to run to process the next step."""
    up = {*plan(seed).brokers}
    for step in plan(seed).steps:
        for verb in ("kill", "term", "pause", "bounce"):
            up -= {step.do[verb]} if verb in step.do else set()
        for verb in ("kill_together", "term_together"):
            up -= {*step.do.get(verb, ())}
        for verb in ("start", "resume"):
            up |= {step.do[verb]} if verb in step.do else set()
        assert up


def test_only_topics_that_can_be_there_are_grown_or_deleted() -> None:
    named = {step.do["delete"] for seed in SEEDS for step in plan(seed).steps if "delete" in step.do}
    assert named == {*TOPICS}
