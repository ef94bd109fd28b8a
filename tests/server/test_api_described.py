"""schemathesis over the OpenAPI description: no 5xx, and every answer as described."""

import warnings
from collections.abc import Callable
from typing import Any

import board_worlds
import pytest
from board_worlds import Live
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    schemathesis = pytest.importorskip("schemathesis", reason="schemathesis is not installed")

N_OPERATIONS = 23
MODES = [schemathesis.GenerationMode.POSITIVE, schemathesis.GenerationMode.NEGATIVE]
CHECKS = [
    "not_a_server_error", "status_code_conformance", "content_type_conformance",
    "response_headers_conformance", "response_schema_conformance", "negative_data_rejection",
    "unsupported_method", "missing_required_header",
]  # fmt: skip
KNOWN = {
    "benchmark": "small",
    "learner": "new",
    "a": "new",
    "b": "learner 03",
    "sample": "sample 07",
    "id": "1",
}


def tried(operation: Any, headers: dict[str, str], mode: Any, examples: int) -> None:
    """Calls an operation with generated data, of which some names are replaced by names that exist."""
    checks = [one for one in schemathesis.checks.CHECKS.get_all() if one.__name__ in CHECKS]
    assert len(checks) == len(CHECKS)

    @settings(
        max_examples=examples, deadline=None, database=None, derandomize=True, phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(case=operation.as_strategy(generation_mode=mode), known=st.booleans())
    def called(case: Any, known: bool) -> None:
        if known and mode is MODES[0]:
            for given_ in (case.path_parameters, case.query):
                given_.update({name: KNOWN[name] for name in given_ or {} if name in KNOWN})
        case.call_and_validate(headers=headers, checks=checks)

    called()


@pytest.fixture
def server(live: Callable[..., Live]) -> Live:
    server = live()
    token = server.token("ann", "owner")
    server.submit(token, "new", board_worlds.responses(0.5, seed=1))
    server.refit()
    return server


@pytest.mark.parametrize("examples", [3, pytest.param(100, marks=pytest.mark.slow)], ids=["some", "many"])
@pytest.mark.parametrize("mode", MODES, ids=["as described", "not as described"])
def test_every_operation_answers_as_it_is_described(server: Live, examples: int, mode: Any) -> None:
    token = server.token("carl", "owner")
    described = schemathesis.openapi.from_asgi("/openapi.json", server.application.asgi())
    operations = [result.ok() for result in described.get_all_operations()]
    assert len(operations) == N_OPERATIONS
    for operation in operations:
        takes = len(operation.path_parameters) + len(operation.query) + len(operation.body)
        if not takes and mode is not MODES[0]:
            continue  # nothing can be wrong
        tried(operation, {"Authorization": f"Bearer {token}"}, mode, examples)


def test_operations_that_write_refuse_whoever_has_no_token(server: Live) -> None:
    described = server.client.get("/openapi.json").json()
    closed = [
        (path, method)
        for path, methods in described["paths"].items()
        for method, operation in methods.items()
        if operation["security"] == [{"token": []}]
    ]
    assert len(closed) == 9
    for path, method in closed:
        answer = server.client.request(
            method.upper(), path.replace("{benchmark}", "small").replace("{id}", "1")
        )
        assert answer.status_code == 401, (path, method)
