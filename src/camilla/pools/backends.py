"""Where fits run: any joblib backend, a Ray cluster among them."""

from collections.abc import Iterator
from contextlib import contextmanager

from camilla.errors import SettingError


@contextmanager
def parallel(backend: str) -> Iterator[None]:
    """The backend joblib uses inside the block; `ray` joins the cluster of RAY_ADDRESS or starts one."""
    import joblib

    if backend == "ray":
        try:
            from ray.util.joblib import register_ray
        except ImportError:
            raise SettingError("the backend ray wants pip install 'camilla[cluster]'.") from None
        register_ray()
    try:
        joblib.parallel_config(backend=backend).unregister()
    except ValueError:
        raise SettingError(
            f"joblib has no backend {backend!r}; loky, threading, multiprocessing or ray were wanted."
        ) from None
    with joblib.parallel_config(backend=backend):
        yield
