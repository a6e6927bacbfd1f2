"""Lines and tokens in memory-mapped files, against fairseq's own reader."""

import pickle

import numpy as np
import pytest
import torch
from fairseq.data import data_utils
from mapped_splits import END, drawn_lines, write_split

from fairseq_struct.data.datasets.indexed_lines import load_lines, open_lines
from fairseq_struct.data.datasets.mapped import split_files
from fairseq_struct.data.datasets.mapped.lines import MappedLines
from fairseq_struct.data.datasets.mapped.tokens import MappedTokens, tokens_of
from fairseq_struct.errors import InputError

# fairseq's data sets fail once more when they are deleted.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
SOME_EMPTY = [[5, 6, END], [7], [], [END], [8, END, 9], []]


def files_of(path, lines, **options):
    return split_files.SplitFiles(write_split(path / "train", lines, **options))


@pytest.mark.parametrize(("words", "width"), [(60, 2), (70_000, 4), (2**33, 8)])
def test_lines_are_those_of_fairseqs_reader(tmp_path, words, width):
    lines = [*drawn_lines(30), [words - 1, END]]
    files = files_of(tmp_path, lines, words=words)
    found, expected = MappedLines(files), data_utils.load_indexed_dataset(files.path, None, "mmap")
    assert files.values.itemsize == width and files.end_to_end
    assert len(found) == len(expected) == len(lines)
    assert found.sizes.tolist() == expected.sizes.tolist()
    for own, other in zip(found, expected, strict=True):
        assert own.dtype == other.dtype == torch.int64 and torch.equal(own, other)
    tokens = tokens_of(found)
    assert isinstance(tokens, MappedTokens) and len(tokens) == sum(map(len, lines))
    assert torch.equal(tokens[torch.arange(len(tokens))], torch.cat(list(expected)))


@pytest.mark.parametrize("lines_together", [2, 100])
def test_the_end_of_lines_is_left_out_and_long_lines_are_cut(tmp_path, monkeypatch, lines_together):
    monkeypatch.setattr(split_files, "_LINES", lines_together)
    for name, lines in (("some", SOME_EMPTY), ("all", drawn_lines(9)), ("none", [[4], [5, 6]])):
        (tmp_path / name).mkdir()
        files = files_of(tmp_path / name, lines)
        kept = MappedLines(files).without_end(END)
        wanted = [line[:-1] if line[-1:] == [END] else line for line in lines]
        assert [line.tolist() for line in kept] == wanted
        assert kept.sizes.tolist() == list(map(len, wanted))
        assert [line.tolist() for line in kept.cut(2)] == [line[:2] for line in wanted]
        assert kept.cut(2).sizes.max() <= 2
    assert list(MappedLines(files_of(tmp_path, SOME_EMPTY)).first_of_each_size()) == [
        (0, 3), (1, 1), (2, 0)
    ]  # fmt: skip


def test_what_is_pickled_does_not_grow_with_the_split(tmp_path):
    sizes = set()
    for count in (10, 3000):
        folder = tmp_path / f"{count:06}"
        folder.mkdir()
        lines = MappedLines(files_of(folder, drawn_lines(count))).without_end(END)
        pickled = pickle.dumps((lines, tokens_of(lines, 4)))
        again, tokens = pickle.loads(pickled)
        assert all(torch.equal(*pair) for pair in zip(again, lines, strict=True))
        assert again.sizes.tolist() == lines.sizes.tolist()
        places = torch.tensor([[0, 3], [7, 2]])
        assert torch.equal(tokens[places] + 4, tokens_of(lines)[places])
        sizes.add(len(pickled))
    assert max(sizes) < 1000 and max(sizes) - min(sizes) < 20


def test_tokens_have_places_of_the_split_only(tmp_path):
    files = files_of(tmp_path, [[4, 5], [6]])
    with open(tmp_path / "train.bin", "ab") as content:
        content.write(bytes(8))  # no part of a line
    tokens = MappedTokens(split_files.SplitFiles(files.path))
    assert len(tokens) == 3 and tokens[2].item() == 6 and tokens[np.int64(0)].dtype == torch.int64
    for place in (3, -1):
        with pytest.raises(IndexError):
            tokens[torch.tensor([place])]
        with pytest.raises(IndexError):
            MappedLines(files)[place]


@pytest.mark.parametrize("implementation", ["cached", "lazy", None])
def test_other_formats_are_read_as_before(tmp_path, implementation):
    lines = drawn_lines(6)
    path = write_split(tmp_path / "train", lines, implementation="cached")
    found = load_lines(path, None, implementation)
    assert not isinstance(found, MappedLines)
    tokens = tokens_of(found)
    assert tokens.dtype == torch.int32 and tokens.tolist() == sum(lines, [])
    mapped = write_split(tmp_path / "mapped", lines)
    assert isinstance(load_lines(mapped, None, None), MappedLines)


def test_lines_with_gaps_between_them_are_no_stream(tmp_path):
    files = files_of(tmp_path, [[4, 5], [6], [7, 8]])
    index = tmp_path / "train.idx"
    content = bytearray(index.read_bytes())
    content[-8:] = np.int64(0).tobytes()  # the last line begins with the first
    index.write_bytes(content)
    files = split_files.SplitFiles(files.path)
    assert not files.end_to_end
    assert tokens_of(MappedLines(files)).tolist() == [4, 5, 6, 4, 5]
    assert tokens_of(MappedLines(files), 4, torch.int64).dtype == torch.int64


@pytest.mark.parametrize(
    ("place", "value"),
    [(0, b"X"), (9, b"\2"), (17, b"\x63"), (26, np.int32(-1).tobytes()),
     (26, np.int32(9).tobytes()), (-24, np.int64(-2).tobytes()), (-8, np.int64(3).tobytes()),
     (18, np.int64(2**40).tobytes())],
)  # fmt: skip
def test_an_index_that_cannot_be_is_refused(tmp_path, place, value):
    path = write_split(tmp_path / "train", [[4, 5], [6], [7, 8]])
    index = tmp_path / "train.idx"
    content = bytearray(index.read_bytes())
    place %= len(content)
    content[place : place + len(value)] = value
    index.write_bytes(content)
    with pytest.raises(InputError, match=r"train\.idx, \.bin: damaged; prepare the data again"):
        open_lines(path)
