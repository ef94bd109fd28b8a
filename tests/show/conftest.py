"""Pages as they are made, and the system's Chromium with no network to open them."""

import shutil
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

import camilla
from camilla.diagnosis import Diagnosis
from camilla.show.report.build import report

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]

AXE = Path(__file__).parents[2] / "web/node_modules/axe-core/axe.min.js"
# Themes differ in colour alone.
THEMES = [("light", "{}"), ("dark", "{runOnly: ['color-contrast']}")]


@pytest.fixture(params=THEMES, ids=[scheme for scheme, _ in THEMES])
def judged(request: pytest.FixtureRequest, opened: "Callable[..., Opened]") -> Callable[..., list[Any]]:
    """What axe finds in views of a page in one theme, and what the browser complained of."""
    if not AXE.exists():
        pytest.skip("axe-core is not installed; npm ci in web/ brings it")
    scheme, rules = request.param

    def judge(file: Path, views: Iterable[str]) -> list[Any]:
        shown = opened(file, color_scheme=scheme, bypass_csp=True)
        return [one for view in views for one in shown.violations(view, rules=rules)] + shown.trouble

    return judge


@pytest.fixture(scope="session")
def digits_diagnosis() -> Diagnosis:
    """The demo's diagnosis, with the settings that it chooses."""
    return camilla.diagnose(camilla.digits(), "camilla-base", skill_correlation=0.8, precision=3.0)


@pytest.fixture(scope="session")
def digits_page(digits_diagnosis: Diagnosis, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("digits")
    digits_diagnosis.save(folder / "diagnosis")
    return report([folder / "diagnosis"], folder / "report.html").page


@pytest.fixture(scope="session")
def chromium() -> Iterator[Any]:
    """The system's browser."""
    where = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if where is None:
        pytest.skip("there is no Chromium; install it (apt-get install chromium) to run the browser tests")
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with playwright.sync_playwright() as driver:
        # A view is drawn after the click that asks for it: a tenth of a second between steps lets it.
        browser = driver.chromium.launch(executable_path=where, args=FLAGS, slow_mo=100)
        yield browser
        browser.close()


DRAWN = """document.documentElement.dataset.ready
  && document.querySelector('main h1:not([data-of-last-view])')
  && [...document.querySelectorAll('.plot')].every((plot) => plot.childElementCount)"""
UNTIL = """async () => {
  for (let tries = 0; tries < 1200; tries++) {
    if (%s) return true;
    await new Promise((later) => setTimeout(later, 25));
  }
  return false;
}"""


class Opened:
    """A page with what it said and asked for."""

    def __init__(self, page: Any, file: Path) -> None:
        self.page = page
        self.file = file
        self.trouble: list[str] = []
        self.requests: list[str] = []
        page.on("console", lambda said: said.type in ("error", "warning") and self.trouble.append(said.text))
        page.on("pageerror", lambda error: self.trouble.append(str(error)))
        page.on("request", lambda request: self.requests.append(request.url))

    def go(self, route: str = "") -> Any:
        """Opens a view and waits until it is drawn: the first as a new document, others inside it, as a click
        on a link does."""
        address = f"{self.file.as_uri()}#/{route}"
        inside = self.page.url.partition("#")[0] == self.file.as_uri() and self.page.url != address
        if inside:
            self.page.evaluate("document.querySelector('main h1')?.setAttribute('data-of-last-view', '')")
        else:
            self.page.goto("about:blank")
        self.page.goto(address)
        self.until(DRAWN)
        return self.page

    def until(self, truth: str) -> None:
        """Waits until an expression holds; the page's own policy forbids the driver's way to ask again."""
        assert self.page.evaluate(UNTIL % truth), f"never came true: {truth}"

    def violations(self, route: str, *, rules: str = "{}") -> list[tuple[str, str, str, str]]:
        """What axe finds in a view: which, how bad, the rule, and the first element that breaks it."""
        page = self.go(route)
        if not page.evaluate("'axe' in window"):
            page.add_script_tag(content=AXE.read_text())
        found = page.evaluate(f"axe.run(document, {rules})")["violations"]
        return [(route, one["impact"], one["id"], one["nodes"][0]["html"][:120]) for one in found]

    def asked_elsewhere(self) -> list[str]:
        """Requests for anything but the file itself and what it holds."""
        own = (self.file.as_uri(), "about:blank", "data:", "blob:")
        return [url for url in self.requests if not url.startswith(own)]


class Pages:
    """Pages of a browser. Whoever asks again for a file in the same settings gets the page that another test
    has left: what it complained of and asked for since it was loaded is still there."""

    KEPT = 4  # memory

    def __init__(self, browser: Any) -> None:
        self.browser = browser
        self.free: dict[str, Opened] = {}

    def take(self, file: Path, settings: dict[str, Any]) -> Opened:
        found = self.free.pop(_key(file, settings), None)
        if found is not None:
            found.page.mouse.move(0, 0)
            return found
        context = self.browser.new_context(
            **{"viewport": {"width": 1360, "height": 900}, "offline": True, "accept_downloads": True}
            | settings
        )
        return Opened(context.new_page(), file)

    def leave(self, key: str, page: Opened) -> None:
        if key in self.free:
            page.page.context.close()
            return
        self.free[key] = page
        if len(self.free) > self.KEPT:
            self.free.pop(next(iter(self.free))).page.context.close()


def _key(file: Path, settings: dict[str, Any]) -> str:
    return f"{file} {sorted(settings.items())}"


@pytest.fixture(scope="session")
def pages(chromium: Any) -> Pages:
    return Pages(chromium)


@pytest.fixture
def opened(pages: Pages) -> Iterator[Callable[..., Opened]]:
    """Opens a file, offline, in a page that is the test's alone while it runs."""
    taken = []

    def open_(file: Path, **settings: Any) -> Opened:
        taken.append((_key(file, settings), pages.take(file, settings)))
        return taken[-1][1]

    yield open_
    for key, page in taken:
        pages.leave(key, page)
