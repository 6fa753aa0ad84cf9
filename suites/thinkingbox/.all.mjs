// suites/thinkingbox/python.ts
import { execFile, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdir, readFile as readFile2, rm as rm2, writeFile as writeFile2 } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

// core/faults.ts
var RETRY_BY_DEFAULT = {
  deadline: true,
  sandbox: true,
  policy: true,
  user: true,
  judge: true,
  grader: true,
  suite: false,
  trainer: true,
  artifacts: true,
  ledger: true,
  cancelled: false
};
var Fault = class extends Error {
  name = "Fault";
  kind;
  retry;
  duringToolCall;
  code;
  constructor(kind, message, options = {}) {
    super(message, options.cause === void 0 ? void 0 : { cause: options.cause });
    this.kind = kind;
    this.retry = options.retry ?? RETRY_BY_DEFAULT[kind];
    this.duringToolCall = options.duringToolCall ?? false;
    this.code = options.code;
  }
};
var UsageError = class extends Error {
  constructor(place, expected, found, fix) {
    super(`${place}: expected ${expected}, found ${found}${fix ? `. ${fix}` : ""}`);
    this.place = place;
    this.expected = expected;
    this.found = found;
    this.fix = fix;
  }
  place;
  expected;
  found;
  fix;
  name = "UsageError";
};
function asFault(error, kind, options = {}) {
  if (error instanceof Fault) return error;
  const message = error instanceof Error ? error.message : String(error);
  return new Fault(kind, message, { cause: error, ...options });
}

// suites/thinkingbox/lock.ts
import { link, readFile, rm, writeFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
var POLL_MS = 250;
async function withLock(path, work) {
  while (!await taken(path)) await sleep(POLL_MS);
  try {
    return await work();
  } finally {
    await rm(path, { force: true });
  }
}
async function taken(path) {
  const own = `${path}.${process.pid}`;
  await writeFile(own, String(process.pid));
  try {
    await link(own, path);
    return true;
  } catch (error) {
    if (error.code !== "EEXIST") throw error;
  } finally {
    await rm(own, { force: true });
  }
  const holder = await readFile(path, "utf8").catch(() => void 0);
  if (holder !== void 0 && !alive(Number(holder))) await rm(path, { force: true });
  return false;
}
function alive(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code === "EPERM";
  }
}

// suites/thinkingbox/python.ts
var run = promisify(execFile);
var REQUIREMENTS = fileURLToPath(new URL("../../native/thinkingbox/requirements.txt", import.meta.url));
var MARKER = "steadfast-requirements.sha256";
var OLDEST = "3.11";
function environmentDir(home) {
  return join(home, "venv-thinkingbox");
}
async function requirementsDigest() {
  return createHash("sha256").update(await readFile2(REQUIREMENTS)).digest("hex");
}
async function prepareThinkingBox(options) {
  const { home, basePython = "python3", report = () => void 0 } = options;
  const venv = environmentDir(home);
  const python2 = join(venv, "bin", "python");
  const wanted = await requirementsDigest();
  const ready = async () => await read(join(venv, MARKER)) === wanted;
  if (await ready()) return python2;
  await checkVersion(basePython);
  await mkdir(home, { recursive: true });
  await withLock(`${venv}.lock`, async () => {
    if (!await ready()) await make(basePython, venv, wanted, report);
  });
  return python2;
}
async function make(basePython, venv, wanted, report) {
  const python2 = join(venv, "bin", "python");
  report(`making the Python environment of ThinkingBox in ${venv} (about 140 MB)`);
  await rm2(venv, { recursive: true, force: true });
  await program(basePython, ["-m", "venv", venv], "python -m venv");
  const pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-input"];
  await program(
    python2,
    [...pip, "--require-hashes", "-r", REQUIREMENTS],
    "pip install of native/thinkingbox/requirements.txt"
  );
  await writeFile2(join(venv, MARKER), wanted);
  report("the Python environment of ThinkingBox is ready");
}
async function checkPython(python2) {
  const code = "import fastmcp, mcp, yaml, typesense, odata_query";
  try {
    await run(python2, ["-c", code]);
  } catch (error) {
    const found = error instanceof Error ? error.message.trim().split("\n").at(-1) ?? "" : String(error);
    throw new UsageError(
      "python of the suite thinkingbox",
      `an interpreter with the packages of native/thinkingbox/requirements.txt at ${python2}`,
      found,
      "Run: steadfast suite add thinkingbox"
    );
  }
}
function pythonEnvironment(python2, dirs) {
  const servers = join(dirs.dataDir, "servers");
  return {
    PATH: `${dirname(python2)}:/usr/local/bin:/usr/bin:/bin`,
    LANG: "C.UTF-8",
    PYTHONPATH: [
      dirs.thinkingboxDir,
      join(servers, "tb_business_ops_servers_202606"),
      join(servers, "thinkingbox_tools")
    ].join(":"),
    PYTHONPYCACHEPREFIX: join(dirname(dirname(python2)), "pycache"),
    PYTHONUNBUFFERED: "1",
    THINKINGBOX_DATA: dirs.dataDir,
    FASTMCP_LOG_LEVEL: "WARNING",
    FASTMCP_CHECK_FOR_UPDATES: "off"
  };
}
async function checkVersion(python2) {
  const fix = `Install Python ${OLDEST} or newer with its venv module, or name one`;
  let version;
  try {
    const { stdout } = await run(python2, [
      "-c",
      'import sys, venv, ensurepip; print("%d.%d" % sys.version_info[:2])'
    ]);
    version = stdout.trim();
  } catch (error) {
    const found = error instanceof Error ? error.message.trim().split("\n").at(-1) ?? "" : String(error);
    throw new UsageError(python2, `Python ${OLDEST} or newer`, found, fix);
  }
  const [major = 0, minor = 0] = version.split(".").map(Number);
  if (major !== 3 || minor < 11)
    throw new UsageError(python2, `Python ${OLDEST} or newer`, `Python ${version}`, fix);
}
function program(file, args, what) {
  return new Promise((resolve2, reject) => {
    const child = spawn(file, args, { stdio: ["ignore", "ignore", "pipe"] });
    let words = "";
    child.stderr.on("data", (chunk) => {
      words = (words + chunk.toString("utf8")).slice(-2e3);
    });
    child.on("error", reject);
    child.on("close", (code) => {
      if (code === 0) resolve2();
      else reject(new UsageError(what, "success", `exit ${code}: ${words.trim()}`));
    });
  });
}
async function read(path) {
  try {
    return await readFile2(path, "utf8");
  } catch {
    return void 0;
  }
}

// suites/thinkingbox/suite.ts
import { createHash as createHash2 } from "node:crypto";
import { readFile as readFile3 } from "node:fs/promises";
import { join as join4 } from "node:path";
import { parse as parse2 } from "yaml";

// core/nearest.ts
function nearestFew(word, known, most) {
  const bound = Math.max(2, Math.floor(word.length / 3));
  return [...known].map((candidate) => ({ candidate, distance: editDistance(word.toLowerCase(), candidate.toLowerCase()) })).filter(({ distance }) => distance <= bound).sort((a, b) => a.distance - b.distance).slice(0, most).map(({ candidate }) => candidate);
}
function editDistance(a, b) {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const substitution = row[j - 1] + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(row[j] + 1, next[j - 1] + 1, substitution));
    }
    row = next;
  }
  return row[b.length];
}

// suites/thinkingbox/bridge.ts
import { spawn as spawn2 } from "node:child_process";
import { join as join2 } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath as fileURLToPath2 } from "node:url";

