//! Which rule answers a request, what it says, and, where none does, which came nearest and why it does not fit.

use serde_json::{Map, Value, json};

use super::answer::{Answer, Call, estimate};
use super::asked::{Asked, Message, said};
use crate::name::WorkerId;
use crate::scenario::{Case, Rule, Script, Template, TemplateError, TextTest, When};

/// A rule that fits, with what its patterns found.
pub struct Fit<'s> {
    /// The rule.
    pub rule: &'s Rule,
    /// Named groups of its patterns.
    pub found: Map<String, Value>,
}

/// No rule fits; the text says so, and names the nearest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unseen(pub String);

/// How much of a text is told in a message.
const TOLD: usize = 160;

/// The first rule that fits.
pub fn find<'s>(script: &'s Script, asked: &Asked, worker: Option<&WorkerId>) -> Result<Fit<'s>, Unseen> {
    let mut nearest: Option<(usize, usize, &Rule, Vec<Miss>)> = None;
    for rule in &script.rules {
        let mut found = Map::new();
        let (held, misses) = compare(&rule.when, asked, worker, &mut found);
        if misses.is_empty() {
            return Ok(Fit { rule, found });
        }
        // Fewest misses first, then most that held, then the first in the file.
        let closer =
            nearest.as_ref().is_none_or(|(missed, best, ..)| (misses.len(), *best) < (*missed, held));
        if closer {
            nearest = Some((misses.len(), held, rule, misses));
        }
    }
    let request = format!(
        "no rule answers this {} request (model {:?}, system {:?}, last {:?}, results [{}])",
        asked.api.word(),
        excerpt(&asked.model),
        excerpt(&asked.system),
        excerpt(asked.last()),
        results(asked).join(", "),
    );
    Err(Unseen(match nearest {
        None => request,
        Some((_, _, rule, misses)) => {
            let misses: Vec<_> = misses
                .iter()
                .map(|miss| format!("`{}` is to be {}, and is {}", miss.key, miss.asked, miss.is))
                .collect();
            format!("{request}; nearest is `{}` (line {}): {}", rule.id, rule.pos.line, misses.join("; "))
        }
    }))
}

/// A condition that does not hold.
struct Miss {
    key: &'static str,
    asked: String,
    is: String,
}

/// How many conditions hold, and those that do not.
fn compare(
    when: &When,
    asked: &Asked,
    worker: Option<&WorkerId>,
    found: &mut Map<String, Value>,
) -> (usize, Vec<Miss>) {
    let (mut held, mut misses) = (0, Vec::new());
    let mut see = |key, holds: bool, asked: String, is: String| match holds {
        true => held += 1,
        false => misses.push(Miss { key, asked, is }),
    };
    if let Some(api) = when.api {
        see("api", api == asked.api, api.word().to_owned(), asked.api.word().to_owned());
    }
    if let Some(wanted) = &when.worker {
        let is = worker.map_or("unknown".to_owned(), WorkerId::to_string);
        see("worker", worker == Some(wanted), wanted.to_string(), is);
    }
    if let Some(model) = &when.model {
        see("model", *model == asked.model, model.clone(), excerpt(&asked.model));
    }
    let texts = [
        ("system", &when.system, asked.system.as_str()),
        ("user", &when.user, asked.user()),
        ("last", &when.last, asked.last()),
    ];
    for (key, test, text) in texts {
        if let Some(test) = test {
            see(key, holds(test, text, found), told(test), format!("{:?}", excerpt(text)));
        }
    }
    if !when.tools.is_empty() {
        let offered = |tool: &String| asked.tools.iter().any(|(name, _)| name == tool);
        let names: Vec<_> = asked.tools.iter().map(|(name, _)| name.as_str()).collect();
        let is = format!("[{}]", names.join(", "));
        see("tools", when.tools.iter().all(offered), format!("[{}]", when.tools.join(", ")), is);
    }
    if let Some(wanted) = &when.results {
        let is = results(asked);
        see("results", is == *wanted, format!("[{}]", wanted.join(", ")), format!("[{}]", is.join(", ")));
    }
    (held, misses)
}

