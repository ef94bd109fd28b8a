"""What a notebook shows of tables and diagnoses: small, static, escaped."""

import numpy as np

import camilla

NASTY = "<script>alert(1)</script>"


def table() -> camilla.ResponseTable:
    """Twelve learners, one of them all right and with a nasty name."""
    rng = np.random.default_rng(0)
    right = (rng.random((12, 30)) < 0.5).astype(float)
    right[3] = 1
    names = [NASTY if i == 3 else f"learner {i}" for i in range(12)]
    return camilla.ResponseTable.from_matrix(right, learners=names)


def test_a_table_shows_its_size_and_best_learners() -> None:
    shown = table()._repr_html_()
    assert "12 learners × 30 samples" in shown
    assert shown.count("<tr>") == 11
    assert "&lt;script&gt;" in shown.split("<tbody>")[1].split("</tr>")[0]
    assert "<script" not in shown
    assert "style=" not in shown


def test_a_diagnosis_shows_its_leaderboard() -> None:
    found = camilla.diagnose(table(), "irt", precision=3.0)
    shown = found._repr_html_()
    assert shown.split("</table>")[0].count("<tr>") == 11
    assert f"{found.learners['ability'][0]:.3f}" in shown
    assert "<script" not in shown
    assert len(shown) < 10_000
