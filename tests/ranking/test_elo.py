"""Elo's scale: identities of Elo (1978)."""

import numpy as np
import pytest

from camilla.ranking.epp import epp
from camilla.table.tournament import Tournament


@pytest.mark.parametrize("compat", [None, "eloml-glm"])
def test_elo_points_say_what_epp_says(compat):
    """Expected score 1/(1 + 10^(−Δ/400)), mean 1500, 400 points: odds of 10 to 1; not centred by EloML."""
    rng = np.random.default_rng(0)
    scores = rng.normal(size=5)[:, None] + rng.gumbel(size=(5, 40))
    board = epp(Tournament(tuple("abcde"), tuple(map(str, range(40))), scores), compat=compat)
    elo = board.elo()
    rating = elo["elo"].to_numpy()
    assert np.isclose(rating.mean(), 1500)
    test = board.test("a", "b")
    gap = rating[board.place("a")] - rating[board.place("b")]
    assert np.isclose(1 / (1 + 10 ** (-gap / 400)), test.p_win)
    ends = (elo["elo_high"] - elo["elo"]).to_numpy()
    np.testing.assert_allclose(ends, (board.high - board.epp) * 400 / np.log(10))
    assert list(elo["player"]) == list(board.players)
