#!/bin/sh
# Lock an image again at the newest releases, compare it with what it was, and leave both for review.
#
#     recipes/relock.sh IMAGE [options of `levelfield ab`]
#
# Run it in a checkout, on a branch of its own. Where `levelfield images lock --check` finds newer releases of what
# images/IMAGE/requirements.in pins, these pins are moved, and all locks of the image are resolved again. The CPU's lock as
# it was becomes images/IMAGE/cpu@before.lock, which is for the comparison and not to be committed. What is pinned in other
# files stays. With nothing newer it ends with 0 and changes nothing; else as gate.sh, which leaves the comparison under
# $GATE_OUT (gate).
set -eu

if [ "$#" -lt 1 ] || [ ! -f "images/$1/cpu.lock" ]; then
    echo "Name an image that has a lock for the CPU, in a checkout: recipes/relock.sh onnxruntime" >&2
    exit 2
fi
image=$1
shift
found=$(mktemp)
before=$(mktemp)
trap 'rm -f "$found" "$before"' EXIT

code=0
${LEVELFIELD:-levelfield} images lock "$image" --check --json >"$found" || code=$?
[ "$code" -le 1 ] || exit 2
cp "images/$image/cpu.lock" "$before"

code=0
python3 - "$image" "$found" <<'END' || code=$?
import json, re, sys
from pathlib import Path

image, found = sys.argv[1:]
locks = json.loads(Path(found).read_text(encoding="utf-8"))["locks"]
outdated = next(lock["outdated"] for lock in locks if lock["lock"] == "cpu")
if outdated is None:
    sys.exit("The package index gave no answer.")
own = f"{image}/requirements.in"
movable = [each for each in outdated if each["pinned_in"] in ("", own)]
requirements = Path("images") / own
text = requirements.read_text(encoding="utf-8")
for each in movable:
    name, locked, newest = (each[key] for key in ("name", "locked", "newest"))
    print(f"{name} {locked} -> {newest}")
    text = re.sub(rf"^({re.escape(name)}(?:\[.*\])?)=={re.escape(locked)}$", rf"\g<1>=={newest}", text, flags=re.M)
requirements.write_text(text, encoding="utf-8")
sys.exit(0 if movable else 3)
END
case $code in
    0) ;;
    3) echo "The index has nothing newer for $image." && exit 0 ;;
    *) exit 2 ;;
esac

${LEVELFIELD:-levelfield} images lock "$image" || exit 2
cp "$before" "images/$image/cpu@before.lock"
exec "$(dirname "$0")/gate.sh" "$image@before" "$image" "$@"
