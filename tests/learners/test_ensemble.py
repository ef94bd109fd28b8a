"""Committees: votes counted by hand, weights against Bayes, choices that never see what judges them."""

import itertools
import json
import math
from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.stats import binom, binomtest

from camilla.errors import DataError, FormatError, SettingError
from camilla.learners.committee import Committee
from camilla.learners.ensemble import ensemble
from camilla.learners.votes import (
    Ballots,
    Choice,
    by_accuracy,
    crossfit,
    err_together,
    greedy,
    log_odds,
    tally,
    weights_of,
)
from camilla.statistics.paired import PairedResponses, over_splits
from camilla.table.responses import ResponseTable


def random_ballots(rng: np.random.Generator, learners: int, samples: int, answers: int = 4) -> Ballots:
    """A right answer per sample, 0, which half of the learners give; some have no answer."""
    answer = np.where(rng.random((learners, samples)) < 0.5, 0, rng.integers(0, answers, (learners, samples)))
    answer[rng.random(answer.shape) < 0.1] = -1
    credit = np.zeros((samples, answers))
    credit[:, 0] = 1
    return Ballots(answer.astype(np.int32), credit, answers)


def counted_by_hand(ballots: Ballots, members: list[int], weights: list[float], sample: int) -> float:
    """Votes in a dictionary; of tied answers the one met first."""
    votes: dict[int, float] = defaultdict(float)
    for member, weight in zip(members, weights, strict=True):
        if ballots.answer[member, sample] >= 0:
            votes[int(ballots.answer[member, sample])] += weight
    if not votes:
        return math.nan
    most = max(votes.values())
    return float(ballots.credit[sample, next(a for a, total in votes.items() if total > most - 1e-9)])


@settings(max_examples=30)
@given(st.integers(0, 10_000), st.integers(1, 6))
def test_votes_are_those_counted_by_hand(seed: int, size: int) -> None:
    rng = np.random.default_rng(seed)
    ballots = random_ballots(rng, 6, 15)
    members = rng.permutation(6)[:size]
    weights = rng.choice([0.5, 1.0, 1.5, 2.0], size)  # ties on purpose
    expected = [counted_by_hand(ballots, members.tolist(), weights.tolist(), j) for j in range(15)]
    np.testing.assert_array_equal(tally(ballots, Choice(members, weights)), expected)


@settings(max_examples=30)
@given(st.integers(0, 10_000), st.integers(1, 6))
def test_right_and_wrong_alone_give_a_lower_bound(seed: int, size: int) -> None:
    """The same committee, its answers known and only known to be right or wrong."""
    rng = np.random.default_rng(seed)
    ballots = random_ballots(rng, 6, 40)
    choice = Choice(rng.permutation(6)[:size], rng.uniform(0.1, 2, size))
    right = np.where(ballots.answer < 0, -1, ballots.answer == 0).astype(np.int32)
    bound = tally(Ballots(right, np.tile([0.0, 1.0], (40, 1)), 2), choice)
    exact = tally(ballots, choice)
    known = ~np.isnan(exact)
    np.testing.assert_array_equal(known, ~np.isnan(bound))
    assert (bound[known] <= exact[known]).all()


def test_votes_by_log_odds_are_bayes_rule() -> None:
    """All 2⁵ outcomes of independent members: no rule is right more often than the larger likelihood."""
    p = np.array([0.9, 0.7, 0.6, 0.6, 0.6])
    outcomes = np.array(list(itertools.product([0, 1], repeat=5)))
    likelihood = np.prod(np.where(outcomes == 1, p, 1 - p), axis=1)
    best = np.maximum(likelihood, likelihood[::-1]).sum() / 2  # the other answer is the complement
    n = 100_000  # so that (right + 1)/(n + 2) is p
    credits = np.array([np.arange(n) < round(n * one) for one in p], float)
    ballots = Ballots(outcomes.T.astype(np.int32), np.tile([0.0, 1.0], (32, 1)), 2)
    reached = likelihood @ tally(ballots, Choice(np.arange(5), log_odds(credits, 2)))
    assert reached == pytest.approx(best, abs=1e-12)
    assert likelihood @ tally(ballots, Choice(np.arange(5), np.ones(5))) < best - 0.005


