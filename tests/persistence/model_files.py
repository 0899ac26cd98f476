"""Model files taken apart and put together otherwise."""

from __future__ import annotations

import json
import zipfile

from rankwise.persistence import HEADER


def rewrite(source, target, **replaced):
    """Copy of an archive with ``schema`` or ``header`` replaced by other JSON."""
    names = {"schema": "schema.json", "header": HEADER}
    texts = {names[key]: json.dumps(value) for key, value in replaced.items()}
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w") as new:
        for name in old.namelist():
            new.writestr(name, texts.get(name, old.read(name)))
    return target


def schema_of(path):
    with zipfile.ZipFile(path) as archive:
        return json.loads(archive.read("schema.json"))
