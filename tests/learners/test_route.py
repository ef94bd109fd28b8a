"""Routes: frontiers against linear programmes and brute force, fits against scipy and scikit-learn."""

import itertools
import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog, minimize
from scipy.special import expit
from scipy.stats import binom
from sklearn.neighbors import KNeighborsRegressor

from camilla.errors import DataError, FormatError, SettingError
from camilla.learners.costs import costs_of
from camilla.learners.expected import Known, fit_expectation
from camilla.learners.expected import _fitted as fitted
from camilla.learners.frontier import Path as FrontierPath
from camilla.learners.frontier import chosen_at, mixture_of, path_of
from camilla.learners.route import route
from camilla.learners.routed import (
    MIXING,
    ORACLE,
    ROUTED,
    Fold,
    Problem,
    cross_fitted,
    curves_of,
    portfolio_order,
    problem_of,
    recovery,
)
from camilla.learners.saved_route import Route
from camilla.statistics.clusters import spread_of
from camilla.statistics.intervals import student
from camilla.table.responses import ResponseTable
from route_worlds import judged, summary

QUIET = {"progress": False}


def swept(score: Any, weak: Any, strong: Any) -> float:
    """APGR by definition: the k samples with the highest scores go to the strong model, k = 0 … n.

    PGR(k) = (accuracy − weak)/(strong − weak); between k/n and (k + 1)/n the curve is straight, as by lot.
    """
    order = np.argsort(-np.asarray(score), kind="stable")
    pgr = []
    for k in range(len(order) + 1):
        answers = np.array(weak, float)
        answers[order[:k]] = np.asarray(strong)[order[:k]]
        pgr.append((answers.mean() - np.mean(weak)) / (np.mean(strong) - np.mean(weak)))
    return float(sum((a + b) / 2 for a, b in itertools.pairwise(pgr)) / len(order))


def two_learners(score: Any, weak: Any, strong: Any, costs: tuple[float, float] = (1.0, 10.0)) -> Problem:
    n = len(weak)
    responses = np.array([weak, strong], float)
    price = np.array(costs)
    return Problem(
        ("weak", "strong"), tuple(map(str, range(n))), responses, price, np.repeat(price[:, None], n, axis=1),
        None, "", np.arange(n), None, np.arange(n), None, -1, (),
    )  # fmt: skip


def one_fold(problem: Problem, score: Any) -> list[Fold]:
    """All samples held out, with q = 0 and the score."""
    expected = np.array([np.zeros(len(score)), score])
    order = np.array([1, 0])
    return [Fold(np.arange(len(score)), expected, None, problem.responses.mean(axis=1), order, order)]


def apgr_of(score: Any, weak: Any, strong: Any, costs: tuple[float, float] = (1.0, 10.0)) -> float:
    problem = two_learners(score, weak, strong, costs)
    folds = one_fold(problem, score)
    found = recovery(problem, folds, curves_of(problem, folds, None), ROUTED)
    assert found is not None
    return found.value


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from([(1.0, 10.0), (0.0, 1.0), (0.6, 20.0)]))
def test_apgr_is_the_area_by_brute_force(seed: int, costs: tuple[float, float]) -> None:
    rng = np.random.default_rng(seed)
    weak, strong = (rng.random(40) < 0.4).astype(float), (rng.random(40) < 0.8).astype(float)
    if strong.mean() <= weak.mean():
        return
    score = rng.normal(size=40)  # half of them negative: the budget is spent all the same
    assert apgr_of(score, weak, strong, costs) == pytest.approx(swept(score, weak, strong), abs=1e-9)


def test_equal_scores_count_as_drawn_by_lot() -> None:
    """The mean of the brute force over all orders of six samples of which some have equal scores."""
    weak, strong = [0, 1, 0, 0, 1, 0], [1, 0, 1, 1, 1, 0]
    score = np.array([0.2, 0.2, 0.2, 0.5, 0.5, -0.1])
    orders = [
        swept(score + 1e-9 * np.argsort(order), weak, strong) for order in itertools.permutations(range(6))
    ]
    assert apgr_of(score, weak, strong) == pytest.approx(np.mean(orders), abs=1e-9)
    assert apgr_of(np.full(6, 0.3), weak, strong) == pytest.approx(0.5)


def test_lots_between_two_learners_recover_half() -> None:
    rng = np.random.default_rng(1)
    weak, strong = (rng.random(60) < 0.4).astype(float), (rng.random(60) < 0.8).astype(float)
    problem = two_learners(strong, weak, strong)
    folds = one_fold(problem, strong)
    found = recovery(problem, folds, curves_of(problem, folds, None), MIXING)
    assert found is not None
    assert found.value == pytest.approx(0.5)


