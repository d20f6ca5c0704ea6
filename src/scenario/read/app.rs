//! The contract as a whole, its app, its model and its limits.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::model::ModelRead;
use super::reader::Reader;
use super::{ReadFile, model, workers, world};
use crate::scenario::file::At;
use crate::scenario::file::contract::{
    AppFile, ContractFile, FlushFile, HttpTalkFile, LimitsFile, PerFile, ReadyFile, StopFile, TalkFile,
    TalkWord,
};
use crate::scenario::file::scalar::{Form, Table};
use crate::scenario::{App, Contract, Flush, LaneSpec, Limits, Per, Ready, ReplyAt, Stop, Talk};

/// What may stand in the app's own texts; filled once per trial.
pub(super) const OF_TRIAL: &[&str] = &["port", "trial"];
const OF_TURN: &[&str] = &["turn", "history", "trial"];
const SIGNALS: &[&str] = &["TERM", "INT", "QUIT", "HUP", "USR1", "USR2", "KILL"];

/// The whole contract.
pub(super) fn contract(reader: &mut Reader, read: ReadFile<'_>, file: ContractFile) -> Contract {
    if file.contract.value != 1 {
        let what = format!("contract format {} is not known", file.contract.value);
        reader
            .error(file.contract.pos, "contract.format", what)
            .help("this mocktrial reads format 1".to_owned());
    }
    let mut files = Vec::new();
    let world = world::world(reader, read, &mut files, file.world);
    let peers = workers::peers(reader, read, &mut files, file.peers.unwrap_or_default());
    let workers = workers::workers(reader, &world, &peers, file.workers);
    let app = app(reader, file.app.value);
    let ids: Vec<_> = workers.iter().map(|read| read.worker.id.clone()).collect();
    let model = model::model(reader, read, &mut files, &ids, file.model);
    let shared = file.shared.map(|shared| shared.address_env);
    variables(reader, &app, &workers, shared.as_ref(), &model);
    Contract {
        folder: absolute(reader.folder()),
        app: app.into_app(reader.folder()),
        shared_address_env: shared.map(|name| name.value),
        workers: workers.into_iter().map(|read| read.worker).collect(),
        world,
        peers,
        model: model.spec,
        limits: limits(reader, file.limits.unwrap_or_default()),
        source: reader.source.clone(),
        files,
    }
}

/// A file named alone is in the folder we are in.
fn absolute(folder: &Path) -> PathBuf {
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned())
}

/// The app, and where its variables are written.
struct AppRead {
    app: App,
    cwd: Option<String>,
    env: Vec<At<String>>,
}

impl AppRead {
    fn into_app(self, folder: &Path) -> App {
        let cwd = absolute(&folder.join(self.cwd.as_deref().unwrap_or("")));
        App { cwd, ..self.app }
    }
}

