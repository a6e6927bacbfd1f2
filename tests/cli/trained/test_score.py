"""What ``score`` writes: the numbers that Python gives, and the perplexity of all sentences."""

import io
import json
import math
import warnings

import pytest
from fairseq_commands import USER_DIR, run
from stored_models import STORED

from fairseq_struct import load
from fairseq_struct.cli.main import main
from fairseq_struct.errors import InputError
from fairseq_struct.inference.results.sentence_score import SentenceScore, perplexity_of

TEXT = ["one two three", "nine four", "unheard"]
DATA = STORED / "language" / "data-bin"


@pytest.fixture
def call(tmp_path, monkeypatch, capsys):
    """Score lines; return the status, standard output and standard error."""

    def run(*options, lines=TEXT, arch="awd_lstm_lm"):
        (tmp_path / "lines").write_text("".join(f"{line}\n" for line in lines))
        with (tmp_path / "lines").open() as file:
            monkeypatch.setattr("sys.stdin", file)
            status = main(["score", str(STORED / f"{arch}.pt"), f"--data={DATA}",
                           *map(str, options)])  # fmt: skip
        said = capsys.readouterr()
        errors = said.err.splitlines(keepends=True)  # kernels may be compiled here, which is said
        return status, said.out, "".join(one for one in errors if ": compiling" not in one)

    return run


@pytest.mark.parametrize("arch", ["awd_lstm_lm", "on_lstm_lm"])
def test_it_writes_what_python_gives(call, arch, tmp_path):
    model = load(STORED / f"{arch}.pt", DATA)
    scores, perplexity = model.score(TEXT), model.perplexity(TEXT)
    assert perplexity == pytest.approx(math.exp(-sum(scores) / (3 + 2 + 1 + 3)))
    status, text, summary = call(arch=arch)
    assert status == 0
    assert text == "".join(f"{one:.6f}\t{len(one.words) + 1}\n" for one in scores)
    told = f"3 sentences, 9 words with the ends of sentences, perplexity {perplexity:.2f}; 6 of " \
           "6 words unknown to the model\n"
    assert summary == told
    assert call(f"--output={tmp_path / 'out'}", arch=arch) == (0, "", told)
    assert (tmp_path / "out").read_text() == text
    assert call("--quiet", f"--input={tmp_path / 'lines'}", arch=arch) == (0, text, "")
    lines = call("--json", arch=arch)[1].splitlines()
    assert [json.loads(line) for line in lines] == [one.to_dict() for one in scores]


def test_one_sentence_and_none(call):
    status, text, summary = call(lines=["one"])
    assert status == 0 and text.endswith("\t2\n") and summary.startswith("1 sentence, 2 words ")
    assert call(lines=[]) == (0, "", "")


def test_words_that_the_model_does_not_know(call):
    status, text, summary = call("--json", lines=["the unheard tree unseen", "in the"])
    assert status == 0 and summary.endswith("; 2 of 6 words unknown to the model\n")
    found = [json.loads(line)["unknown"] for line in text.splitlines()]
    assert found == [["unheard", "unseen"], []]


def test_a_score_appears_before_the_next_sentence_is_there():
    taken = []

    class Lines:
        """Lines of which no second one waits behind the first."""

        def __iter__(self):
            return (taken.append(line) or line for line in TEXT)

        def ready(self):
            return False

    scores = load(STORED / "awd_lstm_lm.pt", DATA).scores(Lines())
    assert next(scores).words == ("one", "two", "three") and taken == TEXT[:1]


def test_what_torch_says_of_masks_is_not_repeated(language_folder, tmp_path, monkeypatch):
    run("train", language_folder / "data-bin", "--task=language_modeling", "--arch=transformer_lm",
        "--decoder-layers=1", "--decoder-embed-dim=8", "--decoder-attention-heads=2",
        "--sample-break-mode=eos", "--optimizer=adam", "--batch-size=30", "--max-update=1",
        f"--save-dir={tmp_path}", "--disable-validation", f"--user-dir={USER_DIR}")  # fmt: skip
    monkeypatch.setattr("sys.stdin", io.StringIO("the\nthe tree sings\n"))
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        assert main(["score", f"{tmp_path}/checkpoint_last.pt", "--quiet"]) == 0
    assert not [one for one in told if "key_padding_mask" in str(one.message)]


def test_the_perplexity_of_a_model_that_diverged():
    assert perplexity_of(-1500.0, 2) == math.inf
    assert perplexity_of(-2.0, 2) == pytest.approx(math.e)
    unlikely = SentenceScore(-1500.0, ["a"], [-750.0, -750.0])
    assert unlikely.perplexity == math.inf


def test_what_it_cannot_score(call, capsys):
    status, text, error = call(lines=["one", " "])
    assert (status, text, error) == (2, "", "error: line 2: empty sentence\n")
    status, text, error = call(arch="udgn")
    assert status == 2 and text == "" and error.count("\n") == 1
    assert error.endswith("that reads from left to right; it can parse, draw, channels\n")
    assert main(["parse", str(STORED / "awd_lstm_lm.pt"), f"--data={DATA}"]) == 2
    assert capsys.readouterr().err.endswith("infers no trees; it can score, syneval\n")
    with pytest.raises(InputError, match="infers no trees; it can score, perplexity$"):
        load(STORED / "awd_lstm_lm.pt", DATA, ability="parse")
    with pytest.raises(InputError, match="left to right; it can classify$"):
        load(STORED / "recurrent_classifier.pt", STORED / "pairs" / "data-bin", ability="score")
