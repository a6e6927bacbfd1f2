"""Texts with fairseq's special symbols as words, for every command and function that reads text."""

import re
from types import SimpleNamespace

import pytest
import torch
from fairseq.data import Dictionary

from fairseq_struct.data.prepared.labelled_folder import write_labelled_folder
from fairseq_struct.data.prepared.language_folder import write_language_folder
from fairseq_struct.data.prepared.translation_folder import write_translation_folder
from fairseq_struct.data.prepared.treebank_folder import as_text, write_treebank_folder
from fairseq_struct.data.readers import labelled_text
from fairseq_struct.data.readers.dependency_treebank import read_treebank
from fairseq_struct.data.readers.labelled_text import read_corpus
from fairseq_struct.data.readers.parallel_text import TextOptions
from fairseq_struct.data.readers.translation_corpora import read_plain
from fairseq_struct.errors import InputError
from fairseq_struct.files.reserved_words import RESERVED, index_of
from fairseq_struct.inference.classifiers.classifier import Classifier
from fairseq_struct.inference.parsers.dependency import TranslationParser
from fairseq_struct.inference.vocabulary import Vocabulary
from fairseq_struct.models.shared.trained_composer import rows_of
from fairseq_struct.models.undirected.undirected_parser import UndirectedParserModel
from fairseq_struct.tasks.semantic_similarity import (
    SemanticSimilarityConfig,
    SemanticSimilarityTask,
)
from fairseq_struct.tasks.structured_masked_lm import (
    StructuredMaskedLMConfig,
    StructuredMaskedLMTask,
)

SPLITS = ("train", "valid", "test")


def write(path, *lines):
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def refused(symbol, place):
    return pytest.raises(InputError, match=f"{place}: {symbol} is one of fairseq's own symbols")


@pytest.fixture
def dictionary():
    words = Dictionary()
    for word in ("the", "cat", "sings", "<mask>"):
        words.add_symbol(word)
    return words


