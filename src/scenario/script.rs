//! The script of a model, checked: rules with patterns and templates that are known to compile.

use std::time::Duration;

use regex::Regex;
use serde_json::Value;

use super::{Fail, Pos, Template};
use crate::name::WorkerId;

/// What the scripted model says.
#[derive(Clone, Debug)]
pub struct Script {
    /// Ids told to an app that asks which models there are.
    pub models: Vec<String>,
    /// Tried from the top.
    pub rules: Vec<Rule>,
}

/// One answer, and the requests it answers.
#[derive(Clone, Debug)]
pub struct Rule {
    /// For reports.
    pub id: String,
    /// Where it is written.
    pub pos: Pos,
    /// Which requests.
    pub when: When,
    /// Text of the answer.
    pub say: Option<Template>,
    /// Tools it calls.
    pub calls: Vec<ToolCall>,
    /// Why it ends.
    pub finish: Finish,
    /// Tokens of request and answer; estimated where not written.
    pub usage: Option<(u64, u64)>,
    /// The model named in the answer.
    pub served: Option<String>,
    /// An error instead of the answer.
    pub fail: Option<Fail>,
    /// How the answer travels.
    pub travel: Travel,
}

/// How an answer travels.
#[derive(Clone, Copy, Debug, Default)]
pub struct Travel {
    /// Before it begins.
    pub delay: Duration,
    /// Before each piece of a stream.
    pub pace: Duration,
    /// The connection breaks after so many pieces.
    pub cut_after: Option<u64>,
}

/// What a request must be; what is none or empty asks nothing.
#[derive(Clone, Debug, Default)]
pub struct When {
    /// The API it came by.
    pub api: Option<ModelApi>,
    /// Whose address it came to.
    pub worker: Option<WorkerId>,
    /// The model asked for.
    pub model: Option<String>,
    /// The system prompt.
    pub system: Option<TextTest>,
    /// The last thing a user said.
    pub user: Option<TextTest>,
    /// The text of the last message.
    pub last: Option<TextTest>,
    /// Tools that are offered.
    pub tools: Vec<String>,
    /// Tools whose results have come since the last thing a user said, in order.
    pub results: Option<Vec<String>>,
}

/// A model API, as a request speaks it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ModelApi {
    /// OpenAI Chat Completions.
    OpenAiChat,
    /// OpenAI Responses.
    OpenAiResponses,
    /// Anthropic Messages.
    Anthropic,
    /// Gemini generateContent.
    Gemini,
}

impl ModelApi {
    /// The word as it stands in rows and scripts.
    pub fn word(self) -> &'static str {
        match self {
            Self::OpenAiChat => "openai_chat",
            Self::OpenAiResponses => "openai_responses",
            Self::Anthropic => "anthropic",
            Self::Gemini => "gemini",
        }
    }
}

/// What a text must be.
#[derive(Clone, Debug)]
pub enum TextTest {
    /// Contains this, ignoring case; lower case already.
    Contains(String),
    /// Is this.
    Is(String),
    /// This finds something.
    Matches(Regex),
}

/// One tool call of an answer.
#[derive(Clone, Debug)]
pub struct ToolCall {
    /// The tool.
    pub tool: String,
    /// An object; its texts are templates.
    pub args: Value,
}

/// Why an answer ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Finish {
    /// It is complete, or waits for its tools.
    #[default]
    Stop,
    /// The limit of tokens is reached.
    Length,
    /// The provider's filter cut it.
    Filtered,
}
