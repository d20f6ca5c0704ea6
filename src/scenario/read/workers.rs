//! Workers and peers: ids, lanes, lists that can only take away.

use std::collections::{BTreeMap, BTreeSet};

use super::ReadFile;
use super::reader::Reader;
use crate::name::{WorkerId, WorkerIdError};
use crate::roster::one_line;
use crate::scenario::file::At;
use crate::scenario::file::contract::{
    BindingFile, ContainmentFile, ContainmentModeFile, LaneFile, PeerFile, PeerMode, WorkerFile,
};
use crate::scenario::file::scalar::{Form, Table};
use crate::scenario::names::{glob, is_pattern};
use crate::scenario::{
    AllowList, Containment, ContainmentMode, LaneSpec, Peer, PeerKind, Pos, Source, Worker, WorldSpec,
};

/// A worker, and what only the reading of the contract needs of it.
pub(super) struct WorkerRead {
    pub worker: Worker,
    pub variables: Vec<At<String>>,
    pub on_shared_channel: bool,
}

/// Longer roles are cut by whoever lists them; nobody means a page here.
const MAX_ROLE: usize = 500;

pub(super) fn workers(
    reader: &mut Reader,
    world: &WorldSpec,
    peers: &BTreeMap<String, Peer>,
    file: At<Vec<At<WorkerFile>>>,
) -> Vec<WorkerRead> {
    if file.value.is_empty() {
        reader.error(file.pos, "worker.none", "an app has at least one worker");
    }
    let ids: BTreeSet<String> = file
        .value
        .iter()
        .filter_map(|worker| worker.value.id.as_ref())
        .map(|id| id.value.clone())
        .chain(peers.keys().cloned())
        .collect();
    let mut seen = BTreeSet::new();
    let mut agents = BTreeMap::new();
    let mut read = Vec::new();
    for At { value: file, pos } in file.value {
        let Some(id) = id(reader, pos, file.id.as_ref()) else {
            continue;
        };
        if !seen.insert(id.clone()) || peers.contains_key(id.as_str()) {
            let pos = file.id.as_ref().map_or(pos, |id| id.pos);
            reader
                .error(pos, "worker.repeated", format!("there is a `{id}` already"))
                .help("give each worker and peer an id of its own".to_owned());
            continue;
        }
        for (pos, name) in names_in_spans(&file, &id) {
            if name.trim().is_empty() {
                reader.error(pos, "agent.blank", "an agent's name may not be blank");
            } else if let Some(first) = agents.insert(name.clone(), id.clone())
                && first != id
            {
                let what =
                    format!("the agent `{name}` is `{first}` already: its spans could not be told apart");
                reader.error(pos, "agent.repeated", what);
            }
        }
        read.push(worker(reader, world, &ids, id, At { value: file, pos }));
    }
    read
}

fn id(reader: &mut Reader, pos: Pos, written: Option<&At<String>>) -> Option<WorkerId> {
    let (pos, text) = written.map_or((pos, ""), |id| (id.pos, &*id.value));
    match WorkerId::new(text) {
        Ok(id) => Some(id),
        Err(error) => {
            let code = match error {
                WorkerIdError::Blank => "worker.blank",
                WorkerIdError::Reserved => "worker.self",
                WorkerIdError::Shape => "worker.shape",
            };
            let what = match error {
                WorkerIdError::Shape => format!("`{text}` is no worker id"),
                _ => error.to_string(),
            };
            let help = matches!(error, WorkerIdError::Shape).then(|| error.to_string());
            reader.error(pos, code, what).help(help);
            None
        }
    }
}

fn names_in_spans(file: &WorkerFile, id: &WorkerId) -> Vec<(Pos, String)> {
    match &file.agent {
        None => vec![(file.id.as_ref().map_or(Pos::default(), |id| id.pos), id.as_str().to_owned())],
        Some(At { value: Form::Short(name), pos }) => vec![(*pos, name.clone())],
        Some(At { value: Form::Long(names), .. }) => {
            names.iter().map(|name| (name.pos, name.value.clone())).collect()
        }
    }
}

