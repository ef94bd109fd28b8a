"""Leaderboards, experiments and several diagnoses on one page."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.stats import binomtest
from typer.testing import CliRunner

import camilla
from camilla.cli.main import app
from camilla.errors import FormatError
from camilla.experiments.running import experiment
from camilla.learners.compare import compare
from camilla.learners.rank import rank
from camilla.show.report import boards
from camilla.show.report.build import report
from camilla.show.report.decisions import decision_section


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with two diagnoses, a leaderboard, experiments of every kind, a ranking and a comparison."""
    folder = tmp_path_factory.mktemp("saved")
    table = camilla.simulate(8, 160, skills=3, seed=6).table
    camilla.diagnose(table, "camilla-base", precision=3.0, skill_correlation=0.5).save(folder / "by skill")
    camilla.diagnose(table, "irt", precision=3.0).save(folder / "overall")
    scores = np.random.default_rng(1).normal(np.linspace(1, 0, 6)[:, None], 0.5, (6, 15))
    long = pl.DataFrame(
        {
            "player": np.repeat([f"player {i}" for i in range(6)], 15),
            "round": np.tile([f"round {j}" for j in range(15)], 6),
            "score": scores.ravel(),
        }
    )
    camilla.epp(camilla.Tournament.from_long(long), prior=1.0).save(folder / "epp")
    tables, store = {"simulated": table}, folder / "experiments.parquet"
    experiment("reliability", tables, diagnosers=("vanilla", "irt:precision=3"), seeds=(1, 2), store=store)
    experiment(
        "rank-stability", tables, diagnosers=("vanilla",), seeds=(1, 2, 3), sizes=(20, 80), store=store
    )
    experiment("rank-consistency", tables, diagnosers=("vanilla", "irt:precision=3"), seeds=(1,), store=store)
    ranking = rank(table)
    pair = compare(table, *ranking.learners[:2])
    for name, document in (("rank", ranking.to_document()), ("pair", pair.to_document())):
        (folder / f"{name}.json").write_text(json.dumps(document))
    return folder


ALL = ("by skill", "overall", "epp", "rank.json", "pair.json", "experiments.parquet")


def test_axe_finds_no_violation_in_any_view(saved: Path, tmp_path: Path, judged: Callable[..., Any]) -> None:
    """Every view that the demo's page has not; an experiment each, the two results without a model."""
    page = report([saved / name for name in ALL], tmp_path / "page.html").page
    n_experiments = len(boards.experiment_sections(saved / "experiments.parquet"))
    assert n_experiments == 3
    views = ["summary?d=1", "learner?d=1", "epp", "comparisons", "comparisons?e=1", "made"]
    assert judged(page, [*views, *(f"experiments?e={k}" for k in range(n_experiments))]) == []


@pytest.mark.parametrize("name", ["epp", "rank.json", "experiments.parquet"])
def test_axe_finds_no_violation_in_a_page_without_a_diagnosis(
    saved: Path, tmp_path: Path, judged: Callable[..., Any], name: str
) -> None:
    page = report([saved / name], tmp_path / "page.html").page
    assert judged(page, ["", "made"]) == []


def test_all_of_it_opens_on_one_page(saved: Path, tmp_path: Path, opened: Callable[..., Any]) -> None:
    shown = opened(report([saved / name for name in ALL], tmp_path / "page.html").page)
    page = shown.go("epp")
    assert "player 0" in page.inner_text("main .table")
    for k in range(3):
        page = shown.go(f"experiments?e={k}")
        assert page.locator("main .plot svg").count() >= 1
    assert "rank-stability on simulated" in page.inner_text("main")
    page = shown.go("summary")
    page.get_by_label("Diagnosis").select_option(label="overall")
    shown.until("location.hash.includes('d=1')")
    assert "irt was fitted to" in page.inner_text("main")
    assert shown.trouble == []
    assert shown.asked_elsewhere() == []


