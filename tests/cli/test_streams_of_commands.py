"""What a command reads and writes: encodings that lack characters, a full disk, no folder."""

import errno
import io
import sys

import pytest

from fairseq_struct.cli.main import main
from fairseq_struct.cli.shared.output import written
from fairseq_struct.errors import InputError


@pytest.fixture
def streams(monkeypatch):
    """A function that puts streams of an encoding in place of the standard ones."""

    def put(encoding):
        made = [io.TextIOWrapper(io.BytesIO(), encoding=encoding) for _ in range(3)]
        for name, stream in zip(("stdin", "stdout", "stderr"), made, strict=True):
            monkeypatch.setattr(sys, name, stream)
        return made

    return put


def printed(words, streams, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["fairseq-struct", *words])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code in (None, 0)
    return streams[1].buffer.getvalue()


@pytest.mark.parametrize(("encoding", "sign"), [("ascii", "…"), ("utf-8", "…"), ("latin-1", "?")])
def test_help_is_printed_in_every_encoding(encoding, sign, streams, monkeypatch):
    put = streams(encoding)
    said = printed(["prepare", "--help"], put, monkeypatch).decode(put[1].encoding)
    assert f"\n  {sign}           arguments of this kind" in said
    used = "utf-8" if encoding == "ascii" else encoding
    assert [stream.encoding for stream in put] == [used] * 3


def test_a_call_from_python_leaves_the_streams(streams):
    put = streams("ascii")
    assert main([]) == 0 and put[1].encoding == "ascii"


def test_a_character_that_cannot_be_printed_is_named(streams):
    streams("latin-1")
    with pytest.raises(InputError, match="latin-1 has no 'ł'; PYTHONIOENCODING=utf-8 has all"):
        with written(None) as write:
            write("Mädchen")
            write("Złoty")
    assert sys.stdout.buffer.getvalue() == "Mädchen".encode("latin-1")


def test_help_on_a_full_disk_is_an_error(monkeypatch, capsys):
    class Full(io.StringIO):
        def write(self, text):
            raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(sys, "stdout", Full())
    for words in (["--help"], ["--version"], ["parse", "--help"]):
        assert main(words) == 2
        told = capsys.readouterr().err
        assert told == "error: cannot read or write: No space left on device\n"


def test_in_a_folder_that_was_removed_help_is_all_there_is(tmp_path, monkeypatch, capsys):
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    for words in (["doctor"], ["presets"], ["evaluate", "/x", "/y"]):
        assert main(words) == 2
        assert capsys.readouterr().err == "error: the current folder no longer exists\n"
    with pytest.raises(SystemExit):
        main(["doctor", "--help"])
    assert "usage: " in capsys.readouterr().out
