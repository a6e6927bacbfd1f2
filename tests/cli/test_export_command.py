"""``fairseq-struct export``, and verbs that read what it wrote; the model card."""

import io
import json
import shutil

import pytest
import yaml
from exported_models import checkpoint_of

from fairseq_struct.cli.main import main
from fairseq_struct.data.prepared.manifest import write_manifest
from fairseq_struct.inference.export.layout import CONFIG, WEIGHTS

RECORD = {
    "experiment": "toy", "variant": "plain", "metrics": {"accuracy": 51.5, "f1_test": 40},
    "paper": {"accuracy": 53.0}, "data": "Toy sentences: two labels", "seed": 1, "updates": 8,
    "device": "a processor", "minutes": 1.5, "command": "recipes/toy.sh plain", "version": "0.1.0",
}  # fmt: skip


@pytest.fixture
def records(tmp_path):
    path = tmp_path / "results.jsonl"
    others = [{**RECORD, "variant": "other"}, {**RECORD, "seed": 2}, RECORD]
    path.write_text("".join(f"{json.dumps(one)}\n" for one in others))
    return path


def export(arch, folder, *options):
    checkpoint, data = checkpoint_of(arch)
    return main(["export", str(checkpoint), str(folder), "--data", str(data), *map(str, options)])


def test_verbs_read_it(tmp_path, monkeypatch, capsys):
    assert export("latent_tree_classifier", tmp_path / "model") == 0
    assert capsys.readouterr().out.startswith(f"{tmp_path / 'model'}: 6 files, 0.0 MB (the check")
    checkpoint, data = checkpoint_of("latent_tree_classifier")
    for verb in ("classify", "parse"):
        said = []
        for place in ([str(checkpoint), "--data", str(data)], [str(tmp_path / "model")]):
            monkeypatch.setattr("sys.stdin", io.StringIO("a b c d\nb\n"))
            assert main([verb, *place]) == 0
            said.append(capsys.readouterr().out)
        assert said[0] == said[1] != ""


def test_the_card_has_what_the_hub_expects(tmp_path, records):
    out = tmp_path / "model"
    options = ("--records", records, "--variant", "plain")
    assert export("latent_tree_classifier", out, *options) == 0
    text = (out / "README.md").read_text()
    _, head, body = text.split("---\n", 2)
    head = yaml.safe_load(head)
    assert head["library_name"] == "fairseq-struct"
    assert head["tags"] == ["fairseq-struct", "fairseq", "latent-tree-classifier"]
    assert head["pipeline_tag"] == "text-classification"
    assert head["metrics"] == ["accuracy", "f1"]
    (index,) = head["model-index"]
    assert index["name"] == "model"
    (result,) = index["results"]
    assert result["dataset"] == {"name": RECORD["data"], "type": "toy"}
    assert [one["value"] for one in result["metrics"]] == [51.5, 40]
    parts = ("| seed | 1 |", "| updates | 8 |", "| accuracy | 51.5 | 53.0 |")
    for part in (*parts, RECORD["command"], RECORD["data"], 'fairseq_struct.load("model")'):
        assert part in body
    config = json.loads((out / "config.json").read_text())
    for name, entry in config["files"].items():
        assert f"| {name} | {entry['size']} | {entry['sha256']} |" in body
    assert config["training"]["options"]["optimizer"] == "adam"


def test_the_card_tells_how_a_generated_corpus_was_drawn(tmp_path):
    checkpoint, data = checkpoint_of("udgn")
    shutil.copytree(data, tmp_path / "trees" / "data-bin")
    write_manifest(tmp_path / "trees", {
        "preparation": "language model", "options": {"sentences": [9, 3, 3], "seed": 7},
        "generator": "fairseq_struct.data.generators.synthetic_dependencies",
    })  # fmt: skip
    folder = str(tmp_path / "trees" / "data-bin")
    assert main(["export", str(checkpoint), str(tmp_path / "m"), "--data", folder]) == 0
    told = (tmp_path / "m" / "README.md").read_text().partition("## Data\n\n")[2]
    assert told.startswith(
        "Prepared by fairseq-struct as: language model.\nDrawn by the generator "
        "`fairseq_struct.data.generators.synthetic_dependencies` with the seed 7.\n\nOptions of"
    )


