"""The scripts that prepare translation data, from their command line to the files they write."""

import json
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest
from fairseq_commands import warm_python
from preparers import check_fails, contents

from fairseq_struct.data.prepared import translation_folder

ROOT = Path(__file__).parents[3]
SPLITS = ("train", "valid", "test")


def corpus_lines(lang, size, seed):
    generator = random.Random(seed)
    words = {"en": ["cat", "dogs", "sees", "seeing"], "de": ["Katze", "Hunde", "sieht", "sehen"]}
    return [
        " ".join(generator.choices(words[lang], k=generator.randint(2, 6))).capitalize() + "."
        for _ in range(size)
    ]


@pytest.fixture
def corpus(tmp_path):
    """Aligned files below ``in/``: 60 training and 5 held-out pairs."""
    for seed, (split, size) in enumerate(zip(SPLITS, (60, 5, 5), strict=True)):
        for lang in ("en", "de"):
            write(tmp_path / "in" / f"{split}.{lang}", corpus_lines(lang, size, seed))
    return tmp_path


def write(path, lines):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def plain(folder, *options):
    prefixes = [f"--{split}-pref={folder / 'in' / split}" for split in SPLITS]
    languages = ["--source-lang", "en", "--target-lang", "de"]
    subwords = [] if "none" in options else ["--subwords", "20"]
    return ["plain", str(folder / "out"), *prefixes, *languages, *subwords, *options]


def inodes(folder):
    """Return the inodes of a folder and its files; they change when a file is written again."""
    return {path: path.stat().st_ino for path in (folder, *folder.rglob("*"))}


def read(path):
    return path.read_text(encoding="utf-8").splitlines()


