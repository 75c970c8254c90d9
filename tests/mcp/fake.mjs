// An MCP server on standard input and output that misbehaves as it is told. Its one argument is JSON:
// {start?: how it starts, tools?: [names], log?: a file for all it sees, and what single tools want to know}.
// Each tool is a way to answer; see `tools` below.
import { appendFileSync, closeSync, writeSync } from "node:fs";
import { spawn } from "node:child_process";

const wants = JSON.parse(process.argv[2] ?? "{}");
const note = (what, more) => wants.log && appendFileSync(wants.log, JSON.stringify({ what, pid: process.pid, ...more }) + "\n");
const sleep = (ms) => new Promise((done) => setTimeout(done, ms));

// Written at once and whole: what a test says about the order of bytes is so.
function raw(bytes) {
  let left = Buffer.from(bytes);
  while (left.length > 0) {
    try {
      left = left.subarray(writeSync(1, left));
    } catch (error) {
      if (error.code !== "EAGAIN") throw error;
    }
  }
}
const send = (message) => raw(JSON.stringify({ jsonrpc: "2.0", ...message }) + "\n");
const id = (asked) => (wants.start === "text ids" ? String(asked) : asked);
const answer = (request, result) => send({ id: id(request.id), result });
const text = (value) => ({ content: [{ type: "text", text: String(value) }] });

let calls = 0;
let asked = 0;
const waiting = new Map();
// The server's own ids begin at 0, as the client's do.
const ask = (method, params = {}) =>
  new Promise((done) => {
    waiting.set(asked, done);
    send({ id: asked++, method, params });
  });

const ways = {
  echo: (request) => answer(request, text(JSON.stringify(request.params.arguments))),
  whoami: (request) => answer(request, text(wants.name ?? "fake")),
  count: (request) => answer(request, text(++calls)),
  iserr: (request) => answer(request, { content: [{ type: "text", text: "bad input" }], isError: true }),
  rpcerr: (request) => send({ id: request.id, error: { code: -32602, message: "no such thing", data: { why: "because" } } }),
  names: (request) => answer(request, { content: [], structuredContent: { names: Object.keys(process.env).sort(), cwd: process.cwd() } }),
  image: (request) =>
    answer(request, {
      content: [
        { type: "image", data: "aGk=", mimeType: "image/png" },
        { type: "resource", resource: { uri: "demo://a", text: "t" } },
        { type: "from the future", anything: { id: 1 } },
      ],
    }),
  structured: (request) => answer(request, { ...text("{}"), structuredContent: { z: 1, a: [null, 1.5, "é"] } }),
  bye: () => process.kill(process.pid, "SIGKILL"),
  leave: (request) => {
    answer(request, text("last words"));
    process.exit(3);
  },
  never: () => {},
  slow: async (request) => {
    await sleep(request.params.arguments.ms);
    answer(request, text("slow"));
  },
  debug: (request) => {
    raw("debug: before the reply\n\n\xff\n");
    raw(Buffer.from([0xff, 0xfe, 0x0a]));
    answer(request, text("clean"));
    raw("{\"half\": \n");
  },
  bytewise: async (request) => {
    const line = Buffer.from(JSON.stringify({ jsonrpc: "2.0", id: request.id, result: text("— é 日本 😀") }) + "\n");
    for (const byte of line) {
      raw(Buffer.from([byte]));
      await sleep(0);
    }
  },
  chatty: (request) => {
    writeSync(2, "c".repeat(256 << 10));
    answer(request, text("heard"));
  },
  long: (request) => {
    const { bytes, idLast } = request.params.arguments;
    const result = `"result":{"content":[{"type":"text","text":"`;
    const number = `"id":${request.id}`;
    raw(idLast ? `{"jsonrpc":"2.0",${result}` : `{"jsonrpc":"2.0",${number},${result}`);
    const piece = "x".repeat(1 << 20);
    for (let sent = 0; sent < bytes; sent += piece.length) raw(piece);
    raw(idLast ? `"}]},${number}}\n` : `"}]}}\n`);
  },
  // Short as a text and large as a value.
  many: (request) => {
    const { values, piece = "[]," } = request.params.arguments;
    const many = piece.repeat(values);
    raw(`{"jsonrpc":"2.0","id":${request.id},"result":{"content":[],"structuredContent":{"many":[${many}[]]}}}\n`);
  },
  endless: () => {
    const piece = "x".repeat(1 << 20);
    for (;;) raw(piece);
  },
  babble: () => {
    const piece = "no message at all\n".repeat(60_000);
    for (;;) raw(piece);
  },
  deep: (request) => {
    const { levels } = request.params.arguments;
    raw(`{"jsonrpc":"2.0","id":${request.id},"result":{"content":[],"structuredContent":${"[".repeat(levels)}${"]".repeat(levels)}}}\n`);
  },
  twice: (request) => {
    answer(request, text("first"));
    answer(request, text("second"));
    answer({ id: 4711 }, text("to nobody"));
  },
  progress: async (request) => {
    const { progressToken } = request.params._meta ?? {};
    for (let progress = 1; progress <= 3; progress++) {
      send({ method: "notifications/progress", params: { progressToken, progress, total: 3 } });
    }
    answer(request, text("done"));
  },
  asks: async (request) => {
    const answers = {};
    for (const method of ["ping", "roots/list", "sampling/createMessage", "elicitation/create", "made/up"]) {
      const { result, error } = await ask(method);
      answers[method] = result ? { result } : { code: error.code };
    }
    answer(request, { content: [], structuredContent: answers });
  },
  flood_of_requests: (request) => {
    for (let n = 0; n < 5000; n++) send({ id: `q${n}`, method: "ping" });
    answer(request, text("asked"));
  },
  changes: (request) => {
    names = names.filter((name) => name !== "old_tool").concat("late_tool");
    answer(request, text("changed"));
    send({ method: "notifications/tools/list_changed" });
  },
  old_tool: (request) => answer(request, text("old")),
  late_tool: (request) => answer(request, text("late")),
  mute: async (request) => {
    // One direction is closed; the process lives on.
    closeSync(1);
    await sleep(60_000);
  },
  deaf: async (request) => {
    answer(request, text("last one"));
    process.stdin.destroy();
    closeSync(0);
    await sleep(60_000);
  },
};

