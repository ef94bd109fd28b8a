"""Forward passes against expected values computed independently (model_cases.json)."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from camilla.diagnoser import Size, Spread
from camilla.diagnosers import DIAGNOSERS
from camilla.diagnosers import camilla as camilla_file
from camilla.diagnosers import dina as dina_file
from camilla.diagnosers import neural_cd as neural_file
from camilla.diagnosers.irt import IRT
from camilla.engine.bilinear import Factors
from camilla.engine.fit import logit

HERE = ("IRT_1PL", "IRT_2PL_D1", "IRT_3PL_D1.702", "MIRT_softplus_noQ", "MIRT_softplus_Q", "CamillaBase_free",
        "MF_dot", "MF_concat_linear", "DINA", "NeuralCD", "Camilla_1hidden")  # fmt: skip
TOLERANCE = 1e-9  # stated in the file


@pytest.fixture(scope="session")
def cases(data_folder: Path) -> dict[str, Any]:
    """Every case by the name of its model."""
    document = json.loads((data_folder.parent / "expected/model_cases.json").read_text())
    return {case["model"]: case for case in document["cases"]}


def probabilities(name: str, case: dict[str, Any], params: Any, **settings: Any) -> np.ndarray:
    """[learners, samples] as the diagnoser's own logit says."""
    mask = np.array(case["Q"], bool)
    n_learners, n_samples = np.shape(case["expected_probability"])
    diagnoser = DIAGNOSERS[name](Size(n_learners, n_samples, mask), **settings)  # type: ignore[call-arg]
    learner, sample = np.repeat(np.arange(n_learners), n_samples), np.tile(np.arange(n_samples), n_learners)
    return 1 / (1 + np.exp(-logit(diagnoser, params, learner, sample).reshape(n_learners, n_samples)))


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


def computed(model: str, case: dict[str, Any]) -> np.ndarray:
    p, mask = case["params"], np.array(case["Q"], float)
    match model:
        case "IRT_1PL" | "IRT_2PL_D1":
            return irt(case)
        case "IRT_3PL_D1.702":
            return irt(case, 1.702)
        case "MIRT_softplus_noQ":
            return probabilities(
                "mirt", case, Factors(np.array(p["theta"]), softplus(p["a_raw"]), -np.array(p["b"]))
            )
        case "MIRT_softplus_Q":
            loading = softplus(p["a_raw"]) * mask
            return probabilities(
                "mirt", case, Factors(np.array(p["theta"]), loading, -np.array(p["b"])), use_skills=True
            )
        case "CamillaBase_free":
            params = Factors(np.array(p["theta"]), np.array(p["a"]) * mask, -np.array(p["d"]))
            return probabilities("camilla-base", case, params)
        case "MF_dot":
            params = Factors(np.array(p["u"]), np.array(p["v"]), np.zeros(len(p["v"])))
            return probabilities("mf", case, params, bias=False)
        case "MF_concat_linear":
            w, u, v = np.array(p["w"]), np.array(p["u"]), np.array(p["v"])
            params = Factors((u @ w[:2])[:, None], np.ones((len(v), 1)), v @ w[2:] + p["w0"])
            return probabilities("mf", case, params, concat=True)
        case "DINA":
            states = np.array(p["alpha"]) @ (1 << np.arange(3))
            params = dina_file.Params(
                np.array(p["slip"]), np.array(p["guess"]), np.full(8, 1 / 8), np.eye(8)[states]
            )
            return probabilities("dina", case, params)
        case "NeuralCD":
            weights, biases = network(p, ["h.l.0", "h.l.1", "h.l.2"])
            rows = (np.array(p[name]) for name in ("u.weight", "d.weight", "e.weight"))
            return probabilities("neural-cd", case, neural_file.Params(*rows, weights, biases))
        case _:
            weights = (np.array(p["W1"]).T, np.array(p["W2"]).T)
            rows = (np.array(p[name]) for name in ("WA", "WQ", "WD", "Wb"))
            params = camilla_file.Params(*rows, weights, (np.array(p["b1"]), np.array(p["b2"])))
            return probabilities("camilla", case, params, dimensions=3, hidden=(4,))


@pytest.mark.parametrize("model", HERE)
def test_forward_pass_equals_the_independent_value(model: str, cases: dict[str, Any]) -> None:
    case = cases[model]
    np.testing.assert_allclose(computed(model, case), case["expected_probability"], rtol=0, atol=TOLERANCE)


def test_camillas_overall_ability_and_difficulty_equal_equations_13_and_14(cases: dict[str, Any]) -> None:
    case = cases["Camilla_1hidden"]
    p = {name: np.array(value) for name, value in case["params"].items()}
    weights, biases = (p["W1"].T, p["W2"].T), (p["b1"], p["b2"])
    params = camilla_file.Params(p["WA"], p["WQ"], p["WD"], p["Wb"], weights, biases)
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
