#!/usr/bin/env bash
# Sentiment on SST by latent trees, some of which are given: a parser of another treebank parses the
# training sentences, and SHARE percent of them are trained with the parser's tree (--heads-path).
# Mihaylova's thesis proposes to pretrain the parser of a model by itself (section 6.2), and has no
# such results.
#   recipes/latent_tree/gold_trees.sh SHARE DATA TREEBANK
# SHARE is 0, 10, 50 or 100. DATA is that of sst.sh, whose runs are those of SHARE 0. TREEBANK is a
# folder with *-train.conllu, *-dev.conllu and *-test.conllu, of Universal Dependencies; DATA and
# TREEBANK are needed once. A biaffine parser over word vectors from scratch is trained on it, with
# seed 1. Trees with crossing arcs, which the classifier cannot build, are left out. The method is
# marginals. The environment is explained in methods.sh. Further environment:
#   PARSER_EPOCHS  epochs of the parser (default: 25)
#   HEADS_WEIGHT   weight of the log-likelihood of a given tree beside the loss of the label
#                  (default: 1, that of the option)

source "$(dirname "${BASH_SOURCE[0]}")/methods.sh"

share=${1:-} data=${2:-} treebank=${3:-}
usage="gold_trees.sh SHARE [DATA TREEBANK]"
one_of SHARE "$share" 0 10 50 100
parser_epochs=25 heads_weight=1
numbers PARSER_EPOCHS
setting HEADS_WEIGHT
settings_of sst

# parse_sentences : train the parser, and parse the sentences of $prepared to $parsed.
parse_sentences() {
    local seed=1 epochs="" found split sentences
    local parser=$parsed/parser
    if [ -e "$parsed/test.conllu" ]; then
        [ -z "$treebank" ] || [ "$(basename "$(realpath "$treebank")")" = "$(cat "$parsed/treebank")" ] ||
            fail "$parsed has trees of a parser of $(cat "$parsed/treebank"): choose another OUT"
        return
    fi
    [ -n "$treebank" ] || fail "name the folder of the treebank"$'\n'"usage: $usage"
    found=("$treebank"/*-train.conllu)
    [ -f "${found[0]}" ] || fail "$treebank: no file *-train.conllu"
    sentences=$(grep -c $'^1\t' "${found[0]}")
    train "$parser" "$treebank" --preset undirected_parser_ud_cpu --passes 1 --no-max-update \
        --total-num-update $((parser_epochs * ((sentences + 19) / 20))) --max-epoch "$parser_epochs"
    basename "$(realpath "$treebank")" >"$parsed/treebank"
    for split in train test; do
        fairseq-struct parse "$parser/checkpoint_best.pt" --roots single \
            <"$prepared/text/$split.sentence1" >"$parsed/$split.part"
        mv "$parsed/$split.part" "$parsed/$split.conllu"
    done
}

parsed=$out/sst/parsed.epochs_$parser_epochs
prepare_data sst "$data"
parse_sentences
given=()
if [ "$share" != 0 ]; then
    trees=share_$share.parser_epochs_$parser_epochs.weight_$heads_weight
    python "$here/given_trees.py" "$parsed/train.conllu" "$share" "$parsed/$share.conllu"
    given=(--heads-path "$parsed/$share.conllu" --heads-weight "$heads_weight")
fi
train_method sst latent_tree_classifier_sst 32 marginals "$data" "${given[@]}"
score "$here/summarise.py" "$share DATA TREEBANK" --experiment sst_gold_trees --variant "$share" \
    --runs "${folders[@]}" --parsed "$parsed/test.conllu" --data "SST, two labels, marginals, \
$embeddings embeddings, parser of $(cat "$parsed/treebank"); test set, epoch of the best validation \
accuracy"