def test_end_to_end_with_fairseq(corpus, tmp_path):
    """The only test that runs the whole installed script, from another directory."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    with warm_python():
        done = subprocess.run(
            [sys.executable, ROOT / "preprocess" / "parallel.py", *plain(corpus)],
            cwd=elsewhere,
            capture_output=True,
            text=True,
        )
    assert (done.returncode, done.stderr) == (0, "")
    out = corpus / "out"
    assert "--tokenizer moses" in done.stdout
    assert f"--bpe subword_nmt --bpe-codes {out}/codes.bpe" in done.stdout
    assert sorted(path.name for path in out.iterdir()) == [
        "codes.bpe",
        "data-bin",
        "manifest.json",
        "raw",
        "segmented",
    ]
    from fairseq.data import Dictionary, data_utils

    dictionary = Dictionary.load(str(out / "data-bin" / "dict.de.txt"))
    for split in SPLITS:
        binary = data_utils.load_indexed_dataset(str(out / "data-bin" / f"{split}.en-de.de"))
        segmented = read(out / "segmented" / f"{split}.de")
        assert [dictionary.string(sentence) for sentence in binary] == segmented
        assert [line.replace("@@ ", "") for line in segmented] == [
            line.replace(".", " .") for line in read(out / "raw" / f"{split}.de")
        ]
    manifest = json.loads((out / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["splits"]["train"]["kept"] == 60
    assert manifest["vocabulary"]["de"] == manifest["vocabulary"]["en"] > 20
    for content in contents(out).values():
        assert os.fsencode(tmp_path) not in content


def test_same_input_same_folder_byte_for_byte(corpus, run):
    results = []
    for _ in range(2):
        assert run("parallel", plain(corpus, "--overwrite"))[0] == 0
        results.append(contents(corpus / "out"))
    assert results[0] == results[1]


def test_complete_folder_is_reused(corpus, run):
    assert run("parallel", plain(corpus))[0] == 0
    before, places = contents(corpus / "out"), inodes(corpus / "out")
    status, printed, _ = run("parallel", plain(corpus, "--workers", "2"))
    assert status == 0 and "nothing to do" in printed
    assert contents(corpus / "out") == before and inodes(corpus / "out") == places


@pytest.mark.parametrize(
    ("options", "difference"),
    [
        (["--subwords", "19"], "options: subwords (20, now 19)"),
        (["--segment", "none"], "options: segment (bpe, now none)"),
        (["--source-lang", "de", "--target-lang", "en"], "options: source_lang (en, now de)"),
    ],
)
def test_other_options_need_overwrite(corpus, run, options, difference):
    assert run("parallel", plain(corpus))[0] == 0
    before = contents(corpus / "out")
    check_fails(run("parallel", plain(corpus, *options)), difference)
    assert contents(corpus / "out") == before
    assert run("parallel", plain(corpus, *options, "--overwrite"))[0] == 0
    assert contents(corpus / "out") != before
    assert sorted(os.listdir(corpus)) == ["in", "out"]


def test_changed_text_needs_overwrite(corpus, run):
    assert run("parallel", plain(corpus))[0] == 0
    write(corpus / "in" / "valid.en", ["Something", "else", "has", "come", "in"])
    check_fails(run("parallel", plain(corpus)), "prepared with other inputs or options: valid text")


def test_foreign_folder_is_never_overwritten(corpus, run):
    write(corpus / "out" / "thesis.tex", ["years of work"])
    check_fails(run("parallel", plain(corpus, "--overwrite")), "is not a prepared folder")
    assert list(contents(corpus / "out")) == ["thesis.tex"]


@pytest.mark.parametrize(
    ("file", "content", "message"),
    [
        ("train.de", b"one\ntwo\n", "train.en has 60 lines, "),
        ("train.en", b"", "train.en: empty file"),
        ("valid.de", None, "valid.de: no such file"),
        ("test.en", b"a\nb\nc\nd\xff\ne\n", "test.en:4: not UTF-8"),
        ("test.de", b"a\nb\n\nd\ne\n", "test.de:3: blank line"),
    ],
)
def test_bad_input_is_one_line_and_leaves_nothing(corpus, run, file, content, message):
    path = corpus / "in" / file
    path.unlink() if content is None else path.write_bytes(content)
    check_fails(run("parallel", plain(corpus)), message)
    assert sorted(os.listdir(corpus)) == ["in"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--subwords", "5000"], "cannot learn 5000 merges"),
        (["--segment", "sentencepiece-bpe", "--subwords", "5000"], "cannot learn 5000 sentencep"),
        (["--max-length", "1"], "no training pair is left; dropped: {'too_long': 60}"),
        (["--target-lang", "en"], "source and target language are both 'en'"),
        (["--segment", "none", "--vocabulary-threshold", "9"], "works only with --segment bpe"),
        (["--segment", "none", "--subwords", "9"], "--subwords does not apply to --segment none"),
        (["--segment", "none", "--learn-on=9"], "--learn-on does not apply to --segment none"),
    ],
)
def test_impossible_options_leave_nothing(corpus, run, options, message):
    arguments = plain(corpus, *options)
    arguments[1] = str(corpus / "new" / "deep" / "out")
    check_fails(run("parallel", arguments), message)
    assert sorted(os.listdir(corpus)) == ["in"]


def test_interruption_keeps_only_what_goes_on(corpus, run, monkeypatch):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(translation_folder, "binarise", interrupt)
        assert run("parallel", plain(corpus))[0] == 130
    assert sorted(os.listdir(corpus)) == [".out.partial", "in"]
    status, said, _ = run("parallel", plain(corpus))
    assert status == 0 and said.startswith("going on where an interrupted run ended\n")
    assert sorted(os.listdir(corpus)) == ["in", "out"]
    with monkeypatch.context() as patch:  # nothing is finished: nothing to keep
        patch.setattr(translation_folder, "learn_segmenter", interrupt)
        assert run("parallel", [*plain(corpus), "--overwrite"])[0] == 130
    assert sorted(os.listdir(corpus)) == ["in", "out"]


def test_filter_keeps_text_and_subwords_aligned(corpus, run):
    for lang in ("en", "de"):
        path = corpus / "in" / f"train.{lang}"
        write(path, ["", f"Long {'x ' * 300}", f"Kept {lang}", *read(path)])
    assert run("parallel", plain(corpus))[0] == 0
    out = corpus / "out"
    counts = json.loads((out / "manifest.json").read_text())["splits"]["train"]
    assert (counts["read"], counts["kept"]) == (63, 61)
    assert counts["dropped"] == {"empty": 1, "too_long": 1}
    for lang in ("en", "de"):
        assert read(out / "raw" / f"train.{lang}")[0] == f"Kept {lang}"
        segmented = read(out / "segmented" / f"train.{lang}")
        assert segmented[0].replace("@@ ", "") == f"Kept {lang}"
        assert len(segmented) == 61


def test_tokenised_text_gets_a_detokenised_reference(corpus, run):
    write(corpus / "in" / "test.de", ["Hallo , Welt !"] * 5)
    assert run("parallel", plain(corpus, "--tokenised", "--segment", "none"))[0] == 0
    out = corpus / "out"
    assert read(out / "raw" / "test.de") == ["Hallo, Welt!"] * 5
    assert read(out / "segmented" / "test.de") == ["Hallo , Welt !"] * 5


def test_sentencepiece_takes_untokenised_text(corpus, run):
    options = ["--segment", "sentencepiece-unigram", "--subwords", "40"]
    status, printed, _ = run("parallel", plain(corpus, *options))
    assert status == 0
    assert "--bpe sentencepiece" in printed and "--tokenizer" not in printed
    out = corpus / "out"
    assert (out / "sentencepiece.model").is_file() and not (out / "codes.bpe").exists()
    assert [
        "".join(line.split()).replace("\u2581", " ").strip()
        for line in read(out / "segmented" / "test.de")
    ] == read(out / "raw" / "test.de")


@pytest.mark.parametrize(
    "options", [["--subwords", "0"], ["--max-ratio", "0.5"], ["--workers", "x"], ["--segment", "y"]]
)
def test_impossible_values_are_refused_by_name(corpus, run, options):
    status, _, complaint = run("parallel", plain(corpus, *options))
    assert status == 2
    assert f"argument {options[0]}" in complaint.splitlines()[-1]


def test_layout_defaults(tmp_path, run):
    names = zip(("train", "val", "test_2016_flickr"), (400, 5, 5), strict=True)
    for seed, (name, size) in enumerate(names):
        for lang in ("en", "de"):
            write(tmp_path / "in" / f"{name}.{lang}", corpus_lines(lang, size, seed))
    arguments = ["multi30k", tmp_path / "in", tmp_path / "out"]
    check_fails(run("parallel", arguments), "cannot learn 10000 merges")
    assert run("parallel", [*arguments, "--subwords", "20"])[0] == 0
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert (manifest["source_lang"], manifest["target_lang"]) == ("en", "de")
    assert manifest["options"]["tokenise"] == "moses"
