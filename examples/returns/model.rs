//! The script in the place of a model: what an agent does next, from what it is shown and nothing else.
//!
//! It keeps no counter and no memory. Shown the same conversation, it answers the same, as a model at temperature 0
//! is hoped to.

use serde_json::{Value, json};

use super::desk::Agent;
use super::misbehave::Ways;

/// One entry of an agent's conversation.
#[derive(Clone, Debug)]
pub enum Message {
    /// What the agent was asked.
    Asked(String),
    /// What it answered.
    Said(String),
    /// A tool it called, and `{"status", "body"}` or a worker's answer.
    Called { tool: &'static str, result: Value },
}

/// What an agent does next.
pub enum Step {
    /// Answer, and be done.
    Say(String),
    /// Call a tool and go on.
    Call { tool: &'static str, arguments: Value },
    /// Ask a worker and go on with its answer.
    Delegate { to: Agent, task: String },
    /// Leave the rest to a worker.
    Transfer { to: Agent, task: String },
}

/// How the coordinator offers a refund.
const OFFER: &str = "Shall I make a refund";

/// The next step of `agent`.
pub fn next(agent: Agent, talk: &[Message], ways: &Ways) -> Step {
    match agent {
        Agent::Coordinator => coordinator(talk, ways),
        Agent::OrderLookup => order_lookup(talk),
        Agent::Refund => refund(talk, ways),
    }
}

fn coordinator(talk: &[Message], ways: &Ways) -> Step {
    let Some(order) = order_of(talk) else {
        return Step::Say("Which order is it about?".into());
    };
    let found = talk.iter().rev().find_map(|message| match message {
        Message::Called { tool: "order_lookup", result } => result.as_str(),
        _ => None,
    });
    let price = found
        .filter(|found| found.starts_with(&format!("order {order} ")))
        .and_then(|found| numbers(found).last().copied());
    match (talk.last(), price) {
        (Some(Message::Called { tool: "refund", result }), _) => {
            Step::Say(result.as_str().unwrap_or("Something went wrong.").into())
        }
        (Some(Message::Asked(text)), Some(price)) if offered(talk) && agrees(text) => {
            let task = format!("Refund order {order}, {price} cents.");
            if ways.has("transfers") {
                return Step::Transfer { to: Agent::Refund, task };
            }
            Step::Delegate { to: Agent::Refund, task }
        }
        (Some(Message::Asked(_)), _) => {
            Step::Delegate { to: Agent::OrderLookup, task: format!("Find order {order}.") }
        }
        (_, Some(price)) => Step::Say(format!("Order {order} was delivered. {OFFER} of {}?", euros(price))),
        _ => Step::Say(format!("I am sorry, I cannot look up order {order} now.")),
    }
}

fn order_lookup(talk: &[Message]) -> Step {
    let order = order_of(talk).unwrap_or_default();
    let Some((status, body)) = result(talk, "get_order") else {
        return Step::Call { tool: "get_order", arguments: json!({ "order_id": order }) };
    };
    if out_of_order(status) && times(talk, "get_order") == 1 {
        return Step::Call { tool: "get_order", arguments: json!({ "order_id": order }) };
    }
    match (body["status"].as_str(), body["total_cents"].as_u64()) {
        (Some(state), Some(total)) => Step::Say(format!("order {order} is {state}, {total} cents")),
        _ => Step::Say(format!("no order {order}: {body}")),
    }
}

fn refund(talk: &[Message], ways: &Ways) -> Step {
    let asked = talk.iter().find_map(|message| match message {
        Message::Asked(text) => Some(numbers(text)),
        _ => None,
    });
    let Some([order, price]) = asked.as_deref() else {
        return Step::Say("I need an order and an amount.".into());
    };
    let price: u64 = price.parse().unwrap_or_default();
    let amount = if ways.has("wrong_amount") { price * 10 } else { price };
    let issue = || Step::Call {
        tool: "issue_refund",
        arguments: json!({ "order_id": order, "amount_cents": amount }),
    };
    let done = format!("Your refund of {} for order {order} is on its way.", euros(&amount.to_string()));
    if ways.has("lies") {
        return Step::Say(done);
    }
    if ways.has("cancels_order") && result(talk, "cancel_order").is_none() {
        return Step::Call { tool: "cancel_order", arguments: json!({ "order_id": order }) };
    }
    let Some((status, body)) = result(talk, "issue_refund") else {
        return issue();
    };
    let again = out_of_order(status) || ways.has("refunds_twice");
    if again && times(talk, "issue_refund") == 1 {
        return issue();
    }
    let earlier = body["amount_cents"].as_u64().map(|cents| euros(&cents.to_string()));
    Step::Say(match (status, body["error"]["code"].as_str(), earlier) {
        (200..300, ..) => done,
        (409, _, Some(amount)) => format!("Order {order} already had its refund of {amount}."),
        (409, Some("outside_window"), _) => {
            format!("Order {order} was delivered more than 30 days ago, too long for a refund.")
        }
        (403, ..) => format!("I am not allowed to make a refund for order {order}."),
        _ => format!("I am sorry, I cannot make a refund for order {order} now."),
    })
}

/// Whether the customer was asked what "yes" would answer.
fn offered(talk: &[Message]) -> bool {
    talk.iter().any(|message| matches!(message, Message::Said(text) if text.contains(OFFER)))
}

/// Whether the customer has said yes.
fn agrees(text: &str) -> bool {
    let text = text.to_lowercase();
    ["yes", "go ahead", "please do"].iter().any(|word| text.contains(word))
}

fn numbers(text: &str) -> Vec<&str> {
    text.split(|c: char| !c.is_ascii_digit()).filter(|digits| !digits.is_empty()).collect()
}

/// The order that whoever asks named last: the first number of what they said.
fn order_of(talk: &[Message]) -> Option<&str> {
    talk.iter().rev().find_map(|message| match message {
        Message::Asked(text) => numbers(text).first().copied(),
        _ => None,
    })
}

/// Status and body of the last call of `tool`.
fn result<'a>(talk: &'a [Message], tool: &str) -> Option<(u64, &'a Value)> {
    talk.iter().rev().find_map(|message| match message {
        Message::Called { tool: called, result } if *called == tool => {
            Some((result["status"].as_u64().unwrap_or_default(), &result["body"]))
        }
        _ => None,
    })
}

fn times(talk: &[Message], tool: &str) -> usize {
    let called = |message: &&Message| matches!(message, Message::Called { tool: t, .. } if *t == tool);
    talk.iter().filter(called).count()
}

fn out_of_order(status: u64) -> bool {
    status == 0 || status >= 500
}

fn euros(cents: &str) -> String {
    let cents: u64 = cents.parse().unwrap_or_default();
    format!("{}.{:02}", cents / 100, cents % 100)
}
