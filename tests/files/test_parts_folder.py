"""A folder that is filled part by part."""

import json
import os
import signal
from contextlib import closing

import pytest

from fairseq_struct.errors import InputError
from fairseq_struct.files.parts_folder import JOURNAL, MANIFEST, PartsFolder

MADE_BY = {"verb": "count", "--beam": 4}
PARTS = {"a": b"one\n", "b": b"", "c": b"three\n"}


def fill(path, parts=PARTS, made_by=MADE_BY):
    """Write the parts that are not finished; the names of those that were written."""
    made = []
    with closing(PartsFolder(path, made_by)) as place:
        for name, content in parts.items():
            if place.finished(name) is None:
                with place.writing(name) as (file, record):
                    file.write(content)
                    record["input"] = len(content)
                made.append(name)
        place.end(parts)
    return made


def record_of(path, name):
    with closing(PartsFolder(path, MADE_BY)) as place:
        return place.finished(name)


def content_of(path):
    return {entry.name: entry.read_bytes() for entry in path.iterdir()}


def test_finished_parts_are_kept(tmp_path):
    out = tmp_path / "out"
    assert fill(out) == list(PARTS)
    whole = content_of(out)
    assert {name: whole[name] for name in PARTS} == PARTS
    assert set(whole) == {*PARTS, MANIFEST, JOURNAL}
    assert fill(out) == [] and content_of(out) == whole
    (out / "a").unlink()
    (out / "c").write_bytes(b"torn")
    assert fill(out) == ["a", "c"] and content_of(out) == whole
    assert record_of(out, "c")["input"] == 6


def killed(path, moment):
    """Fill a folder in a process that is killed at a moment of writing; whether it was."""

    def count(real):
        def call(*given):
            nonlocal moment
            moment -= 1
            if moment == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            return real(*given)

        return call

    child = os.fork()
    if not child:
        os.replace, os.fsync, os.mkdir = map(count, (os.replace, os.fsync, os.mkdir))
        try:
            fill(path)
        finally:  # not even an error may go on with the tests
            os._exit(0)
    return os.WIFSIGNALED(os.waitpid(child, 0)[1])


def test_killed_at_any_moment_it_goes_on(tmp_path):
    fill(tmp_path / "whole")
    whole, moment, made = content_of(tmp_path / "whole"), 1, []
    while killed(out := tmp_path / f"out{moment}", moment):
        seen = content_of(out) if out.exists() else {}
        for name in PARTS.keys() & seen.keys():
            assert seen[name] == PARTS[name]
        made.append(fill(out))
        assert content_of(out) == whole
        moment += 1
    assert content_of(out) == whole and moment > 15
    assert made[0] == list(PARTS) and made[-1] == []
    assert all(before == after or before[1:] == after
               for before, after in zip(made, made[1:], strict=False))  # fmt: skip


def test_a_torn_line_of_the_journal_is_no_record(tmp_path):
    out = tmp_path / "out"
    fill(out)
    whole = content_of(out)
    (out / JOURNAL).write_bytes(whole[JOURNAL][:-9])
    assert fill(out) == ["c"] and content_of(out) == whole
    (out / JOURNAL).write_bytes(b"[]\n{}\n{" + whole[JOURNAL])
    assert fill(out)[:1] == ["a"] and content_of(out) == whole


def test_a_record_refers_to_no_other_folder(tmp_path):
    out = tmp_path / "out"
    fill(out)
    (tmp_path / "x").write_text("")
    record = json.dumps({"part": "../x", "bytes": 0})
    (out / JOURNAL).write_text(f"{record}\n")
    assert record_of(out, "../x") is None


def test_what_was_made_in_another_way_is_refused(tmp_path):
    out = tmp_path / "out"
    fill(out)
    before = content_of(out)
    for made_by, message in (
        ({**MADE_BY, "--beam": 5}, r"out: its parts were made with another --beam \(4, now 5\)"),
        ({**MADE_BY, "model": "f" * 64}, "with another model; name another folder"),
        ({"verb": "count"}, "with another --beam"),
    ):
        with pytest.raises(InputError, match=message):
            fill(out, made_by=made_by)
    with pytest.raises(InputError, match="c: was made of text that the input has no more"):
        fill(out, {"a": PARTS["a"], "b": PARTS["b"]})
    assert content_of(out) == before
    (out / MANIFEST).write_text("{")
    with pytest.raises(InputError, match="is damaged"):
        fill(out)


def test_a_folder_of_other_files_is_refused(tmp_path):
    (tmp_path / "mine").write_text("")
    with pytest.raises(InputError, match="holds mine, and no parts"):
        fill(tmp_path)
    (tmp_path / "mine").unlink()
    assert fill(tmp_path) == list(PARTS)


def test_nothing_is_written_before_the_first_part(tmp_path):
    with closing(PartsFolder(tmp_path / "out", MADE_BY)) as place:
        assert place.finished("a") is None and not (tmp_path / "out").exists()
        with pytest.raises(ValueError, match="stopped"), place.writing("a"):
            raise ValueError("stopped")
    assert set(content_of(tmp_path / "out")) == {MANIFEST, JOURNAL}


def test_one_process_at_a_time(tmp_path):
    fill(tmp_path / "out")
    first = PartsFolder(tmp_path / "out", MADE_BY)
    said = []

    def say(text):  # waiting has begun only after it was said
        said.append(text)
        first.close()

    PartsFolder(tmp_path / "out", MADE_BY, say).close()
    assert said == [f"waiting for another process that writes {tmp_path / 'out'}"]
