"""Verbs that answer lines in several processes: the same bytes, in order, from any input."""

import gzip
import itertools
import lzma
import multiprocessing
import os
import select
import signal
import weakref
from argparse import Namespace
from collections import Counter

import pytest
from stored_models import STORED

from fairseq_struct.cli.main import main
from fairseq_struct.cli.shared import answering, text_input, workers
from fairseq_struct.errors import InputError
from fairseq_struct.inference import reading

WORDS = "one two three four five six seven eight nine".split()
LINES = [" ".join(WORDS[n % 5 : n % 5 + 1 + n % 4]) for n in range(11)]
# Verb: checkpoint, data, and further options.
VERBS = {
    "parse": ("udgn", "language", ["--probabilities"]),
    "classify": ("latent_tree_classifier", "single", []),
    "score": ("on_lstm_lm", "language", []),
    "translate": ("scheduled_sampling_transformer", "translation",
                  ["--segmented", "--max-len-b=9", "--sample", "--n-best=2", "--scores"]),
}  # fmt: skip
SEVERAL = [["--workers=1"], ["--workers=2"], ["--workers=3"], ["--device=cpu,cpu"]]


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch):
    """Four lines at a time, so that a few lines are several chunks."""
    for module in (reading, text_input):
        monkeypatch.setattr(module, "WINDOW", 4)


@pytest.fixture
def call(tmp_path, monkeypatch, capfd):
    """Run a verb; return its status, standard output and standard error."""

    def run(verb, *options, lines=LINES):
        stored, folder, more = VERBS[verb]
        (tmp_path / "lines").write_text("".join(f"{line}\n" for line in lines))
        place = STORED / folder / "data-bin"
        with (tmp_path / "lines").open() as file:
            monkeypatch.setattr("sys.stdin", file)
            status = main([verb, str(STORED / f"{stored}.pt"), f"--data={place}", *more,
                           *map(str, options)])  # fmt: skip
        said = capfd.readouterr()
        errors = said.err.splitlines(keepends=True)  # kernels may be compiled here, which is said
        return status, said.out, "".join(one for one in errors if ": compiling" not in one)

    return run


@pytest.mark.parametrize("verb", VERBS)
def test_the_same_bytes_for_any_number_of_workers(call, verb, tmp_path):
    status, text, summary = call(verb)
    assert status == 0 and len(text.splitlines()) >= 11 and summary.startswith("11 ")
    for options in SEVERAL:
        assert call(verb, *options) == (0, text, summary)
    named = ["--workers=2", f"--input={tmp_path / 'lines'}", f"--output={tmp_path / 'out'}"]
    assert call(verb, *named) == (0, "", summary)
    assert (tmp_path / "out").read_text() == text
    if verb == "parse":
        assert "sent_id = 11\n" in text


def test_trees_of_a_classifier(call, tmp_path):
    text = call("classify", f"--trees={tmp_path / 'trees'}")[1]
    trees = (tmp_path / "trees").read_text()
    assert trees.count("sent_id") == 11 and "sent_id = 11\n" in trees
    again = call("classify", f"--trees={tmp_path / 'again'}", "--workers=2")
    assert again[1] == text and (tmp_path / "again").read_text() == trees


@pytest.mark.parametrize("options", [[], ["--workers=2"]])
def test_a_bad_line_has_its_number_in_the_input(call, options, tmp_path):
    good = call("parse")[1]
    lines = [*LINES[:9], "", *LINES[9:]]
    status, text, error = call("parse", *options, lines=lines)
    assert status == 2 and error == "error: line 10: empty sentence\n"
    assert text and good.startswith(text) and "sent_id = 8\n" in text and "= 9\n" not in text
    path = tmp_path / "out"
    status, text, error = call("parse", *options, f"--input={tmp_path / 'lines'}",
                               f"--output={path}", lines=lines)  # fmt: skip
    assert status == 2 and error == f"error: {tmp_path / 'lines'}: line 10: empty sentence\n"
    assert sorted(os.listdir(tmp_path)) == ["lines"]


def test_no_lines(call):
    assert call("parse", "--workers=2", lines=[]) == call("parse", lines=[]) == (0, "", "")
    none = (0, "", "")
    assert call("classify", "--workers=2", lines=[]) == call("classify", lines=[]) == none
    assert call("classify", lines=LINES[:1])[2] == "1 sentence classified\n"


def test_text_that_is_not_utf_8(call, tmp_path):
    bad = tmp_path / "bad"
    bad.write_bytes(b"one two\n" * 9 + b"\xff\n")
    for options in ([], ["--workers=2"]):
        status, _, error = call("parse", f"--input={bad}", *options)
        told = f"error: {bad}: line 10 of the input is not utf-8 (byte 0xff)"
        assert status == 2 and error.startswith(told)


