"""Rounds that depend on each other: clusters count once, and intervals are by cluster."""

import numpy as np
import polars as pl
import pytest
from scipy.stats import t as student

from camilla.errors import DataError, SettingError
from camilla.ranking.epp import epp
from camilla.ranking.matches import AllRounds, Clustered, SameRound
from camilla.reading.tournaments import Columns, read_tournaments
from camilla.statistics.wald import differences
from camilla.table.tournament import Tournament
from epp_designs import DESIGNS, coverage, world


@pytest.mark.parametrize("folds", [(5,) * 10, (1, 2, 4, 8, 10)])
def test_pairs_are_covered_where_rounds_as_independent_are_not(folds):
    """60 worlds: the coverage's own spread is under .008 (measured over 300: .002–.003); allow three."""
    clustered, pooled, _ = coverage(folds, worlds=60, seed=5)
    assert 0.92 < clustered.share < 0.975
    assert pooled.share < 0.85


@pytest.mark.slow
@pytest.mark.parametrize("name", DESIGNS)
def test_300_worlds_cover_between_93_5_and_96_5_percent(name):
    clustered, _, _ = coverage(DESIGNS[name], worlds=300, seed=1)
    assert 0.935 < clustered.share < 0.965


def test_two_players_have_the_textbook_interval_of_cluster_means():
    """Two players: b̂ = logit of the mean over clusters of each cluster's win rate p̄. By the delta method its
    variance is Σ(p_c − p̄)²/(G(G − 1)) / (p̄(1 − p̄))², read with t on G − 1 degrees of freedom."""
    wins = {"a": [1, 1, 0, 1], "b": [1, 0], "c": [0, 1, 0, 1, 1], "d": [1], "e": [0, 1, 1]}
    rounds = [(task, k, won) for task, results in wins.items() for k, won in enumerate(results)]
    scores = np.array([[won for *_, won in rounds], [0.5] * len(rounds)], float)
    board = epp(
        Tournament(
            ("x", "y"),
            tuple(f"{task} {k}" for task, k, _ in rounds),
            scores,
            clusters=tuple(task for task, *_ in rounds),
        )
    )
    rates = np.array([np.mean(results) for results in wins.values()])
    mean, n = rates.mean(), len(rates)
    se = np.sqrt(((rates - mean) ** 2).sum() / (n * (n - 1))) / (mean * (1 - mean))
    test = board.test("x", "y")
    assert test.difference == pytest.approx(np.log(mean / (1 - mean)), abs=1e-9)
    assert test.se == pytest.approx(se, rel=1e-9)
    assert board.critical == pytest.approx(student.ppf(0.975, n - 1))


def test_equal_folds_leave_the_estimate_alone():
    made = world((4,) * 6, np.random.default_rng(0), n=8)
    plain = Tournament(made.tournament.players, made.tournament.rounds, made.tournament.scores)
    np.testing.assert_allclose(epp(made.tournament).epp, epp(plain).epp, atol=1e-8)


def test_a_fold_copied_many_times_adds_nothing():
    """Each task counts once, however often its only fold is repeated."""
    made = world((1,) * 8, np.random.default_rng(1), n=6)
    t = made.tournament
    copies = np.repeat(np.arange(8), [1, 5, 2, 9, 1, 3, 4, 2])
    rounds = tuple(f"copy {k}" for k in range(len(copies)))
    clusters = tuple(t.clusters[k] for k in copies)
    repeated = Tournament(t.players, rounds, t.scores[:, copies], clusters=clusters)
    for matches in ("same_round", "all_rounds"):
        once, often = epp(t, matches=matches), epp(repeated, matches=matches)
        np.testing.assert_allclose(often.epp, once.epp, atol=1e-8)
        np.testing.assert_allclose(often.se, once.se, rtol=1e-7)


@pytest.mark.parametrize("kind", [SameRound, AllRounds])
def test_residuals_are_the_derivative_of_the_score_in_a_clusters_weight(kind):
    """The score Σ_j w_ij − m_ij p_ij is linear (within rounds) or quadratic (across) in the weights, so that
    a central difference is exact but for rounding."""
    rng = np.random.default_rng(2)
    merit = rng.normal(size=(5, 7))
    merit[rng.random(merit.shape) < 0.1] = np.nan
    record = Clustered(kind(merit), np.array([0, 0, 1, 1, 1, 2, 2]))
    b = rng.normal(size=5)
    p = 1 / (1 + np.exp(b[None, :] - b[:, None]))

    def score(weights):
        wins, played = record.count(weights)
        return (wins - played * p).sum(axis=1)

    for c in range(3):
        step = 0.1 * np.eye(3)[c]
        slope = (score(1 + step) - score(1 - step)) / 0.2
        np.testing.assert_allclose(record.residuals(b)[:, c], slope, atol=1e-9)


