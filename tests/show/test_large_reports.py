"""Real and large tables: size of the page, seconds to make and to open it, every view in the browser."""

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import camilla
from camilla.show.report.build import report
from camilla.table.responses import ResponseTable

VIEWS = ("summary", "leaderboard", "learner", "compare", "samples", "skills", "made")
pytestmark = pytest.mark.slow


def walk(shown: Any) -> None:
    """Every view, the first sample, and no complaint."""
    for view in VIEWS:
        page = shown.go(view)
        if view == "samples":
            page.wait_for_selector("main .table tbody th a")
            page.locator("main .table tbody th a").first.click()
            page.wait_for_selector("main .back")
    assert shown.trouble == []
    assert shown.asked_elsewhere() == []


@pytest.mark.parametrize("name", ["titanic", "cifar100"])
def test_real_tables_open(
    name: str, request: pytest.FixtureRequest, tmp_path: Path, opened: Callable[..., Any]
) -> None:
    table: ResponseTable = request.getfixturevalue(name)
    camilla.diagnose(table, "camilla-base", precision=1.0, skill_correlation=0.8).save(tmp_path / "found")
    walk(opened(report([tmp_path / "found"], tmp_path / "page.html").page))


def test_eighty_thousand_samples_open_with_a_folder_beside(
    tmp_path: Path, opened: Callable[..., Any]
) -> None:
    camilla.diagnose(camilla.simulate(90, 80_000, seed=1).table, "irt", precision=3.0).save(
        tmp_path / "found"
    )
    written = report([tmp_path / "found"], tmp_path / "page.html")
    assert written.tables is not None
    assert (written.tables / "responses.parquet").stat().st_size > 0
    shown = opened(written.page)
    walk(shown)
    assert "20,000 of 80,000 samples" in shown.go("samples").inner_text("main .lead")


def test_fifty_thousand_samples_are_small_and_quick(tmp_path: Path, opened: Callable[..., Any]) -> None:
    """The project's promises: 2.5 MB, 5 s of CPU to make, 2 s of the renderer's CPU until it can be used.

    Names are those of simulate; longer ones of real samples add their compressed length.
    """
    camilla.diagnose(camilla.simulate(60, 50_000, seed=1).table, "irt", precision=3.0).save(
        tmp_path / "found"
    )
    before = time.process_time(), os.times().children_user
    written = report([tmp_path / "found"], tmp_path / "page.html")
    assert time.process_time() - before[0] + os.times().children_user - before[1] <= 5
    assert written.tables is None
    assert written.page.stat().st_size <= 2.5e6
    shown = opened(written.page)
    watch = shown.page.context.new_cdp_session(shown.page)
    watch.send("Performance.enable")
    shown.go("samples")
    measured = {one["name"]: one["value"] for one in watch.send("Performance.getMetrics")["metrics"]}
    assert measured["ProcessTime"] <= 2
    walk(shown)
