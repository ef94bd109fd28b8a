"""One response that is a fraction makes a table fractional; counts go on above 255 and 65,535."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import polars as pl
import pytest

from camilla import check, rank, split
from camilla.learners.compare import compare_two
from camilla.names import name_index
from camilla.ranking.matches import AllRounds, SameRound
from camilla.statistics.agreement import pair_agreement
from camilla.table.cells import zero_or_one
from camilla.table.examples import simulate
from camilla.table.responses import ResponseTable


@pytest.fixture
def exact():
    return simulate(6, 40, seed=3).table


@pytest.fixture
def almost(exact):
    """The same table; the last response of one learner is 0.5."""
    response = exact.response.copy()
    response[np.flatnonzero(exact.learner == 2)[-1]] = 0.5
    return replace(exact, response=response)


def test_one_fraction_of_one_learner_makes_the_table_fractional(exact, almost):
    assert exact.is_binary
    assert not almost.is_binary
    assert almost.take_learners([0, 1, 3, 4, 5]).is_binary
    assert not almost.take_learners([2]).is_binary
    assert zero_or_one(almost.response).sum() == len(almost.response) - 1


def test_what_depends_on_it_agrees(exact, almost):
    said = [" ".join(one.says for one in check(table).findings) for table in (exact, almost)]
    assert "right/wrong" in said[0]
    assert "fractional" in said[1]
    tests = [compare_two(table, *table.learners[1:3]).overall.test for table in (exact, almost)]
    assert tests[0] == "exact McNemar"
    assert "McNemar" not in tests[1]
    assert compare_two(almost, *almost.learners[3:5]).overall.test == "exact McNemar"


def test_only_the_learner_with_the_fraction_leaves_wilsons_interval(exact, almost):
    """Wilson (1927): the interval of a proportion p of n is centred at (p + z²/2n) / (1 + z²/n)."""
    z, n = 1.959963984540054, 40
    rows = {row["learner"]: row for row in rank(almost).rows.to_dicts()}
    for i, name in enumerate(almost.learners):
        p = almost.matrix()[i].mean()
        centre = (p + z * z / (2 * n)) / (1 + z * z / n)
        middle = (rows[name]["low"] + rows[name]["high"]) / 2
        assert (abs(middle - centre) < 1e-9) == (i != 2)


def test_missing_is_neither_right_nor_wrong():
    np.testing.assert_array_equal(
        zero_or_one(np.array([0.0, 1.0, -0.0, 0.5, np.nan, np.nextafter(1, 0)])),
        [True, True, True, False, False, False],
    )


@pytest.mark.parametrize("n_parts", [3, 127, 128, 129, 256, 300])
def test_a_table_can_be_split_into_many_parts(n_parts):
    """Each thing falls into exactly one part, and sizes differ by at most one."""
    table = simulate(600, 3, seed=0).table
    parts = split(table, by="learner", proportions=[1] * n_parts)
    names = [name for part in parts for name in part.learners]
    assert sorted(names) == sorted(table.learners)
    sizes = [part.n_learners for part in parts]
    assert max(sizes) - min(sizes) <= 1
    cells = split(table, by="cell", proportions=[1] * n_parts)
    assert sum(part.n_responses for part in cells) == table.n_responses


@pytest.mark.parametrize("n_samples", [255, 256, 257, 600, 70_000])
def test_pairs_are_counted_over_any_number_of_samples(n_samples):
    """a beats b on all samples but the last two, which b wins and nobody wins."""
    a = np.ones(n_samples)
    b = np.zeros(n_samples)
    a[-2:], b[-2:] = (0, 0), (1, 0)
    found = pair_agreement(np.stack([a, b]), None, np.ones((n_samples, 1), bool))
    share = Fraction(n_samples - 2, n_samples - 1)
    assert found.wins[0, 0, 1] == pytest.approx(float(share), rel=1e-15)
    assert found.wins[0, 1, 0] == pytest.approx(float(1 - share), rel=1e-9)


@pytest.mark.parametrize("n_rounds", [255, 256, 65_535, 65_536, 70_001])
def test_matches_are_counted_over_any_number_of_rounds(n_rounds):
    """The first wins every round but one, which is a tie."""
    merit = np.stack([np.ones(n_rounds), np.zeros(n_rounds)])
    merit[1, 0] = 1
    wins, played = SameRound(merit).count()
    assert wins.tolist() == [[0, n_rounds - 0.5], [0.5, 0]]
    assert played.tolist() == [[0, n_rounds], [n_rounds, 0]]
    weighted = SameRound(merit[:, :2]).count(np.array([1, n_rounds]))
    assert weighted.wins.tolist() == [[0, n_rounds + 0.5], [0.5, 0]]


@pytest.mark.parametrize("n_rounds", [256, 16_000])
def test_every_score_against_every_score_is_counted_beyond_32_bits(n_rounds):
    """All scores of one are above all of the other: R² wins."""
    merit = np.stack([np.arange(n_rounds) + 1e6, np.arange(n_rounds)]).astype(float)
    weights = np.full(n_rounds, 3)
    wins, _ = AllRounds(merit).count(weights)
    assert wins.tolist() == [[0, (3 * n_rounds) ** 2], [0, 0]]


def test_trials_beyond_255_are_counted():
    n = 300
    frame = {"learner": ["a", "b"] * n, "sample": ["x"] * (2 * n), "response": [1, 0] * n}
    table = ResponseTable.from_long(pl.DataFrame(frame))
    assert table.trial.max() == n - 1
    assert table.cells().weight.tolist() == [n, n]


def test_a_name_index_finds_every_name():
    names = [f"n{i}" for i in range(1000)]
    index = name_index(names)
    assert [index[name] for name in names] == list(range(1000))
