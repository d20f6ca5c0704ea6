//! The rules by which events are made, as they stand in an event's `basis`.
//!
//! Those that end in `_first`, `_next`, `_beside` rest on being the first, the only next or one of several in a place
//! ([`is_by_place`]): a span that never came could have shown otherwise. All others rest on what is recorded about that
//! one act.

/// Whether an event of this basis rests on being the first, the only next or one of several in a place.
pub fn is_by_place(basis: &str) -> bool {
    ["_first", "_next", "_beside"].iter().any(|end| basis.ends_with(end))
}

/// The basis of a call in a hand-off of the given basis: it is no better.
pub(super) fn in_hand_off(basis: &str) -> &'static str {
    match basis {
        _ if basis.ends_with("_first") => CALL_IN_HAND_OFF_FIRST,
        _ if basis.ends_with("_next") => CALL_IN_HAND_OFF_NEXT,
        _ if basis.ends_with("_beside") => CALL_BESIDE,
        _ => CALL_IN_HAND_OFF,
    }
}

/// The framework's own span of a pass of control.
pub const PASS_RECORDED: &str = "pass_recorded";
/// A call of the framework's transfer class whose named agent ran next in the same place.
pub const PASS_NAMED_NEXT: &str = "pass_named_next";
/// A call of the framework's transfer class that names nobody, and the only agent that ran next in the same place.
pub const PASS_ONLY_NEXT: &str = "pass_only_next";
/// An agent run under a tool call of an agent.
pub const RUN_UNDER_CALL: &str = "run_under_call";
/// The first run of a workflow that a tool call of an agent runs.
pub const RUN_UNDER_CALL_FIRST: &str = "run_under_call_first";
/// The same, where the calling agent's run never came but the call itself names it.
pub const RUN_UNDER_CALL_NAMED_FIRST: &str = "run_under_call_named_first";
/// A run under a call, where the calling agent's run never came but the call itself names it.
pub const RUN_UNDER_CALL_NAMED: &str = "run_under_call_named";
/// The same, where nothing names the caller.
pub const RUN_UNDER_CALL_CALLER_MISSING: &str = "run_under_call_caller_missing";
/// The same, of the first run of a workflow that the call runs.
pub const RUN_UNDER_CALL_CALLER_MISSING_FIRST: &str = "run_under_call_caller_missing_first";
/// An agent run under a call that lies in another call.
pub const RUN_UNDER_CALL_IN_CALL: &str = "run_under_call_in_call";
/// The same, of the first run of a workflow that the call runs.
pub const RUN_UNDER_CALL_IN_CALL_FIRST: &str = "run_under_call_in_call_first";
/// An agent run inside another's with no call or pass between.
pub const RUN_NESTED: &str = "run_nested";
/// A later agent run of a workflow or trace with no hand-off for it.
pub const RUN_SECOND: &str = "run_second";
/// An agent run whose parent never came.
pub const RUN_PARENT_MISSING: &str = "run_parent_missing";
/// A call of the first agent of a trace or workflow.
pub const CALL_OF_FIRST: &str = "call_of_first";
/// A call of one of the agents that a workflow or team runs beside each other.
pub const CALL_BESIDE: &str = "call_beside";
/// A call in a hand-off.
pub const CALL_IN_HAND_OFF: &str = "call_in_hand_off";
/// A call in a hand-off that rests on being the first.
pub const CALL_IN_HAND_OFF_FIRST: &str = "call_in_hand_off_first";
/// A call in a hand-off that rests on being the only next.
pub const CALL_IN_HAND_OFF_NEXT: &str = "call_in_hand_off_next";
/// A call of an agent whose run has no cause on record.
pub const CALL_OF_UNCAUSED: &str = "call_of_uncaused";
/// A call inside another call with no agent between.
pub const CALL_IN_CALL: &str = "call_in_call";
/// A call with a missing span on the way up.
pub const CALL_PARENT_MISSING: &str = "call_parent_missing";
/// A call with no agent above it.
pub const CALL_WITHOUT_AGENT: &str = "call_without_agent";
/// A call that records that it hands work to an agent and gets an answer, with no run under it.
pub const CALL_SAYS_DELEGATED: &str = "call_says_delegated";
/// A call of a framework's agent-tool class with no run under it.
pub const AGENT_TOOL_CLASS: &str = "agent_tool_class";
/// A run that may be no agent's: nothing but the span's kind speaks for it.
pub const RUN_UNSURE: &str = "run_unsure";
/// Only the server's side of a call came; who made it is not on record.
pub const CALL_FAR_SIDE: &str = "call_far_side";
/// Claude's own Agent tool, which names the sub-agent.
pub const AGENT_TOOL: &str = "agent_tool";
/// Agno's delegating call names the member whose run stands beside it.
pub const MEMBER_NAMED: &str = "member_named";
/// smolagents' manager lists the agent that runs in its own step.
pub const MANAGED_AGENT: &str = "managed_agent";
/// A message addressed to an agent, and a link from that agent's run to this very message.
pub const MESSAGE_ADDRESSED: &str = "message_addressed";
/// CrewAI's record of a task that was given to an agent.
pub const TASK_GIVEN: &str = "task_given";
/// AutoGen's hand-off message, whose text is this call's result and whose target ran next in its team.
pub const HANDOFF_MESSAGE: &str = "handoff_message_next";
/// LangGraph: spans of a job carry the namespace of the task in which one call started it.
pub const JOB_NAMESPACE: &str = "job_namespace";
/// LangGraph: a call gave back a command to go to a node, and that node's agent ran at the graph's next step.
pub const COMMAND_GOTO: &str = "command_goto_next";
/// LangGraph: a graph's node that is an agent. It rests on the node's place among the graph's own: a call around it
/// that never came could have shown another cause.
pub const GRAPH_NODE: &str = "graph_node_beside";
/// LlamaIndex: a call bears the id of the request that an agent's step made.
pub const TOOL_REQUEST: &str = "tool_request";
