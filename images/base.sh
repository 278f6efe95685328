# Finish a base in a container of its packages, with no network: what only its own programs can make.
#
# What comes out lies in /tmp/out, and becomes a layer: the cache of the dynamic linker, and bytecode of the standard
# library, bound to the source's hash and not to its time.
set -eu
export PYTHONHASHSEED=0
ldconfig -X
# One process: what a file's bytecode shares with earlier files of its process decides on some of its bits. Some files are
# for other versions of Python; those get no bytecode, and nobody imports them.
python3 -B -m compileall -q -f --invalidation-mode unchecked-hash /usr/lib/python3* >/dev/null || true
mkdir /tmp/out # podman gives nobody the right to write to /
cd /
cp --archive --parents etc/ld.so.cache /tmp/out
find usr/lib/python3* -name __pycache__ -prune -exec cp --archive --parents --target-directory /tmp/out {} +
