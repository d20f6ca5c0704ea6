"""The desk as a CrewAI crew under OpenInference: two tasks, each given to one agent; there is no coordinator."""
import asyncio
import json
import sys

sys.path.pop(0)  # this file bears the package's name
import crewai  # noqa: E402

sys.path.insert(0, __file__.rsplit("/", 1)[0])
import desk  # noqa: E402
from crewai import BaseLLM, Agent, Crew, Process, Task  # noqa: E402
from crewai.tools import tool  # noqa: E402
from openinference.instrumentation.crewai import CrewAIInstrumentor  # noqa: E402

# Its default wrappers see no tool that is called in the text protocol.
CrewAIInstrumentor().instrument(tracer_provider=desk.provider, use_event_listener=True)


class Script(BaseLLM):
    """Speaks CrewAI's text protocol: a thought and an action, then, with the observation in hand, the answer."""

    agent: str = ""

    def supports_function_calling(self):
        return False

    def call(self, messages, *_, **__):
        texts = [messages] if isinstance(messages, str) else [str(message["content"]) for message in messages]
        observed = any("Observation:" in text and "Action Input: {" in text for text in texts)
        if observed:
            return "Thought: I know enough.\nFinal Answer: Your refund is on its way."
        tool, args = desk.says(self.agent, "Pay" if self.agent == "refund" else "", False)[0]
        return f"Thought: I need a tool.\nAction: {tool}\nAction Input: {json.dumps(args)}"


@tool("get_order")
def get_order(order_id: str) -> str:
    """Look up one order."""
    return desk.get_order("order_lookup", order_id)


@tool("issue_refund")
def issue_refund(order_id: str, amount_cents: int) -> str:
    """Pay one order back."""
    return desk.issue_refund("refund", order_id, amount_cents)


def agent(role, *tools):
    llm = Script(model="scripted")
    llm.agent = role
    return Agent(role=role, goal=role, backstory=role, llm=llm, tools=list(tools), max_iter=4)


lookup, refund = agent("order_lookup", get_order), agent("refund", issue_refund)


async def answer(message):
    tasks = [
        Task(description="Find order 1042", expected_output="the order", agent=lookup),
        Task(description="Pay back order 1042", expected_output="the refund", agent=refund),
    ]
    crew = Crew(agents=[lookup, refund], tasks=tasks, process=Process.sequential)
    return str(await asyncio.to_thread(crew.kickoff))


desk.serve(answer)