def best_by_programme(expected: Any, costs: Any, budget: float) -> float:
    """The highest mean expected response within the budget, learners mixed as one likes."""
    learners, n = expected.shape
    each = np.kron(np.ones((1, learners)), np.eye(n))  # one learner in all per sample
    found = linprog(
        -expected.ravel(), A_ub=[np.repeat(costs, n)], b_ub=[budget * n], A_eq=each, b_eq=np.ones(n)
    )
    return float(-found.fun / n)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.integers(2, 4))
def test_no_choice_is_better_at_any_budget(seed: int, learners: int) -> None:
    """A linear programme over all choices gets no more than the path; some costs are 0, some equal."""
    rng = np.random.default_rng(seed)
    expected, costs = rng.random((learners, 8)), rng.integers(0, 4, learners).astype(float)
    path = path_of(expected, costs)
    for budget in np.linspace(costs.min(), costs.max(), 5):
        earned = path.earned(expected, np.array([budget]))[0].mean()
        assert earned == pytest.approx(best_by_programme(expected, costs, budget), abs=1e-5)
        spent = costs[chosen_at(expected, costs, path.price(float(budget)))].mean()
        assert spent <= budget + 1e-9


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000))
def test_the_mean_over_budgets_is_that_of_many(seed: int) -> None:
    rng = np.random.default_rng(seed)
    expected, values, costs = rng.random((3, 9)), rng.random((3, 9)), np.array([1.0, 2.0, 5.0])
    path: FrontierPath = path_of(expected, costs, 2)
    many = 1 + 4 * (np.arange(4000) + 0.5) / 4000
    exact = path.mean_over_budgets(values, 1, 5)
    np.testing.assert_allclose(exact, path.earned(values, many).mean(axis=0), atol=2e-4)


def test_lots_are_drawn_between_corners_of_the_hull() -> None:
    """(1, .5), (2, .8), (4, .9); (3, .81) lies under the line, and (5, .7) is dearer and worse."""
    mixture = mixture_of(np.array([0.5, 0.8, 0.81, 0.9, 0.7]), np.array([1.0, 2.0, 3.0, 4.0, 5.0]))
    assert mixture.learners.tolist() == [0, 1, 3]
    np.testing.assert_allclose(
        mixture.weights(np.array([1.5, 3.0]), 5), [[0.5, 0.5, 0, 0, 0], [0, 0.5, 0, 0.5, 0]]
    )


def world(seed: int, n: int = 300) -> tuple[Known, Any]:
    rng = np.random.default_rng(seed)
    x, task = rng.normal(size=(n, 3)), rng.integers(0, 4, n)
    logit = np.array([x[:, 0], -x[:, 0] + 0.5 * x[:, 1], 0.4 * (task - 1.5)])
    responses = (rng.random((3, n)) < expit(logit)).astype(float)
    responses[rng.random((3, n)) < 0.1] = np.nan
    return Known(x, task.astype(np.int64), 4), responses


def test_regression_minimises_its_penalised_loss() -> None:
    """Scipy on the formula: Σ log(1 + e^z) − r z + λ/2 |w|², over the samples that were answered."""
    known, responses = world(1)
    (found,) = fitted(known, responses, [("regression", 10.0)]).values()
    for learner, row in enumerate(responses):
        seen = ~np.isnan(row)

        def loss(w: Any, seen: Any = seen, row: Any = row) -> float:
            z = w[0] + known.x[seen] @ w[1:]
            return float(np.sum(np.logaddexp(0, z) - row[seen] * z) + 5 * np.sum(w[1:] ** 2))

        best = minimize(loss, np.zeros(4), tol=1e-10).x
        np.testing.assert_allclose(np.r_[found.intercept[learner], found.weights[learner]], best, atol=2e-3)


def test_neighbours_are_those_of_scikit_learn() -> None:
    known, responses = world(2)
    responses = np.nan_to_num(responses)
    (found,) = fitted(known, responses, [("neighbours", 10.0)]).values()
    new = Known(np.random.default_rng(3).normal(size=(20, 3)), np.zeros(20, np.int64), 4)
    reference = KNeighborsRegressor(10).fit(known.x, responses.T).predict(new.x).T
    means = responses.mean(axis=1, keepdims=True)
    np.testing.assert_allclose(found.added(new) + means, reference, atol=1e-6)


