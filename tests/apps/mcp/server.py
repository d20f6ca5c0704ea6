"""A server of the official SDK: tools that answer, fail, tell how far they are, and ask back.

usage: server.py stdio | server.py PORT [json]
"""

import sys
from typing import Annotated

from pydantic import BaseModel

from mcp.server.mcpserver import Context, Elicit, MCPServer, Resolve

app = MCPServer("orders", instructions="Refund with care.")
refunds: list[str] = []


class Order(BaseModel):
    id: str
    cents: int


class Sure(BaseModel):
    sure: bool


@app.tool()
def get_order(order_id: str) -> Order:
    """Look an order up."""
    return Order(id=order_id, cents=1250)


@app.tool()
def deny(order_id: str) -> str:
    """Always says no."""
    raise ValueError("outside the return window")


@app.tool()
async def slow(ctx: Context) -> str:
    """Says how far it is."""
    await ctx.report_progress(1, 2, "one")
    await ctx.report_progress(2, 2, "two")
    return "done"


async def confirm(order_id: str) -> Elicit[Sure]:
    return Elicit(f"Really refund {order_id}?", Sure)


@app.tool()
async def refund(order_id: str, sure: Annotated[Sure, Resolve(confirm)]) -> str:
    """Asks first, in the way of whatever version is spoken."""
    refunds.append(order_id)
    return f"refunded {order_id} sure={sure.sure} of {len(refunds)}"


@app.resource("orders://{oid}")
def res(oid: str) -> str:
    return f"order {oid}"


if sys.argv[1] == "stdio":
    app.run("stdio")
else:
    app.run("streamable-http", host="127.0.0.1", port=int(sys.argv[1]), json_response="json" in sys.argv)
