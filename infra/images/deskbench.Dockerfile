# The desks' server in a container, from a registry's Node.js. `steadfast sandbox image build deskbench` makes the same
# without a registry, and without the shell and the package manager that this base brings along.
#
#   npm run build
#   npx esbuild dist/suites/deskbench/stdio.js --bundle --minify --platform=node --format=esm --outfile=server.mjs
#   docker build -f infra/images/deskbench.Dockerfile -t steadfast/deskbench .
#
# Then write its id (`docker images --no-trunc`) into <STEADFAST_HOME>/images.json under the name that
# `steadfast evaluate x --dry-run` asks for.
FROM node:20-bookworm-slim
COPY server.mjs /app/server.mjs
USER 65532:65532
WORKDIR /tmp
ENTRYPOINT ["node", "/app/server.mjs"]
