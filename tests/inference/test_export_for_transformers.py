"""Translation models as models of ``transformers``, compared in that library itself."""

import json

import pytest
import torch
from exported_models import checkpoint_of
from scheduled_sampling_models import toy_batch, toy_model, toy_task

import fairseq_struct
from fairseq_struct.data.prepared.vocabulary.subwords import SentencePiece
from fairseq_struct.errors import InputError
from fairseq_struct.inference.export.transformers_model import fsmt_of
from fairseq_struct.inference.restoring import restore

pytest.importorskip("transformers", reason="the optional package transformers is not installed")

SEPARATE = {"share_all_embeddings": False}
SIZES = [
    {},
    {**SEPARATE, "share_decoder_input_output_embed": True},
    {**SEPARATE, "decoder_layers": 3, "decoder_attention_heads": 4, "decoder_ffn_embed_dim": 8},
    {"encoder_layers": 1, "no_scale_embedding": True, "activation_fn": "gelu"},
]


def given_to_equal(batch):
    """The source as the other library takes it."""
    source = batch["src_tokens"]
    return {"input_ids": source, "attention_mask": source.ne(1).long()}


def searched(model, batch, beam):
    """The best translations of fairseq's beam search, without end symbols."""
    from fairseq.sequence_generator import SequenceGenerator

    search = SequenceGenerator(
        [model], toy_task().target_dictionary, beam_size=beam, max_len_a=0, max_len_b=30
    )
    found = search.generate([model], {"net_input": batch})
    return [one[0]["tokens"].tolist() for one in found]


@pytest.mark.parametrize("options", SIZES)
def test_scores_are_the_same(options):
    model = toy_model(**options).eval()
    batch = toy_batch()["net_input"]
    inputs = batch["prev_output_tokens"]
    with torch.no_grad():
        expected, _ = model(**batch)
        given = given_to_equal(batch)
        found = fsmt_of(model)(**given, decoder_input_ids=inputs, use_cache=False).logits
    assert (found - expected)[inputs.ne(1)].abs().max() < 1e-5
    assert expected.std() > 0.1


@pytest.mark.parametrize("options", SIZES)
def test_translations_are_the_same(options):
    model = toy_model(**options).eval()
    torch.manual_seed(5)
    with torch.no_grad():  # a new model would repeat one word without end
        for name, value in model.named_parameters():
            if value.dim() > 1:
                value.normal_(std=2.0 if "encoder_attn" in name or "embed" in name else 0.3)
        end = model.decoder.output_projection.weight[2]
        model.decoder.layers[-1].final_layer_norm.bias.copy_(0.3 * end)
    equal = fsmt_of(model)
    batch = toy_batch((3,) * 6, (5, 7, 2, 6, 9, 4))["net_input"]
    batch.pop("prev_output_tokens")
    for beam in (1, 5):
        rows = equal.generate(**given_to_equal(batch), num_beams=beam, max_length=32).tolist()
        best = [[word for word in row[1:] if word != 1] for row in rows]
        assert best == searched(model, batch, beam)
        assert len(set(map(tuple, best))) > 1


def test_the_folder_is_loaded_by_its_name(tmp_path):
    from transformers import AutoModelForSeq2SeqLM

    checkpoint, data = checkpoint_of("scheduled_sampling_transformer")
    out = fairseq_struct.export(checkpoint, tmp_path / "hf", data=data, format="transformers")
    equal = AutoModelForSeq2SeqLM.from_pretrained(out)
    found = restore(checkpoint, data)
    source = torch.tensor([[1, 1, 5, 6, 7, 2], [8, 9, 4, 6, 5, 2]])
    inputs = torch.tensor([[2, 4, 5], [2, 6, 7]])
    with torch.no_grad():
        ours, _ = found.model.eval()(source, source.ne(1).sum(1), inputs)
        theirs = equal(
            source, attention_mask=source.ne(1).long(), decoder_input_ids=inputs, use_cache=False
        ).logits
    assert (ours - theirs).abs().max() < 1e-5
    symbols = json.loads((out / "source_vocab.json").read_text())
    assert symbols == found.task.source_dictionary.indices
    card = (out / "README.md").read_text()
    assert "library_name: transformers" in card and "There is no equal tokenizer" in card
    with pytest.raises(InputError, match="is no exported model of fairseq-struct but a fsmt"):
        fairseq_struct.load(out)
    again = fairseq_struct.export(checkpoint, out, data=data, overwrite=True)
    assert not (again / "export.json").exists()
    assert fairseq_struct.load(again, ability="translate", segmented=True)