// suites/thinkingbox/protocol.ts
import { z } from "zod";
var json = z.json();
var jsonObject = z.record(z.string(), json);
var digest = z.string().regex(/^sha256:[0-9a-f]{64}$/);
var listedCases = z.array(
  z.object({
    id: z.string(),
    scenario: z.string(),
    domain: z.string().nullable(),
    digest,
    templateDigest: digest
  })
);
var builtinTool = z.object({
  name: z.string(),
  description: z.string(),
  input_schema: jsonObject,
  is_end_turn: z.boolean()
});
var shownTool = z.object({
  name: z.string(),
  override_description: z.string().nullable(),
  override_arg_description: z.record(z.string(), z.string()).nullable(),
  is_end_turn: z.boolean()
});
var caseServer = z.object({
  name: z.string(),
  command: z.array(z.string()).min(1),
  env: z.record(z.string(), z.string()),
  cwd: z.string().nullable(),
  /** For `__reserved__init`. Without golden calls wherever the bridge can work the final state out by itself. */
  config: jsonObject,
  /** What a perfect episode would report; null when only the server itself knows. */
  expected: jsonObject.nullable()
});
var loadedCase = z.object({
  systemMessages: z.array(z.string()),
  opening: z.string(),
  context: z.string(),
  maxUserTurns: z.number(),
  maxAgentActions: z.number(),
  doneMarker: z.string().min(1),
  builtinTools: z.array(builtinTool),
  tools: z.array(shownTool),
  servers: z.array(caseServer).min(1),
  /** What this case needs and the adapter does not do yet, in words. */
  unsupported: z.array(z.string())
});
var gradedCase = z.object({
  passed: z.boolean(),
  reward: z.number().min(0).max(1),
  systemError: z.boolean(),
  reason: z.string(),
  trace: z.string(),
  judged: z.array(z.object({ question: z.string(), answer: z.boolean() })),
  printed: z.string()
});
var goldenCalls = z.array(z.object({ name: z.string(), arguments: jsonObject }));
var bridgeLine = z.union([
  z.object({ id: z.number(), ok: z.unknown() }),
  z.object({
    id: z.number(),
    error: z.object({
      code: z.enum(["bad_input", "unknown_case", "refused", "failed"]),
      message: z.string(),
      trace: z.string().optional(),
      details: z.object({
        place: z.string().optional(),
        expected: z.string().optional(),
        found: z.string().optional(),
        known: z.array(z.string()).optional()
      }).optional()
    })
  }),
  z.object({
    ask: z.number(),
    for: z.number(),
    kind: z.enum(["yesno", "complete"]),
    system: z.string(),
    user: z.string()
  })
]);

// suites/thinkingbox/bridge.ts
var SCRIPT = fileURLToPath2(new URL("../../native/thinkingbox/bridge.py", import.meta.url));
var LAST_WORDS = 2e3;
var BridgeError = class extends Error {
  constructor(failure) {
    super(failure.message);
    this.failure = failure;
  }
  failure;
  name = "BridgeError";
};
var BridgeLost = class extends Error {
  name = "BridgeLost";
};
var Bridge = class {
  constructor(settings) {
    this.settings = settings;
  }
  settings;
  child;
  words = "";
  last = 0;
  pending = /* @__PURE__ */ new Map();
  /** Throws `BridgeError`, `BridgeLost`, `Fault('deadline')`, or the signal's reason. */
  async request({ op, body, reply, signal, timeoutMs, answer }) {
    signal.throwIfAborted();
    const child = this.running();
    this.last += 1;
    const id = this.last;
    let timer;
    const stopClock = () => clearTimeout(timer);
    let onAbort;
    try {
      const value = await new Promise((resolve2, reject) => {
        const startClock = () => {
          stopClock();
          timer = setTimeout(() => {
            reject(
              new Fault("deadline", `the ThinkingBox bridge took longer than ${timeoutMs / 1e3} s to ${op}`)
            );
            child.kill("SIGKILL");
          }, timeoutMs);
        };
        let asking = 0;
        const ask = (question) => {
          stopClock();
          asking += 1;
          (answer?.(question) ?? Promise.reject(new Error(`nobody answers questions of "${op}"`))).then(
            (value2) => this.send(child, { answer: question.ask, value: value2 }),
            (error) => this.send(child, {
              answer: question.ask,
              refused: error instanceof Error ? error.message : String(error)
            })
          ).finally(() => {
            asking -= 1;
            if (asking === 0 && this.pending.has(id)) startClock();
          });
        };
        onAbort = () => reject(signal.reason);
        signal.addEventListener("abort", onAbort, { once: true });
        this.pending.set(id, { resolve: resolve2, reject, ask });
        startClock();
        this.send(child, { ...body, id, op });
      });
      return this.read(op, reply, value);
    } finally {
      this.pending.delete(id);
      stopClock();
      if (onAbort) signal.removeEventListener("abort", onAbort);
    }
  }
  /** Ends the process; pending requests fail as lost. */
  async close() {
    const child = this.child;
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const ended = new Promise((resolve2) => child.once("close", () => resolve2()));
    child.kill("SIGKILL");
    await ended;
  }
  read(op, reply, value) {
    const read2 = reply.safeParse(value);
    if (!read2.success)
      throw new BridgeLost(`unreadable reply of the ThinkingBox bridge to "${op}": ${read2.error.message}`);
    return read2.data;
  }
  running() {
    if (this.child) return this.child;
    const { python: python2, dataDir, env } = this.settings;
    const args = ["-u", SCRIPT, join2(dataDir, "dataset"), join2(dataDir, "servers", "servers.yaml")];
    const child = spawn2(python2, args, { env, detached: true, stdio: ["pipe", "pipe", "pipe"] });
    this.child = child;
    this.words = "";
    child.stderr.on("data", (chunk) => {
      this.words = (this.words + chunk.toString("utf8")).slice(-LAST_WORDS);
    });
    child.stdin.on("error", () => void 0);
    createInterface({ input: child.stdout, crlfDelay: Infinity }).on("line", (line) => this.line(line));
    child.on("error", (error) => this.lost(child, `cannot start ${python2}: ${error.message}`));
    child.on("close", (code, signal) => this.lost(child, `the ThinkingBox bridge ended (${signal ?? code})`));
    return child;
  }
  lost(child, message) {
    if (this.child !== child) return;
    this.child = void 0;
    const words = this.words.trim();
    const error = new BridgeLost(words ? `${message}; its last words: ${words}` : message);
    for (const waiting of [...this.pending.values()]) waiting.reject(error);
  }
  send(child, message) {
    if (child.stdin.writable) child.stdin.write(`${JSON.stringify(message)}
`);
  }
  line(text) {
    const read2 = bridgeLine.safeParse(parse(text));
    if (!read2.success) {
      this.words += `
unreadable line: ${text.slice(0, 200)}`;
      this.child?.kill("SIGKILL");
      return;
    }
    const line = read2.data;
    if ("ask" in line) this.pending.get(line.for)?.ask(line);
    else if ("error" in line) this.pending.get(line.id)?.reject(new BridgeError(line.error));
    else this.pending.get(line.id)?.resolve(line.ok);
  }
};
function parse(text) {
  try {
    return JSON.parse(text);
  } catch {
    return void 0;
  }
}

