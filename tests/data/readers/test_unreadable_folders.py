"""A folder without the permission to read it is not one without files."""

import errno
import os

import pytest

from fairseq_struct.data.readers.dependency_treebank import read_treebank
from fairseq_struct.data.readers.penn_treebank import mrg_trees
from fairseq_struct.data.readers.scored_pairs import read_year
from fairseq_struct.data.readers.syntactic_evaluation import read_test_sets
from fairseq_struct.data.readers.treebank_files import treebank_file
from fairseq_struct.errors import InputError
from fairseq_struct.records.curves import logs_of

READERS = {
    "dependency treebank": read_treebank,
    "Penn Treebank": lambda folder: list(mrg_trees(folder)),
    "scored pairs": read_year,
    "syntactic evaluation": read_test_sets,
    "treebank of three files": lambda folder: treebank_file(folder, "train"),
    "training logs": lambda folder: logs_of([folder]),
}


@pytest.mark.parametrize("name", READERS)
def test_a_folder_that_cannot_be_read_is_named(name, tmp_path, monkeypatch):
    def refuse(path, *_):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))

    with pytest.raises(InputError) as empty:
        READERS[name](tmp_path)
    assert "no " in str(empty.value) and "cannot be read" not in str(empty.value)
    monkeypatch.setattr("os.scandir", refuse)
    with pytest.raises(InputError) as unreadable:
        READERS[name](tmp_path)
    assert str(unreadable.value) == f"{tmp_path}: cannot be read (Permission denied)"
