//! The scripts in the place of a model: what each agent does, from what it is asked and what its tools answer.

use http::Method;
use regex::{Captures, Regex};
use serde_json::{Value, json};

use super::desk::{Answer, Front, Run, Worker, sentence};

/// What the front remembers of a talk: the trouble that an article was offered for.
#[derive(Debug, Default)]
pub struct Talk(Option<Trouble>);

#[derive(Clone, Debug)]
struct Trouble {
    subject: String,
    topic: &'static str,
    urgent: bool,
    email: String,
    tried: Option<String>,
}

/// Words that are understood: the word to search for, its topic, and its tags.
const WORDS: [(&str, &str, &[&str]); 4] = [
    ("vpn", "network", &["network", "vpn"]),
    ("wifi", "network", &["network"]),
    ("print", "printing", &["printing"]),
    ("badge", "access", &[]),
];

/// The front: understands, asks workers, and answers.
pub async fn front(run: &Front<'_>, talk: &mut Talk, message: &str) -> String {
    let lower = message.to_lowercase();
    let has = |pattern: &str| found(pattern, message);
    let number = |words: &Captures<'_>, at: usize| words[at].parse::<u64>().unwrap_or_default();
    if let Some(trouble) = talk.0.take() {
        if lower.starts_with("no") {
            return open(run, &trouble).await;
        }
        return "I am glad that it helped.".to_owned();
    }
    if let Some(words) = has(r"(?i)merge ticket (\d+) into (?:ticket )?(\d+)") {
        let task = json!({ "do": "merge", "id": number(&words, 1), "into": number(&words, 2) });
        return said(&run.ask(Worker::Tickets, task).await);
    }
    if let Some(words) = has(r"(?i)(reopen|close) ticket (\d+)") {
        let task = json!({ "do": words[1].to_lowercase(), "id": number(&words, 2) });
        return said(&run.ask(Worker::Tickets, task).await);
    }
    if let Some(words) = has(r"(?i)add to ticket (\d+): (.+)") {
        let task = json!({ "do": "comment", "id": number(&words, 1), "text": words[2] });
        if misbehaves("escalates") {
            return said(&run.transfer(Worker::Tickets, task).await);
        }
        return said(&run.ask(Worker::Tickets, task).await);
    }
    if let Some(words) = has(r"(?i)give ticket (\d+) to (\w+)") {
        let task = json!({ "do": "assign", "id": number(&words, 1), "person": words[2].to_lowercase() });
        let worker = if misbehaves("self_assigns") { Worker::Tickets } else { Worker::Dispatch };
        return said(&run.ask(worker, task).await);
    }
    if let Some(words) = has(r"(?i)make ticket (\d+) (low|normal|urgent)") {
        let task = json!({ "do": "priority", "id": number(&words, 1), "priority": words[2].to_lowercase() });
        return said(&run.ask(Worker::Dispatch, task).await);
    }
    if let Some(words) = has(r"(?i)(open|closed) tickets(?: of (\w+))?(?:, page (\d+))?") {
        let mut task = json!({ "do": "list", "state": words[1].to_lowercase() });
        if let Some(person) = words.get(2) {
            task["person"] = person.as_str().to_lowercase().into();
        }
        if words.get(3).is_some() {
            task["page"] = number(&words, 3).into();
        }
        return said(&run.ask(Worker::Tickets, task).await);
    }
    if let Some(words) = has(r"(?i)ticket (\d+)") {
        return said(&run.ask(Worker::Tickets, json!({ "do": "look", "id": number(&words, 1) })).await);
    }
    let Some((word, topic, tags)) = WORDS.iter().find(|(word, ..)| lower.contains(word)) else {
        return "Tell me what does not work, or the number of a ticket.".to_owned();
    };
    let email = has(r"\S+@[\w.]+\w").map_or_else(String::new, |found| found[0].to_owned());
    let subject = message.split(['.', '!']).next().unwrap_or_default().to_owned();
    let mut trouble = Trouble { subject, topic, urgent: lower.contains("urgent"), email, tried: None };
    let known = run.ask(Worker::Knowledge, json!({ "word": word, "tags": tags })).await;
    let Some(title) = known["title"].as_str() else {
        let opened = open(run, &trouble).await;
        return format!("{} {opened}", said(&known));
    };
    trouble.tried = Some(title.to_owned());
    talk.0 = Some(trouble);
    format!("{title}: {} Did that help?", known["steps"].as_str().unwrap_or_default())
}

/// Opens a ticket and has it given to somebody.
async fn open(run: &Front<'_>, trouble: &Trouble) -> String {
    let task = json!({
        "do": "open",
        "subject": trouble.subject,
        "topic": trouble.topic,
        "priority": if trouble.urgent { "urgent" } else { "normal" },
        "customer": { "email": trouble.email },
        "tried": trouble.tried.iter().collect::<Vec<_>>(),
    });
    let opened = run.ask(Worker::Tickets, task).await;
    let Some(id) = opened["id"].as_u64() else {
        return said(&opened);
    };
    let given = run.ask(Worker::Dispatch, json!({ "do": "find", "id": id, "skill": trouble.topic })).await;
    let due = opened["due_at"].as_str().unwrap_or_default();
    format!("Ticket {id} is open and due {due}. {}", said(&given))
}

