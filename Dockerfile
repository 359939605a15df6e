# The runner's own image: the command line program, for a host that has an engine but no Python. In a checkout:
#
#   docker build --tag pairbench .
#   docker run --rm --volume /var/run/docker.sock:/var/run/docker.sock --volume "$PWD:/study" pairbench \
#       run corpora/smoke/study.toml
#
# The mounted socket is root on the host: whatever runs in this container can start any other, with any folder of the
# host in it. Give it only to code that you would run as root. What the program writes below $PWD belongs to root.
#
# It builds without BuildKit, from any base with Python 3.11 or newer and venv. The private engine of `make engine` gives
# containers no way out, so a build there takes the host's network:
#   docker build --network host --build-arg BASE=my-base --tag pairbench .
ARG BASE=docker.io/library/python:3.12-slim-bookworm@sha256:34386ef0cb081344d7ec1c103ba398e6e9f64e9ab3a1509accc92a4e24a07258

FROM ${BASE} AS build
WORKDIR /src
RUN python3 -m venv /opt/pairbench
COPY requirements/runtime.txt requirements/build.txt requirements/
# One call: both files agree on what they share. Wheels only, since building a source archive runs its code.
RUN /opt/pairbench/bin/python -m pip install --no-cache-dir --disable-pip-version-check --no-compile \
        --no-deps --require-hashes --only-binary :all: -r requirements/runtime.txt -r requirements/build.txt
COPY pyproject.toml README.md LICENSE ./
COPY runner runner
RUN /opt/pairbench/bin/python -m pip install --no-cache-dir --disable-pip-version-check --no-compile \
        --no-index --no-deps --no-build-isolation . \
    # What it was installed by lies with it, so that its runs name the hashes of what they needed.
    && cp requirements/runtime.txt /opt/pairbench/lib/python3*/site-packages/pairbench-*.dist-info/requirements.txt

FROM ${BASE}
COPY --from=build /opt/pairbench /opt/pairbench
ENV PATH=/opt/pairbench/bin:$PATH PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1
WORKDIR /study
ENTRYPOINT ["pairbench"]
CMD ["--help"]
