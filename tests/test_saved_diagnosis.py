"""A saved diagnosis is whole or refused."""

import json
from pathlib import Path

import numpy as np
import pytest

import camilla
from camilla.diagnosis import Diagnosis
from camilla.table.responses import ResponseTable


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    """The diagnosis of a small world, written."""
    rng = np.random.default_rng(0)
    p = 1 / (1 + np.exp(-(rng.normal(size=(10, 1)) - rng.normal(size=20))))
    table = ResponseTable.from_matrix((rng.random((10, 20)) < p).astype(float))
    return camilla.diagnose(table, "irt", precision=3.0).save(tmp_path / "saved")


@pytest.mark.parametrize(
    "name",
    ["learners.parquet", "samples.parquet", "skills.parquet", "responses.parquet", "arrays.safetensors"],
)
def test_a_flipped_byte_is_found_in_every_file(saved: Path, name: str) -> None:
    content = bytearray((saved / name).read_bytes())
    content[len(content) // 2] ^= 1
    (saved / name).write_bytes(bytes(content))
    with pytest.raises(camilla.FormatError, match=f"{name}: is damaged"):
        Diagnosis.load(saved)


def test_a_changed_number_in_the_index_is_found(saved: Path) -> None:
    index = saved / "diagnosis.json"
    index.write_text(index.read_text().replace('"temperature": ', '"temperature": 1'))
    with pytest.raises(camilla.FormatError, match="damaged"):
        Diagnosis.load(saved)


@pytest.mark.parametrize("content", [b"", b"{", b"\x00\xff\x00", b"[]\n[]", b"null\n{}"])
def test_an_index_that_is_no_index_is_refused(saved: Path, content: bytes) -> None:
    (saved / "diagnosis.json").write_bytes(content)
    with pytest.raises(camilla.FormatError):
        Diagnosis.load(saved)


def test_a_missing_file_is_named(saved: Path) -> None:
    (saved / "skills.parquet").unlink()
    with pytest.raises(camilla.FormatError, match=r"skills\.parquet is missing"):
        Diagnosis.load(saved)


def test_a_newer_format_is_refused_with_what_to_do(saved: Path) -> None:
    index = saved / "diagnosis.json"
    head, text = index.read_text().split("\n", 1)
    index.write_text(head + "\n" + json.dumps(json.loads(text) | {"format": 99}))
    with pytest.raises(camilla.FormatError, match=r"newer version \(format 99; .*Update camilla"):
        Diagnosis.load(saved)


def test_an_earlier_format_is_refused_with_what_to_do(saved: Path) -> None:
    index = saved / "diagnosis.json"
    head, text = index.read_text().split("\n", 1)
    index.write_text(head + "\n" + json.dumps(json.loads(text) | {"format": 1}))
    with pytest.raises(camilla.FormatError, match=r"earlier version \(format 1; .*Make the diagnosis again"):
        Diagnosis.load(saved)


def test_a_folder_that_is_no_diagnosis_is_neither_read_nor_overwritten(saved: Path, tmp_path: Path) -> None:
    other = tmp_path / "thesis"
    other.mkdir()
    (other / "chapter.txt").write_text("mine")
    with pytest.raises(camilla.FormatError, match=r"no diagnosis\.json"):
        Diagnosis.load(other)
    with pytest.raises(camilla.DataError, match="not overwritten"):
        Diagnosis.load(saved).save(other)
    assert (other / "chapter.txt").read_text() == "mine"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["saved", "thesis"]


def test_an_earlier_diagnosis_is_replaced_whole(saved: Path) -> None:
    found = Diagnosis.load(saved)
    (saved / "learners.parquet").write_bytes(b"old")
    found.save(saved)
    assert Diagnosis.load(saved).learners.equals(found.learners)
    assert [path.name for path in saved.parent.iterdir()] == ["saved"]
