//! The world's tables, tools and upstreams. SQL is not prepared here: the world does that, and points at the places
//! kept in each [`Sql`].

use std::collections::BTreeMap;

use super::reader::Reader;
use super::{ReadFile, app, args, route, sql};
use crate::name::ToolName;
use crate::scenario::file::At;
use crate::scenario::file::scalar::Form;
use crate::scenario::file::world::{
    AnswerFile, EffectFile, ListFile, RefuseFile, ReturnsFile, SqliteFile, ToolFile, UpstreamFile, WorldFile,
};
use crate::scenario::openapi;
use crate::scenario::{
    Answer, Behaviour, Effect, Listing, Pos, RefusalWhen, Returns, Source, Sql, SqliteSpec, SqliteTool, Tool,
    Upstream, UpstreamKind, WorldRefusal, WorldSpec,
};

/// The whole world; every file it names is added to `files`.
pub(super) fn world(
    reader: &mut Reader,
    read: ReadFile<'_>,
    files: &mut Vec<Source>,
    file: Option<At<WorldFile>>,
) -> WorldSpec {
    let Some(At { value: file, .. }) = file else {
        return WorldSpec::default();
    };
    if let Some(now) = &file.now {
        time_of_world(reader, now);
    }
    let mut described = Vec::new();
    let upstreams: BTreeMap<_, _> = file
        .upstreams
        .unwrap_or_default()
        .0
        .into_iter()
        .filter_map(|(name, file)| {
            described.extend(file.value.openapi.clone().map(|path| (name.value.clone(), path)));
            Some((name.value, upstream(reader, file)?))
        })
        .collect();
    let has_tables = file.sqlite.is_some();
    let mut tools: Vec<Tool> = file
        .tools
        .unwrap_or_default()
        .0
        .into_iter()
        .map(|(name, file)| tool(reader, read, files, has_tables, &upstreams, name, file))
        .collect();
    for (upstream, path) in described {
        described_tools(reader, read, files, &upstream, &path, &mut tools);
    }
    route::ambiguous(reader, &tools);
    WorldSpec {
        now: file.now.map(|now| now.value),
        sqlite: file.sqlite.map(|sqlite| tables(reader, read, files, sqlite.value)),
        tools,
        upstreams,
        listing: match file.list {
            Some(ListFile::Permitted) => Listing::Permitted,
            Some(ListFile::All) | None => Listing::All,
        },
    }
}

/// The operations of an OpenAPI file as tools of its service. What the contract says of a route or a name stands.
fn described_tools(
    reader: &mut Reader,
    read: ReadFile<'_>,
    files: &mut Vec<Source>,
    upstream: &str,
    path: &At<String>,
    tools: &mut Vec<Tool>,
) {
    let Some(source) = reader.file(read, path) else { return };
    match openapi::describe(&source.text) {
        Err(why) => {
            reader.error(path.pos, "openapi.unreadable", format!("`{}`: {why}", path.value));
        }
        Ok(described) => {
            for operation in described.operations {
                let written = At { value: operation.route, pos: path.pos };
                let Some(route) = route::route(reader, &written, Some(&operation.args)) else { continue };
                let taken =
                    |tool: &Tool| tool.name.as_str() == operation.name || tool.route.as_ref() == Some(&route);
                if tools.iter().any(taken) {
                    continue;
                }
                tools.push(Tool {
                    pos: path.pos,
                    name: ToolName::new(&operation.name),
                    description: operation.description,
                    route: Some(route),
                    effect: if operation.is_safe { Effect::Read } else { Effect::Write },
                    args: Some(operation.args.into()),
                    behaviour: Behaviour::Upstream { name: upstream.to_owned(), tool: None },
                });
            }
        }
    }
    files.push(source);
}

/// RFC 3339 in UTC, as the world counts: `2026-03-01T00:00:00Z`, maybe with a fraction.
fn time_of_world(reader: &mut Reader, now: &At<String>) {
    let text = now.value.as_str();
    let shape = text.len() >= 20
        && text
            .bytes()
            .zip(*b"0000-00-00T00:00:00")
            .all(|(byte, like)| if like == b'0' { byte.is_ascii_digit() } else { byte == like })
        && text[19..].strip_suffix('Z').is_some_and(|fraction| {
            fraction.is_empty()
                || fraction
                    .strip_prefix('.')
                    .is_some_and(|digits| !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()))
        });
    let part = |from: usize| text.get(from..from + 2).and_then(|two| two.parse::<u8>().ok());
    let in_range = shape
        && part(5).is_some_and(|month| (1..=12).contains(&month))
        && part(8).is_some_and(|day| (1..=31).contains(&day))
        && part(11).is_some_and(|hour| hour < 24)
        && part(14).is_some_and(|minute| minute < 60)
        && part(17).is_some_and(|second| second < 60);
    if !in_range {
        reader
            .error(now.pos, "value.time", format!("`{text}` is no time in UTC"))
            .help("write it as 2026-03-01T00:00:00Z".to_owned());
    }
}

