"""The properties that every analysis guarantees of its table."""

import re
from collections.abc import Callable

import pytest
from pyspark.sql import DataFrame

from kcsim.scenarios.analysis.analyses.catalogue import ANALYSES
from kcsim.scenarios.analysis.analyses.history_tables import HistoryTables
from tests.scenarios.analysis.analyses.conftest import made_of


@pytest.mark.slow
@pytest.mark.parametrize("name", ANALYSES)
def test_a_table_has_the_columns_that_are_documented(
    history: HistoryTables, computed: Callable[[str], DataFrame], name: str
) -> None:
    """The names, types and order of --describe are those of the table itself, before anything is cast."""
    table = computed(name)
    types = {field.name: field.dataType.simpleString() for field in table.schema}
    promised = {field.name: field.type for field in ANALYSES[name].fields}
    assert {name: kind for name, kind in types.items() if name in promised} == promised
    assert made_of(name, table).table(history).columns == list(promised)


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