def able_ballots(rng: np.random.Generator) -> Ballots:
    """Five learners that err on the same tenth of 200 samples: odds far beyond what votes earn."""
    wrong = rng.random((5, 200)) < np.where(rng.random(200) < 0.1, 0.5, 0.005)
    answer = np.where(wrong, rng.integers(1, 10, (5, 200)), 0).astype(np.int32)
    return Ballots(answer, np.tile(np.eye(10)[0], (200, 1)), 10)


@pytest.mark.parametrize("able", [False, True])
def test_learned_weights_maximise_their_posterior(able: bool) -> None:
    """Scipy on the formula: Σ log of the softmax of votes at the right answer, prior N(s w₀, (s w̄₀/2)²).

    Of able learners whole steps of Newton's method go to and fro between two weights.
    """
    rng = np.random.default_rng(2)
    ballots = able_ballots(np.random.default_rng(0)) if able else random_ballots(rng, 4, 80)
    credits = ballots.credits()
    found = weights_of("learned", ballots, credits, np.arange(len(credits)))
    by_odds = log_odds(credits, ballots.n_classes)

    def loss(weights: Any) -> float:
        total = 0.0
        for column in ballots.answer.T:
            answers = sorted({int(a) for a in column if a >= 0})
            if 0 in answers:
                votes = [weights[column == a].sum() for a in answers]
                total += np.logaddexp.reduce(votes) - votes[answers.index(0)]
        return float(total)

    scale = minimize(lambda s: loss(s[0] * by_odds) + (s[0] - 1) ** 2 / 2, [1.0], tol=1e-10).x[0]
    prior = scale * by_odds
    penalty = (prior.mean() / 2) ** -2 / 2
    expected = minimize(lambda w: loss(w) + penalty * np.sum((w - prior) ** 2), prior, tol=1e-10).x
    np.testing.assert_allclose(found, expected, rtol=2e-4)


def test_greedy_takes_who_is_right_where_others_are_wrong() -> None:
    """The second best is a copy of the best; a weaker one is right on all that the best misses."""
    best = np.r_[np.ones(60), np.zeros(40)]
    other = np.r_[np.zeros(55), np.ones(45)]
    credits = np.array([best, best, other])
    assert greedy(credits, by_accuracy(credits), 3).tolist() == [0, 2, 1]


@pytest.mark.parametrize("vote", ["majority", "log-odds", "learned"])
def test_no_choice_sees_the_samples_that_judge_it(vote: str) -> None:
    """What stands in one half may change as it likes: the choice that is judged there stays."""
    rng = np.random.default_rng(4)
    ballots = random_ballots(rng, 8, 60)
    judged = np.random.default_rng([0, 0]).permutation(60) % 2 == 0  # how the first half is dealt
    changed = ballots.answer.copy()
    changed[:, judged] = rng.permutation(changed[:, judged])
    one, other = (
        crossfit(some, np.arange(60), [3], [vote], splits=1, seed=0, watch=lambda line: None)
        for some in (ballots, ballots._replace(answer=changed))
    )
    assert one.halves[0].best == other.halves[0].best
    np.testing.assert_array_equal(one.halves[0].choices[3].members, other.halves[0].choices[3].members)
    np.testing.assert_array_equal(one.halves[0].choices[3].weights, other.halves[0].choices[3].weights)
    assert not np.array_equal(one.chosen[0][judged], other.chosen[0][judged], equal_nan=True)


def equals(seed: int, learners: int = 12, samples: int = 240) -> ResponseTable:
    """Every weighted committee is exactly as good as every learner: q(.7) + q(.3) = 1 = .7 + .3."""
    rng = np.random.default_rng(seed)
    p = rng.choice([1.0, 0.7, 0.3], samples, p=[0.7, 0.15, 0.15])
    return ResponseTable.from_matrix((rng.random((learners, samples)) < p).astype(float))


