"""Builds the sdist and the wheel, looks into both, and tries each in an environment of its own.

    python scripts/distribution.py FOLDER      # `make dist` first installs the package `build`

An environment is clean: nothing but the package and what it depends on, no extras, none of this checkout.
"""

import argparse
import os
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
MADE = {"PKG-INFO"}  # by the build, in the sdist
TRY = """
import importlib.util, sys
from camilla.extras import EXTRAS
import camilla
assert not camilla.__file__.startswith(sys.argv[1]), f"imported from the checkout: {camilla.__file__}"
here = sorted(name for name in EXTRAS if importlib.util.find_spec(name))
assert here == [], f"packages of extras are installed: {here}"
print(camilla.__version__)
"""


def build(folder: Path) -> tuple[Path, Path]:
    """The sdist, and the wheel that is built from it."""
    folder.mkdir(parents=True, exist_ok=True)
    for old in [*folder.glob("camilla-*.tar.gz"), *folder.glob("camilla-*.whl")]:
        old.unlink()
    subprocess.run([sys.executable, "-m", "build", "--outdir", folder, ROOT], check=True)
    (sdist,), (wheel,) = folder.glob("camilla-*.tar.gz"), folder.glob("camilla-*.whl")
    return sdist, wheel


def tracked(*paths: str) -> set[str]:
    """The files that are part of the project; whatever else lies in the folder is not."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", *paths], cwd=ROOT, check=True, capture_output=True, text=True
    )
    return {name for name in listed.stdout.split("\0") if name}


def check_sdist(sdist: Path) -> None:
    """Nothing but files of the project, with the licence, the package and the sources of its report."""
    with tarfile.open(sdist) as archive:
        names = {member.name.partition("/")[2] for member in archive.getmembers() if member.isfile()}
    strange = names - tracked() - MADE
    assert not strange, f"{sdist.name}: files that are not part of the project: {sorted(strange)}"
    wanted = {"LICENSE", "README.md", "CHANGELOG.md", "pyproject.toml"} | tracked("src", "web/src")
    assert not wanted - names, f"{sdist.name}: files are missing: {sorted(wanted - names)}"


def check_wheel(wheel: Path) -> None:
    """The package as it is in the project, the licence and the metadata; nothing else."""
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    package = {f"src/{name}" for name in names if name.startswith("camilla/")}
    assert package == tracked("src/camilla"), f"{wheel.name}: {package ^ tracked('src/camilla')}"
    rest = {name.partition("/")[2] for name in names if not name.startswith("camilla/")}
    assert rest == {"METADATA", "WHEEL", "RECORD", "entry_points.txt", "licenses/LICENSE"}, rest


def tried(archive: Path, constraints: Path) -> str:
    """The version that a clean environment reports after it has run the demo."""
    with tempfile.TemporaryDirectory() as place:
        subprocess.run([sys.executable, "-m", "venv", f"{place}/venv"], check=True)
        binaries = Path(place, "venv", "Scripts" if os.name == "nt" else "bin")
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}

        def run(*words: object) -> str:
            done = subprocess.run(
                [str(word) for word in words],
                cwd=place, env=environment, check=True, text=True, stdout=subprocess.PIPE,
            )  # fmt: skip
            return done.stdout

        run(binaries / "pip", "install", "--quiet", "--constraint", constraints, archive.resolve())
        version = run(binaries / "python", "-c", TRY, ROOT).strip()
        assert run(binaries / "camilla", "--version").strip() == version
        run(binaries / "camilla", "--quiet", "demo", "-o", "demo")
        assert Path(place, "demo/report.html").stat().st_size > 100_000
        assert Path(place, "demo/diagnosis/diagnosis.json").is_file()
        return version


def main() -> None:
    """Builds, checks and tries; prints what holds."""
    kind = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=kind)
    parser.add_argument("folder", type=Path, help="where the sdist and the wheel are written")
    sdist, wheel = build(parser.parse_args().folder)
    check_sdist(sdist)
    check_wheel(wheel)
    name = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["name"]
    for archive in (wheel, sdist):
        version = tried(archive, ROOT / "constraints.txt")
        assert archive.name.startswith(f"{name}-{version}"), (archive.name, version)
        size = archive.stat().st_size / 1e6
        print(f"{archive.name} ({size:.1f} MB): installs without extras and runs the demo.")


if __name__ == "__main__":
    main()
