"""Outputs and records of the recipes' scoring scripts."""

import pytest
from fairseq_commands import ROOT, start

from fairseq_struct.errors import InputError
from fairseq_struct.records.paper_values import paper_values
from fairseq_struct.records.results import read_results
from fairseq_struct.records.scoring import publish, scoring_options, seed_of


def test_a_line_over_all_runs_and_a_record_for_each(tmp_path, capsys):
    (tmp_path / "table_1.tsv").write_text("variant\ttoy accuracy\ttoy f1\na\t90.5\t\nb\t1\t2\n")
    results = tmp_path / "results.jsonl"
    options = ["--experiment=toy", "--variant=a", "--scale=reduced", "--data=toys", "--command=x"]
    args = scoring_options(None).parse_args([*options, f"--results={results}"])
    scores = {1: 80.0, 2: 83.0}
    runs = [{"metrics": {"accuracy": value}, "seed": seed} for seed, value in scores.items()]
    publish(args, runs, folder=tmp_path, updates=7)
    assert capsys.readouterr().out == (
        "toy a: accuracy 81.50 ± 2.12  (2 seeds)  (paper: accuracy 90.50)\n"
    )
    records = read_results(results)
    assert [(one.seed, one.metrics["accuracy"]) for one in records] == [(1, 80.0), (2, 83.0)]
    one = records[0]
    assert (one.paper, one.updates, one.data, one.command) == ({"accuracy": 90.5}, 7, "toys", "x")
    assert one.device
    args.results = None
    publish(args, runs[:1], folder=tmp_path, paper=False)
    assert capsys.readouterr().out == "toy a: accuracy 80.00  (paper: -)\n"
    assert read_results(results) == records


@pytest.mark.parametrize("text", ["row\ttoy a\nx\t3\n", "variant\ttoy a\n\nx\t3,5\n"])
def test_a_table_of_a_paper_that_is_malformed_is_named(tmp_path, text):
    (tmp_path / "table_1.tsv").write_text(text)
    line = len(text.splitlines())
    with pytest.raises(InputError, match=rf"table_1\.tsv:{line}: no row of a variant with numbers"):
        paper_values(tmp_path, "toy", "x")


def test_the_papers_numbers_lie_beside_the_recipes():
    def of(system, *what):
        return paper_values(ROOT / "recipes" / system, *what)

    assert of("scheduled_sampling", "kftt_ja_en", "top_k")["bleu_test"] == 20.24
    assert of("latent_clusters", "clusters_3", "gold")["v_measure_stderr"] == 0
    assert of("latent_tree", "sst", "spigot") == {"accuracy": 83.52}
    assert of("latent_tree", "sst", "baseline") == {}
    assert of("on_lstm", "wsj_parsing", "left_branching") == {
        "f1_sentence": 9.0, "f1_sentence_wsj10": 19.6, "depth": 12.4,
    }  # fmt: skip
    assert of("udgn", "wsj_sample", "structformer") == {"uas": 46.2}
    assert of("udgn", "ablation", "no_gates")["ppl"] == 69.5
    assert of("udgn", "sts", "udgn")["average"] == 76.77
    assert of("udgn", "nothing", "udgn") == {}


def test_the_seed_of_a_run_is_in_its_folder(tmp_path):
    assert seed_of(tmp_path / "updates_9" / "seed_12") == 12


def test_score_prints_the_papers_row_and_appends_a_record(tmp_path):
    for name in ("raw", "out"):
        (tmp_path / name).mkdir()
        for split in ("valid", "test"):
            (tmp_path / name / f"{split}.en").write_text("one two three four five\n")
    log = tmp_path / "train.log"
    entries = [
        'train_inner | {"epoch": 1, "update": 0.3, "num_updates": "3", "train_wall": "90"}',
        'valid | {"epoch": 1, "valid_bleu": "41.5", "valid_num_updates": "3"}',
        'valid | {"epoch": 2, "valid_bleu": "40.25", "valid_num_updates": "5"}',
        'train_inner | {"epoch": 2, "update": 1.1, "num_updates": "5", "train_wall": "30"}',
        'train_inner | {"epoch": 2, "update": 1.1, "num_updates": "5", "train_wall": "30"}',
        'train | {"epoch": 2, "train_num_updates": "5", "train_train_wall": "120"}',
    ]
    log.write_text("".join(f"2020-01-01 | INFO | {entry}\n" for entry in entries))
    command = [
        "python", ROOT / "recipes/scheduled_sampling/score.py", "--experiment",
        "kftt_ja_en", "--variant", "top_k", "--seed", "3", "--updates", "5", "--scale", "reduced",
        "--data", "toy", "--references", tmp_path / "raw", "--translations", tmp_path / "out",
        "--target-lang", "en", "--logs", log, "--command", "x", "--results",
        tmp_path / "results.jsonl",
    ]  # fmt: skip
    last = start(*command).communicate()[0].splitlines()[-1]
    assert last == (
        "kftt_ja_en top_k: bleu_dev 100.00  bleu_test 100.00  bleu_dev_greedy_last 40.25  "
        "best_update 3  (paper: bleu_dev 18.46, bleu_test 20.24)"
    )
    (record,) = read_results(tmp_path / "results.jsonl")
    assert record.metrics == {
        "bleu_dev": 100.0,
        "bleu_test": 100.0,
        "bleu_dev_greedy_last": 40.25,
        "best_update": 3,
    }
    assert record.paper == {"bleu_dev": 18.46, "bleu_test": 20.24}
    assert (record.minutes, record.seed) == (2.0, 3)


def test_score_by_length_and_by_beam(tmp_path):
    """The third of the longest references is translated badly, and so is one sentence by beam 1."""
    short, middle, long = ("one two three four", "one two three four five six", "a b c d e f g h i")
    references = [long, short, middle] * 2
    for name, lines in (
        ("raw", references),
        ("out", ["x", short, middle] * 2),
        ("greedy", ["x", short, middle, "x", short, "y"]),
    ):
        (tmp_path / name).mkdir()
        for split in ("valid", "test"):
            (tmp_path / name / f"{split}.en").write_text("".join(f"{line}\n" for line in lines))
    (tmp_path / "log").write_text('2020-01-01 | INFO | train_inner | {"epoch": 1, "update": 0.3, '
                                  '"num_updates": "3", "train_wall": "90"}\n')  # fmt: skip
    done = start(
        "python", ROOT / "recipes/scheduled_sampling/score.py", "--experiment", "toy",
        "--variant", "top_k", "--seed", "1", "--updates", "5", "--scale", "reduced",
        "--references", tmp_path / "raw", "--translations", tmp_path / "out", "--greedy",
        tmp_path / "greedy", "--target-lang", "en", "--logs", tmp_path / "log", "--command", "x",
        "--results", tmp_path / "results.jsonl",
    )  # fmt: skip
    done.communicate()
    first, second = read_results(tmp_path / "results.jsonl")
    assert (first.experiment, second.experiment) == ("toy", "toy_by_length")
    found = second.metrics
    assert (found["bleu_short"], found["bleu_middle"], found["bleu_long"]) == (100, 100, 0)
    assert found["bleu_beam_5"] == first.metrics["bleu_test"] > found["bleu_beam_1"] > 0