def test_a_pool_of_equals_has_no_better_committee() -> None:
    """At a rate of at most 2.5 %, three of three tables would fail once in 60,000 runs."""
    verdicts = [ensemble(equals(s), sizes=[3], splits=3, two_answers=True, seed=s) for s in range(3)]
    assert not all(one.better for one in verdicts)
    calm = next(one for one in verdicts if not one.better)
    assert calm.answer.startswith("No committee is shown to be better than the best single learner")
    assert calm.committee.members == (calm.single,)


def test_a_vote_of_everybody_that_is_better_is_said() -> None:
    """21 learners of .6 that err independently: all are right with probability .83, three with .65.

    The true gains are 23 and 5 points, with standard errors of about 4 on 200 samples.
    """
    rng = np.random.default_rng(0)
    table = ResponseTable.from_matrix((rng.random((21, 200)) < 0.6).astype(float))
    found = ensemble(table, sizes=[3], splits=3, two_answers=True)
    row = found.ways.row(-1, named=True)
    assert not found.better
    assert (row["way"], row["holm_p"] < 0.05) == ("all 21 learners", True)
    assert f"Settled beforehand, a vote of all 21 learners is (Holm-adjusted p = {row['holm_p']:.2g})" in (
        found.answer
    )


def test_learners_that_never_err_do_not_err_together() -> None:
    found = ensemble(ResponseTable.from_matrix(np.ones((4, 40))), sizes=[3], splits=1)
    assert found.pairs["correlation"].null_count() == 3
    assert "err together most" not in found.text()


@pytest.mark.slow
def test_committees_among_equals_are_called_better_at_most_at_the_error_rate() -> None:
    """100 tables at 2.5 %: 8 or more would come once in 350 runs."""
    better = sum(ensemble(equals(s), sizes=[3, 5], two_answers=True, seed=s).better for s in range(100))
    assert better <= binom.ppf(0.997, 100, 0.025)


