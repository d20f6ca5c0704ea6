//! The contract, checked: one file that pins the app under test.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use super::Script;
use crate::name::{ToolName, WorkerId};

/// A place in a file, both counted from 1. Columns count characters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Pos {
    /// Line.
    pub line: u32,
    /// Column.
    pub column: u32,
}

/// A file as it was read, so that a record can hold it and be graded again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// Where it was read from.
    pub path: PathBuf,
    /// What stood there.
    pub text: Arc<str>,
}

/// One SQL statement and the place that asked for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sql {
    /// The statement; `:name` parameters are bound, never pasted.
    pub text: Arc<str>,
    /// In the contract or scenario file (or 1:1 of `world.sql`).
    pub pos: Pos,
}

/// The app under test, its workers and its world.
#[derive(Clone, Debug)]
pub struct Contract {
    /// The file itself.
    pub source: Source,
    /// Its folder: what relative paths are relative to.
    pub folder: PathBuf,
    /// How the app starts, talks and stops.
    pub app: App,
    /// Where shared workers read the one address they share.
    pub shared_address_env: Option<String>,
    /// In the order of the file.
    pub workers: Vec<Worker>,
    /// What the tools act on.
    pub world: WorldSpec,
    /// Remote agents, played or proxied.
    pub peers: BTreeMap<String, Peer>,
    /// What the app's model is told.
    pub model: ModelSpec,
    /// Bounds of a trial.
    pub limits: Limits,
    /// Every other file it names, as read, in no order that matters: with `source`, all that a record needs.
    pub files: Vec<Source>,
}

impl Contract {
    /// The worker of that id.
    pub fn worker(&self, id: &WorkerId) -> Option<&Worker> {
        self.workers.iter().find(|worker| worker.id == *id)
    }

    /// Whether tools may exist that only a service knows.
    pub fn has_mcp_servers(&self) -> bool {
        self.world.has_mcp_servers()
    }

    /// The tool of that name.
    pub fn tool(&self, name: &ToolName) -> Option<&Tool> {
        self.world.tools.iter().find(|tool| tool.name == *name)
    }
}

/// How the app starts, is talked to, and stops. `${port}` and `${trial}` may stand in `start`, `env`, `ready`, `talk`
/// and `stop` and are filled in once per trial.
#[derive(Clone, Debug)]
pub struct App {
    /// For reports.
    pub name: String,
    /// Absolute.
    pub cwd: PathBuf,
    /// Commands run once per run, before any trial.
    pub setup: Vec<Vec<String>>,
    /// The command of one trial.
    pub start: Vec<String>,
    /// Set for the app.
    pub env: BTreeMap<String, String>,
    /// Passed on from our environment, beside PATH, HOME, LANG, LC_*, TZ and TMPDIR.
    pub env_pass: BTreeSet<String>,
    /// Variables whose values are redacted everywhere.
    pub secrets: BTreeSet<String>,
    /// How the app says it can be talked to; none means it is ready once started.
    pub ready: Option<Ready>,
    /// How a turn reaches it.
    pub talk: Talk,
    /// When its telemetry is taken to be out.
    pub flush: Flush,
    /// How long one start of it lasts.
    pub per: Per,
    /// How it is ended.
    pub stop: Stop,
    /// Where channels and receiver listen.
    pub listen: IpAddr,
    /// The host written into addresses, where it differs from `listen`.
    pub advertise: Option<String>,
}

/// `ready: { http, within }`.
#[derive(Clone, Debug)]
pub struct Ready {
    /// Answers with any status below 500 once the app is ready.
    pub http: String,
    /// How long that may take.
    pub within: Duration,
}

/// How a turn reaches the app.
#[derive(Clone, Debug)]
pub enum Talk {
    /// One POST a turn.
    Http {
        /// The URL.
        post: String,
        /// Sent as JSON; `${turn}`, `${history}` and `${trial}` may stand in its strings.
        body: Value,
        /// Extra request headers.
        headers: BTreeMap<String, String>,
        /// Where the reply stands in the answer.
        reply: ReplyAt,
    },
    /// The app serves OpenAI Chat Completions at this base URL.
    OpenAiChat {
        /// Base URL; `/chat/completions` is added.
        url: String,
        /// The model named in the request.
        model: String,
        /// Whether to ask for a stream.
        stream: bool,
    },
    /// The app is an A2A server at this URL (its card is read there).
    A2a {
        /// Base URL.
        url: String,
    },
    /// One line of JSON a turn on standard input (`{"trial","turn","n"}`), one line (`{"reply"}`) back.
    Stdio,
}

