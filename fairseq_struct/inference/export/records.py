"""The record of results that belongs to a trained model, for its card."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fairseq_struct.errors import InputError
from fairseq_struct.records.results import RESULTS, Result, read_results


def record_of(
    checkpoint: Path, facts: Mapping[str, Any], records: str | Path | None = None,
    variant: str | None = None, experiment: str | None = None,
) -> Result | None:  # fmt: skip
    """The record of a checkpoint's run.

    Without ``records``, the file ``results.jsonl`` beside the checkpoint is read, if there is one,
    and its record counts only if it is the only one of this seed and number of updates.

    Args:
        checkpoint: path of the checkpoint.
        facts: its training (:func:`.training_facts`); records of another seed are of other models.
        records: a file ``results.jsonl``.
        variant, experiment: of the record, if the file has several of this seed.

    Raises:
        InputError: the file has no such record, or several.
    """
    wanted = {"variant": variant, "experiment": experiment}
    wanted = {name: value for name, value in wanted.items() if value is not None}
    if records is None:
        if wanted:
            raise InputError(f"--{next(iter(wanted))} needs --records")
        beside = checkpoint.parent / RESULTS
        found = read_results(beside) if beside.is_file() else []
        own = [one for one in found if _is_of(one, facts) and one.updates == facts["updates"]]
        return own[0] if len(own) == 1 else None
    found = [one for one in read_results(records) if _is_of(one, facts)]
    found = [one for one in found if all(getattr(one, k) == v for k, v in wanted.items())]
    exact = [one for one in found if one.updates == facts["updates"]]
    found = exact or found
    asked = "".join(f" of the {name} {value}" for name, value in wanted.items())
    if not found:
        raise InputError(f"{records}: no record{asked} with the seed {facts['seed']}")
    if len(found) > 1:
        several = ", ".join(dict.fromkeys(f"{one.experiment} {one.variant}" for one in found))
        raise InputError(
            f"{records}: several records{asked} with the seed {facts['seed']} ({several[:200]}); "
            "choose with --variant and --experiment"
        )
    return found[0]


def _is_of(record: Result, facts: Mapping[str, Any]) -> bool:
    return record.seed == facts["seed"]
