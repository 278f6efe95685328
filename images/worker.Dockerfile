# The image that runs: an environment, and the part of `suite/` that works inside. This last layer has a digest of its
# own, so that a change on the host's side rebuilds nothing.

ARG ENVIRONMENT

FROM ${ENVIRONMENT}
COPY files/ /
ENV PATH=/opt/levelfield/env/bin:/usr/local/bin:/usr/bin:/bin \
    PYTHONPATH=/opt/levelfield/worker \
    PYTHONNOUSERSITE=1 \
    PYTHONDONTWRITEBYTECODE=1
WORKDIR /
USER 65534:65534
# -P: nothing is imported from the folder the process happens to start in.
ENTRYPOINT ["/opt/levelfield/env/bin/python", "-P", "-m", "suite.worker"]
