#!/usr/bin/env bash
# Training on two machines, tried on one: two network namespaces, joined by a cable of their own,
# with a process each, which know each other by their addresses alone. Needs root and `ip`.
#   recipes/benchmarks/scale/two_machines.sh DATA PRESET [OPTION…]
# OPTIONs are those of `fairseq-struct train`. The training is that of one process with
# --update-freq 2. What the second machine prints is shown only if it fails.

set -euo pipefail
usage="usage: two_machines.sh DATA PRESET [OPTION…]"
fail() {
    echo "error: $*" >&2
    exit 2
}
[ $# -ge 2 ] || fail "$usage"
command -v ip >/dev/null || fail "no ip here (Debian: iproute2)"
command -v torchrun >/dev/null || fail "no torchrun here: activate the environment"
data=$1 preset=$2
shift 2

first=struct_$$_a second=struct_$$_b
# shellcheck disable=SC2329  # the trap below calls it
ended() {
    ip netns pids "$second" 2>/dev/null | xargs -r kill 2>/dev/null || true
    ip netns del "$first" 2>/dev/null || true
    ip netns del "$second" 2>/dev/null || true
}
trap ended EXIT
ip netns add "$first" || fail "network namespaces need root"
ip netns add "$second"
ip -n "$first" link add cable type veth peer name cable netns "$second"
for one in "$first 10.201.0.1" "$second 10.201.0.2"; do
    read -r name address <<<"$one"
    ip -n "$name" address add "$address/24" dev cable
    ip -n "$name" link set cable up
    ip -n "$name" link set lo up
done

# on NAME RANK : the process of a machine.
on() {
    ip netns exec "$1" env GLOO_SOCKET_IFNAME=cable torchrun --nnodes 2 --node-rank "$2" \
        --nproc-per-node 1 --master-addr 10.201.0.1 --master-port 29500 --no-python \
        fairseq-struct train "$data" --preset "$preset" --cpu "${options[@]}"
}
options=("$@")
log=$(mktemp)
on "$second" 1 >"$log" 2>&1 &
status=0
on "$first" 0 || status=$?
wait $! || { cat "$log" >&2 && status=1; }
rm -f "$log"
exit "$status"