/// Where the reply stands in the app's answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReplyAt {
    /// A JSON pointer into a JSON answer.
    Pointer(String),
    /// A JSON pointer into each `data:` of an event stream; what it finds is joined.
    Sse(String),
    /// The whole body as text.
    Body,
}

/// How long one start of the app lasts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Per {
    /// One trial.
    #[default]
    Trial,
    /// Many trials with the same environment, one at a time.
    Slot,
}

/// When telemetry is taken to be out after the last reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flush {
    /// Quiet for two batch delays, 2 s at most.
    Batch,
    /// The app flushes before it replies.
    OnReply,
    /// The app exports nothing; nothing is waited for.
    None,
}

/// How the app is ended.
#[derive(Clone, Debug)]
pub enum Stop {
    /// A signal to its process group, then SIGKILL to every descendant after `grace`.
    Signal {
        /// Signal name without SIG, e.g. `TERM`.
        signal: String,
        /// How long it may take.
        grace: Duration,
    },
    /// A command, for an app that is not our child.
    Run(Vec<String>),
}

/// A set of tools a worker may use; absence is everything, an empty list nothing. Globs match full names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AllowList {
    /// No list was written. Recorded as unlimited.
    Everything,
    /// Only these names or globs.
    Only(BTreeSet<String>),
}

/// One agent of the app.
#[derive(Clone, Debug)]
pub struct Worker {
    /// Where the contract declares it.
    pub pos: Pos,
    /// Its id.
    pub id: WorkerId,
    /// The names it has in spans.
    pub agents: Vec<String>,
    /// One cleaned line of the catalog.
    pub role: Option<String>,
    /// `allowed_tools`.
    pub allowed: AllowList,
    /// `deny_tools`: names or globs.
    pub denied: BTreeSet<String>,
    /// No tool with effect `write`.
    pub deny_write: bool,
    /// No tool with effect `net`.
    pub deny_net: bool,
    /// At most this many allowed calls.
    pub max_calls: Option<u64>,
    /// Its deadline, from the start of the budget.
    pub budget: Option<Duration>,
    /// Its own channel, the shared one, or none.
    pub lane: LaneSpec,
    /// Whom it may hand work to (ids of workers and peers); `None`: nobody is excluded.
    pub delegates_to: Option<Vec<String>>,
    /// Names or globs of tools that those it hands work to may use; `None`: no ceiling.
    pub may_grant: Option<Vec<String>>,
    /// Limits of the hand-offs it makes.
    pub containment: Containment,
}

/// Limits of the hand-offs a worker makes. The default takes nothing away but what is denied.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Containment {
    /// How far its limits flow down a chain.
    pub mode: ContainmentMode,
    /// How deep hand-offs may nest below it; its own have depth 1. More is refused.
    pub max_depth: Option<u64>,
    /// How many hand-offs it may make. More are refused.
    pub max_delegations: Option<u64>,
    /// How many of them may run at a time. More wait, and none is refused for it.
    pub max_concurrent: Option<u64>,
    /// Whether work may not come back to a worker that waits for it.
    pub forbid_cycles: bool,
}

/// How far limits flow down a chain of hand-offs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ContainmentMode {
    /// Not at all.
    Off,
    /// Denials do; tools as far as `may_grant` says, and all where it says nothing.
    #[default]
    Delegable,
    /// As `delegable`, and `may_grant` defaults to `allowed_tools`.
    Strict,
}

/// How a worker's calls are told apart (design, Lanes).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LaneSpec {
    /// `binding: separate`: its own address, enforced.
    Separate {
        /// Where its tool client reads the address.
        address_env: String,
    },
    /// `lane: token_header`: the shared address, and a header with a token of its own, enforced.
    TokenHeader {
        /// Where the app finds the token.
        token_env: String,
    },
    /// `lane: spans`: the shared address; told apart afterwards, audited.
    Spans,
    /// `lane: none`: no channel; spans only.
    None,
}

