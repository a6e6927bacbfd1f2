"""Our reader and fairseq accept the same files as dictionaries."""

import pytest
from fairseq.data import Dictionary

from fairseq_struct.data.prepared.vocabulary.dictionary_file import (
    check_dictionary,
    load_dictionary,
    require_words,
)
from fairseq_struct.errors import InputError

GOOD = [b"", b"a 3\nb 2\n", b"a 3\r\nb 2", b"a 3\rb 2\r", "a b 3\nü 0\n".encode(), b"a -1\nb 1_0\n",
        b"a 3\na 2 #fairseq:overwrite\n", b"<unk> 2 #fairseq:overwrite\n", b"a 3  \n",
        b"madeupword0000 0\n", "\u2028 3\n\x0b 2\n".encode()]  # fmt: skip
BAD = [b"a\n", b"a 3\n\nb 2\n", b"a 3\n\n", b"a 3\na 2\n", b"</s> 3\n", b"a x\n", b"a 1.5\n",
       b"a 3 #fairseq:overwrite x\n", b"\xff 3\n", b"3\n", b"a\t3\n",
       bytes(range(256))]  # fmt: skip


@pytest.mark.parametrize("content", GOOD)
def test_good_ones_load(tmp_path, content):
    (tmp_path / "dict.txt").write_bytes(content)
    known = Dictionary.load(str(tmp_path / "dict.txt"))
    assert load_dictionary(tmp_path / "dict.txt") == known
    specials = {"<s>", "<pad>", "</s>", "<unk>"}
    assert check_dictionary(tmp_path / "dict.txt") - specials == set(known.symbols) - specials


@pytest.mark.parametrize("content", BAD)
def test_bad_ones_are_those_that_fairseq_fails_on(tmp_path, content):
    (tmp_path / "dict.txt").write_bytes(content)
    with pytest.raises(Exception, match=r"Incorrect|Duplicate"):
        Dictionary.load(str(tmp_path / "dict.txt"))
    with pytest.raises(InputError, match=r"dict\.txt:\d+: "):
        check_dictionary(tmp_path / "dict.txt")


def test_dictionaries_have_words():
    require_words({"a": 1, "b": 3}, 3)
    with pytest.raises(InputError, match="--least-count 4 leaves no word: .* 'b', occurs 3 times"):
        require_words({"a": 1, "b": 3}, 4)
