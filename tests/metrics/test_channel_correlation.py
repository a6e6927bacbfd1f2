"""Correlation of channels with types of dependencies."""

import io
from collections import Counter

import numpy as np
import pytest
import torch
from small_language_models import make_folder
from small_masked_models import train

from fairseq_struct.cli.main import main
from fairseq_struct.data.readers.conllu import Sentence, to_conllu
from fairseq_struct.errors import InputError
from fairseq_struct.inference import ArcChannels, load_masked_model
from fairseq_struct.metrics.channel_correlation import ChannelCorrelation

TREES = [
    Sentence("the cats sing".split(), (2, 3, 0), 1, ("DET", "NOUN", "VERB"),
             ("det", "nsubj", "root")),
    Sentence("the dog in the house runs .".split(), (2, 6, 5, 5, 2, 0, 6), 5,
             ("DET", "NOUN", "ADP", "DET", "NOUN", "VERB", "PUNCT"),
             ("det", "nsubj:outer", "case", "det", "nmod", "root", "punct")),
    Sentence(("run",), (0,), 13, ("VERB",), ("root",)),
]  # fmt: skip


def test_correlations_are_numpy_s_whatever_the_parts():
    draw = np.random.default_rng(1)
    shares = draw.random((50, 4))
    types = draw.choice(["det", "nsubj", "obj"], 50, p=[0.5, 0.3, 0.2]).tolist()
    found = ChannelCorrelation(4)
    for start, end in ((0, 20), (20, 21), (21, 50)):
        found.add(shares[start:end], types[start:end])
    names = found.types()
    assert [found.counts[name] for name in names] == sorted(Counter(types).values(), reverse=True)
    indicators = np.array([[float(one == name) for one in types] for name in names])
    expected = np.corrcoef(indicators, shares.T)[:3, 3:]
    np.testing.assert_allclose(found.correlations(names), expected, atol=1e-12)
    assert found.types(2) == names[:2]


def test_what_never_varies_correlates_with_nothing():
    found = ChannelCorrelation(2)
    found.add([[0.7, 0.1], [0.7, 0.2], [0.7, 0.4]], ["det", "det", "obj"])
    assert found.correlations(["det"])[0, 0] == 0.0
    assert found.correlations(["obj"])[0, 1] > 0.5
    one = ChannelCorrelation(1)
    one.add([[0.1], [0.9]], ["det", "det"])
    assert one.correlations(["det"]).tolist() == [[0.0]]


def test_wrong_shares_are_refused():
    with pytest.raises(ValueError, match="at least one channel"):
        ChannelCorrelation(0)
    found = ChannelCorrelation(2)
    with pytest.raises(ValueError, match=r"shares of shape \(1, 3\), not \(1, 2\)"):
        found.add([[0.1, 0.2, 0.3]], ["det"])
    with pytest.raises(ValueError, match="finite"):
        found.add([[0.1, np.nan]], ["det"])


@pytest.fixture(scope="module")
def checkpoints(tmp_path_factory):
    folder = make_folder(tmp_path_factory.mktemp("channels"))
    paths = {}
    for arch in ("udgn", "structformer", "masked_transformer"):
        paths[arch] = tmp_path_factory.mktemp(arch)
        train(folder, paths[arch], "--max-update=3", "--max-epoch=1", "--disable-validation",
              arch=arch)  # fmt: skip
    return {arch: path / "checkpoint_last.pt" for arch, path in paths.items()}


@pytest.mark.parametrize("arch", ["udgn", "structformer", "masked_transformer"])
def test_a_channel_counts_what_the_parent_takes_from_the_child(checkpoints, arch):
    model, words = load_masked_model(checkpoints[arch])
    found = ArcChannels(model, words)
    rows = list(found.arcs(TREES))
    assert found.names == ["1.1", "1.2", "2.1", "2.2"]
    assert [types for _, types in rows] == [
        ["det", "nsubj"], ["det", "nsubj:outer", "case", "det", "nmod", "punct"]
    ]  # fmt: skip
    tokens = torch.tensor([[words.index(word) for word in TREES[0].words]])
    with torch.no_grad():
        layers = model.shares(tokens, torch.tensor([3]))
    for row, (child, parent) in enumerate(((0, 1), (1, 2))):
        alone = torch.cat([layer[0, :, parent, child] for layer in layers])
        torch.testing.assert_close(rows[0][0][row], alone)


