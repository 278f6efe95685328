#!/bin/sh
# List the known vulnerabilities of what an image's locks hold, with pip-audit (`pipx install pip-audit`).
#
#     recipes/audit.sh IMAGE [options of `pip-audit`]
#
# Run it in a checkout. It asks PyPI; `-s osv` asks OSV. A build such as `torch==2.13.0+cpu` is looked for as its release.
# It ends with 1 where something is vulnerable or pip-audit fails.
set -eu

if [ "$#" -lt 1 ] || [ ! -f "images/$1/cpu.lock" ]; then
    echo "Name an image that has a lock for the CPU, in a checkout: recipes/audit.sh onnxruntime" >&2
    exit 2
fi
image=$1
shift
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

code=0
for lock in "images/$image"/*.lock; do
    echo "$lock" >&2
    sed 's/^\([^ #]*==[^ +]*\)+[^ ]*/\1/' "$lock" >"$folder/requirements.txt"
    ${PIP_AUDIT:-pip-audit} --disable-pip --requirement "$folder/requirements.txt" "$@" || code=1
done
exit "$code"
