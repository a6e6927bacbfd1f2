"""Pretrained encoders: a small BERT, made here, and folders that hold none."""

import builtins

import pytest
import torch
from small_bert import write_bert

from fairseq_struct.errors import DependencyError, InputError
from fairseq_struct.files.trained_words import KEY
from fairseq_struct.modules.pretrained_encoder import NO_PIECE, PretrainedEncoder

WORDS = [["red", "redder", "unheard"], ["red"]]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_bert(tmp_path_factory.mktemp("bert"))


def read(encoder):
    rows = [encoder.read_words(words) for words in WORDS]
    pieces = torch.full((2, 4, 3), NO_PIECE)
    for own, row in zip(pieces, rows, strict=True):
        own[: row.size(0), : row.size(1)] = row
    return pieces, torch.tensor([3, 1])


def test_the_first_sub_word_represents_a_word(folder):
    encoder = PretrainedEncoder(folder).eval()
    assert encoder.read_words(WORDS[0]).tolist() == [[5, -1], [5, 6], [1, -1]]
    pieces, lengths = read(encoder)
    found = encoder(pieces, lengths)
    assert found.shape == (2, 4, 12)
    for row, ids, places in ((0, [2, 5, 5, 6, 1, 3], [1, 2, 4]), (1, [2, 5, 3], [1])):
        own = encoder.encoder(input_ids=torch.tensor([ids])).last_hidden_state[0, places]
        assert (found[row, : len(places)] - own).abs().max() < 1e-5
        assert not found[row, len(places) :].any()


def test_it_is_fine_tuned(folder):
    encoder = PretrainedEncoder(folder)
    pieces, lengths = read(encoder)
    encoder(pieces, lengths).square().sum().backward()
    without = [name for name, weight in encoder.named_parameters() if weight.grad is None]
    assert not without


def test_it_can_be_built_without_memory(folder):
    with torch.device("meta"):
        encoder = PretrainedEncoder(folder)
    assert {parameter.device.type for parameter in encoder.parameters()} == {"meta"}
    full = PretrainedEncoder(folder)
    assert encoder.state_dict().keys() == full.state_dict().keys()


def test_a_parser_with_it_trains_loads_and_parses(folder, tmp_path):
    from fairseq_commands import in_this_process
    from small_treebanks import train, write_treebank

    import fairseq_struct

    data = write_treebank(tmp_path / "UD", train=8, held_out=3)
    with in_this_process():
        train(data, tmp_path / "out", f"--encoder-folder={folder}", "--max-epoch=2", "--passes=2")
    parser = fairseq_struct.load(tmp_path / "out" / "checkpoint_last.pt")
    found = torch.load(tmp_path / "out" / "checkpoint_last.pt", weights_only=True)
    assert found["task_state"][KEY] == {}  # words of any treebank are read by the encoder
    state = found["model"]
    name = "network.encoder.encoder.embeddings.word_embeddings.weight"
    assert torch.equal(parser.model.state_dict()[name], state[name])
    assert not torch.equal(PretrainedEncoder(folder).state_dict()[name[16:]], state[name])
    assert len(parser.parse(["det1 noun1 verb2", "noun2"])[0]) == 3
    with pytest.raises(InputError, match="50 sub-words, but the encoder reads at most 48"):
        parser.parse([" ".join(["red"] * 48)])


def test_positions_of_roberta_begin_after_that_of_padding(folder, tmp_path):
    import transformers

    transformers.AutoTokenizer.from_pretrained(folder).save_pretrained(tmp_path)
    config = transformers.RobertaConfig(
        vocab_size=13, hidden_size=12, num_hidden_layers=1, num_attention_heads=2,
        intermediate_size=16, max_position_embeddings=20, pad_token_id=0,
    )  # fmt: skip
    transformers.RobertaModel(config).save_pretrained(tmp_path)
    encoder = PretrainedEncoder(tmp_path)
    longest = encoder.read_words(["red"] * 17)
    assert encoder(longest[None], torch.tensor([17])).shape == (1, 17, 12)
    with pytest.raises(InputError, match="20 sub-words, but the encoder reads at most 19"):
        encoder.read_words(["red"] * 18)


def test_a_folder_without_an_encoder(folder, tmp_path):
    with pytest.raises(InputError, match="none: no such folder"):
        PretrainedEncoder(tmp_path / "none")
    with pytest.raises(InputError, match="this encoder has no tokenizer"):
        PretrainedEncoder(tmp_path)
    (tmp_path / "vocab.txt").write_text("[UNK]\n")
    with pytest.raises(InputError, match="holds no encoder that can be read"):
        PretrainedEncoder(tmp_path)


def test_transformers_missing_is_one_line_with_its_install_command(tmp_path, monkeypatch):
    real = builtins.__import__

    def without(name, *rest):
        if name.split(".")[0] == "transformers":
            raise ImportError("No module named 'transformers'")
        return real(name, *rest)

    (tmp_path / "vocab.txt").write_text("[UNK]\n")
    monkeypatch.setattr(builtins, "__import__", without)
    install = r"pip install 'fairseq-struct\[transformers\]'"
    with pytest.raises(DependencyError, match=install) as error:
        PretrainedEncoder(tmp_path)
    assert "\n" not in str(error.value)
