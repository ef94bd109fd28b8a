"""What a new user asks of the demo's report, answered by the clicks that docs/report.md names."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import camilla


@pytest.fixture
def page(digits_page: Path, opened: Callable[..., Any]) -> Any:
    return opened(digits_page).go("")


def test_which_learner_is_best_at_digit_8(page: Any, digits_diagnosis: camilla.Diagnosis) -> None:
    best = digits_diagnosis.skills.filter(skill="8").sort("ability", descending=True)["learner"][0]
    page.get_by_role("link", name="Skills", exact=True).click()
    page.get_by_role("link", name="8", exact=True).first.click()
    page.locator("main .lead", has_text="Highest: ").wait_for()
    assert page.inner_text("main .lead").startswith(f"Highest: {best}")


def test_are_the_first_and_second_different(page: Any) -> None:
    page.get_by_role("link", name="Compare", exact=True).click()
    assert "cannot be told apart" in page.locator("main .table tbody tr").nth(1).inner_text()


def test_which_samples_contradict_the_able(page: Any) -> None:
    """The able fail it and some others do not: recounted here from the log."""
    page.get_by_role("link", name="Samples", exact=True).click()
    page.get_by_role("link", name="doubtful").click()
    name = page.locator("main .table tbody th").first.inner_text()
    log = camilla.digits().to_long()
    able = (
        log.group_by("learner")
        .agg(pl.col("response").mean())
        .sort("response", descending=True)["learner"][:20]
    )
    on_it = log.filter(sample=name)
    assert on_it.filter(pl.col("learner").is_in(able.to_list()))["response"].sum() == 0
    assert on_it["response"].sum() > 0


def test_how_was_this_computed(page: Any) -> None:
    page.get_by_role("link", name="How it was made").first.click()
    text = page.inner_text("main")
    assert "Camilla-Base: a learner has one ability on each skill" in text
    assert camilla.digits().digest() in text
    assert "The fit converged." in text


def test_which_three_samples_decide_between_the_first_two(page: Any) -> None:
    page.get_by_role("link", name="Compare", exact=True).click()
    page.locator("main .decides img").nth(2).wait_for()
    assert page.locator("main .decides h3").all_inner_texts() == ["digit-1611", "digit-0784", "digit-1573"]
    assert "svm poly: right\n\n4\n\nsvm rbf: wrong\n\n8" in page.locator("main .decides").first.inner_text()
