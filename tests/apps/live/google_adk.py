"""The desk on Google ADK, with ADK's own spans: two turns, and two workers as tools that are called at once."""
import desk
from google.adk.agents import LlmAgent
from google.adk.models import BaseLlm, LlmResponse
from google.adk.runners import InMemoryRunner
from google.adk.tools.agent_tool import AgentTool
from google.genai.types import Content, FunctionCall, Part


class Script(BaseLlm):
    async def generate_content_async(self, llm_request, stream=False):
        last = llm_request.contents[-1]
        answered = any(part.function_response for part in last.parts)
        asked = " ".join(part.text for content in llm_request.contents for part in content.parts if part.text)
        said = desk.says(self.model, asked, answered)
        calls = [] if isinstance(said, str) else said
        parts = [Part(function_call=FunctionCall(name=tool, args=args)) for tool, args in calls]
        yield LlmResponse(content=Content(role="model", parts=parts or [Part(text=said)]))


def tools(worker):
    def get_order(order_id: str) -> dict:
        """Look up one order."""
        return {"order": desk.get_order(worker, order_id)}

    def issue_refund(order_id: str, amount_cents: int) -> dict:
        """Pay one order back."""
        return {"refund": desk.issue_refund(worker, order_id, amount_cents)}

    return [get_order, issue_refund] if worker == "refund" else [get_order]


def worker(name):
    return LlmAgent(name=name, description=name, model=Script(model=name), instruction=name, tools=tools(name))


coordinator = LlmAgent(
    name="coordinator",
    model=Script(model="coordinator"),
    instruction="Hand the work out.",
    tools=[AgentTool(worker("order_lookup")), AgentTool(worker("refund"))],
)
runner = InMemoryRunner(agent=coordinator, app_name="desk")


async def answer(message):
    if desk.turn == 1:
        await runner.session_service.create_session(app_name="desk", user_id="u", session_id="s")
    reply = ""
    heard = Content(role="user", parts=[Part(text=message)])
    async for event in runner.run_async(user_id="u", session_id="s", new_message=heard):
        if event.is_final_response() and event.content:
            reply = "".join(part.text or "" for part in event.content.parts)
    return reply


desk.serve(answer)
