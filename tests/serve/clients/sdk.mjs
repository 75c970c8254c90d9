// The TypeScript SDK's client against `codemode mcp`: lists and calls in each mode, hears progress and logs, gives up, and is told of errors.
// usage: node sdk.mjs FOLDER-OF-CLIENTS PROGRAM CATALOG stdio|http MODE [URL]
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { join } from "node:path";

const [folder, program, catalog, transport, mode, url] = process.argv.slice(2);
const require = createRequire(join(folder, "package.json"));
const { Client } = require("@modelcontextprotocol/sdk/client/index.js");
const { StdioClientTransport } = require("@modelcontextprotocol/sdk/client/stdio.js");
const { StreamableHTTPClientTransport } = require("@modelcontextprotocol/sdk/client/streamableHttp.js");
const { LoggingMessageNotificationSchema } = require("@modelcontextprotocol/sdk/types.js");

const client = new Client({ name: "sdk-test", version: "1.0.0" });
const lines = [];
client.setNotificationHandler(LoggingMessageNotificationSchema, ({ params }) => void lines.push(params.data));
const over =
  transport === "stdio"
    ? new StdioClientTransport({ command: program, args: ["mcp", "--tools", catalog, "--mode", mode], env: process.env })
    : new StreamableHTTPClientTransport(new URL(url));
await client.connect(over);

assert.equal(client.getServerVersion().name, "codemode");
assert.match(client.getInstructions(), /tools/);
const { tools, nextCursor } = await client.listTools();
assert.equal(nextCursor, undefined);
const wanted = mode === "code" ? ["tool_search_code"] : ["tool_search", "tool_describe", "tool_call"];
assert.deepEqual(tools.map((tool) => tool.name).slice(0, wanted.length), wanted);

// The client itself checks structured content against the output schema.
if (mode === "code") {
  const progress = [];
  // This client drops a progress notification that comes in one piece with the result: the second call gives the others time.
  const code = `console.log('a line'); const value = await openclaw.tools.call('demo:echo', { x: [1, 2] });
    await openclaw.tools.call('demo:slow', { ms: 400 }); return value`;
  const result = await client.callTool({ name: "tool_search_code", arguments: { code } }, undefined, { onprogress: (one) => void progress.push(one) });
  assert.deepEqual(result.structuredContent.value, { x: [1, 2] });
  assert.equal(result.isError, false);
  assert.ok(progress.length >= 3, `${progress.length} steps`);
  assert.match(progress[1].message, /^call demo:echo: ok/);
  for (let i = 0; i < 100 && lines.length === 0; i++) await new Promise((resolve) => setTimeout(resolve, 20));
  assert.deepEqual(lines, ["a line"]);
  const failed = await client.callTool({ name: "tool_search_code", arguments: { code: "throw new Error('no')" } });
  assert.deepEqual([failed.isError, failed.structuredContent.error.code], [true, "body_error"]);
  const giveUp = new AbortController();
  const endless = client.callTool({ name: "tool_search_code", arguments: { code: "for (;;);" } }, undefined, { signal: giveUp.signal });
  setTimeout(() => giveUp.abort("enough"), 300);
  await assert.rejects(endless);
  const after = await client.callTool({ name: "tool_search_code", arguments: { code: "return 2" } });
  assert.equal(after.structuredContent.value, 2);
} else {
  const found = await client.callTool({ name: "tool_search", arguments: { query: "adds one to a counter" } });
  assert.equal(found.structuredContent.tools[0].id, "demo:count");
  const described = await client.callTool({ name: "tool_describe", arguments: { id: "demo:count" } });
  assert.equal(described.structuredContent.name, "count");
  const called = await client.callTool({ name: "tool_call", arguments: { id: "demo:echo", args: { x: 1 } } });
  assert.deepEqual(called.structuredContent, { x: 1 });
}
await client.setLoggingLevel("error");
await client.ping();
await assert.rejects(client.callTool({ name: "no_such_tool", arguments: {} }), /Unknown tool/);
if (transport === "http") await over.terminateSession();
await client.close();
