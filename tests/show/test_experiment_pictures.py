"""Pictures of experiments show means over seeds with their bands."""

import numpy as np
import polars as pl
import pytest

from camilla.errors import DataError, SettingError
from camilla.experiments.results import SCHEMA
from camilla.show.pictures.experiments import EXPERIMENT_PICTURES, draw_experiment

VALUES = {"vanilla": [0.5, 0.6], "irt": [0.6, 0.8]}


@pytest.fixture
def results(tmp_path):
    """Two diagnosers, two seeds, all three experiments."""
    common = {"table": "$t$", "data_hash": "x", "chosen": "{}", "converged": True, "seconds": 1.0,
              "camilla": "0", "versions": "{}"}  # fmt: skip
    rows = []
    for diagnoser, values in VALUES.items():
        for seed, value in enumerate(values):
            mine = common | {
                "diagnoser": diagnoser,
                "seed": seed,
                "value": value,
                "camilla": "0",
                "versions": "",
            }
            rows += [
                mine | {"experiment": "rank-consistency", "comparison": "held out", "score": "kendall"},
                mine | {"experiment": "reliability", "score": "rmse"},
                *(
                    mine
                    | {"experiment": "rank-stability", "score": "kendall", "comparison": kind, "size": size}
                    for kind in ("n v n", "n v rest")
                    for size in (10, 20)
                ),
            ]
    path = tmp_path / "results.parquet"
    pl.DataFrame(rows, schema=SCHEMA).write_parquet(path)
    return path


def test_data_that_differ_under_one_name_are_drawn_apart(results):
    """The same rows under another hash, .1 lower: their bars are their own means, in a panel of their own."""
    rows = pl.read_parquet(results)
    other = rows.with_columns(data_hash=pl.lit("y"), value=pl.col("value") - 0.1)
    pl.concat([rows, other]).write_parquet(results)
    panels = draw_experiment(results, "consistency").axes
    assert [one.get_title() for one in panels] == ["data x, $t$, 2 seeds", "data y, $t$, 2 seeds"]
    widths = [sorted(bar.get_width() for bar in one.patches) for one in panels]
    np.testing.assert_allclose(widths, [[0.55, 0.7], [0.45, 0.6]])
    curves = [line for one in draw_experiment(results, "stability").axes for line in one.get_lines()]
    assert [line.get_xdata().tolist() for line in curves] == [[10, 20]] * 8


def test_bars_are_means_over_seeds_best_first(results):
    axes = draw_experiment(results, "consistency").axes[0]
    assert [tick.get_text() for tick in axes.get_yticklabels()] == ["irt", "vanilla"]
    np.testing.assert_allclose([bar.get_width() for bar in axes.patches], [0.7, 0.55])
    worst = draw_experiment(results, "reliability").axes[0]
    np.testing.assert_allclose([bar.get_width() for bar in worst.patches], [0.55, 0.7])


def test_many_tables_stand_in_rows_of_three(results):
    """Seven tables: three rows, as wide as three panels, and two places left empty."""
    rows = pl.read_parquet(results)
    pl.concat([rows.with_columns(table=pl.lit(f"t{k}")) for k in range(7)]).write_parquet(results)
    three = draw_experiment(results, "reliability").axes
    assert [one.get_title() for one in three] == [f"t{k}, 2 seeds" for k in range(7)]
    assert len({round(one.get_position().x0, 3) for one in three}) == 3
    tops = [round(one.get_position().y1, 3) for one in three]
    assert tops == sorted(tops, reverse=True)
    assert len(set(tops)) == 3


def test_stability_has_bands_of_students_t(results):
    """Two repeats .6 and .8: .7 ± t(.975, 1)·s/√2 with t = 12.706 and s/√2 = .1; a correlation ends at 1."""
    figure = draw_experiment(results, "stability")
    assert len(figure.axes) == 2
    panel = figure.axes[0]
    np.testing.assert_allclose(panel.lines[0].get_ydata(), [0.7, 0.7])
    band = panel.collections[0].get_paths()[0].vertices[:, 1]
    np.testing.assert_allclose([band.min(), band.max()], [0.7 - 1.2706, 1], atol=1e-4)


def test_what_is_not_there_is_said(results, tmp_path):
    with pytest.raises(SettingError, match="no picture 'pie' of an experiment; there are consistency"):
        draw_experiment(results, "pie")
    pl.DataFrame(schema=SCHEMA).write_parquet(tmp_path / "none.parquet")
    for name in EXPERIMENT_PICTURES:
        with pytest.raises(DataError, match="Run camilla experiment"):
            draw_experiment(tmp_path / "none.parquet", name)