fn app(reader: &mut Reader, file: AppFile) -> AppRead {
    reader.filled("the app's name", &file.name);
    let setup = file.setup.unwrap_or_default();
    let setup = setup.iter().map(|words| reader.command("a setup step", words)).collect();
    let start = file.start.map_or_else(Vec::new, |words| {
        for word in &words.value {
            reader.placeholders(words.pos, word, OF_TRIAL);
        }
        reader.command("`start`", &words)
    });
    let env = env(reader, file.env, OF_TRIAL);
    let names = |reader: &mut Reader, list: Option<Vec<At<String>>>| -> Vec<At<String>> {
        let list = list.unwrap_or_default();
        list.iter().for_each(|name| reader.env_name(name));
        list
    };
    let env_pass = names(reader, file.env_pass);
    let secrets = names(reader, file.secrets);
    for secret in &secrets {
        let reaches_app = env.iter().any(|(name, _)| name.value == secret.value)
            || env_pass.iter().any(|name| name.value == secret.value);
        if !reaches_app {
            let what = format!(
                "the secret `{}` stands in neither `env` nor `env_pass`, so the app never gets it",
                secret.value
            );
            let known = env.iter().map(|(name, _)| name).chain(&env_pass);
            let help =
                crate::scenario::names::near_miss(&secret.value, known.map(|name| name.value.as_str()));
            reader.error(secret.pos, "secret.unset", what).help(help);
        }
    }
    let listen = file.listen.map_or(IpAddr::V4(Ipv4Addr::LOCALHOST), |text| {
        text.value.parse().unwrap_or_else(|_| {
            let what = format!("`{}` is no IP address", text.value);
            reader.error(text.pos, "value.address", what);
            IpAddr::V4(Ipv4Addr::LOCALHOST)
        })
    });
    if let Some(host) = &file.advertise {
        reader.filled("`advertise`", host);
    }
    let talk = match file.talk.value {
        Form::Short(TalkWord::Stdio) => Talk::Stdio,
        Form::Long(file) => talk(reader, file),
    };
    let ready = file.ready.map(|file| ready(reader, file.value));
    let stop = stop(reader, file.stop);
    if start.is_empty() {
        let started_elsewhere = matches!(stop, Stop::Run(_));
        if matches!(talk, Talk::Stdio) || !started_elsewhere {
            reader.error(file.name.pos, "app.no_start", "the app has no `start` command")
                .help("give its command as a list of words; only an app with `stop: { run: … }` may be started by `setup`".to_owned());
        }
    }
    AppRead {
        app: App {
            name: file.name.value,
            cwd: std::path::PathBuf::new(),
            setup,
            start,
            env: env.iter().map(|(name, value)| (name.value.clone(), value.clone())).collect(),
            env_pass: env_pass.iter().map(|name| name.value.clone()).collect(),
            secrets: secrets.into_iter().map(|name| name.value).collect(),
            ready,
            talk,
            flush: file.telemetry.map_or(Flush::Batch, |t| match t.flush.value {
                FlushFile::Batch => Flush::Batch,
                FlushFile::OnReply => Flush::OnReply,
                FlushFile::None => Flush::None,
            }),
            per: match file.per {
                None | Some(PerFile::Trial) => Per::Trial,
                Some(PerFile::Slot) => Per::Slot,
            },
            stop,
            listen,
            advertise: file.advertise.map(|host| host.value),
        },
        cwd: file.cwd.map(|cwd| cwd.value),
        env: env.into_iter().map(|(name, _)| name).chain(env_pass).collect(),
    }
}

/// A table of variables, checked.
pub(super) fn env(
    reader: &mut Reader,
    table: Option<Table<At<String>>>,
    allowed: &[&str],
) -> Vec<(At<String>, String)> {
    let entries = table.unwrap_or_default().0;
    for (name, value) in &entries {
        reader.env_name(name);
        reader.placeholders(value.pos, &value.value, allowed);
    }
    entries.into_iter().map(|(name, value)| (name, value.value)).collect()
}

/// `ready: { http, within }`, 20 s where not said.
pub(super) fn ready(reader: &mut Reader, file: ReadyFile) -> Ready {
    reader.url(&file.http, OF_TRIAL);
    Ready {
        within: file.within.map_or(Duration::from_secs(20), |time| reader.time(&time)),
        http: file.http.value,
    }
}

fn talk(reader: &mut Reader, file: TalkFile) -> Talk {
    match file {
        TalkFile::Http(http) => http_talk(reader, http),
        TalkFile::OpenaiChat(chat) => {
            reader.url(&chat.url, OF_TRIAL);
            Talk::OpenAiChat {
                url: chat.url.value,
                model: chat.model.unwrap_or_else(|| "app".to_owned()),
                stream: chat.stream.unwrap_or(false),
            }
        }
        TalkFile::A2a(a2a) => {
            reader.url(&a2a.url, OF_TRIAL);
            Talk::A2a { url: a2a.url.value }
        }
        TalkFile::Stdio {} => Talk::Stdio,
    }
}

fn http_talk(reader: &mut Reader, http: HttpTalkFile) -> Talk {
    reader.url(&http.post, OF_TRIAL);
    let mut says_turn = false;
    http.body.value.scalars(http.body.pos, &mut |pos, value| {
        if let Some(text) = value.as_str() {
            says_turn |= text.contains("${turn}") || text.contains("${history}");
            reader.placeholders(pos, text, OF_TURN);
        }
    });
    if !says_turn {
        reader
            .error(http.body.pos, "talk.no_turn", "the body never says what the user said")
            .help("put ${turn} or ${history} where the app reads it".to_owned());
    }
    let reply = match http.reply.map(|reply| (reply.pos, reply.value)) {
        None => ReplyAt::Body,
        Some((_, Form::Short(word))) if word == "none" => ReplyAt::Body,
        Some((pos, Form::Short(pointer))) => {
            reader.pointer(pos, &pointer);
            ReplyAt::Pointer(pointer)
        }
        Some((_, Form::Long(sse))) => {
            reader.pointer(sse.sse.pos, &sse.sse.value);
            ReplyAt::Sse(sse.sse.value)
        }
    };
    Talk::Http {
        post: http.post.value,
        body: http.body.value.value(),
        headers: reader.headers(http.headers),
        reply,
    }
}

