"""Pictures of the report's pages in both themes, into docs/images: needs Chromium and playwright.

    python scripts/report_pictures.py

The report is made of the digits that come with the package: the demo's diagnosis, an EPP leaderboard with the
ten digits as rounds, and two experiments.
"""

import shutil
import tempfile
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

import camilla
from camilla.experiments.running import experiment
from camilla.show.report.build import report

IMAGES = Path(__file__).parents[1] / "docs/images"
VIEWS = {
    "summary": "summary",
    "leaderboard": "leaderboard",
    "choose": "choose",
    "learner": "learner?name=logistic+shrunk",
    "compare": "compare",
    "samples": "samples",
    "sample": "samples?sample=digit-1553",
    "skills": "skills",
    "skill": "skills?skill=8",
    "epp": "epp",
    "experiments": "experiments?e=2",
    "made": "made",
}
FLAGS = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]
WITH = ("vanilla", "irt")
SEEDS = (1, 21, 42)
TALLEST = 1500  # pixels; what is longer is cut


def main() -> None:
    with tempfile.TemporaryDirectory() as work:
        page = make(Path(work))
        with sync_playwright() as driver:
            browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
            for theme in ("light", "dark"):
                shoot(browser, page, theme)
            browser.close()


def make(folder: Path) -> Path:
    """The report with every page it can have."""
    table = camilla.digits()
    found = camilla.diagnose(table, "camilla-base")
    found.save(folder / "diagnosis")
    scores = found.skills.select("learner", "skill", "accuracy")
    rounds = camilla.Tournament.from_long(scores, player="learner", round="skill", score="accuracy")
    camilla.epp(rounds, prior=1.0).save(folder / "epp")
    for name in ("reliability", "rank-stability"):
        experiment(
            name, {"digits": table}, diagnosers=WITH, seeds=SEEDS, store=folder / "experiments.parquet"
        )
    sources = [folder / name for name in ("diagnosis", "epp", "experiments.parquet")]
    return report(sources, folder / "report.html", title="42 classifiers of handwritten digits").page


def shoot(browser: Any, page: Path, theme: str) -> None:
    context = browser.new_context(viewport={"width": 1280, "height": 860}, color_scheme=theme, offline=True)
    tab = context.new_page()
    for name, view in VIEWS.items():
        tab.goto("about:blank")
        tab.goto(f"{page.as_uri()}#/{view}")
        tab.wait_for_selector("html[data-ready]")
        tab.wait_for_timeout(300)
        height = min(TALLEST, tab.evaluate("document.documentElement.scrollHeight"))
        target = IMAGES / f"report-{name}-{theme}.png"
        tab.screenshot(path=target, full_page=True, clip={"x": 0, "y": 0, "width": 1280, "height": height})
        smaller(target)
    context.close()


def smaller(path: Path) -> None:
    """As WebP at 80, a fifth of the PNG."""
    from PIL import Image

    with Image.open(path) as image:
        image.convert("RGB").save(path.with_suffix(".webp"), quality=80, method=6)
    path.unlink()


if __name__ == "__main__":
    IMAGES.mkdir(parents=True, exist_ok=True)
    main()
