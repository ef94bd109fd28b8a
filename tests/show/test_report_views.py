"""What a reader does with the views: choose, tick, filter, copy, print, and leave again."""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import camilla
from camilla.diagnosis import Diagnosis
from camilla.show.report.build import report

Open = Callable[..., Any]
VIEWS = ("summary", "leaderboard", "choose", "learner", "compare", "samples", "skills", "epp", "made")


@pytest.fixture(scope="module")
def priced_page(digits_diagnosis: Diagnosis, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The demo with an EPP board and a price for each learner: the better, the dearer."""
    folder = tmp_path_factory.mktemp("priced")
    digits_diagnosis.save(folder / "diagnosis")
    scores = digits_diagnosis.skills.select("learner", "skill", "accuracy")
    rounds = camilla.Tournament.from_long(scores, player="learner", round="skill", score="accuracy")
    camilla.epp(rounds, prior=1.0).save(folder / "epp")
    learners = digits_diagnosis.learners.sort("rank")["learner"]
    prices = np.geomspace(9, 0.05, len(learners)).round(4)
    pl.DataFrame({"learner": learners, "cost": prices}).write_csv(folder / "learners.csv")
    sources = [folder / "diagnosis", folder / "epp"]
    return report(sources, folder / "report.html", learners=folder / "learners.csv").page


@pytest.fixture
def shown(priced_page: Path, opened: Open) -> Iterator[Any]:
    one = opened(priced_page, permissions=["clipboard-read", "clipboard-write"])
    yield one
    assert one.trouble == []
    assert one.asked_elsewhere() == []


def test_a_view_that_is_left_lets_go_of_its_nodes_and_listeners(shown: Any) -> None:
    """A browser may hold on to the view before the present one for a while, but not to a hundred of them."""
    page = shown.go("summary")
    watch = page.context.new_cdp_session(page)
    pages = [view for view in VIEWS if view != "made"]

    def walk(times: int, last: str) -> dict[str, int]:
        script = """async ([views, times, last]) => {
          for (let i = 0; i < times; i++) {
            location.hash = `#/${views[i % views.length]}`;
            await new Promise((done) => setTimeout(done, 30));
          }
          location.hash = `#/${last}`;
          await new Promise((done) => setTimeout(done, 300));
        }"""
        page.evaluate(script, [pages, times, last])
        for _ in range(3):
            watch.send("HeapProfiler.collectGarbage")
        return watch.send("Memory.getDOMCounters")

    single = [walk(0, view) for view in pages]
    end = walk(100, "made")
    for counted in ("jsEventListeners", "nodes"):
        assert end[counted] <= 2 * max(one[counted] for one in single)


def test_filters_search_and_order_outlive_a_change_of_axis(shown: Any) -> None:
    page = shown.go("samples")
    page.get_by_role("searchbox").fill("digit-15")
    page.get_by_role("button", name="Accuracy", exact=True).click()
    rows = page.inner_text("main .table tbody")
    page.get_by_label(re.compile("^Up")).select_option("infit")
    shown.until("[...document.querySelectorAll('main h2')].some((one) => one.textContent.includes('infit'))")
    assert page.get_by_role("searchbox").input_value() == "digit-15"
    page.wait_for_selector("main .table tbody tr th")
    assert page.inner_text("main .table tbody") == rows
    assert all(part in page.url for part in ("q=digit-15", "sort=-accuracy", "y=infit"))


def test_weights_move_the_ranking_and_stay_in_the_address(shown: Any, digits_diagnosis: Diagnosis) -> None:
    """All weight on the digit 3: whoever has most of them right comes first."""
    on_3 = digits_diagnosis.skills.filter(pl.col("skill") == "3")
    best = on_3.filter(pl.col("accuracy") == pl.col("accuracy").max())["learner"].to_list()
    page = shown.go("choose")
    rows = page.locator("main .table tbody th")
    before = rows.all_inner_texts()
    page.get_by_role("button", name="None").click()
    page.get_by_label("Weight of 3, as a number").fill("10")
    after = rows.all_inner_texts()
    assert after != before
    assert after[0] in best
    assert page.get_by_label("Weight of 3", exact=True).input_value() == "10"
    again = shown.go(page.url.split("#/")[1])
    again.wait_for_selector("main .table tbody tr th")
    assert again.locator("main .table tbody th").all_inner_texts()[:5] == after[:5]


def test_a_budget_leaves_out_what_is_dearer(shown: Any) -> None:
    page = shown.go("choose?most=1")
    prices = [float(text) for text in page.locator("main tbody td:nth-child(4)").all_inner_texts()]
    assert prices
    assert max(prices) <= 1
    assert page.locator("svg .faded").count() > 0
    assert "within the budget" in page.locator(".verdict").first.inner_text()


def test_the_samples_that_would_separate_two_are_those_of_camilla_power(shown: Any) -> None:
    from camilla.statistics.power import Design, samples_for

    table = camilla.digits()
    a, b = (table.matrix()[table.learners.index(name)] for name in ("svm poly", "knn 5"))
    won, lost = int(((a == 1) & (b == 0)).sum()), int(((a == 0) & (b == 1)).sum())
    wanted = samples_for(Design(discordance=(won + lost) / len(a)), (won - lost) / len(a))
    page = shown.go("choose?a=svm+poly&b=knn+5")
    said = page.locator(".card .verdict").inner_text()
    assert f"about {wanted:,} samples, {wanted - len(a):,} more than there are" in said


def test_ticked_learners_are_compared(shown: Any) -> None:
    page = shown.go("leaderboard")
    page.get_by_role("checkbox", name="Compare knn 5", exact=True).click()
    box = page.get_by_role("checkbox", name="Compare qda")
    box.focus()
    page.keyboard.press("Space")
    assert box.get_attribute("aria-checked") == "true"
    assert json.dumps(["knn 5", "qda"], separators=(",", ":")) in page.evaluate(
        "decodeURIComponent(location.hash.replaceAll('+', ' '))"
    )
    page.get_by_role("link", name="Compare the 2 ticked").click()
    page.wait_for_selector("text=Are they different?")
    assert page.locator("main .controls .chips li").all_inner_texts() == ["knn 5", "qda"]


def test_the_leaderboard_zooms_searches_and_colours(shown: Any) -> None:
    page = shown.go("leaderboard?colour=family")
    rows = page.locator("main svg a.row")
    assert rows.count() == 25
    assert "naive" in page.inner_text(".legend")
    page.get_by_label("Show").select_option("10")
    assert rows.count() == 10
    page.get_by_role("searchbox").fill("naive")
    assert rows.count() == 4
    assert "top=10" in page.url


def test_the_table_has_macro_and_micro_averages(shown: Any, digits_diagnosis: Diagnosis) -> None:
    first = digits_diagnosis.learners.sort("rank").row(0, named=True)
    skills = digits_diagnosis.skills.filter(pl.col("learner") == first["learner"])
    row = shown.go("leaderboard").locator("main tbody tr[aria-rowindex='2']").inner_text()
    assert f"{100 * first['accuracy']:.1f}\u00a0%" in row
    assert f"{100 * skills['accuracy'].mean():.1f}\u00a0%" in row


def test_tables_copy_as_markdown_and_latex_and_sentences_as_text(shown: Any) -> None:
    page = shown.go("leaderboard?sort=rank")
    for label, start in (("Markdown", "| Learner | Rank |"), ("LaTeX", "\\begin{tabular}{lr")):
        page.get_by_role("button", name="Copy table: Learners overall").click()
        page.get_by_role("button", name=f"Copy table as {label}").click()
        page.wait_for_selector(f"text=Copied as {label}")
        text = page.evaluate("navigator.clipboard.readText()")
        assert text.startswith(start)
        assert "svm poly" in text
    page = shown.go("summary")
    page.get_by_role("button", name="Copy:").first.focus()
    page.keyboard.press("Enter")
    shown.until("[...document.querySelectorAll('.copy')].some(button => button.textContent === 'copied')")
    assert page.evaluate("navigator.clipboard.readText()") == page.inner_text("main h1").replace(
        "\u00a0", " "
    )


def test_a_card_is_a_picture(shown: Any) -> None:
    page = shown.go("summary")
    page.get_by_role("button", name="Share or print").click()
    with page.expect_download() as waiting:
        page.get_by_role("button", name="Save a card to share as PNG").click()
    assert Path(waiting.value.path()).read_bytes()[:4] == b"\x89PNG"


def test_everything_can_be_printed(priced_page: Path, opened: Open) -> None:
    """Every page is there when the browser prints, and the view comes back afterwards."""
    shown = opened(priced_page, viewport={"width": 1300, "height": 900})  # a page of its own
    page = shown.go("made")
    page.evaluate(
        "window.print = () => { window.sheets = document.querySelectorAll('main h1').length; "
        "dispatchEvent(new Event('afterprint')); }"
    )
    page.get_by_role("button", name="Share or print").click()
    page.get_by_role("button", name="Print everything").click()
    shown.until(f"window.sheets === {len(VIEWS)}")
    shown.until("document.querySelectorAll('main h1').length === 1")


def test_the_phone_shows_the_score(priced_page: Path, opened: Open) -> None:
    page = opened(priced_page, viewport={"width": 390, "height": 800}).go("leaderboard")
    box = page.locator("main tbody tr[aria-rowindex='2'] td:nth-child(5)").bounding_box()
    assert box["x"] + box["width"] <= 390


def test_no_header_number_or_label_is_cut_or_doubled(priced_page: Path, opened: Open) -> None:
    import sys

    sys.path.insert(0, str(Path(__file__).parents[2] / "scripts"))
    from look import FAULTS

    faults = []
    for width in (1440, 390):
        one = opened(priced_page, viewport={"width": width, "height": 900})
        faults += [(view, width, fault) for view in VIEWS for fault in one.go(view).evaluate(FAULTS)]
    assert faults == []


def test_axe_finds_nothing_in_the_new_views(priced_page: Path, judged: Callable[..., Any]) -> None:
    assert judged(priced_page, ("leaderboard?colour=family", "choose?most=1", "skills", "epp")) == []
