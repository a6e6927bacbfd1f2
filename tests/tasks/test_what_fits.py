"""Task, model and criterion that do not fit together are refused before training begins."""

from argparse import Namespace

import pytest
from fairseq.models import ARCH_CONFIG_REGISTRY, ARCH_MODEL_REGISTRY, BaseFairseqModel
from fairseq.tasks import TASK_REGISTRY
from fairseq_commands import USER_DIR, run

from fairseq_struct import plugin
from fairseq_struct.errors import InputError
from fairseq_struct.models.latent_clusters import LatentClustersModel
from fairseq_struct.option_checks import require_task
from fairseq_struct.tasks.latent_clusters import LatentClustersConfig, LatentClustersTask
from fairseq_struct.tasks.shared.strict_task import StrictTask

plugin.load()

ADAPTED = {"transformer_lm": ["--decoder-layers=1", "--decoder-embed-dim=8",
                              "--decoder-attention-heads=1"]}  # fmt: skip
ONE_TASK = ("latent_clusters", "structured_classification", "structured_masked_lm",
            "semantic_similarity", "image_classification", "dependency_parsing",
            "craft_imitation")  # fmt: skip


@pytest.mark.parametrize(
    ("task", "arch", "criterion", "message"),
    [
        *(("language_modeling", "transformer_lm", name, f"is for --task {name}")
          for name in ONE_TASK),
        ("language_modeling", "transformer_lm", "recurrent_language_modeling",
         "recurrent_language_modeling is for on_lstm_lm and awd_lstm_lm"),
        ("latent_clusters", "latent_clusters", "cross_entropy",
         "this task needs --criterion latent_clusters, not cross_entropy"),
        ("latent_clusters", "udgn_tiny", "latent_clusters", "is for latent_clusters, not for UDGN"),
        ("structured_masked_lm", "latent_tree_classifier", "structured_masked_lm",
         "is for masked language models such as udgn, not for LatentTreeC"),
        ("language_modeling", "latent_clusters", "cross_entropy", "is for --task latent_clusters"),
        ("language_modeling", "latent_tree_classifier", "cross_entropy",
         "is for --task structured_classification"),
        ("language_modeling", "latent_tree_entailment", "cross_entropy",
         "is for --task structured_classification"),
        ("language_modeling", "recurrent_classifier", "cross_entropy",
         "is for --task structured_classification"),
        ("language_modeling", "undirected_convnet", "cross_entropy",
         "UndirectedConvnetModel is for --task image_classification"),
        ("latent_clusters", "undirected_mlp", "latent_clusters",
         "is for latent_clusters, not for UndirectedMLPModel"),
        ("language_modeling", "undirected_parser", "cross_entropy",
         "UndirectedParserModel is for --task dependency_parsing"),
        ("language_modeling", "option_controller", "cross_entropy",
         "is for --task craft_imitation"),
        ("language_modeling", "udgn_tiny", "cross_entropy",
         "UDGNModel is for --task structured_masked_lm or semantic_similarity"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_told(language_folder, tmp_path, task, arch, criterion, message):
    data = [] if task == "latent_clusters" else [language_folder / "data-bin"]
    with pytest.raises(InputError, match=message):
        run("train", *data, f"--task={task}", f"--arch={arch}", f"--criterion={criterion}",
            *ADAPTED.get(arch, []), "--optimizer=adam", "--max-update=1", "--batch-size=4",
            "--num-workers=0", f"--save-dir={tmp_path}", f"--user-dir={USER_DIR}")  # fmt: skip
    assert not list(tmp_path.glob("*.pt")), "told only after training has begun"


class Elsewhere(BaseFairseqModel):
    """A model of another package: no class of ours."""

    @classmethod
    def build_model(cls, cfg, task):
        return cls()


class Declared(Elsewhere):
    for_tasks = ("latent_clusters",)


class Inherited(LatentClustersModel):
    @classmethod
    def build_model(cls, cfg, task):
        require_task(cls, task)
        return cls(None)


def test_models_of_other_packages_join_by_what_they_declare_or_inherit(monkeypatch):
    task = LatentClustersTask(LatentClustersConfig(clusters=2, dim=2))
    for family in (Declared, Inherited, Elsewhere):
        monkeypatch.setitem(ARCH_MODEL_REGISTRY, family.__name__, family)
        monkeypatch.setitem(ARCH_CONFIG_REGISTRY, family.__name__, lambda cfg: None)
    for family in (Declared, Inherited):
        assert type(task.build_model(Namespace(arch=family.__name__))) is family
    with pytest.raises(InputError, match="is for latent_clusters, not for Elsewhere"):
        task.build_model(Namespace(arch="Elsewhere"))
    with pytest.raises(InputError, match="^Inherited is for --task latent_clusters$"):
        Inherited.build_model(None, Namespace(clusters=2))


def test_every_task_has_models_and_no_model_names_another_task():
    own = {name for name, one in TASK_REGISTRY.items() if issubclass(one, StrictTask)}
    named = [getattr(one, "for_tasks", ()) for one in ARCH_MODEL_REGISTRY.values()]
    assert own and own == {name for names in named for name in names}
    assert all(TASK_REGISTRY[name].own_criterion == name for name in own)
