"""One question, one answer: `rank`, a diagnosis, `show`, the report's data, the picture and the server
say the same of who is told apart, possible ranks, ties and P(best) on the same table."""

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import board_worlds
import matplotlib.pyplot as plt
import numpy as np
import pytest
from board_worlds import Live

import camilla
from camilla.cli.show import show_document
from camilla.show.pictures.diagnosis import forest_figure
from camilla.show.report.diagnosed import Diagnosed, section
from camilla.show.report.verdicts import ranking_verdict
from camilla.show.report.words import headline
from camilla.table.responses import ResponseTable

KINDS = ("complete", "clusters", "ties", "copies", "fractional", "missing")


def table_of(kind: str) -> ResponseTable:
    """Twelve learners on 120 samples, with what is special about them."""
    rng = np.random.default_rng(KINDS.index(kind) + 1)
    level = np.repeat([1.2, 0.9, 0.8, -0.2], 3) if kind == "ties" else np.linspace(1.2, -0.4, 12)
    p = 1 / (1 + np.exp(rng.normal(size=120) - level[:, None]))
    matrix = (rng.random(p.shape) < p).astype(float)
    if kind == "fractional":
        matrix = rng.beta(4 * p, 4 * (1 - p))
    if kind == "ties":  # equal means, of other samples
        matrix[1] = rng.permutation(matrix[0])
    if kind == "copies":
        matrix[1:3] = matrix[0]
    if kind == "missing":
        matrix[rng.random(matrix.shape) < 0.15] = np.nan
    learners = [f"learner {i:02}" for i in range(12)]
    samples = [f"sample {j:03}" for j in range(120)]
    table = ResponseTable.from_matrix(matrix, learners=learners, samples=samples)
    if kind != "clusters":
        return table
    pages = table.to_long().with_columns(
        page="page " + (table.to_long()["sample"].str.slice(-3).cast(int) % 20).cast(str)
    )
    return ResponseTable.from_long(pages, cluster="page")


def tied_pairs(ties: Any) -> set[frozenset[str]]:
    return {frozenset(pair) for names in ties for pair in itertools.combinations(names, 2)}


@pytest.mark.parametrize("kind", KINDS)
def test_all_say_the_same_of_who_is_better_first_and_tied(
    kind: str, tmp_path: Path, live: Callable[..., Live]
) -> None:
    table = table_of(kind)
    found = camilla.diagnose(table, "bayes", draws=120)
    board = found.learners["learner"].to_list()
    standing = found.told_apart()
    assert standing is not None
    tied = tied_pairs([[board[place] for place in places] for places in standing.ties])
    frame = {row["learner"]: row for row in found.learners.iter_rows(named=True)}

    assert show_document(found)["learners"] == found.learners.to_dicts()
    of = Diagnosed("found", found)
    sent = section(of)["learners"]
    assert sent["name"] == board
    assert tied_pairs([[board[place] for place in places] for places in sent["ties"]]) == tied
    for name, low, high in zip(board, sent["rank_low"], sent["rank_high"], strict=True):
        assert (frame[name]["rank_low"], frame[name]["rank_high"]) == (low, high)
    with_first = {name for name in board[1:] if frozenset((board[0], name)) in tied}
    assert {name for name in board[1:] if frame[name]["tied_with_first"]} == with_first
    said = headline(of)
    assert said.kind == ("tied lead" if with_first else "sure lead")
    assert said.numbers.get("tied", (0.0, ""))[0] == len(with_first)

    figure = forest_figure(found)
    bars = {tuple(line.get_ydata()) for line in figure.axes[0].lines if line.get_linewidth() < 1}
    assert {(places[0], places[-1]) for places in standing.ties} <= bars
    plt.close(figure)

    server = live(folder=found.save(tmp_path / "found"))
    answer = server.client.get("/api/benchmarks/small/leaderboard").json()
    assert tied_pairs(answer["ties"]) == tied
    for row in answer["rows"]:
        assert {key: row[key] for key in ("rank", "rank_low", "rank_high")} == {
            key: frame[row["learner"]][key] for key in ("rank", "rank_low", "rank_high")
        }

    ranking = camilla.rank(table)
    by_rank = {row["learner"]: row for row in ranking.rows.iter_rows(named=True)}
    if kind == "missing":  # draws decide here and shared samples there: neither contradicts the other
        place = {name: k for k, name in enumerate(board)}
        for pair in ranking.pairs().filter("told_apart").iter_rows(named=True):
            both = frozenset((pair["a"], pair["b"]))
            assert both in tied or place[pair["a"]] < place[pair["b"]]
        return
    assert tied_pairs(ranking.to_document()["ties"]) == tied
    for name in board:
        for key in ("rank_low", "rank_high"):
            assert frame[name][key] == by_rank[name][key], (name, key)
        assert frame[name]["p_best"] == pytest.approx(by_rank[name]["p_best"], abs=1e-12)
    if ranking.learners[0] == board[0]:
        assert ranking_verdict(ranking.to_document()).kind == f"rank {said.kind}"


