"""Group differences against statsmodels, on tables without any, and on tables with some put in."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest
import statsmodels.api as sm
from scipy.stats import false_discovery_control
from statsmodels.stats.contingency_tables import StratifiedTable

from camilla.errors import DataError, SettingError
from camilla.samples.dif import cut_at, dif, read_groups
from camilla.statistics.items import RIDGE, logistic_fits, mantel_haenszel
from camilla.table.responses import ResponseTable


def world(
    seed: int, *, shift: float = 0.0, impact: float = 0.5, n_learners: int = 120, n_samples: int = 100
) -> tuple[ResponseTable, dict[str, str]]:
    """A third of the learners are new, abler by `impact`, and find ten samples easier by `shift`."""
    rng = np.random.default_rng(seed)
    new = np.arange(n_learners) % 3 == 0
    ability = rng.normal(size=n_learners) + impact * new
    a, b = rng.lognormal(0, 0.3, n_samples), rng.normal(size=n_samples)
    logit = a * (ability[:, None] - b)
    logit[:, :10] += shift * new[:, None]
    table = ResponseTable.from_matrix((rng.random(logit.shape) < 1 / (1 + np.exp(-logit))).astype(float))
    return table, {name: "new" if n else "old" for name, n in zip(table.learners, new, strict=True)}


def trials_world(
    seed: int, *, together: float, shift: float = 0.0, trials: int = 8
) -> tuple[ResponseTable, dict[str, str]]:
    """The same, each cell answered eight times; trials of a cell correlate by `together` (beta-binomial)."""
    rng = np.random.default_rng(seed)
    new = np.arange(120) % 3 == 0
    ability = rng.normal(size=120) + 0.5 * new
    logit = rng.lognormal(0, 0.3, 60) * (ability[:, None] - rng.normal(size=60))
    logit[:, :6] += shift * new[:, None]
    p = 1 / (1 + np.exp(-logit))
    if together > 0:
        k = 1 / together - 1
        p = rng.beta(k * p, k * (1 - p))
    learner, sample, _ = (part.ravel() for part in np.indices((120, 60, trials)))
    frame = pl.DataFrame(
        {
            "learner": [f"m{i:03d}" for i in learner],
            "sample": [f"s{j:02d}" for j in sample],
            "response": (rng.random((120, 60, trials)) < p[..., None]).astype(float).ravel(),
        }
    )
    return ResponseTable.from_long(frame), {f"m{i:03d}": "new" if n else "old" for i, n in enumerate(new)}


def test_mantel_haenszel_is_that_of_statsmodels() -> None:
    """But that statsmodels corrects by ½ below 0 and squares: within ½ of what is expected p is 1."""
    rng = np.random.default_rng(4)
    matrix = (rng.random((200, 5)) < np.linspace(0.3, 0.8, 5)).astype(float)
    matrix[rng.random(matrix.shape) < 0.1] = np.nan
    stratum, member = rng.integers(0, 6, 200), rng.random(200) < 0.4
    found = mantel_haenszel(matrix, stratum, member)
    for j in range(5):
        tables = []
        for k in range(6):
            own = [
                matrix[(stratum == k) & (member == who) & ~np.isnan(matrix[:, j]), j] for who in (True, False)
            ]
            tables.append(np.array([[part.sum(), (1 - part).sum()] for part in own]))
        outside = StratifiedTable([table.astype(float) for table in tables])
        assert found.ratio[j] == pytest.approx(outside.oddsratio_pooled, rel=1e-10)
        assert (found.low[j], found.high[j]) == pytest.approx(outside.oddsratio_pooled_confint(), rel=1e-8)
        off = sum(t[0, 0] - t[0].sum() * t[:, 0].sum() / t.sum() for t in tables)
        expected = outside.test_null_odds(correction=True).pvalue if abs(off) > 0.5 else 1
        assert found.p[j] == pytest.approx(expected, rel=1e-8)


def test_odds_that_are_equal_are_not_told_apart() -> None:
    """One right and one wrong on either side: the odds ratio is 1, and nothing speaks against it."""
    found = mantel_haenszel(np.array([[1.0], [0], [1], [0]]), np.zeros(4, int), np.array([1, 1, 0, 0], bool))
    assert (found.ratio[0], found.p[0]) == (1, 1)


def test_regressions_are_those_of_statsmodels() -> None:
    """Without the small ridge they would be equal; a precision of .02 moves coefficients by under .01."""
    rng = np.random.default_rng(5)
    design = np.column_stack([np.ones(300), rng.normal(size=300), rng.random(300) < 0.4])
    matrix = (rng.random((300, 3)) < 1 / (1 + np.exp(-design @ [0.3, 0.8, -0.5]))[:, None]).astype(float)
    matrix[0, 0] = np.nan
    found = logistic_fits(design, matrix)
    for j in range(3):
        seen = ~np.isnan(matrix[:, j])
        outside = sm.Logit(matrix[seen, j], design[seen]).fit(disp=0)
        np.testing.assert_allclose(found.coefficient[j], outside.params, atol=0.01)
        np.testing.assert_allclose(found.se[j], outside.bse, rtol=0.01)
        penalty = 0.5 * RIDGE * (found.coefficient[j] ** 2).sum()
        assert found.loss[j] - penalty == pytest.approx(-outside.llf, abs=1e-3)


def test_tables_without_differences_have_few_flags_though_the_groups_differ_in_ability() -> None:
    """Twelve tables of 100 samples at a rate of .05: with true nulls any flag in a table is false, which is
    to happen in about one table of twenty; three of twelve has probability .02."""
    found = [dif(*world(seed)) for seed in range(12)]
    assert sum(bool(one.samples["differs"].any()) for one in found) <= 2
    p = np.concatenate([one.samples["p_value"].to_numpy() for one in found])
    assert np.mean(p < 0.05) == pytest.approx(0.05, abs=0.02)


@pytest.mark.parametrize("together", [0, 0.3])
def test_trials_are_no_more_evidence_than_they_are(together: float) -> None:
    """Eight trials a cell, independent or going together, groups that differ in ability alone: 5 % of 480
    p-values below .05, a standard error of one point, two with samples of a table hanging together; half of
    them below ½, of five points. With 2 logits put into six samples of 60 most are found."""
    found = [dif(*trials_world(seed, together=together)).samples for seed in range(8)]
    p = np.concatenate([one["p_value"].to_numpy() for one in found])
    assert np.mean(p < 0.05) == pytest.approx(0.05, abs=0.03)
    assert np.mean(p < 0.5) == pytest.approx(0.5, abs=0.1)
    assert sum(bool(one["differs"].any()) for one in found) <= 2
    assert "odds_ratio" not in found[0].columns
    shifted = dif(*trials_world(1, together=together, shift=2), focal="new").samples
    put_in = shifted["sample"].str.slice(1).cast(int) < 6
    assert shifted.filter(put_in)["differs"].sum() >= 4
    effect = shifted.filter(put_in).select("effect_low", "effect_high").to_numpy()
    assert np.sum((effect[:, 0] < 2) & (effect[:, 1] > 2)) >= 4


def test_a_sample_that_a_side_did_not_answer_is_not_tested() -> None:
    """Nothing is known of it, and it does not count among the tests: q is scipy's over the others."""
    table, groups = world(1)
    matrix = table.matrix()
    new = np.array([groups[name] == "new" for name in table.learners])
    matrix[new, 3] = matrix[~new, 4] = np.nan
    matrix[:, 5] = 1
    matrix[:, 6] = new
    found = dif(ResponseTable.from_matrix(matrix), groups, focal="new").samples.sort("sample")
    for j in (3, 4, 5):
        row = found.row(j, named=True)
        untold = ("effect", "effect_low", "effect_high", "p_value", "q", "ets")
        assert {row[name] for name in untold} == {None}
    assert (found["accuracy_group"][3], found["accuracy_others"][4]) == (None, None)
    p, q = (found[name].drop_nulls().to_numpy() for name in ("p_value", "q"))
    assert len(p) == 97
    np.testing.assert_allclose(q, false_discovery_control(p))
    assert found["differs"][6]