/// Which tools a channel lists to its worker (MCP, OpenAPI). Calls are decided alike either way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Listing {
    /// All: what an app tries beyond its permits is to be seen.
    #[default]
    All,
    /// Those that the worker may use.
    Permitted,
}

/// What the tools act on.
#[derive(Clone, Debug, Default)]
pub struct WorldSpec {
    /// The world's time at the start of each trial: RFC 3339, UTC.
    pub now: Option<String>,
    /// The embedded database, where there is one.
    pub sqlite: Option<SqliteSpec>,
    /// In the order of the file.
    pub tools: Vec<Tool>,
    /// Services behind tools, by name.
    pub upstreams: BTreeMap<String, Upstream>,
    /// Which tools a channel lists.
    pub listing: Listing,
}

impl WorldSpec {
    /// Whether tools may exist that only a service knows.
    pub fn has_mcp_servers(&self) -> bool {
        let is_mcp = |upstream: &Upstream| !matches!(upstream.kind, UpstreamKind::Http(_));
        self.upstreams.values().any(is_mcp)
    }
}

/// `world.sqlite`.
#[derive(Clone, Debug)]
pub struct SqliteSpec {
    /// DDL and base rows, in order.
    pub schema: Vec<Source>,
    /// Base rows from CSV (with a header line) or JSON (a list of objects) files, by table, in order.
    pub rows: Vec<(String, Source)>,
}

/// What a tool does to the world, as far as permits care.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Effect {
    /// Changes nothing.
    Read,
    /// May change something. The default.
    Write,
    /// Reaches out.
    Net,
}

/// One tool.
#[derive(Clone, Debug)]
pub struct Tool {
    /// Where the contract declares it.
    pub pos: Pos,
    /// Its name.
    pub name: ToolName,
    /// For MCP and OpenAPI.
    pub description: Option<String>,
    /// Its HTTP route, where it has one.
    pub route: Option<Route>,
    /// What it does to the world.
    pub effect: Effect,
    /// Its arguments as JSON Schema (draft 2020-12), whichever form they were written in; `None`: anything.
    pub args: Option<Arc<Value>>,
    /// What answers it.
    pub behaviour: Behaviour,
}

/// Method and path template, e.g. `GET /orders/{order_id}`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route {
    /// Upper case.
    pub method: String,
    /// Segments between slashes.
    pub path: Vec<Segment>,
}

/// One segment of a path template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Segment {
    /// Matched as received, byte for byte.
    Literal(String),
    /// Binds one non-empty segment.
    Variable(String),
}

/// What answers a tool.
#[derive(Clone, Debug)]
pub enum Behaviour {
    /// The embedded world.
    Sqlite(SqliteTool),
    /// An upstream of that name.
    Upstream {
        /// Key of [`WorldSpec::upstreams`].
        name: String,
        /// The tool's name there, where it differs (MCP).
        tool: Option<String>,
    },
}

/// What an embedded tool does, in one transaction.
#[derive(Clone, Debug)]
pub struct SqliteTool {
    /// Checked in order; the first that fits refuses and rolls back.
    pub refuse: Vec<WorldRefusal>,
    /// Run in order.
    pub run: Vec<Sql>,
    /// The answer.
    pub returns: Returns,
}

/// The world saying no.
#[derive(Clone, Debug)]
pub struct WorldRefusal {
    /// `unless` refuses where the statement gives no row, `when` where it gives one.
    pub condition: RefusalWhen,
    /// The statement.
    pub sql: Sql,
    /// Its code.
    pub code: String,
    /// HTTP status.
    pub status: u16,
    /// The body; none gives `{"error":{"code":…}}`.
    pub body: Option<Answer>,
}

/// Which way a refusal's statement is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RefusalWhen {
    /// Refuse where there is no row.
    Unless,
    /// Refuse where there is a row.
    When,
}

