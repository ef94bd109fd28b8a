"""Routes, committees and features on the page and as a picture: every number is that of their JSON."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import camilla
from camilla.errors import DataError, FormatError, SettingError
from camilla.show.pictures.frontier import draw_route
from camilla.show.report.build import report
from camilla.show.report.decisions import committee_verdict, decision_section


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """route.json (a pays on law, b on art), free.json (no costs), committee.json; features, also within."""
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
    documents |= feature_documents(rng)
    for name, document in documents.items():
        (place / f"{name}.json").write_text(json.dumps(document))
    return place


HOSTILE = "<img src=x onerror=alert(1)>"


def feature_documents(rng: np.random.Generator) -> dict[str, dict[str, Any]]:
    """Steps make samples hard by 1.5 logits per unit; a category of three levels and one of two do not."""
    steps = rng.normal(size=120)
    chance = 1 / (1 + np.exp(1.5 * steps - rng.normal(size=(12, 1))))
    right = (rng.random((12, 120)) < chance).astype(float)
    names = [f"<i>s{k}</i>" for k in range(120)]
    table = camilla.ResponseTable.from_matrix(right, learners=[f"m{k}" for k in range(12)], samples=names)
    known = pl.DataFrame({
        "sample": names, "steps": steps, HOSTILE: rng.choice(["<b>a</b>", "b", "c"], 120),
        "kind": rng.choice(["long", "short"], 120),
    })  # fmt: skip
    table = table.with_features(samples=known)
    return {
        "features": camilla.feature_effects(table).to_document(),
        "within": camilla.feature_effects(table, within=HOSTILE).to_document(),
    }


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


def test_features_are_told_with_the_share_they_explain(folder: Path) -> None:
    made, verdict = document(folder, "features"), decision_section(folder / "features.json")["verdict"]
    share = made["explained"]
    low, value, high = (f"{100 * share[end]:.1f}\N{NO-BREAK SPACE}%" for end in ("low", "value", "high"))
    assert verdict["text"] == (
        f"The features explain {value} of the variance of success rates on samples that had no part in the "
        f"fit (95\N{NO-BREAK SPACE}% CI {low} to {high})."
    )
    assert verdict["numbers"]["explained"]["value"] == share["value"]
    most, effects, fitted = verdict["evidence"]
    assert most["names"] == {"feature": "steps"}
    assert most["numbers"]["lost"]["value"] == made["features"][0]["lost"]
    assert effects["numbers"]["effects"]["value"] == len(made["effects"])
    significant = sum(row["holm_p"] < 0.05 for row in made["effects"])
    assert effects["numbers"]["significant"]["value"] == significant
    assert fitted["numbers"]["variance_explained"]["value"] == made["variance_explained"]
    within = decision_section(folder / "within.json")["verdict"]
    assert within["text"].startswith(f"The features, '{HOSTILE}' among them, explain ")
    assert f"of the variance of difficulty within '{HOSTILE}' (REML)." in within["evidence"][-1]["text"]


def test_features_that_predict_nothing_are_said_to(folder: Path, tmp_path: Path) -> None:
    made = document(folder, "features") | {"verdict": "not explained"}
    for share, said in (
        ({"value": -0.02, "low": -0.05, "high": 0.01}, " (−2.0 % of the variance, 95 % CI −5.0 % to 1.0 %)."),
        ({"value": 0.0, "low": None, "high": None}, " (0.0 % of the variance)."),
        ({"value": None, "low": None, "high": None}, "."),
    ):
        (tmp_path / "none.json").write_text(json.dumps(made | {"explained": share}))
        text = decision_section(tmp_path / "none.json")["verdict"]["text"].replace("\N{NO-BREAK SPACE}", " ")
        assert text == (
            "The features do not predict success rates of samples that had no part in the fit better than a "
            f"constant does{said}"
        )


def dots(section: dict[str, Any], title: str) -> list[tuple[str, float, float, float]]:
    (picture,) = (one for one in section["pictures"] if one["title"].startswith(title))
    return [(one["name"], one["value"][0], one["low"][0], one["high"][0]) for one in picture["series"]]


@pytest.mark.parametrize("name", ["features", "within"])
def test_every_effect_stands_beside_itself_alone(folder: Path, name: str) -> None:
    """Numbers and two levels in one picture, the largest first; three levels in one of their own."""
    made, section = document(folder, name), decision_section(folder / f"{name}.json")
    by_feature: dict[str, list[dict[str, Any]]] = {}
    for row in made["effects"]:
        by_feature.setdefault(row["feature"], []).append(row)
    kind = by_feature["kind"][0]
    single = [("steps", by_feature["steps"][0]), (f"kind: {kind['term']}", kind)]
    assert dots(section, "Effects on difficulty") == [
        (label, *(row[column] for column in columns))
        for label, row in single
        for columns in (("effect", "low", "high"), ("alone", "alone_low", "alone_high"))
    ]
    within = f", within '{HOSTILE}'" if name == "within" else ""
    assert any(one["title"] == f"Effects on difficulty{within}" for one in section["pictures"])
    if name == "within":
        assert not any(one["title"].startswith("Levels") for one in section["pictures"])
        return
    levels = dots(section, f"Levels of '{HOSTILE}'")
    assert levels[::2] == [
        (row["term"], row["effect"], row["low"], row["high"])
        for row in sorted(by_feature[HOSTILE], key=lambda row: -row["effect"])
    ]


def test_shares_tables_and_predictions_are_those_of_the_document(folder: Path) -> None:
    made, section = document(folder, "features"), decision_section(folder / "features.json")
    shares = dots(section, "Share explained")
    assert shares[0] == ("all features", *(made["explained"][end] for end in ("value", "low", "high")))
    assert set(shares[1:]) == {
        (row["feature"], row["alone"], row["alone_low"], row["alone_high"]) for row in made["features"]
    }
    assert dots(section, "Share lost") == [
        (row["feature"], row["lost"], row["lost_low"], row["lost_high"]) for row in made["features"]
    ]
    points = next(one["points"] for one in section["pictures"] if one["kind"] == "points")
    held = {row["sample"]: (row["predicted"], row["observed"]) for row in made["predicted"]}
    assert dict(zip(points["name"], zip(points["x"], points["y"], strict=True), strict=True)) == held
    assert {tuple(row) for row in section["more"][1]["rows"]} == {
        (row["sample"], row["observed"], row["predicted"]) for row in made["predicted"]
    }
    assert {tuple(sorted(map(str, row))) for row in section["rows"]} == {
        tuple(sorted(map(str, row.values()))) for row in made["effects"]
    }


def test_many_predictions_are_thinned_and_counted(folder: Path, tmp_path: Path) -> None:
    made = document(folder, "features")
    many = [{"sample": f"s{k}", "observed": 0.5, "predicted": k / 12_000} for k in range(12_000)]
    (tmp_path / "many.json").write_text(json.dumps(made | {"predicted": many}))
    section = decision_section(tmp_path / "many.json")
    picture = next(one for one in section["pictures"] if one["kind"] == "points")
    assert list(picture["points"]["x"]) == [k / 12_000 for k in range(0, 12_000, 3)]
    assert "4,000 of 12,000" in picture["note"]


def test_the_largest_levels_are_drawn_and_the_rest_counted(folder: Path, tmp_path: Path) -> None:
    """Of 30 levels from -60 to 58, the ten smallest in size are in the table alone."""
    made = document(folder, "features")
    pattern = next(row for row in made["effects"] if row["feature"] == HOSTILE)
    sizes = [(2 * k if k % 2 else -2 * k) for k in range(1, 31)]
    levels = [pattern | {"term": f"level {size}", "effect": size} for size in sizes]
    (tmp_path / "levels.json").write_text(json.dumps(made | {"effects": levels}))
    section = decision_section(tmp_path / "levels.json")
    drawn = [value for _, value, *_ in dots(section, f"Levels of '{HOSTILE}', 20 largest of 30")[::2]]
    assert drawn == sorted((size for size in sizes if abs(size) > 20), reverse=True)
    assert len(section["rows"]) == 30


def test_without_a_script_features_are_tables(folder: Path, tmp_path: Path) -> None:
    page = report(folder / "features.json", tmp_path / "page.html").page.read_text()
    plain = page[page.index("<noscript>") : page.index("</noscript>")]
    made = document(folder, "features")
    for row in made["effects"]:
        assert f"<td>{row['effect']:.3f}</td><td>{row['low']:.3f}</td><td>{row['high']:.3f}</td>" in plain
    assert all(f"<td>{row['lost']:.3f}</td>" in plain for row in made["features"])
    assert all(f"<td>{row['predicted']:.3f}</td>" in plain for row in made["predicted"])
    assert f"The features explain {100 * made['explained']['value']:.1f}" in plain
    assert not any(tag in page for tag in (HOSTILE, "<b>a</b>", "<i>s0</i>"))


def test_names_of_features_are_text_in_the_browser(
    folder: Path, tmp_path: Path, opened: Callable[..., Any]
) -> None:
    made = [folder / "features.json", folder / "within.json"]
    shown = opened(report(made, tmp_path / "page.html").page)
    for place in ("comparisons", "comparisons?e=1"):
        page = shown.go(place)
        text = page.inner_text("main")
        assert HOSTILE in text
        assert "The features" in text
        assert page.locator("main img, main i").count() == 0
        assert page.locator("main canvas").count() == 1
    assert shown.trouble == []


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
    with pytest.raises(FormatError, match="looks like what camilla route --json prints, but is damaged"):
        decision_section(tmp_path / "broken.json")
    for wrong in ({"frontier": 3}, {"learners": []}):
        (tmp_path / "wrong.json").write_text(json.dumps(wrong))
        with pytest.raises(DataError, match="contains no figures of a route"):
            draw_route(tmp_path / "wrong.json", "frontier")
    with pytest.raises(SettingError, match="no picture 'radar' of a route"):
        draw_route(folder / "route.json", "radar")


def test_without_answers_the_page_calls_a_committee_s_gain_a_lower_bound() -> None:
    """Members that are wrong in different ways would be outvoted: right/wrong responses give a bound."""
    right = (np.random.default_rng(0).random((5, 300)) < 0.7).astype(float)
    table = camilla.ResponseTable.from_matrix(right)
    for two_answers, words in ((False, "): at least "), (True, "): ")):
        found = camilla.ensemble(table, sizes=(3,), splits=2, two_answers=two_answers, progress=False)
        said = committee_verdict(found.to_document())
        text = "".join(part for part in said.parts if isinstance(part, str))
        assert words in text
        assert ("at least" in text) is ("lower bound" in said.estimand) is not two_answers


def test_the_page_names_a_committee_that_is_better_without_choosing() -> None:
    """Nine equal learners at 60 %: all of them are right more often than one (binomial: 73 %)."""
    right = (np.random.default_rng(1).random((9, 600)) < 0.6).astype(float)
    table = camilla.ResponseTable.from_matrix(right)
    found = camilla.ensemble(table, sizes=(3,), splits=2, two_answers=True, progress=False)
    document = found.to_document()
    document["better"] = False  # as where choosing costs more than it gains
    said = committee_verdict(document)
    text = "".join(part for part in said.parts if isinstance(part, str))
    assert text.startswith("No committee is shown to be better")
    assert "Settled beforehand, a vote of all 9 learners is (Holm-adjusted p" in text
