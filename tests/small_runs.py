"""Options of small trainings, by task, on folders of mapped_splits."""

from fairseq_commands import USER_DIR
from small_language_models import SMALL as LANGUAGE
from small_masked_models import OF_MODEL
from small_masked_models import SMALL as MASKED

TASKS = ("recurrent_language_modeling", "structured_masked_lm", "structured_classification")
CLASSIFIER = ["--task=structured_classification", "--criterion=structured_classification",
              "--embed-dim=8", "--hidden-size=8", "--chunk-size=4", "--batch-size=6",
              "--no-progress-bar", "--num-workers=0", f"--user-dir={USER_DIR}"]  # fmt: skip
OPTIONS = {
    TASKS[0]: ["--arch=on_lstm_lm", "--chunk-size=4", *LANGUAGE],
    TASKS[1]: ["--arch=udgn", *MASKED, *OF_MODEL["udgn"]],
    TASKS[2]: ["--arch=recurrent_classifier", *CLASSIFIER],
}