def test_task_means_are_shrunken_by_their_own_variance() -> None:
    """Two learners that differ by d on a task: half of d each, times τ²/(τ² + σ²/n), σ² and τ² by moments."""
    rng = np.random.default_rng(4)
    task = np.repeat(np.arange(6), 50)
    gap = np.array([0.3, 0.2, 0.0, -0.1, -0.2, -0.2])[task]
    responses = np.array([0.5 + gap / 2 + rng.normal(0, 0.2, 300), 0.5 - gap / 2 + rng.normal(0, 0.2, 300)])
    (found,) = fitted(Known(np.zeros((300, 0)), task, 6), responses, [("tasks", 0.0)]).values()
    half = (responses[0] - responses[0].mean() - responses[1] + responses[1].mean()) / 2
    mean = np.array([half[task == k].mean() for k in range(6)])
    noise = sum(np.sum((half[task == k] - mean[k]) ** 2) for k in range(6)) / (6 * 49) / 50
    between = max(np.mean(mean**2) - noise, 0)
    deviation = found.deviation
    np.testing.assert_allclose(
        (deviation[0] - deviation[1]) / 2, mean * between / (between + noise), atol=1e-9
    )


def test_useless_features_leave_every_sample_alike() -> None:
    """Who is better is drawn by lot: at most a few of twelve fits use what says nothing, and none much."""
    weights = []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        known = Known(rng.normal(size=(300, 4)), np.full(300, -1, np.int64), 0)
        responses = (rng.random((2, 300)) < 0.6).astype(float)
        found = fit_expectation(known, responses, np.arange(300), rng)
        weights.append(sum(found.contrast.values()))
    assert np.mean(np.array(weights) > 0) <= 0.5
    assert np.median(weights) == 0


def test_features_that_tell_who_is_better_are_found() -> None:
    """The true expected responses correlate with those predicted on new samples."""
    known, responses = world(5, 1500)
    fit = fit_expectation(known, responses, np.arange(1500), np.random.default_rng(0))
    new, _ = world(6, 500)
    truth = expit(-new.x[:, 0] + 0.5 * new.x[:, 1]) - expit(new.x[:, 0])
    expected = fit.expected(new)
    assert np.corrcoef(expected[1] - expected[0], truth)[0, 1] > 0.9
    assert fit.tells_apart


def routed_table(seed: int, n: int = 600, effect: float = 1.5) -> tuple[ResponseTable, pl.DataFrame]:
    """Three learners; x says whether a or b is better, and c is a little better than both on average."""
    rng = np.random.default_rng(seed)
    x, noise = rng.normal(size=n), rng.normal(size=n)
    logit = np.array([effect * x, -effect * x, np.full(n, 0.3)])
    table = ResponseTable.from_matrix(
        (rng.random((3, n)) < expit(logit)).astype(float), learners=["a", "b", "c"]
    )
    return table, pl.DataFrame({"sample": table.samples, "x": x, "noise": noise})


def test_no_choice_sees_the_samples_that_judge_it() -> None:
    """Responses in one fold may change as they like: what is expected there stays."""
    table, features = routed_table(1, 200)
    costs = costs_of({"a": 1, "b": 1, "c": 2}, table.learners, table.samples)
    problem = problem_of(table.with_features(samples=features), costs, None, None)
    watch = lambda line: None  # noqa: E731
    before = cross_fitted(problem, 4, 2, ("regression", "neighbours"), 0, watch)
    for number, fold in enumerate(before):
        changed = problem.responses.copy()
        changed[:, fold.inside] = 1 - changed[:, fold.inside]
        after = cross_fitted(
            replace(problem, responses=changed), 4, 2, ("regression", "neighbours"), 0, watch
        )[number]
        np.testing.assert_array_equal(after.expected, fold.expected)
        np.testing.assert_array_equal(after.coverage, fold.coverage)
        np.testing.assert_array_equal(after.portfolio, fold.portfolio)
        np.testing.assert_array_equal(after.means, fold.means)


def test_a_choice_that_pays_is_found_saved_and_applied(tmp_path: Path) -> None:
    """The better of a and b is right with E σ(1.5 |x|) = .737, c with .574; a costs nothing."""
    table, features = routed_table(2, 900)
    found = route(table, features=features, costs={"a": 0, "b": 1, "c": 3}, **QUIET)
    assert found.better
    assert found.answer.startswith("Choosing a learner per sample is better than drawing lots")
    assert found.single == "c"
    rows = found.frontier.filter(pl.col("way") == ROUTED)
    assert rows["quality"][-1] == pytest.approx(0.737, abs=0.045)  # three standard errors
    ends = found.frontier.filter(pl.col("way") == ORACLE)["quality"] - rows["quality"]
    assert ends.min() >= -1e-9  # type: ignore[operator]
    path = found.route.save(tmp_path / "route.json")
    again = Route.load(path)
    chosen = again.choose(features)
    assert chosen.equals(found.route.choose(features).with_columns(chosen["expected"]))
    extremes = again.choose(pl.DataFrame({"sample": ["low", "high"], "x": [-2.0, 2.0], "noise": [0.0, 0.0]}))
    assert extremes["learner"].to_list() == ["b", "a"]
    assert again.choose({"x": 2.0, "noise": 0.1})["learner"].to_list() == ["a"]