/// `returns:`.
#[derive(Clone, Debug)]
pub struct Returns {
    /// HTTP status, 200 where not written.
    pub status: u16,
    /// Extra response headers.
    pub headers: BTreeMap<String, String>,
    /// The body.
    pub answer: Answer,
}

/// What a body is made of.
#[derive(Clone, Debug)]
pub enum Answer {
    /// The first row as an object; 404 where there is none.
    Row(Sql),
    /// All rows as a list of objects.
    Rows(Sql),
    /// A fixed value; strings `":name"` stand for arguments.
    Value(Value),
    /// No body.
    Nothing,
}

/// A service behind tools.
#[derive(Clone, Debug)]
pub struct Upstream {
    /// Where the contract declares it.
    pub pos: Pos,
    /// Started by us, where there is a command; `${port}` may stand in it.
    pub start: Option<Vec<String>>,
    /// How it says it is ready.
    pub ready: Option<Ready>,
    /// How it is reached.
    pub kind: UpstreamKind,
    /// POSTed between trials.
    pub reset: Option<String>,
    /// Set for the upstream's process.
    pub env: BTreeMap<String, String>,
}

/// How an upstream is reached.
#[derive(Clone, Debug)]
pub enum UpstreamKind {
    /// An HTTP service at this base URL.
    Http(String),
    /// An MCP server at this URL.
    McpHttp(String),
    /// An MCP server on the standard streams of this command.
    McpStdio(Vec<String>),
}

/// A remote agent.
#[derive(Clone, Debug)]
pub struct Peer {
    /// Where the contract declares it.
    pub pos: Pos,
    /// Played by us, or a real one behind the channel.
    pub kind: PeerKind,
    /// One cleaned line of the catalog.
    pub role: Option<String>,
}

/// How a peer is there.
#[derive(Clone, Debug)]
pub enum PeerKind {
    /// Played from files.
    Scripted {
        /// Its agent card.
        card: Option<Source>,
        /// Its replies.
        replies: Option<Source>,
    },
    /// A real agent at this URL.
    Proxied {
        /// Base URL.
        url: String,
    },
}

/// What the app's model is told.
#[derive(Clone, Debug, Default)]
pub struct ModelSpec {
    /// How model calls are answered.
    pub mode: ModelMode,
    /// The file of scripted replies, or the cassette.
    pub replies: Option<Source>,
    /// What `scripted` says.
    pub script: Option<Script>,
    /// Environment variables set to a base URL of the endpoint, and what is behind each.
    pub env: BTreeMap<String, ModelAddress>,
}

/// One base URL of the model endpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelAddress {
    /// What is spoken there, and so the form of the URL.
    pub family: ModelFamily,
    /// Whose calls come there; none where that is not said.
    pub worker: Option<WorkerId>,
}

/// APIs that one base URL serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModelFamily {
    /// Chat Completions and Responses.
    OpenAi,
    /// Messages.
    Anthropic,
    /// generateContent.
    Gemini,
}

/// How model calls are answered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ModelMode {
    /// No endpoint.
    #[default]
    None,
    /// By script.
    Scripted,
    /// By a real provider, kept as a cassette.
    Record,
    /// From a cassette.
    Replay,
}

/// Bounds of one trial. Bytes, counts and durations.
#[derive(Clone, Debug)]
pub struct Limits {
    /// One turn.
    pub turn: Duration,
    /// The whole trial.
    pub trial: Duration,
    /// Calls over all channels.
    pub calls: u64,
    /// One request or response body kept or matched.
    pub body: u64,
    /// Spans kept.
    pub spans: u64,
    /// Bytes of spans kept.
    pub span_bytes: u64,
    /// One span attribute.
    pub attribute: u64,
    /// The app's output kept (its tail).
    pub output: u64,
    /// One SQL statement.
    pub sql: Duration,
    /// The record.
    pub record: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            turn: Duration::from_secs(60),
            trial: Duration::from_secs(300),
            calls: 1000,
            body: 16 << 20,
            spans: 50_000,
            span_bytes: 64 << 20,
            attribute: 64 << 10,
            output: 64 << 10,
            sql: Duration::from_secs(5),
            record: 256 << 20,
        }
    }
}
