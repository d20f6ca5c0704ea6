//! Broken and hostile input: no panic, nothing quadratic, nothing observed that is not there.

use std::sync::Arc;

use mocktrial::events::{self, Kind};
use mocktrial::spans::{AttrValue, Attributes, Scope, Span, SpanId, Status, TraceId};
use mocktrial::verdict::Relationship;
use proptest::prelude::*;

fn id(number: u64) -> SpanId {
    SpanId(number.to_be_bytes())
}

fn trace(number: u128) -> TraceId {
    TraceId(number.to_be_bytes())
}

fn span(number: u64, parent: Option<u64>, operation: &str, name: &str) -> Span {
    let key = if operation == "execute_tool" { "gen_ai.tool.name" } else { "gen_ai.agent.name" };
    let text = |text: &str| AttrValue::Str(text.into());
    Span {
        trace_id: trace(1),
        span_id: id(number),
        parent: parent.map(id),
        name: format!("{operation} {name}").into(),
        kind: 1,
        start: number * 10,
        end: number * 10 + 1_000_000_000,
        status: Status::Unset,
        status_message: "".into(),
        trace_state: "".into(),
        flags: 0,
        attributes: Attributes(vec![
            ("gen_ai.operation.name".into(), text(operation)),
            (key.into(), text(name)),
        ]),
        events: Vec::new(),
        links: Vec::new(),
        scope: Arc::new(Scope::default()),
        resource: Arc::default(),
        cut: false,
    }
}

#[test]
fn circles_and_own_parents_are_missing_links_and_never_roots() {
    let spans = [
        span(1, Some(1), "invoke_agent", "alone"),
        span(2, Some(1), "execute_tool", "own"),
        span(3, Some(4), "invoke_agent", "one"),
        span(4, Some(3), "execute_tool", "two"),
        span(5, Some(4), "invoke_agent", "three"),
        span(6, Some(5), "execute_tool", "four"),
    ];
    let events = events::read(&spans);
    assert!(
        events
            .iter()
            .any(|event| event.tool.as_deref() == Some("own") && event.agent.as_deref() == Some("alone"))
    );
    for event in events.iter().filter(|event| event.tool.as_deref() != Some("four")) {
        assert_eq!(event.relationship, Relationship::Unknown, "{event:?}");
    }
}

#[test]
fn ten_thousand_deep_is_read_to_the_bottom() {
    let mut spans: Vec<Span> = (1..=10_000)
        .map(|n| {
            let operation = if n % 2 == 0 { "execute_tool" } else { "invoke_agent" };
            span(n, (n > 1).then(|| n - 1), operation, &format!("n{n}"))
        })
        .collect();
    spans.push(span(10_001, Some(9_999), "execute_tool", "bottom"));
    let events = events::read(&spans);
    let bottom = events.iter().find(|event| event.tool.as_deref() == Some("bottom")).expect("bottom");
    assert_eq!(bottom.agent.as_deref(), Some("n9999"));
    assert_eq!(bottom.relationship, Relationship::Observed);
    assert_eq!(events.iter().filter(|event| event.kind == Kind::Delegated).count(), 4_999);
    let mut told = Vec::new();
    events::tree(&mut told, &events).expect("told");
    assert_eq!(told.iter().filter(|byte| **byte == b'\n').count(), events.len());
}

#[test]
fn groups_in_groups_ten_thousand_deep_start_their_runs_at_once() {
    let mut spans: Vec<Span> =
        (1..=10_000).map(|n| span(n, (n > 1).then(|| n - 1), "invoke_workflow", "g")).collect();
    spans.extend((10_001..=20_000).map(|n| span(n, Some(10_000), "invoke_agent", &format!("a{n}"))));
    let events = events::read(&spans);
    assert_eq!(events.len(), 9_999, "the first has no row");
}

#[test]
fn many_passes_in_one_place_are_matched_without_looking_at_each_other() {
    let mut spans = vec![span(1, None, "invoke_workflow", "w")];
    for n in 0..50_000 {
        let agent = 2 + 2 * n;
        spans.push(span(agent, Some(1), "invoke_agent", &format!("a{}", n % 7)));
        let mut call = span(agent + 1, Some(agent), "execute_tool", "over");
        call.end = call.start + 1;
        call.attributes.0.push(("gen_ai.transfer.mode".into(), AttrValue::Str("pass_control".into())));
        spans.push(call);
    }
    let events = events::read(&spans);
    assert_eq!(events.iter().filter(|event| event.kind == Kind::Transferred).count(), 49_999);
}

#[test]
fn equal_ids_in_two_traces_are_two_spans() {
    let mut spans = vec![span(1, None, "invoke_agent", "here"), span(2, Some(1), "execute_tool", "t")];
    for mut other in spans.clone() {
        other.trace_id = trace(2);
        spans.push(other);
    }
    let events = events::read(&spans);
    assert_eq!(events.len(), 2);
    assert_ne!(events[0].trace_id, events[1].trace_id);
}

#[test]
fn spans_without_ids_are_nobodys_parents() {
    let mut agent = span(0, None, "invoke_agent", "nobody");
    let mut call = span(7, Some(0), "execute_tool", "t");
    call.parent = Some(SpanId::default());
    let events = events::read(&[agent.clone(), call.clone()]);
    assert_eq!(events.len(), 1);
    assert_eq!(events[0].relationship, Relationship::Unknown);
    agent.trace_id = TraceId::default();
    call.trace_id = TraceId::default();
    agent.span_id = id(3);
    call.parent = Some(id(3));
    assert!(events::read(&[agent, call]).iter().all(|event| event.relationship == Relationship::Unknown));
}

