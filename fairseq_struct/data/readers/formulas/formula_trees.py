"""Gold trees of formulas, which their own brackets tell: propositional logic and ListOps.

A formula of ``proplogic`` is a variable, ``( not X )`` or ``( X ( and Y ) )``, ``or`` likewise, as
in the files of Bowman et al. (2015). An expression of ``listops`` is a digit or a list such as
``[MAX 2 9 [MIN 4 7 ] 0 ]``, whose binary tree branches to the left within each list, as in the
files of Nangia and Bowman (2018).
"""

from collections.abc import Callable, Sequence

Span = tuple[int, int]

LOGICAL_OPERATORS = ("not", "and", "or")
LIST_OPERATORS = ("[MIN", "[MAX", "[MED", "[SM")
DIGITS = tuple("0123456789")

# What a bracket of propositional logic may hold, and what it then is itself.
_FORMULA, _PHRASE = "formula", "phrase"
_BRACKETS = {
    ("not", _FORMULA): _FORMULA,
    ("and", _FORMULA): _PHRASE,
    ("or", _FORMULA): _PHRASE,
    (_FORMULA, _PHRASE): _FORMULA,
}


def constituents(tokens: Sequence[str], kind: str) -> list[Span]:
    """Spans (start, end) of the gold tree over token positions, ``end`` excluded.

    A span comes before the spans inside it. Every leaf is a span of one token. Round brackets are
    no leaves and have no span, but lie inside the span of their constituent: ``( d ( and e ) )``
    has (0, 7), (1, 2), (2, 6), (3, 4) and (4, 5). In ListOps every token is a leaf.

    Args:
        tokens: of one sentence.
        kind: ``proplogic`` or ``listops``.

    Raises:
        ValueError: the tokens are no formula of this kind; with the token and its place, from 1.
            Or the kind is unknown.
    """
    if kind not in KINDS:
        raise ValueError(f"there are gold trees of {' and '.join(KINDS)}, not of {kind!r}")
    if not tokens:
        raise ValueError("there is no tree over no words")
    return sorted(_KINDS[kind](tokens), key=lambda span: (span[0], -span[1]))


def leaves(tokens: Sequence[str]) -> list[int]:
    """Places of the tokens that are leaves of a tree: all but the round brackets of a formula.

    Sentences that are no formula of ``proplogic`` have no such brackets: all tokens are leaves.
    """
    try:
        spans = constituents(tokens, "proplogic")
    except ValueError:
        return list(range(len(tokens)))
    return [start for start, end in spans if end - start == 1]


def _logic(tokens: Sequence[str]) -> list[Span]:
    spans: list[Span] = []
    inside: list[tuple[int, list[str]]] = [(0, [])]  # start and contents of the open brackets
    for place, token in enumerate(tokens):
        if token == "(":
            inside.append((place, []))
            continue
        if token == ")":
            if len(inside) == 1:
                raise ValueError(f"{_at(tokens, place)} closes no bracket")
            start, held = inside.pop()
            found = _BRACKETS.get(tuple(held))
            if found is None:
                what = "neither ( not X ) nor ( X ( and Y ) ) nor ( X ( or Y ) )"
                raise ValueError(f"{_at(tokens, start)} holds {what if held else 'nothing'}")
        else:
            start, found = place, token if token in LOGICAL_OPERATORS else _FORMULA
            if found == _FORMULA and not (len(token) == 1 and token.isalpha()):
                raise ValueError(f"{_at(tokens, place)} is neither an operator nor a variable")
        spans.append((start, place + 1))
        inside[-1][1].append(found)
        if len(inside) == 1 and inside[0][1] != [_FORMULA]:
            raise ValueError(f"{_at(tokens, start)} has no place in a formula")
    if len(inside) > 1:
        raise ValueError(f"{_at(tokens, inside[-1][0])} is not closed")
    return spans


def _list(tokens: Sequence[str]) -> list[Span]:
    spans: list[Span] = []
    inside: list[int] = []  # starts of the open lists
    for place, token in enumerate(tokens):
        if place and not inside:
            raise ValueError(f"{_at(tokens, place)} stands after the end of the expression")
        start = place
        spans.append((place, place + 1))
        if token in LIST_OPERATORS:
            inside.append(place)
            continue
        if token == "]":
            if not inside:
                raise ValueError(f"{_at(tokens, place)} closes no list")
            start = inside.pop()
            if start == place - 1:
                raise ValueError(f"{_at(tokens, start)} is the operator of an empty list")
            spans.append((start, place + 1))
        elif token not in DIGITS:
            raise ValueError(
                f"{_at(tokens, place)} is neither a digit nor one of {' '.join(LIST_OPERATORS)} ]"
            )
        if inside:  # the part of the list from its operator to this argument
            spans.append((inside[-1], place + 1))
    if inside:
        raise ValueError(f"{_at(tokens, inside[-1])} is the operator of a list that is not closed")
    return spans


def _at(tokens: Sequence[str], place: int) -> str:
    return f"{tokens[place]!r} (token {place + 1})"


_KINDS: dict[str, Callable[[Sequence[str]], list[Span]]] = {"proplogic": _logic, "listops": _list}
KINDS = tuple(_KINDS)
