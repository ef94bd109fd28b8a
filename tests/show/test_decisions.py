"""Routes and committees on the page and as a picture: every number is that of the JSON it was made of."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import camilla
from camilla.errors import DataError, FormatError, SettingError
from camilla.show.pictures.frontier import draw_route
from camilla.show.report.build import report
from camilla.show.report.decisions import decision_section


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """route.json (a pays on law, b on art), free.json (no costs), committee.json."""
    place = tmp_path_factory.mktemp("decisions")
    rng = np.random.default_rng(5)
    task = np.where(rng.random(300) < 0.5, "law", "<b>art</b>")
    p = np.array([np.where(task == "law", 0.9, 0.4), np.where(task == "law", 0.4, 0.9), np.full(300, 0.8)])
    frame = pl.DataFrame({"sample": [f"s{i}" for i in range(300)], "task": task})
    frame = frame.with_columns(
        pl.Series(name, (rng.random(300) < row).astype(int)) for name, row in zip("abc", p, strict=True)
    )
    table = camilla.read(frame, rows="samples", task="task")
    documents = {
        "route": camilla.route(table, costs={"a": 1, "b": 2, "c": 5}, progress=False).to_document(),
        "free": camilla.route(table, progress=False).to_document(),
    }
    labels = rng.integers(0, 3, 200)
    said = {f"m{i}": np.where(rng.random(200) < 0.75, labels, (labels + 1) % 3) for i in range(5)}
    answers = camilla.ResponseTable.from_predictions(said, labels)
    documents["committee"] = camilla.ensemble(answers, sizes=(3,), splits=2, progress=False).to_document()
    for name, document in documents.items():
        (place / f"{name}.json").write_text(json.dumps(document))
    return place


def document(folder: Path, name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / f"{name}.json").read_text())
    return found


def test_a_route_is_told_with_its_gain_and_its_frontier(folder: Path) -> None:
    made, section = document(folder, "route"), decision_section(folder / "route.json")
    text = section["verdict"]["text"]
    assert made["better"]
    assert text.startswith("Choosing a learner per sample is better than drawing lots at the same cost: +")
    assert section["verdict"]["numbers"]["difference"]["value"] == made["gain"]["difference"]
    (lines,) = [one for one in section["pictures"] if one["kind"] == "lines"]
    by_budget = {(row["way"], row["budget"]): row["quality"] for row in made["frontier"]}
    for line in lines["series"]:
        for x, value in zip(line["x"], line["value"], strict=True):
            assert value == by_budget[line["name"], x]
        assert (line["x"][0], line["x"][-1]) == (1, 5)
    tasks = next(one for one in section["pictures"] if "by task" in one["title"])
    assert {series["name"]: series["value"][0] for series in tasks["series"]} == {
        row["task"]: row["difference"] for row in made["tasks"]
    }


def test_without_costs_there_is_no_frontier(folder: Path) -> None:
    section = decision_section(folder / "free.json")
    assert [one["kind"] for one in section["pictures"]] == ["dots", "dots"]
    assert "the best single learner (c)" in section["verdict"]["text"]
    with pytest.raises(DataError, match="nothing to draw: all learners cost the same"):
        draw_route(folder / "free.json", "frontier")


def test_a_committee_is_told_with_its_difference(folder: Path) -> None:
    made, section = document(folder, "committee"), decision_section(folder / "committee.json")
    assert section["verdict"]["numbers"]["difference"]["value"] == made["ways"][1]["difference"]
    accuracies = {series["name"]: series["value"][0] for series in section["pictures"][0]["series"]}
    assert accuracies == {row["way"]: row["accuracy"] for row in made["ways"]}


def test_both_are_on_one_page_and_names_are_text(folder: Path, tmp_path: Path) -> None:
    written = report([folder / "route.json", folder / "committee.json"], tmp_path / "page.html")
    page = written.page.read_text()
    assert "<title>route route</title>" in page
    assert "<b>art</b>" not in page


def test_the_picture_has_every_way(folder: Path) -> None:
    (axes,) = draw_route(folder / "route.json", "frontier").axes
    assert [text.get_text() for text in axes.get_legend().get_texts()] == [
        "chosen by sample", "random mixing", "oracle",
    ]  # fmt: skip
    assert {text.get_text() for text in axes.texts} == {"a", "b", "c"}


def test_what_is_none_is_refused(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "broken.json").write_text(json.dumps({"frontier": 3}))
    with pytest.raises(FormatError, match="is no route or committee"):
        decision_section(tmp_path / "broken.json")
    for wrong in ({"frontier": 3}, {"learners": []}):
        (tmp_path / "wrong.json").write_text(json.dumps(wrong))
        with pytest.raises(DataError, match="holds no figures of a route"):
            draw_route(tmp_path / "wrong.json", "frontier")
    with pytest.raises(SettingError, match="no picture 'radar' of a route"):
        draw_route(folder / "route.json", "radar")
