"""Pictures of a diagnosis show its numbers, for few and many learners, and names as they are."""

import re
from itertools import combinations, pairwise

import jax
import numpy as np
import pytest

from camilla import ResponseTable, diagnose
from camilla.errors import DataError, SettingError
from camilla.show.pictures.canvas import labels
from camilla.show.pictures.diagnosis import alike, families
from camilla.show.pictures.drawing import PICTURES, Shown, draw, draw_all, write_figure
from camilla.table.examples import digits
from camilla.table.skills import SkillMap

NASTY = "$\\frac{{{}}}$ <b>\x1b[31m\n_"


def table(n=12, m=60, n_skills=3, name="model {}"):
    """Right or wrong by σ(θ − b), skills in turn, a tenth of the cells missing."""
    rng = np.random.default_rng(0)
    p = 1 / (1 + np.exp(-(rng.normal(size=(n, 1)) * 1.5 - rng.normal(size=m))))
    matrix = (rng.random((n, m)) < p).astype(float)
    matrix[rng.random((n, m)) < 0.1] = np.nan
    made = ResponseTable.from_matrix(matrix, learners=[name.format(i) for i in range(n)])
    return made.with_skills(SkillMap.from_labels([f"skill {j % n_skills}" for j in range(m)]))


@pytest.fixture(scope="module")
def diagnosis():
    return diagnose(table(), "camilla-base")


def test_every_picture_that_can_be_drawn_is_written_in_every_format(diagnosis, tmp_path):
    figures, why_not = draw_all(diagnosis)
    assert set(figures) | set(why_not) == set(PICTURES)
    assert set(why_not) == {"mask-map"}, "camilla-base has explicit skills and no latent mask"
    for name, figure in figures.items():
        for kind, mark in (("svg", b"<?xml"), ("pdf", b"%PDF"), ("png", b"\x89PNG")):
            path = write_figure(figure, tmp_path / f"{name}.{kind}", diagnosis.provenance)
            assert path.read_bytes().startswith(mark)
    svg = (tmp_path / "factors.svg").read_text()
    assert diagnosis.provenance["data_hash"] in svg, "where it came from travels in the file"


def test_the_radar_draws_mastery_interval_and_accuracy_of_the_learner(diagnosis):
    name = diagnosis.learner_names[3]
    axes = draw(diagnosis, "radar", Shown(learners=[name])).axes[0]
    rows = diagnosis.skills.filter(diagnosis.skills["learner"] == name).sort("skill")
    mastery, accuracy = (line.get_ydata() for line in axes.lines)
    np.testing.assert_allclose(mastery[:-1], rows["mastery"])
    np.testing.assert_allclose(accuracy[:-1], rows["accuracy"])
    band = axes.collections[0].get_paths()[0].vertices[:, 1]
    low, high = (1 / (1 + np.exp(-rows[side].to_numpy())) for side in ("low", "high"))
    assert band.max() == pytest.approx(high.max())
    assert band.min() == pytest.approx(low.min())


def test_ability_stands_against_accuracy_for_every_learner(diagnosis):
    axes = draw(diagnosis, "ability-accuracy").axes[0]
    drawn = {
        (round(x, 9), round(y, 9))
        for line in axes.lines
        for x, y in zip(line.get_xdata(), line.get_ydata(), strict=True)
    }
    ability = 1 / (1 + np.exp(-diagnosis.learners["ability"].to_numpy()))
    assert drawn == {
        (round(x, 9), round(y, 9)) for x, y in zip(diagnosis.learners["accuracy"], ability, strict=True)
    }


def test_similarity_is_the_share_answered_alike_on_shared_samples():
    a, b, c = [1, 0, 1, np.nan], [1, 1, 1, 0], [np.nan, np.nan, np.nan, 0]
    got = alike(np.array([a, b, c]))
    np.testing.assert_allclose(got[0, 1], 2 / 3)
    np.testing.assert_allclose(got[1, 2], 1)
    assert np.isnan(got[0, 2]), "no sample in common"


def test_shares_solved_are_means_of_the_responses_in_each_bin(diagnosis):
    name = diagnosis.learner_names[0]
    right = draw(diagnosis, "solved", Shown(learners=[name])).axes[1]
    share = right.lines[0].get_ydata()
    counts = [60 / len(share)] * len(share)
    mine = diagnosis.cells.learner == 0
    assert np.average(share, weights=counts) == pytest.approx(
        diagnosis.cells.response[mine].mean(), abs=0.1
    ), "bins hold equally many samples; a tenth of them is missing, so weights are off by as much"


