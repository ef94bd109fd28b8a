"""Stores of both kinds, and servers over them in this process."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import postgres
import pytest
from board_worlds import NUMBER, SETTINGS, Live, world
from starlette.testclient import TestClient

import camilla
from camilla.server.application import Application
from camilla.server.boards import add_benchmark, restrict
from camilla.server.guard import Limits
from camilla.server.refitting import RefitPolicy, Worker
from camilla.server.routes import Site
from camilla.server.sessions import Sessions
from camilla.server.store import Store
from camilla.server.views import Boards


@pytest.fixture(scope="session")
def small_diagnosis(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The world's diagnosis, saved."""
    folder = tmp_path_factory.mktemp("small") / "small"
    return camilla.diagnose(world(), "camilla-base", **SETTINGS).save(folder)


@pytest.fixture(scope="session")
def postgres_socket() -> Iterator[str]:
    if why := postgres.missing():
        pytest.skip(why)
    with postgres.started() as socket:
        yield socket


@pytest.fixture
def new_place(tmp_path: Path, request: pytest.FixtureRequest) -> Callable[[str], str]:
    """The address of a store that is not there yet, by kind."""

    def place(kind: str) -> str:
        if kind == "sqlite":
            return str(tmp_path / f"store{next(NUMBER)}.db")
        socket = request.getfixturevalue("postgres_socket")
        return postgres.new_database(socket, f"camilla_{next(NUMBER)}")

    return place


def _unsaid(event: str, **values: Any) -> None:
    """A log that nobody reads."""


@pytest.fixture
def live(small_diagnosis: Path, tmp_path: Path) -> Iterator[Callable[..., Live]]:
    """Starts servers over new SQLite stores, or over the store of an address."""
    ends: list[Callable[[], None]] = []

    def start(
        place: str | None = None, *, limits: Limits | None = None, secret: Any = False,
        least_share: float | None = None, folder: Path | None = None,
        log: Callable[..., None] = _unsaid, **settings: Any,
    ) -> Live:  # fmt: skip
        store = Store(place or str(tmp_path / f"live{next(NUMBER)}.db"))
        source = folder or small_diagnosis
        add_benchmark(store, source, name="small", secret=secret)
        boards = Boards(store)
        if least_share is not None:
            samples = {"small": boards.own(boards.benchmark("small")).sample_names}
            restrict(store, samples, least_share=least_share)
        site = Site(store, boards, Sessions(store, boards), Worker(store, RefitPolicy(), log), **settings)
        application = Application(site, limits or Limits(reads=1e6, writes=1e6), log=log)
        client = TestClient(application.asgi(), base_url="http://camilla.test", follow_redirects=False)
        ends.extend([boards.close, store.close])
        return Live(site, application, client)

    yield start
    for end in ends:
        end()


@pytest.fixture(scope="session")
def curl() -> str:
    where = shutil.which("curl")
    if where is None:
        pytest.skip("there is no curl")
    return where