#[test]
fn of_a_span_sent_twice_the_one_that_ended_last_is_read_whatever_came_first() {
    let early = Span { end: 20, ..span(2, Some(1), "execute_tool", "draft") };
    let late = Span { end: 30, ..span(2, Some(1), "execute_tool", "done") };
    let agent = span(1, None, "invoke_agent", "a");
    for spans in [[agent.clone(), early.clone(), late.clone()], [late.clone(), early.clone(), agent.clone()]]
    {
        let events = events::read(&spans);
        assert_eq!(events.len(), 1);
        assert_eq!(events[0].tool.as_deref(), Some("done"));
    }
}

#[test]
fn control_characters_in_names_do_not_reach_a_terminal() {
    let spans = [span(1, None, "invoke_agent", "a\u{1b}[2J\n"), span(2, Some(1), "execute_tool", "t\r\u{7}")];
    let mut told = Vec::new();
    events::tree(&mut told, &events::read(&spans)).expect("told");
    let told = String::from_utf8(told).expect("UTF-8");
    assert_eq!(told.lines().count(), 1);
    assert!(told.trim_end().chars().all(|c| !c.is_control()), "{told:?}");
}

fn any_value() -> impl Strategy<Value = AttrValue> {
    let word = prop::sample::select(vec![
        "invoke_agent",
        "execute_tool",
        "AGENT",
        "TOOL",
        "CHAIN",
        "handoff",
        "pass_control",
        "a",
        "{}",
        "[]",
        "{\"a\":",
        "\u{0}",
        "__REDACTED__",
        "transfer_to_agent",
        "{\"agent_name\":\"a\"}",
        "tools:1|model:2",
        "Agent run:",
        "agent",
        "tool",
    ]);
    let leaf = prop_oneof![
        word.prop_map(|word| AttrValue::Str(word.into())),
        Just(AttrValue::Empty),
        any::<bool>().prop_map(AttrValue::Bool),
        any::<i64>().prop_map(AttrValue::Int),
        any::<f64>().prop_map(AttrValue::Double),
        any::<Vec<u8>>().prop_map(|bytes| AttrValue::Bytes(bytes.into())),
    ];
    leaf.prop_recursive(2, 6, 3, |inner| prop::collection::vec(inner, 0..3).prop_map(AttrValue::List))
}

fn any_span() -> impl Strategy<Value = Span> {
    let scopes = vec![
        "",
        "gcp.vertex.agent",
        "openinference.instrumentation.google_adk",
        "openinference.instrumentation.openai_agents",
        "traceai_openai_agents",
        "opentelemetry.instrumentation.openai_agents",
        "logfire.openai_agents",
        "strands.telemetry.tracer",
        "agent_framework",
        "openinference.instrumentation.agno",
        "ai",
        "autogen-core",
        "openinference.instrumentation.autogen_agentchat",
        "com.anthropic.claude_code.tracing",
        "openinference.instrumentation.claude_agent_sdk",
        "openinference.instrumentation.crewai",
        "openinference.instrumentation.langchain",
        "traceai_langchain",
        "opentelemetry.instrumentation.langchain",
        "langsmith",
        "openinference.instrumentation.llama_index",
        "openinference.instrumentation.smolagents",
        "mcp-python-sdk",
    ];
    let keys = vec![
        "gen_ai.operation.name",
        "gen_ai.agent.name",
        "gen_ai.tool.name",
        "gen_ai.tool.type",
        "openinference.span.kind",
        "agent.name",
        "graph.node.id",
        "graph.node.parent_id",
        "tool.name",
        "input.value",
        "output.value",
        "gen_ai.span.kind",
        "traceloop.span.kind",
        "langsmith.span.kind",
        "metadata",
        "lc_agent_name",
        "langgraph_node",
        "langgraph_checkpoint_ns",
        "langgraph_step",
        "message",
        "gen_ai.transfer.mode",
        "executor.id",
        "executor.type",
        "span.type",
        "ai.operationId",
        "participant_names",
        "agno.agent.id",
        "logfire.msg_template",
        "name",
        "tool.parameters",
        "gen_ai.tool.call.arguments",
        "gen_ai.agent.id",
        "recipient_agent_type",
    ];
    let names = vec![
        "a",
        "invoke_agent a",
        "workflow.run",
        "X.run",
        "X.run_agent_step",
        "X.call_tool",
        "execute_tool (merged)",
        "tools",
    ];
    let attributes = prop::collection::vec((prop::sample::select(keys), any_value()), 0..8);
    let ids = (0..4u8, 0..9u64, prop::option::of(0..9u64));
    let times = (any::<u64>(), any::<u64>());
    (ids, times, prop::sample::select(scopes), prop::sample::select(names), attributes, any::<i32>())
        .prop_map(|((t, s, parent), (start, end), scope, name, attributes, kind)| Span {
            trace_id: trace(u128::from(t)),
            start,
            end,
            kind,
            name: name.into(),
            attributes: Attributes(attributes.into_iter().map(|(key, value)| (key.into(), value)).collect()),
            scope: Arc::new(Scope { name: scope.into(), ..Scope::default() }),
            ..span(s, parent, "", "")
        })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, ..ProptestConfig::default() })]

    #[test]
    fn any_spans_are_read_the_same_in_any_order(
        (spans, shuffled) in prop::collection::vec(any_span(), 0..24)
            .prop_flat_map(|spans| (Just(spans.clone()), Just(spans).prop_shuffle()))
    ) {
        let events = events::read(&spans);
        prop_assert!(events.len() <= 2 * spans.len());
        prop_assert_eq!(events, events::read(&shuffled));
    }
}