fn stop(reader: &mut Reader, file: Option<At<StopFile>>) -> Stop {
    let Some(At { value: file, pos }) = file else {
        return Stop::Signal { signal: "TERM".to_owned(), grace: Duration::from_secs(5) };
    };
    if let Some(run) = file.run {
        if file.signal.is_some() || file.grace.is_some() {
            reader.error(pos, "stop.both", "`run` stands beside `signal` or `grace`; keep one way to stop");
        }
        for word in &run.value {
            reader.placeholders(run.pos, word, OF_TRIAL);
        }
        return Stop::Run(reader.command("`run`", &run));
    }
    if let Some(signal) = &file.signal {
        reader.known("stop.signal", "signal", signal, SIGNALS.iter().copied());
    }
    Stop::Signal {
        signal: file.signal.map_or_else(|| "TERM".to_owned(), |signal| signal.value),
        grace: file.grace.map_or(Duration::from_secs(5), |grace| reader.time(&grace)),
    }
}

/// Each variable that we set is set once, and by nobody else.
fn variables(
    reader: &mut Reader,
    app: &AppRead,
    workers: &[workers::WorkerRead],
    shared: Option<&At<String>>,
    model: &ModelRead,
) {
    let mut seen: BTreeMap<&str, &str> = BTreeMap::new();
    let ours = shared
        .map(|name| ("the shared address", name))
        .into_iter()
        .chain(
            workers
                .iter()
                .flat_map(|worker| worker.variables.iter().map(|name| (worker.worker.id.as_str(), name))),
        )
        .chain(model.env.iter().map(|name| ("the model's address", name)));
    for (owner, name) in ours {
        reader.env_name(name);
        if let Some(first) = seen.insert(&name.value, owner) {
            let what = format!("the variable `{}` is used twice: {first} has it already", name.value);
            reader
                .error(name.pos, "env.repeated", what)
                .help("give each address a variable of its own".to_owned());
        }
    }
    for name in &app.env {
        if let Some(owner) = seen.get(name.value.as_str()) {
            let what = format!("mocktrial sets `{}` itself ({owner})", name.value);
            reader.error(name.pos, "env.taken", what).help("leave it out here".to_owned());
        }
    }
    let needs_shared = workers.iter().find(|worker| worker.on_shared_channel);
    if let (Some(worker), None) = (needs_shared, shared) {
        let what = format!(
            "`{}` is on the shared channel, and nothing says where the app reads its address",
            worker.worker.id
        );
        reader.error(worker.worker.pos, "shared.missing", what).help(
            "add `shared: { address_env: NAME }`, or `binding: separate` or `lane: none` here".to_owned(),
        );
    }
}

fn limits(reader: &mut Reader, file: LimitsFile) -> Limits {
    let default = Limits::default();
    let mut count = |written: Option<At<u64>>, default: u64| match written {
        Some(At { value: 0, pos }) => {
            reader.error(pos, "value.zero", "a limit of 0 leaves nothing");
            default
        }
        written => written.map_or(default, |at| at.value),
    };
    let (calls, spans) = (count(file.calls, default.calls), count(file.spans, default.spans));
    let mut time = |written: Option<At<_>>, default| written.map_or(default, |at| reader.time(&at));
    let (turn, trial, sql) =
        (time(file.turn, default.turn), time(file.trial, default.trial), time(file.sql, default.sql));
    let mut size = |written: Option<At<_>>, default| written.map_or(default, |at| reader.size(&at));
    Limits {
        turn,
        trial,
        calls,
        spans,
        sql,
        body: size(file.body, default.body),
        span_bytes: size(file.span_bytes, default.span_bytes),
        attribute: size(file.attribute, default.attribute),
        output: size(file.output, default.output),
        record: size(file.record, default.record),
    }
}

/// Every variable that the harness sets for the app, by the contract.
pub(super) fn variables_we_set(contract: &Contract) -> std::collections::BTreeSet<&str> {
    let lanes = contract.workers.iter().filter_map(|worker| match &worker.lane {
        LaneSpec::Separate { address_env } => Some(address_env.as_str()),
        LaneSpec::TokenHeader { token_env } => Some(token_env.as_str()),
        LaneSpec::Spans | LaneSpec::None => None,
    });
    lanes
        .chain(contract.shared_address_env.as_deref())
        .chain(contract.model.env.keys().map(String::as_str))
        .collect()
}
