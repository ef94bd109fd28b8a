"""Adaptive sessions over the API: next sample, stop rule, result; kept over a restart."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import board_worlds
import numpy as np
import pytest
from board_worlds import Live

from camilla.samples.adapt import adapt
from camilla.server.refitting import RefitPolicy, calibrate_samples, next_job
from camilla.server.sessions import packed_bank, unpacked_bank

GIVEN = board_worlds.responses(0.5, seed=1)


@pytest.fixture(scope="module")
def reference() -> Any:
    """The adaptive test of Python over the same table."""
    return adapt(board_worlds.world(), budget=6)


def start(server: Live, token: str, **rule: Any) -> dict[str, Any]:
    answer = server.post("/api/benchmarks/small/sessions", token, {"learner": "tested", **rule})
    assert answer.status_code == 201, answer.text
    return dict(answer.json())


def state(server: Live, token: str, number: str) -> dict[str, Any]:
    answer = server.client.get(f"/api/sessions/{number}", headers={"Authorization": f"Bearer {token}"})
    return dict(answer.json())


@pytest.fixture
def server(live: Callable[..., Live]) -> Live:
    return live()


def calibrated(server: Live) -> None:
    job = next_job(server.site.store, RefitPolicy(reports=False))
    assert job is not None
    assert job.kind == "bank"
    calibrate_samples(server.site.store, server.benchmark(), job.board_id)


def test_a_session_asks_what_the_adaptive_test_asks_and_survives_a_restart(
    server: Live, live: Callable[..., Live], reference: Any
) -> None:
    """After three answers another server over the same store goes on, as if nothing had happened."""
    token = server.token("ann")
    begun = start(server, token, budget=6)
    assert begun["state"] == "calibrating"
    path = f"/api/sessions/{begun['id']}/answers"
    assert server.post(path, token, {"sample": "sample 01", "response": 1}).status_code == 409
    calibrated(server)
    for turn in range(6):
        if turn == 3:
            server = live(str(server.site.store.url.database))
        now = state(server, token, begun["id"])
        assert now["state"] == "open"
        assert now["next"] == reference.next()
        told = server.post(path, token, {"sample": now["next"], "response": GIVEN[now["next"]]}).json()
        wanted = reference.record(now["next"], GIVEN[now["next"]])
        assert told["score"] == pytest.approx(wanted.score, abs=1e-6)
        assert told["score_se"] == pytest.approx(wanted.score_se, abs=1e-6)
    assert told["state"] == "done"
    assert told["next"] is None
    done = server.post(f"/api/sessions/{begun['id']}/finish", token).json()
    assert done["state"] == "submitted"
    again = server.post(f"/api/sessions/{begun['id']}/finish", token).json()
    assert again["submission"] == done["submission"]
    row = server.rows()["tested"]
    assert row["n"] == 6
    assert row["submission"] == done["submission"]
    assert row["high"] - row["low"] > 0


def test_an_answer_sent_twice_counts_once_and_another_one_is_refused(live: Callable[..., Live]) -> None:
    server = live(least_share=0.5)
    token = server.token("ann")
    number = start(server, token)["id"]
    calibrated(server)
    path = f"/api/sessions/{number}/answers"
    asked = state(server, token, number)["next"]
    first = server.post(path, token, {"sample": asked, "response": 1}).json()
    assert server.post(path, token, {"sample": asked, "response": 1}).json() == first
    assert server.post(path, token, {"sample": asked, "response": 0}).status_code == 409
    assert server.post(path, token, {"sample": "nowhere", "response": 0}).status_code == 422
    assert server.post(path, token, {"sample": first["next"], "response": 0.5}).status_code == 422
    left = server.post(path, token, {"sample": first["next"], "response": None}).json()
    assert (left["asked"], left["left_out"]) == (1, 1)
    trials = server.post(path, token, {"sample": left["next"], "response": 0.5, "trials": 2}).json()
    assert trials["asked"] == 2
    done = server.post(f"/api/sessions/{number}/finish", token)
    assert done.status_code == 200, done.text
    assert server.rows()["tested"]["accuracy"] == pytest.approx(2 / 3)  # of three trials
    assert server.post(path, token, {"sample": trials["next"], "response": 1}).status_code == 409


def test_a_session_chooses_the_samples_and_needs_a_response_to_each(live: Callable[..., Live]) -> None:
    """Otherwise it would take the right answers alone: those of other samples, or null for the wrong ones."""
    strict, mild = live(), live(least_share=0.5)
    for server in (strict, mild):
        token = server.token("ann")
        number = start(server, token)["id"]
        calibrated(server)
        path, asked = f"/api/sessions/{number}/answers", state(server, token, number)["next"]
        other = next(name for name in GIVEN if name != asked)
        refused = server.post(path, token, {"sample": other, "response": 1})
        assert refused.status_code == 409
        assert f"the session asks '{asked}' now" in refused.json()["error"]
        answer = server.post(path, token, {"sample": asked, "response": None})
        assert answer.status_code == (422 if server is strict else 200)
    asked = answer.json()["next"]
    asked = server.post(path, token, {"sample": asked, "response": None}).json()["next"]
    server.post(path, token, {"sample": asked, "response": 1})
    refused = server.post(f"/api/sessions/{number}/finish", token)
    assert refused.status_code == 422
    assert "has responses to 1 of 3 samples" in refused.json()["error"]
    assert "at least 2 of them" in refused.json()["error"]


def test_a_session_is_of_its_account_alone(server: Live) -> None:
    number = start(server, server.token("ann"))["id"]
    assert "error" in state(server, server.token("bob"), number)
    assert state(server, server.token("carl", "owner"), number)["learner"] == "tested"


def test_a_bank_comes_back_from_its_bytes(reference: Any) -> None:
    back = unpacked_bank(packed_bank(reference.bank))
    assert back.samples == reference.bank.samples
    assert back.misfit == reference.bank.misfit
    for one, other in zip(back.models, reference.bank.models, strict=True):
        for name in one._fields:
            np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


def test_a_session_without_an_answer_has_nothing_to_submit(server: Live, tmp_path: Path) -> None:
    token = server.token("ann")
    number = start(server, token)["id"]
    assert server.post(f"/api/sessions/{number}/finish", token).status_code == 422
