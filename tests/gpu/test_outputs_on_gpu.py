"""What a GPU puts out is what a CPU does."""

import json
import re

import pytest
import torch
from fairseq_commands import USER_DIR, in_this_process, run
from gpu import DEVICE, exact_products, needs_gpu
from stored_models import MODELS, OUTPUTS, STORED, outputs_of

from fairseq_struct.modules.on_lstm import ONLSTM
from fairseq_struct.modules.on_lstm.gpu_sequence import works

pytestmark = needs_gpu
NUMBER = re.compile(r"-?\d+\.\d+")
# It draws its actions, from the GPU's own source.
PLAYS = "option_policy"


@pytest.mark.parametrize("arch", [arch for arch in MODELS if arch != PLAYS])
def test_a_stored_model_gives_the_same_numbers(arch):
    exact_products()
    expected = json.loads(OUTPUTS.read_text())[arch]
    with in_this_process():
        found = outputs_of(arch, f"--device={DEVICE}")
    assert found["validation"] == pytest.approx(expected["validation"], abs=0.0021)
    assert found.keys() == expected.keys()
    for verb in expected.keys() - {"validation"}:
        ours, theirs = "\n".join(found[verb]), "\n".join(expected[verb])
        assert NUMBER.sub("#", ours) == NUMBER.sub("#", theirs)
        numbers = [list(map(float, NUMBER.findall(text))) for text in (ours, theirs)]
        assert numbers[0] == pytest.approx(numbers[1], abs=0.0011)


@pytest.mark.parametrize("arch", ["scheduled_sampling_transformer", "latent_tree_transformer"])
def test_translations_are_the_same(arch):
    def translations(*options):
        with in_this_process():
            text = run(
                "generate", STORED / "translation" / "data-bin", f"--user-dir={USER_DIR}",
                f"--path={STORED / arch}.pt", "--source-lang=src", "--target-lang=tgt",
                "--gen-subset=valid", "--num-workers=0", "--required-batch-size-multiple=1",
                "--max-tokens=200", *options,
            )  # fmt: skip
        return sorted(re.findall(r"^(H-\d+)\t.*\t(.*)$", text, re.MULTILINE))

    exact_products()
    found = translations()
    assert len(found) == 8 and found == translations("--cpu")


def where_triton_runs(dtype: torch.dtype):
    """Skip a test of its kernels elsewhere, where layers run step by step."""
    if not works(torch.empty(0, device=DEVICE).device, dtype):
        pytest.skip(f"Triton does not run here in {dtype}")


TOLERANCE = {torch.float64: 1e-9, torch.float32: 1e-4, torch.float16: 0.02, torch.bfloat16: 0.1}


@pytest.mark.parametrize("lengths", [None, [9, 0, 4, 1]])
@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize(("size", "chunk"), [(8, 2), (15, 5), (7, 1), (8, 8), (60, 10)])
def test_on_lstm_layers_do_what_their_steps_do(size, chunk, dtype, lengths):
    exact_products()
    where_triton_runs(dtype)
    torch.manual_seed(1)
    network = ONLSTM(6, [size, size], chunk_size=chunk).to(DEVICE, dtype)
    inputs, weights = (torch.randn(9, 4, wide, device=DEVICE).to(dtype) for wide in (6, size))
    start = torch.randn(2, 2, 4, size, device=DEVICE).to(dtype)
    found = {}
    for fused in (True, False):
        network.fused = fused
        network.zero_grad()
        given, state = inputs.clone().requires_grad_(), start.clone().requires_grad_()
        made = network.run(given, (tuple(state[0]), tuple(state[1])), lengths)
        value = (made.output * weights).sum() + sum(end.sin().sum() for end in made.state[0])
        (value + sum(end.cos().sum() for end in made.state[1])).backward()
        found[fused] = [
            made.output, made.layers[0], *made.state[0], *made.state[1], made.distances,
            given.grad, state.grad, *(weight.grad for weight in network.parameters()),
        ]  # fmt: skip
    for ours, theirs in zip(found[True], found[False], strict=True):
        scale = TOLERANCE[dtype]
        torch.testing.assert_close(ours.double(), theirs.double(), rtol=scale, atol=scale)


def test_on_lstm_layers_are_in_float32_under_autocast():
    exact_products()
    where_triton_runs(torch.float32)
    torch.manual_seed(1)
    network = ONLSTM(6, [12, 8], chunk_size=4).to(DEVICE)
    inputs = torch.randn(9, 4, 6, device=DEVICE)
    expected = network.run(inputs)
    with torch.autocast(DEVICE, torch.float16):
        found = network.run(inputs)
    assert found.output.dtype == torch.float32
    torch.testing.assert_close(found.output, expected.output)


def test_an_end_does_not_keep_all_steps():
    where_triton_runs(torch.float32)
    made = ONLSTM(6, [8], chunk_size=2).to(DEVICE).run(torch.randn(50, 4, 6, device=DEVICE))
    for end in (*made.state[0], *made.state[1]):
        assert end.untyped_storage().nbytes() == 4 * 8 * 4


def test_gradients_of_gradients_are_refused():
    where_triton_runs(torch.float32)
    network = ONLSTM(2, 4, chunk_size=2).to(DEVICE)
    given = torch.randn(3, 2, 2, device=DEVICE, requires_grad=True)
    with pytest.raises(RuntimeError, match="fused=False"):
        torch.autograd.grad(network(given)[0].sum(), given, create_graph=True)