fn tables(reader: &mut Reader, read: ReadFile<'_>, files: &mut Vec<Source>, file: SqliteFile) -> SqliteSpec {
    let At { value, pos } = file.schema;
    let names = match value {
        Form::Short(name) => vec![At { value: name, pos }],
        Form::Long(names) => names,
    };
    if names.is_empty() {
        reader.error(pos, "sqlite.no_schema", "a database needs at least one schema file");
    }
    let schema: Vec<_> = names.iter().filter_map(|name| reader.file(read, name)).collect();
    let mut rows = Vec::new();
    for (table, name) in file.rows.unwrap_or_default().0 {
        let kind = name.value.rsplit_once('.').map(|(_, kind)| kind.to_ascii_lowercase());
        if !matches!(kind.as_deref(), Some("csv" | "json")) {
            let what = format!("`{}` is neither .csv nor .json", name.value);
            reader.error(name.pos, "rows.kind", what);
            continue;
        }
        if let Some(source) = reader.file(read, &name) {
            if kind.as_deref() == Some("json")
                && let Err(error) =
                    serde_json::from_str::<Vec<serde_json::Map<String, serde_json::Value>>>(&source.text)
            {
                let what = format!("`{}` is no JSON list of objects: {error}", name.value);
                reader.error(name.pos, "rows.json", what);
            }
            rows.push((table.value, source));
        }
    }
    files.extend(schema.iter().cloned());
    files.extend(rows.iter().map(|(_, source)| source.clone()));
    SqliteSpec { schema, rows }
}

fn tool(
    reader: &mut Reader,
    read: ReadFile<'_>,
    files: &mut Vec<Source>,
    has_tables: bool,
    upstreams: &BTreeMap<String, Upstream>,
    name: At<String>,
    At { value: file, pos }: At<ToolFile>,
) -> Tool {
    reader.filled("a tool's name", &name);
    let args = match (&file.args, &file.args_schema) {
        (Some(_), Some(second)) => {
            reader.error(second.pos, "args.both", "`args_schema` stands beside `args`; keep one");
            None
        }
        (Some(short), None) => args::from_short(reader, short),
        (None, Some(name)) => args::from_file(reader, read, files, name),
        (None, None) => None,
    };
    let route = file.http.as_ref().and_then(|http| route::route(reader, http, args.as_ref()));
    let effect = file.effect.map_or(Effect::Write, |effect| match effect {
        EffectFile::Read => Effect::Read,
        EffectFile::Write => Effect::Write,
        EffectFile::Net => Effect::Net,
    });
    let writes_nothing = file.run.as_ref().is_none_or(Vec::is_empty);
    if effect == Effect::Read && !writes_nothing {
        let what = format!("`{}` says `effect: read` and has statements to run", name.value);
        reader
            .error(pos, "tool.read_runs", what)
            .help("say `effect: write`, or move the query to `returns`".to_owned());
    }
    let behaviour = match file.upstream {
        Some(At { value: upstream, pos: at }) => {
            if file.refuse.is_some() || file.run.is_some() || file.returns.is_some() {
                reader.error(
                    at,
                    "tool.both",
                    "an upstream answers this tool, so `refuse`, `run` and `returns` do nothing",
                );
            }
            let (upstream, there) = match upstream {
                Form::Short(name) => (At { value: name, pos: at }, None),
                Form::Long(long) => (long.name, Some(long.tool)),
            };
            reader.known("upstream.unknown", "upstream", &upstream, upstreams.keys().map(String::as_str));
            Behaviour::Upstream { name: upstream.value, tool: there }
        }
        None => {
            let answers_rows =
                |returns: &At<ReturnsFile>| returns.value.row.is_some() || returns.value.rows.is_some();
            let uses_tables = file.refuse.is_some()
                || file.run.is_some()
                || file.returns.as_ref().is_some_and(answers_rows);
            if uses_tables && !has_tables {
                reader
                    .error(
                        pos,
                        "tool.no_tables",
                        format!("`{}` has SQL, and the world has no tables", name.value),
                    )
                    .help("add `world.sqlite`, or `upstream: NAME` here".to_owned());
            }
            let known = sql::Known::arguments(args.as_ref());
            let refuse = file
                .refuse
                .unwrap_or_default()
                .into_iter()
                .filter_map(|refusal| refusal_of(reader, &known, refusal))
                .collect();
            let run = file.run.unwrap_or_default();
            let run = run.iter().map(|text| sql::sql(reader, &known, text)).collect();
            Behaviour::Sqlite(SqliteTool { refuse, run, returns: returns(reader, &known, file.returns) })
        }
    };
    Tool {
        pos: name.pos,
        name: ToolName::new(&name.value),
        description: file.description,
        route,
        effect,
        args: args.map(Into::into),
        behaviour,
    }
}

