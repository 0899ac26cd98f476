"""Version of rankwise, defined only here.

Between releases the version ends in ``.dev0`` and the commit, as in ``0.4.0.dev0+g1a2b3c4d5``: of
the checkout, or of the archive that the package was installed from, which ``hatch_build.py`` wrote.
"""

from __future__ import annotations

from pathlib import Path

# Without the commit: what caches and stores compare, so that a new commit does not empty them.
RELEASE = "0.4.0.dev0"
COMMIT_FILE = "_commit.txt"
_DIGITS = 9


def find_commit() -> str:
    """First digits of the commit of this code; empty if neither an archive nor git knows it."""
    package = Path(__file__).resolve().parent
    try:
        stored = package / COMMIT_FILE
        if stored.is_file():
            return stored.read_text("ascii").strip()
        git = package.parents[1] / ".git"
        if git.is_file():  # a worktree
            git = git.parent / git.read_text("utf-8").removeprefix("gitdir:").strip()
        head = (git / "HEAD").read_text("ascii").strip()
        if head.startswith("ref: "):
            head = _read_reference(git, head.removeprefix("ref: "))
        return head[:_DIGITS]
    except (OSError, ValueError, IndexError):
        return ""


def _read_reference(git: Path, name: str) -> str:
    """The commit of a branch; worktrees share the branches of their repository."""
    common = git / "commondir"
    shared = git / common.read_text("utf-8").strip() if common.is_file() else git
    for folder in (git, shared):
        if (folder / name).is_file():
            return (folder / name).read_text("ascii").strip()
    packed = (shared / "packed-refs").read_text("utf-8").splitlines()
    return next((line.split()[0] for line in packed if line.endswith(f" {name}")), "")


def _version() -> str:
    commit = find_commit() if ".dev" in RELEASE else ""
    return f"{RELEASE}+g{commit}" if commit else RELEASE


__version__ = _version()