let names = wants.tools ?? Object.keys(ways);
const tool = (name) => ({ name, description: `Tool ${name}: ${name.replaceAll("_", " ")}.`, inputSchema: { type: "object" } });

function list(request) {
  const cursor = request.params?.cursor;
  note("list", { cursor: cursor ?? null });
  if (wants.start === "circle") return { tools: [tool(`t${cursor ?? 0}`)], nextCursor: cursor === "a" ? "b" : "a" };
  if (wants.start === "no end") return { tools: [tool(`t${Number(cursor ?? 0)}`)], nextCursor: String(Number(cursor ?? 0) + 1) };
  if (!wants.pageSize) return { tools: names.map(tool) };
  // A cursor is the server's own business and looks like it.
  const from = cursor === undefined ? 0 : Number(Buffer.from(cursor.slice(3, -1), "base64url"));
  const next = from + wants.pageSize;
  const nextCursor = next < names.length ? `é+/${Buffer.from(String(next)).toString("base64url")} ` : undefined;
  return { tools: names.slice(from, next).map(tool), nextCursor };
}

const answers = {
  initialize: (request) => {
    if (wants.start === "silent") return;
    if (wants.start === "early") send({ method: "notifications/message", params: { level: "info", data: "early" } });
    if (wants.start === "refuses") return send({ id: request.id, error: { code: -32000, message: "no entry" } });
    const { protocolVersion, capabilities } = request.params;
    note("client", { capabilities });
    answer(request, { protocolVersion, capabilities: { tools: { listChanged: true } }, serverInfo: { name: "fake", version: "1" } });
  },
  ping: (request) => answer(request, {}),
  "tools/list": (request) => answer(request, list(request)),
  "tools/call": (request) => {
    const { name } = request.params;
    note("call", { name, args: request.params.arguments });
    const way = ways[name] ?? ways.whoami;
    return way(request);
  },
};

function take(line) {
  const message = JSON.parse(line);
  if (message.method === undefined) return waiting.get(message.id)?.(message);
  if (message.id === undefined) return note("notification", { method: message.method, params: message.params });
  if (answers[message.method]) return answers[message.method](message);
  send({ id: message.id, error: { code: -32601, message: "unknown method" } });
}

if (wants.start === "dies") {
  console.error("cannot find module 'nowhere'");
  process.exit(7);
}
if (wants.start === "banner") raw("Server v1.2 ready ✓\n");
if (wants.start === "endless banner") for (;;) raw("x".repeat(1 << 20));
if (wants.grandchild) {
  // It holds our pipes and dies of nothing that is sent politely.
  const child = spawn(process.execPath, ["-e", "process.on('SIGTERM', () => {}); setInterval(() => {}, 1000)"], { stdio: "inherit" });
  note("grandchild", { grandchild: child.pid });
}
if (wants.runaway) {
  // It leaves the group, and keeps our standard input and error open.
  const child = spawn("sleep", ["20"], { stdio: ["inherit", "ignore", "inherit"], detached: true });
  note("runaway", { runaway: child.pid });
}
note("start");
process.on("SIGTERM", () => {
  note("SIGTERM");
  if (!wants.stubborn) process.exit(0);
});
if (wants.stubborn) setInterval(() => {}, 1000);

let rest = "";
process.stdin.setEncoding("utf8");
process.stdin.on("data", (piece) => {
  const lines = (rest + piece).split("\n");
  rest = lines.pop();
  lines.filter(Boolean).forEach(take);
});
process.stdin.on("end", () => {
  note("end of input");
  if (!wants.stubborn) process.exit(0);
});
