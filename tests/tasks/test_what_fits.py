"""Task, model and criterion that do not fit together are refused before training begins."""

import pytest
from fairseq_commands import USER_DIR, run

from fairseq_struct.errors import InputError

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
         "is for --task image_classification"),
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
