"""Every owner's layout, as tiny corpora written in that layout."""

import gzip
import os
from pathlib import Path

import pytest

from fairseq_struct.data.readers.translation_corpora import LAYOUTS, TANAKA_TEST_PAIRS, read_plain
from fairseq_struct.errors import InputError

IWSLT_HEADER = """\
<url>http://www.ted.com/talks/x</url>
<keywords>talks, science</keywords>
<speaker>Jane Doe</speaker>
<talkid>1</talkid>
<title>A title in {lang}</title>
<description>TED Talk Subtitles: {lang}.</description>
"""


def write(folder: Path, files: dict[str, str]) -> Path:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
    return folder


def evaluation_set(lang, documents):
    """An evaluation file: numbered segments in documents, not escaped consistently."""
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', "<mteval>", f'<refset trglang="{lang}">']
    for name, segments in documents.items():
        lines += [f'<doc docid="{name}" genre="lectures">', f"<title>{name}</title>"]
        lines += [f'<seg id="{i}"> {text} </seg>' for i, text in enumerate(segments, start=1)]
        lines.append("</doc>")
    return "\n".join([*lines, "</refset>", "</mteval>", ""])


@pytest.fixture
def iwslt(tmp_path):
    files = {}
    for lang, (one, two, three) in {
        "de": ("Vielen Dank.", "Das ist <i>gut</i>.", "Ja."),
        "en": ("Thank you.", "That's <i>good</i>.", "Yes."),
    }.items():
        tail = "<reviewer>A</reviewer>\n" if lang == "en" else "<translator>B</translator>\n"
        header = IWSLT_HEADER.format(lang=lang)
        files[f"de-en/train.tags.de-en.{lang}"] = (
            f" {header}{one}\n{two}\n{tail}{header}{three}\n<translator>C</translator>\n"
        )
        for name in ("dev2010", *(f"tst{year}" for year in range(2010, 2016))):
            files[f"de-en/IWSLT17.TED.{name}.de-en.{lang}.xml"] = evaluation_set(
                lang, {"7": [f"{lang} {name} R&D", f"{lang} A &amp; B"], "9": [f"{lang} last"]}
            )
    return write(tmp_path, files)


@pytest.fixture
def multi30k(tmp_path):
    names = ("train", "val", "test_2016_flickr")
    return write(tmp_path, {f"{x}.{y}": f"{x} {y}\n" for x in names for y in ("en", "de")})


def in_memory(splits):
    return {split: list(pairs) for split, pairs in splits.items()}


def test_multi30k(tmp_path):
    names = {"train": "train", "valid": "val", "test": "test_2016_flickr"}
    for split, name in names.items():
        write(
            tmp_path, {f"{name}.{x}": f"{split} {x} one\n{split} {x} two\n" for x in ("de", "fr")}
        )
    corpus = LAYOUTS["multi30k"].read(tmp_path, "fr", "de")
    assert in_memory(corpus.splits) == {
        s: [(f"{s} fr one", f"{s} de one"), (f"{s} fr two", f"{s} de two")] for s in names
    }
    assert not corpus.tokenised


@pytest.mark.parametrize(
    ("name", "files"),
    [("multi30k", "multi30k"), ("iwslt17_de_en", "iwslt"), ("kftt_ja_en", "kftt")],
)
def test_every_file_may_be_compressed(request, tmp_path, name, files):
    request.getfixturevalue(files)  # writes to tmp_path
    layout = LAYOUTS[name]
    plain = layout.read(tmp_path, *layout.languages[:2])
    expected = in_memory(plain.splits), in_memory(plain.references), plain.provenance
    for path in [path for path in tmp_path.rglob("*") if path.is_file()]:
        path.with_name(f"{path.name}.gz").write_bytes(gzip.compress(path.read_bytes()))
        path.unlink()
    packed = layout.read(tmp_path, *layout.languages[:2])
    assert (in_memory(packed.splits), in_memory(packed.references), packed.provenance) == expected