def test_without_costs_the_best_single_learner_is_to_be_beaten() -> None:
    table, features = routed_table(3)
    found = route(table, features=features, portfolio=[2], **QUIET)
    assert found.better
    assert found.gain["beyond"] == "best single learner"
    assert found.gain["difference"] == pytest.approx(0.737 - 0.574, abs=0.08)
    row = found.portfolios.row(0, named=True)
    assert row["oracle"] >= row["routed"]
    assert any("no costs were given" in note for note in found.notes)


def test_nothing_is_chosen_by_noise() -> None:
    """Learners as good as each other everywhere: eight worlds, an error rate of 2.5 % upwards."""
    better = 0
    for seed in range(8):
        table, features = routed_table(seed, 200, effect=0.0)
        found = route(table, features=features, portfolio=[], **QUIET)
        better += found.better
        if not found.better:
            assert found.route.way == "single"
            assert "is not shown to be better" in found.answer
            assert set(found.route.choose(features)["learner"]) == {found.route.single}
    assert better <= 1


def test_intervals_of_apgr_cover_it() -> None:
    """Scores stay as they are; 400 tables of 250 samples. Coverage varies by 1.1 points: allow three."""
    rng = np.random.default_rng(7)

    def drawn(n: int) -> tuple[Any, Any, Any]:
        score = rng.normal(size=n)
        weak = (rng.random(n) < expit(0.4 - 0.8 * score)).astype(float)
        strong = (rng.random(n) < expit(1.4 + 0.2 * score)).astype(float)
        return score, weak, strong

    score, weak, strong = drawn(400_000)
    rank = (np.argsort(np.argsort(-score)) + 0.5) / len(score)
    gain = strong - weak
    truth = float(np.sum(gain * (1 - rank)) / gain.sum())
    covered = 0
    for _ in range(400):
        score, weak, strong = drawn(250)
        problem = two_learners(score, weak, strong)
        folds = one_fold(problem, score)
        found = recovery(problem, folds, curves_of(problem, folds, None), ROUTED)
        assert found is not None
        spread = spread_of((found.influence - found.value * found.gap) / found.gap.mean(), None)
        ends = student(found.value, np.sqrt(spread.variance), spread.df)
        covered += bool(ends.low <= truth <= ends.high)
    assert 0.917 <= covered / 400 <= 0.983


TABLES = 40  # of each world


@pytest.mark.slow
@pytest.mark.parametrize(
    "world", ["two learners, strong features, 400 samples", "ten equals, 12 tasks, 400 samples"]
)
def test_intervals_hold_the_gain_of_the_route_of_all_samples(world: str) -> None:
    """The gain on 10,000 samples more, by true chances: fewer than 33 of 40 once in 1,000 runs."""
    found = summary([judged(world, seed) for seed in range(2000, 2000 + TABLES)])
    for figure in (found["gain"], found["middle"]):
        assert figure["held"] >= binom.ppf(0.001, TABLES, 0.95)
    assert found["p_and_interval_disagree"] == 0


@pytest.mark.slow
def test_useless_features_are_called_better_at_most_at_the_error_rate() -> None:
    """At 2.5 % upwards, more than 5 of 40 would come once in 2,000 runs."""
    world = "ten equals, useless features, 400 samples"
    assert summary([judged(world, seed) for seed in range(2000, 2000 + TABLES)])["better"] <= 5