def test_learners_without_a_group_are_counted() -> None:
    table, groups = world(1)
    some = {name: group for name, group in groups.items() if name not in table.learners[:7]}
    found = dif(table, some)
    assert found.provenance["n_without_group"] == 7
    assert found.groups["learners"].sum() == 113


def test_differences_put_in_are_found_with_their_sign_and_size() -> None:
    """A shift of 2.5 logits in 10 of 100 samples, 40 new learners: most are found, few others are."""
    true, flagged, effects = 0, 0, []
    for seed in range(6):
        found = dif(*world(seed, shift=2.5), focal="new").samples
        put_in = found["sample"].str.extract(r"(\d+)").cast(int) < 10
        true += int((found["differs"] & put_in).sum())
        flagged += int(found["differs"].sum())
        effects += found.filter(put_in)["effect"].to_list()
        assert set(found.filter(found["differs"] & put_in)["ets"].drop_nulls()) <= {"B", "C"}
    assert true / 60 > 0.6
    assert true / flagged > 0.85
    assert np.mean(effects) == pytest.approx(2.5, abs=0.5)


def test_what_cannot_be_compared_is_refused() -> None:
    table, groups = world(1)
    with pytest.raises(DataError, match="name none of the 120 learners"):
        dif(table, {"nobody": "x"})
    with pytest.raises(DataError, match="all 120 learners are of the group 'old'"):
        dif(table, dict.fromkeys(groups, "old"))
    with pytest.raises(SettingError, match="no group 'newer'; there are 'new', 'old'"):
        dif(table, groups, focal="newer")
    few = {name: "a" if i < 3 else "b" for i, name in enumerate(table.learners)}
    with pytest.raises(DataError, match="3 learners are of the group 'a'"):
        dif(table, few)


