//! `model:` of the contract, and the script it names.

use std::collections::BTreeSet;
use std::time::Duration;

use regex::Regex;
use serde_json::{Map, Value};

use super::reader::Reader;
use super::{ReadFile, lint};
use crate::name::WorkerId;
use crate::scenario::file::contract::{ModelApiFile, ModelFile, ModelModeFile};
use crate::scenario::file::model::{
    ApiFile, FailFile, FailWordFile, FinishFile, RetryFile, RuleFile, ScriptFile, TextFile, ToolCallFile,
    WhenFile,
};
use crate::scenario::file::scalar::{Form, Time};
use crate::scenario::file::{At, Free, parse};
use crate::scenario::{
    Fail, Finish, ModelAddress, ModelApi, ModelFamily, ModelMode, ModelSpec, Pos, Retry, Rule, Script,
    Source, Template, TextTest, ToolCall, Travel, When,
};

/// The model, and where its variables are written.
#[derive(Default)]
pub(super) struct ModelRead {
    pub spec: ModelSpec,
    pub env: Vec<At<String>>,
}

pub(super) fn model(
    reader: &mut Reader,
    read: ReadFile<'_>,
    files: &mut Vec<Source>,
    workers: &[WorkerId],
    file: Option<At<ModelFile>>,
) -> ModelRead {
    let Some(At { value: file, pos }) = file else {
        return ModelRead::default();
    };
    let mode = match file.mode.value {
        ModelModeFile::None => ModelMode::None,
        ModelModeFile::Scripted => ModelMode::Scripted,
        ModelModeFile::Record => ModelMode::Record,
        ModelModeFile::Replay => ModelMode::Replay,
    };
    let replies = match &file.replies {
        // A cassette that is still to be recorded need not be there.
        Some(name) if mode == ModelMode::Record => {
            let path = reader.folder().join(&name.value);
            let text = read(&path).unwrap_or_default().into();
            Some(Source { path, text })
        }
        Some(name) => reader.file(read, name),
        None if mode == ModelMode::None => None,
        None => {
            reader
                .error(pos, "model.no_replies", "this mode needs a file of `replies`")
                .help("add `replies: FILE`".to_owned());
            None
        }
    };
    files.extend(replies.clone());
    let mut spec = ModelSpec { mode, ..ModelSpec::default() };
    let mut names = Vec::new();
    for (name, address) in file.env.unwrap_or_default().0 {
        reader.env_name(&name);
        let (api, worker) = match address.value {
            Form::Short(api) => (api, None),
            Form::Long(long) => (long.api.value, known_worker(reader, workers, &long.worker)),
        };
        spec.env.insert(name.value.clone(), ModelAddress { family: family(api), worker });
        names.push(name);
    }
    if mode == ModelMode::Scripted
        && let Some(source) = &replies
    {
        let addressed = spec.env.values().filter_map(|address| address.worker.clone()).collect();
        spec.script = script(reader, source.clone(), workers, &addressed);
    }
    spec.replies = replies;
    ModelRead { spec, env: names }
}

fn family(api: ModelApiFile) -> ModelFamily {
    match api {
        ModelApiFile::Openai => ModelFamily::OpenAi,
        ModelApiFile::Anthropic => ModelFamily::Anthropic,
        ModelApiFile::Gemini => ModelFamily::Gemini,
    }
}

fn known_worker(reader: &mut Reader, workers: &[WorkerId], written: &At<String>) -> Option<WorkerId> {
    reader.known("worker.unknown", "worker", written, workers.iter().map(WorkerId::as_str));
    workers.iter().find(|id| id.as_str() == written.value).cloned()
}

/// What a rule is read against.
struct Scope<'a> {
    workers: &'a [WorkerId],
    /// Workers with a model address of their own.
    addressed: &'a BTreeSet<WorkerId>,
}

fn script(
    contract: &mut Reader,
    source: Source,
    workers: &[WorkerId],
    addressed: &BTreeSet<WorkerId>,
) -> Option<Script> {
    let mut reader = Reader::new(source);
    reader.lint(lint::SCRIPT);
    let script = match parse::<ScriptFile>(&reader.source.text) {
        Ok(file) => Some(rules(&mut reader, &Scope { workers, addressed }, file)),
        Err(misread) => {
            reader.misread(misread);
            None
        }
    };
    contract.absorb(reader);
    script
}

