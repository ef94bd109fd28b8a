"""Forward passes against expected values computed independently (model_cases.json)."""

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from camilla.fitting.engines import engine_of
from camilla.fitting.factors import Factors
from camilla.fitting.layout import Size
from camilla.fitting.protocol import Spread
from camilla.models import DIAGNOSERS
from camilla.models import camilla as camilla_file
from camilla.models import dina as dina_file
from camilla.models import hier as hier_file
from camilla.models import ka_ncd as ka_file
from camilla.models import neural_cd as neural_file
from camilla.models import qc_cdm as qc_file
from camilla.models.irt import IRT

TOLERANCE = 1e-9  # stated in the file


@pytest.fixture(scope="session")
def cases(data_folder: Path) -> dict[str, Any]:
    """Every case by the name of its model."""
    document = json.loads((data_folder.parent / "expected/model_cases.json").read_text())
    return {case["model"]: case for case in document["cases"]}


EDGES = ((0, 2), (1, 2))  # stated in the notes of the cases


def diagnoser_of(name: str, case: dict[str, Any], **settings: Any) -> Any:
    n_learners, n_samples = np.shape(case["expected_probability"])
    size = Size(n_learners, n_samples, np.array(case["Q"], bool), skill_edges=EDGES)
    return DIAGNOSERS[name](size, **settings)  # type: ignore[call-arg]


def probabilities(name: str, case: dict[str, Any], params: Any, **settings: Any) -> np.ndarray:
    """[learners, samples] as the diagnoser's own logit says."""
    diagnoser = diagnoser_of(name, case, **settings)
    n_learners, n_samples = diagnoser.size.n_learners, diagnoser.size.n_samples
    learner, sample = np.repeat(np.arange(n_learners), n_samples), np.tile(np.arange(n_samples), n_learners)
    return 1 / (
        1
        + np.exp(
            -engine_of(diagnoser).logit(diagnoser, params, learner, sample).reshape(n_learners, n_samples)
        )
    )


def softplus(raw: Any) -> np.ndarray:
    return np.log1p(np.exp(np.asarray(raw)))


def irt(case: dict[str, Any], scale: float = 1.0) -> np.ndarray:
    p = {name: np.array(value, float) for name, value in case["params"].items()}
    params = IRT.parameters(p["theta"], p["b"], p.get("a"), p.get("c"), scale=scale)
    return probabilities("irt", case, params)


def network(params: dict[str, Any], names: list[str]) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """Weights [inputs, outputs] and biases of linear layers stored [outputs, inputs]."""
    return (
        tuple(np.array(params[f"{name}.weight"]).T for name in names),
        tuple(np.array(params[f"{name}.bias"]) for name in names),
    )


def mirt(case: dict[str, Any], *, use_skills: bool) -> np.ndarray:
    p = case["params"]
    loading = softplus(p["a_raw"]) * (np.array(case["Q"]) if use_skills else 1.0)
    params = Factors(np.array(p["theta"]), loading, -np.array(p["b"]))
    return probabilities("mirt", case, params, use_skills=use_skills)


def camilla_base(case: dict[str, Any]) -> np.ndarray:
    p = case["params"]
    params = Factors(np.array(p["theta"]), np.array(p["a"]) * np.array(case["Q"]), -np.array(p["d"]))
    return probabilities("camilla-base", case, params)


def mf_dot(case: dict[str, Any]) -> np.ndarray:
    u, v = np.array(case["params"]["u"]), np.array(case["params"]["v"])
    return probabilities("mf", case, Factors(u, v, np.zeros(len(v))), bias=False)


def mf_concat(case: dict[str, Any]) -> np.ndarray:
    w, u, v = (np.array(case["params"][name]) for name in ("w", "u", "v"))
    params = Factors((u @ w[:2])[:, None], np.ones((len(v), 1)), v @ w[2:] + case["params"]["w0"])
    return probabilities("mf", case, params, concat=True)


def dina(case: dict[str, Any]) -> np.ndarray:
    alpha, slip, guess = (np.array(case["params"][name]) for name in ("alpha", "slip", "guess"))
    certain = np.eye(8)[alpha @ (1 << np.arange(3))]
    return probabilities("dina", case, dina_file.DINAParams(slip, guess, np.full(8, 1 / 8), certain))


def neural_cd(case: dict[str, Any]) -> np.ndarray:
    rows = (np.array(case["params"][name]) for name in ("u.weight", "d.weight", "e.weight"))
    layers = network(case["params"], ["h.l.0", "h.l.1", "h.l.2"])
    return probabilities("neural-cd", case, neural_file.NeuralCDParams(*rows, *layers))


def ka_ncd_params(case: dict[str, Any]) -> ka_file.KaParams:
    p = {name: np.array(value) for name, value in case["params"].items()}
    layers = network(case["params"], ["h.l.0", "h.l.1", "h.l.2"])
    maps = [(p[f"{name}.weight"].T, p[f"{name}.bias"]) for name in ("fu", "fv")]
    return ka_file.KaParams(p["u.weight"], p["v.weight"], p["k"], p["e.weight"], *layers, *maps)


