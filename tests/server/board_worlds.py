"""A small benchmark whose truth is known, and a server in this process."""

from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from starlette.testclient import TestClient

from camilla.server.accounts import add_token
from camilla.server.application import Application
from camilla.server.boards import Benchmark
from camilla.server.refitting import refit, take_lease
from camilla.server.routes import Site
from camilla.table.responses import ResponseTable
from camilla.table.skills import SkillMap

N_LEARNERS, N_SAMPLES = 14, 60
SETTINGS: dict[str, Any] = {"skill_correlation": 0.8, "precision": 3.0}
NUMBER = count()


def world() -> ResponseTable:
    """A Rasch world of 14 learners and 60 samples that need one of three skills."""
    rng = np.random.default_rng(5)
    ability, difficulty = np.linspace(-2, 2, N_LEARNERS), rng.normal(size=N_SAMPLES)
    right = rng.random((N_LEARNERS, N_SAMPLES)) < 1 / (1 + np.exp(difficulty - ability[:, None]))
    table = ResponseTable.from_matrix(
        right.astype(float),
        learners=[f"learner {i:02}" for i in range(N_LEARNERS)],
        samples=[f"sample {j:02}" for j in range(N_SAMPLES)],
    )
    mask = np.arange(N_SAMPLES)[:, None] % 3 == np.arange(3)
    return table.with_skills(SkillMap(("add", "carry", "divide"), mask))


def responses(ability: float, seed: int) -> dict[str, float]:
    """Of a new learner to all samples."""
    rng = np.random.default_rng(seed)
    difficulty = np.random.default_rng(5).normal(size=N_SAMPLES)
    right = rng.random(N_SAMPLES) < 1 / (1 + np.exp(difficulty - ability))
    return {f"sample {j:02}": float(value) for j, value in enumerate(right)}


def as_csv(path: Path, learner: str, given: dict[str, float]) -> Path:
    frame = pl.DataFrame({"sample": list(given), "response": list(given.values())})
    frame.with_columns(learner=pl.lit(learner)).write_csv(path)
    return path


@dataclass
class Live:
    """A server in this process whose background work is done when a test says so."""

    site: Site
    application: Application
    client: TestClient

    def token(self, account: str, role: str = "submitter", *, days: int | None = None) -> str:
        return add_token(self.site.store, account, role, days=days).secret

    def post(self, path: str, token: str | None = None, document: Any = None, **more: Any) -> Any:
        headers = more.pop("headers", {}) | ({} if token is None else {"Authorization": f"Bearer {token}"})
        if document is not None:
            more["json"] = document
        return self.client.post(path, headers=headers, **more)

    def submit(self, token: str, learner: str, given: dict[str, float], status: int = 201) -> Any:
        answer = self.post(
            "/api/benchmarks/small/submissions", token, {"learner": learner, "responses": given}
        )
        assert answer.status_code == status, answer.text
        return answer.json()

    def number(self, token: str, learner: str, given: dict[str, float]) -> int:
        """Submits; the submission's number."""
        return int(self.submit(token, learner, given)["received"][0]["submission"]["id"])

    def rows(self, **query: str) -> dict[str, dict[str, Any]]:
        answer = self.client.get("/api/benchmarks/small/leaderboard", params=query)
        assert answer.status_code == 200, answer.text
        return {row["learner"]: row for row in answer.json()["rows"]}

    def benchmark(self) -> Benchmark:
        return self.site.boards.benchmark("small")

    def refit(self) -> None:
        assert take_lease(self.site.store, "test")
        refit(self.site.store, self.benchmark(), "test")
        self.forget()

    def forget(self) -> None:
        """Looks at the store anew, as after the fifth of a second for which it need not."""
        self.site.boards._known.clear()