def test_independent_learners_are_condorcets() -> None:
    """Majorities of 3 and 9 learners that are right with .7: .784 and .901, inside 95 % intervals."""
    rng = np.random.default_rng(0)
    table = ResponseTable.from_matrix((rng.random((12, 1500)) < 0.7).astype(float))
    found = ensemble(table, sizes=(3, 9), vote="majority", splits=4, two_answers=True)
    assert found.better
    assert len(found.committee.members) == 9
    for size in (3, 9):
        truth = binom.sf(size // 2, size, 0.7)
        row = found.ways.filter(pl.col("size") == size).row(0, named=True)
        assert row["low"] < truth < row["high"]
        assert row["difference_low"] < truth - 0.7 < row["difference_high"]
    assert found.epp["kind"][0] == "committee"


def test_the_p_value_over_splits_is_their_median() -> None:
    """Three splits with 3, 5 and 9 of 12 flips won: the median is the binomial test of 3 (or 9) of 12."""
    pairs = []
    for won in (3, 5, 9):
        a = np.r_[np.zeros(won), np.ones(12 - won), np.ones(30)]
        b = np.r_[np.ones(won), np.zeros(12 - won), np.ones(30)]
        pairs.append(PairedResponses(np.arange(42), a, b, np.full(42, np.nan), None, 0, 0))
    found = over_splits(pairs, 0.95)
    expected = sorted(binomtest(won, 12).pvalue for won in (3, 5, 9))[1]
    assert found.p_value == pytest.approx(expected)
    assert found.difference == pytest.approx(np.mean([2 * won - 12 for won in (3, 5, 9)]) / 42)
    assert over_splits(pairs[:1], 0.95).p_value == pytest.approx(binomtest(3, 12).pvalue)


def answers_table(seed: int = 0, learners: int = 6, samples: int = 120) -> ResponseTable:
    rng = np.random.default_rng(seed)
    labels = rng.choice(["cat", "dog", "owl"], samples)
    skill = np.linspace(0.5, 0.8, learners)
    predictions = {
        f"m{i}": np.where(rng.random(samples) < skill[i], labels, rng.choice(["cat", "dog", "owl"], samples))
        for i in range(learners)
    }
    return ResponseTable.from_predictions(predictions, labels)


def test_the_order_of_learners_and_samples_does_not_matter() -> None:
    table = answers_table()
    rng = np.random.default_rng(9)
    turned = table.take_learners(rng.permutation(6)).take_samples(rng.permutation(120))
    one, other = (ensemble(some, sizes=[3], splits=2) for some in (table, turned))
    assert one.ways.equals(other.ways)
    assert one.chosen.members == other.chosen.members


def test_clusters_stay_together_and_are_what_is_tested() -> None:
    table = replace(answers_table(), cluster=tuple(f"c{j // 4}" for j in range(120)))
    found = ensemble(table, sizes=[3], splits=2)
    assert found.test == "Student's t over clusters"


def test_errors_together_are_counted_by_hand() -> None:
    """Both wrong on 3 of 10 with the same answer twice; on 2 of the 3 the third is wrong as well."""
    answer = np.array([[0, 0, 0, 0, 0, 0, 1, 1, 1, 1], [0, 0, 0, 0, 0, 0, 0, 1, 1, 2],
                       [0, 0, 0, 0, 0, 0, 0, 1, 2, 0]], np.int32)  # fmt: skip
    credit = np.tile([1.0, 0.0, 0.0], (10, 1))
    found = err_together(Ballots(answer, credit, 3), 0, 1)
    assert (found.n, found.both_wrong, found.same) == (10, 3, 2)
    assert found.by_chance == pytest.approx(10 * 0.4 * 0.3)
    assert found.correlation == pytest.approx((0.3 - 0.12) / math.sqrt(0.24 * 0.21))
    # pairs of wrong learners that agree: 3 of 3, 1 of 3, 0 of 1
    assert found.same_by_chance == pytest.approx(1 + 1 / 3 + 0)


def test_a_saved_committee_answers_as_it_did(tmp_path: Path) -> None:
    committee = Committee(("a", "b", "c"), (1.0, 0.5, 0.75), "learned", {"note": "x"})
    again = Committee.load(committee.save(tmp_path / "committee.json"))
    assert again.to_document() == committee.to_document()
    said = {"a": [1, 2, None, None], "b": ["1", "3", "4", None], "c": [3, 3, 5, None], "d": [9, 9, 9, 9]}
    found = again.apply(said)
    assert found["answer"].to_list() == ["1", "3", "5", None]
    assert found["share"].to_list() == pytest.approx([1.5 / 2.25, 1.25 / 2.25, 0.75 / 1.25, None])
    assert found["voters"].to_list() == [3, 3, 2, 0]
    by_sample = [again.answer({name: column[j] for name, column in said.items()}) for j in range(4)]
    assert by_sample == found["answer"].to_list()


@pytest.mark.parametrize("answers", [(True, True, False), (7.0, 7, "7"), ("x", "y", "y")])
def test_one_sample_and_many_are_answered_alike(answers: tuple[Any, ...]) -> None:
    committee = Committee(("a", "b", "c"), (1.0, 1.0, 1.0))
    one = dict(zip("abc", answers, strict=True))
    many = committee.apply({name: [value] for name, value in one.items()})
    assert many["answer"].to_list() == [committee.answer(one)]


def test_no_answers_are_no_table() -> None:
    with pytest.raises(DataError, match="the answers contain no sample"):
        Committee(("a", "b"), (1.0, 1.0)).apply({"a": [], "b": []})


def test_long_and_wide_answers_and_tables_give_the_same() -> None:
    table = answers_table()
    committee = ensemble(table, sizes=[3], splits=2).chosen
    long = table.to_long().select("learner", "sample", "answer")
    wide = long.pivot("learner", index="sample", values="answer")
    found = committee.apply(table).sort("sample")
    assert committee.apply(long).sort("sample").equals(found)
    assert committee.apply(pd.DataFrame(wide.to_dict(as_series=False))).sort("sample").equals(found)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "is not a committee"),
        ('{"members": []}', "is not a committee"),
        ('{"format": "camilla committee", "version": 9, "vote": "majority", "members": []}', "version 9"),
        ('{"format": "other", "version": 1, "vote": "majority", "members": []}', "'other'"),
        ('{"format": "camilla committee", "version": 1, "vote": "majority", "members": []}', "0 members"),
        (
            '{"format": "camilla committee", "version": 1, "vote": "x", '
            '"members": [{"learner": "a", "weight": -1}]}',
            "numbers from 0 on",
        ),
    ],
)  # fmt: skip
def test_a_damaged_committee_is_refused(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "committee.json"
    path.write_text(text)
    with pytest.raises(FormatError, match=message):
        Committee.load(path)


def test_answers_that_cannot_be_voted_on_are_refused() -> None:
    committee = Committee(("a", "b"), (1.0, 1.0))
    with pytest.raises(DataError, match="no answer: 'b'"):
        committee.apply({"a": [1], "c": [2]})
    with pytest.raises(DataError, match="one answer per sample"):
        committee.apply({"a": [1], "b": [2, 3]})
    with pytest.raises(DataError, match="nor one column per member"):
        committee.apply(pl.DataFrame({"x": [1]}))
    twice = pl.DataFrame({"learner": ["a", "a", "b"], "sample": ["1", "1", "1"], "answer": ["x", "y", "x"]})
    with pytest.raises(DataError, match="two answers to sample '1'"):
        committee.apply(twice)
    with pytest.raises(SettingError, match="more than once"):
        Committee(("a", "a"), (1.0, 1.0))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"sizes": []}, "whole numbers from 2 on"),
        ({"sizes": [1]}, "whole numbers from 2 on"),
        ({"vote": "loud"}, "vote is one of majority"),
        ({"splits": 0}, "at least one split"),
        ({"level": 1.0}, "level must lie between"),
        ({"two_answers": True}, "the table contains the answers"),
    ],
)
def test_settings_that_do_not_fit_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingError, match=message):
        ensemble(answers_table(), **settings)