fn worker(
    reader: &mut Reader,
    world: &WorldSpec,
    ids: &BTreeSet<String>,
    id: WorkerId,
    At { value: file, pos }: At<WorkerFile>,
) -> WorkerRead {
    let agents = names_in_spans(&file, &id).into_iter().map(|(_, name)| name).collect();
    if let Some(role) = &file.role
        && role.value.chars().count() > MAX_ROLE
    {
        let what = format!("a role is one line of at most {MAX_ROLE} characters");
        reader.error(role.pos, "worker.role", what);
    }
    let names = || world.tools.iter().map(|tool| tool.name.as_str());
    let open = world.has_mcp_servers();
    let allowed = match file.allowed_tools.as_deref() {
        None => AllowList::Everything,
        Some(list) => AllowList::Only(tool_list(reader, names, open, list)),
    };
    let denied = tool_list(reader, names, open, file.deny_tools.as_deref().unwrap_or(&[]));
    let may_grant = file.may_grant.as_deref().map(|list| {
        let _ = tool_list(reader, names, open, list);
        list.iter().map(|name| name.value.clone()).collect()
    });
    let delegates_to = file.delegates_to.as_deref().map(|list| {
        for name in list {
            reader.known("worker.unknown", "worker or peer", name, ids.iter().map(String::as_str));
        }
        list.iter().map(|name| name.value.clone()).collect()
    });
    if let Some(At { value: 0, pos }) = file.max_calls {
        reader
            .error(pos, "value.zero", "`max_calls: 0` lets nothing through")
            .help("write `allowed_tools: []`".to_owned());
    }
    let lane = lane(reader, pos, &file);
    let on_shared_channel = matches!(lane, LaneSpec::Spans | LaneSpec::TokenHeader { .. });
    let variables = match lane {
        LaneSpec::Separate { .. } => file.address_env.iter().cloned().collect(),
        LaneSpec::TokenHeader { .. } => file.token_env.iter().cloned().collect(),
        LaneSpec::Spans | LaneSpec::None => Vec::new(),
    };
    let worker = Worker {
        pos,
        id,
        agents,
        role: file.role.map(|role| one_line(&role.value)),
        allowed,
        denied,
        deny_write: file.deny_write.unwrap_or(false),
        deny_net: file.deny_net.unwrap_or(false),
        max_calls: file.max_calls.map(|count| count.value),
        budget: file.budget_seconds.and_then(|seconds| reader.seconds(&seconds)),
        lane,
        delegates_to,
        may_grant,
        containment: containment(reader, file.containment),
    };
    WorkerRead { worker, variables, on_shared_channel }
}

/// Names and globs over tools, each of which fits at least one; where tools are open, some may be known to a service
/// alone.
pub(super) fn tool_list<'t, I: Iterator<Item = &'t str>>(
    reader: &mut Reader,
    tools: impl Fn() -> I,
    open: bool,
    list: &[At<String>],
) -> BTreeSet<String> {
    for written in list {
        if !is_pattern(&written.value) {
            if !open {
                reader.known("tool.unknown", "tool", written, tools());
            }
            continue;
        }
        match glob(&written.value) {
            Err(why) => {
                let what = format!("`{}` is no pattern: {why}", written.value);
                reader.error(written.pos, "pattern.invalid", what);
            }
            Ok(glob) if !open && !tools().any(|tool| glob.is_match(tool)) => {
                let what = format!("the pattern `{}` fits no tool", written.value);
                reader.error(written.pos, "pattern.empty", what);
            }
            Ok(_) => {}
        }
    }
    list.iter().map(|name| name.value.clone()).collect()
}

