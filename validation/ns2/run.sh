#!/usr/bin/env bash
# Runs the grid of validation cases in ns-2 and writes one line per run.
#
#   validation/ns2/run.sh                       figures.csv (plain ns-2)
#   validation/ns2/run.sh --jitter 10e-6        figures-jitter.csv
#   ... --cases "1 2 3"  --seeds "1 2 3"  --out FILE
#
# One process at a time, so that the CPU times mean something.  The committed
# files take five minutes each.

set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)

cases="1 3"
seeds="1 2 3"
jitter=0
out=""
while [ $# -gt 0 ]; do
    case $1 in
        --cases)  cases=$2 ;;
        --seeds)  seeds=$2 ;;
        --jitter) jitter=$2 ;;
        --out)    out=$2 ;;
        *) echo "run.sh: unknown option $1" >&2; exit 2 ;;
    esac
    shift 2
done
if [ -z "$out" ]; then
    if [ "$jitter" = 0 ]; then out=$here/figures.csv; else out=$here/figures-jitter.csv; fi
fi

if ! command -v ns >/dev/null; then
    echo "run.sh: ns-2 is not installed (Debian and Ubuntu: apt-get install ns2)" >&2
    exit 1
fi

# Runs case.tcl with the given options: its line of figures on stdout, and the
# process's user CPU time in seconds in the variable `seconds'.
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
TIMEFORMAT=%U
simulate() {
    { time ns "$here/case.tcl" -jitter "$jitter" "$@" >"$scratch/line" 2>"$scratch/errors"; } \
        2>"$scratch/seconds" || { cat "$scratch/errors" >&2; exit 1; }
    seconds=$(cat "$scratch/seconds")
}

one_run() { # case aqm tcp n seed
    local options=(-case "$1" -aqm "$2" -tcp "$3" -n "$4" -seed "$5")
    local line user
    simulate "${options[@]}"
    line=$(cat "$scratch/line")
    # Sampling the queue from Tcl adds up to 40 % and is not the simulator's
    # doing: take the times from runs without it.
    simulate "${options[@]}" -sample 0
    user=$seconds
    simulate "${options[@]}" -stop 0.001
    echo "$line,$user,$seconds" | tee -a "$partial"
}

partial=$scratch/figures.csv
echo "$(ns "$here/case.tcl" -header 1),user_s,setup_s" | tee "$partial"
for case in $cases; do
    for n in 40 400; do
        for variant in DropTail:Newreno RED:Newreno PI:Newreno REM:Newreno \
                       DropTail:Reno PI:Reno REM:Reno; do
            for seed in $seeds; do
                one_run "$case" "${variant%:*}" "${variant#*:}" "$n" "$seed"
            done
        done
    done
done
cp "$partial" "$out"
