"""Truth tables of formulas of propositional logic, and the relations that follow from them."""

from collections.abc import Sequence

from fairseq_struct.data.readers.formulas.formula_trees import constituents

VARIABLES = "abcdef"
RELATIONS = ("#", "<", "=", ">", "^", "v", "|")

# A truth table is a number with a bit for each assignment of the variables.
_ROWS = 1 << len(VARIABLES)
_TRUE = (1 << _ROWS) - 1
_TABLES = {
    variable: sum(1 << row for row in range(_ROWS) if row >> place & 1)
    for place, variable in enumerate(VARIABLES)
}
_MEANINGS = {**_TABLES, "not": "not", "and": "and", "or": "or"}


def truth_table(tokens: Sequence[str]) -> int:
    """Truth table of a formula over the variables a to f; 0 if it is never true.

    Raises:
        ValueError: as for :func:`.constituents`, or a variable is none of a to f.
    """
    # What the open brackets hold: operators, tables, and (operator, table) for ( and X ).
    inside: list[list] = [[]]
    try:
        for token in tokens:
            if token == "(":
                inside.append([])
            elif token == ")":
                held = inside.pop()
                inside[-1].append(_joined(held))
            else:
                inside[-1].append(_MEANINGS[token])
        [[table]] = inside
    except (LookupError, ValueError):
        table = None
    if not isinstance(table, int):
        constituents(tokens, "proplogic")  # says where it is no formula
        raise ValueError(_foreign(tokens))
    return table


def _joined(held: list) -> int | tuple[str, int]:
    """What a bracket means."""
    match held:
        case ["not", int() as table]:
            return _TRUE ^ table
        case [int() as table, ("and", other)]:
            return table & other
        case [int() as table, ("or", other)]:
            return table | other
        case ["and" | "or" as operator, int() as table]:
            return operator, table
    raise ValueError("no formula")


def _foreign(tokens: Sequence[str]) -> str:
    known = {"(", ")", *_MEANINGS}
    place, token = next(found for found in enumerate(tokens, 1) if found[1] not in known)
    return f"{token!r} (token {place}) is none of the variables {VARIABLES}"


def relation(first: Sequence[str], second: Sequence[str]) -> str:
    """The relation of two formulas, one of the seven of Bowman et al. (2015).

    ``=`` equivalent, ``^`` each the other's negation, ``<`` the first entails the second, ``>`` the
    second the first, ``|`` never both true, ``v`` never both false, ``#`` none of these.

    Raises:
        ValueError: as for :func:`truth_table`, or a formula is always or never true, so that it
            has several relations.
    """
    one, other = truth_table(first), truth_table(second)
    if not {one, other}.isdisjoint((0, _TRUE)):
        raise ValueError("a formula is always or never true")
    if one == other or one == _TRUE ^ other:
        return "=" if one == other else "^"
    if one & other in (one, other):
        return "<" if one & other == one else ">"
    if one & other == 0:
        return "|"
    return "v" if one | other == _TRUE else "#"
