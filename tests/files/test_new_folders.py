"""Folders that were made for nothing are taken away again."""

from fairseq_struct.files.new_folders import missing_folders, remove_empty


def test_only_new_and_empty_folders_are_removed(tmp_path):
    mine, folder = tmp_path / "mine", tmp_path / "mine" / "a" / "b" / "c"
    mine.mkdir()
    new = missing_folders(folder)
    assert new == [folder, folder.parent, folder.parent.parent]
    folder.parent.mkdir(parents=True)  # the innermost could not be made
    remove_empty(new)
    assert list(tmp_path.rglob("*")) == [mine]
    folder.mkdir(parents=True)
    (folder.parent / "file").touch()
    remove_empty(new)
    assert sorted(mine.rglob("*")) == [folder.parent.parent, folder.parent, folder.parent / "file"]


def test_nothing_is_missing(tmp_path):
    assert missing_folders(tmp_path) == []
