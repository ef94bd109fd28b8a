"""From settings to a running server."""

import signal
import tempfile
from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any, NamedTuple

from camilla.display import counted
from camilla.errors import DataError, SettingError
from camilla.extras import needing
from camilla.server import memory, uploads
from camilla.server.application import Application
from camilla.server.boards import Benchmark, add_benchmark, restrict
from camilla.server.guard import Limits
from camilla.server.refitting import RefitPolicy, Worker
from camilla.server.routes import Site
from camilla.server.sessions import Sessions
from camilla.server.store import log_line, opened
from camilla.server.views import Boards

with needing("a server"):
    import uvicorn


class Settings(NamedTuple):
    """How a server runs."""

    folders: Sequence[Path] = ()
    store: str | None = None  # None: read-only
    name: str | None = None
    title: str = "Camilla"
    secret: bool | Path = False
    least_share: float | None = None  # None: as the store has it
    host: str = "127.0.0.1"
    port: int = 8000
    prefix: str = ""
    private: bool = False
    trusted_proxies: str = "127.0.0.1"
    limits: Limits = Limits()
    policy: RefitPolicy = RefitPolicy()
    quiet: bool = False


class Served(NamedTuple):
    """A site, and how to end it."""

    site: Site
    close: Callable[[], None]


def site_of(settings: Settings, log: Callable[..., None] = log_line) -> Served:
    """The site that settings describe, with its background work started.

    Without a store the benchmarks are in a temporary one, and nothing can be submitted.
    """
    if not settings.folders and settings.store is None:
        raise SettingError("there is nothing to serve: name a diagnosis, or a store with --store.")
    if settings.name is not None and len(settings.folders) != 1:
        raise SettingError("--name names the benchmark of one diagnosis; name one folder with it.")
    prefix, secret = checked_prefix(settings.prefix), secret_samples(settings.secret)
    with ExitStack() as stack:
        scratch = stack.enter_context(tempfile.TemporaryDirectory(prefix="camilla-serve-"))
        store = stack.enter_context(opened(settings.store or str(Path(scratch) / "store.db")))
        for folder in settings.folders:
            add_benchmark(store, folder, name=settings.name, secret=secret)
        boards = stack.enter_context(closing(Boards(store)))
        if not boards.names():
            raise DataError(
                f"{store.name}: the store has no benchmark yet. Name a diagnosis: camilla serve DIR --store …"
            )
        if secret is not False or settings.least_share is not None:
            samples = {name: boards.own(boards.benchmark(name)).sample_names for name in boards.names()}
            restrict(store, samples, secret=secret, least_share=settings.least_share)
        worker = Worker(store, settings.policy, log)
        stack.callback(worker.stop)
        worker.start()
        if settings.store is not None:
            uploads.prepare()
        site = Site(
            store, boards, Sessions(store, boards), worker if settings.store is not None else None,
            settings.private, prefix, settings.title,
        )  # fmt: skip
        return Served(site, stack.pop_all().close)


def checked_prefix(prefix: str) -> str:
    """A path prefix as links use it: empty, or /name without a slash at its end."""
    prefix = prefix.rstrip("/")
    if prefix and (
        not prefix.startswith("/") or not prefix.replace("/", "").replace("-", "").replace("_", "").isalnum()
    ):
        raise SettingError(f"a prefix is written /name; got {prefix!r}.")
    return prefix


def secret_samples(given: bool | Path) -> bool | list[str]:
    """All, none, or the names in a file, one per line."""
    if isinstance(given, bool):
        return given
    try:
        lines = given.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{given}: the names of secret samples cannot be read: {error}.") from None
    return [line.strip() for line in lines if line.strip()]


def secrecy(benchmark: Benchmark) -> str | None:
    """What of a benchmark stays on the server, in words; None where nothing does."""
    if benchmark.secret is False:
        return None
    of = "all samples" if benchmark.secret is True else counted(len(benchmark.secret), "sample")
    return f"{benchmark.name}: prompts and right answers of {of} are secret."


def serve(settings: Settings, say: Callable[[str], None]) -> None:
    """Serves until a signal ends it; requests that have come are answered first."""

    def silent(event: str, **values: Any) -> None:
        if event != "request":
            log_line(event, **values)

    memory.keep_small()
    log = silent if settings.quiet else log_line
    served = site_of(settings, log)
    application = Application(served.site, settings.limits, log=log)
    configuration = uvicorn.Config(
        application.asgi(), host=settings.host, port=settings.port, log_config=None, access_log=False,
        server_header=False, proxy_headers=True, forwarded_allow_ips=settings.trusted_proxies,
        timeout_keep_alive=15, timeout_graceful_shutdown=20, h11_max_incomplete_event_size=2**16,
        lifespan="off", ws="none",
    )  # fmt: skip
    server = uvicorn.Server(configuration)
    where = f"http://{settings.host}:{settings.port}{served.site.prefix}/"
    log("start", address=where, store=served.site.store.name, live=served.site.worker is not None)
    names = served.site.boards.names()
    say(f"Serving {', '.join(names)} at {where} (end with Ctrl+C).")
    for line in filter(None, (secrecy(served.site.boards.benchmark(name)) for name in names)):
        say(line)
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        server.run()
    except KeyboardInterrupt:  # raised again by uvicorn, after the requests that it had were answered
        return
    finally:
        served.close()
        signal.signal(signal.SIGTERM, before)
        log("end")
    if not server.started:
        raise DataError(
            f"{where}: nothing can be served there. The address is in use, or is not one of this machine: "
            "choose others with --host and --port."
        )
