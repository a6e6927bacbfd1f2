# shellcheck shell=bash
# How many passes the networks of the recipes in this folder take.
#
# K is the number of passes, 1 to 5; or random_k: drawn from 1 to 5 in training, 3 at test; or
# converge: the networks of random_k, whose passes at test end by convergence.

source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"

# shellcheck disable=SC2034 # for the recipes
ways=(1 2 3 4 5 random_k converge)

# variant_of K : print the row of the tables.
variant_of() {
    case "$1" in
        [1-9]) echo "k$1" ;;
        *) echo "$1" ;;
    esac
}
