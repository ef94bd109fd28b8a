"""Writes quiz.parquet: 12 simulated models, 120 products; keys of q008, q032, q065 and q091 are wrong."""

import numpy as np
import polars as pl

import camilla

LETTERS, WRONG = "ABCD", (7, 31, 64, 90)

rng = np.random.default_rng(5)
skills = np.linspace(0.4, 3.0, 12)
rows = []
for j in range(120):
    a, b = rng.integers(11, 99, 2)
    options = [int(a * b + step) for step in (0, 10, -10, 1)]
    order = rng.permutation(4)
    right, difficulty = int(np.flatnonzero(order == 0)[0]), rng.normal()
    key = right - 1 if j in WRONG else right
    for i, skill in enumerate(skills):
        knows = rng.random() < 1 / (1 + np.exp(difficulty - skill))
        answer = right if knows else int(rng.integers(4))
        rows.append(
            {
                "learner": f"model-{i + 1:02d}", "sample": f"q{j + 1:03d}",
                "response": int(LETTERS[answer] == LETTERS[key]), "prompt": f"What is {a} × {b}?",
                "choices": [str(options[k]) for k in order], "reference": LETTERS[key],
                "answer": LETTERS[answer],
            }
        )  # fmt: skip
camilla.read(pl.DataFrame(rows)).write("quiz.parquet")
