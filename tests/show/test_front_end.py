"""The built files are those of the source in web/, whose own tests pass."""

import hashlib
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
WEB = ROOT / "web"
STATIC = ROOT / "src/camilla/show/report/static"


def source_hash() -> str:
    """SHA-256 over the paths and contents that web/build.mjs names."""
    files = sorted(path for path in (WEB / "src").rglob("*") if path.is_file())
    sha = hashlib.sha256()
    for path in [*files, WEB / "build.mjs", WEB / "package-lock.json"]:
        sha.update(path.relative_to(WEB).as_posix().encode() + b"\0" + path.read_bytes())
    return sha.hexdigest()


@pytest.fixture(scope="module")
def node() -> str:
    where = shutil.which("node")
    if where is None or not (WEB / "node_modules/esbuild").is_dir():
        pytest.skip("Node or the packages of web/ are not there; npm ci in web/ brings them")
    return where


@pytest.mark.parametrize("name", ["report.js", "report.css"])
def test_the_built_file_names_the_source_it_was_built_from(name: str) -> None:
    head = (STATIC / name).read_text(encoding="utf-8").split("\n", 1)[0]
    assert head == f"/* sources {source_hash()} */", "run `npm run build` in web/"


def test_building_again_gives_the_same_files(node: str, tmp_path: Path) -> None:
    subprocess.run([node, "build.mjs", "--to", str(tmp_path)], cwd=WEB, check=True, capture_output=True)
    for name in ("report.js", "report.css"):
        assert (tmp_path / name).read_bytes() == (STATIC / name).read_bytes()


def test_types_hold(node: str) -> None:
    run = subprocess.run(
        [node, "node_modules/typescript/bin/tsc", "--noEmit"],
        cwd=WEB,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stdout


def test_the_front_ends_own_tests_pass(node: str, tmp_path: Path) -> None:
    subprocess.run([node, "build.mjs", "--tests"], cwd=WEB, check=True, capture_output=True)
    run = subprocess.run([node, "--test", ".tests/"], cwd=WEB, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout[-3000:]


def test_the_lock_file_names_no_registry() -> None:
    assert "resolved" not in (WEB / "package-lock.json").read_text(encoding="utf-8")