fn refusal_of(
    reader: &mut Reader,
    known: &sql::Known,
    At { value: file, pos }: At<RefuseFile>,
) -> Option<WorldRefusal> {
    reader.filled("a refusal's code", &file.code);
    let status = file.status.map_or(400, |At { value, pos }| {
        if !(400..=599).contains(&value) {
            reader
                .error(pos, "refuse.status", format!("{value} is no status of a refusal"))
                .help("400 to 599".to_owned());
        }
        value
    });
    let (condition, text) = match (&file.when, &file.unless) {
        (Some(text), None) => (RefusalWhen::When, text),
        (None, Some(text)) => (RefusalWhen::Unless, text),
        _ => {
            reader.error(pos, "refuse.condition", "a refusal has one of `when` and `unless`");
            return None;
        }
    };
    Some(WorldRefusal {
        condition,
        sql: sql::sql(reader, known, text),
        code: file.code.value,
        status,
        body: file.body.map(|body| answer(reader, known, body.pos, body.value)),
    })
}

fn returns(reader: &mut Reader, known: &sql::Known, file: Option<At<ReturnsFile>>) -> Returns {
    let Some(At { value: file, pos }) = file else {
        return Returns { status: 200, headers: BTreeMap::new(), answer: Answer::Nothing };
    };
    let status = file.status.map_or(200, |At { value, pos }| {
        if !(200..=399).contains(&value) {
            reader
                .error(pos, "returns.status", format!("{value} is no status of an answer"))
                .help("200 to 399; the world says no with `refuse`".to_owned());
        }
        value
    });
    let body = AnswerFile { row: file.row, rows: file.rows, value: file.value };
    let headers = reader.headers(file.headers);
    let nothing = body.row.is_none() && body.rows.is_none() && body.value.is_none();
    Returns {
        status,
        headers,
        answer: if nothing { Answer::Nothing } else { answer(reader, known, pos, body) },
    }
}

fn answer(reader: &mut Reader, known: &sql::Known, pos: Pos, file: AnswerFile) -> Answer {
    let statement = |reader: &mut Reader, text: &At<String>| -> Sql { sql::sql(reader, known, text) };
    match (&file.row, &file.rows, &file.value) {
        (Some(text), None, None) => Answer::Row(statement(reader, text)),
        (None, Some(text), None) => Answer::Rows(statement(reader, text)),
        (None, None, Some(value)) => {
            value.value.scalars(value.pos, &mut |pos, scalar| {
                if let Some(name) = scalar.as_str().and_then(|text| text.strip_prefix(':')) {
                    known.check(reader, pos, name);
                }
            });
            Answer::Value(value.value.value())
        }
        _ => {
            reader.error(pos, "returns.body", "a body is one of `row`, `rows` and `value`");
            Answer::Nothing
        }
    }
}

fn upstream(reader: &mut Reader, At { value: file, pos }: At<UpstreamFile>) -> Option<Upstream> {
    let kinds = [file.http.is_some(), file.mcp_http.is_some(), file.mcp_stdio.is_some()];
    if kinds.iter().filter(|there| **there).count() != 1 {
        reader.error(pos, "upstream.kind", "an upstream is one of `http`, `mcp_http` and `mcp_stdio`");
        return None;
    }
    let mut base = |url: Option<At<String>>| {
        url.map(|url| {
            reader.url(&url, app::OF_TRIAL);
            url.value
        })
    };
    let (http, mcp_http) = (base(file.http), base(file.mcp_http));
    let kind = match (http, mcp_http, file.mcp_stdio) {
        (Some(url), ..) => UpstreamKind::Http(url),
        (_, Some(url), _) => UpstreamKind::McpHttp(url),
        (.., Some(words)) => UpstreamKind::McpStdio(reader.command("`mcp_stdio`", &words)),
        _ => return None,
    };
    if let (Some(start), UpstreamKind::McpStdio(_)) = (&file.start, &kind) {
        reader.error(start.pos, "upstream.start", "`mcp_stdio` starts its own command; leave `start` out");
    }
    let reset = file.reset.map(|reset| {
        if !reset.post.value.starts_with('/') {
            reader
                .error(reset.post.pos, "upstream.reset", format!("`{}` is no path", reset.post.value))
                .help("write it as /reset".to_owned());
        }
        reset.post.value
    });
    Some(Upstream {
        pos,
        start: file.start.map(|words| {
            for word in &words.value {
                reader.placeholders(words.pos, word, app::OF_TRIAL);
            }
            reader.command("`start`", &words)
        }),
        ready: file.ready.map(|ready| app::ready(reader, ready.value)),
        kind,
        reset,
        env: app::env(reader, file.env, app::OF_TRIAL)
            .into_iter()
            .map(|(name, value)| (name.value, value))
            .collect(),
    })
}
