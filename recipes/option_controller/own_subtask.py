"""Print the subtask of an option: its letter, as in option_success.py."""

import argparse
from pathlib import Path

from policies import own_options

import fairseq_struct
from fairseq_struct.errors import InputError, report_plainly


def subtask_of(tool, option: int, episodes: int) -> str:
    """The letter of the subtask of an option.

    Raises:
        InputError: the option has none: there are more options than subtasks.
    """
    letters = "".join(sorted(set("".join(tool.tasks))))
    own = own_options(tool.option_success(letters, episodes))
    if option not in own:
        raise InputError(f"option {option} has no subtask of its own")
    return letters[own.index(option)]


def main():
    report_plainly()
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("checkpoint", type=Path)
    parser.add_argument("option", type=int, help="counted from 0")
    parser.add_argument("--episodes", type=int, default=1000, help="calls for each subtask")
    args = parser.parse_args()
    tool = fairseq_struct.load(args.checkpoint, ability="rollout")
    print(subtask_of(tool, args.option, args.episodes))


if __name__ == "__main__":
    main()