@pytest.mark.parametrize("below", [".", "de-en"])
def test_iwslt17_from_its_folder_or_its_parent(iwslt, below):
    corpus = LAYOUTS["iwslt17_de_en"].read(iwslt / below, "de", "en")
    assert corpus.splits["train"] == [
        ("Vielen Dank.", "Thank you."),
        ("Das ist <i>gut</i>.", "That's <i>good</i>."),
        ("Ja.", "Yes."),
    ]
    assert [[text.strip() for text in pair] for pair in corpus.splits["valid"]] == [
        ["de dev2010 R&D", "en dev2010 R&D"],
        ["de A & B", "en A & B"],
        ["de last", "en last"],
    ]
    tests = [pair[1].split()[1] for pair in corpus.splits["test"][::3]]
    assert tests == [f"tst{year}" for year in range(2010, 2016)]


def test_iwslt17_other_direction_and_sets(iwslt):
    corpus = LAYOUTS["iwslt17_de_en"].read(iwslt, "en", "de", ("tst2011", "dev2010"), ("tst2015",))
    assert corpus.splits["train"][0] == ("Thank you.", "Vielen Dank.")
    assert [p[0].split()[1] for p in corpus.splits["valid"][::3]] == ["tst2011", "dev2010"]
    assert len(corpus.splits["test"]) == 3
    assert corpus.provenance == {"valid_sets": "tst2011 dev2010", "test_sets": "tst2015"}


def test_iwslt17_sides_must_agree(iwslt):
    path = iwslt / "de-en" / "train.tags.de-en.en"
    path.write_text(path.read_text() + "One more.\n")
    with pytest.raises(InputError, match=r"de-en\.de has 3 lines, .*de-en\.en has 4"):
        LAYOUTS["iwslt17_de_en"].read(iwslt, "de", "en")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (evaluation_set("en", {"7": ["a", "b", "c"]}), "different segments"),
        (evaluation_set("en", {"7": ["a", " "], "9": ["c"]}), r"en\.xml:7: segment 2 is blank"),
        ("<mteval></mteval>\n", "no <seg"),
    ],
)
def test_iwslt17_bad_evaluation_set(iwslt, content, message):
    write(iwslt, {"de-en/IWSLT17.TED.tst2012.de-en.en.xml": content})
    with pytest.raises(InputError, match=message):
        LAYOUTS["iwslt17_de_en"].read(iwslt, "de", "en")


@pytest.fixture
def kftt(tmp_path):
    files = {}
    for lang, word in (("ja", "京都 の"), ("en", "kyoto 's")):
        for split in ("train", "train.cln", "dev", "test"):
            files[f"kftt-data-1.0/data/tok/kyoto-{split}.{lang}"] = f"{word} {split}\n"
        for split in ("dev", "test"):
            raw = f"{word.replace(' ', '')} {split}\n"
            files[f"kftt-data-1.0/data/orig/kyoto-{split}.{lang}"] = raw
    return write(tmp_path, files)


def test_kftt(kftt):
    corpus = LAYOUTS["kftt_ja_en"].read(kftt, "ja", "en")
    assert corpus.tokenised
    assert in_memory(corpus.splits) == {
        "train": [("京都 の train.cln", "kyoto 's train.cln")],
        "valid": [("京都 の dev", "kyoto 's dev")],
        "test": [("京都 の test", "kyoto 's test")],
    }
    assert in_memory(corpus.references) == {
        "valid": [("京都の dev", "kyoto's dev")],
        "test": [("京都の test", "kyoto's test")],
    }
    again = LAYOUTS["kftt_ja_en"].read(kftt / "kftt-data-1.0", "ja", "en")
    assert in_memory(again.splits) == in_memory(corpus.splits)


def test_kftt_falls_back_to_the_uncleaned_text_and_says_so(kftt):
    for lang in ("ja", "en"):
        (kftt / f"kftt-data-1.0/data/tok/kyoto-train.cln.{lang}").unlink()
    corpus = LAYOUTS["kftt_ja_en"].read(kftt, "en", "ja")
    assert list(corpus.splits["train"]) == [("kyoto 's train", "京都 の train")]
    assert corpus.provenance == {"train": "kyoto-train"}


def test_kftt_references_must_match_the_tokenised_text(kftt):
    for lang in ("ja", "en"):
        write(kftt, {f"kftt-data-1.0/data/orig/kyoto-test.{lang}": "a\nb\n"})
    with pytest.raises(InputError, match=r"tok/kyoto-test has 1 lines, .*orig/kyoto-test has 2"):
        LAYOUTS["kftt_ja_en"].read(kftt, "ja", "en")