def test_groups_come_from_files_and_columns(tmp_path: Path) -> None:
    table, groups = world(1)
    file = tmp_path / "groups.csv"
    file.write_text(
        "learner,family,year\n"
        + "".join(f"{name},{group},{2020 + i % 4}\n" for i, (name, group) in enumerate(groups.items()))
    )
    assert read_groups(f"{file}:family", table, tmp_path) == groups
    with pytest.raises(DataError, match="which column is the group"):
        read_groups(str(file), table, tmp_path)
    with pytest.raises(DataError, match="neither a file nor a column"):
        read_groups("release", table, tmp_path)
    years = cut_at(read_groups(f"{file}:year", table, tmp_path), "2022")
    assert sorted(set(years.values())) == ["before 2022", "from 2022"]
    assert sum(value == "from 2022" for value in years.values()) == 60
    with pytest.raises(SettingError, match="leaves one group"):
        cut_at(groups, "zzz")


@pytest.mark.parametrize("group", ["group.csv", pl.DataFrame({"learner": ["a"], "group": ["x"]})])
def test_groups_that_are_no_mapping_are_refused(group: object) -> None:
    with pytest.raises(SettingError, match="group maps each learner to its group"):
        dif("nowhere.csv", group)  # type: ignore[arg-type]


def test_the_test_of_a_uniform_shift_keeps_its_level_and_finds_more() -> None:
    """Forty of 120 learners find ten samples easier by one logit, of 20 tables: 200 shifted samples. Beside
    them 1,000 samples of tables without any shift, whose p-values hang together by table."""
    none = [p for seed in range(10) for p in dif(*world(seed)).samples["uniform_p_value"].drop_nulls()]
    assert 0.03 < np.mean(np.array(none) < 0.05) < 0.08
    found = np.zeros(2)
    for seed in range(20):
        frame = dif(*world(100 + seed, shift=1.0)).samples
        frame = frame.filter(pl.col("sample").str.extract(r"(\d+)").cast(int) < 10)
        found += (frame["uniform_p_value"] < 0.05).sum(), (frame["p_value"] < 0.05).sum()
    assert found[0] / 200 > 0.36
    assert found[0] > found[1]
