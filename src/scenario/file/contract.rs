//! `contract.yaml`, as written: the app and its workers.

use schemars::JsonSchema;
use serde::Deserialize;

use super::scalar::{Form, Size, Table, Texts, Time};
use super::world::WorldFile;
use super::{At, Free};

/// One file that pins the app under test: how it starts, how to talk to it, its workers, its world.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ContractFile {
    /// Version of this format: 1.
    #[schemars(range(min = 1, max = 1))]
    pub contract: At<u32>,
    /// How the app starts, is talked to, and stops.
    pub app: At<AppFile>,
    /// The one address that all shared workers use.
    pub shared: Option<SharedFile>,
    /// The agents of the app, coordinator included.
    pub workers: At<Vec<At<WorkerFile>>>,
    /// What the tools act on.
    pub world: Option<At<WorldFile>>,
    /// Remote agents by id, played or proxied.
    pub peers: Option<Table<At<PeerFile>>>,
    /// What the app's model is told.
    pub model: Option<At<ModelFile>>,
    /// Bounds of one trial.
    pub limits: Option<LimitsFile>,
}

/// How the app starts, is talked to, and stops.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AppFile {
    /// For reports.
    pub name: At<String>,
    /// Folder the app runs in, relative to the contract; its folder by default.
    pub cwd: Option<At<String>>,
    /// Commands run once per run, before any trial.
    pub setup: Option<Vec<At<Vec<String>>>>,
    /// The command of one trial, read from `cwd`; `${port}` and `${trial}` may stand in it.
    pub start: Option<At<Vec<String>>>,
    /// How long one start lasts; a trial by default.
    pub per: Option<PerFile>,
    /// Set for the app.
    pub env: Option<Table<At<String>>>,
    /// Variables passed on from our environment.
    pub env_pass: Option<Vec<At<String>>>,
    /// Variables whose values are redacted everywhere; each must stand in `env` or `env_pass`.
    pub secrets: Option<Vec<At<String>>>,
    /// How the app says that it can be talked to; absent means once started.
    pub ready: Option<At<ReadyFile>>,
    /// How a turn reaches the app.
    pub talk: At<Form<TalkWord, TalkFile>>,
    /// When telemetry is taken to be out.
    pub telemetry: Option<TelemetryFile>,
    /// How the app is ended.
    pub stop: Option<At<StopFile>>,
    /// IP address where channels and receiver listen; 127.0.0.1 by default.
    pub listen: Option<At<String>>,
    /// Host name written into addresses, for apps on other hosts or in containers.
    pub advertise: Option<At<String>>,
}

/// How long one start of the app lasts.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PerFile {
    /// One trial.
    Trial,
    /// Many trials, one at a time: the app must forget, from one `${trial}` to the next, whatever it was told.
    Slot,
}

/// When something can be talked to.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReadyFile {
    /// URL that answers with a status below 500 once ready.
    pub http: At<String>,
    /// How long that may take; 20s by default.
    pub within: Option<At<Time>>,
}

/// How a turn reaches the app.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TalkFile {
    /// One POST a turn.
    Http(HttpTalkFile),
    /// The app serves OpenAI Chat Completions.
    OpenaiChat(OpenAiChatFile),
    /// The app is an A2A server.
    A2a(A2aFile),
    /// One line of JSON a turn on standard input, one line back.
    Stdio {},
}

/// A way of talking that has nothing to say of itself.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TalkWord {
    /// One line of JSON a turn on standard input, one line back.
    Stdio,
}

/// One POST a turn.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HttpTalkFile {
    /// The URL.
    pub post: At<String>,
    /// Sent as JSON; `${turn}`, `${history}` and `${trial}` may stand in its strings.
    pub body: At<Free>,
    /// Extra request headers.
    pub headers: Option<Table<At<String>>>,
    /// Where the reply stands: a JSON pointer, `{ sse: POINTER }` into each event of a stream, or absent for the body.
    pub reply: Option<At<Form<String, SseFile>>>,
}

/// The reply is streamed.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SseFile {
    /// JSON pointer into each `data:` of the stream.
    pub sse: At<String>,
}

/// The app serves OpenAI Chat Completions.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OpenAiChatFile {
    /// Base URL; `/chat/completions` is added.
    pub url: At<String>,
    /// The model named in the request; `app` by default.
    pub model: Option<String>,
    /// Whether to ask for a stream.
    pub stream: Option<bool>,
}

/// The app is an A2A server.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct A2aFile {
    /// Base URL; the agent card is read there.
    pub url: At<String>,
}

/// When telemetry is taken to be out.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TelemetryFile {
    /// When telemetry is taken to be out after the last reply.
    pub flush: At<FlushFile>,
}

/// When telemetry is taken to be out after the last reply.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FlushFile {
    /// Quiet for two batch delays, 2 s at most.
    Batch,
    /// The app flushes before it replies.
    OnReply,
    /// The app exports nothing.
    None,
}

/// How the app is ended: `signal` with `grace`, or `run`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StopFile {
    /// Signal name without SIG; TERM by default.
    pub signal: Option<At<String>>,
    /// How long it may take before SIGKILL; 5s by default.
    pub grace: Option<At<Time>>,
    /// A command, for an app that is not our child.
    pub run: Option<At<Vec<String>>>,
}

/// The one address that all shared workers use.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SharedFile {
    /// Variable where the app finds that address.
    pub address_env: At<String>,
}

