#!/bin/sh
# Hold two arms against each other, and end as a pull request's check should.
#
#     recipes/gate.sh OLD NEW [options of `levelfield ab`]
#
# It leaves reports, comment.md, junit.xml and comparison.html under $GATE_OUT (gate), and adds the comment to GitHub's
# summary where there is one. It ends as `levelfield ab` does: 0 nothing is worse, 1 something is, 2 it could not be
# measured, 3 it was not decided within the budget; UNDECIDED=pass lets 3 pass. Nothing else is ever read as a pass.
set -eu

if [ "$#" -lt 2 ]; then
    echo "Name two arms: recipes/gate.sh onnxruntime@1.30.0 onnxruntime" >&2
    exit 2
fi
out=${GATE_OUT:-gate}
if [ -z "${GATE_OUT:-}" ] && { [ -L gate ] || [ -L gate/reports ]; }; then
    echo "gate is a link: name the folder with GATE_OUT." >&2
    exit 2
fi
mkdir -p "$out"
rm -f "$out/comment.md" "$out/junit.xml" "$out/comparison.html"

code=0
# LEVELFIELD may be several words: python -m levelfield.cli.
${LEVELFIELD:-levelfield} ab "$@" --reports "$out/reports" \
    --output "$out/comment.md" --output "$out/junit.xml" --output "$out/comparison.html" || code=$?

if [ -s "$out/comment.md" ] && [ -n "${GITHUB_STEP_SUMMARY:-}" ]; then
    cat "$out/comment.md" >>"$GITHUB_STEP_SUMMARY"
fi
if [ "$code" = 3 ] && [ "${UNDECIDED:-fail}" = pass ]; then
    echo "Not decided within the budget; UNDECIDED=pass lets it through."
    exit 0
fi
exit "$code"