@pytest.mark.parametrize("ending", [".gz", ".xz", ".zst"])
def test_compressed_text(call, ending, tmp_path):
    packed = tmp_path / f"text{ending}"
    if ending == ".zst":
        compress = pytest.importorskip("zstandard").ZstdCompressor().compress
    else:
        compress = {".gz": gzip, ".xz": lzma}[ending].compress
    text = b"one two\n" * 9
    packed.write_bytes(compress(text))
    (tmp_path / "text").write_bytes(text)
    for options in ([], ["--workers=2"]):
        plain, unpacked = (
            call("parse", f"--input={path}", *options) for path in (tmp_path / "text", packed)
        )
        assert plain == unpacked and plain[0] == 0 and plain[1]
    for number in (1, 10, 5001):
        packed.write_bytes(compress(b"one\n" * (number - 1) + b"\xff\n"))
        status, _, error = call("parse", f"--input={packed}", "--workers=2")
        told = f"error: {packed}: line {number} of the input is not utf-8 (byte 0xff)"
        assert status == 2 and error.startswith(told)
    packed.write_bytes(compress(text)[:-9])
    status, _, error = call("parse", f"--input={packed}", "--workers=2")
    assert status == 2 and error.startswith(f"error: {packed}: cannot be decompressed (")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--workers=0"], "--workers must be 1 or more, not 0"),
        (["--workers=3", "--device=cpu,cpu"], "--workers 3 with 2 devices: each device has one"),
        (["--device=cpu,,cpu"], "--device cpu,,cpu: a device has no name; write cuda:0,1"),
        (["--device=cpu,nonsense"], "--device nonsense: "),
        (["--device=cpu,cuda:99"], "--device cuda:99: this machine has "),
        (["--workers=2", "--format=html"], "--format html is for one process, without folders"),
        (["--workers=2", f"--known={__file__}"], "--known is for one process, without folders"),
        ([f"--input={__file__}", f"--known={__file__}"], "--known and --input both name the"),
        (["--input=nowhere"], "nowhere: no such file"),
    ],
)  # fmt: skip
def test_what_does_not_go_together(call, options, message):
    status, _, error = call("parse", *options)
    assert status == 2 and error.startswith(f"error: {message}") and error.count("\n") == 1


def test_devices():
    def of(device, count=None):
        return workers.devices_of(Namespace(device=device, workers=count))

    assert of(None) == [None] and of("cuda:1") == ["cuda:1"] and of("cpu", 3) == ["cpu"] * 3
    assert of("cuda:0,1") == of("cuda:0, 1", 2) == ["cuda:0", "cuda:1"]
    assert of("cuda:0,2,cpu") == ["cuda:0", "cuda:2", "cpu"]
    assert of("cuda:0,cuda:1") == ["cuda:0", "cuda:1"] and of("cpu,cpu") == ["cpu", "cpu"]


def test_the_text_of_a_finished_part_is_read_chunk_by_chunk(tmp_path):
    class Held:
        pass

    alive, place = weakref.WeakSet(), Namespace(path=tmp_path)

    def chunks():
        for number in range(9):
            alive.add(one := Held())
            assert len(alive) < 4
            yield text_input.Chunk("part", None, number, one, "same" if number == 8 else "")

    part = text_input.Part("part", chunks)
    answering._require_same_text(part, {"input": "same"}, place)
    with pytest.raises(InputError, match="part: was made of other text; name another folder"):
        answering._require_same_text(part, {"input": "other"}, place)


class Echo(answering.Answers):
    """Answers with the line; ends, dies or waits for ever where the line says so."""

    def __init__(self, args):
        self.totals = Counter(lines=0)

    def __call__(self, lines):
        for line in lines:
            if line == "die":
                os.kill(os.getpid(), signal.SIGKILL)
            while line == "wait":
                signal.pause()
            self.totals["lines"] += 1
            yield (f"{line}\n",)


def echo(stdin, monkeypatch, **options):
    monkeypatch.setattr("sys.stdin", stdin)
    given = {"workers": 2, "device": None, "input": None, "output": None, "folder": None,
             "quiet": True, "user_dir": None, **options}  # fmt: skip
    return answering.answer(Namespace(**given), "echo", Echo)


def test_a_process_that_dies_is_told(monkeypatch, capfd):
    with pytest.raises(InputError, match="a working process was killed"):
        echo(["a\n"] * 9 + ["die\n"] + ["a\n"] * 99, monkeypatch)
    assert capfd.readouterr().out in ("", "a\n" * 4, "a\n" * 8)


def test_input_is_read_as_it_is_needed(monkeypatch):
    taken = []
    endless = (taken.append(n) or f"{n}\n" for n in itertools.count())

    class Full(Exception):
        pass

    def write(text, **_):
        if text.startswith("40\n"):
            raise Full
        assert len(taken) <= int(text.split()[-1]) + 1 + 4 * 2 * 3

    monkeypatch.setattr("builtins.print", write)
    with pytest.raises(Full):
        echo(endless, monkeypatch)


def stop_by_hand(told):
    signal.signal(signal.SIGINT, signal.default_int_handler)

    def lines():
        yield from ["a\n"] * 4 + ["wait\n"] * 4
        os.write(told, b"x")
        yield from ["wait\n"] * 40

    with pytest.MonkeyPatch.context() as monkeypatch:
        try:
            echo(lines(), monkeypatch)
        except KeyboardInterrupt:
            os.write(told, b"stopped")
    os._exit(0)


def test_an_interrupt_ends_all_processes():
    read, told = os.pipe()
    process = multiprocessing.get_context("fork").Process(target=stop_by_hand, args=(told,))
    process.start()
    os.close(told)
    with os.fdopen(read, "rb", buffering=0) as pipe:
        assert pipe.read(1) == b"x"
        os.kill(process.pid, signal.SIGINT)
        for expected in (b"stopped", b""):
            assert select.select([pipe], [], [], 3600)[0], "a process still holds the pipe"
            assert pipe.read(99) == expected
    process.join()
