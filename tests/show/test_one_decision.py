"""One decision, wherever it is read: `items`, the report's data and the browser flag the same samples;
`compare`, `rank`, the report's data and the browser have the same p-values."""

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from scipy.stats import binomtest

import camilla
from camilla.show.report.diagnosed import Diagnosed, section
from camilla.table.responses import ResponseTable

CHOSEN = 4  # learners whose pairs are looked at


class Shown(NamedTuple):
    """A table, its diagnosis as the page is given it, and the page."""

    table: ResponseTable
    of: Diagnosed
    page: Path


def swebench(data_folder: Path) -> ResponseTable:
    return camilla.read(
        data_folder / "swebench/swebench_verified_agents.parquet", rows="samples", skills=":repo"
    )


@pytest.fixture(scope="module", params=["digits", "swebench", "math500", "titanic"])
def shown(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Shown:
    if request.param == "digits":
        table = camilla.digits()
    elif request.param == "swebench":
        table = swebench(request.getfixturevalue("data_folder"))
    else:
        table = request.getfixturevalue(request.param)
    folder = tmp_path_factory.mktemp(request.param)
    found = camilla.diagnose(table, "irt")
    found.save(folder / "found")
    return Shown(
        table, Diagnosed("found", found), camilla.report([folder / "found"], folder / "page.html").page
    )


def saved_csv(page: Any, title: str) -> list[dict[str, str]]:
    """The rows of a table of the page, as its button saves them."""
    with page.expect_download() as waiting:
        page.get_by_role("button", name=f"Save table as CSV: {title}").click()
    text = Path(waiting.value.path()).read_text(encoding="utf-8-sig")
    return list(csv.DictReader(io.StringIO(text)))


def test_items_the_report_and_the_browser_flag_the_same_samples(
    shown: Shown, opened: Callable[..., Any]
) -> None:
    found = camilla.items(shown.table)
    frame = found.samples
    evidence = dict(frame.select("sample", "evidence").rows())
    decided = {
        name: set(filter(None, flags.split(", "))) for name, flags in frame.select("sample", "flags").rows()
    }
    sent = section(shown.of)["samples"]
    marks = {flag: np.asarray(bits.values).ravel() for flag, bits in sent["flags"].items()}
    packed = {name: {flag for flag in marks if marks[flag][j]} for j, name in enumerate(sent["name"])}
    assert packed == decided
    page = opened(shown.page).go("samples")
    rows = saved_csv(page, "Samples in view")
    assert {row["sample"]: set(filter(None, row["flags"].split(" | "))) for row in rows} == decided
    why = found.provenance["only_ordered"]
    assert ("too many for wrong keys" in page.inner_text("main")) == (why is not None)
    reasons = dict(frame.select("sample", "why").rows())
    assert dict(zip(sent["name"], sent["why"], strict=True)) == reasons
    shown_evidence = [evidence[name] for name in sent["name"]]
    np.testing.assert_allclose(shown_evidence, sent["evidence"].values, atol=0.006)


def test_compare_rank_the_report_and_the_browser_have_the_same_p_values(
    shown: Shown, opened: Callable[..., Any]
) -> None:
    """Truth is SciPy's binomial test of the samples that only one of two learners solved."""
    names = shown.of.learners[:: max(1, len(shown.of.learners) // CHOSEN)][:CHOSEN]
    matrix = dict(zip(shown.table.learners, shown.table.matrix(), strict=True))
    pairs = [(a, b) for i, a in enumerate(names) for b in names[i + 1 :]]
    counts = {
        (a, b): (
            int(((matrix[a] == 1) & (matrix[b] == 0)).sum()),
            int(((matrix[a] == 0) & (matrix[b] == 1)).sum()),
        )
        for a, b in pairs
    }
    truth = {
        pair: binomtest(won, won + lost).pvalue if won + lost else 1.0 for pair, (won, lost) in counts.items()
    }
    board = {
        frozenset((a, b)): p
        for a, b, p in camilla.rank(shown.table).pairs().select("a", "b", "p_value").rows()
    }
    sent, place = section(shown.of)["pairs"], {name: i for i, name in enumerate(shown.of.learners)}
    rows = saved_csv(opened(shown.page).go(f"compare?learners={json.dumps(names)}"), "Are they different?")
    browser = {row["pair"]: row for row in rows}
    for pair in pairs:
        compared = camilla.compare(shown.table, *pair).overall
        assert compared.p_value == pytest.approx(truth[pair], rel=1e-9)
        assert board[frozenset(pair)] == pytest.approx(truth[pair], rel=1e-9)
        assert (
            sent["only"][place[pair[0]], place[pair[1]]],
            sent["only"][place[pair[1]], place[pair[0]]],
        ) == counts[pair]
        seen = browser[" / ".join(pair)]
        assert float(seen["p"]) == pytest.approx(truth[pair], rel=1e-9)
        assert float(seen["difference_low"]) == pytest.approx(-compared.high, abs=1e-9)
        assert float(seen["difference_high"]) == pytest.approx(-compared.low, abs=1e-9)


def test_scores_have_the_p_values_and_intervals_of_compare_too(
    tmp_path: Path, opened: Callable[..., Any]
) -> None:
    """Fractional responses with gaps; the page carries single precision."""
    rng = np.random.default_rng(4)
    matrix = np.clip(rng.normal(np.array([0.6, 0.55, 0.4])[:, None], 0.2, (3, 60)), 0, 1)
    matrix[1, :7] = np.nan
    table = ResponseTable.from_matrix(matrix, learners=["a", "b", "c"])
    camilla.diagnose(table, "irt", precision=3.0).save(tmp_path / "found")
    page = camilla.report([tmp_path / "found"], tmp_path / "page.html").page
    rows = saved_csv(opened(page).go('compare?learners=["a","b","c"]'), "Are they different?")
    board = {(a, b): p for a, b, p in camilla.rank(table).pairs().select("a", "b", "p_value").rows()}
    for row in rows:
        first, second = row["pair"].split(" / ")
        found = camilla.compare(table, second, first).overall
        assert float(row["p"]) == pytest.approx(found.p_value, rel=1e-6)
        assert board[first, second] == pytest.approx(found.p_value, rel=1e-9)
        assert float(row["difference_low"]) == pytest.approx(found.low, abs=1e-6)
        assert float(row["difference_high"]) == pytest.approx(found.high, abs=1e-6)


def sound_world(seed: int) -> ResponseTable:
    """25 learners × 1,000 samples, P(right) = σ(a(θ − b)) with every a above 0."""
    rng = np.random.default_rng(seed)
    ability, place = rng.normal(size=25), rng.normal(size=1000)
    slope = rng.lognormal(0, 0.5, 1000)
    p = 1 / (1 + np.exp(-slope * (ability[:, None] - place)))
    return ResponseTable.from_matrix((rng.random(p.shape) < p).astype(float))


def accused(seed: int) -> int:
    """Samples that the report calls doubtful, negative or a twin. One in twelve does discriminate less than
    half as well as the median, so that noisy is no accusation here."""
    flags = Diagnosed("sound", camilla.diagnose(sound_world(seed), "irt")).flags
    return int(np.any([flags[name] for name in ("doubtful", "negative", "twin")], axis=0).sum())


def test_sound_samples_are_not_accused() -> None:
    assert sum(accused(seed) for seed in range(3)) <= 3


@pytest.mark.slow
def test_sound_samples_are_not_accused_in_twenty_tables() -> None:
    """At most one per table on average. Unadjusted intervals accused 11 samples in these tables."""
    assert sum(accused(seed) for seed in range(20)) <= 20


def test_with_too_few_learners_the_report_says_so_as_items_does(
    tmp_path: Path, opened: Callable[..., Any]
) -> None:
    rng = np.random.default_rng(0)
    table = ResponseTable.from_matrix((rng.random((2, 40)) < 0.6).astype(float), learners=["a", "b"])
    with pytest.raises(
        camilla.DataError, match="samples are judged by how learners differ on them"
    ) as refused:
        camilla.items(table)
    camilla.diagnose(table, "vanilla").save(tmp_path / "found")
    page = camilla.report([tmp_path / "found"], tmp_path / "page.html").page
    browser = opened(page)
    said = str(refused.value).removeprefix("the table has ")
    assert said in browser.go("summary").inner_text("main .findings")
    assert said in browser.go("samples").inner_text("main .callout")
    assert browser.trouble == []
