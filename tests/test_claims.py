"""Every claim of a result type has a row in docs/design/claims.toml, and every row is about something."""

from functools import cache

import numpy as np
import polars as pl
import pytest

import camilla
import claims
from camilla.ranking.epp import epp
from camilla.table.tournament import Tournament

DECLARED = claims.fields()


@cache
def frames() -> list[claims.Field]:
    """The columns of dataframes that no JSON document has, of small results."""
    world = camilla.simulate(8, 40, skills=2, seed=1).table
    old, new = world.take_learners(range(7)), world.take_learners([7])
    found = camilla.diagnose(old, "bayes", draws=60)
    by_skill = camilla.diagnose(old, "camilla-base", precision=3.0, skill_correlation=0.5)
    unseen = found.predict_new(samples=["another"])
    scores = np.random.default_rng(0).normal(size=(4, 12))
    board = epp(Tournament(tuple("abcd"), tuple(map(str, range(12))), scores))
    runs = camilla.experiment("reliability", world, diagnosers=["vanilla"], seeds=(1, 2))
    made = {
        "Diagnosis.learners": found.learners,
        "Diagnosis.samples": found.samples,
        "Diagnosis.skills": pl.concat([found.skills, by_skill.skills], how="diagonal"),
        "Diagnosis.ability": found.ability(),
        "Diagnosis.ability_on_these": found.ability(these_samples=True),
        "Diagnosis.learners_on_these": found.learners_on_these(),
        "Diagnosis.predict": found.predict(),
        "Diagnosis.place": found.place(new),
        "Diagnosis.place_skills": found.place_skills(new),
        "Diagnosis.simultaneous": found.simultaneous(),
        "Diagnosis.standing": found.standing(),
        "NewPredictions.responses": unseen.responses,
        "NewPredictions.samples": unseen.samples,
        "NewPredictions.learners": unseen.learners,
        "Leaderboard.rows": board.rows(),
        "Leaderboard.pairs": board.pairs(),
        "experiment_summary": camilla.experiment_summary(runs),
    }
    columns = [
        (name, column) for name, frame in made.items() if frame is not None for column in frame.columns
    ]
    return [
        claims.Field(f"frame:{name}.{column}", "", claims.looks_like_a_claim(column, ""))
        for name, column in columns
    ]


def test_every_field_that_looks_like_a_claim_has_a_row() -> None:
    """A new interval, probability or verdict: measure it, or write "not covered" and why, in claims.toml."""
    assert claims.without_a_row([*DECLARED, *frames()]) == []


def test_every_row_is_about_a_field() -> None:
    assert claims.without_a_field([*DECLARED, *frames()]) == []


def test_scripts_sections_and_figures_are_there() -> None:
    assert claims.unfounded() == []


def test_the_page_is_made_of_the_rows() -> None:
    """python scripts/claims.py"""
    assert claims.PAGE.read_text(encoding="utf-8") == claims.page()


def test_what_is_not_covered_says_so_and_why() -> None:
    told = claims.rows()[0]
    assert all(row.gap for row in told if row.state == "not covered")
    assert all(row.estimand and row.of and row.where for row in told)
    assert claims.page().count("**Not covered.**") == sum(row.state == "not covered" for row in told)


def test_what_is_cited_without_a_figure_does_not_count() -> None:
    row = next(row for row in claims.rows()[0] if row.state == "covered")
    told = row.covers[0]._replace(figure="see the page")
    assert row._replace(covers=(told,), gap="no figure").state == "not covered"
    assert row._replace(covers=(told, row.covers[0]), gap="fractions").state == "covered in part"


def test_a_claim_is_declared_once() -> None:
    told = [(row.part, row.claim) for row in claims.rows()[0]]
    assert len(told) == len(set(told))


@pytest.mark.parametrize(
    ("name", "about", "asks"),
    [
        ("low", "", True),
        ("difference_high", "", True),
        ("p_best", "", True),
        ("holmP", "", True),
        ("rank_low", "", True),
        ("verdict", "", True),
        ("told_apart", "", True),
        ("successRate", "Its expected mean response.", True),
        ("sure", "", True),
        ("lead", "Whether the first learner is ahead.", True),
        ("margin_of_error", "Half of its 95 % interval.", True),
        ("learner", "Name of the learner.", False),
        ("n_samples", "Samples of the table.", False),
        ("allowed", "How far B may be below A.", False),
        ("slow", "Seconds that it took.", False),
    ],
)
def test_claims_are_known_by_name_or_description(name: str, about: str, *, asks: bool) -> None:
    assert claims.looks_like_a_claim(name, about) == asks


def test_new_fields_of_every_kind_are_asked_about() -> None:
    new = ["json:rank.learners.p_first", "report:surely best", "server:Row.p_best", "python:Ranking.p_best"]
    found = [claims.Field(path, "", asks=True) for path in new]
    assert claims.without_a_row(found) == new


def test_every_kind_of_result_is_searched() -> None:
    kinds = {one.path.partition(":")[0] for one in DECLARED if one.asks}
    assert kinds == {"json", "report", "page", "python", "server"}
    paths = {one.path for one in DECLARED}
    assert {
        "json:epp-tournaments.tournaments.<name>.players.low",
        "report:tied lead",
        "report:highest",
    } <= paths
    assert {"report:compare …", "page:Draws.steps", "python:Standing.p_best", "server:Row.low"} <= paths


def test_a_pattern_is_any_name_any_path_or_either() -> None:
    assert claims.matcher("json:*.{low,high}").fullmatch("json:rank.high")
    assert not claims.matcher("json:*.{low,high}").fullmatch("json:rank.learners.high")
    assert claims.matcher("json:**.{low,high}").fullmatch("json:rank.learners.high")
    assert claims.matcher("json:a.<name>.b").fullmatch("json:a.<name>.b")


def test_numbers_are_read_as_they_are_written() -> None:
    assert claims.numbers("of 2,000 tables .936 to 94.9 %, or 0.95 in 20_000") == [
        "2000", ".936", "94.9", "0.95", "20000",
    ]  # fmt: skip
    assert claims.section_of("docs/design/posterior.md#nowhere") is None
    assert claims.section_of("docs/nowhere.md") is None
    assert ".936" in claims.numbers(claims.section_of("docs/design/posterior.md#coverage") or "")
    assert ".936" not in claims.numbers(claims.section_of("docs/design/posterior.md#cost") or "")
