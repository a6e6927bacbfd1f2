"""Learning, applying, saving and loading subword segmentations."""

import io
import pickle
import random
from itertools import zip_longest
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from fairseq_struct.data.prepared.streams.journal import Journal
from fairseq_struct.data.prepared.streams.learning import learn_segmenter
from fairseq_struct.data.prepared.vocabulary import subwords
from fairseq_struct.data.prepared.vocabulary.subwords import (
    SEGMENTATIONS,
    BytePairEncoding,
    SentencePiece,
    segmenter_options,
)
from fairseq_struct.data.readers.parallel_text import ParallelCorpus, TextOptions
from fairseq_struct.errors import InputError

SIZES = {"none": 0, "bpe": 60, "sentencepiece-bpe": 90, "sentencepiece-unigram": 50}


@pytest.fixture(scope="module")
def text():
    """Two languages that share stems and differ in an ending."""
    generator = random.Random(7)
    stems = ["".join(generator.choices("aehiklnorstw", k=6)) for _ in range(40)]

    def draw(ending):
        words = [generator.choice(stems) + generator.choice(["", ending]) for _ in range(5)]
        return " ".join(words) + " ."

    return {lang: [draw(end) for _ in range(80)] for lang, end in (("en", "ing"), ("de", "ung"))}


def learned(kind, text, size, vocabulary_threshold=0, workers=1):
    """A segmenter of text in one or two languages."""
    pairs = [(*pair, "")[:2] for pair in zip_longest(*text.values(), fillvalue="")]
    languages = [*text, "none"][:2]
    options = TextOptions("none", "none", kind, size, vocabulary_threshold)
    corpus = ParallelCorpus("toy", *languages, {"train": pairs}, tokenised=True)
    with TemporaryDirectory() as folder:
        return learn_segmenter(corpus, options, Journal(Path(folder), "toy"), workers)


@pytest.mark.parametrize("kind", SEGMENTATIONS)
def test_decoding_undoes_encoding_also_on_unseen_words(kind, text):
    segmenter = learned(kind, text, SIZES[kind])
    for line in (*text["en"], *text["de"], "lowest karten singt ."):
        assert segmenter.decode(segmenter.encode(line, "en")) == line


@pytest.mark.parametrize("kind", SEGMENTATIONS[1:])
def test_same_text_same_model(kind, text, tmp_path):
    models = []
    for run, workers in (("first", 1), ("second", 1), ("third", 2)):
        (tmp_path / run).mkdir()
        segmenter = learned(kind, text, SIZES[kind], workers=workers)
        segmenter.save(tmp_path / run)
        models.append((tmp_path / run / segmenter.file_name).read_bytes())
    assert models[0] == models[1] == models[2]


@pytest.mark.parametrize(
    ("kind", "loader"), [("bpe", BytePairEncoding), ("sentencepiece-unigram", SentencePiece)]
)
def test_loading_restores_the_encoder(kind, loader, text, tmp_path):
    text = {f"raw.{language}": lines for language, lines in text.items()}  # train.raw.en
    segmenter = learned(kind, text, SIZES[kind], vocabulary_threshold=3)
    segmenter.save(tmp_path)
    loaded, sent = loader.load(tmp_path), pickle.loads(pickle.dumps(segmenter))
    for language, lines in text.items():
        for line in lines[:10]:
            assert loaded.encode(line, language) == segmenter.encode(line, language)
            assert sent.encode(line, language) == segmenter.encode(line, language)
    with pytest.raises(InputError, match="no such file"):
        loader.load(tmp_path / "elsewhere")


def test_exactly_the_merges_asked_for(text):
    assert learned("bpe", text, 30).codes.count("\n") == 31  # plus the version line


def test_frequent_pairs_merge_first():
    encoder = learned("bpe", {"en": ["ab ab ab cd cd"]}, 1)
    assert encoder.encode("ab cd", "en") == "ab c@@ d"


def test_too_many_merges_says_how_many_there_are():
    with pytest.raises(InputError, match=r"cannot learn 50 merges: .* only 2 "):
        learned("bpe", {"en": ["ab ab cd"], "de": ["cd"]}, 50)
    with pytest.raises(InputError, match="only 0"):
        learned("bpe", {"en": ["a b"]}, 1)


@pytest.mark.parametrize(("pieces", "message"), [(5000, "too high"), (3, "required_chars")])
def test_impossible_number_of_pieces(text, pieces, message):
    with pytest.raises(InputError, match=f"cannot learn {pieces} sentencepiece.*{message}"):
        learned("sentencepiece-unigram", text, pieces)


def test_vocabulary_threshold_splits_what_is_rare_in_its_own_language():
    text = {"en": ["word"] * 9, "de": ["word", *["wor", "d"] * 9]}
    free = learned("bpe", text, 4)
    limited = learned("bpe", text, 4, vocabulary_threshold=3)
    assert free.encode("word", "de") == limited.encode("word", "en") == "word"
    assert limited.encode("word", "de") != "word"
    assert limited.decode(limited.encode("word", "de")) == "word"


def test_remembered_words_are_subword_nmt_s_lines(text):
    from subword_nmt.apply_bpe import BPE

    segmenter = learned("bpe", text, 30, vocabulary_threshold=5)
    for language, lines in text.items():
        theirs = BPE(io.StringIO(segmenter.codes), vocab=segmenter.vocabularies[language])
        for line in (*lines, "", " ", "  two  spaces ", "an unseen\tword", *lines):
            assert segmenter.encode(line, language) == theirs.segment(line)


def test_memory_of_words_is_bounded(text, monkeypatch):
    monkeypatch.setattr(subwords, "_MOST_WORDS", 3)
    segmenter, free = learned("bpe", text, 30), learned("bpe", text, 30)
    for line in text["en"]:
        assert segmenter.encode(line, "en") == free._free.segment(line)
        assert len(segmenter._known["en"]) <= 3 + len(line.split())


def test_fairseq_undoes_the_merges(text, tmp_path):
    from fairseq.data.encoders.subword_nmt_bpe import SubwordNMTBPE, SubwordNMTBPEConfig

    segmenter = learned("bpe", text, 20)
    segmenter.save(tmp_path)
    assert segmenter_options("bpe", "OUT").endswith("--bpe-codes OUT/codes.bpe")
    theirs = SubwordNMTBPE(SubwordNMTBPEConfig(bpe_codes=str(tmp_path / "codes.bpe")))
    encoded = segmenter.encode("lowering karte .", "en")
    assert "@@" in encoded
    assert theirs.decode(encoded) == "lowering karte ."


def test_unknown_kind(text):
    with pytest.raises(ValueError, match="wordpiece"):
        learned("wordpiece", text, 10)


@pytest.mark.parametrize("error", [InputError("a file was changed"), KeyboardInterrupt()])
def test_sentencepiece_tells_why_text_cannot_be_read(error):
    def lines():
        yield from ["the cat sings", "the cats sing"] * 20
        raise error

    with pytest.raises(type(error)) as caught:
        SentencePiece.learn(lines(), 20, "bpe")
    assert caught.value is error