/// One agent of the app. Every key can only take away.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WorkerFile {
    /// Its id: a-z, 0-9, `_` and `-`, never `self`.
    #[schemars(required, with = "String", regex(pattern = r"^[a-z0-9][a-z0-9_-]{0,63}$"))]
    pub id: Option<At<String>>,
    /// The name or names it has in spans.
    pub agent: Option<At<Texts>>,
    /// One line of the catalog.
    pub role: Option<At<String>>,
    /// Names or globs of the tools it may use; absent is unlimited, an empty list is nothing.
    pub allowed_tools: Option<Vec<At<String>>>,
    /// Names or globs of tools it may not use.
    pub deny_tools: Option<Vec<At<String>>>,
    /// No tool with effect `write`.
    pub deny_write: Option<bool>,
    /// No tool with effect `net`.
    pub deny_net: Option<bool>,
    /// At most this many allowed calls.
    pub max_calls: Option<At<u64>>,
    /// Its deadline in seconds, from the start of the budget.
    pub budget_seconds: Option<At<f64>>,
    /// Its own channel, or the shared one (the default).
    pub binding: Option<At<BindingFile>>,
    /// How calls on the shared channel are told apart; `spans` by default.
    pub lane: Option<At<LaneFile>>,
    /// With `binding: separate`: variable where its tool client reads the base address.
    pub address_env: Option<At<String>>,
    /// With `lane: token_header`: variable where the app finds its token.
    pub token_env: Option<At<String>>,
    /// Ids of workers and peers it may hand work to; absent excludes nobody.
    pub delegates_to: Option<Vec<At<String>>>,
    /// Names or globs of tools it may hand on; absent sets no ceiling.
    pub may_grant: Option<Vec<At<String>>>,
    /// Limits of the hand-offs it makes.
    pub containment: Option<At<ContainmentFile>>,
}

/// Whether a worker has a channel of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BindingFile {
    /// Its own channel.
    Separate,
    /// The shared one.
    Shared,
}

/// How calls on the shared channel are told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LaneFile {
    /// By a header with the worker's own token: enforced.
    TokenHeader,
    /// By spans, afterwards: audited.
    Spans,
    /// No channel: tools run inside the app.
    None,
}

/// Limits of the hand-offs a worker makes.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ContainmentFile {
    /// `off`; `delegable`: `may_grant` is the ceiling; `strict`: and defaults to `allowed_tools`.
    pub mode: Option<ContainmentModeFile>,
    /// How deep hand-offs may nest.
    pub max_depth: Option<At<u64>>,
    /// How many hand-offs it may make.
    pub max_delegations: Option<At<u64>>,
    /// How many of them may run at a time; more of them wait.
    pub max_concurrent: Option<At<u64>>,
    /// Whether work may come back to a worker that is already in the chain.
    pub forbid_cycles: Option<bool>,
}

/// How far limits flow down a chain of hand-offs.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ContainmentModeFile {
    /// Not at all.
    Off,
    /// As far as `may_grant` says.
    Delegable,
    /// As `delegable`, and `may_grant` defaults to `allowed_tools`.
    Strict,
}

/// A remote agent.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PeerFile {
    /// Played by us, or a real one behind the channel.
    pub a2a: At<PeerMode>,
    /// With `scripted`: file of its agent card.
    pub card: Option<At<String>>,
    /// With `scripted`: file of its replies.
    pub replies: Option<At<String>>,
    /// With `proxied`: its base URL.
    pub url: Option<At<String>>,
    /// One line of the catalog.
    pub role: Option<At<String>>,
}

/// How a peer is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PeerMode {
    /// Played from files.
    Scripted,
    /// A real agent.
    Proxied,
}

/// What the app's model is told.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ModelFile {
    /// How model calls are answered.
    pub mode: At<ModelModeFile>,
    /// File of scripted replies, or the cassette of `record` and `replay`.
    pub replies: Option<At<String>>,
    /// Variables set to the endpoint's base URL, each with the API spoken there; a worker may have one of its own.
    pub env: Option<Table<At<Form<ModelApiFile, ModelAddressFile>>>>,
}

/// The model address of one worker.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ModelAddressFile {
    /// The API spoken there.
    pub api: At<ModelApiFile>,
    /// Whose calls come here.
    pub worker: At<String>,
}

/// How model calls are answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ModelModeFile {
    /// No endpoint.
    None,
    /// By script.
    Scripted,
    /// By the real provider, kept as a cassette.
    Record,
    /// From a cassette.
    Replay,
}

/// A model API.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ModelApiFile {
    /// OpenAI: chat completions and responses.
    Openai,
    /// Anthropic messages.
    Anthropic,
    /// Gemini generateContent.
    Gemini,
}

/// Bounds of one trial. Durations as `60s` or `500ms`, sizes as `16MB`.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LimitsFile {
    /// One turn; 60s.
    pub turn: Option<At<Time>>,
    /// The whole trial; 5m.
    pub trial: Option<At<Time>>,
    /// Calls over all channels; 1000.
    pub calls: Option<At<u64>>,
    /// One request or response body; 16MB.
    pub body: Option<At<Size>>,
    /// Spans kept; 50000.
    pub spans: Option<At<u64>>,
    /// Bytes of spans kept; 64MB.
    pub span_bytes: Option<At<Size>>,
    /// One span attribute; 64KB.
    pub attribute: Option<At<Size>>,
    /// The tail of the app's output that is kept; 64KB.
    pub output: Option<At<Size>>,
    /// One SQL statement; 5s.
    pub sql: Option<At<Time>>,
    /// The record; 256MB.
    pub record: Option<At<Size>>,
}
