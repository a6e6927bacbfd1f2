"""Records of an experiment that nobody ran, and the cells of a table."""

from fairseq_struct.records.results import Result


def result(variant="top_k", **changes):
    """A record, with other fields where ``changes`` names them."""
    values = {
        "experiment": "toy",
        "variant": variant,
        "metrics": {"bleu_dev": 30.5, "bleu_test": 29.25},
        "data": "toy data",
        "device": "a processor, 1 thread",
        "updates": 10,
        "command": f"recipes/toy.sh {variant} DATA",
    }
    return Result(**{**values, **changes})


def grid(table):
    """The cells of each line of a table."""
    lines = [line for line in table.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
