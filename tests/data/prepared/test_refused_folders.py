"""Folders that preparations refuse before any work; their files stay."""

import json

import pytest

from fairseq_struct.cli.main import main
from fairseq_struct.cli.prepare import PREPARERS, synthetic_translation
from fairseq_struct.data.prepared.prepared_folder import write_prepared_folder
from fairseq_struct.errors import InputError


def prepare(out, number=1, **options):
    """The smallest preparation: one file, which holds the only option."""

    def fill(folder):
        (folder / "deep").mkdir()
        (folder / "deep" / "file").write_text(str(number))
        return {"count": 1}

    return write_prepared_folder(out, {"options": {"number": number}}, fill, **options)


def test_a_folder_that_was_moved_to_another_disk_stays(tmp_path):
    out, disk = tmp_path / "out", tmp_path / "disk"
    prepare(out)
    (out / "deep").rename(disk)
    (out / "deep").symlink_to(disk)
    assert prepare(out)["count"] == 1  # nothing to do
    with pytest.raises(InputError, match="out: holds deep, which would be lost"):
        prepare(out, 2, overwrite=True)
    assert (disk / "file").read_text() == "1"


@pytest.mark.parametrize("name", ["../mine", "deep/../../mine", "{}/mine", "", "a\0b"])
def test_a_manifest_has_no_say_over_other_folders(tmp_path, name):
    out, mine = tmp_path / "out", tmp_path / "mine"
    mine.write_text("weeks of work")
    manifest = prepare(out)
    manifest["files"][name.format(tmp_path)] = 13
    (out / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(InputError, match="is not a prepared folder"):
        prepare(out, 2, overwrite=True)
    assert mine.read_text() == "weeks of work"


@pytest.mark.parametrize("content", ["[" * 100_000, '{"files": ["deep/file"]}', '{"corpus": "x"}'])
def test_other_manifests_are_told_with_what_to_do(tmp_path, content):
    prepare(tmp_path / "out")
    (tmp_path / "out" / "manifest.json").write_text(content)
    with pytest.raises(InputError, match="earlier versions listed no files: delete or rename"):
        prepare(tmp_path / "out", overwrite=True)


def test_what_stands_where_the_old_folder_is_to_step_aside(tmp_path):
    prepare(tmp_path / "out", 1)
    (tmp_path / ".out.old").mkdir()
    (tmp_path / ".out.old" / "mine").write_text("weeks of work")

    def fill(folder):
        pytest.fail("no work before that is told")

    with pytest.raises(InputError, match=r"\.out\.old: is in the way"):
        write_prepared_folder(tmp_path / "out", {}, fill, overwrite=True)
    assert (tmp_path / ".out.old" / "mine").read_text() == "weeks of work"
    assert prepare(tmp_path / "out", 1)["count"] == 1


ARGUMENTS = {
    "craft_demonstrations": ["AC"],
    "dependency_treebank": ["conllu", "x", "x", "x"],
    "image_classification": ["generate"],
    "labelled_text": ["sst", "x"],
    "listops": ["generate"],
    "parallel": ["multi30k", "x"],
    "penn_treebank": ["lm", "x"],
    "plain_text": ["x", "x", "x"],
    "propositional_logic": ["x"],
    "sentence_similarity": ["x", "x"],
    "sequence_completion": [],
    "synthetic_translation": [],
    "transformation_lists": ["generated"],
}


@pytest.mark.parametrize("name", PREPARERS)
def test_a_folder_is_refused_before_inputs_are_looked_at(tmp_path, capsys, monkeypatch, name):
    monkeypatch.setattr(synthetic_translation, "generate_corpus", lambda *_: pytest.fail("drawn"))
    (tmp_path / "thesis.tex").write_text("all of it")
    assert main(["prepare", name, *ARGUMENTS[name], str(tmp_path)]) == 2
    output = capsys.readouterr()
    assert output.err.startswith(f"error: {tmp_path}: exists, but is not a prepared folder")
    assert not output.out