// suites/thinkingbox/checkout.ts
import { execFile as execFile2 } from "node:child_process";
import { stat } from "node:fs/promises";
import { join as join3 } from "node:path";
import { promisify as promisify2 } from "node:util";
var run2 = promisify2(execFile2);
var PINNED = {
  thinkingbox: {
    repository: "https://github.com/microsoft/thinkingbox",
    landmark: "thinkingbox/common/testrunner.py",
    revision: "dafead8aaf97cc879d5d881fdc75bda6f543198f",
    name: "the framework of ThinkingBox-Bench v1.0"
  },
  data: {
    repository: "https://github.com/microsoft/thinkingbox-data",
    landmark: "servers/servers.yaml",
    revision: "fcaba4c1a9debec42fda7f15bf29fe6d6b46c431",
    name: "tag thinkingbox-bench-v1.0"
  }
};
async function checkCheckout(dir, which, place) {
  const pinned = PINNED[which];
  const clone = `Get it with: git clone ${pinned.repository} && git -C ${pinned.repository.split("/").at(-1)} checkout ${pinned.revision}`;
  if (!await exists(dir)) throw new UsageError(place, "a folder", `no folder ${dir}`, clone);
  if (!await exists(join3(dir, pinned.landmark))) {
    throw new UsageError(
      place,
      `a checkout of ${pinned.repository}`,
      `${dir} without ${pinned.landmark}`,
      clone
    );
  }
  const revision = await git(dir, place, ["rev-parse", "HEAD"]);
  if (revision !== pinned.revision) {
    throw new UsageError(
      `${place} (${dir})`,
      `revision ${pinned.revision} (${pinned.name})`,
      revision,
      `Run: git -C ${dir} checkout ${pinned.revision}`
    );
  }
  const changed = await git(dir, place, ["status", "--porcelain", "--untracked-files=no"]);
  if (changed !== "") {
    const files = changed.split("\n");
    throw new UsageError(
      `${place} (${dir})`,
      "a clean checkout",
      `${files.length} changed file(s), first "${files[0]?.trim()}"`
    );
  }
  return { dir, revision };
}
async function exists(path) {
  return stat(path).then(
    () => true,
    () => false
  );
}
async function git(dir, place, args) {
  try {
    const { stdout } = await run2(
      "git",
      ["-c", "safe.directory=*", "--no-optional-locks", "-C", dir, ...args],
      {
        maxBuffer: 16 * 1024 * 1024
      }
    );
    return stdout.trimEnd();
  } catch (error) {
    const found = error instanceof Error ? error.message.trim() : String(error);
    throw new UsageError(`${place} (${dir})`, "a git checkout whose revision can be read", found);
  }
}

// suites/thinkingbox/domains.ts
var DOMAINS = {
  sandbox_external_retail: "retail",
  external_booking_v1: "travel",
  sandbox_auto_insurance: "insurance",
  sandbox_neobank_support_v1: "neobank",
  sandbox_consulting: "consulting"
};
function domainOf(scenario, tagged) {
  return tagged ?? DOMAINS[scenario] ?? scenario;
}

