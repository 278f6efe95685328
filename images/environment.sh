# Make the environment of one image: install its locked wheels, with no network, in a container of a base of ours.
#
# $1 is the time that every file gets, in seconds since 1970. The wheels and their lock lie in /mnt/inputs; /mnt is a
# volume, so that nothing of what lies there becomes part of the image. What the container holds besides is its layer.
#
# Two runs on the same inputs give the same layer: bytecode is bound to the source's hash and not to its time, every
# entry gets the same time, and temporary files are on the volume.
set -eu
export PYTHONHASHSEED=0 PYTHONDONTWRITEBYTECODE=1 TMPDIR=/mnt/tmp
mkdir /mnt/tmp
python3 -m venv /mnt/tools
python3 -m venv --without-pip /opt/levelfield/env
/mnt/tools/bin/python -m pip --python /opt/levelfield/env/bin/python install \
    --no-index --find-links /mnt/inputs/wheels --no-deps --require-hashes --only-binary :all: \
    --no-compile --no-cache-dir --disable-pip-version-check --no-warn-script-location \
    --requirement /mnt/inputs/requirements.lock
# -B and PYTHONHASHSEED: .pth files run at every start of Python and would leave bytecode of their own. Some wheels carry
# files for other versions of Python; those get no bytecode, and nobody imports them.
/opt/levelfield/env/bin/python -B -m compileall -q -f -j 0 --invalidation-mode unchecked-hash /opt/levelfield/env/lib \
    >/dev/null || true
find /opt -exec touch --no-dereference --date "@$1" {} +
