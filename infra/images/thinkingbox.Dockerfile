# Tool servers of a ThinkingBox checkout in a container. `steadfast sandbox image build thinkingbox` makes the same of
# this machine's own Python, without a registry; this is for those who want a base of their own.
#
#   steadfast sandbox image context thinkingbox FOLDER
#   docker build -t steadfast/thinkingbox FOLDER                                from a registry's Python
#   docker build --build-arg BASE=my/python -t steadfast/thinkingbox FOLDER     from any image with Python 3.11 and pip
#   steadfast sandbox image use thinkingbox steadfast/thinkingbox
#
# The folder holds server code only: no case, no golden call, no check.
ARG BASE=python:3.11-slim-bookworm
FROM $BASE
COPY requirements.txt /app/requirements.txt
# Byte code is made here: a container cannot write it. It is checked against nothing, the files do not change.
RUN python3 -m pip install --no-cache-dir --no-compile --require-hashes --target /app/packages -r /app/requirements.txt
COPY app /app
RUN stdlib="$(python3 -c 'import sysconfig; print(sysconfig.get_path("stdlib"))')" && \
    python3 -m compileall -q --invalidation-mode unchecked-hash -x '/(tests?|lib2to3)/' /app "$stdlib"
LABEL steadfast.relay='["python3", "-I", "-S", "/app/relay.py"]'
USER 65532:65532
WORKDIR /tmp
ENTRYPOINT ["python3", "/app/serve.py"]
