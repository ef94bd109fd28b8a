"""The demo's page in a real browser without a network: every view, every export, every theme."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

VIEWS = (
    "summary", "leaderboard", "leaderboard?skill=8", "learner?name=logistic+shrunk", "compare", "samples",
    "samples?sample=digit-1553", "skills", "skills?skill=8", "made",
)  # fmt: skip
Open = Callable[..., Any]


def test_every_view_opens_without_a_complaint_or_a_request(digits_page: Path, opened: Open) -> None:
    shown = opened(digits_page)
    for view in VIEWS:
        page = shown.go(view)
        assert len(page.inner_text("main")) > 200, view
    assert shown.trouble == []
    assert shown.asked_elsewhere() == []


def test_axe_finds_no_violation_in_either_theme(digits_page: Path, judged: Callable[..., Any]) -> None:
    assert judged(digits_page, VIEWS) == []


def test_nothing_is_wider_than_a_phone(digits_page: Path, opened: Open) -> None:
    shown = opened(digits_page, viewport={"width": 390, "height": 800})
    widths = {view: shown.go(view).evaluate("document.documentElement.scrollWidth") for view in VIEWS}
    assert {view: width for view, width in widths.items() if width > 390} == {}


def test_without_a_script_the_tables_stand_there(digits_page: Path, opened: Open) -> None:
    shown = opened(digits_page, java_script_enabled=False)
    shown.page.goto(digits_page.as_uri())
    text = shown.page.inner_text("noscript")
    assert "cannot be told apart" in text
    assert "naive bayes complement" in text
    assert "data_hash" in text


def test_every_chart_saves_as_svg_and_png_and_every_table_as_csv(digits_page: Path, opened: Open) -> None:
    shown = opened(digits_page)
    for view in ("leaderboard", "learner", "samples", "skills"):
        page = shown.go(view)
        for kind, start in (("SVG", b"<svg"), ("PNG", b"\x89PNG"), ("CSV", b"\xef\xbb\xbf")):
            for button in page.get_by_role("button", name=kind, exact=False).all():
                assert _saved(page, button)[: len(start)] == start
    assert shown.trouble == []


def _saved(page: Any, button: Any) -> bytes:
    with page.expect_download() as waiting:
        button.click()
    return Path(waiting.value.path()).read_bytes()


def test_the_address_keeps_the_view(digits_page: Path, opened: Open) -> None:
    shown = opened(digits_page)
    page = shown.go("samples")
    page.get_by_role("searchbox").fill("digit-15")
    page.get_by_role("button", name="Accuracy", exact=True).click()
    rows = page.inner_text("main .table tbody")
    again = opened(digits_page)
    again.page.goto(page.url)
    again.page.wait_for_selector("main .table tbody tr th")
    assert again.page.inner_text("main .table tbody") == rows
    assert again.page.get_by_role("searchbox").input_value() == "digit-15"


def test_a_box_drawn_in_the_scatter_chooses_samples(digits_page: Path, opened: Open) -> None:
    page = opened(digits_page).go("samples")
    assert page.inner_text("main .table .bar [role=status]") == "1,797 rows"
    pad = page.locator(".pad").first
    pad.scroll_into_view_if_needed()
    box = pad.bounding_box()
    page.mouse.move(box["x"] + box["width"] * 0.3, box["y"] + box["height"] * 0.3)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.5, box["y"] + box["height"] * 0.5, steps=4)
    page.mouse.up()
    count = int(page.inner_text("main .table .bar [role=status]").split()[0].replace(",", ""))
    assert 0 < count < 1797
    assert "box=" in page.url


def test_hover_and_focus_say_the_number_and_its_interval(
    digits_page: Path, opened: Open, digits_diagnosis: Any
) -> None:
    first = digits_diagnosis.learners.row(0, named=True)
    said = f"ability {first['ability']:.2f} ({first['low']:.2f} to {first['high']:.2f})"
    page = opened(digits_page).go("summary")
    page.locator("main svg a.row").first.hover()
    assert said in page.inner_text("#tip")
    page.keyboard.press("Escape")
    assert not page.locator("#tip").is_visible()
    page.locator("main svg a.row").first.focus()
    assert said in page.inner_text("#tip")


def test_the_theme_can_be_chosen(digits_page: Path, opened: Open) -> None:
    page = opened(digits_page, color_scheme="light").go("summary")

    def paper() -> str:
        return page.evaluate("getComputedStyle(document.body).backgroundColor")

    light = paper()
    page.get_by_role("button", name="System theme").click()
    assert paper() == light
    page.get_by_role("button", name="Light theme").click()
    assert paper() != light


def test_the_long_table_holds_only_the_rows_in_sight(digits_page: Path, opened: Open) -> None:
    page = opened(digits_page).go("samples")
    table = page.locator("main .table table")
    assert table.get_attribute("aria-rowcount") == "1798"
    assert table.locator("tbody tr").count() < 60
    page.locator("main .scroller").evaluate("e => e.scrollTop = e.scrollHeight")
    page.wait_for_selector("main .table tbody tr[aria-rowindex='1798']")
    assert table.locator("tbody tr").count() < 60


def test_a_table_is_sorted_from_the_keyboard(digits_page: Path, opened: Open) -> None:
    page = opened(digits_page).go("leaderboard")
    header = page.get_by_role("button", name="Accuracy", exact=True)
    header.focus()
    page.keyboard.press("Enter")
    assert page.locator("th[data-key=accuracy]").get_attribute("aria-sort") == "descending"
    shown = [
        float(text.split()[0]) for text in page.locator("main tbody tr td:nth-child(5)").all_inner_texts()
    ]
    assert len(shown) > 10
    assert shown == sorted(shown, reverse=True)


def test_paper_gets_every_row_that_fits_it(digits_page: Path, opened: Open) -> None:
    """All 42 learners, no list that scrolls, and dark on white in either theme."""
    page = opened(digits_page, color_scheme="dark").go("leaderboard")
    page.emulate_media(media="print", color_scheme="dark")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.locator("main .table tbody tr").count() == 42
    assert page.locator("main .scroller").evaluate("e => e.scrollHeight - e.clientHeight") <= 1
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert page.pdf()[:4] == b"%PDF"
