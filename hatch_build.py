"""Build hook: wheels and source archives store the commit that they were built from."""

from __future__ import annotations

import importlib.util
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class CommitHook(BuildHookInterface):
    """Adds a file with the commit, which ``rankwise._version`` reads where git is absent."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Write the commit to a temporary file, and have it included."""
        package = Path(self.root) / "src" / "rankwise"
        spec = importlib.util.spec_from_file_location("_version", package / "_version.py")
        assert spec is not None and spec.loader is not None
        found: Any = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(found)
        commit = found.find_commit()
        # A wheel from a source archive takes the file that is there.
        if commit and not (package / found.COMMIT_FILE).exists() and version != "editable":
            self._folder = tempfile.TemporaryDirectory()
            file = Path(self._folder.name) / found.COMMIT_FILE
            file.write_text(f"{commit}\n", encoding="ascii")
            inside = "rankwise" if self.target_name == "wheel" else "src/rankwise"
            build_data["force_include"][str(file)] = f"{inside}/{found.COMMIT_FILE}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove the temporary file."""
        if hasattr(self, "_folder"):
            self._folder.cleanup()
