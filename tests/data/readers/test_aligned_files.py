"""Aligned files, read line by line."""

import gzip
import lzma
import os

import pytest

from fairseq_struct.data.readers.aligned_files import AlignedFiles
from fairseq_struct.errors import InputError
from fairseq_struct.files.text_files import read_lines
from fairseq_struct.files.text_lines import lines_of


@pytest.fixture
def write(tmp_path):
    """Return a function that writes bytes into a new file and returns its path."""

    def write_file(name, content):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write_file


def test_lines_end_at_newlines_only(write):
    path = write("a", "\ufeffone\r\ntwo\u2028still\x0btwo\rhere\n\nfour")
    expected = ["one", "two\u2028still\x0btwo\rhere", "", "four"]
    assert read_lines(path) == list(lines_of(path)) == expected


def test_reads_aligned_pairs(write):
    pairs = AlignedFiles(write("s", "a b\nc\n"), write("t", "x\ny z\n"))
    assert len(pairs) == 2
    assert list(pairs) == list(pairs) == [("a b", "x"), ("c", "y z")]


@pytest.mark.parametrize(("ending", "pack"), [("gz", gzip.compress), ("xz", lzma.compress)])
def test_compressed_files(ending, pack, write, tmp_path):
    write(f"s.{ending}", pack(b"a b\r\nc"))
    pairs = AlignedFiles(tmp_path / "s", write("t", "x\ny\n"))
    assert list(pairs) == [("a b", "x"), ("c", "y")]
    torn = write(f"torn.{ending}", pack(b"a\n" * 5000)[:-9])
    with pytest.raises(InputError, match=rf"torn\.{ending}: "):
        AlignedFiles(torn, torn)
    with pytest.raises(InputError, match=rf"other\.{ending}: "):
        AlignedFiles(write(f"other.{ending}", b"x\ny\n"), torn)


def test_damaged_gzip_file(write):
    packed = bytearray(gzip.compress(b"a\n" * 5000))
    packed[10] |= 6  # a kind of block that does not exist
    with pytest.raises(InputError, match=r"t\.gz: cannot be decompressed"):
        list(lines_of(write("t.gz", bytes(packed))))


def test_unaligned_files_name_both_counts(write):
    source, target = write("s", "a\nb\n"), write("t", "x\ny\nz\n")
    with pytest.raises(InputError) as caught:
        AlignedFiles(source, target)
    assert str(caught.value) == f"not aligned: {source} has 2 lines, {target} has 3"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "t: empty file"),
        (b"fine\nM\xfcller\n", "t:2: not UTF-8 text (byte 0xfc)"),
    ],
)
def test_bad_file_is_located(write, content, message):
    with pytest.raises(InputError) as caught:
        AlignedFiles(write("s", "a\nb\n"), write("t", content))
    assert message in str(caught.value)


def test_missing_file_and_folder(write, tmp_path):
    with pytest.raises(InputError, match="absent: no such file"):
        AlignedFiles(write("s", "a\n"), tmp_path / "absent")
    with pytest.raises(InputError, match="cannot be read"):
        read_lines(tmp_path)


@pytest.mark.parametrize("blank", ["", "  \t", "\u200b\u00a0"])
def test_blank_line_is_for_training_text_only(write, blank):
    source, target = write("s", f"a\n{blank}\n"), write("t", "x\ny\n")
    assert len(AlignedFiles(source, target)) == 2
    with pytest.raises(InputError, match=r"s:2: blank line"):
        AlignedFiles(source, target, allow_empty=False)


@pytest.mark.parametrize("content", ["a\n", "a\nb\nc\n", "", "a\nb\n\n"])
@pytest.mark.parametrize("both", [False, True])
def test_files_that_change_after_the_check(content, both, write):
    pairs = AlignedFiles(write("s", "a\nb\n"), write("t", "x\ny\n"))
    for name in ("s", "t")[: 1 + both]:
        write(name, content)
    with pytest.raises(InputError, match=r"s or .*t was changed while it was read: it had 2 lines"):
        list(pairs)


def test_a_pipe_is_refused_before_it_is_read(write, tmp_path):
    os.mkfifo(tmp_path / "s")
    with pytest.raises(InputError, match="s: is a pipe or a device"):
        AlignedFiles(tmp_path / "s", write("t", "x\n"))
