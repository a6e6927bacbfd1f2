"""``fairseq-struct evaluate`` of dependency trees, and scores of a parser in training."""

import gzip
import json
import lzma

import pytest
import torch

from fairseq_struct.cli.main import main
from fairseq_struct.data.readers.conllu import to_conllu
from fairseq_struct.evaluation.dependencies import score_parser, trivial_heads

GOLD = "The\tDT\t2\ndog\tNN\t3\nbarks\tVBZ\t0\n,\t,\t3\nloudly\tRB\t4\n\nYes\tUH\t0\n.\t.\t1\n"


@pytest.fixture
def files(tmp_path):
    (tmp_path / "gold.dp").write_text(GOLD)
    return tmp_path


def evaluate(capsys, *arguments):
    status = main(["evaluate", *map(str, arguments)])
    output = capsys.readouterr()
    return status, output.out, output.err


def write(path, *trees):
    path.write_text("".join(to_conllu(words.split(), heads) for words, heads in trees))
    return path


def test_words_alone(files, capsys):
    """Gold heads without the comma: 2, 3, 0, 3, and a sentence of one word."""
    ours = write(files / "ours.conllu", ("the dog barks loudly", [2, 0, 2, 3]), ("yes", [0]))
    status, out, _ = evaluate(capsys, files / "gold.dp", ours, "--json")
    values = json.loads(out)
    assert status == 0 and values["sentences"] == 2 and values["words"] == 5
    assert values["uas"] == 60 and values["uuas"] == 100
    assert "removed by tag" in values["policy"]


def test_with_punctuation_and_the_same_without(files, capsys):
    trees = [("The dog barks , loudly", [2, 3, 0, 5, 3]), ("Yes .", [0, 1])]
    ours = write(files / "ours.conllu", *trees)
    values = json.loads(evaluate(capsys, files / "gold.dp", ours, "--json")[1])
    assert values["uas"] == values["uuas"] == 100
    kept = evaluate(capsys, files / "gold.dp", ours, "--json", "--keep-punctuation")[1]
    assert json.loads(kept)["uas"] == pytest.approx(100 * 5 / 7, abs=0.01)


@pytest.mark.parametrize(("chain", "uas"), [("right_chain", 40), ("left_chain", 60)])
def test_chains(files, capsys, chain, uas):
    values = json.loads(evaluate(capsys, files / "gold.dp", chain, "--json")[1])
    assert values["uas"] == uas and values["uuas"] == 100
    assert evaluate(capsys, files, "random", "--longest=1")[1].startswith("sentences      1\n")


def test_what_no_gold_tree_has_gets_no_score(files, capsys):
    one = write(files / "one.conllu", ("yes", [0]), ("no", [0]))
    values = json.loads(evaluate(capsys, one, one, "--json", "--keep-punctuation")[1])
    assert values.keys() == {
        "sentences", "words", "uas", "modifier_count", "exact_match", "policy",
    }  # fmt: skip
    assert values["uas"] == values["modifier_count"] == values["exact_match"] == 100
    assert "a share of nothing (UUAS of sentences of one word) is left out" in values["policy"]


def test_files_that_do_not_fit(files, capsys):
    other = write(files / "x.conllu", ("the cat barks loudly", [2, 0, 2, 3]), ("yes", [0]))
    assert "x.conllu:1: the words differ from" in evaluate(capsys, files / "gold.dp", other)[2]
    short = write(files / "y.conllu", ("yes", [0]))
    assert "1 trees, but" in evaluate(capsys, files / "gold.dp", short)[2]
    assert "no sentence is left" in evaluate(capsys, files / "gold.dp", other, "--longest=0")[2]


