//! What to install or set, by what was seen. Facts about instrumentations, as of the versions that the reader's captures
//! were made with.

/// Nothing came.
pub(super) const NO_SPANS: &str = "the app is told where to send spans (OTEL_EXPORTER_OTLP_ENDPOINT and its kin), and needs an OpenTelemetry SDK with an \
OTLP exporter and an instrumentation of its framework: openinference-instrumentation-openai-agents, -langchain (LangGraph), -crewai, \
-autogen-agentchat, -agno, -smolagents, -llama-index; Google ADK, Strands, AutoGen and Microsoft Agent Framework write spans themselves once a \
tracer provider is set; the Vercel AI SDK with `experimental_telemetry: { isEnabled: true }`; pydantic-ai with `Agent.instrument_all()`. A \
short-lived process must flush before it exits";

/// Spans of something else, such as an HTTP client.
pub(super) const NO_AGENTS: &str = "the tracer works; add the instrumentation of the agent framework itself (for LangGraph \
openinference-instrumentation-langchain, for the OpenAI Agents SDK openinference-instrumentation-openai-agents, and so on)";

/// What is known of an instrumentation that hides something.
pub(super) fn of_scope(scope: &str) -> Option<&'static str> {
    let known = [
        (
            "openinference.instrumentation.crewai",
            "its wrappers see no tool calls of CrewAI's text protocol: instrument with `use_event_listener=True`",
        ),
        (
            "openinference.instrumentation.autogen",
            "AutoGen's own tracer says which agent a message went to: set a global tracer provider before the runtime starts",
        ),
    ];
    known.into_iter().find(|(name, _)| scope.starts_with(name)).map(|(_, mend)| mend)
}

/// Why an event has no recorded cause, by its rule.
pub(super) fn of_basis(basis: &str) -> &'static str {
    match basis {
        "run_nested" => {
            "an agent ran inside another with no tool call or pass between: turn on the instrumentation's tool spans"
        }
        "run_parent_missing" => {
            "the parent of an agent's run never came: export every span (sampler always_on), and flush before the reply"
        }
        "run_second" => {
            "an agent ran after another with nothing recorded between: use the framework's own hand-off or agent-as-tool, which it records"
        }
        _ => {
            "what caused it is not in the spans: see that the spans of tools and agents are both exported, with their parents"
        }
    }
}