def test_tables_that_cannot_be_voted_on_are_refused() -> None:
    rng = np.random.default_rng(0)
    with pytest.raises(DataError, match="scores and no answers"):
        ensemble(ResponseTable.from_matrix(rng.random((5, 40))))
    with pytest.raises(DataError, match="2 learners answered"):
        ensemble(equals(0).take_learners([0, 1]))
    with pytest.raises(DataError, match="10 samples with answers"):
        ensemble(equals(0).take_samples(np.arange(10)))
    with pytest.raises(DataError, match="leave nothing to choose"):
        ensemble(equals(0).take_learners([0, 1, 2]), sizes=[3])


def test_right_and_wrong_alone_are_said_to_be_a_bound() -> None:
    found = ensemble(equals(1), sizes=[3, 20], splits=2)
    assert not found.exact
    assert "shown to be better" in found.answer or "at least" in found.answer
    assert "lower bound" in " ".join(found.notes)
    assert "committees of 20 are left out" in " ".join(found.notes)
    assert found.pairs["same"].null_count() == found.pairs.height
    assert json.loads(json.dumps(found.to_document()))["exact"] is False


def test_a_response_without_an_answer_stands_alone_and_trials_vote_once() -> None:
    """m0's empty answers, which were wrong, count as wrong: they are not left out of its accuracy."""
    table = answers_table()
    assert table.answer is not None
    mine = pl.Series(table.learner == 0) & pl.Series(table.response == 0)
    blank = pl.select(pl.when(mine).then(None).otherwise(table.answer)).to_series()
    found = ensemble(replace(table, answer=blank), sizes=[3], splits=1)
    whole = ensemble(table, sizes=[3], splits=1)
    assert found.ways["accuracy"][0] == whole.ways["accuracy"][0]