@pytest.mark.parametrize("symbol", RESERVED)
def test_text_of_language_models(tmp_path, symbol):
    files = {split: write(tmp_path / split, "a b", f"a {symbol}") for split in SPLITS}
    with refused(symbol, "train:2"):
        write_language_folder(files, tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("symbol", RESERVED)
def test_treebanks(tmp_path, symbol):
    row = "{}\t{}\t_\tNOUN\t_\t_\t{}\tx\t_\t_"
    good = [row.format(1, "a", 0), ""]
    path = write(tmp_path / "bad.conllu", *good, row.format(1, symbol.upper(), 0), "")
    trees = as_text(read_treebank(path))
    with refused(symbol, "bad.conllu:3"):
        write_treebank_folder(dict.fromkeys(SPLITS, trees), tmp_path / "out")


@pytest.mark.parametrize("symbol", RESERVED)
@pytest.mark.parametrize("lower", [False, True])
def test_labelled_sentences(tmp_path, symbol, lower):
    lines = ["good film\tpos", f"bad {symbol.upper() if lower else symbol}\tneg"]
    files = {split: write(tmp_path / f"{split}.tsv", *lines) for split in SPLITS}
    corpus = read_corpus("plain", labelled_text.read_tsv, files)
    with refused(symbol, "train.tsv:2"):
        write_labelled_folder(corpus, tmp_path / "out", lower=lower)
    assert not (tmp_path / "out").exists()


def translation(tmp_path, line, **options):
    for split in SPLITS:
        write(tmp_path / f"{split}.xx", "ab ab", "ab ab")
        write(tmp_path / f"{split}.yy", "ab ab", line)
    prefixes = {split: str(tmp_path / split) for split in SPLITS}
    options = TextOptions(normalise="none", tokenise="none", **options)
    return write_translation_folder(read_plain(prefixes, "xx", "yy"), options, tmp_path / "out")


@pytest.mark.parametrize("symbol", RESERVED)
def test_parallel_text(tmp_path, symbol):
    with refused(symbol, "train.yy:2"):
        translation(tmp_path, f"ab {symbol}", segment="none")
    assert not (tmp_path / "out").exists()


def test_subwords_take_symbols_apart(tmp_path):
    manifest = translation(tmp_path, "ab <s>", segment="bpe", subwords=1)
    assert "ab <@@ s@@ >" in (tmp_path / "out" / "segmented" / "test.yy").read_text()
    assert manifest["splits"]["train"]["kept"] == 2


@pytest.mark.parametrize("symbol", RESERVED)
def test_pairs_of_sentences(tmp_path, dictionary, symbol):
    write(tmp_path / "valid.tsv", "1\tthe cat\tsings", f"5\tthe\tthe {symbol}")
    task = SemanticSimilarityTask(SemanticSimilarityConfig(data=str(tmp_path)), dictionary)
    with refused(symbol, "valid.tsv:2"):
        task.load_dataset("valid")


def test_unknown_words_may_be_written_as_such(tmp_path, dictionary):
    files = {split: write(tmp_path / f"{split}.tsv", "a <unk>\tx", "b\ty") for split in SPLITS}
    corpus = read_corpus("plain", labelled_text.read_tsv, files)
    assert write_labelled_folder(corpus, tmp_path / "out")["words"] == 2
    assert index_of(dictionary, "<unk>") == dictionary.unk()
    assert Vocabulary(dictionary).index("<UNK>") == dictionary.unk()


@pytest.mark.parametrize("symbol", [*RESERVED, "<unk>", "unheard"])
def test_trained_models_read_words_that_they_do_not_know(dictionary, symbol):
    unknown, cat = dictionary.unk(), dictionary.index("cat")
    read = Vocabulary(dictionary).read([["cat", symbol, symbol.upper()]])
    assert read.tolist() == [[dictionary.eos(), cat, unknown, unknown]]
    network = Network(1, 1)
    with pytest.raises(Seen, match=re.escape(str([[[cat, unknown]]]))):
        Classifier(network, dictionary, Dictionary()).classify([f"cat {symbol}"])
    with pytest.raises(Seen, match=re.escape(str([[cat, unknown, dictionary.eos()]]))):
        TranslationParser(network, dictionary).parse([f"cat {symbol}"])


@pytest.mark.parametrize("symbol", [*RESERVED, "<unk>"])
def test_models_that_read_words_themselves_read_them_as_data_do(dictionary, symbol):
    """``<mask>`` is none of fairseq's own four: one in a dictionary used to be a known word."""
    words, cat = ["cat", symbol], dictionary.index("cat")
    parser = UndirectedParserModel(SimpleNamespace(encoder=None), dictionary)
    assert parser.read_words(words).tolist() == [cat, dictionary.unk()]
    assert [index_of(dictionary, word) for word in words] == [cat, dictionary.unk()]
    given = Dictionary()
    given.symbols += words  # as of a file that lists them
    for lower in (False, True):
        assert rows_of(given, dictionary, lower).tolist()[-2:] == [cat, dictionary.unk()]


class Seen(Exception):
    """Raised by the network, with the tokens that it reads."""


class Network(torch.nn.Linear):
    sides = 1

    def forward(self, tokens, lengths=None):
        raise Seen(tokens.tolist())

    arc_scores = forward


@pytest.mark.parametrize("symbol", RESERVED)
def test_treebanks_of_validations_have_words_that_models_do_not_know(tmp_path, symbol):
    path = write(tmp_path / "gold.dp", "cat\tNN\t2", f"{symbol}\tNN\t0")
    write(tmp_path / "dict.txt", "cat 1", "sings 1")
    task = StructuredMaskedLMTask.setup_task(
        StructuredMaskedLMConfig(data=str(tmp_path), treebank=str(path), seed=1)
    )
    (words, heads), = task.gold
    assert words.tolist() == [task.words.index("cat"), task.words.unk()] and heads == [2, 0]
    write(tmp_path / "dict.txt", "cat 1", f"{symbol} 1")
    if symbol == "<mask>":
        with pytest.raises(InputError, match="dict.txt: has <mask> as a word, but it is"):
            StructuredMaskedLMTask.setup_task(SimpleNamespace(data=str(tmp_path)))