def test_a_cascade_asks_again_where_the_first_is_doubtful() -> None:
    """The first is right on 60 % and knows when, the second, at 5, on 90 %: .96 for 1 + .4 · 5."""
    rng = np.random.default_rng(8)
    first, second = rng.random(800) < 0.6, rng.random(800) < 0.9
    table = ResponseTable.from_matrix(np.array([first, second], float), learners=["quick", "slow"])
    sure = pl.DataFrame({"learner": "quick", "sample": table.samples,
                         "confidence": np.where(first, 0.9, 0.2) + rng.normal(0, 0.02, 800)})  # fmt: skip
    found = route(table, costs={"quick": 1, "slow": 5}, confidence=sure, budget=3.0, **QUIET)
    assert found.better
    assert found.way == "cascade"
    row = found.ways.filter(pl.col("way") == "cascade").row(0, named=True)
    assert row["quality"] == pytest.approx(0.96, abs=0.025)
    asked = found.route.choose({"confidence": 0.9}), found.route.choose({"confidence": 0.2})
    assert [one["learner"][0] for one in asked] == ["quick", "slow"]
    assert [one["cost"][0] for one in asked] == [1, 6]
    assert found.route.choose({"sample": "new"})["learner"].to_list() == ["quick"]  # not asked yet


def test_portfolios_take_who_is_right_where_others_are_wrong() -> None:
    best = np.r_[np.ones(60), np.zeros(40)]
    other = np.r_[np.zeros(55), np.ones(45)]
    assert portfolio_order(np.array([best, best, other]), 3).tolist() == [0, 2, 1]


def test_budget_and_quality_pick_the_point() -> None:
    table, features = routed_table(4)
    costs = {"a": 1, "b": 1, "c": 4}
    by_budget = route(table, features=features, costs=costs, budget=1.0, portfolio=[], **QUIET)
    assert by_budget.budget == 1.0
    assert by_budget.ways.filter(pl.col("way") == ROUTED)["cost"][0] == pytest.approx(1.0)
    by_quality = route(table, features=features, costs=costs, quality=0.7, portfolio=[], **QUIET)
    reached = by_quality.ways.filter(pl.col("way") == ROUTED)["quality"][0]
    assert reached >= 0.7
    with pytest.raises(DataError, match=r"no route reaches a mean response of 0\.99"):
        route(table, features=features, costs=costs, quality=0.99, portfolio=[], **QUIET)
    with pytest.raises(DataError, match=r"a budget of 0\.5 per sample buys no answer"):
        route(table, features=features, costs=costs, budget=0.5, **QUIET)


def unrelated(n: int = 400) -> pl.DataFrame:
    """Four learners whose responses have nothing to do with the five tasks; the second best costs most."""
    rng = np.random.default_rng(0)
    right = {"cheap": 0.5, "middle": 0.7, "good": 0.9, "dear": 0.85}
    names = [f"s{i}" for i in range(n)]
    return pl.concat(
        pl.DataFrame({"learner": name, "sample": names, "response": (rng.random(n) < p).astype(float),
                      "task": [f"t{i % 5}" for i in range(n)]})
        for name, p in right.items()
    )  # fmt: skip


@pytest.mark.parametrize("cost", [1.01, 2.37, 3.31, 4.7])
def test_a_route_to_one_learner_reaches_the_quality(cost: float) -> None:
    """Whatever the learner costs: the budgets that are compared need not be the cost of any learner."""
    table = unrelated()
    mean = table.group_by("learner").agg(pl.col("response").mean())
    means = dict(zip(mean["learner"], mean["response"], strict=True))
    costs = {"cheap": 1, "middle": cost, "good": 4.777, "dear": 10}
    for quality, wanted in ((0.4, "cheap"), (0.68, "middle"), (means["middle"], "middle"), (0.8, "good")):
        found = route(table, costs=costs, quality=quality, methods=["tasks"], partitions=1, **QUIET)
        assert not found.better
        assert (found.route.single, found.route.choose({"task": "t1"})["learner"][0]) == (wanted, wanted)
        assert found.budget >= costs[wanted] - 1e-9
        assert found.learners.filter(pl.col("share") == 1)["learner"].to_list() == [wanted]
        expected = found.route.facts["expected"]
        assert expected["cost"] == pytest.approx(costs[wanted])
        assert expected["quality"] == pytest.approx(means[wanted])


def test_a_route_to_one_learner_is_the_best_within_the_budget() -> None:
    costs = {"cheap": 1, "middle": 2.37, "good": 4.777, "dear": 10}
    for budget, wanted in ((1, "cheap"), (2.36, "cheap"), (2.37, "middle"), (4, "middle"), (20, "good")):
        found = route(unrelated(), costs=costs, budget=budget, methods=["tasks"], partitions=1, **QUIET)
        assert (found.better, found.route.single) == (False, wanted)
        assert found.route.facts["expected"]["cost"] == costs[wanted]


