"""Every view of reports in headless Chromium without a network: screenshots, and what is wrong with them.

    python scripts/look.py report.html more.html -o looks [--widths 1440,1024,390] [--themes light,dark]

Each view is opened at each width in each theme and saved as looks/REPORT-VIEW-WIDTH-THEME.png. Exits with 1
and one line per fault if a view logs an error, asks for anything, breaks a rule of axe (web/node_modules), is
wider than the window, cuts a number or a header, or has two equal labels in one chart.
"""

import argparse
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

AXE = Path(__file__).parents[1] / "web/node_modules/axe-core/axe.min.js"
FLAGS = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]
TALLEST = 2600  # pixels of a screenshot
PAGES = "[...document.querySelectorAll('aside nav a')].map((a) => a.hash.replace('#/', ''))"
FIRST_ROW = "document.querySelector('main .table tbody th a')?.hash?.replace('#/', '')"
FAULTS = """() => {
  const found = [];
  const wide = document.documentElement.scrollWidth - innerWidth;
  if (wide > 0) found.push(`the view is ${wide} pixels wider than the window`);
  const seen = (element) => element.getClientRects().length > 0;
  const cut = (element) => {
    const inside = document.createRange();
    inside.selectNodeContents(element);
    const style = getComputedStyle(element);
    const room = element.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight);
    return style.whiteSpace === 'nowrap' && inside.getBoundingClientRect().width > room + 1;
  };
  for (const cell of document.querySelectorAll('main td.numeric, main thead button, .facts dd, .facts dt'))
    if (seen(cell) && cut(cell)) found.push(`cut: ${cell.textContent}`);
  for (const svg of document.querySelectorAll('main .plot svg')) {
    const labels = new Map();
    const box = svg.getBoundingClientRect();
    for (const text of svg.querySelectorAll('text')) {
      const at = text.getBoundingClientRect();
      const outside = at.left < box.left - 2 || at.right > box.right + 2;
      if (text.textContent && outside) found.push(`outside its chart: ${text.textContent}`);
      if (!text.classList.contains('who') || !text.textContent.trim()) continue;
      const key = `${text.getAttribute('text-anchor')} ${text.textContent}`;
      const chart = svg.getAttribute('aria-label');
      if (labels.has(key)) found.push(`two labels are "${text.textContent}" in ${chart}`);
      labels.set(key, true);
    }
  }
  return [...new Set(found)].slice(0, 8);
}"""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("reports", nargs="+", type=Path)
    parser.add_argument("-o", "--output", type=Path, default=Path("looks"))
    parser.add_argument("--widths", default="1440,1024,390")
    parser.add_argument("--themes", default="light,dark")
    parser.add_argument("--views", default="", help="only views whose address starts with one of these")
    given = parser.parse_args()
    given.output.mkdir(parents=True, exist_ok=True)
    faults = []
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
        for report in given.reports:
            for theme in given.themes.split(","):
                for width in map(int, given.widths.split(",")):
                    faults += looked(browser, report.resolve(), given, theme, width)
        browser.close()
    print(*faults, sep="\n")
    print(f"{len(faults)} faults; screenshots in {given.output}")
    return 1 if faults else 0


def looked(browser: Any, report: Path, given: argparse.Namespace, theme: str, width: int) -> list[str]:
    """The faults of every view of a report at one width in one theme."""
    context = browser.new_context(
        viewport={"width": width, "height": 900}, color_scheme=theme, offline=True, bypass_csp=True
    )
    tab = context.new_page()
    said: list[str] = []
    tab.on("console", lambda line: line.type in ("error", "warning") and said.append(f"logs {line.text}"))
    tab.on("pageerror", lambda error: said.append(f"fails with {error}"))
    own = (report.as_uri(), "about:blank", "data:", "blob:")
    tab.on("request", lambda asked: asked.url.startswith(own) or said.append(f"asks for {asked.url}"))
    faults = []
    starts = tuple(one for one in given.views.split(",") if one)
    for view in views(tab, report):
        if starts and not view.startswith(starts):
            continue
        said.clear()
        opened(tab, report, view)
        name = view.split("?")[0] + ("-one" if "?" in view and "name=" not in view else "")
        height = min(TALLEST, tab.evaluate("document.documentElement.scrollHeight"))
        clip = {"x": 0, "y": 0, "width": width, "height": height}
        tab.screenshot(
            path=given.output / f"{report.stem}-{name}-{width}-{theme}.png", full_page=True, clip=clip
        )
        found = said + tab.evaluate(FAULTS) + violations(tab, theme)
        faults += [f"{report.name} {view} at {width} in {theme}: {fault}" for fault in found]
    context.close()
    return faults


def views(tab: Any, report: Path) -> Iterator[str]:
    """The pages of the report, the first sample and the first skill."""
    opened(tab, report, "")
    pages = tab.evaluate(PAGES)
    for page in pages:
        yield page
        if page.startswith(("samples", "skills")):
            opened(tab, report, page)
            inside = tab.evaluate(FIRST_ROW)
            if inside:
                yield inside


def opened(tab: Any, report: Path, view: str) -> None:
    tab.goto("about:blank")
    tab.goto(f"{report.as_uri()}#/{view}")
    tab.wait_for_selector("html[data-ready]")
    for _ in range(100):
        if tab.evaluate("[...document.querySelectorAll('.plot')].every(plot => plot.childElementCount)"):
            break
        tab.wait_for_timeout(50)
    tab.wait_for_timeout(60)


def violations(tab: Any, theme: str) -> list[str]:
    """What axe finds; in the dark only colours, for themes differ in nothing else."""
    if not AXE.exists():
        return []
    tab.add_script_tag(content=AXE.read_text(encoding="utf-8"))
    rules = "{}" if theme == "light" else "{runOnly: ['color-contrast']}"
    found = tab.evaluate(f"axe.run(document, {rules})")["violations"]
    return [f"axe: {one['id']}: {one['nodes'][0]['html'][:120]}" for one in found]


if __name__ == "__main__":
    sys.exit(main())
