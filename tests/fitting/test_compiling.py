"""Compiled programs: sizes that are shared, and a folder that is used only where it can be."""

from pathlib import Path

import jax
import pytest

from camilla.fitting.compiling import FOLDER, kept_programs, shared_size


@pytest.mark.parametrize("per_doubling", [1, 2, 4])
def test_shared_sizes_are_few_and_hardly_larger(per_doubling: int) -> None:
    """At least n, at most n (1 + 1/steps), itself shared, and as many to a doubling as asked for."""
    for n in range(1, 3000):
        size = shared_size(n, per_doubling)
        assert n <= size <= max(n, (n - 1) * (1 + 1 / per_doubling) + 1)
        assert shared_size(size, per_doubling) == size
    assert len({shared_size(n, per_doubling) for n in range(1025, 2049)}) == per_doubling


@pytest.fixture
def user_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """JAX as a user has it who gave it no folder."""
    before = getattr(jax.config, FOLDER)
    jax.config.update(FOLDER, None)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    yield tmp_path
    jax.config.update(FOLDER, before)


def test_our_folder_is_used_inside_only(user_cache: Path) -> None:
    with kept_programs():
        inside = Path(getattr(jax.config, FOLDER))
    assert inside.is_dir()
    assert inside.parent == user_cache / "cache" / "camilla"
    assert getattr(jax.config, FOLDER) is None


def test_a_folder_that_cannot_be_made_is_done_without(user_cache: Path) -> None:
    (user_cache / "cache").write_text("a file where a folder would be")
    with kept_programs():
        assert getattr(jax.config, FOLDER) is None


def test_a_folder_that_the_user_gave_stays(user_cache: Path) -> None:
    jax.config.update(FOLDER, str(user_cache / "mine"))
    with kept_programs():
        assert getattr(jax.config, FOLDER) == str(user_cache / "mine")
