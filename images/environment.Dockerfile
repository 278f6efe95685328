# The environment of one image: its locked wheels, installed with no network, on a base of ours.
#
# Two builds of the same inputs give the same layer: bytecode is bound to the source's hash and not to its time, every
# entry gets the same time, and the last stage copies the *contents* of a folder, so that the builder makes no folder
# of its own time.

ARG BASE

FROM ${BASE} AS build
COPY inputs/ /inputs/
ARG EPOCH
# -B and PYTHONHASHSEED: .pth files run at every start of Python and would leave bytecode of their own. Some wheels carry
# files for other versions of Python; those get no bytecode, and nobody imports them.
RUN set -eu; export PYTHONHASHSEED=0 PYTHONDONTWRITEBYTECODE=1; \
    python3 -m venv /tools; \
    python3 -m venv --without-pip /opt/levelfield/env; \
    /tools/bin/python -m pip --python /opt/levelfield/env/bin/python install \
        --no-index --find-links /inputs/wheels --no-deps --require-hashes --only-binary :all: \
        --no-compile --no-cache-dir --disable-pip-version-check --no-warn-script-location \
        --requirement /inputs/requirements.lock; \
    /opt/levelfield/env/bin/python -B -m compileall -q -f -j 0 --invalidation-mode unchecked-hash /opt/levelfield/env/lib >/dev/null || true; \
    mkdir -p /stage/opt/levelfield; \
    mv /opt/levelfield/env /stage/opt/levelfield/env; \
    find /stage -exec touch --no-dereference --date "@${EPOCH}" {} +

FROM ${BASE}
COPY --from=build /stage/ /