fn rules(reader: &mut Reader, scope: &Scope<'_>, file: ScriptFile) -> Script {
    if file.model.value != 1 {
        let what = format!("model format {} is not known", file.model.value);
        reader.error(file.model.pos, "model.format", what).help("this mocktrial reads format 1".to_owned());
    }
    if file.rules.value.is_empty() {
        reader.error(file.rules.pos, "model.no_rules", "there is no rule, so no request would be answered");
    }
    let mut ids = BTreeSet::new();
    let mut covered: Option<Pos> = None;
    let mut rules = Vec::new();
    for At { value: file, pos } in file.rules.value {
        if let Some(covered) = covered {
            let what =
                format!("this rule is never reached: the rule of line {} fits every request", covered.line);
            reader.error(pos, "model.unreachable", what).help("put the rule without `when` last".to_owned());
        }
        if let Some(id) = &file.id {
            reader.filled("an id", id);
            if !ids.insert(id.value.clone()) {
                reader.error(id.pos, "model.repeated", format!("there is a rule `{}` already", id.value));
            }
        }
        // By what is written: a condition that could not be read is still one.
        let asks_nothing = file.when.as_ref().is_none_or(|when| asks_nothing(&when.value));
        covered = covered.or(asks_nothing.then_some(pos));
        rules.push(rule(reader, scope, pos, file));
    }
    Script { models: file.models.unwrap_or_default().into_iter().map(|id| id.value).collect(), rules }
}

fn asks_nothing(when: &WhenFile) -> bool {
    let WhenFile { api, worker, model, system, user, last, tools, results } = when;
    let texts = [system, user, last].iter().all(|test| test.is_none());
    let tools = tools.as_ref().is_none_or(|tools| tools.value.is_empty());
    api.is_none() && worker.is_none() && model.is_none() && texts && tools && results.is_none()
}

fn rule(reader: &mut Reader, scope: &Scope<'_>, pos: Pos, file: RuleFile) -> Rule {
    let answers = file.say.is_some() || file.calls.is_some();
    let fail = file.fail.map(|fail| {
        let fail = failure(reader, fail);
        let second = matches!(fail, Fail::Status { retry: Retry::Answered, .. });
        if answers != second {
            let (what, help) = match second {
                true => ("a retry is to be answered, and the rule has no answer", "add `say` or `calls`"),
                false => (
                    "the rule both fails and answers",
                    "keep one, or say `retry: answered` for an answer on the second try",
                ),
            };
            reader.error(pos, "model.fails_and_answers", what).help(help.to_owned());
        }
        fail
    });
    if fail.is_none() && !answers {
        reader
            .error(pos, "model.no_answer", "the rule has no answer")
            .help("add `say`, `calls` or `fail`".to_owned());
    }
    if let Some(At { value: calls, pos }) = &file.calls
        && calls.is_empty()
    {
        reader
            .error(*pos, "model.no_calls", "there is no call in this list")
            .help("leave `calls` out".to_owned());
    }
    let mut wait = |time: Option<At<Time>>| time.map_or(Default::default(), |time| reader.time(&time));
    let travel = Travel {
        delay: wait(file.delay),
        pace: wait(file.pace),
        cut_after: file.cut_after.map(|at| at.value),
    };
    Rule {
        id: file.id.map_or_else(|| format!("line {}", pos.line), |id| id.value),
        pos,
        when: file.when.map_or_else(When::default, |when| self::when(reader, scope, when.value)),
        say: file.say.and_then(|text| template(reader, text.pos, &text.value)),
        calls: file
            .calls
            .into_iter()
            .flat_map(|at| at.value)
            .map(|call| tool_call(reader, call.value))
            .collect(),
        finish: match file.finish {
            None | Some(FinishFile::Stop) => Finish::Stop,
            Some(FinishFile::Length) => Finish::Length,
            Some(FinishFile::Filtered) => Finish::Filtered,
        },
        usage: file.usage.map(|usage| (usage.input, usage.output)),
        served: file.served.map(|served| served.value),
        fail,
        travel,
    }
}

