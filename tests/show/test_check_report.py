"""scripts/check_report.py finds no false statement, and finds one that was falsified."""

import copy
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import camilla
from camilla import diagnosing
from camilla.diagnosis import Diagnosis
from camilla.show.report import diagnosed
from camilla.show.report.build import report
from camilla.show.report.diagnosed import Diagnosed, section
from camilla.table.responses import ResponseTable

sys.path.insert(0, str(Path(__file__).parents[2] / "scripts"))

import check_report
import check_report_rules
from check_report_truth import Raw, page_document


def checked(found: Diagnosis, raw: Raw, folder: Path) -> tuple[dict[str, Any], int, list[str]]:
    """The section of a diagnosis' page, how many statements were recomputed, and which are false."""
    found.save(folder / "found")
    words = page_document(report([folder / "found"], folder / "page.html").page)["diagnoses"][0]
    return words, *check_report_rules.of_diagnosis(words, raw, folder / "found")


def test_no_statement_about_the_demo_is_false(digits_diagnosis: Diagnosis, tmp_path: Path) -> None:
    """And another leader, another kind and an unknown kind are."""
    raw = check_report.demo()
    words, n, wrong = checked(digits_diagnosis, raw, tmp_path)
    assert wrong == []
    assert n >= 20
    for change, why in (
        ({"names": {"leader": raw.learners[0]}}, "another learner leads"),
        ({"kind": "sure lead"}, "it is a tied lead"),
        ({"kind": "praise"}, "no rule recomputes this kind"),
    ):
        false = {"verdicts": {"leaderboard": words["verdicts"]["leaderboard"] | change}}
        assert any(why in line for line in check_report_rules.of_diagnosis(false, raw, tmp_path / "found")[1])


@pytest.mark.parametrize(("seed", "diagnoser"), [(9, "auto"), (8, "auto"), (3, "irt")])
def test_no_statement_about_simulated_tables_is_false(seed: int, diagnoser: str, tmp_path: Path) -> None:
    """Fractional responses, missing ones, and a diagnoser with standard errors in place of draws."""
    raw = check_report.simulated(seed)
    found = camilla.diagnose(check_report.table_of(raw), diagnoser)
    words, n, wrong = checked(found, raw, tmp_path)
    assert wrong == []
    assert n >= 15
    if seed == 8:
        _every_falsified_number_is_caught(words, raw, tmp_path / "found")


def _every_falsified_number_is_caught(words: dict[str, Any], raw: Raw, folder: Path) -> None:
    """Each number in turn is raised by one in its last digit, in the sentence too: none goes unseen.

    But what is drawn anew by the checker, whose tolerance is that of the draws.
    """
    tried = 0
    for path, number in _numbers(words):
        said = _at(words, path)
        drawn = ("p_best", "tie", "tied lead", "sure lead", "converged")
        if said["kind"] in drawn or not re.search(r"[0-8]", number["text"]):
            continue
        false = copy.deepcopy(said) | {"evidence": []}
        _falsify(false, number["name"])
        tried += 1
        wrong = check_report_rules.of_diagnosis({"verdict": false}, raw, folder)[1]
        assert len(wrong) == 1, (said["text"], number)
        if tried == 12:
            return
    raise AssertionError(f"only {tried} numbers could be falsified")


def _numbers(words: dict[str, Any]) -> Iterator[tuple[list[Any], dict[str, Any]]]:
    for f, finding in enumerate(words["findings"]):
        for s, said in enumerate(finding["statements"]):
            for name, number in said["numbers"].items():
                yield ["findings", f, "statements", s], number | {"name": name}


def _at(words: dict[str, Any], path: list[Any]) -> Any:
    here: Any = words
    for step in path:
        here = here[step]
    return here


def _falsify(said: dict[str, Any], name: str) -> None:
    number = said["numbers"][name]
    digit = re.search(r"[0-8](?=\D*$)", number["text"]) or re.search(r"[0-8]", number["text"])
    assert digit is not None
    text = number["text"][: digit.start()] + str(int(digit[0]) + 1) + number["text"][digit.end() :]
    said["text"] = said["text"].replace(number["text"], text)
    number["text"] = text


@pytest.fixture(scope="module")
def agents(data_folder: Path) -> Raw:
    """Every eighth agent of SWE-bench Verified with the repositories as skills."""
    whole = check_report.tables(data_folder)["swebench"]()
    return Raw(whole.learners[::8], whole.samples, whole.matrix[::8], whole.skills)


@pytest.fixture(scope="module")
def agents_table(agents: Raw) -> ResponseTable:
    return check_report.table_of(agents)


def test_no_statement_about_real_agents_is_false_with_auto(
    agents: Raw, agents_table: ResponseTable, tmp_path: Path
) -> None:
    """Also none says that a skill differs most by its ability, or spreads most."""
    words, n, wrong = checked(camilla.diagnose(agents_table), agents, tmp_path)
    assert wrong == []
    assert n >= 20
    texts = " ".join(one["text"] for one in check_report_rules.statements(words))
    assert "standard errors" not in texts
    assert "spread most" not in texts
    assert words["verdicts"].keys() == {"leaderboard", "samples", "skills"}


def test_a_large_page_expects_what_the_model_expects(
    agents: Raw,
    agents_table: ResponseTable,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    opened: Callable[..., Any],
) -> None:
    """auto at its mode, abilities from 0 to 1: expected responses add up to what each learner has.

    A learner's expected mean is its observed mean but for the priors, at most 10 responses of 500. The last
    one has .04: an ability from 0 to 1 taken for that of the model would put it at .5.
    """
    monkeypatch.setattr(diagnosing, "MOST_SAMPLED", 0)
    monkeypatch.setattr(diagnosed, "MOST_EXPECTED", 0)
    found = camilla.diagnose(agents_table)
    of = Diagnosed("found", found)
    sent = section(of)["samples"]
    assert found.readout.unit_scale
    line = sent["line"]
    logit = line["level"].values[:, None] + line["slope"].values @ line["place"].T
    expected = 1 / (1 + np.exp(-logit))
    observed = [np.nanmean(agents.row(name)) for name in of.learners]
    np.testing.assert_allclose(expected.mean(axis=0), observed, atol=0.02)
    found.save(tmp_path / "found")
    shown = opened(report([tmp_path / "found"], tmp_path / "page.html").page)
    page = shown.go(f"samples?sample={of.samples[0]}")
    rows = page.locator("main .table tbody tr")
    assert f"{expected[0, 0]:.2f}" in rows.nth(1).inner_text() + rows.nth(0).inner_text()
    assert shown.trouble == []
