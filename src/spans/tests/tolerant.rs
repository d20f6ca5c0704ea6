//! What JSON exporters get wrong, and what it costs: a field, a span, or the whole body.

use serde_json::{Value, json};

use super::*;

fn good() -> Value {
    json!({
        "traceId": "5b8efff798038103d269b633813fc60c",
        "spanId": "eee19b7ec3c1b174",
        "parentSpanId": "eee19b7ec3c1b173",
        "name": "execute_tool get_order",
        "kind": 1,
        "startTimeUnixNano": "1796067221218359736",
        "endTimeUnixNano": "1796067221225293257",
        "attributes": [{"key": "gen_ai.tool.name", "value": {"stringValue": "get_order"}}],
        "status": {}
    })
}

fn with(key: &str, value: Value) -> Value {
    let mut span = good();
    span[key] = value;
    span
}

fn read(spans: &[Value]) -> Batch {
    let body = json!({"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]});
    decoder().json(body.to_string().as_bytes()).expect("a body")
}

fn one(span: Value) -> Span {
    let mut batch = read(&[span]);
    assert_eq!(batch.rejected.total(), 0, "{:?}", batch.rejected);
    batch.spans.remove(0)
}

fn reason(span: Value) -> Reject {
    // The batch is kept: a good span stands on either side.
    let batch = read(&[good(), span, good()]);
    assert_eq!(batch.spans.len(), 2);
    let reasons: Vec<_> = batch.rejected.iter().collect();
    assert_eq!(reasons.len(), 1, "{reasons:?}");
    assert_eq!(reasons[0].1, 1);
    reasons[0].0
}

#[test]
fn null_is_absent() {
    for key in [
        "parentSpanId",
        "name",
        "kind",
        "startTimeUnixNano",
        "endTimeUnixNano",
        "attributes",
        "events",
        "links",
        "status",
        "traceState",
        "flags",
    ] {
        let mut without = good();
        without.as_object_mut().expect("an object").remove(key);
        let null = one(with(key, Value::Null));
        assert_eq!(null, one(without), "{key}");
        assert!(!null.cut, "{key}");
    }
    let value = json!([{"key": "a", "value": null}, {"key": "b", "value": {}}]);
    let read = one(with("attributes", value));
    assert_eq!(read.attributes.get("a"), Some(&AttrValue::Empty));
    assert_eq!(read.attributes.get("b"), Some(&AttrValue::Empty));
}

#[test]
fn an_empty_or_zero_parent_is_none() {
    assert_eq!(one(with("parentSpanId", json!(""))).parent, None);
    assert_eq!(one(with("parentSpanId", json!("0000000000000000"))).parent, None);
}

#[test]
fn enums_read_by_number_and_by_name() {
    for kind in [json!(3), json!("3"), json!("SPAN_KIND_CLIENT"), json!("CLIENT"), json!(3.0)] {
        assert_eq!(one(with("kind", kind.clone())).kind, 3, "{kind}");
    }
    for code in [json!(2), json!("2"), json!("STATUS_CODE_ERROR"), json!("ERROR")] {
        let span = one(with("status", json!({"code": code})));
        assert_eq!(span.status, Status::Error, "{code}");
    }
}

#[test]
fn numbers_read_from_numbers_and_from_text() {
    for start in [json!(1796067221218359736u64), json!("1796067221218359736")] {
        let span = one(with("startTimeUnixNano", start));
        assert_eq!(span.start, 1_796_067_221_218_359_736);
    }
    let number = |value: Value| {
        let span = one(with("attributes", json!([{"key": "n", "value": value}])));
        span.attributes.get("n").cloned()
    };
    for value in [json!({"intValue": "-5"}), json!({"intValue": -5}), json!({"intValue": -5.0})] {
        assert_eq!(number(value), Some(AttrValue::Int(-5)));
    }
    for value in [json!({"doubleValue": 2}), json!({"doubleValue": "2"}), json!({"doubleValue": 2.0})] {
        assert_eq!(number(value), Some(AttrValue::Double(2.0)));
    }
}

#[test]
fn what_decides_structure_rejects_its_span_alone() {
    for (key, value, expected) in [
        ("traceId", json!("00000000000000000000000000000000"), Reject::NoTraceId),
        ("traceId", Value::Null, Reject::NoTraceId),
        ("spanId", json!(""), Reject::NoSpanId),
        ("spanId", json!("eee19b7ec3c1b1"), Reject::BadId),
        ("spanId", json!("eee19b7ec3c1b17g"), Reject::BadId),
        ("spanId", json!(17), Reject::BadId),
        ("traceId", json!("W47/95gDgQPSabYzgT/GDA=="), Reject::Base64Id),
        ("parentSpanId", json!("7uGbfsPBsXM="), Reject::Base64Id),
        ("parentSpanId", json!([1, {"a": [2]}]), Reject::BadId),
        ("startTimeUnixNano", json!("-1"), Reject::BadTime),
        ("startTimeUnixNano", json!("today"), Reject::BadTime),
        ("endTimeUnixNano", json!({"seconds": 1}), Reject::BadTime),
        ("trace_id", json!("5b8efff798038103d269b633813fc60c"), Reject::SnakeCase),
        ("links", json!([{"traceId": "short", "spanId": "eee19b7ec3c1b174"}]), Reject::BadId),
    ] {
        assert_eq!(reason(with(key, value.clone())), expected, "{key}: {value}");
    }
    for no_span in [json!(null), json!("span"), json!([1]), json!(5)] {
        assert_eq!(reason(no_span), Reject::Malformed);
    }
}

#[test]
fn what_only_describes_is_left_empty_and_marked() {
    for (key, value) in [
        ("name", json!(["a", {"b": 1}])),
        ("name", json!(5)),
        ("kind", json!("SPAN_KIND_NEW")),
        ("attributes", json!({"gen_ai.tool.name": "get_order"})),
        ("attributes", json!([5])),
        ("attributes", json!([{"key": "n", "value": {"intValue": "many"}}])),
        ("attributes", json!([{"key": "n", "value": {"boolValue": "yes"}}])),
        ("attributes", json!([{"key": "n", "value": {"bytesValue": "%"}}])),
        ("attributes", json!([{"key": "n", "value": "get_order"}])),
        ("events", json!([{"name": "e", "timeUnixNano": "soon"}])),
        ("status", json!({"code": []})),
        ("flags", json!(-1)),
    ] {
        let span = one(with(key, value.clone()));
        assert!(span.cut, "{key}: {value}");
        assert_eq!(span.span_id, one(good()).span_id);
    }
    assert!(!one(good()).cut);
}

#[test]
fn snake_case_is_refused_loudly_and_never_reads_as_empty() {
    let refused = |body: Value| decoder().json(body.to_string().as_bytes());
    assert_eq!(refused(json!({"resource_spans": []})), Err(Malformed::SnakeCase("resource_spans")));
    assert_eq!(
        refused(json!({"resourceSpans": [{"scope_spans": []}]})),
        Err(Malformed::SnakeCase("scope_spans"))
    );
    assert_eq!(refused(json!({"spans": []})), Err(Malformed::NoSpans));
    assert_eq!(refused(json!({})), Ok(Batch::default()));
    assert_eq!(refused(json!({"resourceSpans": null})), Ok(Batch::default()));
    assert_eq!(refused(json!({"resourceSpans": {}})), Err(Malformed::WrongType("resourceSpans")));
    assert_eq!(refused(json!([])), Err(Malformed::WrongType("the request")));
}

#[test]
fn scope_and_resource_may_stand_behind_their_spans() {
    let body = json!({"resourceSpans": [{
        "scopeSpans": [{"spans": [good()], "scope": {"name": "s", "version": "1"}}],
        "resource": {"attributes": [{"key": "service.name", "value": {"stringValue": "desk"}}]},
    }]});
    // Text, since a `Value` would sort the keys.
    let text =
        r#"{"resourceSpans":[{"scopeSpans":[{"spans":[SPAN],"scope":{"name":"s","version":"1"}}],"resource":
        {"attributes":[{"key":"service.name","value":{"stringValue":"desk"}}]}}]}"#
            .replace("SPAN", &good().to_string());
    let batch = decoder().json(text.as_bytes()).expect("a body");
    assert_eq!(&*batch.spans[0].scope.name, "s");
    assert_eq!(batch.spans[0].resource.text("service.name"), Some("desk"));
    assert_eq!(decoder().json(body.to_string().as_bytes()), Ok(batch));
}
