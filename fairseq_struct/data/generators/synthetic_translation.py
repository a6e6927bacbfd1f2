"""A seeded generator of English sentences with translations into an invented language.

English is head-initial here, and the invented language is head-final: verbs end the clause,
relative clauses and adpositional phrases precede their noun, adjectives and determiners follow it.
A tree makes the following easy, a window of neighbouring words does not. Verbs agree with the head
noun of the subject in number and gender, at any distance, also in the past tense, where the
English verb does not show it. Adjectives agree with their noun. Nouns mark case. An adverb of the
clause moves before its subject. ``the`` has no translation, and the past particle ``ta`` has no
English counterpart.

A noun has at most one modifier after it, and verbs are strictly subcategorised. So every English
sentence of the grammar has one tree and therefore one translation.
"""

from __future__ import annotations

import itertools
import random

from fairseq_struct.data.generators.synchronous_grammar import (
    SOURCE,
    TARGET,
    Entry,
    Grammar,
    Key,
    Node,
)
from fairseq_struct.data.readers.parallel_text import ParallelCorpus, TextOptions
from fairseq_struct.errors import InputError

# Whole words, and no sentence is dropped: tree n is the tree of line n of the text.
TEXT_OPTIONS = TextOptions(
    tokenise="none", segment="none", subwords=0, max_length=None, max_ratio=None
)

DOMAINS = {
    "N": ("sg", "pl"),
    "G": ("m", "f"),
    "K": ("nom", "obl"),  # case
    "T": ("present", "past"),
    "A": ("person", "animal"),  # agents
    "O": ("person", "animal", "thing"),  # objects of actions
    "C": ("person", "animal", "thing", "place"),
}

RECURSIVE = frozenset({"S", "RC", "PP"})

# Features: VP(number gender tense), NP and N(number gender class case), RC(number gender class).
RULES = """
    12  TOP() -> *S()                                           =>  *
     2  TOP() -> *S() conj=CC()                                 =>  * conj
     2  TOP() -> *S() advcl=AC()                                =>  advcl *
     1  CC() -> cc=CONJ() *S()                                  =>  cc *
     1  AC() -> mark=SUB() *S()                                 =>  * mark

     4  S() -> nsubj=NP(N G A nom) *VP(N G T) aux=TNS(T)        =>  nsubj * aux
     1  S() -> nsubj=NP(N G A nom) advmod=ADV() *VP(N G T) aux=TNS(T)   =>  advmod nsubj * aux

     4  VP(N G T) -> *V1(N G T)                                 =>  *
     6  VP(N G T) -> *V2(N G T) obj=NP(N2 G2 O obl)             =>  obj *
     2  VP(N G T) -> *V3(N G T) obj=NP(N2 G2 thing obl) obl=TP()    =>  obl obj *
     2  VP(N G T) -> *VC(N G T) ccomp=CP()                      =>  ccomp *
     1  CP() -> mark=COMP() *S()                                =>  * mark
     1  TP() -> case=TO() *NP(N G person obl)                   =>  * case

     6  NP(N G C K) -> det=D(N) *N(N G C K)                     =>  * det
     3  NP(N G C K) -> det=D(N) amod=A(N G) *N(N G C K)         =>  * amod det
     2  NP(N G C K) -> det=D(N) *N(N G C K) nmod=PP()           =>  nmod * det
     1  NP(N G C K) -> det=D(N) amod=A(N G) *N(N G C K) nmod=PP()   =>  nmod * amod det
     2  NP(N G C K) -> det=D(N) *N(N G C K) acl=RC(N G C)       =>  acl * det
     1  NP(N G C K) -> det=D(N) amod=A(N G) *N(N G C K) acl=RC(N G C)   =>  acl * amod det
     1  PP() -> case=P() *NP(N G place obl)                     =>  * case

     3  RC(N G A) -> mark=REL(A) *VP(N G T) aux=TNS(T)          =>  * aux mark
     2  RC(N G C) -> mark=REL(C) nsubj=NP(N2 G2 A nom) *V2(N2 G2 T) aux=TNS(T) => nsubj * aux mark
"""

