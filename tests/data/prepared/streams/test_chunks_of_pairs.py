"""A translation folder does not depend on chunks, nor on the number of processes."""

import pytest

from fairseq_struct.data.prepared.streams import sentence_pairs
from fairseq_struct.data.prepared.streams.sentence_pairs import sample_of
from fairseq_struct.data.prepared.translation_folder import write_translation_folder
from fairseq_struct.data.readers.parallel_text import ParallelCorpus, TextOptions
from fairseq_struct.errors import InputError

LINES = ["The cat (a big one) sings, doesn't it?", "No. 5 sings.", "", "See the cats of No. Five",
         "a b c d e f g h i j k l m n o p", "sing sing sing"]  # fmt: skip


def corpus(tokenised=False, **options):
    pairs = [(LINES[n % 6], LINES[(n + n // 6) % 6].swapcase()) for n in range(36)]
    full = [(one, other) for one, other in pairs if one and other]
    splits = {"train": pairs, "valid": full[:5], "test": full[5:]}
    return ParallelCorpus("made_up", "en", "de", splits, tokenised, **options)


def contents(folder):
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


@pytest.mark.parametrize(
    ("segment", "given"),
    [("bpe", {}), ("bpe", {"tokenised": True}), ("none", {}), ("sentencepiece-bpe", {})],
    ids=str,
)
def test_chunks_and_processes_change_nothing(segment, given, tmp_path, monkeypatch):
    tokenise = "moses" if segment == "bpe" and not given else "none"
    sizes = {"vocabulary_threshold": 2} if segment == "bpe" else {}
    options = TextOptions("moses", tokenise, segment, subwords=60, max_length=20, **sizes)
    found = []
    for name, size, workers in (("one", 2000, 1), ("small", 3, 1), ("many", 3, 3)):
        monkeypatch.setattr(sentence_pairs, "PAIRS", size)
        write_translation_folder(corpus(**given), options, tmp_path / name, workers=workers)
        found.append(contents(tmp_path / name))
    assert found[0] == found[1] == found[2]
    assert found[0]["raw/train.en"].count(b"\n") == found[0]["segmented/train.de"].count(b"\n")


def test_references_stay_beside_their_pairs(tmp_path, monkeypatch):
    monkeypatch.setattr(sentence_pairs, "PAIRS", 4)
    given = corpus(tokenised=True)
    count = len(given.splits["test"])
    references = [(f"One {n}", f"Other {n}") for n in range(count)]
    given.references["test"] = references
    options = TextOptions(tokenise="none", segment="none")
    write_translation_folder(given, options, tmp_path / "out", workers=2)
    for side, language in enumerate(("en", "de")):
        lines = (tmp_path / "out" / "raw" / f"test.{language}").read_text().splitlines()
        assert lines == [pair[side] for pair in references]


def test_subwords_of_a_sample(tmp_path, monkeypatch):
    monkeypatch.setattr(sentence_pairs, "PAIRS", 5)
    given = corpus()
    drawn = [pair for chunk in sample_of(given, 20) for pair in chunk.pairs]
    left = list(given.splits["train"])
    assert len(drawn) == 20 and drawn != left[:20]
    assert all(pair in left[place:] for place, pair in enumerate(drawn))  # in order
    others = [pair for chunk in sample_of(given, 20, seed=2) for pair in chunk.pairs]
    assert len(others) == 20 and others != drawn
    folders = []
    for name, count, workers in (("all", 36, 1), ("some", 20, 1), ("processes", 20, 2)):
        options = TextOptions(tokenise="none", subwords=12, learn_on=count)
        folders.append(tmp_path / name)
        write_translation_folder(given, options, folders[-1], workers=workers)
    every, some, processes = (contents(folder) for folder in folders)
    assert some == processes and some["codes.bpe"] != every["codes.bpe"]
    # The options stand in the manifest only where they matter.
    assert not any(b'"seed"' in found["manifest.json"] for found in (every, some, processes))
    options = TextOptions(tokenise="none", subwords=12, learn_on=20, seed=2)
    write_translation_folder(given, options, tmp_path / "seed")
    assert b'"seed": 2' in contents(tmp_path / "seed")["manifest.json"]
    assert b"learn_on" in some["manifest.json"] and b"learn_on" not in every["manifest.json"]


@pytest.mark.parametrize("workers", [1, 2])
def test_the_place_of_a_reserved_word(workers, tmp_path, monkeypatch):
    monkeypatch.setattr(sentence_pairs, "PAIRS", 4)
    given = corpus()
    given.splits["valid"][4] = ("a cat", "a <pad> cat")
    options = TextOptions(tokenise="none", segment="none")
    with pytest.raises(InputError, match=r"made_up, valid split, de, sentence 5: <pad> is one of"):
        write_translation_folder(given, options, tmp_path / "out", workers=workers)
    assert not list(tmp_path.iterdir())


def test_more_shards_than_pairs_are_refused_before_the_work(tmp_path):
    said = []
    with pytest.raises(InputError, match=r"--shards 37: only 36 training pairs"):
        write_translation_folder(
            corpus(), TextOptions(tokenise="none"), tmp_path / "out", shards=37, say=said.append
        )
    assert not said and not list(tmp_path.iterdir())