def test_learners_are_compared_on_the_samples_that_all_answered() -> None:
    """b answered the easy half alone: .8 of it, and a .9 of it, but .6 of all."""
    easy, n = np.arange(400) < 200, 400
    rng = np.random.default_rng(1)
    a = (rng.random(n) < np.where(easy, 0.9, 0.3)).astype(float)
    b = np.where(easy, rng.random(n) < 0.8, np.nan)
    table = replace(
        ResponseTable.from_matrix(np.array([a, b]), learners=["a", "b"]),
        task=tuple(f"t{i % 2}" for i in range(n)),
    )
    for aim in ({}, {"budget": 1.0}, {"quality": 0.85}):
        found = route(table, costs={"a": 1, "b": 1}, methods=["tasks"], partitions=1, **aim, **QUIET)
        assert (found.single, found.route.single) == ("a", "a")


@pytest.mark.parametrize("share", [0.55, 0.45], ids=["the first is the better one", "the second is"])
def test_a_cascade_beyond_all_doubt_is_taken(share: float) -> None:
    """The first learner knows when it is wrong, and the other one is right exactly then.

    So p is too small for a number. Where the first is the better one, nothing dearer is, and the cascade
    gains 1 − m on it, m its mean: on new samples with variance m(1 − m)/n.
    """
    rng, n = np.random.default_rng(0), 3000
    first = (rng.random(n) < share).astype(float)
    table = ResponseTable.from_matrix(np.array([first, 1 - first]), learners=["a", "b"])
    table = replace(table, task=tuple(f"t{i % 2}" for i in range(n)))
    sure = pl.DataFrame({"learner": "a", "sample": table.samples, "confidence": first})
    found = route(table, costs={"a": 1, "b": 4}, confidence=sure, methods=["tasks"], partitions=1, **QUIET)
    assert (found.better, found.way, found.route.way) == (True, "cascade", "cascade")
    assert "p < 1e-300" in found.answer
    if share > 0.5:
        spread = math.sqrt(first.mean() * (1 - first.mean()) / n)
        assert found.gain["difference"] == pytest.approx(1 - first.mean())
        assert found.gain["high"] - found.gain["low"] == pytest.approx(2 * 1.96 * spread, rel=0.01)


def test_costs_of_single_answers_are_averaged_and_paid() -> None:
    table, features = routed_table(5, 120)
    rows = table.to_long().select("learner", "sample")
    paid = rows.with_columns(cost=pl.when(pl.col("learner") == "c").then(4.0).otherwise(1.0))
    costs = costs_of(paid, table.learners, table.samples)
    np.testing.assert_allclose(costs.mean, [1, 1, 4])
    found = route(table, features=features, costs=paid, portfolio=[], **QUIET)
    assert found.frontier.filter(pl.col("way") == MIXING)["paid"].max() == pytest.approx(4)


@pytest.mark.parametrize(
    ("costs", "message"),
    [
        ({"a": 1, "b": 2}, r"learner 'c' has no cost"),
        ({"a": 1, "b": -2, "c": 1}, r"the cost of learner 'b' is -2"),
        ({"a": 1, "b": math.nan, "c": 1}, r"the cost of learner 'b' is missing"),
        ({"a": 1, "b": None, "c": 1}, r"the cost of learner 'b' is missing"),
        ("a=1,b=1,d=1", r"learner 'c' has no cost"),
        (pl.DataFrame({"learner": ["a", "b", "c"], "cost": ["1", "", "2"]}), r"learner 'b' is missing"),
        ({"a": 1, "b": "2", "c": 1}, r"the cost of learner 'b' is '2'\. A cost is a number from 0 on"),
        (
            pl.DataFrame({"learner": ["a", "b", "c"], "cost": ["1", "two", "2"]}),
            r"the costs, row 1: column 'cost' contains 'two'; expected a number\. A cost is",
        ),
        (pl.DataFrame({"learner": ["a", "b", "c"], "price": [1, 1, 2]}), r"no column 'cost'"),
        (pl.DataFrame({"learner": ["a", "a", "b", "c"], "cost": [1, 2, 1, 2]}), r"'a' has several costs"),
    ],
)
def test_a_wrong_cost_names_its_learner(costs: Any, message: str) -> None:
    table, features = routed_table(6, 60)
    with pytest.raises(DataError, match=message):
        route(table, features=features, costs=costs, **QUIET)


def test_a_learner_has_one_cost() -> None:
    with pytest.raises(SettingError, match=r"--costs: learner 'a' has two costs\. Keep one\."):
        costs_of("a=1,b=2,a=3", ["a", "b"], ["s"])


