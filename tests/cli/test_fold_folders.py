"""Folders of folds are taken in the order of their numbers."""

from __future__ import annotations

from rankwise.datasets.judged_source import fold_folders


def test_fold_10_follows_fold_9(tmp_path):
    for number in (10, 9, 2, 1):
        (tmp_path / f"Fold{number}").mkdir()
    (tmp_path / "notes").mkdir()
    (tmp_path / "Fold3").write_text("a file is no fold")
    assert [path.name for path in fold_folders(tmp_path)] == ["Fold1", "Fold2", "Fold9", "Fold10"]
