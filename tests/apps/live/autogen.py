"""The desk as an AutoGen swarm, with AutoGen's own spans: the coordinator passes control, and does not get it back."""
import json

import desk
from autogen_agentchat.agents import AssistantAgent
from autogen_agentchat.base import Handoff
from autogen_agentchat.conditions import TextMentionTermination
from autogen_agentchat.teams import Swarm
from autogen_core import FunctionCall
from autogen_core.models import CreateResult, ModelFamily, RequestUsage
from autogen_ext.models.replay import ReplayChatCompletionClient


def script(*steps):
    def result(step):
        calls = isinstance(step, tuple)
        content = [FunctionCall(id=step[0], name=step[0], arguments=json.dumps(step[1]))] if calls else step
        usage = RequestUsage(prompt_tokens=1, completion_tokens=1)
        reason = "function_calls" if calls else "stop"
        return CreateResult(finish_reason=reason, content=content, usage=usage, cached=False)

    info = {"vision": False, "function_calling": True, "json_output": False, "family": ModelFamily.UNKNOWN,
            "structured_output": False}
    return ReplayChatCompletionClient([result(step) for step in steps], model_info=info)


async def get_order(order_id: str) -> str:
    """Look up one order."""
    return desk.get_order("refund", order_id)


async def issue_refund(order_id: str, amount_cents: int) -> str:
    """Pay one order back."""
    return desk.issue_refund("refund", order_id, amount_cents)


coordinator = AssistantAgent(
    "coordinator", model_client=script(("transfer_to_refund", {})), handoffs=[Handoff(target="refund")]
)
refund = AssistantAgent(
    "refund",
    model_client=script(
        ("get_order", {"order_id": "1042"}),
        ("issue_refund", {"order_id": "1042", "amount_cents": 5990}),
        "Your refund is on its way. TERMINATE",
    ),
    tools=[get_order, issue_refund],
    max_tool_iterations=3,
)


async def answer(message):
    team = Swarm([coordinator, refund], termination_condition=TextMentionTermination("TERMINATE"))
    done = await team.run(task=message)
    return done.messages[-1].content


desk.serve(answer)