fn when(reader: &mut Reader, scope: &Scope<'_>, file: WhenFile) -> When {
    let worker = file.worker.and_then(|written| {
        let worker = known_worker(reader, scope.workers, &written)?;
        if !scope.addressed.contains(&worker) {
            let what =
                format!("nothing says which requests are of `{worker}`: it has no model address of its own");
            reader.error(written.pos, "model.no_address", what).help(format!(
                "add `NAME: {{ api: openai, worker: {worker} }}` to `model.env` of the contract"
            ));
        }
        Some(worker)
    });
    let mut test = |text: Option<At<TextFile>>| text.and_then(|text| text_test(reader, text));
    When {
        api: file.api.map(|api| match api.value {
            ApiFile::OpenaiChat => ModelApi::OpenAiChat,
            ApiFile::OpenaiResponses => ModelApi::OpenAiResponses,
            ApiFile::Anthropic => ModelApi::Anthropic,
            ApiFile::Gemini => ModelApi::Gemini,
        }),
        worker,
        model: file.model.map(|model| model.value),
        system: test(file.system),
        user: test(file.user),
        last: test(file.last),
        tools: file.tools.map_or_else(Vec::new, |at| texts(at.value)),
        results: file.results.map(|at| texts(at.value)),
    }
}

fn texts(list: Vec<At<String>>) -> Vec<String> {
    list.into_iter().map(|at| at.value).collect()
}

fn text_test(reader: &mut Reader, written: At<TextFile>) -> Option<TextTest> {
    match written.value {
        Form::Short(text) => {
            reader.filled("the text", &At { value: text.clone(), pos: written.pos });
            Some(TextTest::Contains(text.to_lowercase()))
        }
        Form::Long(test) => match (test.is, test.matches) {
            (Some(text), None) => Some(TextTest::Is(text.value)),
            (None, Some(pattern)) => match Regex::new(&pattern.value) {
                Ok(regex) => Some(TextTest::Matches(regex)),
                Err(error) => {
                    let text = error.to_string();
                    let why = text.lines().last().unwrap_or_default().trim_start_matches("error: ");
                    let what = format!("`{}` is no regular expression: {why}", pattern.value);
                    reader.error(pattern.pos, "value.regex", what);
                    None
                }
            },
            _ => {
                reader.error(written.pos, "model.test", "exactly one of `is` and `matches` may stand here");
                None
            }
        },
    }
}

fn tool_call(reader: &mut Reader, file: ToolCallFile) -> ToolCall {
    reader.filled("a tool", &file.tool);
    let mut args = Map::new();
    for (name, value) in file.args.unwrap_or_default().0 {
        value.value.scalars(value.pos, &mut |pos, scalar| {
            if let Some(text) = scalar.as_str() {
                template(reader, pos, text);
            }
        });
        args.insert(name.value, Free::value(&value.value));
    }
    ToolCall { tool: file.tool.value, args: Value::Object(args) }
}

fn template(reader: &mut Reader, pos: Pos, text: &str) -> Option<Template> {
    Template::new(text)
        .map_err(|error| {
            let start = reader.text_pos(pos);
            // Only a block scalar keeps its lines.
            let inside = if start == pos { 0 } else { error.line.saturating_sub(1) };
            let pos = Pos { line: start.line + inside, ..start };
            reader.error(pos, "model.template", format!("this is no template: {}", error.what));
        })
        .ok()
}

fn failure(reader: &mut Reader, At { value, .. }: At<Form<FailWordFile, FailFile>>) -> Fail {
    let overloaded = || Fail::Status { status: None, message: None, retry_after: None, retry: Retry::Never };
    match value {
        Form::Short(FailWordFile::Malformed) => Fail::Malformed,
        Form::Short(FailWordFile::Overloaded) => overloaded(),
        Form::Long(file) => {
            if !(400..600).contains(&file.status.value) {
                reader.error(file.status.pos, "model.status", "an error has a status of 400 to 599");
                return overloaded();
            }
            Fail::Status {
                status: Some(file.status.value),
                message: file.message,
                retry_after: file.retry_after.map(|time| whole_seconds(reader.time(&time))),
                retry: match file.retry {
                    None | Some(RetryFile::Never) => Retry::Never,
                    Some(RetryFile::Same) => Retry::Same,
                    Some(RetryFile::Answered) => Retry::Answered,
                },
            }
        }
    }
}

/// Rounded up, so that nobody comes back too early.
fn whole_seconds(time: Duration) -> u64 {
    time.as_secs() + u64::from(time.subsec_nanos() > 0)
}
