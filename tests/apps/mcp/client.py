"""The official client: calls what it is told and prints what came.

usage: client.py URL|COMMAND-AS-JSON MODE CALLS-AS-JSON   (MODE: legacy, auto, or a version; a call: [tool, arguments])
"""

import asyncio
import json
import sys

import mcp_types as types
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client


async def main() -> None:
    target, mode, calls = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
    if target.startswith("["):
        command = json.loads(target)
        target = stdio_client(StdioServerParameters(command=command[0], args=command[1:]))
    said = {"asked": [], "progress": [], "calls": []}

    async def elicited(context, params):
        said["asked"].append(params.message)
        return types.ElicitResult(action="accept", content={"sure": True})

    async def progressed(progress, total, message):
        said["progress"].append([progress, total, message])

    async with Client(target, mode=mode, elicitation_callback=elicited) as client:
        said["version"] = client.protocol_version
        said["tools"] = [tool.name for tool in (await client.list_tools()).tools]
        for name, arguments in calls:
            try:
                result = await client.call_tool(name, arguments, progress_callback=progressed)
                said["calls"].append(
                    {
                        "text": [block.text for block in result.content],
                        "structure": result.structured_content,
                        "failed": result.is_error,
                        "meta": result.meta,
                    }
                )
            except Exception as error:  # noqa: BLE001
                said["calls"].append({"raised": f"{type(error).__name__}: {error}"})
    print(json.dumps(said))


asyncio.run(main())
