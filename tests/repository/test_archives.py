"""Contents of the wheels and source archives in the folder that RANKWISE_ARCHIVES names.

``make release-check`` builds the archives, and then runs these tests with the variable set.
"""

from __future__ import annotations

import os
import subprocess
import tarfile
import zipfile
from pathlib import Path

import pytest

from rankwise._version import find_commit

ROOT = Path(__file__).parents[2]
FOLDER = os.environ.get("RANKWISE_ARCHIVES")
PROJECTS = {"rankwise": ROOT, "rankwise_papers": ROOT / "papers"}
PACKERS = {"PKG-INFO", "WHEEL", "METADATA", "RECORD", "entry_points.txt"}

pytestmark = pytest.mark.skipif(FOLDER is None, reason="make release-check builds the archives")


def archives():
    return sorted(path for path in Path(FOLDER or ".").glob("rankwise*") if path.is_file())


def contents(path: Path) -> dict[Path, bytes]:
    """Files of an archive by their place in the repository; files that packers write are left out.

    The licence is in a folder of its own in wheels.
    """
    name = path.name.partition("-")[0]
    if path.suffix == ".whl":
        with zipfile.ZipFile(path) as wheel:
            files = {of: wheel.read(of) for of in wheel.namelist() if not of.endswith("/")}
        placed = {
            Path(of).name if ".dist-info/licenses/" in of else f"src/{of}": text
            for of, text in files.items()
            if Path(of).name not in PACKERS
        }
    else:
        with tarfile.open(path) as source:
            members = [of for of in source.getmembers() if not of.isdir()]
            assert all(of.isfile() for of in members)
            files = {of.name: source.extractfile(of) for of in members}
            placed = {
                of.partition("/")[2]: text.read()
                for of, text in files.items()
                if text is not None and Path(of).name not in PACKERS
            }
    return {(PROJECTS[name] / of).relative_to(ROOT): text for of, text in placed.items()}


def tracked() -> set[Path]:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True)
    return {Path(name) for name in listed.stdout.decode().split("\0") if name}


def test_each_project_has_a_wheel_and_a_source_archive():
    kinds = sorted((path.name.partition("-")[0], path.suffix) for path in archives())
    assert kinds == [(name, kind) for name in sorted(PROJECTS) for kind in (".gz", ".whl")]


def test_archives_hold_tracked_files_only():
    """Nothing private can be inside: every file is one of the repository, byte for byte."""
    known = tracked()
    known |= {Path("papers") / ".gitignore"}  # hatchling adds that of the repository
    stored = Path("src/rankwise/_commit.txt")  # hatch_build.py adds it
    for path in archives():
        found = contents(path)
        commit = found.pop(stored, b"").decode().strip()
        assert commit == ("" if path.name.startswith("rankwise_") else find_commit())
        assert sorted(set(found) - known) == []
        for name, text in found.items():
            there = ROOT / name
            same = there if there.exists() else ROOT / name.name
            assert text == same.read_bytes(), f"{path.name}: {name}"


def test_source_archives_hold_what_users_ask_for():
    (path,) = Path(FOLDER or ".").glob("rankwise-*.tar.gz")
    wanted = {"LICENSE", "README.md", "CHANGELOG.md", "SECURITY.md", "CITATION.cff"}
    assert wanted <= {str(name) for name in contents(path)}


def test_archives_hold_the_whole_package():
    for path in archives():
        name = path.name.partition("-")[0]
        package = (PROJECTS[name] / "src").relative_to(ROOT)
        wanted = {of for of in tracked() if package in of.parents}
        assert wanted
        assert sorted(wanted - set(contents(path))) == []


def test_wheels_hold_what_other_programs_look_for():
    (path,) = Path(FOLDER or ".").glob("rankwise-*.whl")
    with zipfile.ZipFile(path) as wheel:
        assert "rankwise/.agents/skills/rankwise/SKILL.md" in wheel.namelist()
        (entry_points,) = (of for of in wheel.namelist() if of.endswith("/entry_points.txt"))
        assert "[mlflow.model_evaluator]" in wheel.read(entry_points).decode()
