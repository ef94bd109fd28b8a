"""Where the processes of an experiment run changes none of its rows."""

import pytest

import camilla
from camilla.errors import SettingError


@pytest.mark.parametrize("backend", ["threading", "ray"])
def test_backends_give_the_same_rows(backend: str) -> None:
    if backend == "ray":
        pytest.importorskip("ray")
    table = camilla.simulate(10, 40, seed=1).table
    here = camilla.experiment("reliability", table, diagnosers=["vanilla"], seeds=(1, 21))
    there = camilla.experiment(
        "reliability", table, diagnosers=["vanilla"], seeds=(1, 21), jobs=2, backend=backend
    )
    assert here.drop("seconds").equals(there.drop("seconds"))


def test_a_backend_that_joblib_does_not_have_is_refused() -> None:
    table = camilla.simulate(10, 40, seed=1).table
    with pytest.raises(SettingError, match="no backend 'cloud'"):
        camilla.experiment("reliability", table, diagnosers=["vanilla"], seeds=(1,), backend="cloud")
