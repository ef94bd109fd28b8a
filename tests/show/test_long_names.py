"""Names as long as HELM's: inside their charts, and told apart there."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import camilla
from camilla.show.report.build import report
from camilla.table.skills import SkillMap

TAIL = ",level=1,use_official_examples=False,use_chain_of_thought=True"
SKILLS = [f"COMMONSENSE:WWW=topic_of_common_sense_{k}{TAIL}" for k in range(12)]
LEARNERS = [f"ALEPHALPHA_MMMM-{k}x7b-32kseqlen-instruct-v0.1" for k in range(8)]
OUTSIDE = """() => [...document.querySelectorAll("main svg")].flatMap((svg) => {
  const box = svg.getBoundingClientRect();
  const out = ({left, right, top, bottom}) =>
    left < box.left - 1 || right > box.right + 1 || top < box.top - 1 || bottom > box.bottom + 1;
  return [...svg.querySelectorAll("text.who")]
    .filter((text) => out(text.getBoundingClientRect())).map((text) => text.textContent);
})"""


def page_of(diagnoser: str, folder: Path) -> Path:
    rng = np.random.default_rng(7)
    p = 1 / (1 + np.exp(rng.normal(size=(8, 12))[:, np.arange(120) % 12] - np.linspace(-1, 2, 8)[:, None]))
    table = camilla.ResponseTable.from_matrix((rng.random(p.shape) < p).astype(float), learners=LEARNERS)
    table = table.with_skills(SkillMap.from_labels([SKILLS[j % 12] for j in range(120)]))
    camilla.diagnose(table, diagnoser).save(folder / diagnoser)
    return report([folder / diagnoser], folder / f"{diagnoser}.html").page


@pytest.fixture(scope="module")
def long_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return page_of("camilla-base", tmp_path_factory.mktemp("long"))


@pytest.mark.parametrize("view", ["summary", "leaderboard", "learner", "compare", "skills"])
def test_no_name_leaves_its_chart(long_page: Path, opened: Callable[..., Any], view: str) -> None:
    """A pixel of grace, for rounding."""
    page = opened(long_page).go(view)
    assert page.locator("main svg text.who").count() > 0
    assert page.evaluate(OUTSIDE) == []


def test_skills_are_told_apart_by_what_is_left_of_their_names(
    long_page: Path, opened: Callable[..., Any]
) -> None:
    page = opened(long_page).go("skills")
    names = page.locator("main svg").first.locator("a.row > text.who").all_text_contents()
    assert len(names) == 12
    assert len(set(names)) == 12


def test_one_ability_for_all_skills_is_said_and_accuracies_are_shown(
    long_page: Path, tmp_path: Path, opened: Callable[..., Any]
) -> None:
    """irt has one ability for all skills: abilities by skill cannot differ. camilla-base has one for each."""
    why = "has one ability for all skills"
    shown = opened(page_of("irt", tmp_path))
    assert why in shown.go("summary").locator("main .findings").text_content()
    assert "Its accuracy" in shown.go("skills").inner_text("main")
    shown = opened(long_page)
    assert why not in shown.go("summary").locator("main .findings").text_content()
    assert "Its ability" in shown.go("skills").inner_text("main")
