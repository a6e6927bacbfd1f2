"""Step sizes of Mihaylova's thesis in this project's convention, in presets and recipes."""

import subprocess
from argparse import Namespace

import pytest
import torch
from fairseq.data import Dictionary
from fairseq.models import ARCH_CONFIG_REGISTRY, build_model
from fairseq_commands import ROOT
from latent_structures import Decoder, trees
from omegaconf import OmegaConf
from tree_kinds import random_scores

from fairseq_struct import plugin
from fairseq_struct.errors import InputError
from fairseq_struct.models.latent_tree_entailment import LatentTreeEntailmentConfig
from fairseq_struct.structure.categorical import Categorical
from fairseq_struct.structure.pullback import PULLED_BACK, latent

plugin.load()
STRUCTURES = [
    pytest.param(Categorical, random_scores(3, 5), id="categorical"),
    pytest.param(trees, random_scores(3, 4, 4), id="trees"),
]
# Table A.1: architecture, recipe, method, eta, sentences in a batch. (STE-Identity has no eta.)
TABLE_A1 = [
    ("latent_tree_classifier_sst", "sst", "ste_identity", 1, 32),
    ("latent_tree_classifier_sst", "sst", "spigot", 0.1, 32),
    ("latent_tree_classifier_sst", "sst", "spigot_ce", 0.1, 32),
    ("latent_tree_classifier_sst", "sst", "spigot_eg", 0.1, 32),
    ("latent_tree_entailment_snli", "snli", "ste_identity", 1, 64),
    ("latent_tree_entailment_snli", "snli", "spigot", 1, 64),
    ("latent_tree_entailment_snli", "snli", "spigot_ce", 0.1, 64),
    ("latent_tree_entailment_snli", "snli", "spigot_eg", 0.001, 64),
]


@pytest.mark.parametrize(("structure", "scores"), STRUCTURES)
@pytest.mark.parametrize("method", PULLED_BACK)
@pytest.mark.parametrize("steps", [1, 2])
def test_the_step_size_of_a_batch_as_one_is_that_of_an_instance_times_their_number(
    structure, scores, method, steps
):
    """In Mihaylova's thesis: the mean loss of the batch, and the sum of its pulled-back losses."""
    batch, decoder = len(scores), Decoder(scores)

    def gradient(backward):
        """The gradient by a factor that the parser shares with the decoder."""
        shared = torch.ones((), dtype=torch.float64, requires_grad=True)
        backward(scores * shared, lambda value: decoder(value) * shared)
        return shared.grad

    def as_one(given, losses_of):
        moved, trees = given.detach(), structure(given.detach())
        start = trees.argmax if method in ("ste_identity", "spigot") else trees.marginals
        mu = start
        for _ in range(steps):
            at = mu.detach().requires_grad_()
            move = 0.4 * torch.autograd.grad(losses_of(at).mean(), at)[0] * trees.within
            if method == "ste_identity":
                mu = mu - move
            elif method == "spigot_eg":
                moved = moved - move
                mu = structure(moved).marginals
            else:
                mu = structure(mu - move).sparsemap
        (losses_of(trees.argmax).mean() + ((start - mu) * given).sum()).backward()

    def each(given, losses_of):
        result = latent(
            given, structure, method, losses_of, 0.4 / batch, steps, pullback_weight=batch
        )
        result.losses.mean().backward()

    torch.testing.assert_close(gradient(each), gradient(as_one))


@pytest.mark.parametrize(("arch", "_", "method", "eta", "batch"), TABLE_A1)
def test_presets_have_the_step_sizes_of_table_a1(arch, _, method, eta, batch):
    args = Namespace(latent_method=method)
    ARCH_CONFIG_REGISTRY[arch](args)
    assert args.pullback_step_size == pytest.approx(eta / batch, rel=1e-12)
    assert args.pullback_weight == batch
    args = Namespace(latent_method=method, pullback_step_size=0.5, pullback_weight=2.0)
    ARCH_CONFIG_REGISTRY[arch](args)
    assert (args.pullback_step_size, args.pullback_weight) == (0.5, 2.0)


def test_recipes_have_the_step_sizes_of_table_a1():
    calls = [f"step_size_of {recipe} {method} {batch}" for _, recipe, method, _, batch in TABLE_A1]
    script = f"source recipes/latent_tree/methods.sh; {'; '.join(calls)}"
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    for line, (*_, eta, batch) in zip(done.stdout.splitlines(), TABLE_A1, strict=True):
        assert float(line) == pytest.approx(eta / batch, rel=1e-9)
    # Clusters: eta 0.1, 1 and 2 for each SPIGOT, and all 5000 instances in one batch.
    calls = "settings_of_clusters; step_sizes_of spigot; step_sizes_of spigot_ce"
    script = f"source recipes/latent_clusters/methods.sh; {calls}"
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, cwd=ROOT)
    assert [float(line) for line in done.stdout.split()] == pytest.approx(
        [eta / 5000 for eta in (0.1, 1, 2)] * 2
    )


def entailment(without=(), **changes):
    """The model from a checkpoint's options, without options newer than the checkpoint."""
    options = {**vars(LatentTreeEntailmentConfig()), "_name": "latent_tree_entailment_snli",
               "embed_dim": 6, "hidden_size": 4, **changes}  # fmt: skip
    options = {name: value for name, value in options.items() if name not in without}
    task = Namespace(words=Dictionary(), label_names=["a", "b", "c"], gold=(), cfg=None,
                     own_criterion="structured_classification")  # fmt: skip
    return build_model(OmegaConf.create(options), task).network


def test_checkpoints_without_the_form_or_the_weight_have_those_of_their_time():
    assert entailment(entailment_form="thesis", pullback_weight=64.0).tree.pullback_weight == 64
    assert entailment(entailment_form="thesis").form == "thesis"
    older = entailment(without=("entailment_form", "pullback_weight"))
    assert older.form == "projected" and "project.weight" in older.state_dict()
    assert older.tree.pullback_weight == 1
    new = Namespace()
    ARCH_CONFIG_REGISTRY["latent_tree_entailment_snli"](new)
    assert new.entailment_form == "thesis"
    with pytest.raises(InputError, match="unknown --entailment-form 'x'"):
        entailment(entailment_form="x")