def test_a_file_may_be_compressed_or_standard_input(files, capsys, monkeypatch):
    expected = evaluate(capsys, files / "gold.dp", files / "gold.dp")
    assert expected[0] == 0
    gold = [("The dog barks , loudly".split(), (2, 3, 0, 3, 4)), ("Yes .".split(), (0, 1))]
    text = "".join(to_conllu(*one) for one in gold)
    (files / "gold.dp.gz").write_bytes(gzip.compress(GOLD.encode()))
    for name, pack in (("x.conllu.xz", lzma.compress), ("x.gz", gzip.compress)):
        (files / name).write_bytes(pack(text.encode()))
        assert evaluate(capsys, files / "gold.dp.gz", files / name) == expected
    (files / "text").write_text(text)
    for pair in ((files / "gold.dp.gz", "-"), ("-", "right_chain", "--keep-punctuation")):
        with open(files / "text") as stream:
            monkeypatch.setattr("sys.stdin", stream)
            status, _, error = evaluate(capsys, *pair)
        assert (status, error) == (0, "")
    (files / "text").write_text(text + "3\tx\n")
    with open(files / "text") as stream:
        monkeypatch.setattr("sys.stdin", stream)
        status, _, error = evaluate(capsys, files / "gold.dp", "-")
    assert status == 2 and error == "error: standard input:10: 2 columns; CoNLL-U has 10\n"
    message = "error: only one of the two files can be standard input\n"
    assert evaluate(capsys, "-", "-") == (2, "", message)
    (files / "torn.gz").write_bytes(gzip.compress(GOLD.encode())[:-9])
    status, _, error = evaluate(capsys, files / "torn.gz", "random")
    assert status == 2 and "torn.gz: cannot be decompressed" in error and error.count("\n") == 1


def sure_of(heads):
    """Arc scores (n, n) of a parser that is sure of these heads."""
    scores = torch.zeros(len(heads), len(heads))
    for modifier, head in enumerate(heads):
        scores[head - 1 if head else modifier, modifier] = 9
    return scores


@pytest.mark.parametrize("batch_words", [1, 7, 4000])
def test_a_parser_is_scored_in_batches_of_any_size(batch_words):
    """Of 8 words 5 have the right head, and all 5 arcs between words are found."""
    gold = [[2, 0, 2], [0], [2, 3, 0, 3]]
    ours = [[2, 0, 2], [0], [0, 1, 2, 3]]  # right: 3, 1, and the last word of the third
    words = [torch.arange(4, 4 + len(heads)) for heads in gold]
    found = {len(heads): sure_of(heads) for heads in ours}
    sizes = []

    def arc_scores(tokens, lengths):
        assert ((tokens == 1).sum(1) == tokens.size(1) - lengths).all()
        sizes.append(tokens.numel())
        result = torch.zeros(*tokens.shape, tokens.size(1))
        for row, n in zip(result, lengths.tolist(), strict=True):
            row[:n, :n] = found[n]
        return result

    scores = score_parser(arc_scores, list(zip(words, gold, strict=True)), 1, "cpu", batch_words)
    assert max(sizes) <= max(batch_words, 4) and len(sizes) == {1: 3, 7: 2, 4000: 1}[batch_words]
    assert scores["uas"] == scores["uas_argmax_root"] == pytest.approx(100 * 5 / 8)
    assert scores["uuas"] == 100 and scores.keys() == {
        f"{kind}{name}" for kind in ("uas", "uuas") for name in ("", "_argmax", "_argmax_root")
    }


def test_random_heads_are_those_of_their_seed():
    first, again, other = (trivial_heads("random", seed) for seed in (1, 1, 2))
    drawn = [[make(9) for _ in range(3)] for make in (first, again, other)]
    assert drawn[0] == drawn[1] != drawn[2] and drawn[0][0] != drawn[0][1]


def test_a_parser_is_scored_on_every_word():
    gold = [(torch.tensor([4, 5, 6]), [2, 0])]
    with pytest.raises(ValueError, match="^sentence 0 has 3 words, but 2 heads"):
        score_parser(lambda tokens, lengths: torch.zeros(1, 3, 3), gold, 1)