def test_bands_of_shares_solved_are_wilsons(diagnosis):
    """Of x right of n: (x + z²/2 ± z √(x(n − x)/n + z²/4)) / (n + z²); a bin that is all right has a band."""
    panel = draw(diagnosis, "solved", Shown(learners=[diagnosis.learner_names[0]])).axes[1]
    corners = panel.collections[0].get_paths()[0].vertices
    share, z = panel.lines[0].get_ydata(), 1.959964
    hardness = diagnosis.readout.difficulty
    met = hardness[diagnosis.cells.sample[diagnosis.cells.learner == 0]]
    edges = np.quantile(hardness[np.isfinite(hardness)], np.linspace(0, 1, len(share) + 1))
    n, _ = np.histogram(met[np.isfinite(met)], edges)
    x = share * n
    high = (x + z**2 / 2 + z * np.sqrt(x * (n - x) / n + z**2 / 4)) / (n + z**2)
    for b in range(len(share)):
        at = corners[np.isclose(corners[:, 0], b + 0.5)]
        assert at[:, 1].max() == pytest.approx(high[b], abs=1e-6)


@pytest.fixture(scope="module")
def latent():
    """A diagnosis with latent skills, of a table so small that optimised code costs more than it gains."""
    jax.config.update("jax_disable_most_optimizations", True)
    found = diagnose(table(m=60), "camilla", dimensions=3, precision=10.0)
    jax.config.update("jax_disable_most_optimizations", False)
    return found


def test_difficulties_of_the_bins_are_told_apart_where_they_lie_close(latent):
    """The paper's difficulties of camilla lie around ½: one decimal would show 0.4 three times."""
    for axes in draw(latent, "solved").axes:
        shown = [tick.get_text() for tick in axes.get_xticklabels()]
        assert len(set(shown)) == len(shown) > 3


def test_the_latent_masks_are_mapped_and_the_map_is_the_same_again(latent, tmp_path):
    once, twice = (draw(latent, "mask-map").axes[0].collections[0].get_offsets() for _ in range(2))
    assert len(once) == 60
    np.testing.assert_array_equal(once, twice)
    write_figure(draw(latent, "factors"), tmp_path / "factors.svg", latent.provenance)


@pytest.mark.parametrize(("n", "n_skills"), [(2, 2), (200, 50)])
def test_few_and_many_learners_and_skills_can_be_drawn(n, n_skills, tmp_path):
    found = diagnose(table(n=n, m=100, n_skills=n_skills), "camilla-base")
    for name, figure in draw_all(found)[0].items():
        write_figure(figure, tmp_path / f"{name}.png", found.provenance)


def test_names_are_never_read_as_formulas_or_markup(tmp_path):
    found = diagnose(table(n=6, name=NASTY), "camilla-base")
    for name, figure in draw_all(found)[0].items():
        svg = write_figure(figure, tmp_path / f"{name}.svg", found.provenance).read_text()
        assert "<b>" not in svg
    entries = draw(found, "duels").legends[0].get_texts()
    assert len(entries) == 4, "a name that begins with an underscore keeps its place in the legend"


def test_no_two_tick_names_of_the_similarity_picture_overlap():
    """42 learners, the embedded log: rows of names are at least as far apart as they are tall."""
    figure = draw(diagnose(digits(), "irt"), "similarity")
    for _ in range(2):  # the first time the layout learns how long the names are
        figure.draw_without_rendering()
    boxes = [tick.get_window_extent() for tick in figure.axes[0].get_yticklabels()]
    tops = sorted((box.y0, box.y1) for box in boxes)
    assert all(below[1] <= above[0] + 1 for below, above in pairwise(tops))


def test_long_names_of_skills_stand_whole_inside_the_radar():
    """Sixteen of HELM's length: the axes keep their size (a collapse warns, and warnings fail tests), every
    name lies inside the picture, and no two touch."""
    topics = [f"international_topic_of_law_{k}" for k in range(16)]
    names = [f"legal:subset={topic},method=multiple_choice_joint,shots=5" for topic in topics]
    made = table(m=64, n_skills=16).with_skills(SkillMap.from_labels([names[j % 16] for j in range(64)]))
    figure = draw(diagnose(made, "skill-vanilla"), "radar")
    for _ in range(2):  # the first time the layout learns how long the names are
        figure.draw_without_rendering()
    boxes = [text.get_window_extent() for text in figure.axes[0].get_xticklabels()]
    assert all(figure.bbox.containsx(x) for box in boxes for x in (box.x0, box.x1))
    assert all(figure.bbox.containsy(y) for box in boxes for y in (box.y0, box.y1))
    assert not any(one.overlaps(other) for one, other in combinations(boxes, 2))
    assert figure.axes[0].bbox.width > figure.bbox.width / 3