fn results(asked: &Asked) -> Vec<String> {
    asked.results().map(|(tool, ..)| tool.unwrap_or("?").to_owned()).collect()
}

fn holds(test: &TextTest, text: &str, found: &mut Map<String, Value>) -> bool {
    match test {
        TextTest::Contains(part) => text.to_lowercase().contains(part),
        TextTest::Is(whole) => text == whole,
        TextTest::Matches(regex) => {
            let Some(captures) = regex.captures(text) else { return false };
            let named = regex.capture_names().flatten();
            found.extend(named.filter_map(|name| {
                captures.name(name).map(|group| (name.to_owned(), group.as_str().into()))
            }));
            true
        }
    }
}

fn told(test: &TextTest) -> String {
    match test {
        TextTest::Contains(part) => format!("one that contains {part:?}"),
        TextTest::Is(whole) => format!("{:?}", excerpt(whole)),
        TextTest::Matches(regex) => format!("one that matches {:?}", regex.as_str()),
    }
}

/// The beginning of a text.
pub fn excerpt(text: &str) -> String {
    match text.char_indices().nth(TOLD) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// What templates may use of a request.
fn context(asked: &Asked, worker: Option<&WorkerId>, case: &Case, found: &Map<String, Value>) -> Value {
    let results: Vec<Value> = asked
        .results()
        .map(|(tool, args, text)| json!({ "tool": tool, "args": args, "text": text, "value": said(text) }))
        .collect();
    let messages: Vec<Value> = asked
        .messages
        .iter()
        .map(|message| match message {
            Message::User(text) => json!({ "role": "user", "text": text }),
            Message::Model { text, calls } => json!({ "role": "model", "text": text, "calls": calls }),
            Message::Result { tool, text, .. } => json!({ "role": "tool", "tool": tool, "text": text }),
        })
        .collect();
    let tools: Vec<&str> = asked.tools.iter().map(|(name, _)| name.as_str()).collect();
    let mut context = json!({
        "api": asked.api.word(), "model": asked.model, "system": asked.system, "user": asked.user(),
        "last": asked.last(), "messages": messages, "tools": tools, "worker": worker.map(WorkerId::as_str),
        "case": case, "found": found, "results": results,
    });
    // Left out where there is none, so that a template that needs one says so.
    if let Some(last) = results.last() {
        context["result"] = last["value"].clone();
    }
    context
}

/// What the rule says to the request.
pub fn answer(
    fit: &Fit<'_>,
    asked: &Asked,
    worker: Option<&WorkerId>,
    case: &Case,
) -> Result<Answer, TemplateError> {
    let said = context(asked, worker, case, &fit.found);
    let digest = asked.digest();
    let id: String = digest.trim_start_matches("sha256:").chars().take(24).collect();
    let rule = fit.rule;
    let text = rule.say.as_ref().map(|say| say.text(&said)).transpose()?;
    let calls = rule.calls.iter().enumerate().map(|(n, call)| {
        Ok(Call {
            id: format!("call_{id}_{n}"),
            tool: call.tool.clone(),
            arguments: Template::fill(&call.args, &said)?,
        })
    });
    let calls: Vec<Call> = calls.collect::<Result<_, TemplateError>>()?;
    let (input, output) = rule.usage.unwrap_or_else(|| {
        let spoken: usize = asked.messages.iter().map(|message| format!("{message:?}").len()).sum();
        let answered: usize =
            calls.iter().map(|call| call.tool.len() + call.arguments.to_string().len()).sum();
        let text = text.as_ref().map_or(0, String::len);
        (estimate(asked.system.len() + spoken), estimate(text + answered))
    });
    let model = rule.served.clone().unwrap_or_else(|| asked.model.clone());
    Ok(Answer { id, model, text, calls, finish: rule.finish, input, output })
}
