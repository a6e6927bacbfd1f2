"""Lines of files, of compressed ones, and of standard input."""

import gzip
import io
import os
import re
import shlex
import sys
import tempfile
from types import SimpleNamespace

import pytest
from preparers import check_fails, contents

from fairseq_struct.data.prepared.language_folder import write_language_folder
from fairseq_struct.data.readers.aligned_files import TabbedPairs
from fairseq_struct.errors import DependencyError, InputError
from fairseq_struct.files import compressed_files
from fairseq_struct.files.text_files import read_text
from fairseq_struct.files.text_lines import TextLines, lines_of

SPLITS = ("train", "valid", "test")
TEXT = "".join(f"line {n} of the text\n" for n in range(30_000)).encode()


@pytest.fixture
def standard_input(monkeypatch):
    """Return a function that makes bytes standard input."""

    def become(content):
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(content)))

    return become


def test_zst_files(tmp_path, monkeypatch):
    zstandard = pytest.importorskip("zstandard")
    pack, path = zstandard.ZstdCompressor().compress, tmp_path / "text.zst"
    path.write_bytes(pack(TEXT))
    assert list(TextLines(tmp_path / "text")) == TEXT.decode().splitlines()
    monkeypatch.setattr(compressed_files, "_BLOCK", 1000)
    path.write_bytes(pack(TEXT) + pack(b"") + pack(b"one more"))  # as zstd reads parts in a row
    assert list(lines_of(path)) == [*TEXT.decode().splitlines(), "one more"]
    path.write_bytes(b"")
    assert list(lines_of(path)) == []


@pytest.mark.parametrize("spoil", [lambda x: x[:-5], lambda x: x[: len(x) // 2],
                                   lambda x: b"text" + x, lambda x: x[:200] + x[210:]])  # fmt: skip
def test_damaged_zst_files(spoil, tmp_path):
    zstandard = pytest.importorskip("zstandard")
    path = tmp_path / "text.zst"
    path.write_bytes(spoil(zstandard.ZstdCompressor(write_checksum=True).compress(TEXT)))
    with pytest.raises(InputError, match=r"text\.zst: cannot be decompressed \("):
        list(lines_of(path))


@pytest.mark.parametrize("read", [read_text, lambda path: list(lines_of(path))])
def test_text_of_another_encoding(read, tmp_path):
    path = tmp_path / "text"
    path.write_text("a line\n", encoding="utf-16")
    with pytest.raises(InputError, match="text:1: not UTF-8 .* looks like UTF-16, which `iconv"):
        read(path)
    path.write_bytes(b"a line\n\xff\xfe")
    with pytest.raises(InputError, match=r"text:2: not UTF-8 text \(byte 0xff\)$"):
        read(path)


def test_without_zstandard(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "zstandard", None)
    (tmp_path / "text.zst").write_bytes(b"")
    with pytest.raises(DependencyError, match=r"text\.zst: .*: pip install zstandard"):
        list(TextLines(tmp_path / "text"))


def test_what_is_no_file(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for name, message in (
        ("none", "none: no such file"), (".", "is a folder"), ("pipe", "is a pipe or a device")
    ):  # fmt: skip
        with pytest.raises(InputError, match=message):
            TextLines(tmp_path / name)


def test_standard_input_is_read_once_and_given_again(standard_input):
    standard_input("\ufeffone\r\n\ntwo".encode())
    lines = TextLines("-")
    assert list(lines) == list(lines) == ["one", "", "two"]
    standard_input(b"one\n\xff\n")
    with pytest.raises(InputError, match="standard input:2: not UTF-8"):
        list(TextLines("-"))


def test_standard_input_that_cannot_be_kept(standard_input, tmp_path, monkeypatch):
    standard_input(b"one\n")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "none"))
    with pytest.raises(InputError, match=r"kept in .*none \(No such file.*\); TMPDIR chooses"):
        list(TextLines("-"))