def tanaka(folder, pairs):
    lines = range(pairs)
    for lang in ("ja", "en"):
        train = "".join(f"{lang} {i} .\n" for i in lines)
        write(folder, {f"train.{lang}": train, f"dev.{lang}": f"{lang} dev .\n"})
    return folder


def test_tanaka_keeps_its_last_pairs_for_the_test(tmp_path):
    corpus = LAYOUTS["tanaka_ja_en"].read(tanaka(tmp_path, TANAKA_TEST_PAIRS + 3), "ja", "en")
    assert [len(corpus.splits[s]) for s in ("train", "valid", "test")] == [3, 1, TANAKA_TEST_PAIRS]
    assert corpus.splits["test"][0] == ("ja 3 .", "en 3 .")
    assert corpus.tokenised
    assert "last 500" in corpus.provenance["test"]


def test_tanaka_too_small(tmp_path):
    with pytest.raises(InputError, match="500 pairs are too few: the last 500"):
        LAYOUTS["tanaka_ja_en"].read(tanaka(tmp_path, TANAKA_TEST_PAIRS), "ja", "en")


def test_tanaka_blank_test_sentence_is_located(tmp_path):
    tanaka(tmp_path, TANAKA_TEST_PAIRS + 3)
    lines = (tmp_path / "train.en").read_text().splitlines(keepends=True)
    lines[4] = "\n"
    write(tmp_path, {"train.en": "".join(lines)})
    with pytest.raises(InputError, match=r"train\.en:5: blank line"):
        LAYOUTS["tanaka_ja_en"].read(tmp_path, "ja", "en")


def test_plain_prefixes_may_contain_dots(tmp_path):
    for split in ("train", "valid", "test"):
        write(tmp_path, {f"v1.2/{split}.tok.{x}": f"{split} {x}\n" for x in ("aa", "bb")})
    prefixes = {s: str(tmp_path / "v1.2" / f"{s}.tok") for s in ("train", "valid", "test")}
    corpus = read_plain(prefixes, "bb", "aa", tokenised=True)
    assert list(corpus.splits["valid"]) == [("valid bb", "valid aa")]


@pytest.mark.parametrize("language", ["../en", "/en", "", ".", "..", "en/", "e n", ".en"])
def test_plain_languages_are_endings_of_files(language):
    for languages in ((language, "de"), ("de", language)):
        with pytest.raises(InputError, match="is not a language: file names end in it"):
            read_plain({"train": "x", "valid": "x", "test": "x"}, *languages)


@pytest.mark.parametrize("prefix", ["", "/", "..", "nowhere/"])
def test_plain_prefixes_without_a_name_are_missing_files(prefix):
    with pytest.raises(InputError, match=r"\.pt-br: no such file"):
        read_plain(dict.fromkeys(("train", "valid", "test"), prefix), "pt-br", "tok.en")


@pytest.mark.parametrize("name", LAYOUTS)
def test_wrong_folder_says_what_is_missing(name, tmp_path):
    languages = LAYOUTS[name].languages[:2]
    with pytest.raises(InputError, match="has no .*" + languages[0]):
        LAYOUTS[name].read(tmp_path, *languages)
    with pytest.raises(InputError, match="no such folder"):
        LAYOUTS[name].read(tmp_path / "absent", *languages)


@pytest.mark.data
@pytest.mark.skipif(
    not (Path(os.environ.get("DATA") or "absent") / "multi30k").is_dir(),
    reason="DATA names no folder that holds multi30k",
)
def test_real_multi30k():
    corpus = LAYOUTS["multi30k"].read(Path(os.environ["DATA"]) / "multi30k", "en", "de")
    assert {split: len(pairs) for split, pairs in corpus.splits.items()} == {
        "train": 29000,
        "valid": 1014,
        "test": 1000,
    }
    assert next(iter(corpus.splits["train"])) == (
        "Two young, White males are outside near many bushes.",
        "Zwei junge weiße Männer sind im Freien in der Nähe vieler Büsche.",
    )