def test_long_names_lose_what_they_share_before_what_tells_them_apart():
    tail = ",level=1,use_official_examples=False,use_chain_of_thought=True"
    assert labels([f"math:subject={topic}{tail}" for topic in ("algebra", "prealgebra", "geometry")]) == [
        "math:subject=algebra…", "math:subject=prealgebra…", "math:subject=geometry…",
    ]  # fmt: skip
    alone = "a name that is long and shares nothing with anyone at all"
    shared = "x" * 30 + ": the same end of both"
    (first, *rest) = labels([alone, f"1 {shared}", f"2 {shared}", "short: the same end of both"])
    assert (len(first), first[:10], first[-10:]) == (40, alone[:10], alone[-10:])
    assert len(set(rest)) == 3
    assert rest[-1] == "short: the same end of both"


def test_a_family_has_one_colour_and_shape_in_both_panels_of_the_spread(diagnosis):
    given = {name: "odd" if i % 2 else "even" for i, name in enumerate(diagnosis.learner_names[1:])}
    left, right = draw(diagnosis, "spread", Shown(families=given)).axes
    looks = [[(line.get_color(), line.get_marker()) for line in panel.lines] for panel in (left, right)]
    assert looks[0] == looks[1]
    assert len(set(looks[0])) == 3, "odd, even, and the one of no family"


def test_one_ability_for_all_skills_has_no_spread_to_draw():
    found = diagnose(table(), "irt")
    with pytest.raises(DataError, match="irt has one ability for all of them"):
        draw(found, "spread")
    assert "spread" in draw_all(found)[1]


def test_families_are_read_from_how_names_begin():
    names = ["random_forest_50_gini", "random_forest_10_gini", "SGD_1_l2", "SGD_0.1_l1", "resnet18",
             "resnet50", "decision_tree_gini_a", "decision_tree_entropy_b", "svm"]  # fmt: skip
    assert families(names) == [
        *["random forest"] * 2, *["SGD"] * 2, *["resnet"] * 2, *["decision tree"] * 2, "svm",
    ]  # fmt: skip


def test_wrong_wishes_are_refused_by_name(diagnosis, tmp_path):
    with pytest.raises(SettingError, match="no picture 'pie'; there are ability-accuracy"):
        draw(diagnosis, "pie")
    with pytest.raises(SettingError, match="factors has no place for learners"):
        draw(diagnosis, "factors", Shown(learners=["model 1"]))
    with pytest.raises(DataError, match=re.escape("no learner 'model 99'")):
        draw(diagnosis, "radar", Shown(learners=["model 99"]))
    with pytest.raises(DataError, match="compares skills"):
        draw(diagnose(table().with_skills(None), "irt"), "radar")
    with pytest.raises(SettingError, match=re.escape("'a.gif' ends in none")):
        write_figure(draw(diagnosis, "factors"), tmp_path / "a.gif", diagnosis.provenance)
    assert list(tmp_path.iterdir()) == []


@pytest.fixture(scope="module")
def scored():
    """Abilities that are expected scores, as auto's."""
    return diagnose(table(), "bayes", dimensions=1, draws=150)


def test_the_forest_has_the_leaderboards_numbers_and_ties(scored):
    axes = draw(scored, "forest").axes[0]
    points = [line for line in axes.lines if line.get_marker() not in ("None", "")]
    drawn = {round(y): x for line in points for x, y in zip(line.get_xdata(), line.get_ydata(), strict=True)}
    np.testing.assert_allclose([drawn[row] for row in range(12)], scored.learners["ability"])
    assert [text.get_text() for text in axes.get_yticklabels()] == scored.learners["learner"].to_list()
    assert [text.get_text() for text in axes.texts] == [
        f"{100 * x:.1f} %" for x in scored.learners["accuracy"]
    ]
    bars = [line.get_ydata() for line in axes.lines if line not in points and line.get_linewidth() < 1]
    standing = scored.told_apart()
    np.testing.assert_allclose(sorted(bars, key=tuple), [(places[0], places[-1]) for places in standing.ties])
    assert axes.get_xlabel().startswith("expected score on samples like these")


def test_difficulties_of_scores_are_not_drawn_as_shares(scored):
    """They are standard deviations: some are below 0 or above 1, and axes say what they are."""
    difficulty = scored.samples["difficulty"].to_numpy()
    assert ((difficulty < 0) | (difficulty > 1)).any()
    boxes = draw(scored, "skill-difficulty").axes[0]
    medians = sorted(
        float(np.median(np.clip(difficulty[[j % 3 == k for j in range(60)]], -6, 6))) for k in range(3)
    )
    drawn = {round(x, 9) for line in boxes.lines if line.get_color() == "black" for x in line.get_xdata()}
    assert set(np.round(medians, 9)) <= drawn
    assert "standard deviations" in boxes.get_xlabel()
    assert "standard deviations" in draw(scored, "solved").axes[0].get_xlabel()
    duel = draw(scored, "duels", Shown(samples=[scored.sample_names[0]])).axes[1]
    (bar,) = duel.patches
    expected = scored.samples.filter(sample=scored.sample_names[0])["expected"][0]
    assert bar.get_width() == pytest.approx(expected)