def test_raw_text_with_a_sentencepiece_model(tmp_path):
    from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

    lines = ["the cats in the house sing", "a cat sings", "houses of cats", "sing, the house!"]
    checkpoint = _checkpoint_of_pieces(tmp_path, lines)
    ours = fairseq_struct.load(checkpoint, ability="translate")
    out = fairseq_struct.export(checkpoint, tmp_path / "hf", format="transformers")
    model, tokenizer = (
        AutoModelForSeq2SeqLM.from_pretrained(out),
        AutoTokenizer.from_pretrained(out),
    )
    batch = tokenizer(lines, return_tensors="pt", padding=True)
    for row, line in zip(batch["input_ids"].tolist(), lines, strict=True):
        symbols = [ours.source.index(symbol) for symbol in ours.text.symbols(line)]
        assert [word for word in row if word != 1] == [*symbols, ours.source.eos()]
    found = tokenizer.batch_decode(model.generate(**batch, max_length=14), skip_special_tokens=True)
    expected = ours.translate(lines, max_len_a=0, max_len_b=12)
    assert found == [one.text for one in expected]
    assert any(found)


def _checkpoint_of_pieces(tmp_path, lines):
    """The stored model with other dictionaries, those of a sentencepiece model."""
    from fairseq.data import Dictionary

    data = tmp_path / "prepared" / "data-bin"
    data.mkdir(parents=True)
    pieces = SentencePiece.learn(lines, 22, "unigram")
    pieces.save(data.parent)
    words = Dictionary()
    for line in lines:
        for piece in pieces.encode(line, "en").split():
            words.add_symbol(piece)
    for language in ("src", "tgt"):
        words.save(str(data / f"dict.{language}.txt"))
    options = {"normalise": "unicode", "tokenise": "none", "segment": "sentencepiece-unigram"}
    manifest = {"preparation": "translation", "options": options, "files": {}}
    (data.parent / "manifest.json").write_text(json.dumps(manifest))
    checkpoint, _ = checkpoint_of("scheduled_sampling_transformer")
    state = torch.load(checkpoint, weights_only=True)
    state["cfg"]["task"]["data"] = str(data)
    torch.manual_seed(3)
    for name, value in state["model"].items():
        if value.dim() > 1:
            size = (len(words), *value.shape[1:]) if "embed" in name or "output" in name else None
            state["model"][name] = torch.randn(size or value.shape)
    # Symbols that are no text have low scores.
    state["model"]["decoder.layers.0.final_layer_norm.bias"][:] = 1.0
    output = state["model"]["decoder.output_projection.weight"]
    output[[0, 3]] = -3.0
    output[2] += 1.0
    torch.save(state, tmp_path / "checkpoint.pt")
    return tmp_path / "checkpoint.pt"


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"encoder_normalize_before": True}, "normalised before"),
        ({"decoder_learned_pos": True}, "its positions are not sinusoidal"),
        ({"layernorm_embedding": True}, "further layer norms"),
        ({"activation_fn": "tanh"}, "its activation is tanh"),
        ({**SEPARATE, "decoder_output_dim": 8}, "embeddings of another size"),
    ],
)
def test_transformers_without_an_equal(options, reason):
    with pytest.raises(InputError, match=reason):
        fsmt_of(toy_model(**options))


@pytest.mark.parametrize("arch", ["udgn", "latent_tree_transformer"])
def test_architectures_without_an_equal(arch, tmp_path):
    checkpoint, data = checkpoint_of(arch)
    with pytest.raises(InputError, match="no equal in transformers, .* scheduled_sampling_tra"):
        fairseq_struct.export(checkpoint, tmp_path / "hf", data=data, format="transformers")
    assert not list(tmp_path.iterdir())


def test_fairseq_s_own_transformer_has_one():
    from fairseq.models.transformer import TransformerModel

    assert fsmt_of(toy_model(TransformerModel)).config.d_model == 16