NOUN_ENDINGS = {
    ("m", "sg"): ("u", "un"),
    ("m", "pl"): ("ur", "urin"),
    ("f", "sg"): ("a", "an"),
    ("f", "pl"): ("ar", "arin"),
}
VERB_ENDINGS = {("sg", "m"): "et", ("sg", "f"): "is", ("pl", "m"): "on", ("pl", "f"): "on"}
ADJECTIVE_ENDINGS = {("sg", "m"): "el", ("sg", "f"): "ila", ("pl", "m"): "ori", ("pl", "f"): "ori"}

# class, gender: singular/plural/stem of the translation
NOUNS = """
    person m: baker/bakers/tolm sailor/sailors/garv king/kings/zend doctor/doctors/prik
    person f: girl/girls/mel nurse/nurses/sovr queen/queens/lant singer/singers/tiv
    animal m: dog/dogs/brag horse/horses/kelp wolf/wolves/hurd
    animal f: cat/cats/mish goat/goats/dren mouse/mice/pif
    thing m: book/books/vosk letter/letters/nalt cup/cups/jem
    thing f: lamp/lamps/rull apple/apples/opik ring/rings/shal
    place m: river/rivers/fend tower/towers/gorst
    place f: garden/gardens/blim bridge/bridges/kavr village/villages/yus
"""
# frame: third person singular/plural/past/stem of the translation
VERBS = """
    V1: sleeps/sleep/slept/dorv sings/sing/sang/kimb laughs/laugh/laughed/hahl
    V1: waits/wait/waited/stuk dances/dance/danced/velp runs/run/ran/pram
    V2: sees/see/saw/mir follows/follow/followed/sekv greets/greet/greeted/zalud
    V2: loves/love/loved/lumr fears/fear/feared/tremb finds/find/found/obret
    V2: helps/help/helped/yutr admires/admire/admired/dimir
    V3: gives/give/gave/pordv sends/send/sent/shik shows/show/showed/klaz
    VC: thinks/think/thought/mudr says/say/said/govl believes/believe/believed/pist
"""
ADJECTIVES = """
    old/arkh young/nov tall/visk small/petr happy/rast sad/tug clever/umn lazy/slenk brave/hrab
    hungry/gald
"""
# category, features: source/target; several entries of the same features are alternatives.
WORDS = """
    ADV: often/chastu rarely/redku always/semper today/odai never/nokda
    P: near/blez behind/zadik above/supru under/podik beside/okol
    CONJ: and/ed but/aber
    SUB: because/parku when/kwan before/antik
    COMP: that/ze
    TO: to/al
    REL person: who/ke
    REL animal: that/ke
    REL thing: that/ke
    REL place: that/ke
    TNS present: /
    TNS past: /ta
    D sg: the/ the/ the/ the/ this/tos every/omni my/moi your/toi
    D pl: the/ the/ the/ the/ these/tosi many/multi two/duv my/moi your/toi
"""

UNIVERSAL_TAGS = {
    "N": "NOUN",
    "A": "ADJ",
    "D": "DET",
    "P": "ADP",
    "TO": "ADP",
    "ADV": "ADV",
    "CONJ": "CCONJ",
    "SUB": "SCONJ",
    "COMP": "SCONJ",
    "REL": "PRON",
    "TNS": "AUX",
} | dict.fromkeys(("V1", "V2", "V3", "VC"), "VERB")


def build_lexicon() -> dict[Key, list[Entry]]:
    """Inflect the tables of words into entries, by category and features."""
    lexicon: dict[Key, list[Entry]] = {}

    def add(category: str, features: tuple[str, ...], source: str, target: str) -> None:
        lexicon.setdefault((category, features), []).append(Entry(source, target))

    for (kind, gender), words in _rows(NOUNS):
        for *forms, stem in words:
            for number, source in zip(("sg", "pl"), forms, strict=True):
                for case, ending in zip(("nom", "obl"), NOUN_ENDINGS[gender, number], strict=True):
                    add("N", (number, gender, kind, case), source, stem + ending)
    for (frame,), words in _rows(VERBS):
        for singular, plural, past, stem in words:
            for (number, gender), ending in VERB_ENDINGS.items():
                present = singular if number == "sg" else plural
                add(frame, (number, gender, "present"), present, stem + ending)
                add(frame, (number, gender, "past"), past, stem + ending)
    for source, stem in (word.split("/") for word in ADJECTIVES.split()):
        for features, ending in ADJECTIVE_ENDINGS.items():
            add("A", features, source, stem + ending)
    for (category, *features), words in _rows(WORDS):
        for source, target in words:
            add(category, tuple(features), source, target)
    return lexicon


