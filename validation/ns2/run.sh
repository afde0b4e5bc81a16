#!/usr/bin/env bash
# Runs the grid of validation cases in ns-2 and writes one line per run.
#
#   validation/ns2/run.sh                       figures.csv (plain ns-2)
#   validation/ns2/run.sh --jitter 10e-6        figures-jitter.csv
#   ... --cases "1 2 3"  --seeds "1 2 3"  --out FILE
#   ... --keep FILE    copies the runs that FILE has and makes only the others
#   ... --times 1      CPU times too: two more runs of each
#
# One process at a time, so that the CPU times mean something.  Either committed
# file takes about twenty minutes.

set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)

cases="1 2 3"
seeds="1 2 3"
# Of the rows whose few drops differ much from seed to seed; see seeds_of.
more_seeds="1 2 3 4 5 6 7 8 9 10"
jitter=0
times=0
keep=""
out=""
while [ $# -gt 0 ]; do
    case $1 in
        --cases)  cases=$2 ;;
        --seeds)  seeds=$2; more_seeds=$2 ;;
        --jitter) jitter=$2 ;;
        --times)  times=$2 ;;
        --keep)   keep=$(realpath "$2") ;;
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

one_run() { # case aqm ecn tcp n seed
    local options=(-case "$1" -aqm "$2" -ecn "$3" -tcp "$4" -n "$5" -seed "$6")
    local line user="" setup=""
    if [ -n "$keep" ] && grep "^$1,$2,$3,$4,$5,$6," "$keep" | tee -a "$partial"; then return; fi
    simulate "${options[@]}"
    line=$(cat "$scratch/line")
    if [ "$times" = 1 ]; then
        # Sampling the queue from Tcl adds up to 40 % and is not the simulator's
        # doing: take the times from runs without it.
        simulate "${options[@]}" -sample 0
        user=$seconds
        simulate "${options[@]}" -stop 0.001
        setup=$seconds
    fi
    echo "$line,$user,$setup" | tee -a "$partial"
}

seeds_of() { # case aqm ecn tcp n
    case "$*" in
        *) echo "$seeds" ;;
    esac
}

partial=$scratch/figures.csv
echo "$(ns "$here/case.tcl" -header 1),user_s,setup_s" | tee "$partial"
for case in $cases; do
    for n in 40 400; do
        for tcp in Newreno Reno Sack1; do
            for variant in DropTail:0 RED:0 PI:0 REM:0 RED:1 PI:1 REM:1; do
                aqm=${variant%:*}
                ecn=${variant#*:}
                for seed in $(seeds_of "$case" "$aqm" "$ecn" "$tcp" "$n"); do
                    one_run "$case" "$aqm" "$ecn" "$tcp" "$n" "$seed"
                done
            done
        done
    done
done
cp "$partial" "$out"