/// Finds an article.
pub async fn knowledge(run: &Run<'_>, task: &Value) -> Value {
    let mut wanted = json!({ "word": task["word"], "limit": 3 });
    if task["tags"].as_array().is_some_and(|tags| !tags.is_empty()) {
        wanted["tags"] = task["tags"].clone();
    }
    let found = run.read("search_articles", wanted).await;
    if !found.done() {
        return sentence(no(&found));
    }
    let Some(first) = found.body.get(0) else {
        return sentence("Nothing is known about that.");
    };
    let article = run.read("get_article", json!({ "id": first["id"] })).await;
    if !article.done() {
        return sentence(no(&article));
    }
    let steps: Vec<_> =
        article.body["steps"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    json!({ "title": article.body["title"], "steps": steps.join(" ") })
}

/// Keeps tickets.
pub async fn tickets(run: &Run<'_>, task: &Value) -> Value {
    let id = &task["id"];
    let answer = match task["do"].as_str().unwrap_or_default() {
        "open" => {
            let mut wanted = task.clone();
            if let Some(fields) = wanted.as_object_mut() {
                fields.remove("do");
            }
            let opened = run.call("open_ticket", wanted).await;
            if opened.code() == "duplicate_ticket" {
                return sentence(format!("Ticket {} is open for that already.", opened.body["id"]));
            }
            if opened.done() {
                return opened.body;
            }
            return sentence(no(&opened));
        }
        "assign" => {
            let path = format!("/tickets/{id}/assignee");
            run.by_hand("assign_ticket", Method::PUT, &path, json!({ "person": task["person"] })).await
        }
        "merge" => run.call("merge_ticket", json!({ "id": id, "into": task["into"] })).await,
        "reopen" => run.call("reopen_ticket", json!({ "id": id })).await,
        "close" => run.call("close_ticket", json!({ "id": id, "resolution": { "kind": "solved" } })).await,
        "comment" => run.call("comment", json!({ "id": id, "text": task["text"] })).await,
        "list" => {
            let mut wanted = task.clone();
            if let Some(fields) = wanted.as_object_mut() {
                fields.remove("do");
            }
            let listed = run.read("list_tickets", wanted).await;
            if !listed.done() {
                return sentence(no(&listed));
            }
            let rows = listed.body.as_array().cloned().unwrap_or_default();
            let lines: Vec<_> = rows
                .iter()
                .map(|row| format!("{} {}", row["id"], row["subject"].as_str().unwrap_or_default()))
                .collect();
            let total = rows.first().map_or(0, |row| row["total"].as_u64().unwrap_or_default());
            return sentence(format!("{total} tickets: {}", lines.join("; ")));
        }
        _ => {
            let ticket = run.read("get_ticket", json!({ "id": id })).await;
            if ticket.done() {
                let who = ticket.body["assignee"].as_str().unwrap_or("nobody");
                let said: Vec<_> =
                    ticket.body["said"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
                return sentence(format!(
                    "Ticket {id} is {}, {} has it. Said: {}",
                    ticket.body["state"].as_str().unwrap_or("?"),
                    who,
                    said.join("; ")
                ));
            }
            ticket
        }
    };
    if answer.done() {
        return sentence(format!("Done: {} of ticket {id}.", task["do"].as_str().unwrap_or_default()));
    }
    sentence(no(&answer))
}

/// Gives tickets to people.
pub async fn dispatch(run: &Run<'_>, task: &Value) -> Value {
    let id = &task["id"];
    match task["do"].as_str().unwrap_or_default() {
        "priority" => {
            let set = run.call("set_priority", json!({ "id": id, "priority": task["priority"] })).await;
            match set.done() {
                true => {
                    sentence(format!("Ticket {id} is due {}.", set.body["due_at"].as_str().unwrap_or("?")))
                }
                false => sentence(no(&set)),
            }
        }
        "assign" => give(run, id, &task["person"]).await,
        _ => {
            let people = run.read("list_people", json!({ "skill": task["skill"] })).await;
            for person in people.body.as_array().into_iter().flatten() {
                let given = run.call("assign_ticket", json!({ "id": id, "person": person["id"] })).await;
                if given.done() {
                    return sentence(format!(
                        "{} has it.",
                        given.body["name"].as_str().unwrap_or("Somebody")
                    ));
                }
            }
            sentence("Nobody is free for it yet.")
        }
    }
}

async fn give(run: &Run<'_>, id: &Value, person: &Value) -> Value {
    let given = run.call("assign_ticket", json!({ "id": id, "person": person })).await;
    match given.done() {
        true => sentence(format!("{} has ticket {id}.", given.body["name"].as_str().unwrap_or("Somebody"))),
        false => sentence(no(&given)),
    }
}

fn no(answer: &Answer) -> String {
    let text = match answer.code() {
        "ticket_not_found" => "I could not find that ticket.",
        "ticket_not_open" => "That ticket is not open.",
        "ticket_not_closed" => "That ticket is not closed.",
        "outside_window" => "It was closed more than fourteen days ago; please open a new one.",
        "same_ticket" => "That is one ticket.",
        "other_customer" => "Those tickets are of two customers.",
        "person_unknown" => "I do not know that person.",
        "off_duty" => "That person is off duty.",
        "too_busy" => "That person has enough to do.",
        "invalid_arguments" => "I need a mail address for a ticket.",
        "not_permitted" | "calls_exhausted" | "tool_not_described" => "I am not allowed to do that.",
        _ => "That does not work now, please try later.",
    };
    text.to_owned()
}

fn said(answer: &Value) -> String {
    answer["say"].as_str().unwrap_or("Something went wrong.").to_owned()
}

fn found<'a>(pattern: &str, text: &'a str) -> Option<Captures<'a>> {
    Regex::new(pattern).ok()?.captures(text)
}

fn misbehaves(how: &str) -> bool {
    std::env::var("MISBEHAVE").is_ok_and(|text| text == how)
}
