// An MCP server on standard input and output that is honest but for one fault at one step: `server.mjs STEP FAULT`.
import { closeSync, writeSync } from "node:fs";
import { createInterface } from "node:readline";

const [step, fault] = process.argv.slice(2);
const sleep = (ms) => new Promise((done) => setTimeout(done, ms));

// Written at once and whole, also into a pipe that is full for the moment.
function raw(bytes) {
  let left = Buffer.from(bytes);
  while (left.length > 0) {
    try {
      left = left.subarray(writeSync(1, left));
    } catch (error) {
      if (error.code !== "EAGAIN") process.exit(1);
    }
  }
}
const line = (id, result) => JSON.stringify({ jsonrpc: "2.0", id, result }) + "\n";

const answers = {
  initialize: ({ params }) => ({
    protocolVersion: params.protocolVersion,
    capabilities: { tools: {} },
    serverInfo: { name: "bad", version: "1" },
  }),
  "tools/list": () => ({ tools: [{ name: "alpha", description: "A tool.", inputSchema: { type: "object" } }] }),
  "tools/call": () => ({ content: [{ type: "text", text: "done" }] }),
};

const ways = {
  stop: () => {},
  die: () => process.kill(process.pid, "SIGKILL"),
  late: async (id, result) => {
    await sleep(150);
    raw(line(id, result));
  },
  twice: (id, result) => raw(line(id, result) + line(id, result)),
  garbage: (id) => raw(line(id, 7)),
  slowly: async (id, result) => {
    for (const byte of Buffer.from(line(id, result))) {
      raw([byte]);
      await sleep(0);
    }
  },
  flood: () => {
    for (;;) raw("x".repeat(1 << 20));
  },
  mute: () => {
    closeSync(1);
    setInterval(() => {}, 60_000);
  },
  deaf: (id, result) => {
    raw(line(id, result));
    process.stdin.destroy();
    closeSync(0);
    setInterval(() => {}, 60_000);
  },
};

for await (const text of createInterface({ input: process.stdin })) {
  const { id, method, params } = JSON.parse(text);
  if (id === undefined || !answers[method]) continue;
  const result = answers[method]({ params });
  if (method === step) await ways[fault](id, result);
  else raw(line(id, result));
}