// suites/thinkingbox/schemas.ts
function plainSchema(schema) {
  const { $defs: _, title: __, ...resolved } = resolve(schema, schema, []);
  const { properties } = resolved;
  return isObject(properties) ? { ...resolved, properties: mapValues(properties, withoutTitle) } : resolved;
}
function describeArguments(schema, descriptions) {
  const { properties } = schema;
  if (!isObject(properties)) return schema;
  const described = Object.entries(properties).map(([name, property]) => {
    const description = descriptions[name];
    return [name, description === void 0 || !isObject(property) ? property : { ...property, description }];
  });
  return { ...schema, properties: Object.fromEntries(described) };
}
function resolve(node, root, within2) {
  if (Array.isArray(node)) return node.map((item) => resolve(item, root, within2));
  if (!isObject(node)) return node;
  const reference = node.$ref;
  if (typeof reference !== "string") return mapValues(node, (value) => resolve(value, root, within2));
  if (within2.includes(reference))
    throw new Fault("suite", `tool schema with a circular reference ${reference}`);
  return resolve(target(reference, root), root, [...within2, reference]);
}
function target(reference, root) {
  let node = root;
  for (const part of reference.split("/").slice(1)) {
    const key = part.replaceAll("~1", "/").replaceAll("~0", "~");
    node = isObject(node) ? node[key] : void 0;
  }
  if (!reference.startsWith("#/") || node === void 0) {
    throw new Fault("suite", `tool schema with a reference that leads nowhere: ${reference}`);
  }
  return node;
}
function withoutTitle(property) {
  if (!isObject(property)) return property;
  const { title: _, ...rest } = property;
  return rest;
}
function mapValues(object, map) {
  return Object.fromEntries(Object.entries(object).map(([key, value]) => [key, map(value)]));
}
function isObject(value) {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

// suites/thinkingbox/session.ts
var INIT = "__reserved__init";
var EFFECTS = "__reserved__geteffects";
var RESERVED_TIMEOUT_MS = 6e4;
var MISLEADING = [
  "golden_db_state",
  "golden_db_hash",
  "diff",
  "rubrics",
  "rubrics_yesno",
  "initial_db_state"
];
async function initialise(servers, tools, signal) {
  const listed = await tools.list(signal);
  const results = {};
  for (const { name, config } of servers) {
    if (!has(listed, name, INIT)) {
      results[name] = {};
      continue;
    }
    const said = await tools.call(name, INIT, { config }, { signal, timeoutMs: RESERVED_TIMEOUT_MS });
    const value = jsonObject2(said.text);
    const { status, ...rest } = value ?? { status: "not a JSON object" };
    const fine = !said.isError && (status === "ok" || value && Object.keys(value).length === 0);
    if (!fine)
      throw new Fault("suite", `server "${name}" refused its start state: ${said.text.slice(0, 2e3)}`);
    results[name] = rest;
  }
  return results;
}
async function readEffects(servers, tools, signal) {
  const listed = await tools.list(signal);
  const effects = {};
  for (const { name, expected } of servers) {
    if (!has(listed, name, EFFECTS)) {
      effects[name] = {};
      continue;
    }
    const said = await tools.call(name, EFFECTS, {}, { signal, timeoutMs: RESERVED_TIMEOUT_MS });
    const value = jsonObject2(said.text);
    if (said.isError || !value || value.status === "error") {
      throw new Fault("sandbox", `server "${name}" cannot report its effects: ${said.text.slice(0, 2e3)}`, {
        code: "effects"
      });
    }
    effects[name] = expected ? without(value, MISLEADING) : value;
  }
  return effects;
}
async function shownTools(loaded, tools, signal) {
  const listed = await tools.list(signal);
  const rank = new Map(loaded.servers.map(({ name }, index) => [name, index]));
  const found = /* @__PURE__ */ new Map();
  for (const tool of listed) {
    const other = found.get(tool.name);
    if (!other || (rank.get(tool.server) ?? 0) > (rank.get(other.server) ?? 0)) found.set(tool.name, tool);
  }
  const shown = new Map(loaded.tools.map((tool) => [tool.name, tool]));
  const missing = loaded.tools.filter(({ name }) => !found.has(name)).map(({ name }) => name);
  if (missing.length > 0)
    throw new Fault("suite", `tools that no server of the case has: ${missing.join(", ")}`);
  const builtin = loaded.builtinTools.map((tool) => ({
    name: tool.name,
    description: tool.description,
    inputSchema: tool.input_schema,
    ...tool.is_end_turn ? { endsTurn: true } : {}
  }));
  const own = [...found.values()].flatMap((tool) => {
    const override = shown.get(tool.name);
    return override ? [asShown(tool, override)] : [];
  });
  return [...builtin, ...own];
}
function asShown(tool, override) {
  const schema = plainSchema(tool.inputSchema);
  return {
    name: tool.name,
    server: tool.server,
    description: override.override_description ?? tool.description ?? "",
    inputSchema: override.override_arg_description ? describeArguments(schema, override.override_arg_description) : schema,
    ...override.is_end_turn ? { endsTurn: true } : {}
  };
}
function has(listed, server, name) {
  return listed.some((tool) => tool.server === server && tool.name === name);
}
function jsonObject2(text) {
  try {
    const value = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? value : void 0;
  } catch {
    return void 0;
  }
}
function without(object, keys) {
  return Object.fromEntries(Object.entries(object).filter(([key]) => !keys.includes(key)));
}

// suites/thinkingbox/task.ts
var START_TIMEOUT_MS = 12e4;
var CHECK_TIMEOUT_MS = 6e4;
var ThinkingBoxTask = class {
  /** Throws `UsageError` for a case that needs what the adapter cannot do yet. */
  constructor(ref, loaded, bridge, env) {
    this.ref = ref;
    this.loaded = loaded;
    this.bridge = bridge;
    if (loaded.unsupported.length > 0) {
      throw new UsageError(`case ${ref.id}`, "a case of supported form", loaded.unsupported.join(", "));
    }
    this.servers = loaded.servers.map(({ name, command: [file = "", ...args], env: own, cwd }) => ({
      name,
      command: { file, args, env: { ...env, ...own }, ...cwd === null ? {} : { cwd } },
      startTimeoutMs: START_TIMEOUT_MS
    }));
    this.systemMessages = loaded.systemMessages;
    this.user = {
      opening: loaded.opening,
      context: loaded.context,
      maxTurns: loaded.maxUserTurns,
      mayEnd: false
    };
    this.doneMarker = loaded.doneMarker;
    this.maxAgentActions = Math.min(loaded.maxAgentActions, Number.MAX_SAFE_INTEGER);
  }
  ref;
  loaded;
  bridge;
  servers;
  systemMessages;
  user;
  doneMarker;
  maxAgentActions;
  /** The official runner checks the final state whatever ended the conversation. */
  passesAtLimits = true;
  initResult = {};
  async init(tools, signal) {
    this.initResult = await initialise(this.loaded.servers, tools, signal);
  }
  visibleTools(tools, signal) {
    return shownTools(this.loaded, tools, signal);
  }
  effects(tools, signal) {
    return readEffects(this.loaded.servers, tools, signal);
  }
  /** Undefined for servers whose wanted state only they know. */
  expectedEffects() {
    return Object.fromEntries(
      this.loaded.servers.flatMap(({ name, expected }) => expected ? [[name, expected]] : [])
    );
  }
  async grade({ effects, messages, judge, signal }) {
    let judgeFault;
    const answer = async ({
      kind,
      system,
      user
    }) => {
      try {
        const request = { system, user };
        return await (kind === "yesno" ? judge.ask(request, signal) : judge.complete(request, signal));
      } catch (error) {
        judgeFault ??= error;
        throw error;
      }
    };
    const body = { name: this.ref.id, effects, messages, initResult: this.initResult };
    const reply = await this.bridge.request({ op: "grade", body, reply: gradedCase, signal, timeoutMs: CHECK_TIMEOUT_MS, answer }).catch((error) => {
      throw judgeFault ?? graderFault(this.ref.id, error);
    });
    if (judgeFault) throw judgeFault;
    if (reply.systemError) throw checkFault(this.ref.id, reply.trace);
    return {
      passed: reply.passed,
      reward: reply.reward,
      reasons: reply.passed ? [] : [reply.reason],
      judged: reply.judged
    };
  }
};
function checkFault(id, trace) {
  const last = trace.trimEnd().split("\n").at(-1) ?? "no message";
  const fault = new Fault("grader", `the check of ${id} raised ${last}`, { code: "check" });
  fault.stack = `${fault.name}: ${fault.message}
${trace}`;
  return fault;
}
function graderFault(id, error) {
  if (error instanceof BridgeError) {
    const { code, message, trace } = error.failure;
    if (code === "refused") return new Fault("judge", message, { code: "unreadable" });
    return trace === void 0 ? new Fault("grader", message, { cause: error }) : checkFault(id, trace);
  }
  if (error instanceof BridgeLost)
    return new Fault("grader", error.message, { cause: error, code: "bridge_lost" });
  return error;
}

// suites/thinkingbox/suite.ts
var ADAPTER = 1;
var BENCHMARK_LIST = "releases/thinkingbox_bench_v1/testlist_thinkingbox_bench_v1.yaml";
var OPEN_TIMEOUT_MS = 3e5;
var LOAD_TIMEOUT_MS = 12e4;
async function createThinkingBox(options) {
  const { python: python2, places = { thinkingboxDir: "thinkingboxDir", dataDir: "dataDir" } } = options;
  const framework = await checkCheckout(options.thinkingboxDir, "thinkingbox", places.thinkingboxDir);
  const data = await checkCheckout(options.dataDir, "data", places.dataDir);
  await checkPython(python2);
  const benchmark = await readList(join4(data.dir, BENCHMARK_LIST));
  const names = options.cases ?? benchmark;
  refuseRepeated(names);
  const env = pythonEnvironment(python2, { thinkingboxDir: framework.dir, dataDir: data.dir });
  const bridge = new Bridge({ python: python2, thinkingboxDir: framework.dir, dataDir: data.dir, env });
  try {
    const all = await open(bridge, [.../* @__PURE__ */ new Set([...names, ...benchmark])]);
    const benchmarkIds = new Set(benchmark);
    const benchmarkDigests = new Set(
      all.filter(({ id }) => benchmarkIds.has(id)).map((one) => one.templateDigest)
    );
    const wanted = new Set(names);
    const refs = all.filter(({ id }) => wanted.has(id)).map((one) => taskRef(one, benchmarkDigests.has(one.templateDigest)));
    const version = [ADAPTER, framework.revision, data.revision, await requirementsDigest()];
    return new OpenSuite(
      refs,
      digestOf([...version, ...refs.map(({ id, digest: digest2 }) => `${id} ${digest2}`)]),
      bridge,
      env
    );
  } catch (error) {
    await bridge.close();
    throw error;
  }
}
var OpenSuite = class {
  constructor(refs, digest2, bridge, env) {
    this.digest = digest2;
    this.bridge = bridge;
    this.env = env;
    this.refs = new Map(refs.map((ref) => [ref.id, ref]));
  }
  digest;
  bridge;
  env;
  name = "thinkingbox";
  isolation = "process";
  refs;
  async tasks() {
    return [...this.refs.values()];
  }
  async load(taskId) {
    const ref = this.ref(taskId);
    const loaded = await this.ask({ op: "load", body: { name: taskId }, reply: loadedCase });
    return new ThinkingBoxTask(ref, loaded, this.bridge, this.env);
  }
  async goldenCalls(taskId) {
    this.ref(taskId);
    return this.ask({ op: "golden", body: { name: taskId }, reply: goldenCalls });
  }
  close() {
    return this.bridge.close();
  }
  ref(taskId) {
    const ref = this.refs.get(taskId);
    if (!ref) throw unknownCase(taskId, [...this.refs.keys()]);
    return ref;
  }
  async ask(request) {
    try {
      return await this.bridge.request({
        ...request,
        signal: new AbortController().signal,
        timeoutMs: LOAD_TIMEOUT_MS
      });
    } catch (error) {
      throw asInputError(error);
    }
  }
};
async function open(bridge, names) {
  try {
    return await bridge.request({
      op: "open",
      body: { names },
      reply: listedCases,
      signal: new AbortController().signal,
      timeoutMs: OPEN_TIMEOUT_MS
    });
  } catch (error) {
    throw asInputError(error);
  }
}
function asInputError(error) {
  if (error instanceof BridgeError) {
    const { code, message, details, trace } = error.failure;
    if (code === "unknown_case")
      return unknownCase(message.replace(/^unknown case /, ""), details?.known ?? []);
    if (code === "bad_input") {
      return new UsageError(
        details?.place ?? "case",
        details?.expected ?? "a readable case",
        details?.found ?? message
      );
    }
    const fault = new Fault("suite", message, { cause: error });
    if (trace !== void 0) fault.stack = `${fault.name}: ${message}
${trace}`;
    return fault;
  }
  if (error instanceof Fault) return error;
  return new Fault("suite", error instanceof Error ? error.message : String(error), {
    cause: error,
    retry: true
  });
}
function unknownCase(id, known) {
  const near = nearestFew(id, known, 3);
  const fix = near.length > 0 ? `Did you mean ${near.join(" or ")}?` : void 0;
  return new UsageError("case id", "a case of the checkout (file.py:test_name)", `"${id}"`, fix);
}
function refuseRepeated(names) {
  const seen = /* @__PURE__ */ new Set();
  for (const name of names) {
    if (seen.has(name)) throw new UsageError("list of cases", "each id once", `"${name}" twice`);
    seen.add(name);
  }
  if (names.length === 0) throw new UsageError("list of cases", "at least one id", "none");
}
function taskRef(listed, benchmark) {
  const { id, scenario, domain, digest: digest2, templateDigest } = listed;
  return {
    id,
    domain: domainOf(scenario, domain),
    // Every case is a template of its own: nothing is generated from parameters.
    template: id.slice(id.indexOf(":") + 1),
    digest: digest2,
    templateDigest,
    split: benchmark ? "benchmark" : "train"
  };
}
async function readList(path) {
  let value;
  try {
    value = parse2(await readFile3(path, "utf8"));
  } catch (error) {
    throw new UsageError(
      path,
      "a readable YAML list of case ids",
      error instanceof Error ? error.message : String(error)
    );
  }
  if (!Array.isArray(value)) throw new UsageError(path, "a YAML list of case ids", typeof value);
  for (const [index, item] of value.entries()) {
    if (typeof item !== "string")
      throw new UsageError(`${path}, item ${index + 1}`, "a case id", JSON.stringify(item));
  }
  return value;
}
function digestOf(parts) {
  return `sha256:${createHash2("sha256").update(parts.join("\n")).digest("hex")}`;
}

// suites/thinkingbox/golden.ts
function replayPolicy(calls, farewell = "All of this is settled. <DONE>") {
  return {
    kind: "scripted",
    begin: async () => {
      let played = 0;
      return {
        turn: async () => {
          const call = calls[played];
          const id = `c${played}`;
          played += 1;
          return asTurn({
            role: "assistant",
            reasoning: "",
            content: call ? "" : farewell,
            toolCalls: call ? [{ id, name: call.name, arguments: call.arguments }] : []
          });
        },
        tokens: () => void 0
      };
    }
  };
}
function asTurn(message) {
  return {
    message,
    finishReason: "stop",
    problems: [],
    raw: JSON.stringify({ content: message.content, toolCalls: message.toolCalls }),
    promptTokens: 0,
    sampledTokens: 0,
    weightVersion: void 0
  };
}

// core/deadline.ts
async function withDeadline(parent, deadline, work) {
  parent.throwIfAborted();
  const controller = new AbortController();
  let onAbort;
  let timer;
  const stopped = new Promise((_resolve, reject) => {
    const stop = (reason) => {
      reject(reason);
      controller.abort(reason);
    };
    onAbort = () => stop(parent.reason);
    parent.addEventListener("abort", onAbort, { once: true });
    timer = setTimeout(() => stop(late(deadline)), Math.max(0, deadline.ms));
  });
  try {
    return await Promise.race([work(controller.signal), stopped]);
  } finally {
    clearTimeout(timer);
    if (onAbort) parent.removeEventListener("abort", onAbort);
  }
}
function late({ ms, what, kind = "deadline", code }) {
  const message = `${what} took longer than ${ms / 1e3} s`;
  return new Fault(kind, message, code === void 0 ? {} : { code });
}

// activities/episode/record.ts
var EpisodeRecord = class {
  messages = [];
  turns = [];
  others = { promptTokens: 0, sampledTokens: 0, calls: 0 };
  termination = null;
  effects = null;
  expected = null;
  tokens;
  weightVersion = null;
  toolCalls = 0;
  toolErrors = 0;
  truncatedTurns = 0;
  sampledTokens = 0;
  promptTokens = 0;
  turn(turn, policyMs) {
    this.messages.push(turn.message);
    this.promptTokens += turn.promptTokens;
    this.sampledTokens += turn.sampledTokens;
    if (turn.finishReason === "length") this.truncatedTurns += 1;
    this.weightVersion = turn.weightVersion ?? null;
    const { raw, finishReason, problems, promptTokens, sampledTokens } = turn;
    this.turns.push({ raw, finishReason, problems, promptTokens, sampledTokens, policyMs, toolMs: 0 });
  }
  /** Adds an observation of the last turn. A notice is no call. */
  observe(message, toolMs = 0) {
    this.messages.push(message);
    if (message.callId !== "") this.toolCalls += 1;
    if (message.callId !== "" && message.isError) this.toolErrors += 1;
    const last = this.turns.at(-1);
    if (last && toolMs > 0) this.turns[this.turns.length - 1] = { ...last, toolMs: last.toolMs + toolMs };
  }
  get usage() {
    return {
      policyPromptTokens: this.promptTokens,
      policySampledTokens: this.sampledTokens,
      policyCalls: this.turns.length,
      otherPromptTokens: this.others.promptTokens,
      otherSampledTokens: this.others.sampledTokens,
      otherCalls: this.others.calls
    };
  }
};
function refusal(call, reason) {
  return { role: "tool", callId: call.id, name: call.name, content: `error: ${reason}`, isError: true };
}
function notice(reason) {
  return refusal({ id: "", name: "" }, reason);
}

// activities/episode/calls.ts
var Toolbox = class {
  constructor(visible, session) {
    this.session = session;
    this.byName = new Map(visible.map((spec) => [spec.name, spec]));
  }
  session;
  byName;
  owners;
  spec(name) {
    return this.byName.get(name);
  }
  get names() {
    return [...this.byName.keys()];
  }
  async server(spec, signal) {
    if (spec.server !== void 0) return spec.server;
    this.owners ??= this.session.list(signal).then((all) => new Map(all.toReversed().map((tool) => [tool.name, tool.server])));
    const owner = (await this.owners).get(spec.name);
    if (owner === void 0) throw new Fault("sandbox", `no server offers the visible tool "${spec.name}"`);
    return owner;
  }
};
async function executeCall(call, options) {
  const reason = options.refused?.get(call.id);
  if (reason !== void 0) return refusal(call, reason);
  const spec = options.toolbox.spec(call.name);
  if (!spec) return refusal(call, `unknown tool "${call.name}", known: ${options.toolbox.names.join(", ")}`);
  try {
    const server = await options.toolbox.server(spec, options.signal);
    const { signal, timeoutMs } = options;
    const result = await options.session.call(server, call.name, call.arguments, { signal, timeoutMs });
    return { role: "tool", callId: call.id, name: call.name, content: result.text, isError: result.isError };
  } catch (error) {
    if (options.signal.aborted) throw error;
    const fault = asFault(error, "sandbox");
    throw new Fault(fault.kind, fault.message, {
      cause: fault.cause ?? error,
      retry: fault.retry,
      duringToolCall: true,
      ...fault.code === void 0 ? {} : { code: fault.code }
    });
  }
}

// activities/episode/conversation.ts
var CUT_OFF = "not executed: the message was cut off by the token limit of one message";
async function converse(parts) {
  const { task, limits: limits2, record: record2 } = parts;
  const maxActions = Math.min(limits2.agentActions, task.maxAgentActions);
  const maxAnswers = Math.min(limits2.userTurns, task.user.maxTurns);
  for (const content of task.systemMessages) record2.messages.push({ role: "system", content });
  let observations = [{ role: "user", content: task.user.opening }];
  record2.messages.push(...observations);
  let answers = 0;
  for (let actions = 1; ; actions += 1) {
    parts.onTurn?.(record2.turns.length + 1);
    const turn = await policyTurn(parts, observations);
    const reaction = await react(parts, turn);
    if (reaction.kind === "ended") return "end_turn_tool";
    if (reaction.kind === "spoke" && turn.message.content.includes(task.doneMarker)) return "done";
    if (record2.sampledTokens >= limits2.tokensPerEpisode) return "token_budget";
    if (actions >= maxActions) return "agent_limit";
    if (reaction.kind === "observed") {
      observations = reaction.observations;
      continue;
    }
    if (task.user.context === "") return "no_user";
    if (answers >= maxAnswers) return "user_limit";
    answers += 1;
    const answer = await userTurn(parts);
    observations = [{ role: "user", content: answer.content }];
    record2.messages.push(...observations);
    if (answer.ended) return "user_done";
  }
}
async function react(parts, turn) {
  const { record: record2, toolbox, tools, limits: limits2, signal } = parts;
  const calls = turn.message.toolCalls;
  if (turn.finishReason === "length") {
    const told = calls.length > 0 ? calls.map((call) => refusal(call, CUT_OFF)) : [notice(CUT_OFF)];
    for (const message of told) record2.observe(message);
    return { kind: "observed", observations: told };
  }
  if (calls.length === 0) {
    if (turn.message.content !== "" || turn.problems.length === 0) return { kind: "spoke" };
    const told = notice(turn.problems.join("; "));
    record2.observe(told);
    return { kind: "observed", observations: [told] };
  }
  const options = { toolbox, session: tools, timeoutMs: limits2.toolMs, signal, refused: turn.refused };
  const observations = [];
  let ended = false;
  for (const call of calls) {
    const started = performance.now();
    const message = await executeCall(call, options);
    record2.observe(message, performance.now() - started);
    observations.push(message);
    ended ||= !message.isError && toolbox.spec(call.name)?.endsTurn === true;
  }
  return ended ? { kind: "ended" } : { kind: "observed", observations };
}
async function policyTurn(parts, observations) {
  const { policy, limits: limits2, record: record2, signal } = parts;
  const maxTokens = Math.min(limits2.tokensPerCall, limits2.tokensPerEpisode - record2.sampledTokens);
  const clock = { ms: limits2.messageMs, what: "a policy message" };
  const started = performance.now();
  const turn = await guarded(
    signal,
    "policy",
    () => withDeadline(signal, clock, (inner) => policy.turn(observations, { maxTokens, signal: inner }))
  );
  const before = record2.weightVersion;
  record2.turn(turn, performance.now() - started);
  if (before !== null && turn.weightVersion !== before) {
    const message = `sampled from weights ${turn.weightVersion}, earlier turns from ${before}`;
    throw new Fault("policy", message, { code: "wrong_weights" });
  }
  return turn;
}
async function userTurn(parts) {
  const { user, task, record: record2, limits: limits2, signal } = parts;
  const clock = { ms: limits2.messageMs, what: "a message of the simulated user" };
  const content = await guarded(
    signal,
    "user",
    () => withDeadline(signal, clock, (inner) => user.answer(task.user, record2.messages, record2.others, inner))
  );
  return { content, ended: task.user.mayEnd && content.includes(task.doneMarker) };
}
async function guarded(signal, kind, work) {
  try {
    return await work();
  } catch (error) {
    if (signal.aborted) throw error;
    throw asFault(error, kind);
  }
}

// activities/episode/play.ts
var RELEASE_MS = 15e3;
async function playEpisode(parts) {
  const record2 = new EpisodeRecord();
  const started = performance.now();
  const clock = { ms: parts.limits.episodeMs, what: `the episode of ${parts.task.ref.id}` };
  let creating;
  let ended;
  try {
    const clean = await withDeadline(parts.signal, clock, async (signal) => {
      creating = parts.driver.create({ name: parts.sandboxName, servers: parts.task.servers, signal });
      const sandbox = await within("sandbox", signal, () => creating);
      parts.onSandboxCreated?.();
      return live(parts, sandbox, record2, signal);
    });
    ended = { clean };
  } catch (error) {
    ended = { fault: named(asFault(error, "sandbox"), parts.task.ref.id) };
  }
  const releaseError = await release(creating);
  if (parts.signal.aborted) {
    throw new Fault("cancelled", "the episode was cancelled", { cause: parts.signal.reason });
  }
  const wallMs = Math.round(performance.now() - started);
  return { record: record2, ...ended, wallMs, ...releaseError === void 0 ? {} : { releaseError } };
}
async function live(parts, { tools }, record2, signal) {
  const { task, limits: limits2, sampling, seed } = parts;
  await within("suite", signal, () => task.init(tools, signal));
  const visible = await within("sandbox", signal, () => task.visibleTools(tools, signal));
  const begin = { systemMessages: task.systemMessages, tools: visible, seed, sampling };
  const policy = await within(
    "policy",
    signal,
    () => parts.policy.begin({ ...begin, maxPromptTokens: limits2.promptTokens })
  );
  const toolbox = new Toolbox(visible, tools);
  const { user, onTurn } = parts;
  try {
    record2.termination = await converse({
      task,
      policy,
      toolbox,
      tools,
      user,
      limits: limits2,
      record: record2,
      signal,
      onTurn
    });
  } finally {
    record2.tokens = policy.tokens();
  }
  if (record2.sampledTokens === 0 && parts.policy.kind !== "scripted") {
    throw new Fault("policy", "the policy sampled no token in the whole episode", { code: "no_tokens" });
  }
  const { termination } = record2;
  const effects = await within("sandbox", signal, () => task.effects(tools, signal));
  record2.effects = effects;
  const expected = await within("grader", signal, async () => task.expectedEffects?.());
  record2.expected = expected ?? null;
  const judge = parts.judge(record2.others);
  const graded = { effects, messages: record2.messages, termination, judge, tools, signal };
  const verdict = await within("grader", signal, () => task.grade(graded));
  return { verdict: atLimit(checked(verdict, task.ref.id), termination, task), termination };
}
async function within(kind, signal, work) {
  signal.throwIfAborted();
  try {
    return await work();
  } catch (error) {
    if (signal.aborted) throw error;
    throw asFault(error, kind);
  }
}
function named(fault, taskId) {
  if (fault.code !== "prompt_too_long") return fault;
  const { cause, retry, code } = fault;
  return new Fault(fault.kind, `task ${taskId}: ${fault.message}`, { cause, retry, code });
}
function checked(verdict, taskId) {
  const reward = verdict?.reward;
  if (typeof verdict?.passed === "boolean" && typeof reward === "number" && reward >= 0 && reward <= 1)
    return verdict;
  const found = JSON.stringify(verdict ?? null);
  const message = `the check of ${taskId} gave no verdict: expected passed and a reward within [0, 1], found ${found}`;
  throw new Fault("grader", message, { code: "no_verdict" });
}
var OWN_LIMITS = /* @__PURE__ */ new Set(["user_limit", "agent_limit", "token_budget"]);
function atLimit(verdict, termination, task) {
  if (!verdict.passed || task.passesAtLimits || !OWN_LIMITS.has(termination)) return verdict;
  return { ...verdict, passed: false, reward: 0, reasons: [`the episode ended at a limit: ${termination}`] };
}
async function release(creating) {
  if (!creating) return void 0;
  const sandbox = await creating.catch(() => void 0);
  if (!sandbox) return void 0;
  const clock = { ms: RELEASE_MS, what: `release of sandbox ${sandbox.name}` };
  try {
    await withDeadline(new AbortController().signal, clock, () => sandbox.release());
    return void 0;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

// activities/sandbox/process.ts
import { mkdir as mkdir2, readFile as readFile5, rm as rm3, writeFile as writeFile3 } from "node:fs/promises";
import { join as join5 } from "node:path";

// activities/sandbox/process-identity.ts
import { execFile as execFile3 } from "node:child_process";
import { readdir, readFile as readFile4 } from "node:fs/promises";
var SANDBOX_MARK = "STEADFAST_SANDBOX";
async function processStart(pid) {
  if (process.platform === "linux") {
    const stat2 = await readFile4(`/proc/${pid}/stat`, "utf8").catch(() => void 0);
    const fields = stat2?.slice(stat2.lastIndexOf(")") + 2).split(" ");
    return fields?.[0] === "Z" ? void 0 : fields?.[19];
  }
  return new Promise((resolve2) => {
    execFile3(
      "ps",
      ["-o", "lstart=", "-p", String(pid)],
      (error, out) => resolve2(error ? void 0 : out.trim())
    );
  });
}
async function markedProcesses(name) {
  if (process.platform !== "linux") return [];
  const mark = `${SANDBOX_MARK}=${name}`;
  const found = [];
  for (const entry of await readdir("/proc")) {
    if (!/^\d+$/.test(entry)) continue;
    const environment = await readFile4(`/proc/${entry}/environ`, "latin1").catch(() => "");
    if (environment.split("\0").includes(mark)) found.push(Number(entry));
  }
  return found;
}
function killNow(pid) {
  try {
    process.kill(pid, "SIGKILL");
    return true;
  } catch (error) {
    if (error.code === "ESRCH") return false;
    throw error;
  }
}

// activities/sandbox/process-transport.ts
import { spawn as spawn3 } from "node:child_process";
import { JSONRPCMessageSchema } from "@modelcontextprotocol/sdk/types.js";
var MAX_MESSAGE_BYTES = 16 * 1024 * 1024;
var LAST_WORDS_BYTES = 2e3;
var ProcessTransport = class {
  constructor(program3) {
    this.program = program3;
  }
  program;
  onmessage;
  onclose;
  onerror;
  child;
  pending = [];
  pendingBytes = 0;
  words = "";
  closed = false;
  get pid() {
    return this.child?.pid;
  }
  /** How the program ended and the end of its standard error. */
  lastWords() {
    const code = this.child?.exitCode ?? this.child?.signalCode;
    return `${code === null || code === void 0 ? "" : `(exit ${code}) `}${this.words.trim()}`;
  }
  /** Rejects when the program cannot be started, e.g. because there is no such file. */
  async start() {
    const { file, args, env, cwd } = this.program;
    const child = spawn3(file, args, { env, cwd, detached: true, stdio: ["pipe", "pipe", "pipe"] });
    this.child = child;
    await new Promise((resolve2, reject) => {
      child.once("spawn", resolve2);
      child.once("error", reject);
    });
    child.on("error", (error) => this.onerror?.(error));
    child.on("close", () => this.end());
    child.stdin?.on("error", (error) => this.onerror?.(error));
    child.stdout?.on("data", (chunk) => this.read(chunk));
    child.stderr?.on("data", (chunk) => {
      this.words = (this.words + chunk.toString("utf8")).slice(-LAST_WORDS_BYTES);
    });
  }
  async send(message) {
    const stdin = this.child?.stdin;
    if (this.closed || !stdin?.writable) throw new Error("the program has ended");
    if (!stdin.write(`${JSON.stringify(message)}
`)) {
      await new Promise((resolve2) => {
        stdin.once("drain", resolve2);
        stdin.once("close", resolve2);
      });
    }
  }
  /** Ends the whole group at once: a sandbox is thrown away, nothing of it is worth a farewell. */
  async close() {
    const child = this.child;
    if (!child?.pid || this.closed) return this.end();
    const ended = new Promise((resolve2) => child.once("close", () => resolve2()));
    killNow(-child.pid);
    child.stdout?.destroy();
    child.stderr?.destroy();
    await ended;
    this.end();
  }
  end() {
    if (this.closed) return;
    this.closed = true;
    this.onclose?.();
  }
  read(chunk) {
    let from = 0;
    for (let at = chunk.indexOf(10); at >= 0; at = chunk.indexOf(10, from)) {
      this.keep(chunk.subarray(from, at));
      from = at + 1;
      const line = Buffer.concat(this.pending).toString("utf8");
      this.pending = [];
      this.pendingBytes = 0;
      if (line.trim() !== "") this.message(line);
    }
    this.keep(chunk.subarray(from));
  }
  keep(part) {
    if (part.length === 0) return;
    this.pendingBytes += part.length;
    if (this.pendingBytes <= MAX_MESSAGE_BYTES) {
      this.pending.push(part);
    } else if (this.child?.pid) {
      this.words = `a message longer than ${MAX_MESSAGE_BYTES} bytes`;
      killNow(-this.child.pid);
    }
  }
  message(line) {
    let parsed;
    try {
      parsed = JSONRPCMessageSchema.parse(JSON.parse(line));
    } catch (error) {
      this.onerror?.(error instanceof Error ? error : new Error(String(error)));
      return;
    }
    this.onmessage?.(parsed);
  }
};

// activities/sandbox/session.ts
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import {
  CallToolResultSchema,
  ListToolsResultSchema,
  McpError
} from "@modelcontextprotocol/sdk/types.js";
var NEVER_MS = 2e9;
var LIST_TIMEOUT_MS = 3e4;
var MAX_PAGES = 100;
var NO_VALIDATION = {
  getValidator: () => (input) => ({ valid: true, data: input, errorMessage: void 0 })
};
var McpSession = class {
  servers = /* @__PURE__ */ new Map();
  /** Connects and initialises one server. Throws `Fault('sandbox', code: 'start_timeout' | 'start_failed')`. */
  async connect(name, link2, timeoutMs, signal) {
    const client = new Client(
      { name: "steadfast", version: "1" },
      { capabilities: {}, jsonSchemaValidator: NO_VALIDATION }
    );
    const server = { client, link: link2, lost: void 0 };
    client.onclose = () => {
      server.lost ??= "the session was closed";
    };
    const start = {
      ms: timeoutMs,
      what: `start of server "${name}"`,
      kind: "sandbox",
      code: "start_timeout"
    };
    try {
      await withDeadline(
        signal,
        start,
        (inner) => client.connect(link2.transport, { signal: inner, timeout: NEVER_MS })
      );
    } catch (error) {
      if (signal.aborted || error instanceof Fault) throw error;
      const message = `server "${name}" did not start: ${messageOf(error)}${lastWords(link2)}`;
      throw new Fault("sandbox", message, { cause: error, code: "start_failed" });
    }
    this.servers.set(name, server);
  }
  async list(signal) {
    const lists = await Promise.all([...this.servers.keys()].map((name) => this.listOne(name, signal)));
    return lists.flat();
  }
  async call(server, tool, args, options) {
    const what = `tool call "${tool}" of server "${server}"`;
    try {
      const result = await this.request(
        server,
        what,
        options.timeoutMs,
        options.signal,
        (client, signal) => client.request(
          { method: "tools/call", params: { name: tool, arguments: args } },
          CallToolResultSchema,
          {
            signal,
            timeout: NEVER_MS
          }
        )
      );
      return toolResult(result);
    } catch (error) {
      if (error instanceof McpError) return { text: error.message, isError: true };
      throw error;
    }
  }
  /** Ends every session; never throws. */
  async close() {
    await Promise.allSettled([...this.servers.values()].map(({ client }) => client.close()));
  }
  async listOne(name, signal) {
    const specs = [];
    let cursor;
    for (let page = 0; page < MAX_PAGES; page += 1) {
      const params = cursor === void 0 ? {} : { cursor };
      const found = await this.request(
        name,
        `tool list of "${name}"`,
        LIST_TIMEOUT_MS,
        signal,
        (client, inner) => client.request({ method: "tools/list", params }, ListToolsResultSchema, {
          signal: inner,
          timeout: NEVER_MS
        })
      );
      for (const { name: tool, description, inputSchema } of found.tools) {
        const schema = inputSchema;
        specs.push({
          server: name,
          name: tool,
          inputSchema: schema,
          ...description === void 0 ? {} : { description }
        });
      }
      cursor = found.nextCursor;
      if (cursor === void 0) return specs;
    }
    throw new Fault("sandbox", `server "${name}" lists its tools on more than ${MAX_PAGES} pages`);
  }
  /** Throws what the server answered as `McpError`; everything else that can go wrong as a `Fault` or the abort reason. */
  async request(name, what, timeoutMs, signal, send) {
    const server = this.servers.get(name);
    if (!server) throw new Fault("sandbox", `${what}: there is no such server`, { retry: false });
    if (server.lost === void 0) {
      try {
        return await withDeadline(signal, { ms: timeoutMs, what }, (inner) => send(server.client, inner));
      } catch (error) {
        if (signal.aborted || error instanceof Fault) throw error;
        if (error instanceof McpError && server.lost === void 0) throw error;
        server.lost ??= messageOf(error);
      }
    }
    throw new Fault("sandbox", `${what}: ${server.lost}${lastWords(server.link)}`, { code: "session_lost" });
  }
};
function toolResult(result) {
  const parts = result.content.map((part) => {
    if (part.type === "text") return part.text;
    if (part.type === "resource" && "text" in part.resource) return part.resource.text;
    return `[${part.type}]`;
  });
  const structured = result.structuredContent;
  const text = parts.length === 0 && structured ? JSON.stringify(structured) : parts.join("\n");
  return { text, isError: result.isError === true, ...structured ? { structured } : {} };
}
function lastWords(link2) {
  const words = link2.lastWords?.().trim();
  return words ? `; its last words: ${words}` : "";
}
function messageOf(error) {
  return error instanceof Error ? error.message : String(error);
}

// activities/sandbox/process.ts
var PROCESS_LIMITS = {
  cpuSeconds: 900,
  fileMebibytes: 1024,
  openFiles: 1024,
  dataMebibytes: 4096
};
function createProcessDriver(home, limits2 = PROCESS_LIMITS) {
  return {
    isolation: "process",
    create: (request) => create(request, folderOf(home, request.name), limits2),
    reap: async (name) => {
      const folder = folderOf(home, name);
      const recorded = await readRecord(folder);
      const killed = await killAll(name, recorded);
      await rm3(folder, { recursive: true, force: true });
      return killed || recorded !== void 0;
    }
  };
}
async function create(request, folder, limits2) {
  const session = new McpSession();
  const transports = [];
  const release2 = async () => {
    await session.close();
    await Promise.all(transports.map((transport) => transport.close()));
    await killAll(request.name, void 0);
    await rm3(folder, { recursive: true, force: true });
  };
  try {
    await mkdir2(join5(folder, "tmp"), { recursive: true });
    await writeFile3(join5(folder, "record.json"), JSON.stringify({ processes: [] }));
    await Promise.all(
      request.servers.map(async (spec) => {
        const transport = new ProcessTransport(program2(spec, request.name, folder, limits2));
        transports.push(transport);
        const link2 = { transport, lastWords: () => transport.lastWords() };
        await session.connect(spec.name, link2, spec.startTimeoutMs, request.signal);
      })
    );
    await record(folder, transports);
  } catch (error) {
    await release2();
    throw error;
  }
  return { name: request.name, tools: session, release: release2 };
}
function program2(spec, name, folder, limits2) {
  const { command } = spec;
  if (!command) {
    throw new Fault("sandbox", `server "${spec.name}" cannot run as a process: it has no \`command\``, {
      retry: false
    });
  }
  const set = [
    ["-c", 0],
    ["-t", limits2.cpuSeconds],
    ["-f", limits2.fileMebibytes * 2048],
    ["-n", limits2.openFiles],
    ["-d", limits2.dataMebibytes * 1024]
  ].map(([flag, value]) => `ulimit ${flag} ${value} 2>/dev/null;`);
  const temporary = join5(folder, "tmp");
  return {
    file: "/bin/sh",
    args: ["-c", `${set.join(" ")} exec "$0" "$@"`, command.file, ...command.args],
    env: {
      PATH: process.env.PATH ?? "/usr/local/bin:/usr/bin:/bin",
      LANG: "C.UTF-8",
      HOME: temporary,
      TMPDIR: temporary,
      ...command.env,
      [SANDBOX_MARK]: name
    },
    cwd: command.cwd ?? temporary
  };
}
async function record(folder, transports) {
  const processes = [];
  for (const { pid } of transports) {
    const started = pid === void 0 ? void 0 : await processStart(pid);
    if (pid !== void 0 && started !== void 0) processes.push({ pid, started });
  }
  await writeFile3(join5(folder, "record.json"), JSON.stringify({ processes }));
}
async function readRecord(folder) {
  const text = await readFile5(join5(folder, "record.json"), "utf8").catch(() => void 0);
  if (text === void 0) return void 0;
  try {
    return JSON.parse(text);
  } catch {
    return { processes: [] };
  }
}
async function killAll(name, recorded) {
  let found = false;
  for (const { pid, started } of recorded?.processes ?? []) {
    if (await processStart(pid) === started) found = killNow(-pid) || found;
  }
  for (let round = 0; round < 20; round += 1) {
    const alive2 = await markedProcesses(name);
    if (alive2.length === 0) return found;
    for (const pid of alive2) found = killNow(pid) || found;
    await new Promise((resolve2) => setTimeout(resolve2, 50));
  }
  throw new Fault("sandbox", `processes of sandbox ${name} do not end`);
}
function folderOf(home, name) {
  if (!/^[A-Za-z0-9][A-Za-z0-9._-]{0,120}$/.test(name)) {
    throw new Fault("sandbox", `"${name}" cannot be a sandbox name`, { retry: false });
  }
  return join5(home, "sandboxes", name);
}

// ../../tmp/h8/try.ts
var python = await prepareThinkingBox({ home: "/work/main/.steadfast", report: (l) => console.log(l) });
var t = performance.now();
var suite = await createThinkingBox({ thinkingboxDir: "/tmp/tb/thinkingbox", dataDir: "/tmp/tb/data", python });
var tasks = await suite.tasks();
console.log(tasks.length, suite.digest, Math.round(performance.now() - t), new Set(tasks.map((x) => x.templateDigest)).size, tasks[0]);
var ids = process.argv.length > 2 ? process.argv.slice(2) : tasks.map((x) => x.id);
var ok = 0;
var limits = { tokensPerCall: 1, tokensPerEpisode: 1e6, promptTokens: 1e6, userTurns: 10, agentActions: 1e6, episodeMs: 3e5, messageMs: 1e5, toolMs: 6e4 };
for (const id of ids) {
  const calls = await suite.goldenCalls(id);
  t = performance.now();
  const task = await suite.load(id);
  const loadMs = performance.now() - t;
  const played = await playEpisode({
    task,
    driver: createProcessDriver("/tmp/h8/home"),
    sandboxName: `t${Date.now()}`,
    policy: replayPolicy(calls),
    user: { answer: async () => "ok" },
    judge: () => ({ ask: async (q) => true, complete: async () => "Yes" }),
    sampling: { temperature: 1, topK: 0, topP: 1 },
    limits,
    seed: "1",
    signal: new AbortController().signal
  });
  if (played.clean?.verdict.passed) ok++;
  else console.log(id, played.clean, played.fault);
  if (played.record.toolErrors) console.log(id, "toolErrors", played.record.toolErrors, played.record.messages.filter((m) => m.role === "tool" && m.isError).slice(0, 1).map((m) => m.content.slice(0, 200)));
  if (process.env.V) console.log(JSON.stringify(played.record.messages.filter((m) => m.role === "tool"), null, 1));
}
console.log("passed", ok, "of", ids.length, process.cpuUsage(), process.resourceUsage());
await suite.close();
