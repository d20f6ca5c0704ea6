//! `talk: openai_chat`: the app serves OpenAI Chat Completions, plain or streamed.
//!
//! Only text is a reply. An answer that asks the user to run a tool is no reply, since no user here could.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::http::{events, post, whole};
use super::{Question, Trouble, beginning};

/// Posts history and turn to `url/chat/completions` and reads the first choice.
pub(super) async fn ask(
    question: &Question<'_>,
    url: &str,
    model: &str,
    stream: bool,
) -> Result<String, Trouble> {
    let url = format!("{}/chat/completions", url.trim_end_matches('/'));
    let mut messages = question.messages();
    messages.push(json!({ "role": "user", "content": question.text }));
    let body = json!({ "model": model, "messages": messages, "stream": stream });
    let mut answer = post(question, &url, &body, &BTreeMap::new()).await?;
    if !stream {
        let bytes = whole(&mut answer, question.limit).await?;
        let json: Value = serde_json::from_slice(&bytes).unwrap_or_default();
        let text = json.pointer("/choices/0/message/content").and_then(Value::as_str);
        return text.map(str::to_owned).ok_or_else(|| {
            Trouble::Bad(format!("no text at /choices/0/message/content in {}", beginning(&bytes)))
        });
    }
    let mut text = None::<String>;
    let done = events(&mut answer, question.limit, |event| {
        if let Some(error) = event.get("error") {
            return Err(Trouble::Bad(format!("the stream holds an error: {error}")));
        }
        if let Some(piece) = event.pointer("/choices/0/delta/content").and_then(Value::as_str) {
            text.get_or_insert_default().push_str(piece);
        }
        Ok(())
    })
    .await?;
    if !done {
        return Err(Trouble::Broken("the stream ended without `[DONE]`".into()));
    }
    text.ok_or_else(|| Trouble::Bad("no event of the stream holds any text".into()))
}
