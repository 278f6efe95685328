# Make the environment of one image: install its locked wheels, with no network, in a container of a base of ours.
#
# The wheels and their lock lie in /mnt/inputs. What then lies in /opt/levelfield/env becomes a layer; two runs on the same
# inputs give the same one: bytecode is bound to the source's hash and not to its time.
set -eu
export PYTHONHASHSEED=0 PYTHONDONTWRITEBYTECODE=1 TMPDIR=/mnt/tmp
mkdir /mnt/tmp
python3 -m venv --without-pip /opt/levelfield/env
# pip is run from the wheel that Debian has for `venv`: to install it first takes as long as some images do.
PYTHONPATH=$(echo /usr/share/python-wheels/pip-*.whl) /opt/levelfield/env/bin/python -m pip install \
    --no-index --find-links /mnt/inputs/wheels --no-deps --require-hashes --only-binary :all: \
    --no-compile --no-cache-dir --disable-pip-version-check --no-warn-script-location \
    --requirement /mnt/inputs/requirements.lock
# -B and PYTHONHASHSEED: .pth files run at every start of Python and would leave bytecode of their own. One process: what
# a file's bytecode shares with earlier files of its process decides on some of its bits. Some wheels carry files for other
# versions of Python; those get no bytecode, and nobody imports them.
/opt/levelfield/env/bin/python -B -m compileall -q -f --invalidation-mode unchecked-hash /opt/levelfield/env/lib \
    >/dev/null || true