def test_a_leaderboard_alone_makes_a_page(saved: Path, tmp_path: Path, opened: Callable[..., Any]) -> None:
    shown = opened(report([saved / "epp"], tmp_path / "page.html").page)
    assert shown.go("").inner_text("main h1") == "EPP leaderboard"
    assert shown.trouble == []


def test_the_boards_numbers_are_those_saved(saved: Path) -> None:
    board = camilla.Leaderboard.load(saved / "epp")
    made = boards.board_section("epp", saved / "epp")
    np.testing.assert_array_equal(made["epp"], board.epp)
    pairs = board.pairs()
    half = made["win"]["half"][0, 1]
    logit = np.log(pairs["p_win_high"][0] / (1 - pairs["p_win_high"][0]))
    assert half == pytest.approx(logit - pairs["difference"][0], rel=1e-9)
    assert (made["fit"]["predicted"] >= 0.5).all()
    assert len(made["fit"]["predicted"]) == 15


def test_lines_and_bands_are_means_over_seeds(saved: Path) -> None:
    """Mean and Student's t interval over three seeds, computed here."""
    (section,) = [
        one
        for one in boards.experiment_sections(saved / "experiments.parquet")
        if one["name"] == "rank-stability"
    ]
    (picture,) = [one for one in section["pictures"] if one["title"] == "Kendall's τ, n v n"]
    (line,) = picture["series"]
    rows = pl.read_parquet(saved / "experiments.parquet").filter(
        experiment="rank-stability", score="kendall", comparison="n v n", size=20
    )
    values = rows["value"].to_numpy()
    assert line["x"] == [20, 80]
    assert line["value"][0] == pytest.approx(values.mean())
    half = 4.302652729696142 * values.std(ddof=1) / np.sqrt(3)  # Student's t, two degrees of freedom
    assert line["high"][0] - line["value"][0] == pytest.approx(half)


def test_results_on_other_data_have_a_section_of_their_own(saved: Path, tmp_path: Path) -> None:
    """The reliability of one name under two hashes: as many seeds in each section as were run on its data."""
    rows = pl.read_parquet(saved / "experiments.parquet").filter(experiment="reliability")
    other = rows.with_columns(data_hash=pl.lit("f" * 64))
    pl.concat([rows, other]).write_parquet(tmp_path / "both.parquet")
    made = boards.experiment_sections(tmp_path / "both.parquet")
    hashes = [rows["data_hash"][0], "f" * 64]
    titles = {f"reliability on data {digest[:8]}, simulated": [digest] for digest in hashes}
    assert {one["title"]: one["provenance"]["data_hash"] for one in made} == titles
    for section in made:
        seeds = section["columns"].index("seeds")
        assert {row[seeds] for row in section["rows"]} == {2}


def test_rankings_and_comparisons_are_drawn_without_a_diagnosis(
    tmp_path: Path, opened: Callable[..., Any]
) -> None:
    table = camilla.simulate(5, 60, seed=9).table
    ranking = rank(table)
    first, second = ranking.learners[:2]
    documents = {"rank": ranking.to_document(), "pair": compare(table, first, second).to_document()}
    for name, document in documents.items():
        (tmp_path / f"{name}.json").write_text(json.dumps(document))
    sources = [tmp_path / "rank.json", tmp_path / "pair.json"]
    shown = opened(report(sources, tmp_path / "page.html").page)
    assert f"{ranking.rows['mean'][0]:.3f}" in shown.go("comparisons").inner_text("main")
    text = shown.go("comparisons?e=1").inner_text("main")
    assert shown.page.inner_text("main .page-verdict p").startswith(f"{second} ")
    assert f"Differences are {second} less {first}." in text
    assert "60 shared samples" in text
    assert shown.trouble == []


