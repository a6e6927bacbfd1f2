"""Preparations that are killed leave what was there, or nothing."""

import multiprocessing
import os
import signal

import pytest
from preparers import prepare

from fairseq_struct.data.prepared import atomic_folder
from fairseq_struct.data.prepared.prepared_folder import write_prepared_folder


def killed(work):
    process = multiprocessing.get_context("fork").Process(target=work)
    process.start()
    process.join()
    assert process.exitcode == -signal.SIGKILL


def die(*_, **__):
    os.kill(os.getpid(), signal.SIGKILL)


def test_what_a_killed_process_left_is_cleared(tmp_path):
    def fill_and_die(folder):
        (folder / "half").write_text("of it")
        die()

    out = tmp_path / "new" / "out"
    killed(lambda: write_prepared_folder(out, {}, fill_and_die))
    assert sorted(os.listdir(out.parent)) == [".out.lock", ".out.partial"]
    prepare(out)
    assert os.listdir(out.parent) == ["out"] and sorted(os.listdir(out)) == [
        "deep", "manifest.json"
    ]  # fmt: skip


@pytest.mark.parametrize("moment", ["one is away", "the other is there", "one is half gone"])
def test_a_kill_while_one_takes_the_other_s_place(tmp_path, moment):
    out = tmp_path / "out"
    prepare(out, 1)

    def replace_and_die():
        real = os.replace

        def one(*paths):
            real(*paths)
            os.replace = die if moment == "one is away" else two

        def two(*paths):
            real(*paths)
            die()

        def remove(folder, own):
            (folder / "deep" / "file").unlink()
            die()

        if moment == "one is half gone":
            atomic_folder.remove_files = remove
        else:
            os.replace = one
        prepare(out, 2, overwrite=True)

    killed(replace_and_die)
    number = 1 if moment == "one is away" else 2
    prepare(out, number + 1, overwrite=True)
    prepare(out, number + 1)
    assert (out / "deep" / "file").read_text() == str(number + 1)
    assert os.listdir(tmp_path) == ["out"]
