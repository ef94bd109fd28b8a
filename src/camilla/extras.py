"""Packages that come with an extra, and what to say where one is not installed."""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import entry_points
from importlib.util import find_spec

from camilla.errors import MissingPackageError

EXTRAS = {
    "jax": "neural",
    "matplotlib": "plots",
    "joblib": "pools",
    "lightgbm": "pools",
    "rdkit": "pools",
    "sklearn": "pools",
    "catboost": "boosting",
    "xgboost": "boosting",
    "ray": "cluster",
    "fastexcel": "excel",
    "psycopg": "server",
    "python_multipart": "server",
    "sqlalchemy": "server",
    "starlette": "server",
    "uvicorn": "server",
}
NEURAL_WORK = "training a neural diagnoser, placing a learner by one, or training as published"
# Where a package is not called what it is imported as.
NAMES = {"sklearn": "scikit-learn", "python_multipart": "python-multipart"}


@contextmanager
def needing(what: str, *, extra: str | None = None) -> Iterator[None]:
    """Wraps imports: a package of an extra that is not installed becomes an error with the line to run.

    what: the work that cannot be done without it, as a subject: "drawing pictures".
    extra: the smallest one that has it for this work, where several do.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        package = str(error.name).partition(".")[0]
        if package not in EXTRAS:
            raise
        name = NAMES.get(package, package)
        raise MissingPackageError(f"{what} needs {name}: {install_line(package, extra)}.") from None


def install_line(package: str, extra: str | None = None) -> str:
    """What to run to have a package, by the name it is imported as."""
    return f"pip install 'camilla[{extra or EXTRAS.get(package, 'pools')}]'"


def may_accelerate() -> bool:
    """Whether JAX is installed with a plugin for something faster than a CPU; JAX is not imported for it."""
    if find_spec("jax") is None:
        return False
    return find_spec("jax_plugins") is not None or bool(entry_points(group="jax_plugins"))
