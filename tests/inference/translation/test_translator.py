"""Translations are those of fairseq-generate, whatever the batch, and of raw text."""

import math
import random
import re
import shutil

import pytest
import torch
from fairseq.data import Dictionary, indexed_dataset
from fairseq_commands import USER_DIR, run, train, warm_python
from stored_models import STORED

from fairseq_struct import load
from fairseq_struct.data.prepared.translation_folder import write_translation_folder
from fairseq_struct.data.readers.parallel_text import ParallelCorpus, TextOptions
from fairseq_struct.errors import InputError
from fairseq_struct.inference.results.translation import Translation
from fairseq_struct.inference.translation.sampling import SampledSearch

DATA = STORED / "translation" / "data-bin"
ARCHS = ("scheduled_sampling_transformer", "latent_tree_transformer")
TEXT = ["one two three", "", "nine", "four five six seven one two", "  ", "unheard eight"]


def stored(arch=ARCHS[0], **options):
    return load(STORED / f"{arch}.pt", DATA, segmented=True, **options)


def generated(data, checkpoint, *options):
    """By number: scores and texts of hypotheses, and scores of symbols, as fairseq prints them."""
    output = run("generate", data, f"--path={checkpoint}", f"--user-dir={USER_DIR}",
                 "--required-batch-size-multiple=1", "--num-workers=0", *options)  # fmt: skip
    found = {}
    for kind, number, rest in re.findall(r"^([HDP])-(\d+)\t(.*)$", output, re.MULTILINE):
        found.setdefault(int(number), {}).setdefault(kind, []).append(rest)
    return [found[number] for number in sorted(found)]


def sentences_of_test():
    words = Dictionary.load(str(DATA / "dict.src.txt"))
    rows = indexed_dataset.make_dataset(str(DATA / "test.src-tgt.src"), "mmap")
    return [words.string(row) for row in rows]


@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize(
    ("options", "settings"),
    [
        (["--beam=5", "--batch-size=3"], {}),
        (["--beam=3", "--nbest=2", "--lenpen=0.5", "--batch-size=1", "--max-len-a=0.5",
          "--max-len-b=1", "--min-len=2"],
         {"beam": 3, "n_best": 2, "lenpen": 0.5, "max_len_a": 0.5, "max_len_b": 1, "min_len": 2}),
    ],
)  # fmt: skip
def test_translations_are_those_of_fairseq(arch, options, settings):
    theirs = generated(DATA, STORED / f"{arch}.pt", *options)
    ours = stored(arch).translate(sentences_of_test(), **settings)
    assert len(ours) == len(theirs) == 8
    for one, other in zip(ours, theirs, strict=True):
        for own, hypothesis, places in zip(one.alternatives, other["H"], other["P"], strict=True):
            score, _, text = hypothesis.partition("\t")
            assert own == text and own.tokens == tuple(text.split())
            assert own.score == pytest.approx(float(score), abs=1e-5)
            assert own.token_scores == pytest.approx(list(map(float, places.split())), abs=1e-4)
        assert one == one.alternatives[0] and one.score == one.alternatives[0].score


@pytest.mark.parametrize(
    "settings",
    [
        {"max_len_b": 30},
        {"n_best": 3, "max_len_b": 9},
        {"max_len_a": 1.0, "max_len_b": 0},
        {"sample": True, "n_best": 2, "top_k": 4, "max_len_b": 20},
    ],
)
def test_a_sentence_does_not_depend_on_its_batch(settings):
    together = stored().translate(TEXT, **settings)
    small = stored(batch_words=5).translate(TEXT, **settings)
    assert [one.source for one in together] == TEXT
    for number, (one, other) in enumerate(zip(together, small, strict=True)):
        # Blank lines before it keep its number, which samples depend on.
        (alone,) = stored().translate([*[""] * number, TEXT[number]], **settings)[number:]
        assert one == other == alone and len(one.alternatives) == (
            settings.get("n_best", 1) if TEXT[number].strip() else 0
        )
        if TEXT[number].strip():
            assert one.alternatives == other.alternatives == alone.alternatives
            assert one.score == pytest.approx(other.score, abs=1e-5)
            assert one.score == pytest.approx(alone.score, abs=1e-5)
        else:
            assert one == "" and one.score is None


def test_samples():
    model = stored()

    def drawn(text=TEXT, **settings):
        return model.translate(text, sample=True, max_len_b=20, **settings)

    greedy = model.translate(TEXT, beam=1, max_len_b=20)
    assert drawn(top_k=1) == greedy == drawn(temperature=1e-4)
    assert drawn(seed=1) == drawn() != drawn(seed=2)
    assert len(set(drawn(["one two three"] * 8))) > 1


def four_words():
    words = Dictionary()
    for symbol in "abcd":
        words.add_symbol(symbol)
    return words


