"""From folders to a page: what is in it, what is refused, what lies beside it."""

import base64
import hashlib
import re
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import camilla
import command_line
from camilla.errors import DataError, SettingError
from camilla.fitting.training import Training
from camilla.show.report import choosing, diagnosed
from camilla.show.report.build import report
from camilla.show.report.diagnosed import Diagnosed
from camilla.show.report.words import findings, headline, namer


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Ten learners, 300 samples, no skills."""
    table = camilla.simulate(10, 300, seed=2).table
    return camilla.diagnose(table, "irt", precision=3.0).save(tmp_path_factory.mktemp("small") / "found")


def test_only_the_scripts_and_styles_of_the_page_may_run(digits_page: Path) -> None:
    """Hashes of the policy are computed here from what lies between the tags."""
    text = digits_page.read_text(encoding="utf-8")
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', text)
    assert policy is not None
    (script,) = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)
    (style,) = re.findall(r"<style>(.*?)</style>", text, re.DOTALL)
    hashes = [base64.b64encode(hashlib.sha256(part.encode()).digest()).decode() for part in (script, style)]
    assert policy[1].split("; ") == [
        "default-src 'none'", f"script-src 'sha256-{hashes[0]}'", f"style-src 'sha256-{hashes[1]}'",
        "img-src data: blob:", "base-uri 'none'", "form-action 'none'",
    ]  # fmt: skip
    assert len(script) <= 400_000


def test_the_page_names_no_other_place(digits_page: Path) -> None:
    """But the names of the SVG and XHTML languages, which are no places."""
    places = set(re.findall(r"https?://[\w./-]+", digits_page.read_text(encoding="utf-8")))
    assert {place for place in places if not place.startswith("http://www.w3.org/")} == set()


def test_the_same_input_gives_the_same_page(small: Path, tmp_path: Path) -> None:
    one, other = (report([small], tmp_path / f"{name}.html").page for name in "ab")
    assert one.read_bytes() == other.read_bytes()


@pytest.mark.parametrize(
    ("sources", "output", "said"),
    [
        (["nothing"], "page.html", "nothing: there is no such file or folder. Name a folder of"),
        ([""], "page.html", "is neither a diagnosis nor a leaderboard"),
        ([], "page.html", "needs at least one"),
        (["found"], "no/where/page.html", "there is no folder"),
    ],
)
def test_what_cannot_be_done_is_said(
    small: Path, tmp_path: Path, sources: list[str], output: str, said: str
) -> None:
    with pytest.raises(DataError, match=said):
        report([small.parent / name for name in sources], tmp_path / output)
    assert list(tmp_path.iterdir()) == []


def test_a_page_of_another_ending_is_a_wrong_setting(small: Path, tmp_path: Path) -> None:
    with pytest.raises(SettingError, match=r"ends in \.html"):
        report([small], tmp_path / "page.pdf")
    assert list(tmp_path.iterdir()) == []


def test_many_samples_go_into_a_folder_beside_the_page(
    small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(diagnosed, "MOST_SAMPLES", 200)
    monkeypatch.setattr(diagnosed, "KEPT", 80)
    written = report([small], tmp_path / "page.html")
    assert written.tables == tmp_path / "page_tables"
    beside = pl.read_parquet(written.tables / "responses.parquet")
    assert beside.shape == (3000, 3)
    assert pl.read_parquet(written.tables / "samples.parquet").height == 300
    of = Diagnosed("found", camilla.Diagnosis.load(small))
    assert len(of.kept) == 80
    assert set(of.suspects[:20]) <= set(of.kept)
    whole, part = (of.column("samples", "accuracy")[rows] for rows in (np.arange(300), of.kept))
    assert np.quantile(part, [0.1, 0.5, 0.9]) == pytest.approx(np.quantile(whole, [0.1, 0.5, 0.9]), abs=0.1)
    report([small], tmp_path / "page.html")
    (tmp_path / "page_tables/.camilla-report").unlink()
    with pytest.raises(DataError, match="is not overwritten"):
        report([small], tmp_path / "page.html")


def test_flags_say_what_the_responses_say() -> None:
    """A turned-round key, a sample nobody solves and one everybody solves among 300 sound ones."""
    rng = np.random.default_rng(0)
    ability = np.linspace(2.5, -2.5, 40)
    p = 1 / (1 + np.exp(-2 * (ability[:, None] - rng.normal(0, 0.8, 300))))
    right = (rng.random(p.shape) < p).astype(float)
    right[:, 0] = 1 - right[:, 0]
    right[:, 1], right[:, 2] = 0, 1
    of = Diagnosed("found", camilla.diagnose(camilla.ResponseTable.from_matrix(right), "mirt", dimensions=2))
    assert of.samples[:3] == ["sample-000", "sample-001", "sample-002"]
    assert of.flags["doubtful"][0]
    assert np.nanargmax(of.evidence) == 0
    assert np.flatnonzero(of.flags["everyone wrong"]).tolist() == [1]
    assert np.flatnonzero(of.flags["everyone right"]).tolist() == [2]
    assert of.suspects.tolist() == [0]
    said = spelled(of)["Samples to look at"]
    assert said.startswith("1 of 300 samples is flagged as broken: sample-000.")


def spelled(of: Diagnosed) -> dict[str, str]:
    """The statements under each heading."""
    named = namer(of)
    return {one.heading: " ".join(each.text(named) for each in one.statements) for one in findings(of)}


def test_the_summary_says_what_the_tables_say(digits_diagnosis: camilla.Diagnosis) -> None:
    of = Diagnosed("digits", digits_diagnosis)
    first, second = digits_diagnosis.learners["learner"][:2]
    tied = len(of.standing.with_first) - 1  # type: ignore[union-attr]
    said = headline(of).text(namer(of))
    assert said == f"{first} comes first, but {tied} of the other 41 learners cannot be told apart from it."
    words = spelled(of)
    ability = digits_diagnosis.learners["ability"]
    assert f"{first} has ability {ability[0]:.2f}" in words["Who leads"]
    assert f"Next is {second} with ability {ability[1]:.2f}" in words["Who leads"]


def test_the_command_writes_and_says_where(small: Path, tmp_path: Path) -> None:
    run = command_line.camilla("report", small, "-o", "a.html", cwd=tmp_path)
    assert run.returncode == 0, run.stderr
    assert run.stdout.startswith("Report written to a.html (0.")
    assert "<title>10 learners on 300 samples</title>" in (tmp_path / "a.html").read_text(encoding="utf-8")


def test_means_of_trials_are_not_taken_for_right_or_wrong(tmp_path: Path) -> None:
    """Cells that hold the mean of three trials: stored as numbers, not as bits."""
    table = camilla.simulate(6, 40, trials=3, seed=1).table
    of = Diagnosed("trials", camilla.diagnose(table, "irt", precision=3.0))
    assert table.is_binary
    assert not of.binary
    stored = diagnosed.section(of)["samples"]["right"]
    np.testing.assert_allclose(stored / 254, of.responses.T, atol=0.5 / 254)
    assert "a mean response of" in spelled(of)["Who leads"]


@pytest.mark.parametrize("name", ["vanilla", "skill-vanilla", "mf", "dina", "mirt"])
def test_diagnosers_without_some_numbers_make_a_page_too(name: str, tmp_path: Path) -> None:
    """No discrimination, no intervals, latent dimensions or yes-or-no skills, with responses missing."""
    table = camilla.simulate(7, 60, skills=3, missing=0.2, seed=3).table
    camilla.diagnose(table, name).save(tmp_path / "found")
    page = report([tmp_path / "found"], tmp_path / "page.html").page
    assert "<title>7 learners on 60 samples</title>" in page.read_text(encoding="utf-8")


def test_a_table_cut_to_some_classes_is_reported_by_them_alone(tmp_path: Path) -> None:
    """The other classes have no samples, no abilities, and no place in the report."""
    digits = camilla.digits()
    assert digits.skill_map is not None
    part = digits.take_samples(np.flatnonzero(digits.skill_map.mask[:, :2].any(axis=1)))
    found = camilla.diagnose(part, "camilla-base", skill_correlation=0.5, precision=3.0)
    assert set(found.skills["skill"]) == {"0", "1"}
    assert not found.skills["ability"].is_nan().any()
    (note,) = found.provenance["skill_notes"]
    assert note == "no sample needs skills '2', '3', '4', '5', '6' and 3 more: left out"
    report([found.save(tmp_path / "found")], tmp_path / "page.html")


@pytest.mark.filterwarnings("ignore::camilla.errors.ConvergenceWarning")
def test_a_skill_that_only_the_graph_names_is_not_chosen_by(tmp_path: Path) -> None:
    """No sample needs the root, so that nobody has an accuracy on it; its ability comes from its children."""
    table = camilla.simulate(12, 60, seed=3).table
    mask = np.column_stack([np.zeros(60), np.arange(60) % 2, 1 - np.arange(60) % 2])
    graph = camilla.SkillGraph((("root", "a"), ("root", "b")))
    table = table.with_skills(camilla.SkillMap(("root", "a", "b"), mask), graph=graph)
    found = camilla.diagnose(table, "hier-mirt", precision=3.0, training=Training(epochs=3, patience=3))
    assert set(found.skills["skill"]) == {"root", "a", "b"}
    report([found.save(tmp_path / "found")], tmp_path / "page.html")
    drawn = choosing.section(Diagnosed("found", found))["draws"]
    assert (drawn["skills"], drawn["mean"].values.shape) == (["a", "b"], (12, 2))