@pytest.mark.parametrize("kind", ["complete", "clusters", "fractional"])
def test_a_board_with_a_placed_learner_is_decided_by_the_responses_of_all(
    kind: str, tmp_path: Path, live: Callable[..., Live]
) -> None:
    whole = table_of(kind)
    others = whole.take_learners(range(1, 12))
    found = camilla.diagnose(others, "bayes", draws=120)
    server = live(folder=found.save(tmp_path / "found"))
    given = dict(zip(whole.samples, whole.matrix()[0].tolist(), strict=True))
    server.submit(server.token("ann"), "learner 00", given)
    answer = server.client.get("/api/benchmarks/small/leaderboard").json()
    assert [row["state"] for row in answer["rows"] if row["learner"] == "learner 00"] == ["placed"]
    ranking = camilla.rank(whole)
    assert tied_pairs(answer["ties"]) == tied_pairs(ranking.to_document()["ties"])
    possible = {row["learner"]: (row["rank_low"], row["rank_high"]) for row in answer["rows"]}
    assert possible == {
        row["learner"]: (row["rank_low"], row["rank_high"]) for row in ranking.rows.iter_rows(named=True)
    }


def test_equal_learners_share_a_rank_and_copies_a_chance() -> None:
    table = table_of("copies")
    ranking = camilla.rank(table)
    first = ranking.rows.filter(ranking.rows["learner"].is_in(["learner 00", "learner 01", "learner 02"]))
    assert first["rank"].n_unique() == first["p_best"].n_unique() == 1
    assert "learner 00, learner 01, learner 02 have the same response on every sample" in ranking.text()
    alone = camilla.rank(table.take_learners([0, *range(3, 12)])).rows
    assert first["p_best"].sum() == pytest.approx(alone.filter(learner="learner 00")["p_best"][0], abs=0.03)


def test_these_samples_say_more_than_samples_like_these() -> None:
    """The switch: narrower intervals, the same abilities, and the title names what they are of."""
    found = camilla.diagnose(table_of("complete"), "bayes", draws=120)
    these = found.learners_on_these()
    wide, narrow = ((frame["high"] - frame["low"]).mean() for frame in (found.learners, these))
    assert narrow < 0.95 * wide  # type: ignore[operator]
    joined = these.join(found.learners, on="learner")
    np.testing.assert_allclose(joined["ability"], joined["ability_right"], atol=1e-6)
    assert "expected score on samples like these 120" in found.text()
    assert "expected score on these 120 samples" in found.text(these_samples=True)


def test_the_server_page_names_the_estimand(tmp_path: Path, live: Callable[..., Live]) -> None:
    found = camilla.diagnose(board_worlds.world(), "bayes", draws=120)
    page = live(folder=found.save(tmp_path / "found")).client.get("/benchmarks/small").text
    assert "expected score on samples like these 60" in page