def test_symbols_are_drawn_with_their_probabilities():
    words = four_words()
    chances = torch.tensor([0.0, 0.0, 0.0, 0.0, 0.5, 0.3, 0.15, 0.05])
    lprobs = chances.log().expand(4000, 2, -1)
    for top_k, expected in ((None, chances), (2, torch.tensor([0] * 4 + [0.625, 0.375, 0, 0]))):
        search = SampledSearch(words, seed=1, top_k=top_k)
        numbers = torch.arange(4000)
        scores, drawn, beams = search.step(0, lprobs, None, None, numbers)
        found = drawn.flatten().bincount(minlength=8) / 8000
        torch.testing.assert_close(found, expected, atol=0.02, rtol=0)
        torch.testing.assert_close(scores, lprobs.gather(2, drawn[..., None]).squeeze(2))
        assert beams.tolist() == [[0, 1]] * 4000
        later, drawn, _ = search.step(1, lprobs, scores[..., None], None, numbers)
        own = lprobs.gather(2, drawn[..., None]).squeeze(2)
        torch.testing.assert_close(later, scores + own)


def test_of_equally_likely_symbols_k_are_drawn_from():
    lprobs = torch.zeros(200, 2, 8).log_softmax(-1)
    search = SampledSearch(four_words(), seed=1, top_k=3)
    drawn = search.step(0, lprobs, None, None, torch.arange(200))[1]
    assert len(drawn.unique()) == 3


def test_sentences_that_are_too_long():
    model = stored()
    long = " ".join(["one"] * 1024)
    with pytest.raises(InputError, match=r"line 2: 1024 symbols .* the 1023 that the model reads"):
        model.translate(["one", long])
    cut, whole = model.translate([long, " ".join(["one"] * 1023)], truncate=True, max_len_b=3)
    assert cut == whole and cut.source == long


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"beam": 0}, "--beam must be 1 or more, not 0"),
        ({"beam": 2.5}, "--beam must be a whole number, not 2.5"),
        ({"sample": "no"}, "--sample must be True or False, not 'no'"),
        ({"truncate": 1}, "--truncate must be True or False, not 1"),
        ({"n_best": 6}, "--n-best 6 needs a --beam of at least 6, not 5"),
        ({"temperature": 2.0}, "--temperature needs --sample"),
        ({"seed": 3}, "--seed needs --sample"),
        ({"sample": True, "temperature": 0.0}, "--temperature must be above 0"),
        ({"sample": True, "beam": 3}, "--beam is for a search"),
        ({"sample": True, "top_k": 0}, "--top-k must be 1 or more"),
        ({"min_len": 9, "max_len_b": 8}, "--min-len 9 is above the most symbols .* 8"),
        ({"lenpen": float("nan")}, "--lenpen must be a number"),
        ({"max_len_a": math.inf}, "--max-len-a must be a number"),
        ({"max_len_a": 1e308}, "--max-len-a must be less than"),
        ({"max_len_b": 10**400}, "--max-len-b must be less than"),
        ({"sample": True, "temperature": math.inf}, "--temperature must be a number"),
        ({"seed": 2**40}, "--seed must be less than"),
        ({"beem": 3}, "translate: .*'beem'"),
    ],
)
def test_settings_that_cannot_be(settings, message):
    with pytest.raises(InputError, match=message):
        stored().translate(["one"], **settings)


def test_one_string_is_no_list():
    with pytest.raises(InputError, match="not one string"):
        stored().translate("one two")


def text_of(count, seed):
    draw = random.Random(seed)
    animals = {"Katze": "cat", "Hund": "dog", "Vogel": "bird", "Maus": "mouse"}
    verbs = {"schläft": "sleeps", "singt": "sings", "lacht": "laughs"}
    for _ in range(count):
        animal, verb = draw.choice(list(animals)), draw.choice(list(verbs))
        yield f"Die {animal}, sie {verb}!", f"The {animals[animal]}, it {verbs[verb]}!"


def corpus(tokenised=False):
    splits = {split: list(text_of(count, count)) for split, count in
              (("train", 60), ("valid", 4), ("test", 8))}  # fmt: skip
    if tokenised:
        splits = {name: [tuple(re.sub(r"([,!])", r" \1", side) for side in pair) for pair in pairs]
                  for name, pairs in splits.items()}  # fmt: skip
    return ParallelCorpus("made_up", "de", "en", splits, tokenised=tokenised)


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    """A prepared folder, with a model that was trained a little."""
    folder = tmp_path_factory.mktemp("prepared") / "data"
    with warm_python():
        write_translation_folder(corpus(), TextOptions(subwords=40), folder)
    train(folder / "data-bin", folder.parent / "run", "--source-lang=de", "--target-lang=en",
          "--batch-size=16", "--max-update=20", "--disable-validation", "--lr=0.01")  # fmt: skip
    return folder, folder.parent / "run" / "checkpoint_last.pt"


