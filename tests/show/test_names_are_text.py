"""Names that would be markup, formulas or turned-round text: shown as text, safe in CSV, everywhere."""

import csv
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import camilla
from camilla.show.report.build import report
from camilla.table.skills import SkillMap

NASTY = (
    "<script>document.title='owned'</script>",
    "</style><img src=x onerror=\"document.title='owned'\">",
    "\"quoted\" & 'single' </title> <!-- -->",
    "right\u202eto left\u202c mark\u200f",
    "=cmd|' /C calc'!A0",
    "+1-1@SUM(A1:A9)",
    "x" * 500,
    "tab\there",
)
VIEWS = ("summary", "leaderboard", "learner", "compare", "samples", "skills", "made")


@pytest.fixture(scope="module")
def nasty_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Every kind of name is nasty; the script in each would change the title of the page."""
    folder = tmp_path_factory.mktemp("nasty")
    rng = np.random.default_rng(5)
    samples = [f"{NASTY[j % len(NASTY)]} {j}" for j in range(64)]
    difficulty = rng.normal(size=64)
    right = rng.random((8, 64)) < 1 / (1 + np.exp(difficulty - np.linspace(-2, 2, 8)[:, None]))
    table = camilla.ResponseTable.from_matrix(right.astype(float), learners=NASTY, samples=samples)
    table = table.with_skills(SkillMap.from_labels([NASTY[j % 4] for j in range(64)]))
    camilla.diagnose(table, "camilla-base", precision=3.0, skill_correlation=0.5).save(folder / NASTY[2][:8])
    return report([folder / NASTY[2][:8]], folder / "report.html", title=NASTY[0]).page


def test_no_name_becomes_markup(nasty_page: Path, opened: Callable[..., Any]) -> None:
    shown = opened(nasty_page)
    for view in VIEWS:
        page = shown.go(view)
        assert page.title() == f"{NASTY[0]} · Camilla"
        assert page.locator("main img, main script, main style").count() == 0
    assert shown.trouble == []
    assert shown.asked_elsewhere() == []


def test_names_are_read_as_they_are_and_marks_are_spelled_out(
    nasty_page: Path, opened: Callable[..., Any]
) -> None:
    page = opened(nasty_page).go("leaderboard")
    text = page.inner_text("main .table")
    for name in (*NASTY[:3], *NASTY[4:7]):
        assert name in text
    assert r"right\u202eto left\u202c mark\u200f" in text
    assert "\u202e" not in text
    assert page.evaluate("document.documentElement.scrollWidth") <= 1360


def test_exported_cells_are_no_formulas(nasty_page: Path, opened: Callable[..., Any]) -> None:
    """Every name is in the file as it is, but for an apostrophe before what would be a formula."""
    page = opened(nasty_page).go("leaderboard")
    with page.expect_download() as waiting:
        page.get_by_role("button", name="CSV").first.click()
    text = Path(waiting.value.path()).read_text(encoding="utf-8-sig")
    names = {row["learner"] for row in csv.DictReader(io.StringIO(text, newline=""))}
    assert names == {f"'{name}" if name[0] in "=+" else name for name in NASTY}


def test_without_a_script_names_are_text_too(nasty_page: Path, opened: Callable[..., Any]) -> None:
    shown = opened(nasty_page, java_script_enabled=False)
    shown.page.goto(nasty_page.as_uri())
    assert NASTY[0] in shown.page.inner_text("noscript")
    assert shown.page.title() == NASTY[0]


def test_a_name_goes_through_the_address(nasty_page: Path, opened: Callable[..., Any]) -> None:
    page = opened(nasty_page).go("leaderboard")
    for name in NASTY:
        page = opened(nasty_page).go("learner?" + _query(name))
        assert page.locator("main h1 bdi").get_attribute("title") == _shown(name)


def _query(name: str) -> str:
    from urllib.parse import urlencode

    return urlencode({"name": name})


def _shown(name: str) -> str:
    """Marks and control characters spelled out, as the page promises."""
    spelled = {"\u202e": r"\u202e", "\u202c": r"\u202c", "\u200f": r"\u200f", "\t": r"\x09"}
    return "".join(spelled.get(c, c) for c in name)