def test_the_card_tells_what_a_task_without_a_folder_draws(tmp_path):
    checkpoint, _ = checkpoint_of("latent_clusters")
    assert main(["export", str(checkpoint), str(tmp_path / "m")]) == 0
    told = (tmp_path / "m" / "README.md").read_text().partition("## Data\n\n")[2]
    assert told.startswith("Drawn by the task `latent_clusters` during training, with these opt")
    options = json.loads(told.partition("```json\n")[2].partition("```")[0])
    assert options["clusters"] and "data_seed" in options


def test_an_edited_card_is_kept(tmp_path, capsys):
    out = tmp_path / "m"
    card = out / "README.md"
    assert export("udgn", out) == 0
    written = card.read_text()
    # As it was written: the new model has a new one.
    assert export("udgn", out, "--overwrite", "--half") == 0
    rounded = card.read_text()
    assert rounded != written and "rounded" in rounded
    capsys.readouterr()
    for edited in (
        rounded.replace("# license", "license: mit #"), f"{rounded}More.\n", f"{rounded}\n", "Mine",
        rounded.rpartition("<!--")[0], "\n<!--",
    ):  # fmt: skip
        card.write_text(edited)
        assert export("udgn", out, "--overwrite") == 0
        assert card.read_text() == edited
        assert capsys.readouterr().err == (
            f"{card}: was edited and is kept as it is; move it away for a new one\n"
        )
    card.unlink()
    assert export("udgn", out, "--overwrite") == 0 and card.read_text() == written


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ((), r"several records with the seed 1 (toy other, toy plain)"),
        (("--variant", "none"), "no record of the variant none with the seed 1"),
        (("--experiment", "none"), "no record of the experiment none with the seed 1"),
    ],
)
def test_records_of_other_models(tmp_path, records, capsys, options, message):
    assert export("latent_tree_classifier", tmp_path / "m", "--records", records, *options) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "m").exists()


def test_errors(tmp_path, tmp_path_factory, capsys):
    checkpoint, _ = checkpoint_of("udgn")
    run = tmp_path_factory.mktemp("run")
    for name in ("checkpoint_best.pt", "checkpoint1.pt", "train.log", WEIGHTS, CONFIG):
        (run / name).touch()
    part = f"{WEIGHTS}: is a part of an exported model; name its folder, {run}"
    for command, message in (
        ([str(run / WEIGHTS), "out"], part),
        (["none.pt", "out"], "none.pt: no such file"),
        ([str(tmp_path), "out"], "is a folder, not a file, and no exported model either"),
        ([str(checkpoint), str(checkpoint)], "udgn.pt: is a file, not a folder"),
        ([str(checkpoint), str(tmp_path / "x"), "--variant=a"], "data-bin; name it (--data FOLDER"),
        ([str(checkpoint), "x", "--records=none"], "none: no such file"),
    ):
        assert main(["export", *command]) == 2
        error = capsys.readouterr().err
        assert message in error and error.count("\n") == 1
    (run / CONFIG).unlink()
    assert main(["export", str(run), "out"]) == 2
    assert capsys.readouterr().err.endswith("; it holds checkpoint1.pt, checkpoint_best.pt\n")
    assert not list(tmp_path.iterdir())


def test_the_folder_one_is_in_is_not_replaced(tmp_path, monkeypatch, capsys):
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path / "empty")
    assert export("udgn", ".") == 2
    assert capsys.readouterr().err.startswith("error: .: is or holds the current folder")
    assert not any((tmp_path / "empty").iterdir())
