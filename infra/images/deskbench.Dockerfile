# The desks' server in a container. `steadfast sandbox image build deskbench` makes the same without a registry, and
# without the shell and the package manager that a base brings along; this is for those who want a base of their own.
#
#   steadfast sandbox image context deskbench FOLDER
#   docker build -t steadfast/deskbench FOLDER                             from a registry's Node.js
#   docker build --build-arg BASE=my/node -t steadfast/deskbench FOLDER    from any image with Node.js 20
#   steadfast sandbox image use deskbench steadfast/deskbench
ARG BASE=node:20-bookworm-slim
FROM $BASE
COPY app /app
USER 65532:65532
WORKDIR /tmp
ENTRYPOINT ["node", "/app/server.mjs"]