def test_costs_of_zero_are_costs() -> None:
    """Where nothing costs anything every budget buys all; where one learner does, it is the weak one."""
    table, features = routed_table(6, 120)
    free = route(table, features=features, costs={"a": 0, "b": 0, "c": 0}, portfolio=[], **QUIET)
    assert (free.gain["beyond"], free.budget, free.apgr.height) == ("best single learner", 0.0, 0)
    one = route(table, features=features, costs={"a": 0, "b": 1, "c": 1}, portfolio=[], **QUIET)
    assert one.weak == "a"
    assert one.frontier["budget"].min() == 0.0


def test_names_are_text_whatever_they_look_like(tmp_path: Path) -> None:
    """Markup and line breaks in names of learners, samples, tasks and features come back as they were."""
    hostile = "<script>alert(1)</script>\nx"
    rng = np.random.default_rng(4)
    task = rng.choice([hostile, "plain"], 300)
    p = np.array([np.where(task == hostile, 0.9, 0.2), np.where(task == hostile, 0.2, 0.9)])
    table = ResponseTable.from_matrix(
        (rng.random((2, 300)) < p).astype(float), learners=[hostile, "b"],
        samples=[f"{hostile}{k}" for k in range(300)],
    )  # fmt: skip
    found = route(replace(table, task=tuple(task.tolist())), portfolio=[], **QUIET)
    again = Route.load(found.route.save(tmp_path / "route.json"))
    assert again.learners == tuple(sorted([hostile, "b"]))
    assert again.choose({"task": hostile})["learner"].to_list() == [hostile]
    assert not [line for line in found.text().splitlines() if line == "x"]  # no name begins a line


def test_what_cannot_be_routed_is_said() -> None:
    table, features = routed_table(6, 60)
    with pytest.raises(DataError, match="nothing is known about samples before they are answered"):
        route(table, **QUIET)
    with pytest.raises(DataError, match="has no row for 10 of 60 samples"):
        route(table, features=features.head(50), **QUIET)
    with pytest.raises(DataError, match="nothing can be learned from them"):
        route(table, features=features.with_columns(x=pl.lit(1.0), noise=pl.lit(2.0)), **QUIET)
    with pytest.raises(DataError, match="10 samples were answered by all 3 learners"):
        route(table.take_samples(np.arange(10)), features=features, **QUIET)
    with pytest.raises(DataError, match="a route chooses between two at least"):
        route(table.take_learners([0]), features=features, **QUIET)
    with pytest.raises(DataError, match="there is one sample, so no feature differs"):
        route(table.take_samples(np.array([0])), features=features.with_columns(other=pl.lit("a")), **QUIET)
    with pytest.raises(DataError, match="column 'x' is empty"):
        route(table, features=features.with_columns(x=pl.lit(math.nan)), **QUIET)
    with pytest.raises(DataError, match="a feature must be a finite number"):
        route(table, features=features.with_columns(x=pl.lit(math.inf)), **QUIET)
    with pytest.raises(DataError, match="has no row for 60 of 60 samples"):
        route(table, features=features.with_columns(sample=pl.lit("q") + pl.col("sample")), **QUIET)
    with pytest.raises(SettingError, match="expected at least 1 partition; got 0"):
        route(table, features=features, partitions=0, **QUIET)
    with pytest.raises(SettingError, match="a budget or a quality, not both"):
        route(table, features=features, budget=1, quality=0.5, **QUIET)
    with pytest.raises(SettingError, match="methods are tasks, regression, neighbours"):
        route(table, features=features, methods=["forest"], **QUIET)
    with pytest.raises(SettingError, match="does nothing without confidence"):
        route(table, features=features, first="a", **QUIET)


def test_a_saved_route_is_checked(tmp_path: Path) -> None:
    table, features = routed_table(2, 400)
    path = route(table, features=features, portfolio=[], **QUIET).route.save(tmp_path / "route.json")
    saved = json.loads(path.read_text())
    saved_route = Route.load(path)
    with pytest.raises(DataError, match="no column 'noise', which the route needs"):
        saved_route.choose(features.drop("noise"))
    assert (
        saved_route.choose(features.with_columns(x=pl.lit(None, pl.Float64))).height == 400
    )  # the mean stands in
    for wrong, message in (
        ({"format": "camilla committee"}, "of version 1"),
        ({"version": 99}, "of version 99"),
        ({"single": "nobody"}, "the route is damaged"),
        ({"means": []}, "the route is damaged"),
        ({"arrays": {}}, "the route is damaged"),
    ):
        path.write_text(json.dumps(saved | wrong))
        with pytest.raises(FormatError, match=message):
            Route.load(path)
    path.write_text("{")
    with pytest.raises(FormatError, match="is not a route"):
        Route.load(path)
    with pytest.raises(SettingError, match=r"written as \.json"):
        saved_route.save(tmp_path / "route.pkl")