fn lane(reader: &mut Reader, pos: Pos, file: &WorkerFile) -> LaneSpec {
    let separate = file.binding.as_ref().is_some_and(|binding| binding.value == BindingFile::Separate);
    let lane = file.lane.as_ref();
    if separate && let Some(lane) = lane {
        reader
            .error(lane.pos, "lane.separate", "a worker with its own channel has no other lane")
            .help("keep `binding: separate` or `lane`".to_owned());
    }
    if !separate && let Some(name) = &file.address_env {
        reader
            .error(name.pos, "binding.shared_address", "a shared worker has no address of its own")
            .help("add `binding: separate`, or leave `address_env` out".to_owned());
    }
    let by_token = !separate && lane.is_some_and(|lane| lane.value == LaneFile::TokenHeader);
    if !by_token && let Some(name) = &file.token_env {
        reader
            .error(name.pos, "lane.token_env", "`token_env` goes with `lane: token_header`")
            .help("add that, or leave `token_env` out".to_owned());
    }
    if separate {
        let Some(name) = &file.address_env else {
            reader
                .error(pos, "binding.no_address", "`binding: separate` needs an `address_env`")
                .help("name the variable where its tool client reads the base address".to_owned());
            return LaneSpec::None;
        };
        return LaneSpec::Separate { address_env: name.value.clone() };
    }
    match lane.map(|lane| lane.value) {
        Some(LaneFile::TokenHeader) => match &file.token_env {
            Some(name) => LaneSpec::TokenHeader { token_env: name.value.clone() },
            None => {
                reader
                    .error(pos, "lane.no_token_env", "`lane: token_header` needs a `token_env`")
                    .help("name the variable where the app finds the token".to_owned());
                LaneSpec::None
            }
        },
        Some(LaneFile::None) => LaneSpec::None,
        Some(LaneFile::Spans) | None => LaneSpec::Spans,
    }
}

fn containment(reader: &mut Reader, file: Option<At<ContainmentFile>>) -> Containment {
    let Some(At { value: file, .. }) = file else {
        return Containment::default();
    };
    let mut count = |key: &str, count: Option<At<u64>>| {
        let At { value, pos } = count?;
        if value == 0 {
            reader
                .error(pos, "value.zero", format!("`{key}: 0` lets no hand-off through"))
                .help("write `delegates_to: []`".to_owned());
        }
        Some(value)
    };
    Containment {
        mode: match file.mode {
            Some(ContainmentModeFile::Off) => ContainmentMode::Off,
            Some(ContainmentModeFile::Delegable) | None => ContainmentMode::Delegable,
            Some(ContainmentModeFile::Strict) => ContainmentMode::Strict,
        },
        max_depth: count("max_depth", file.max_depth),
        max_delegations: count("max_delegations", file.max_delegations),
        max_concurrent: count("max_concurrent", file.max_concurrent),
        forbid_cycles: file.forbid_cycles.unwrap_or(false),
    }
}

/// Remote agents by id.
pub(super) fn peers(
    reader: &mut Reader,
    read: ReadFile<'_>,
    files: &mut Vec<Source>,
    table: Table<At<PeerFile>>,
) -> BTreeMap<String, Peer> {
    let mut peers = BTreeMap::new();
    for (name, At { value: file, pos }) in table.0 {
        let Some(id) = id(reader, name.pos, Some(&name)) else {
            continue;
        };
        let scripted = file.a2a.value == PeerMode::Scripted;
        let (misplaced, other) = if scripted {
            (file.url.as_ref(), "proxied")
        } else {
            (file.card.as_ref().or(file.replies.as_ref()), "scripted")
        };
        if let Some(key) = misplaced {
            reader.error(key.pos, "peer.mode", format!("this key goes with `a2a: {other}`"));
        }
        let kind = if scripted {
            let mut source = |name: &Option<At<String>>| {
                let source = name.as_ref().and_then(|name| reader.file(read, name));
                files.extend(source.clone());
                source
            };
            PeerKind::Scripted { card: source(&file.card), replies: source(&file.replies) }
        } else if let Some(url) = file.url {
            reader.url(&url, super::app::OF_TRIAL);
            PeerKind::Proxied { url: url.value }
        } else {
            reader.error(pos, "peer.no_url", "`a2a: proxied` needs a `url`");
            continue;
        };
        let peer = Peer { pos, kind, role: file.role.map(|role| one_line(&role.value)) };
        peers.insert(id.as_str().to_owned(), peer);
    }
    peers
}