@pytest.mark.parametrize("given", [["-", "{}.gz"], ["{}", "-"], ["{}.gz", "{}"]], ids="/".join)
def test_plain_text_of_all_kinds(given, tmp_path, run, standard_input):
    """The folder is the same for every way of giving the text."""
    content = b"a  b\tc\n\n b \n" * 3
    for split in SPLITS:
        (tmp_path / split).write_bytes(content)
        (tmp_path / f"{split}.gz").write_bytes(gzip.compress(content))
    write_language_folder({split: tmp_path / split for split in SPLITS}, tmp_path / "expected")
    standard_input(content)
    train, test = given
    words = [train.format(tmp_path / "train"), tmp_path / "valid", test.format(tmp_path / "test")]
    status, said, _ = run("plain_text", [*words, tmp_path / "out", "--workers", "2"])
    assert status == 0 and "train: 6 sentences, 12 words\n" in said
    assert contents(tmp_path / "out") == contents(tmp_path / "expected")


def test_two_splits_of_standard_input(tmp_path, run):
    result = run("plain_text", ["-", "-", tmp_path / "test", tmp_path / "out"])
    check_fails(result, "only one split can be standard input")
    options = [*parallel(tmp_path, train="-", test="-"), tmp_path / "out"]
    check_fails(run("parallel", options), "only one split can be standard input")


@pytest.mark.parametrize("split", ["train", "valid"])
def test_pairs_of_standard_input(split, tmp_path, run, standard_input):
    """The folder is the same as from two files."""
    source, target = ["a b", "c ", "", "a"], ["x", "y\u2028z", "x", "y"]
    if split != "train":
        source[2] = "c"
    for name in SPLITS:
        (tmp_path / f"{name}.de").write_text("a\nb\n")
        (tmp_path / f"{name}.en").write_text("x\ny\n")
    lines = [f"{pair[0]}\t{pair[1]}\n" for pair in zip(source, target, strict=True)]
    standard_input("".join(lines).encode())
    options = parallel(tmp_path, **{split: "-"})
    assert run("parallel", [*options, tmp_path / "out"])[0] == 0
    for name, side in (("de", source), ("en", target)):
        (tmp_path / f"{split}.{name}").write_text("".join(f"{line}\n" for line in side))
    assert run("parallel", [*parallel(tmp_path), tmp_path / "expected"])[0] == 0
    assert contents(tmp_path / "out") == contents(tmp_path / "expected")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"", "standard input: is empty; expected a pair of sentences per line"),
        (b"a\tx\nb\n", "standard input:2: expected a sentence, a tab and its translation"),
        (b"a\tx\ty\n", "standard input:1: expected a sentence, a tab and its translation"),
        (b"a\tx\n \ty\n", "standard input:2: blank line; validation and test text must be"),
    ],
)
def test_bad_pairs_of_standard_input(text, message, tmp_path, run, standard_input):
    for name in ("train.de", "train.en", "test.de", "test.en"):
        (tmp_path / name).write_text("a\n")
    standard_input(text)
    check_fails(run("parallel", [*parallel(tmp_path, valid="-"), tmp_path / "out"]), message)
    assert not (tmp_path / "out").exists()


def test_pairs_that_change_after_the_check(tmp_path):
    path = tmp_path / "pairs"
    path.write_text("a\tx\nb\ty\n")
    pairs = TabbedPairs(TextLines(path))
    assert len(pairs) == 2 and list(pairs) == list(pairs) == [("a", "x"), ("b", "y")]
    told = f"{re.escape(str(path))} was changed while it was read"
    for changed in ("a\tx\n", "a\tx\nb\n", "a\tx\nb\ty\nc\tz\n"):
        path.write_text(changed)
        with pytest.raises(InputError, match=told):
            list(pairs)


def parallel(folder, **prefixes):
    """Options of ``prepare parallel plain`` with the files of a folder, or other prefixes."""
    named = {split: prefixes.get(split, folder / split) for split in SPLITS}
    return [
        "plain", "--source-lang=de", "--target-lang=en", "--segment=none",
        *(f"--{split}-pref={prefix}" for split, prefix in named.items()),
    ]  # fmt: skip


def test_plain_text_in_shards_tells_how_to_train(tmp_path, run):
    for split in SPLITS:
        (tmp_path / split).write_text("a b\nc\n")
    files = [tmp_path / split for split in SPLITS]
    status, said, _ = run("plain_text", [*files, tmp_path / "out", "--shards", "2"])
    out = shlex.quote(f"{tmp_path}/out")
    assert status == 0 and f"train:    fairseq-struct train {out} --preset " in said