def test_a_comparison_is_told_in_points_with_its_p_value(tmp_path: Path) -> None:
    """A alone has 40 samples of 100 right, B alone 4: a difference of −.36; p by scipy's binomial test."""
    right = {"a": np.arange(100) < 96, "b": (np.arange(100) < 56) | (np.arange(100) >= 96)}
    made = decision_section(_compared(tmp_path, right, cluster=None))
    p = binomtest(4, 44).pvalue
    assert p < 1e-6
    said = made["verdict"]["text"]
    assert said.startswith("b is worse than a: \N{MINUS SIGN}36.0 (")
    assert said.endswith("points on 100 shared samples (p < 0.0001, exact McNemar).")
    assert made["verdict"]["numbers"]["p"]["value"] == pytest.approx(p)
    (counts,) = made["verdict"]["evidence"]
    assert counts["text"] == "4 : 40 samples on which b is above a and below it; means 0.600 and 0.960."


def test_one_cluster_has_a_section_without_an_interval(tmp_path: Path, opened: Callable[..., Any]) -> None:
    """No variance between clusters can be seen in one: the ends are null in the JSON of both commands."""
    right = {"a": np.arange(20) < 8, "b": np.arange(20) < 15}
    source = _compared(tmp_path, right, cluster="one")
    assert json.loads(source.read_text())["overall"]["low"] is None
    section = decision_section(source)
    assert "+35.0 points" in section["verdict"]["text"]
    assert section["words"][1:] == ["all shared samples belong to one cluster: no interval can be given."]
    ranked = _printed(tmp_path / "ranked.json", "rank", str(tmp_path / "runs.csv"), "--cluster", "page")
    assert json.loads(ranked.read_text())["learners"][0]["low"] is None
    shown = opened(report([ranked, source], tmp_path / "page.html").page)
    for view, number in (("comparisons", "0.750"), ("comparisons?e=1", "+35.0 points")):
        page = shown.go(view)
        assert number in page.inner_text("main")
        assert page.locator("main .plot svg circle").count() >= 1
    assert shown.trouble == []


def test_every_pair_of_a_ranking_may_be_in_its_file(tmp_path: Path) -> None:
    right = {"a": np.arange(20) < 8, "b": np.arange(20) < 15}
    _compared(tmp_path, right, cluster=None)
    ranked = _printed(tmp_path / "ranked.json", "rank", str(tmp_path / "runs.csv"), "--pairs")
    assert [row[1] for row in decision_section(ranked)["rows"]] == ["b", "a"]


def _compared(folder: Path, right: dict[str, Any], *, cluster: str | None) -> Path:
    """What `camilla compare TABLE a b --json` prints about right and wrong answers, as a file."""
    rows = [
        (name, f"q{j:02d}", int(one), cluster) for name, all_ in right.items() for j, one in enumerate(all_)
    ]
    frame = pl.DataFrame(rows, schema=["learner", "sample", "response", "page"], orient="row")
    frame.write_csv(folder / "runs.csv")
    options = () if cluster is None else ("--cluster", "page")
    return _printed(folder / "pair.json", "compare", str(folder / "runs.csv"), "a", "b", *options)


def _printed(target: Path, *arguments: str) -> Path:
    ran = CliRunner().invoke(app, [*arguments, "--json"])
    assert ran.exit_code == 0, ran.output
    target.write_text(ran.stdout)
    return target


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"a": 1}', "contains no result that the report knows"),
        ("[1, 2]", "contains no result that the report knows"),
        (
            '{"format": "camilla route", "version": 1}',
            "contains a decision to use ('camilla route'), without the figures",
        ),
        ('{"schema": {"name": "select", "version": 1}, "samples": []}', "is the document 'select'"),
        ('{"schema": {"name": "judges"}, "groups": [], "learners": []}', "is the document 'judges'"),
        ('{"a": ', "is not JSON: Expecting value: line 1 column 7 (char 6)"),
    ],
)
def test_another_json_is_refused(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "other.json").write_text(text)
    with pytest.raises(FormatError) as refused:
        report([tmp_path / "other.json"], tmp_path / "page.html")
    wanted = "The report shows what camilla rank, compare, route, ensemble or features prints with --json."
    assert str(refused.value) == f"{tmp_path / 'other.json'}: {said}. {wanted}"
