"""What a training was begun with: what counts as the same, and what is refused."""

import json

import pytest

from fairseq_struct.cli.training.kept_settings import (
    FILE,
    RATE,
    TEXT,
    keep,
    keep_rate,
    refuse_others,
    settings_of,
    text_of_data,
)
from fairseq_struct.errors import InputError


@pytest.fixture
def begun(tmp_path):
    """A folder of a training on two parts, of which the second was moved since."""
    (tmp_path / "one").mkdir()
    keep(tmp_path, {"the data": f"{tmp_path}/one:{tmp_path}/gone", "--layers": "2", "--deep": ""})
    return tmp_path


def test_the_same_settings_and_moved_data_go_on(begun):
    for data in (f"{begun}/one:{begun}/gone", f"{begun}/one:/elsewhere"):
        refuse_others(begun, {"the data": data, "--layers": "2", "--deep": "", "--new": "1"})


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"the data": "/other:/elsewhere"}, r"/gone \(now /other:/elsewhere\): name another"),
        ({"the data": "/one"}, r"\(now /one\)"),
        ({"--layers": "3"}, r"holds a training with --layers 2 \(now 3\): name another --save-dir"),
        ({"--deep": "True"}, r"--deep not given \(now True\)"),
        ({"--layers": ""}, r"--layers 2 \(now not given\)"),
        ({"the data": "x", "--layers": "", "--deep": "1"}, "--layers .*, --deep "),
    ],
)
def test_other_settings_are_refused(begun, changed, message):
    settings = {"the data": f"{begun}/one:{begun}/gone", "--layers": "2", "--deep": ""}
    with pytest.raises(InputError, match=message):
        refuse_others(begun, settings | changed)


def test_no_more_than_three_settings_are_named(tmp_path):
    keep(tmp_path, {f"--{name}": "1" for name in "abcde"})
    with pytest.raises(InputError, match=r"--a 1 .*, --b 1 .*, --c 1 \(now 2\), 2 more: name"):
        refuse_others(tmp_path, {f"--{name}": "2" for name in "abcde"})


def test_data_that_were_prepared_anew_from_other_text(tmp_path):
    data = [tmp_path / "a" / "data-bin", tmp_path / "b" / "data-bin", tmp_path / "c"]
    for folder, valid, test in zip(data, "112", "123", strict=True):
        folder.mkdir(parents=True)
        sums = {"train": "0", "valid": valid, "test": test}
        place = folder if folder.name == "c" else folder.parent
        (place / "manifest.json").write_text(json.dumps({"text_sha256": sums, "files": {}}))
    one, other_test, other_valid = map(text_of_data, map(str, data))
    assert one == other_test == text_of_data(f"{data[0]}:{data[1]}") and one != other_valid
    assert text_of_data(f"{data[0]}:{data[2]}") not in (one, other_valid, "")
    assert text_of_data(str(tmp_path)) == text_of_data("") == ""
    drawn = []
    for number, seed in enumerate((1, 2, 1)):  # the parts of one text are drawn
        (tmp_path / str(number)).mkdir()
        content = {"text_sha256": {"trees": "0"}, "options": {"seed": seed}, "files": {}}
        (tmp_path / str(number) / "manifest.json").write_text(json.dumps(content))
        drawn.append(text_of_data(str(tmp_path / str(number))))
    assert drawn[0] == drawn[2] != drawn[1]
    keep(tmp_path, {"the data": "/gone", TEXT: one})
    for text in (one, ""):
        refuse_others(tmp_path, {"the data": "/gone", TEXT: text})
    with pytest.raises(InputError, match=r"a training with other text in its data \(which were"):
        refuse_others(tmp_path, {"the data": "/gone", TEXT: other_valid})


def test_a_rate_that_is_not_used_is_told_once_for_all(tmp_path):
    keep(tmp_path, {RATE: "0.1"})
    settings = {RATE: "0.2"}
    for options in (["--optimizer-overrides={}"], ["--reset-optimizer"]):
        assert keep_rate(tmp_path, settings, options) == [] and settings == {RATE: "0.2"}
    (told,) = keep_rate(tmp_path, settings, ["--lr=0.2"])
    assert told.startswith("--lr 0.2 is not used") and settings == {RATE: "0.1"}
    assert keep_rate(tmp_path, {RATE: "0.1"}, []) == keep_rate(tmp_path, {}, []) == []
    refuse_others(tmp_path, {RATE: "0.3"})


def test_a_file_that_is_called_like_a_value_is_no_path(tmp_path, monkeypatch):
    from fairseq.options import get_training_parser, parse_args_and_arch

    from fairseq_struct.plugin import load

    load()
    monkeypatch.chdir(tmp_path)
    for name in ("en", "de", "data"):
        (tmp_path / name).mkdir()
    given = ["data:./de", "--task=translation", "--arch=transformer", "--source-lang=en"]
    args = parse_args_and_arch(get_training_parser("translation"), [*given, "--target-lang=./de"])
    settings = settings_of(args)
    assert settings["the data"] == f"{tmp_path}/data:{tmp_path}/de"
    assert settings["--source-lang"] == "en" and settings["--target-lang"] == f"{tmp_path}/de"


def test_a_name_may_be_that_of_a_path(tmp_path):
    (tmp_path / "en").mkdir()
    keep(tmp_path, {"--source-lang": f"{tmp_path}/en", "--embed-path": "vectors"})
    given = {"--source-lang": "en", "--embed-path": "/elsewhere/vectors"}
    refuse_others(tmp_path, given)
    for changed in ({"--source-lang": "de"}, {"--embed-path": "/elsewhere/others"}):
        with pytest.raises(InputError, match=f"holds a training with {next(iter(changed))}"):
            refuse_others(tmp_path, given | changed)


@pytest.mark.parametrize("content", [None, "", "[1]", "{"])
def test_folders_without_settings_go_on(tmp_path, content):
    if content is not None:
        (tmp_path / FILE).write_text(content)
    refuse_others(tmp_path, {"--layers": "3"})
