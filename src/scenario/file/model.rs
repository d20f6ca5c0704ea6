//! `model.yaml`, as written: what the scripted model says to which request.

use schemars::JsonSchema;
use serde::Deserialize;

use super::scalar::{Form, Table, Time};
use super::{At, Free};

/// What the scripted model says. Rules are tried from the top; the first whose `when` fits the request answers it.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ScriptFile {
    /// Version of this format: 1.
    #[schemars(range(min = 1, max = 1))]
    pub model: At<u32>,
    /// Ids told to an app that asks which models there are.
    pub models: Option<Vec<At<String>>>,
    /// At least one.
    pub rules: At<Vec<At<RuleFile>>>,
}

/// One answer, and the requests it answers. It depends on the request alone, so a repeated request is answered alike.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RuleFile {
    /// For reports; `line N` by default.
    pub id: Option<At<String>>,
    /// Which requests; every one where it is absent.
    pub when: Option<At<WhenFile>>,
    /// Text of the answer; a template.
    pub say: Option<At<String>>,
    /// Tools the answer calls, all at once.
    pub calls: Option<At<Vec<At<ToolCallFile>>>>,
    /// Why the answer ends; `stop` by default.
    pub finish: Option<FinishFile>,
    /// Tokens told; by default about one for four characters.
    pub usage: Option<UsageFile>,
    /// The model named in the answer; the one asked for by default.
    pub served: Option<At<String>>,
    /// An error instead of an answer.
    pub fail: Option<At<Form<FailWordFile, FailFile>>>,
    /// Wait before the answer begins.
    pub delay: Option<At<Time>>,
    /// Wait before each piece of a stream.
    pub pace: Option<At<Time>>,
    /// The connection breaks after so many pieces of a stream, or in the middle of an answer that is not streamed.
    pub cut_after: Option<At<u64>>,
}

/// What a request must be. All that is written must hold.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WhenFile {
    /// The API it came by.
    pub api: Option<At<ApiFile>>,
    /// Whose model address it came to; the contract's `model.env` gives a worker its own.
    pub worker: Option<At<String>>,
    /// The model asked for, as it is.
    pub model: Option<At<String>>,
    /// The system prompt.
    pub system: Option<At<TextFile>>,
    /// The last thing a user said.
    pub user: Option<At<TextFile>>,
    /// The text of the last message, whoever said it.
    pub last: Option<At<TextFile>>,
    /// Tools that are offered, others may be beside them.
    pub tools: Option<At<Vec<At<String>>>>,
    /// The tools whose results have come since the last thing a user said, in order: all of them; `[]` for none.
    pub results: Option<At<Vec<At<String>>>>,
}

/// A model API.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ApiFile {
    /// OpenAI Chat Completions.
    OpenaiChat,
    /// OpenAI Responses.
    OpenaiResponses,
    /// Anthropic Messages.
    Anthropic,
    /// Gemini generateContent.
    Gemini,
}

/// A text it contains, ignoring case, or a stricter test.
pub type TextFile = Form<String, TextTestFile>;

/// Exactly one test.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TextTestFile {
    /// The whole text, exactly.
    pub is: Option<At<String>>,
    /// A regular expression finds something; its named groups are `found.NAME` in templates.
    pub matches: Option<At<String>>,
}

/// One tool call of an answer.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ToolCallFile {
    /// The tool, as the app offers it.
    pub tool: At<String>,
    /// Its arguments; every text is a template, and one that is `{{ … }}` alone keeps the type of its value.
    pub args: Option<Table<At<Free>>>,
}

/// Why an answer ends.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FinishFile {
    /// It is complete, or waits for its tools.
    Stop,
    /// The limit of tokens is reached.
    Length,
    /// The provider's filter cut it.
    Filtered,
}

/// Tokens told.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UsageFile {
    /// Of the request.
    pub input: u64,
    /// Of the answer.
    pub output: u64,
}

/// An error with one word.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FailWordFile {
    /// A body that is no JSON, with status 200.
    Malformed,
    /// The provider is overloaded: 529 of Anthropic, 503 of others.
    Overloaded,
}

/// An error as the provider tells it.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FailFile {
    /// 400 to 599.
    pub status: At<u16>,
    /// For people.
    pub message: Option<String>,
    /// Sent as `retry-after`, in whole seconds.
    pub retry_after: Option<At<Time>>,
    /// What a client's retry gets; `never` by default.
    pub retry: Option<RetryFile>,
}

/// What a client's retry gets.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RetryFile {
    /// The client is told not to retry.
    Never,
    /// The same error.
    Same,
    /// The rule's `say` and `calls`.
    Answered,
}
