"""EPP over all rounds without an n × n matrix, against the likelihood and against the n × n way."""

import numpy as np
import pytest

from camilla.errors import DataError, SettingError
from camilla.ranking import solve as solving
from camilla.ranking.epp import epp
from camilla.ranking.leaderboard import Leaderboard
from camilla.ranking.matches import AllRounds
from camilla.ranking.solve import separated_groups
from camilla.table.tournament import Tournament


def tournament_of(merit, **settings):
    n, rounds = merit.shape
    return Tournament(
        tuple(f"{i:04d}" for i in range(n)), tuple(f"r{k}" for k in range(rounds)), merit, **settings
    )


def made(n=240, rounds=12, *, missing=0.0, digits=9, seed=0):
    rng = np.random.default_rng(seed)
    merit = np.round(rng.normal(size=n)[:, None] + rng.gumbel(size=(n, rounds)), digits)
    merit[rng.random(merit.shape) < missing] = np.nan
    return merit


def test_expected_wins_are_the_sum_over_players():
    """Σ_j c_j σ(b_i − b_j) written out; the bound on the polynomial's error is the last bit."""
    rng = np.random.default_rng(1)
    for spread in (0.01, 1.0, 4.0):
        b, c = spread * rng.normal(size=300), rng.integers(1, 20, 300).astype(float)
        told = solving.expected_wins(solving.chebyshev(b), b, c)
        direct = (1 / (1 + np.exp(b[None, :] - b[:, None]))) @ c
        np.testing.assert_allclose(told, direct, rtol=2e-13)


@pytest.mark.parametrize("settings", [{}, {"missing": 0.1}, {"digits": 1}, {"missing": 0.2, "digits": 1}])
@pytest.mark.parametrize("prior", [None, 1.0])
@pytest.mark.parametrize("clusters", [None, (0, 0, 0, 1, 1, 2, 2, 2, 2, 3, 4, 5)])
def test_both_ways_agree(settings, prior, clusters, monkeypatch):
    """The n × n way is tested against the definition elsewhere; both are exact to about 1e-12."""
    names = clusters and tuple(map(str, clusters))
    tournament = tournament_of(made(**settings), clusters=names)
    smooth = epp(tournament, matches="all_rounds", prior=prior)
    assert not isinstance(smooth.counted, tuple)
    monkeypatch.setattr(solving, "FEWEST_PLAYERS", 10**9)
    dense = epp(tournament, matches="all_rounds", prior=prior)
    assert isinstance(dense.counted, tuple)
    assert smooth.players == dense.players
    np.testing.assert_allclose(smooth.epp, dense.epp, atol=1e-11)
    np.testing.assert_allclose(smooth.se, dense.se, rtol=1e-9)
    np.testing.assert_allclose(smooth.covariance, dense.covariance, atol=1e-10)
    np.testing.assert_allclose(smooth.fit, dense.fit, rtol=1e-9)
    assert smooth.provenance["matches_played"] == pytest.approx(dense.provenance["matches_played"])


def test_the_gradient_vanishes_at_the_estimate():
    """Wins equal expected wins, both counted pair by pair here."""
    merit = made(missing=0.1, digits=1)
    board = epp(tournament_of(merit), matches="all_rounds")
    order = [int(name) for name in board.players]
    merit = merit[order]
    n = len(merit)
    for i in (0, 7, n // 2, n - 1):
        own = merit[i][np.isfinite(merit[i])]
        wins = expected = 0.0
        for j in range(n):
            if j != i:
                other = merit[j][np.isfinite(merit[j])]
                wins += (own[:, None] > other).sum() + 0.5 * (own[:, None] == other).sum()
                expected += len(own) * len(other) / (1 + np.exp(board.epp[j] - board.epp[i]))
        assert wins == pytest.approx(expected, rel=1e-9)


def test_groups_of_overlapping_scores_are_the_parts_of_the_win_graph():
    rng = np.random.default_rng(2)
    for _ in range(30):
        merit = np.round(3 * rng.normal(size=(8, 1)) + rng.normal(size=(8, 3)), 1)
        record = AllRounds(merit)
        told = sorted(tuple(part) for part in solving.overlapping_groups(record))
        assert told == sorted(tuple(part) for part in separated_groups(record.count()))


def test_a_perfect_winner_over_all_rounds_is_named():
    merit = made()
    merit[17] += 100
    board = epp(tournament_of(merit), matches="all_rounds")
    assert board.players[0] == "0017"
    assert "separated" in board.notes[0]
    with pytest.raises(DataError, match="separated"):
        epp(tournament_of(merit), matches="all_rounds", prior=0)


def test_all_ties_are_refused_without_a_matrix_too():
    with pytest.raises(DataError, match="ties"):
        epp(tournament_of(np.ones((250, 4))), matches="all_rounds")


def test_a_board_over_all_rounds_comes_back_from_its_folder(tmp_path):
    for prior in (None, 1.0):
        board = epp(tournament_of(made(missing=0.1)), matches="all_rounds", prior=prior)
        board.save(tmp_path / f"{prior}")
        again = Leaderboard.load(tmp_path / f"{prior}")
        np.testing.assert_array_equal(again.se, board.se)
        np.testing.assert_array_equal(again.matrix.wins, board.matrix.wins)
        assert again.text() == board.text()


def test_six_thousand_players_have_intervals_and_no_pairs():
    """What needs every pair is left out, and the board says so."""
    board = epp(tournament_of(made(6000, 6)), matches="all_rounds")
    assert np.isfinite(board.se).all()
    assert "left out above 5,000 players" in board.text(players=3)
    with pytest.raises(SettingError, match="rank fewer players"):
        board.test("0000", "0001")