def build_grammar() -> Grammar:
    """Return the synchronous grammar of English and the invented language."""
    return Grammar.parse(RULES, build_lexicon(), DOMAINS, RECURSIVE)


def generate_corpus(
    sizes: dict[str, int], max_depth: int = 3, seed: int = 1, grammar: Grammar | None = None
) -> ParallelCorpus:
    """Draw a corpus of distinct sentences with their translations and gold trees.

    The training sentences are the first draws. Short sentences are drawn often, and are soon all
    drawn, so that the other splits have fewer of them: their sentences are longer by half a word.

    Args:
        sizes: number of sentence pairs of ``train``, ``valid`` and ``test``.
        max_depth: maximum number of nested clauses and adpositional phrases, at least 1.
        seed: the same seed gives the same corpus.
        grammar: the grammar to draw from; None for the grammar of this module.

    Raises:
        InputError: there are not enough distinct sentences of this depth.
    """
    total = sum(sizes.values())
    grammar = grammar or build_grammar()
    derivations = list(itertools.islice(_distinct(grammar, max_depth, seed, total), total))
    if len(derivations) < total:
        raise InputError(
            f"found only {len(derivations)} distinct sentences of depth {max_depth}, but {total} "
            "are needed; raise the depth or lower the sizes"
        )
    splits, companions, start = {}, {}, 0
    for split, size in sizes.items():
        part = derivations[start : start + size]
        start += size
        splits[split] = [(node.sentence(SOURCE), node.sentence(TARGET)) for node in part]
        for side, name in ((SOURCE, "src"), (TARGET, "tgt")):
            prefix = f"trees/{split}.{name}"
            companions[f"{prefix}.brackets"] = [node.brackets(side) for node in part]
            companions[f"{prefix}.conllu"] = [x for node in part for x in conllu(node, side)]
        companions[f"trees/{split}.align"] = [
            " ".join(f"{i}-{j}" for i, j in node.alignment()) for node in part
        ]
    return ParallelCorpus(
        "synthetic",
        "src",
        "tgt",
        splits,
        provenance={"seed": seed, "max_depth": max_depth},
        companions=companions,
        generator=__name__,
    )


def conllu(node: Node, side: int) -> list[str]:
    """Return the dependency tree of a sentence as lines of CoNLL-U, with a blank line at the end.

    Args:
        node: the derivation of the sentence.
        side: ``SOURCE`` or ``TARGET``.
    """
    lines = [f"# text = {node.sentence(side)}"]
    words = zip(node.leaves(side), node.dependencies(side), strict=True)
    for i, (leaf, (head, relation)) in enumerate(words, start=1):
        tag = UNIVERSAL_TAGS[leaf.category]
        columns = (i, leaf.words[side], "_", tag, leaf.category, "_", head, relation, "_", "_")
        lines.append("\t".join(map(str, columns)))
    return [*lines, ""]


def _distinct(grammar: Grammar, max_depth: int, seed: int, total: int):
    """Yield derivations of distinct source sentences, for 1000 + 20 * ``total`` draws."""
    generator = random.Random(seed)
    translations: dict[str, str] = {}
    for _ in range(1000 + 20 * total):
        node = grammar.derive("TOP", max_depth, generator)
        source, target = node.sentence(SOURCE), node.sentence(TARGET)
        known = translations.setdefault(source, "")
        if not known:
            translations[source] = target
            yield node
        elif known != target:
            raise AssertionError(f"the grammar translates {source!r} in two ways")


def _rows(table: str):
    """Yield the key of each line, split at spaces, and its words, split at slashes."""
    for line in filter(None, map(str.strip, table.splitlines())):
        key, _, words = line.partition(":")
        yield tuple(key.split()), [tuple(word.split("/")) for word in words.split()]
