"""The Python SDK's client against `codemode mcp`: lists and calls in each mode, hears progress and logs, and is told of errors.

usage: python sdk.py PROGRAM CATALOG stdio|http MODE auto|legacy [URL]
`auto` is what the client does by itself; `legacy` makes it open a session with `initialize`, as older ones do.
"""

import asyncio
import os
import sys

from mcp import Client, MCPError, StdioServerParameters

program, catalog, transport, mode, connect = sys.argv[1:6]


async def main():
    lines, progress = [], []

    async def heard(params):
        lines.append(params.data)

    async def went_on(done, total, message):
        progress.append(done)

    if transport == "stdio":
        server = StdioServerParameters(command=program, args=["mcp", "--tools", catalog, "--mode", mode], env=dict(os.environ))
    else:
        server = sys.argv[6]
    async with Client(server, logging_callback=heard, log_level="info", mode=connect) as client:
        tools = (await client.list_tools()).tools
        names = [tool.name for tool in tools]
        wanted = ["tool_search_code"] if mode == "code" else ["tool_search", "tool_describe", "tool_call"]
        assert names[: len(wanted)] == wanted, names
        if mode == "code":
            code = "console.log('a line'); return openclaw.tools.call('demo:echo', { x: [1, 2] })"
            result = await client.call_tool("tool_search_code", {"code": code}, progress_callback=went_on)
            assert result.structured_content["value"] == {"x": [1, 2]} and not result.is_error, result
            for _ in range(100):
                if lines:
                    break
                await asyncio.sleep(0.02)
            assert lines == ["a line"] and progress == [1.0, 2.0], (lines, progress)
            failed = await client.call_tool("tool_search_code", {"code": "throw new Error('no')"})
            assert failed.is_error and failed.structured_content["error"]["code"] == "body_error", failed
        else:
            found = await client.call_tool("tool_search", {"query": "adds one to a counter"})
            assert found.structured_content["tools"][0]["id"] == "demo:count", found
            called = await client.call_tool("tool_call", {"id": "demo:echo", "args": {"x": 1}})
            assert called.structured_content == {"x": 1}, called
        try:
            await client.call_tool("no_such_tool", {})
        except MCPError as error:
            assert "Unknown tool" in str(error), error
        else:
            raise AssertionError("an unknown tool was called")


asyncio.run(main())
