#!/bin/sh
# Measure once, keep the run beside the earlier ones, and write them all as a static site.
#
#     recipes/nightly.sh [options of `levelfield bench`]
#
# Runs are kept under $REPORTS (reports), the site under $SITE (site). Where $BASELINE names a baseline
# (`levelfield baseline set NAME RUN RUN RUN`), the last three runs are compared with it: a run is the unit of
# replication, and speed takes three a side. It ends with the worst of the exit codes; the site is written whatever
# happened, as long as something was measured.
set -eu

reports=${REPORTS:-reports}
site=${SITE:-site}
code=0
${LEVELFIELD:-levelfield} bench "$@" --reports "$reports" || code=$?

if [ -n "${BASELINE:-}" ]; then
    set --
    for run in $(find "$reports" -mindepth 2 -maxdepth 2 -name run.json | sort | tail -n 3); do
        set -- "$@" "${run%/run.json}"
    done
    if [ "$#" = 3 ]; then
        compared=0
        ${LEVELFIELD:-levelfield} compare --baseline "$BASELINE" "$@" --reports "$reports" \
            --output "$reports/comparison.html" --output "$reports/comparison.md" || compared=$?
        [ "$code" != 0 ] || code=$compared
    else
        echo "Runs so far: $#. A comparison with $BASELINE takes three."
    fi
fi
${LEVELFIELD:-levelfield} publish --reports "$reports" --out "$site" || { [ "$code" != 0 ] || code=2; }
exit "$code"