def hier_params(case: dict[str, Any]) -> hier_file.HierParams:
    rows = (np.array(case["params"][name]) for name in ("pri", "cp", "cn", "d.weight", "e.weight"))
    names = [name for name in ("wu", "wi", "c1", "c2") if f"{name}.weight" in case["params"]]
    return hier_file.HierParams(*rows, *network(case["params"], names))


def qc_cdm_params(case: dict[str, Any]) -> qc_file.QCParams:
    p = {name: np.array(value) for name, value in case["params"].items()}
    norms = ("net.1", "net.5")
    return qc_file.QCParams(
        p["u.weight"], p["d.weight"], p["e.weight"], p["qn"], np.zeros((3, 0)), p["g"],
        *network(case["params"], ["net.0", "net.4", "net.8"]),
        tuple(p[f"{name}.weight"] for name in norms),
        tuple(p[f"{name}.bias"] for name in norms),
        tuple(np.stack([p[f"{name}.running_mean"], p[f"{name}.running_var"]]) for name in norms),
    )  # fmt: skip


def camilla_params(case: dict[str, Any]) -> camilla_file.CamillaParams:
    p = {name: np.array(value) for name, value in case["params"].items()}
    weights, biases = (p["W1"].T, p["W2"].T), (p["b1"], p["b2"])
    return camilla_file.CamillaParams(p["WA"], p["WQ"], p["WD"], p["Wb"], weights, biases)


def camilla(case: dict[str, Any]) -> np.ndarray:
    return probabilities("camilla", case, camilla_params(case), dimensions=3, hidden=(4,))


COMPUTED: dict[str, Callable[[dict[str, Any]], np.ndarray]] = {
    "IRT_1PL": irt,
    "IRT_2PL_D1": irt,
    "IRT_3PL_D1.702": partial(irt, scale=1.702),
    "MIRT_softplus_noQ": partial(mirt, use_skills=False),
    "MIRT_softplus_Q": partial(mirt, use_skills=True),
    "CamillaBase_free": camilla_base,
    "MF_dot": mf_dot,
    "MF_concat_linear": mf_concat,
    "DINA": dina,
    "NeuralCD": neural_cd,
    "Camilla_1hidden": camilla,
    "KaNCD_gmf": lambda case: probabilities("ka-ncd", case, ka_ncd_params(case)),
    "Hier_mirt": lambda case: probabilities("hier-mirt", case, hier_params(case)),
    "Hier_ncd": lambda case: probabilities("hier-ncd", case, hier_params(case)),
    "QCCDM_12_single_sigmoid": lambda case: probabilities("qc-cdm", case, qc_cdm_params(case), mode=12),
}


@pytest.mark.parametrize("model", COMPUTED)
def test_forward_pass_equals_the_independent_value(model: str, cases: dict[str, Any]) -> None:
    case = cases[model]
    np.testing.assert_allclose(COMPUTED[model](case), case["expected_probability"], rtol=0, atol=TOLERANCE)


def test_every_case_is_computed(cases: dict[str, Any]) -> None:
    assert set(COMPUTED) == set(cases)


def test_mastery_equals_the_independent_value(cases: dict[str, Any]) -> None:
    """QCCDM's is read as 2m − 1, for m lies in (½, 1)."""
    for name, model, params in (
        ("ka-ncd", "KaNCD_gmf", ka_ncd_params),
        ("hier-mirt", "Hier_mirt", hier_params),
        ("hier-ncd", "Hier_ncd", hier_params),
    ):
        mastery = diagnoser_of(name, cases[model]).model.mastery(params(cases[model]), np)
        np.testing.assert_allclose(mastery, cases[model]["expected_mastery"], rtol=0, atol=TOLERANCE)
    case = cases["QCCDM_12_single_sigmoid"]
    mastery = diagnoser_of("qc-cdm", case, mode=12).model.mastery(qc_cdm_params(case), np)
    np.testing.assert_allclose((1 + mastery) / 2, case["expected_mastery"], rtol=0, atol=TOLERANCE)


def test_camillas_overall_ability_and_difficulty_equal_equations_13_and_14(cases: dict[str, Any]) -> None:
    case = cases["Camilla_1hidden"]
    params = camilla_params(case)
    diagnoser = camilla_file.Camilla(Size(3, 4), dimensions=3, hidden=(4,))
    difficulty, _ = diagnoser.sample_factors(params, None, np)
    np.testing.assert_allclose(difficulty, case["expected_item_difficulty"], atol=TOLERANCE)
    ability = 1 / (1 + np.exp(-params.ability))
    np.testing.assert_allclose(ability, case["expected_mastery"], atol=TOLERANCE)
    nothing = np.zeros(4)
    spread = Spread(ability, np.zeros((3, 3, 3)), "none", difficulty, nothing, nothing, nothing)
    read = diagnoser.readout(params, spread)
    assert read.skill_weight is not None
    overall = read.ability @ read.skill_weight.mean(axis=0)
    np.testing.assert_allclose(overall, case["expected_overall_ability"], atol=TOLERANCE)
