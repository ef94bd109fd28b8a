"""What JAX compiles for our fits: kept for the next process, and shared by tables of like size."""

import hashlib
import os
import platform
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from camilla.extras import NEURAL_WORK, needing

with needing(NEURAL_WORK):
    import jax
    from jax.experimental.compilation_cache import compilation_cache

FOLDER = "jax_compilation_cache_dir"
KEPT: dict[str, object] = {  # what takes a tenth of a second to compile is worth a file
    "jax_persistent_cache_min_compile_time_secs": 0.1,
    "jax_persistent_cache_min_entry_size_bytes": 0,
}


def shared_size(n: int, per_doubling: int = 4) -> int:
    """The least size ≥ n that code is compiled for; of four to a doubling: 1 to 8, 10, 12, 14, 16, 20, …"""
    if n <= 2 * per_doubling:
        return n
    step = 2 ** (int(n - 1).bit_length() - per_doubling.bit_length())
    return -(-n // step) * step


@contextmanager
def kept_programs() -> Iterator[None]:
    """Inside, compiled programs are read from and written to the user's cache folder.

    A folder that the user gave JAX stays in use. Where ours cannot be written nothing is kept.
    """
    folder = None if getattr(jax.config, FOLDER) else _folder()
    if folder is None:
        yield
        return
    before = {name: getattr(jax.config, name) for name in (FOLDER, *KEPT)}
    try:
        _use({FOLDER: str(folder)} | KEPT)
        yield
    finally:
        _use(before)


@contextmanager
def on(device: str) -> Iterator[None]:
    """Inside, JAX computes on the CPU if that was asked for, else where it would."""
    with jax.default_device(jax.devices("cpu")[0] if device == "cpu" else None):
        yield


def _use(settings: dict[str, object]) -> None:
    for name, value in settings.items():
        jax.config.update(name, value)  # type: ignore[no-untyped-call]
    compilation_cache.reset_cache()


def _folder() -> Path | None:
    """One folder per JAX and kind of CPU, for programs hold instructions that another CPU may lack."""
    try:
        folder = _user_cache() / "camilla" / f"jax-{jax.__version__}-{_cpu()}"
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return folder
    except (OSError, RuntimeError):  # RuntimeError: there is no home
        return None


def _user_cache() -> Path:
    if given := os.environ.get("XDG_CACHE_HOME"):
        return Path(given)
    if sys.platform == "win32" and (local := os.environ.get("LOCALAPPDATA")):
        return Path(local)
    return Path.home() / ("Library/Caches" if sys.platform == "darwin" else ".cache")


def _cpu() -> str:
    said = [platform.machine(), platform.processor()]
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
        said += sorted({line for line in lines if line.startswith(("model name", "flags", "Features"))})
    except OSError:
        pass
    return hashlib.sha256("\n".join(said).encode()).hexdigest()[:12]
