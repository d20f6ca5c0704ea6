"""The desk on LangGraph's agents under OpenInference: each worker an agent that a tool of the coordinator runs."""
import sys

sys.path.pop(0)  # this file bears the package's name
import langgraph  # noqa: E402

sys.path.insert(0, __file__.rsplit("/", 1)[0])
import desk  # noqa: E402
from langchain.agents import create_agent  # noqa: E402
from langchain_core.language_models import BaseChatModel  # noqa: E402
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage  # noqa: E402
from langchain_core.outputs import ChatGeneration, ChatResult  # noqa: E402
from langchain_core.tools import tool  # noqa: E402
from openinference.instrumentation.langchain import LangChainInstrumentor  # noqa: E402

LangChainInstrumentor().instrument(tracer_provider=desk.provider)


class Script(BaseChatModel):
    agent: str

    @property
    def _llm_type(self):
        return "scripted"

    def bind_tools(self, tools, **_):
        return self

    def _generate(self, messages, stop=None, run_manager=None, **_):
        asked = " ".join(str(message.content) for message in messages if isinstance(message, HumanMessage))
        said = desk.says(self.agent, asked, isinstance(messages[-1], ToolMessage))
        if isinstance(said, str):
            message = AIMessage(said)
        else:
            calls = [{"name": name, "args": args, "id": f"{name}-{len(messages)}"} for name, args in said]
            message = AIMessage("", tool_calls=calls)
        return ChatResult(generations=[ChatGeneration(message=message)])


def worker(name):
    @tool
    def get_order(order_id: str) -> str:
        """Look up one order."""
        return desk.get_order(name, order_id)

    @tool
    def issue_refund(order_id: str, amount_cents: int) -> str:
        """Pay one order back."""
        return desk.issue_refund(name, order_id, amount_cents)

    tools = [get_order, issue_refund] if name == "refund" else [get_order]
    agent = create_agent(Script(agent=name), tools, name=name)

    @tool(name, description=f"Ask {name}")
    def ask(request: str) -> str:
        return agent.invoke({"messages": [HumanMessage(request)]})["messages"][-1].content

    return ask


coordinator = create_agent(
    Script(agent="coordinator"), [worker("order_lookup"), worker("refund")], name="coordinator"
)
heard = []


async def answer(message):
    heard.append(HumanMessage(message))
    done = coordinator.invoke({"messages": list(heard)})
    heard[:] = done["messages"]
    return heard[-1].content


desk.serve(answer)