def test_raw_text_is_translated_as_fairseq_does_it(prepared):
    folder, checkpoint = prepared
    theirs = generated(folder / "data-bin", checkpoint, "--beam=4", "--tokenizer=moses",
                       "--source-lang=de", "--target-lang=en", "--bpe=subword_nmt",
                       f"--bpe-codes={folder}/codes.bpe")  # fmt: skip
    raw = (folder / "raw" / "test.de").read_text().splitlines()
    ours = load(checkpoint).translate([f"  {raw[0]} \u00ad", *raw[1:]], beam=4)
    assert ours == [one["D"][0].partition("\t")[2] for one in theirs]
    assert [" ".join(one.tokens) for one in ours] == [
        one["H"][0].partition("\t")[2] for one in theirs
    ]
    segmented = (folder / "segmented" / "test.de").read_text().splitlines()
    again = load(checkpoint, segmented=True).translate(segmented, beam=4)
    assert [one.tokens for one in again] == [one.tokens for one in ours]
    assert any("@@" in line for line in segmented) and any(ours)


def test_segmentation_that_is_missing(prepared, tmp_path):
    folder, checkpoint = prepared
    shutil.copytree(folder, tmp_path / "moved")
    moved = tmp_path / "moved" / "data-bin"
    assert load(checkpoint, moved).translate(["Die Katze, sie singt!"])
    (tmp_path / "moved" / "codes.bpe").unlink()
    with pytest.raises(InputError, match=r"codes\.bpe: no such file, but text was segmented"):
        load(checkpoint, moved)
    (tmp_path / "moved" / "codes.bpe").write_text("#version: 0.2\na\n")
    with pytest.raises(InputError, match=r"codes\.bpe: not a segmentation model"):
        load(checkpoint, moved)
    (tmp_path / "moved" / "manifest.json").write_text('{"files": {}, "options": {"layer": 1}}')
    with pytest.raises(InputError, match=r"manifest\.json: not the manifest of a folder for tran"):
        load(checkpoint, moved)
    (tmp_path / "moved" / "manifest.json").unlink()
    with pytest.raises(InputError, match=r"manifest\.json: no such file, .* or --segmented reads"):
        load(checkpoint, moved)
    # The parser of such a model needs none, so only the translation fails.
    model = load(STORED / "latent_tree_transformer.pt", DATA)
    assert len(model.parse(["one two"])[0]) == 2
    with pytest.raises(InputError, match=r"latent_tree_transformer\.pt: .*manifest\.json: no such"):
        model.translate(["one two"])


@pytest.mark.parametrize(
    ("options", "tokenised"),
    [
        (TextOptions(subwords=40, vocabulary_threshold=3), False),
        (TextOptions(segment="sentencepiece-unigram", tokenise="none", subwords=40), False),
        (TextOptions(segment="none", normalise="moses"), False),
        (TextOptions(segment="bpe", tokenise="none", subwords=40), True),
    ],
)
def test_raw_text_becomes_the_symbols_of_the_folder(options, tokenised, tmp_path):
    from fairseq_struct.inference.translation.raw_text import RawText

    given = corpus(tokenised)
    write_translation_folder(given, options, tmp_path / "data")
    raw = RawText(tmp_path / "data" / "data-bin", "de", "en")
    segmented = (tmp_path / "data" / "segmented" / "test.de").read_text().splitlines()
    assert [raw.symbols(pair[0]) for pair in given.splits["test"]] == [
        line.split() for line in segmented
    ]
    references = (tmp_path / "data" / "raw" / "test.en").read_text().splitlines()
    segmented = (tmp_path / "data" / "segmented" / "test.en").read_text().splitlines()
    assert [raw.text(line.split()) for line in segmented] == references
    assert raw.symbols(" \t") == []


def test_a_translation_is_text():
    (one,) = stored().translate(["one two"], n_best=2)
    assert isinstance(one, Translation) and type(one.text) is str and one == one.text
    assert one.to_dict().keys() == {
        "source", "translation", "score", "tokens", "token_scores", "alternatives",
    }  # fmt: skip
    assert repr(one).startswith(f"Translation({one.text!r}, score ")
    assert "one two" in one._repr_html_()


def test_a_translation_without_a_word_keeps_its_score_and_its_alternatives(monkeypatch):
    model = stored()
    (expected,) = model.translate(["one two"], n_best=3)
    monkeypatch.setattr(type(model.text), "text", lambda self, symbols: "")
    (one,) = model.translate(["one two"], n_best=3)
    assert one == "" and one.score == expected.score and one.tokens == expected.tokens
    assert [other.score for other in one.alternatives] == [
        other.score for other in expected.alternatives
    ]
