"""What a training was begun with: what counts as the same, and what is refused."""

import pytest

from fairseq_struct.cli.training.kept_settings import FILE, keep, refuse_others
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


@pytest.mark.parametrize("content", [None, "", "[1]", "{"])
def test_folders_without_settings_go_on(tmp_path, content):
    if content is not None:
        (tmp_path / FILE).write_text(content)
    refuse_others(tmp_path, {"--layers": "3"})
