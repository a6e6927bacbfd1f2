"""Each preparation ends with a line that trains on its folder."""

import re
import shlex

import pytest

from fairseq_struct import presets
from fairseq_struct.cli.main import main
from fairseq_struct.cli.training.train import divide


@pytest.mark.parametrize(
    "words",
    [
        "dependency_treebank generated OUT --sentences 20 5 5",
        "dependency_treebank conllu UD UD UD OUT",
        "dependency_treebank conllu UD UD UD OUT --as-is",
        "image_classification generate OUT --images 20 10",
        "sequence_completion OUT --share 0.05",
        "labelled_text plain OUT --train-file ONE --valid-file ONE --test-file ONE",
        "labelled_text plain OUT --train-file TWO --valid-file TWO --test-file TWO",
        "penn_treebank lm PTB OUT",
        "craft_demonstrations AC OUT --number 5",
        "listops generate OUT --instances 40 --most-tokens 9 --depth 3",
        "transformation_lists generated OUT --sentences 40",
    ],
)
def test_the_line_names_a_preset_for_this_folder(words, tmp_path, capsys):
    files = {
        "UD": "1\tcats\t_\tNOUN\t_\t_\t2\tnsubj\t_\t_\n"
        "2\tsleep\t_\tVERB\t_\t_\t0\troot\t_\t_\n\n" * 5,
        "ONE": "a fine day\tgood\na cold day\tbad\n",
        "TWO": "a fine day\ta day\tyes\na cold day\ta fine day\tno\n",
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "PTB").mkdir()
    for split in ("train", "valid", "test"):
        (tmp_path / "PTB" / f"{split}.txt").write_text("the cat sleeps\n" * 3)
    out = tmp_path / "a folder"
    places = {"OUT": str(out)} | {name: str(tmp_path / name) for name in [*files, "PTB"]}
    assert main(["prepare", *(places.get(word, word) for word in words.split())]) == 0
    (line,) = re.findall("^train:    (fairseq-struct train .*)$", capsys.readouterr().out, re.M)
    program, verb, *own = shlex.split(line, comments=True)
    own, _ = divide(own)
    assert (program, verb) == ("fairseq-struct", "train") and own[:2] == [str(out), "--preset"]
    assert presets.data_folder(presets.preset(own[2]), out).path.is_dir()


def test_a_folder_that_fairseq_would_read_as_several_is_not_made(tmp_path, capsys):
    assert main(["prepare", "sequence_completion", str(tmp_path / "a:b")]) == 2
    told = f"error: {tmp_path}/a:b: colons join folders to train on; name one without a colon\n"
    assert capsys.readouterr() == ("", told) and not list(tmp_path.iterdir())