def written_by(way: str) -> Route:
    """A route of this way from a number, a category of digits, and a confidence."""
    rng, n = np.random.default_rng(2), 400
    x = rng.normal(size=n)
    right = rng.random((2, n)) < expit(np.array([2 * x, -2 * x]))
    table = replace(
        ResponseTable.from_matrix(right.astype(float), learners=["a", "b"]),
        task=tuple(f"0{i % 2}" for i in range(n)),
    )
    given: dict[str, Any] = {
        "features": pl.DataFrame({"sample": table.samples, "x": x, "code": [f"0{i % 3}" for i in range(n)]})
    }
    if way == "cascade":
        sure = pl.DataFrame({"learner": "a", "sample": table.samples, "confidence": expit(2 * x)})
        given = {"confidence": sure}
    found = route(
        table, costs={"a": 1, "b": 3}, partitions=1, methods=["tasks", "regression"], **given, **QUIET
    )
    assert found.route.way == way
    return found.route


@pytest.mark.parametrize("way", ["by sample", "cascade"])
def test_a_route_whose_numbers_do_not_fit_is_refused_when_it_is_read(way: str, tmp_path: Path) -> None:
    """Not when it is used: then somebody would be told of a product of matrices."""
    path = written_by(way).save(tmp_path / "route.json")
    saved = json.loads(path.read_text())
    weights = saved["arrays"]["regression.weights"]
    turned = saved["arrays"] | {"regression.weights": weights | {"shape": weights["shape"][::-1]}}
    for wrong in (
        {"arrays": turned},
        {"encoder": None},
        {"encoder": saved["encoder"] | {"codings": []}},
        {"means": [*saved["means"], 0.5]},
        {"learners": ["a", "a"], "single": "a", "first": ""},
        {"costs": [1, -3]},
        {"price": -1},
        {"middle": [0, 0]},
    ):
        path.write_text(json.dumps(saved | wrong))
        with pytest.raises(FormatError, match=r"route\.json: the route is damaged: "):
            Route.load(path)
    one = Route("single", ("a", "b"), (1.0, 5.0), 0.0, "a").to_document() | {"means": [0.5]}
    path.write_text(json.dumps(one))
    with pytest.raises(FormatError, match="it has not one mean per learner"):
        Route.load(path)


def test_cells_of_a_file_are_read_as_they_are_written(tmp_path: Path) -> None:
    """007 stays 007, and the code 01 is the 01 that the route was made with."""
    made = written_by("by sample")
    new = pl.DataFrame({"sample": ["007", "8"], "task": ["00", "01"], "x": [0.1, -0.1], "code": ["01", "02"]})
    new.write_csv(tmp_path / "new.csv")
    assert made.choose(tmp_path / "new.csv").equals(made.choose(new))
    assert made.choose(new)["sample"].to_list() == ["007", "8"]


def test_what_a_route_cannot_use_is_said_with_its_place(tmp_path: Path) -> None:
    made, cascade = written_by("by sample"), written_by("cascade")
    path = tmp_path / "new.csv"
    path.write_text("sample,task,x,code\n1,00,0.5,01\n2,00,much,01\n")
    with pytest.raises(DataError, match=r"column 'x' contains numbers, and 'much' in line 3"):
        made.choose(path)
    with pytest.raises(DataError, match=r"new\.csv: no column 'name' that names the samples"):
        made.choose(path, sample="name")
    path.write_text("sample,task,confidence\n1,00,0.5\n2,01,high\n")
    with pytest.raises(DataError, match=r"new\.csv, line 3: column 'confidence' contains 'high'; expected"):
        cascade.choose(path)
    path.write_text("sample,task,confidence\n1,00,inf\n")
    with pytest.raises(DataError, match=r"new\.csv, line 2: column 'confidence' contains inf; expected"):
        cascade.choose(path)


@pytest.mark.parametrize("way", ["by sample", "cascade"])
def test_no_samples_get_no_learners(way: str) -> None:
    none = pl.DataFrame(schema={"task": pl.String, "x": pl.Float64, "code": pl.String})
    assert written_by(way).choose(none).height == 0


def test_missing_responses_help_to_fit_and_do_not_judge() -> None:
    table, features = routed_table(9, 500)
    holes = table.keep(~((table.learner == 0) & (table.sample % 5 == 0)))
    found = route(holes, features=features, portfolio=[], **QUIET)
    assert any("100 samples that some learner did not answer" in note for note in found.notes)
    assert found.better
