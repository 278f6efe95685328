#!/bin/sh
# Measure once, keep the run beside the earlier ones, and write them all as a static site.
#
#     recipes/nightly.sh [options of `levelfield bench`]
#
# Runs are kept under $REPORTS (reports), the site under $SITE (site). Where $BASELINE names a baseline
# (`levelfield baseline set NAME RUN RUN RUN`), this run and the two before it are compared with it: a run is the unit of
# replication, and speed takes three a side. Where $GATE names a gate's file (`levelfield baseline derive NAME`), this
# run is compared with its limits. It ends with the worst of the exit codes; the site is written whatever happened,
# as long as something was measured.
set -eu

reports=${REPORTS:-reports}
site=${SITE:-site}
code=0
for link in "${REPORTS:-reports}" "${SITE:-site}"; do
    if [ -L "$link" ] && [ "$link" != "${REPORTS:-}" ] && [ "$link" != "${SITE:-}" ]; then
        echo "$link is a link: name the folder with REPORTS or SITE." >&2
        exit 2
    fi
done

worst() { # of the exit codes so far and this one: 1 worse, 2 could not run, 3 not decided, 0
    case "$code,$1" in
        0,* | [23],1 | 3,2) code=$1 ;;
    esac
}

runs() { # by name, which is the order in time
    find "$reports" -mindepth 2 -maxdepth 2 -name report.html 2>/dev/null | LC_ALL=C sort | sed 's,/report\.html$,,'
}

compared() { # the name of the comparison's files, and what `levelfield compare` takes
    name=$1
    shift
    ${LEVELFIELD:-levelfield} compare "$@" --reports "$reports" \
        --output "$reports/$name.html" --output "$reports/$name.md" || worst "$?"
}

earlier=$(mktemp)
trap 'rm -f "$earlier"' EXIT
runs >"$earlier"
${LEVELFIELD:-levelfield} bench "$@" --reports "$reports" || worst "$?"
# Its own run, and not the last by name: others may put runs there meanwhile.
made=$(runs | grep -vxFf "$earlier" || true)
if [ "$(printf '%s\n' "$made" | wc -l)" -gt 1 ]; then
    echo "Several runs are new, and which one is its own is not known: nothing is compared."
    worst 3
    made=
elif [ -z "$made" ] && [ -n "${BASELINE:-}${GATE:-}" ]; then
    echo "No run was made, and nothing is compared."
    worst 2
elif [ -n "${BASELINE:-}" ]; then
    runs | grep -xF -B 2 -e "$made" >"$earlier"
    if [ "$(wc -l <"$earlier")" -ge 3 ]; then
        { IFS= read -r first && IFS= read -r second && IFS= read -r third; } <"$earlier"
        compared comparison --baseline "$BASELINE" "$first" "$second" "$third"
    else
        echo "Runs so far: $(wc -l <"$earlier"). A comparison with $BASELINE takes three."
    fi
fi
if [ -n "${GATE:-}" ] && [ -n "$made" ]; then
    compared gate --gate "$GATE" "$made"
fi
${LEVELFIELD:-levelfield} publish --reports "$reports" --out "$site" || { [ "$code" != 0 ] || code=2; }
exit "$code"
