"""The page of a what-if: it has the answers of the table, needs no network, and escapes names that are markup."""

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from kcsim.scenarios.snapshots.snapshot_format import ControlPlaneSnapshot, SnapshotBroker
from kcsim.scenarios.what_if.loss_ranking import effect_of, ranked
from kcsim.scenarios.what_if.losses import any_losses
from kcsim.scenarios.what_if.what_if_page import answer_page, ranking_page
from kcsim.scenarios.what_if.what_if_run import Loss, WhatIfQuestion, ask_what_if
from tests.accessibility import violations
from tests.chromium import Chromium, find_chromium
from tests.requirements import require
from tests.scenarios.analysis.report.synthetic_contents import HOSTILE
from tests.scenarios.analysis.report.test_page import ADDRESSES, Read
from tests.scenarios.what_if.test_what_if_run import CLUSTER

RACK_B = WhatIfQuestion((Loss("rack b", (2, 3)),))
SIZES = ((1280, 800, False), (390, 844, True))


def page_of_rack_b(cluster: ControlPlaneSnapshot = CLUSTER, everything: bool = False) -> str:
    return answer_page(cluster, RACK_B, ask_what_if(cluster, RACK_B), everything)


def page_of_any_1(cluster: ControlPlaneSnapshot = CLUSTER) -> str:
    question = WhatIfQuestion(settings={"unclean.leader.election.enable": True})
    losses = any_losses(1, cluster).losses
    effects = ranked([effect_of(cluster, question, loss) for loss in losses])
    return ranking_page(cluster, question, ask_what_if(cluster, replace(question, returns=False)).steps, effects, 2, False)


def hostile_cluster() -> ControlPlaneSnapshot:
    """Return a cluster whose source and racks are markup. Topics cannot be."""
    brokers = tuple(SnapshotBroker(broker.id, broker.epoch, HOSTILE) for broker in CLUSTER.brokers)
    return msgspec.structs.replace(CLUSTER, source=HOSTILE, brokers=brokers)


def test_each_step_has_its_column_its_partitions_and_its_brokers() -> None:
    read = Read(page_of_rack_b())
    head, *rows = read.rows["steps"]
    assert head == ["after", "the snapshot", "rack b lost", "the lost brokers are back"]
    table = {name: cells for name, *cells in rows}
    assert table["partitions offline"] == ["1", "2", "1"]
    assert table["below min.insync.replicas"] == ["1", "2", "0"]
    assert read.rows["partitions-step-2"] == [
        ["partition", "what", "led by, before", "led by, now", "ISR"],
        ["orders-2", "offline", "broker-3, rack b", "-", "3 (min 2)"],
        ["orders-3", "offline", "-", "-", "4 (min 2)"],
        ["orders-0", "below min.insync.replicas", "broker-1, rack a", "broker-1, rack a", "1 (min 2)"],
        ["orders-1", "below min.insync.replicas", "broker-1, rack a", "broker-1, rack a", "1 (min 2)"],
        ["clicks-0", "led by another broker", "broker-2, rack b", "broker-1, rack a", "1 (min 1)"],
    ]
    text = " ".join(read.texts)
    assert "broker-1, rack a\nas before: 2, in addition: 1, no longer: 0" in text
    assert "broker-2, rack b\nas before: 0, in addition: 0, no longer: 1" in text
    assert "broker-1, rack a\nbytes led: 150 B" in text
    assert "Sizes of 3 of 5 partitions are not known." in text


def test_each_loss_of_a_ranking_has_its_figures_and_unfolds_to_its_partitions() -> None:
    """With unclean elections allowed, the loss of broker 1 loses records of the partition of which it has the only ISR."""
    read = Read(page_of_any_1())
    items = [attributes for name, attributes in read.elements if name == "li" and "data-rank" in attributes]
    assert [(item["data-rank"], item["data-offline"], item["data-unclean"]) for item in items] == [
        ("1", "1", "0"),
        ("2", "0", "1"),
        ("3", "0", "0"),
        ("4", "0", "0"),
    ]
    assert [
        "orders-1",
        "unclean elections: records are lost; led by another broker",
        "broker-1, rack a",
        "broker-3, rack b",
    ] in (read.rows["partitions-loss-2"])
    text = " ".join(read.texts)
    assert "losses tried, each alone; 2 more were not drawn" in text
    assert "Settings of all brokers: unclean.leader.election.enable=True." in text


def test_the_page_is_bounded_unless_everything_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kcsim.scenarios.what_if.what_if_page.PARTITIONS_SHOWN", 2)
    monkeypatch.setattr("kcsim.scenarios.what_if.what_if_page.LOSSES_SHOWN", 1)
    assert len(Read(cut := page_of_rack_b()).rows["partitions-step-2"]) == 1 + 2
    assert "3 more partitions: --all." in cut
    assert len(Read(page_of_rack_b(everything=True)).rows["partitions-step-2"]) == 1 + 5
    assert "3 more losses, none of them worse: --all." in page_of_any_1()


@pytest.mark.parametrize("page", [page_of_rack_b, page_of_any_1])
def test_names_that_are_markup_are_text_and_nothing_leads_out_of_the_page(
    page: Callable[[ControlPlaneSnapshot], str],
) -> None:
    text = page(hostile_cluster())
    read = Read(text)
    addresses = [value for _, attributes in read.elements for name, value in attributes.items() if name in ADDRESSES]
    assert all((address or "").startswith("#") for address in addresses)
    assert not re.search(r"<script src|@import|\bfetch\(|XMLHttpRequest", text)
    assert HOSTILE.replace("\u202e", "\N{REPLACEMENT CHARACTER}") in " ".join(read.texts)
    names = [attributes["id"] for _, attributes in read.elements if "id" in attributes]
    assert len(names) == len(set(names))


# --- in a browser


@pytest.fixture(scope="module")
def chromium() -> Iterator[Chromium]:
    require("chromium")
    with Chromium(find_chromium()) as browser:
        yield browser


@pytest.mark.slow
@pytest.mark.parametrize(("width", "height", "dark"), SIZES)
def test_the_losses_are_sorted_as_chosen_and_no_rule_of_accessibility_is_violated(
    chromium: Chromium, tmp_path: Path, width: int, height: int, dark: bool
) -> None:
    """The sort is by what the list shows; losses that are as bad as each other stay in the order of the ranking."""
    file = tmp_path / "losses.html"
    file.write_text(page_of_any_1(hostile_cluster()), encoding="utf-8")
    order = "[...document.querySelectorAll('.losses > li')].map(item => Number(item.dataset[KEY]))"
    with chromium.open(file.as_uri(), width, height, dark=dark) as tab:
        ranks = tab.evaluate(order.replace("KEY", "'rank'"))
        tab.evaluate(
            "{const box = document.querySelector('#sort select'); "
            "box.value = 'leaders'; box.dispatchEvent(new Event('change'))}"
        )
        leaders = tab.evaluate(order.replace("KEY", "'leaders'"))
        assert leaders == sorted(leaders, reverse=True)
        assert tab.evaluate(order.replace("KEY", "'rank'")) != ranks
        tab.evaluate("for (const each of document.querySelectorAll('.losses details')) each.open = true")
        assert tab.evaluate("document.documentElement.scrollWidth") == width
        assert tab.complaints == []
        require("axe")
        assert violations(tab) == []
