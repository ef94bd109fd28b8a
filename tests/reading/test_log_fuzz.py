"""A short run of what scripts/fuzz_loaders.py does at length."""

import subprocess
import sys
import time
from pathlib import Path
from random import Random

import log_seeds
import pytest
from benchmark_seeds import BENCHMARK_LAYOUTS
from mutations import bombs, mutated

from camilla.errors import CamillaError, DataError
from camilla.reading.formats import FORMATS
from camilla.reading.inputs import loader_of, read
from camilla.reading.sniffing import match, peek

N_FILES = 200


@pytest.mark.parametrize("format", FORMATS)
def test_damaged_logs_load_or_end_in_our_own_error(format: str, tmp_path: Path) -> None:
    """Nothing else comes out, and nothing takes long; 2 CPU seconds are a hundred times the usual."""
    seeds = [seed for make in log_seeds.LAYOUTS.values() if (seed := make()).format == format]
    loader = loader_of(FORMATS[format])
    ended = {"loaded": 0, "refused": 0}
    for number in range(N_FILES):
        rng = Random(f"{format} short {number}")
        seed = rng.choice(seeds)
        hurt = rng.choice([seed.target, seed.target, *seed.files])
        for name, data in seed.files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(mutated(rng, data) if name == hurt else data)
        start = time.process_time()
        try:
            match(peek(tmp_path / seed.target), FORMATS)
            for run in loader.runs(tmp_path / seed.target):
                if run.content is not None:
                    run.content()
            if loader.matches is not None:
                loader.matches(tmp_path / seed.target)
            ended["loaded"] += 1
        except CamillaError:
            ended["refused"] += 1
        assert time.process_time() - start < 2, f"{format} {number}"
    assert min(ended.values()) > 0


FUZZ = Path(__file__).parents[2] / "scripts/fuzz_loaders.py"


@pytest.mark.slow
@pytest.mark.parametrize("format", sorted({make().format for make in BENCHMARK_LAYOUTS.values()}))
def test_a_hundred_thousand_damaged_logs(format: str) -> None:
    """Only our own errors, at most 2 CPU seconds a file and 1 GB in all; nothing is written."""
    command = [sys.executable, str(FUZZ), "--only", format, "--files", "100000"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("bomb", range(4))
def test_a_zip_bomb_is_refused(bomb: int, tmp_path: Path) -> None:
    """Half a gigabyte of spaces in a summary, by deflate and zstd, with a true and a false size."""
    path = tmp_path / "log.eval"
    path.write_bytes(bombs()[bomb])
    with pytest.raises(DataError, match=r"zip bomb|zip archive"):
        read(path)


def test_names_that_climb_out_of_an_archive_write_nothing(tmp_path: Path) -> None:
    inside = tmp_path / "deep/inside"
    inside.mkdir(parents=True)
    header = log_seeds.json.dumps(log_seeds.HEADER).encode()
    sample = log_seeds.json.dumps(log_seeds.INSPECT_SAMPLES[0]).encode()
    names = {
        "header.json": header,
        "samples/../../../evil.json": sample,
        "/evil.json": sample,
        "samples/ok.json": sample,
    }
    (inside / "log.eval").write_bytes(log_seeds.zip_of(names, 8))
    assert read(inside / "log.eval").response.tolist() == [1]
    assert [path.name for path in tmp_path.rglob("*") if path.is_file()] == ["log.eval"]
