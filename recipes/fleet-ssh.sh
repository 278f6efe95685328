#!/bin/sh
# Measure the same on several hosts over SSH, gather the records, and judge the hosts as nodes of a fleet.
#
#     recipes/fleet-ssh.sh FOLDER HOST... [-- options of `levelfield bench`]
#
# Every host has Levelfield and a container engine. Where $BUNDLE names a file that `levelfield images bundle` wrote, it is sent
# first, so that no host builds an image of its own. All hosts measure at once. Of a host only the reports are fetched, as
# bytes. It ends as `levelfield fleet gather` does, or with 3 where that finds all fine and a host gave no run this time.
set -euf

if [ "$#" -lt 2 ]; then
    echo "Name a folder and the hosts: recipes/fleet-ssh.sh fleet node-1 node-2 node-3 -- --profile standard" >&2
    exit 2
fi
folder=$1
shift
hosts=
while [ "$#" -gt 0 ] && [ "$1" != -- ]; do
    case $1 in
    -* | *[!A-Za-z0-9._@-]*)
        echo "$1 is no name of a host." >&2
        exit 2
        ;;
    esac
    hosts="$hosts $1"
    shift
done
[ "$#" = 0 ] || shift
options=
for word in "$@"; do # quoted for the shell of the host
    options="$options '$(printf '%s' "$word" | sed "s/'/'\\\\''/g")'"
done
remote=levelfield-fleet-$(date -u +%Y%m%d-%H%M%S)-$$

on() { # HOST COMMAND: SSH may be several words.
    ${SSH:-ssh -o BatchMode=yes} "$1" "$2"
}

measure() { # HOST, which may send anything: 64 MiB a file, and eight files, at the most
    ulimit -f 131072
    mkdir -p "$folder/$1"
    log=$folder/$1/bench.log
    if [ -n "${BUNDLE:-}" ]; then
        on "$1" "mkdir -p $remote && cat >$remote/bundle && ${REMOTE:-levelfield} images load $remote/bundle" \
            <"$BUNDLE" >"$log" 2>&1 || return 1
    fi
    code=0
    on "$1" "${REMOTE:-levelfield} bench --reports $remote/reports$options" >>"$log" 2>&1 </dev/null || code=$?
    came=3
    runs=$(on "$1" "cd $remote/reports && ls" </dev/null | head -n 8 | head -c 4096) || runs=
    for run in $runs; do
        case $run in *[!A-Za-z0-9-]*) continue ;; esac
        mkdir -p "$folder/$1/$run"
        if on "$1" "cat $remote/reports/$run/report.html" >"$folder/$1/$run/report.html" 2>/dev/null </dev/null; then
            came=0
        else
            rm -f "$folder/$1/$run/report.html"
        fi
        rmdir "$folder/$1/$run" 2>/dev/null || true # no run: a baseline
    done
    [ "$code" != 0 ] || code=$came
    return "$code"
}

jobs=
for host in $hosts; do
    (measure "$host" || { echo "$host ended with $?: see $folder/$host/bench.log" >&2; exit 3; }) &
    jobs="$jobs $!"
done
code=0
for job in $jobs; do
    wait "$job" || code=3
done
${LEVELFIELD:-levelfield} fleet gather "$folder" \
    --output "$folder/fleet.html" --output "$folder/fleet.json" --output "$folder/fleet.prom" || code=$?
exit "$code"
