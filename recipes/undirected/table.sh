#!/usr/bin/env bash
# All rows of an experiment, one after the other.
#   recipes/undirected/table.sh EXPERIMENT [DATA]
# EXPERIMENT is mnist, mnist_forward_only, mnist_untied, mnist_initialisation, mnist_prototypes or
# adaptive_passes, with DATA as explained in images.sh; parsing_TREEBANK, with DATA as explained in
# treebanks.sh, and the adaptive passes of its parsers; or sequence_completion, which generates its
# data. The environment is that of the recipe of the experiment. If numbers are recorded, figures
# are drawn: with mnist_prototypes figure_5_3.png, with sequence_completion figure_5_5.png and
# figure_5_6.png.

source "$(dirname "${BASH_SOURCE[0]}")/images.sh"

experiment=${1:-}
usage="table.sh EXPERIMENT [DATA]"
one_of experiment "$experiment" mnist mnist_{forward_only,untied,initialisation,prototypes} \
    adaptive_passes parsing_{af_afribooms,en_partut,hu_szeged,te_mtg} sequence_completion

# draw_prototypes : draw those of the networks of figure 5.3, for the first seed.
draw_prototypes() {
    local checkpoints=()
    train_images both 5 zero
    checkpoints+=("${folders[0]}/checkpoint_best.pt")
    train_images both 1 zero
    checkpoints+=("${folders[0]}/checkpoint_best.pt")
    train_images forward_only 1 zero
    checkpoints+=("${folders[0]}/checkpoint_best.pt")
    # The titles are the paths.
    (cd "$out" && fairseq-struct draw "${checkpoints[@]#"$out"/}" --what prototypes \
        --output "$here/figure_5_3.png")
}

# draw_completion : draw accuracy by training updates, and by updates of variables.
draw_completion() {
    python "$here/attention_figures.py" 5.5 --runs "$out/attention" --output "$here/figure_5_5.png"
    python "$here/attention_figures.py" 5.6 --records "$results" \
        --output "$here/figure_5_6.png"
}

case "$experiment" in
    mnist) for k in "${ways[@]}"; do "$here/mnist.sh" "$k" "${2:-}"; done ;;
    mnist_forward_only)
        for k in 1 2 3 4 5; do "$here/mnist.sh" "$k" "${2:-}" forward_only; done
        ;;
    mnist_untied) for k in 2 3 4 5; do "$here/mnist.sh" "$k" "${2:-}" untied; done ;;
    mnist_initialisation)
        for k in 1 2 3 4 5; do "$here/mnist_initialisation.sh" "$k" "${2:-}"; done
        ;;
    mnist_prototypes)
        for k in 1 2 3 4 5 plain; do "$here/mnist_prototypes.sh" "$k" "${2:-}"; done
        settings_of "${2:-}"
        ! recording || draw_prototypes
        ;;
    adaptive_passes) "$here/adaptive_passes.sh" mnist "${2:-}" ;;
    parsing_*)
        for k in "${ways[@]}"; do "$here/parsing.sh" "${experiment#parsing_}" "$k" "${2:-}"; done
        "$here/parsing_adaptive.sh" "${experiment#parsing_}" "${2:-}"
        ;;
    sequence_completion)
        for order in forward_backward random; do
            for k in 1 2 3 4 5 random_k; do "$here/attention.sh" "$k" "$order"; done
        done
        "$here/attention.sh" self_attention
        "$here/attention.sh" 1 forward_backward runs
        ! recording || draw_completion
        ;;
esac
