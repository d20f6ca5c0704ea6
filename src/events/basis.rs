//! The rules by which events are made, as they stand in an event's `basis`.
//!
//! Those that end in `_first`, `_next`, `_beside` rest on being the first, the only next or one of several in a place:
//! a span that never came could have shown otherwise. All others rest on what is recorded about that one act.

/// The framework's own span of a pass of control.
pub const PASS_RECORDED: &str = "pass_recorded";
/// A call of the framework's transfer class whose named agent ran next in the same place.
pub const PASS_NAMED_NEXT: &str = "pass_named_next";
/// A call of the framework's transfer class that names nobody, and the only agent that ran next in the same place.
pub const PASS_ONLY_NEXT: &str = "pass_only_next";
/// An agent run under a tool call of an agent.
pub const RUN_UNDER_CALL: &str = "run_under_call";
/// The same, where the calling agent's run never came but the call itself names it.
pub const RUN_UNDER_CALL_NAMED: &str = "run_under_call_named";
/// The same, where nothing names the caller.
pub const RUN_UNDER_CALL_CALLER_MISSING: &str = "run_under_call_caller_missing";
/// An agent run under a call that lies in another call.
pub const RUN_UNDER_CALL_IN_CALL: &str = "run_under_call_in_call";
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
