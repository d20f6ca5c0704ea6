//! `world:` of the contract, as written: tables, tools, upstreams.

use schemars::JsonSchema;
use serde::Deserialize;

use super::contract::ReadyFile;
use super::scalar::{Form, Table, Texts};
use super::{At, Free};

/// What the tools act on.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WorldFile {
    /// The world's time at the start of each trial: RFC 3339, UTC.
    pub now: Option<At<String>>,
    /// The embedded database.
    pub sqlite: Option<At<SqliteFile>>,
    /// Tools by name.
    pub tools: Option<Table<At<ToolFile>>>,
    /// Services behind tools, by name.
    pub upstreams: Option<Table<At<UpstreamFile>>>,
    /// Which tools a channel lists to its worker; `all` by default.
    pub list: Option<ListFile>,
}

/// Which tools a channel lists to its worker.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ListFile {
    /// All of them.
    All,
    /// Those that the worker may use.
    Permitted,
}

/// The embedded database.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SqliteFile {
    /// File or files of DDL and base rows, in order.
    pub schema: At<Texts>,
    /// Base rows by table: a CSV file with a header line, or a JSON file with a list of objects.
    pub rows: Option<Table<At<String>>>,
}

/// One tool.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ToolFile {
    /// What it is for; shown to the app over MCP and OpenAPI.
    pub description: Option<String>,
    /// Its route: method and path, with `{name}` for a path variable.
    pub http: Option<At<String>>,
    /// What it does to the world; `write` by default.
    pub effect: Option<EffectFile>,
    /// Its arguments: name (with `?` where optional) to type.
    pub args: Option<At<ArgsFile>>,
    /// Its arguments as a file of JSON Schema, instead of `args`.
    pub args_schema: Option<At<String>>,
    /// When the world says no; in order.
    pub refuse: Option<Vec<At<RefuseFile>>>,
    /// Statements that do it, in one transaction.
    pub run: Option<Vec<At<String>>>,
    /// What it answers.
    pub returns: Option<At<ReturnsFile>>,
    /// The upstream that answers it instead of the embedded database.
    pub upstream: Option<At<Form<String, UpstreamToolFile>>>,
}

/// A tool of an upstream that is named otherwise there.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UpstreamToolFile {
    /// Which upstream.
    pub name: At<String>,
    /// The tool's name there.
    pub tool: String,
}

/// What a tool does to the world.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EffectFile {
    /// Changes nothing.
    Read,
    /// May change something.
    Write,
    /// Reaches out.
    Net,
}

/// Arguments in short form. A name that ends in `?` is optional. A type is `string`, `integer`, `number`, `boolean`,
/// `object` or `array`; a list of one type is a list of that (`[string]`, `[{ sku: string }]`); a list of values is an
/// enum (`[small, large]`); a table is a nested object.
#[derive(Clone, Debug, Deserialize)]
#[serde(transparent)]
pub struct ArgsFile(pub Table<At<Free>>);

impl JsonSchema for ArgsFile {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Args".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "description": "Arguments in short form: name (ending in `?` where optional) to type. A list of one type is a list of that, a list of values is an enum, a table is a nested object.",
            "type": "object",
            "additionalProperties": { "anyOf": [
                { "enum": ["string", "integer", "number", "boolean", "object", "array"] },
                { "type": "array", "minItems": 1, "items": { "anyOf": [
                    { "type": ["string", "number", "boolean"] },
                    { "$ref": "#/$defs/Args" },
                ] } },
                { "$ref": "#/$defs/Args" },
            ] },
        })
    }
}

/// The world saying no. One of `when` and `unless`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RefuseFile {
    /// Refuses where this statement gives a row.
    pub when: Option<At<String>>,
    /// Refuses where this statement gives no row.
    pub unless: Option<At<String>>,
    /// Its code.
    pub code: At<String>,
    /// HTTP status, 400 to 599; 400 by default.
    #[schemars(range(min = 400, max = 599))]
    pub status: Option<At<u16>>,
    /// The body; absent gives `{"error":{"code":…}}`.
    pub body: Option<At<AnswerFile>>,
}

/// What a body is made of. One of the three.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AnswerFile {
    /// The first row of this statement as an object; 404 where there is none.
    pub row: Option<At<String>>,
    /// All rows of this statement as a list of objects.
    pub rows: Option<At<String>>,
    /// A fixed value; strings `":name"` stand for arguments.
    pub value: Option<At<Free>>,
}

/// What a tool answers. At most one of `row`, `rows` and `value`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReturnsFile {
    /// HTTP status, 200 to 399; 200 by default.
    #[schemars(range(min = 200, max = 399))]
    pub status: Option<At<u16>>,
    /// Extra response headers.
    pub headers: Option<Table<At<String>>>,
    /// The first row of this statement as an object; 404 where there is none.
    pub row: Option<At<String>>,
    /// All rows of this statement as a list of objects.
    pub rows: Option<At<String>>,
    /// A fixed value; strings `":name"` stand for arguments.
    pub value: Option<At<Free>>,
}

/// A service behind tools. One of `http`, `mcp_http` and `mcp_stdio`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UpstreamFile {
    /// Command that starts it; `${port}` may stand in it.
    pub start: Option<At<Vec<String>>>,
    /// How it says it is ready.
    pub ready: Option<At<ReadyFile>>,
    /// Base URL of an HTTP service.
    pub http: Option<At<String>>,
    /// URL of an MCP server.
    pub mcp_http: Option<At<String>>,
    /// A file of OpenAPI 3 whose operations are tools of this service, where no tool of the contract has their route.
    pub openapi: Option<At<String>>,
    /// Command of an MCP server on standard streams.
    pub mcp_stdio: Option<At<Vec<String>>>,
    /// How it is put back between trials.
    pub reset: Option<ResetFile>,
    /// Set for its process.
    pub env: Option<Table<At<String>>>,
}

/// How an upstream is put back between trials.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ResetFile {
    /// Path that is POSTed.
    pub post: At<String>,
}
