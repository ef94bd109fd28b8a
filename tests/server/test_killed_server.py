"""A server that is killed loses nothing that it acknowledged (scripts/kill_server.py)."""

import pytest

import kill_server


@pytest.mark.parametrize("kills", [2, pytest.param(50, marks=pytest.mark.slow)], ids=["twice", "fifty times"])
def test_nothing_acknowledged_is_lost_however_the_server_ends(
    kills: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert kill_server.main(kills, None, seed=kills) == 0, capsys.readouterr().out