def test_attention_of_a_transformer_is_what_its_layers_use(checkpoints):
    model, words = load_masked_model(checkpoints["masked_transformer"])
    tokens = torch.tensor([[words.index(word) for word in "the dog runs".split()]])
    encoder, lengths = model.network.encoder, torch.tensor([3])
    with torch.no_grad():
        first = encoder.shares(tokens, lengths)[0]
        layer = encoder.layers.layers[0]
        given = encoder.embedding(tokens) + encoder.positions.weight[:3]
        attention = layer.self_attn
        query, key, value = (
            nn_part.unflatten(-1, (2, -1)).transpose(1, 2)
            for nn_part in torch.nn.functional.linear(
                layer.norm1(given), attention.in_proj_weight, attention.in_proj_bias
            ).chunk(3, -1)
        )
        expected = (query @ key.mT * key.size(-1) ** -0.5).softmax(-1)
        torch.testing.assert_close(first, expected)
        messages = attention.out_proj((expected @ value).transpose(1, 2).flatten(2))
        torch.testing.assert_close(given + messages + layer._ff_block(
            layer.norm2(given + messages)), layer(given))  # fmt: skip


def run_channels(capsys, *arguments):
    status = main(["channels", *map(str, arguments)])
    output = capsys.readouterr()
    return status, output.out, output.err


def write_treebank(path, trees=TREES):
    path.write_text("".join(
        to_conllu(tree.words, tree.heads, (), tree.tags, tree.relations) for tree in trees
    ))  # fmt: skip
    return path


def test_table_and_picture(checkpoints, tmp_path, capsys):
    treebank = write_treebank(tmp_path / "gold.conllu")
    table, png = tmp_path / "table.tsv", tmp_path / "map.png"
    status, out, _ = run_channels(
        capsys, checkpoints["udgn"], treebank, "--types=2", "--table", table, "--png", png
    )
    assert status == 0
    rows = [line.split() for line in out.splitlines()]
    assert rows[0] == ["type", "arcs", "channel", "correlation"]
    assert [row[:2] for row in rows[1:]] == [["det", "3"], ["nsubj", "2"]]  # with nsubj:outer
    header, *lines = (line.split("\t") for line in table.read_text().splitlines())
    assert header == ["type", "arcs", "1.1", "1.2", "2.1", "2.2"]
    for row, line in zip(rows[1:], lines, strict=True):
        values = dict(zip(header[2:], map(float, line[2:]), strict=True))
        assert max(values, key=values.get) == row[2]
        assert f"{values[row[2]]:.2f}" == row[3]
    assert png.read_bytes()[:4] == b"\x89PNG"
    out = run_channels(capsys, checkpoints["udgn"], treebank, "--subtypes", "--keep-punctuation")[1]
    assert "nsubj:outer" in out and "punct" in out


def test_bad_input_is_told_before_the_work(checkpoints, tmp_path, capsys, monkeypatch):
    checkpoint, gold = checkpoints["udgn"], write_treebank(tmp_path / "gold.conllu")
    lone = write_treebank(tmp_path / "lone.conllu", TREES[2:])
    bare = tmp_path / "bare.conllu"
    bare.write_text("1\tcats\t_\tNOUN\t_\t_\t0\t_\t_\t_\n")
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    for arguments, message in (
        ((checkpoint, tmp_path / "no.conllu"), "no such file"),
        ((checkpoint, gold, "--types=0"), "--types must be 1 or more"),
        ((checkpoint, gold, "--png", tmp_path / "no" / "map.png"), "no such folder"),
        ((checkpoint, gold, "--png", tmp_path / "map.jpg"), "map.jpg: --png ends in .png"),
        ((checkpoint, lone), "no arc between two words"),
        ((checkpoint, bare), "bare.conllu:1: no relations, so arcs have no types"),
        ((checkpoint, gold, "--longest-sentence=5"), "gold.conllu:5: 6 words, more than the 5 all"),
        ((gold, gold), "gold.conllu"),
    ):
        status, _, err = run_channels(capsys, *arguments)
        assert status == 2 and message in err, (message, err)


def test_other_models_are_refused(language_models):
    with pytest.raises(InputError, match="is not a masked language model"):
        load_masked_model(next(iter(language_models.values())) / "checkpoint_last.pt")
