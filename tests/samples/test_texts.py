"""Faults that texts show by themselves: copies, keys that differ, keys that are no option."""

import numpy as np
import polars as pl
import pytest

import camilla
from camilla.samples.sample_quality import SampleQuality
from camilla.samples.texts import text_faults
from camilla.table.content import SCHEMA, scratch_content

ASKED = [  # prompt, options, key
    ("What is 2 + 2?", ["3", "4"], "4"),
    ("What is 2 + 2?", ["3", "4"], "4"),
    ("what is  2 + 2", ["4", "3"], "3"),
    ("What is 2 - 2?", ["3", "4"], "3"),
    ("What is 3 + 3?", ["5", "6"], "7"),
    *((f"What is {n} + 9?", [f"{n + 8}", f"{n + 9}"], "B") for n in range(20)),
]


@pytest.fixture(scope="module")
def found() -> SampleQuality:
    rng = np.random.default_rng(0)
    rows = [
        {
            "learner": f"m{i}", "sample": f"q{j:02d}", "response": int(rng.random() < 0.3 + 0.1 * i),
            "prompt": prompt, "choices": options, "reference": key,
        }
        for i in range(6)
        for j, (prompt, options, key) in enumerate(ASKED)
    ]  # fmt: skip
    return camilla.items(camilla.read(pl.DataFrame(rows)))


def flagged(found: SampleQuality, flag: str) -> list[str]:
    return sorted(found.samples.filter(pl.col("flags").str.contains(flag))["sample"])


def test_copies_are_found_by_text_and_options(found: SampleQuality) -> None:
    """q02 differs in case, spaces, the mark at the end and the order of options; q03 in what it asks."""
    assert flagged(found, "duplicate") == ["q00", "q01", "q02"]
    assert found.copies.rows() == [
        ("q00", "q01", True, True), ("q00", "q02", False, False), ("q01", "q02", False, False),
    ]  # fmt: skip
    assert "Nearly the same text and options: q00 and q02, with different keys." in found.text()


def test_keys_of_copies_that_differ_come_first(found: SampleQuality) -> None:
    assert flagged(found, "keys differ") == ["q00", "q01", "q02"]
    assert sorted(found.samples["sample"][:4]) == ["q00", "q01", "q02", "q04"]


def test_a_key_that_is_none_of_the_options_is_named(found: SampleQuality) -> None:
    """A letter names an option; 7 is neither 5 nor 6."""
    assert flagged(found, "not an option") == ["q04"]


def test_files_that_disagree_about_a_key_are_named() -> None:
    """Two files have q2, with the keys 4 and 5; they agree about q1."""
    contents = [
        scratch_content(pl.DataFrame(
            {"sample": ["q1", "q2"], "prompt": ["What is 1 + 2?", "What is 2 + 2?"], "reference": ["3", key]},
        ).select(pl.col(name) if name in ("sample", "prompt", "reference") else pl.lit(None, kind).alias(name)
                 for name, kind in SCHEMA.items()))
        for key in ("4", "5")
    ]  # fmt: skip
    assert contents[0] is not None
    faults = text_faults(contents[0].together(contents[1]), ["q1", "q2"], None)
    assert faults is not None
    assert faults.keys_differ.tolist() == [False, True]
