"""Facts in a buffer of a checkpoint: as they were given, or refused."""

import json

import pytest
import torch

from fairseq_struct.files.stored_text import as_bytes, content_of


def test_facts_come_back():
    facts = {"tasks": ["AB", "BÄ"], "size": 9, "a": None}
    buffer = as_bytes(facts)
    assert buffer.dtype == torch.uint8 and content_of(buffer) == facts
    assert buffer.equal(as_bytes(dict(reversed(facts.items()))))  # a resumed training's is the same
    assert content_of(as_bytes({})) == {}


@pytest.mark.parametrize(
    "buffer",
    [
        torch.tensor([255, 1, 2], dtype=torch.uint8),
        torch.tensor(list(b"[1]"), dtype=torch.uint8),
        torch.tensor(list(b"{")),
        torch.tensor(list(b"{}")) + 256,
        torch.ones(2),
        torch.tensor(10**12),  # a number of bytes, to Python
        torch.tensor([]),
        torch.tensor(list(b"[" * 100_000), dtype=torch.uint8),
    ],
)
def test_anything_else_is_damaged(buffer):
    with pytest.raises(ValueError, match="damaged"):
        content_of(buffer)


def test_bytes_are_those_of_older_checkpoints():
    facts = {"b": 1, "a": ["x"]}
    assert bytes(as_bytes(facts).tolist()) == json.dumps(facts, sort_keys=True).encode()
