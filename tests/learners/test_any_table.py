"""Laws that hold on any table, however small, gappy or constant."""

import json

import numpy as np
import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from camilla.display import _finite
from camilla.errors import CamillaError
from camilla.learners.check import check
from camilla.learners.compare import compare
from camilla.learners.rank import rank
from camilla.table.responses import ResponseTable

RESPONSES = st.sampled_from([0.0, 1.0, 1.0, 0.5, None])


@st.composite
def tables(draw: st.DrawFn) -> ResponseTable:
    """Up to 5 learners, 12 samples, 2 trials; gaps, tasks and clusters."""
    n_learners, n_samples, trials = draw(st.integers(2, 5)), draw(st.integers(1, 12)), draw(st.integers(1, 2))
    size = n_learners * n_samples * trials
    responses = draw(st.lists(RESPONSES, min_size=size, max_size=size))
    frame = pl.DataFrame(
        {
            "learner": [f"m{i}" for i in range(n_learners) for _ in range(n_samples * trials)],
            "sample": [f"s{j}" for _ in range(n_learners) for j in range(n_samples) for _ in range(trials)],
            "response": responses,
        },
        schema_overrides={"response": pl.Float64},
    )
    k = draw(st.integers(1, 4))
    place = pl.col("sample").str.slice(1).cast(pl.Int64)
    roles = {"task": "task"} | ({"cluster": "cluster"} if draw(st.booleans()) else {})
    frame = frame.with_columns(task=(place % 2).cast(pl.String), cluster=(place % k).cast(pl.String))
    return ResponseTable.from_long(frame, **roles)


@given(tables())
def test_comparisons_hold_their_difference_or_are_refused(table: ResponseTable) -> None:
    try:
        found = compare(table, "m0", "m1")
    except CamillaError:
        return
    json.dumps(_finite(found.to_document()), allow_nan=False)
    for effect in (found.overall, *found.tasks):
        assert 0 < effect.p_value <= 1
        assert effect.won + effect.lost <= effect.n
        if not np.isnan(effect.low):
            assert -1 <= effect.low <= effect.difference <= effect.high <= 1
            assert effect.low < effect.high


@given(tables())
def test_boards_hold_their_means_and_pairs_mirror_each_other(table: ResponseTable) -> None:
    try:
        found = rank(table)
    except CamillaError:
        return
    json.dumps(_finite(found.to_document(pairs=True)), allow_nan=False)
    assert (found.told_apart == found.told_apart.T).all()
    assert not found.told_apart.diagonal().any()
    rows = found.rows.drop_nulls()
    assert ((rows["low"] <= rows["mean"] + 1e-12) & (rows["mean"] <= rows["high"] + 1e-12)).all()
    assert ((rows["rank_low"] >= 1) & (rows["rank_low"] <= rows["rank_high"])).all()
    assert (rows["rank_high"] <= len(found.learners)).all()
    together = np.eye(len(found.learners), dtype=bool)
    for tied in found.ties:
        assert not found.told_apart[np.ix_(tied, tied)].any()
        together[np.ix_(tied, tied)] = True
    assert (together | found.told_apart).all()


@given(tables())
def test_checks_say_something_of_any_table_with_responses(table: ResponseTable) -> None:
    try:
        found = check(table)
    except CamillaError:
        assert table.n_responses == 0
        return
    json.dumps(_finite(found.to_document()), allow_nan=False)
    assert all(finding.says for finding in found.findings)