def test_fewer_than_three_clusters_have_no_intervals():
    made = world((5, 5), np.random.default_rng(3), n=4)
    board = epp(made.tournament)
    assert board.covariance is None
    assert any("lie in 2 clusters" in note and "at least 3" in note for note in board.notes)


def long_frame(n_tasks=4, n_folds=3):
    rng = np.random.default_rng(4)
    return pl.DataFrame(
        [
            {"framework": f, "task": f"t{t}", "fold": k, "result": rng.normal()}
            for f in ("a", "b", "c")
            for t in range(n_tasks)
            for k in range(n_folds)
        ]
    )


@pytest.mark.parametrize("round_", ["task,fold", "fold"])
def test_a_file_with_task_and_fold_columns(round_, tmp_path):
    """The round may be named with or without the task; the cluster tells folds of different tasks apart."""
    path = tmp_path / "amlb.csv"
    long_frame().write_csv(path)
    columns = Columns(player="framework", round=round_, score="result", cluster="task")
    tournament = read_tournaments(path, columns)[""]
    assert len(tournament.rounds) == 12
    assert sorted(set(tournament.clusters)) == ["t0", "t1", "t2", "t3"]
    board = epp(tournament)
    assert board.provenance["clusters"] == 4
    assert board.rounds_df == 3
    assert "12 rounds in 4 clusters" in board.text()


def test_task_and_fold_without_cluster_is_warned_of():
    frame = long_frame()
    rounds = {"player": "framework", "score": "result"}
    board = epp(Tournament.from_long(frame, round=["task", "fold"], **rounds))
    assert any("look like folds of 4 tasks" in note for note in board.notes)


@pytest.mark.parametrize(
    ("rounds", "warned"),
    [
        (["task1_fold3", "task1_fold4", "task2_fold3", "task2_fold4"], True),
        (["adult/0", "adult/1", "bank/0", "bank/1"], True),
        (["kc1-fold-0", "kc1-fold-1", "pc4-fold-0", "pc4-fold-1"], True),
        (["adult fold 1", "adult fold 2", "bank fold 1", "bank fold 2"], True),
        (["fold 1", "fold 2", "fold 3", "fold 4"], False),
        (["task_1", "task_2", "task_3", "task_4"], False),
        (["cifar10", "cifar100", "mnist", "svhn"], False),
        (["boolq", "copa", "rte", "wic"], False),
    ],
)
def test_names_of_folds_are_recognised(rounds, warned):
    scores = np.random.default_rng(0).normal(size=(3, len(rounds)))
    board = epp(Tournament(("a", "b", "c"), tuple(rounds), scores), prior=1)
    assert any("look like folds" in note for note in board.notes) is warned


def test_clusters_that_do_not_fit_are_refused():
    with pytest.raises(DataError, match="got 1 clusters for 2 rounds"):
        Tournament(("a", "b"), ("r", "s"), np.eye(2), clusters=("c",))
    made = world((2,) * 4, np.random.default_rng(0), n=4).tournament
    with pytest.raises(SettingError, match="EloML knows no clusters"):
        epp(made, compat="eloml-glm")
    with pytest.raises(DataError, match="name them in both"):
        made.append(Tournament(made.players, ("x", "y"), np.zeros((4, 2))))


def test_a_newcomers_interval_is_by_cluster_too():
    """Folds of a task repeat each other: its error is larger than with rounds as independent."""
    from camilla.ranking.newcomer import place_newcomer

    made = world((4,) * 8, np.random.default_rng(6), n=6)
    t = made.tournament
    copy = dict(zip(t.rounds, t.scores[2], strict=True))
    plain = Tournament(t.players, t.rounds, t.scores)
    errors = [place_newcomer(epp(one), one.with_player("new", copy), "new") for one in (t, plain)]
    assert errors[0].se > 1.2 * errors[1].se


def test_bootstrapped_clusters_agree_with_the_sandwich():
    """20 tasks, 6 players: both estimate the same variance, drawn 800 times; refits add to it."""
    made = world((3,) * 20, np.random.default_rng(7), n=6)
    sandwich, drawn = epp(made.tournament), epp(made.tournament, se="bootstrap", replicates=800)
    upper = np.triu_indices(6, 1)
    ratio = (
        differences(drawn.epp, drawn.covariance).se[upper]
        / differences(sandwich.epp, sandwich.covariance).se[upper]
    )
    assert 0.85 < np.median(ratio) < 1.3
