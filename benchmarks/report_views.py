"""What the report of 60 learners × 50,000 samples costs: to make, to send, and for each thing a reader does.

    python benchmarks/report_views.py [DIAGNOSIS]

Allowed: page 2.5 MB, script 400 KB, 5 s of CPU to make, 0.3 s of the renderer's CPU for each interaction, and
after 100 changes of the view nodes and listeners within 10 % of the start. Needs Chromium, playwright; takes
a saved diagnosis instead of a simulated one. Exits with 1 if a figure is over what is allowed.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

import camilla

STATIC = Path(camilla.__file__).parent / "show/report/static"
FLAGS = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]
WALKED = ("summary", "leaderboard", "choose", "learner", "compare", "samples")
ROUND = """async ([views, times]) => {
  for (let i = 0; i < times; i++) {
    location.hash = `#/${views[i % views.length]}`;
    await new Promise((done) => setTimeout(done, 120));
  }
  location.hash = '#/made';
  await new Promise((done) => setTimeout(done, 500));
}"""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("diagnosis", nargs="?", type=Path)
    given = parser.parse_args().diagnosis
    with tempfile.TemporaryDirectory() as work:
        page = Path(work) / "page.html"
        found = given or Path(work) / "found"
        if given is None:
            camilla.diagnose(camilla.simulate(60, 50_000, seed=1).table, "irt", precision=3.0).save(found)
        figures = {"making it, CPU s": (made(found, page), 5.0)}
        figures["page, MB"] = page.stat().st_size / 1e6, 2.5
        figures["script, KB"] = (STATIC / "report.js").stat().st_size / 1e3, 400.0
        with sync_playwright() as driver:
            browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
            figures |= interactions(browser, page) | left(browser, page)
            browser.close()
    for name, (found, allowed) in figures.items():
        print(f"{name:48} {found:7.2f} of {allowed:g}{'  OVER' if found > allowed else ''}")
    return int(any(found > allowed for found, allowed in figures.values()))


def made(found: Path, page: Path) -> float:
    """CPU seconds of the command, imports included."""
    before = os.times()
    start = "from camilla.cli.main import main; main()"
    command = [sys.executable, "-c", start, "report", str(found), "-o", str(page)]
    subprocess.run(command, check=True, capture_output=True)
    after = os.times()
    return after.children_user - before.children_user + after.children_system - before.children_system


def interactions(browser: Any, page: Path) -> dict[str, tuple[float, float]]:
    """CPU seconds of the renderer for each thing a reader does."""
    tab = browser.new_page(viewport={"width": 1360, "height": 900})
    watch = tab.context.new_cdp_session(tab)
    watch.send("Performance.enable")

    def spent() -> float:
        measured = watch.send("Performance.getMetrics")["metrics"]
        return next(one["value"] for one in measured if one["name"] == "ThreadTime")

    def go(view: str) -> Callable[[], None]:
        return lambda: tab.evaluate("(view) => { location.hash = `#/${view}`; }", view)

    def header(key: str) -> Callable[[], None]:
        return tab.locator(f"main th[data-key={key}] button").first.click

    tab.goto(f"{page.as_uri()}#/summary")
    tab.wait_for_selector("html[data-ready]")
    tab.wait_for_timeout(500)
    steps: dict[str, Callable[[], Any]] = {f"open {view}": go(view) for view in (*WALKED[1:], "made")}
    steps["open samples again"] = go("samples")
    steps["sort samples by name"] = header("sample")
    steps["sort samples by name, backwards"] = header("sample")
    steps["sort samples by accuracy"] = header("accuracy")
    steps["search samples"] = lambda: tab.get_by_role("searchbox").fill("9")
    steps["another axis"] = lambda: tab.get_by_label("Up").select_option("accuracy")
    steps["scroll the table"] = lambda: tab.locator("main .scroller").evaluate("e => e.scrollTop = 9e5")
    steps["open a sample"] = tab.locator("main .table tbody th a").first.click
    steps["open the leaderboard"] = go("leaderboard")
    steps["show all learners"] = lambda: tab.get_by_label("Show").select_option("all")
    steps["tick a learner"] = tab.get_by_role("checkbox").first.click
    steps["change the theme"] = lambda: tab.locator(".theme").click()
    found = {}
    for name, act in steps.items():
        before = spent()
        act()
        tab.wait_for_timeout(700)
        found[f"{name}, CPU s"] = spent() - before, 0.3
    tab.close()
    return found


def left(browser: Any, page: Path) -> dict[str, tuple[float, float]]:
    """Nodes and listeners after 100 changes of the view, as shares of those before."""
    tab = browser.new_page(viewport={"width": 1360, "height": 900})
    watch = tab.context.new_cdp_session(tab)
    tab.goto(f"{page.as_uri()}#/summary")
    tab.wait_for_selector("html[data-ready]")

    def counted(times: int) -> dict[str, int]:
        tab.evaluate(ROUND, [list(WALKED), times])
        for _ in range(2):
            watch.send("HeapProfiler.collectGarbage")
        return dict(watch.send("Memory.getDOMCounters"))

    start, end = counted(len(WALKED)), counted(100)
    tab.close()
    return {
        f"{what} after 100 views, of those before": (end[key] / start[key], 1.1)
        for what, key in (("nodes", "nodes"), ("listeners", "jsEventListeners"))
    }


if __name__ == "__main__":
    sys.exit(main())
