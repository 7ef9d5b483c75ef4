# syntax=docker/dockerfile:1
# Three stages to run: `serving` answers searches on a CPU; on an NVIDIA GPU, `indexing` encodes in bulk and `serving-gpu`
# answers searches.
# Both run as an unprivileged user and write nowhere but /data and /tmp, so the root can be mounted read-only.

ARG PYTHON_IMAGE=python:3.11-slim-bookworm

FROM ${PYTHON_IMAGE} AS base
ENV PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1 \
    PIP_NO_CACHE_DIR=1 \
    PIP_DISABLE_PIP_VERSION_CHECK=1 \
    PATH=/opt/spanseek/bin:$PATH
# numba's parallel loops and torch load the system's OpenMP library.
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install -y --no-install-recommends libgomp1 \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --system --uid 10001 --no-create-home spanseek \
    && install -d -o spanseek -g spanseek /data
WORKDIR /src

FROM base AS sources
COPY pyproject.toml constraints.txt README.md LICENSE ./
COPY client ./client
COPY models ./models
COPY indexer ./indexer
COPY app ./app
COPY migrations ./migrations
COPY plugins ./plugins

FROM sources AS build-serving
# Further extras, such as `ray` for the nodes of a cluster.
ARG EXTRAS=
# An index of CPU-only torch builds; empty means the default index, whose builds bring CUDA along.
ARG TORCH_INDEX=https://download.pytorch.org/whl/cpu
RUN python -m venv /opt/spanseek \
    && pip install -c constraints.txt torch ${TORCH_INDEX:+--index-url "${TORCH_INDEX}"} \
    && pip install -c constraints.txt ./client ".[bucket,cpu,facets,files,oidc,postgres,telemetry,webhooks]" ./plugins/* ${EXTRAS:+".[${EXTRAS}]"}

FROM sources AS build-indexing
ARG TORCH_INDEX_GPU=
RUN python -m venv /opt/spanseek \
    && pip install -c constraints.txt torch ${TORCH_INDEX_GPU:+--index-url "${TORCH_INDEX_GPU}"} \
    && pip install -c constraints.txt ./client ".[bucket,facets,files,gpu,oidc,postgres,telemetry,webhooks]" ./plugins/*

FROM base AS runtime
ENV SPANSEEK_DATA_DIR=/data \
    SPANSEEK_HOST=0.0.0.0 \
    NUMBA_CACHE_DIR=/tmp/numba \
    HOME=/tmp
WORKDIR /data
VOLUME ["/data"]
# spanseek, by number: where a name stands, Kubernetes cannot tell that it is not root.
USER 10001
ENTRYPOINT ["spanseek"]

FROM runtime AS indexing
COPY --from=build-indexing /opt/spanseek /opt/spanseek
ENV SPANSEEK_DEVICE=cuda
CMD ["index", "--help"]

FROM runtime AS serving-gpu
COPY --from=build-indexing /opt/spanseek /opt/spanseek
ENV SPANSEEK_DEVICE=cuda \
    SPANSEEK_ENGINE=faiss_gpu
EXPOSE 8000
HEALTHCHECK --interval=10s --timeout=3s --start-period=120s \
    CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8000/health/live', timeout=2)"]
CMD ["serve"]

# Last, so that a plain `docker build .` makes the server.
FROM runtime AS serving
COPY --from=build-serving /opt/spanseek /opt/spanseek
EXPOSE 8000
HEALTHCHECK --interval=10s --timeout=3s --start-period=60s \
    CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8000/health/live', timeout=2)"]
CMD ["serve"]
