"""What every analysis promises about its table."""

import re

import pytest

from kcsim.scenarios.replay.analyses.catalogue import ANALYSES
from kcsim.scenarios.replay.analyses.history import History


@pytest.mark.parametrize("name", ANALYSES)
def test_a_table_has_the_columns_that_are_documented(history: History, name: str) -> None:
    """Names, types and order, as --describe tells them: of the table itself, before anything is cast."""
    analysis = ANALYSES[name]
    computed = {field.name: field.dataType.simpleString() for field in analysis.compute(history).schema}
    promised = {field.name: field.type for field in analysis.fields}
    assert {name: kind for name, kind in computed.items() if name in promised} == promised
    assert analysis.table(history).columns == list(promised)


@pytest.mark.parametrize("name", ANALYSES)
def test_every_analysis_says_what_it_answers_what_it_counts_and_what_each_column_means(name: str) -> None:
    analysis = ANALYSES[name]
    assert analysis.name == name
    assert analysis.question.endswith("?")
    assert len(analysis.definition) > 40
    assert all(field.meaning for field in analysis.fields)
    assert all(field.unit == "ms" or "× ms" in field.unit for field in analysis.fields if re.search(r"_ms$", field.name))


@pytest.mark.parametrize("name", ANALYSES)
def test_a_listing_is_sorted_by_columns_that_are_there(name: str) -> None:
    analysis = ANALYSES[name]
    assert {column.removeprefix("-") for column in analysis.worst_first} <= {field.name for field in analysis.fields}
