"""Group differences against statsmodels, on tables without any, and on tables with some put in."""

from pathlib import Path

import numpy as np
import pytest
import statsmodels.api as sm
from statsmodels.stats.contingency_tables import StratifiedTable

from camilla.data.responses import ResponseTable
from camilla.errors import DataError, SettingError
from camilla.quality.dif import group_differences
from camilla.quality.groups import cut_at, read_groups
from camilla.quality.logistic import RIDGE, fitted
from camilla.quality.mantel_haenszel import mantel_haenszel


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


def test_mantel_haenszel_is_that_of_statsmodels() -> None:
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
        assert found.p[j] == pytest.approx(outside.test_null_odds(correction=True).pvalue, rel=1e-8)


def test_regressions_are_those_of_statsmodels() -> None:
    """Without the small ridge they would be equal; a precision of .02 moves coefficients by under .01."""
    rng = np.random.default_rng(5)
    design = np.column_stack([np.ones(300), rng.normal(size=300), rng.random(300) < 0.4])
    matrix = (rng.random((300, 3)) < 1 / (1 + np.exp(-design @ [0.3, 0.8, -0.5]))[:, None]).astype(float)
    matrix[0, 0] = np.nan
    found = fitted(design, matrix)
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
    found = [group_differences(*world(seed)) for seed in range(12)]
    assert sum(bool(one.samples["differs"].any()) for one in found) <= 2
    p = np.concatenate([one.samples["p"].to_numpy() for one in found])
    assert np.mean(p < 0.05) == pytest.approx(0.05, abs=0.02)


def test_differences_put_in_are_found_with_their_sign_and_size() -> None:
    """A shift of 2.5 logits in 10 of 100 samples, 40 new learners: most are found, few others are."""
    true, flagged, effects = 0, 0, []
    for seed in range(6):
        found = group_differences(*world(seed, shift=2.5), focal="new").samples
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
        group_differences(table, {"nobody": "x"})
    with pytest.raises(DataError, match="all 120 learners are of the group 'old'"):
        group_differences(table, dict.fromkeys(groups, "old"))
    with pytest.raises(SettingError, match="no group 'newer'; there are 'new', 'old'"):
        group_differences(table, groups, focal="newer")
    few = {name: "a" if i < 3 else "b" for i, name in enumerate(table.learners)}
    with pytest.raises(DataError, match="3 learners are of the group 'a'"):
        group_differences(table, few)


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
