#!/bin/sh
# Measure once, keep the run beside the earlier ones, and write them all as a static site.
#
#     recipes/nightly.sh [options of `levelfield bench`]
#
# Runs are kept under $REPORTS (reports), the site under $SITE (site). Where $BASELINE names a baseline
# (`levelfield baseline set NAME RUN RUN RUN`), the last three runs are compared with it: a run is the unit of
# replication, and speed takes three a side. Where $GATE names a gate's file (`levelfield baseline derive NAME`), the
# last run is compared with its limits. It ends with the worst of the exit codes; the site is written whatever happened,
# as long as something was measured.
set -eu

reports=${REPORTS:-reports}
site=${SITE:-site}
code=0

worst() { # of the exit codes so far and this one: 1 worse, 2 could not run, 3 not decided, 0
    case "$code,$1" in
        0,* | [23],1 | 3,2) code=$1 ;;
    esac
}

last() { # so many runs, the oldest first
    find "$reports" -mindepth 2 -maxdepth 2 -name report.html | sort | tail -n "$1" | sed 's,/report\.html$,,'
}

compared() { # the name of the comparison's files, and what `levelfield compare` takes
    name=$1
    shift
    ${LEVELFIELD:-levelfield} compare "$@" --reports "$reports" \
        --output "$reports/$name.html" --output "$reports/$name.md" || worst "$?"
}

${LEVELFIELD:-levelfield} bench "$@" --reports "$reports" || worst "$?"

if [ -n "${BASELINE:-}" ]; then
    set -- $(last 3)
    if [ "$#" = 3 ]; then
        compared comparison --baseline "$BASELINE" "$@"
    else
        echo "Runs so far: $#. A comparison with $BASELINE takes three."
    fi
fi
if [ -n "${GATE:-}" ]; then
    compared gate --gate "$GATE" $(last 1)
fi
${LEVELFIELD:-levelfield} publish --reports "$reports" --out "$site" || { [ "$code" != 0 ] || code=2; }
exit "$code"
