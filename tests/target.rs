//! Claims of `target`, shown on real processes (`tests/apps`).

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader};
use std::net::{IpAddr, Ipv4Addr, TcpListener};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use mocktrial::clock::{Clock, Moment};
use mocktrial::name::TrialId;
use mocktrial::scenario::{
    App, Contract, Flush, Limits, ModelSpec, Ready, ReplyAt, Source, Stop, Talk, WorldSpec,
};
use mocktrial::target::{
    Exit, Filter, Filters, Launch, NotStarted, Running, Said, StartError, Stopped, TurnTrouble, setup,
};
use serde_json::json;

const LONG: Duration = Duration::from_secs(30);

/// One app, one trial.
struct Trial {
    app: App,
    limits: Limits,
    id: TrialId,
    scenario_env: BTreeMap<String, String>,
    harness_env: Vec<(String, String)>,
    filter: Filters,
    clock: Clock,
}

impl Trial {
    /// `tests/apps/app.py` with these ways to misbehave, talked to at `/chat`.
    fn new(name: &str, ways: &[&str]) -> Self {
        let mut start = vec!["python3".to_owned(), "app.py".to_owned()];
        start.extend(ways.iter().map(|way| (*way).to_owned()));
        let app = App {
            name: "app".into(),
            cwd: PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/apps"),
            setup: Vec::new(),
            start,
            env: BTreeMap::new(),
            env_pass: BTreeSet::new(),
            secrets: BTreeSet::new(),
            ready: Some(Ready { http: "http://127.0.0.1:${port}/health".into(), within: LONG }),
            talk: post("/chat", ReplyAt::Pointer("/reply".into())),
            flush: Flush::None,
            per: Default::default(),
            stop: Stop::Signal { signal: "TERM".into(), grace: LONG },
            listen: IpAddr::V4(Ipv4Addr::LOCALHOST),
            advertise: None,
        };
        Self {
            app,
            limits: Limits { turn: LONG, ..Limits::default() },
            id: TrialId::new(name, 0, 1, false),
            scenario_env: BTreeMap::new(),
            harness_env: Vec::new(),
            filter: Arc::new(|| Box::new(<[u8]>::to_vec)),
            clock: Clock::start(),
        }
    }

    fn talking(mut self, talk: Talk) -> Self {
        self.app.talk = talk;
        self
    }

    fn grace(mut self, grace: Duration) -> Self {
        self.app.stop = Stop::Signal { signal: "TERM".into(), grace };
        self
    }

    async fn start(&self) -> Result<Running, StartError> {
        let launch = Launch {
            app: &self.app,
            limits: &self.limits,
            trial: &self.id,
            scenario_env: &self.scenario_env,
            harness_env: &self.harness_env,
            clock: self.clock,
            filter: &self.filter,
        };
        launch.start().await
    }

    async fn started(&self) -> Running {
        self.start().await.unwrap_or_else(|error| panic!("{error}"))
    }

    async fn not_started(&self) -> StartError {
        let Err(error) = self.start().await else { panic!("it started") };
        error
    }

    /// Starts, puts one turn, stops.
    async fn turn(&self, text: &str) -> (Result<String, TurnTrouble>, Stopped) {
        let mut running = self.started().await;
        let reply = running.turn(1, text, &[], Moment(u64::MAX)).await;
        (reply.map(|reply| reply.text), running.stop().await)
    }

    /// Command lines of the living processes that carry this trial's mark.
    fn alive(&self) -> Vec<String> {
        self.alive_under(std::process::id())
    }

    /// The same, of a trial of the harness with this process id.
    fn alive_under(&self, harness: u32) -> Vec<String> {
        let mark = format!("MOCKTRIAL_TRIAL={}#{harness}.", self.id);
        let marked = |process: &std::path::Path| {
            let environ = std::fs::read(process.join("environ")).unwrap_or_default();
            environ.split(|byte| *byte == 0).any(|entry| entry.starts_with(mark.as_bytes()))
        };
        let processes = std::fs::read_dir("/proc").expect("proc").flatten().map(|e| e.path());
        let command = |process: PathBuf| {
            let words = std::fs::read(process.join("cmdline")).unwrap_or_default();
            String::from_utf8_lossy(&words).replace('\0', " ")
        };
        processes.filter(|process| marked(process)).map(command).collect()
    }
}

fn post(path: &str, reply: ReplyAt) -> Talk {
    Talk::Http {
        post: format!("http://127.0.0.1:${{port}}{path}"),
        body: json!({ "session": "${trial}", "message": "${turn}", "before": "${history}" }),
        headers: BTreeMap::new(),
        reply,
    }
}

fn gone(stopped: &Stopped) {
    assert!(stopped.gone(), "{stopped:?}");
}

#[tokio::test]
async fn an_app_is_started_asked_and_gone() {
    let trial = Trial::new("asked", &[]);
    let (reply, stopped) = trial.turn("hello ${trial}").await;
    assert_eq!(reply.as_deref(), Ok("you said hello ${trial}"));
    gone(&stopped);
    assert_eq!(stopped.exit, Some(Exit::Signal(15)));
    assert!(!stopped.killed && !stopped.early && stopped.outlived.is_empty(), "{stopped:?}");
    assert_eq!(trial.alive(), [""; 0]);
}

#[tokio::test]
async fn an_app_that_dies_before_it_is_ready_is_noticed_by_its_exit() {
    let error = Trial::new("dies", &["die"]).not_started().await;
    assert!(matches!(error.why, NotStarted::Exited(Exit::Status(3))), "{error}");
    assert_eq!(error.code(), "not_ready");
    assert!(error.to_string().contains("cannot go on"), "{error}");
}

#[tokio::test]
async fn an_app_that_never_gets_ready_is_ended_with_the_reason() {
    let mut trial = Trial::new("never", &[]);
    trial.app.start = vec!["sleep".into(), "60".into()];
    trial.app.ready.as_mut().expect("ready").within = Duration::from_millis(50);
    let error = trial.not_started().await;
    assert!(matches!(error.why, NotStarted::NotReady { .. }), "{error}");
    assert_eq!(error.code(), "not_ready");
    assert!(error.to_string().contains("refused"), "{error}");
    gone(&error.stopped.expect("it had been started"));
    assert_eq!(trial.alive(), [""; 0]);
}

#[tokio::test]
async fn an_answer_that_says_not_yet_is_asked_for_again() {
    let (reply, _) = Trial::new("warming", &["warming"]).turn("health").await;
    assert_eq!(reply.as_deref(), Ok("4"));
}

#[tokio::test]
async fn a_program_that_is_not_there_is_named() {
    let mut trial = Trial::new("missing", &[]);
    trial.app.start = vec!["no-such-program".into()];
    let error = trial.not_started().await;
    assert!(error.to_string().contains("`no-such-program`"), "{error}");
}

#[tokio::test]
async fn an_address_that_answers_before_the_start_is_somebody_elses() {
    let stranger = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = stranger.local_addr().expect("address").port();
    let mut trial = Trial::new("taken", &[]);
    trial.app.ready.as_mut().expect("ready").http = format!("http://127.0.0.1:{port}/");
    let error = trial.not_started().await;
    assert!(matches!(error.why, NotStarted::PortTaken(p) if p == port), "{error}");
    assert_eq!(error.code(), "port_taken");
    assert!(error.stopped.is_none());
}

#[tokio::test]
async fn a_port_that_goes_to_somebody_else_meanwhile_is_given_up_for_another() {
    for how in ["die", "stay"] {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("robber");
        let trial = Trial::new("robbed", &[&format!("robbed:{how}:{}", file.display())]);
        let (reply, stopped) = trial.turn("hello").await;
        let robber = std::fs::read_to_string(file).expect("there was a robber");
        let end = Command::new("kill").args(["-9", robber.trim()]).status();
        assert!(end.is_ok_and(|status| status.success()), "the robber is not ours to end");
        assert_eq!(reply.as_deref(), Ok("you said hello"), "{how}");
        gone(&stopped);
    }
}

#[tokio::test]
async fn an_app_that_dies_in_a_turn_gives_no_reply() {
    for (turn, status) in [("die", 7), ("half", 8)] {
        let (reply, stopped) = Trial::new("dies_in_turn", &[]).turn(turn).await;
        assert_eq!(reply, Err(TurnTrouble::Exited(Exit::Status(status))));
        gone(&stopped);
        assert!(stopped.early);
    }
}

#[tokio::test]
async fn a_dead_app_is_not_talked_to() {
    let trial = Trial::new("dead", &[]);
    let mut running = trial.started().await;
    let first = running.turn(1, "die", &[], Moment(u64::MAX)).await;
    assert!(matches!(first, Err(TurnTrouble::Exited(_))));
    let stranger = TcpListener::bind(("127.0.0.1", running.port())).expect("it is free again");
    let second = running.turn(2, "hello", &[], Moment(u64::MAX)).await;
    assert_eq!(second, Err(TurnTrouble::Exited(Exit::Status(7))));
    stranger.set_nonblocking(true).expect("nonblocking");
    assert!(stranger.accept().is_err(), "somebody connected");
}

#[tokio::test]
async fn a_turn_ends_at_its_own_limit_and_at_the_trials() {
    let mut trial = Trial::new("hangs", &[]);
    let mut running = trial.started().await;
    let until = trial.clock.now().plus(Duration::from_millis(30));
    let reply = running.turn(1, "hang", &[], until).await;
    assert!(matches!(reply, Err(TurnTrouble::TimedOut(within)) if within < LONG), "{reply:?}");
    gone(&running.stop().await);
    trial.limits.turn = Duration::from_millis(40);
    let (reply, stopped) = trial.turn("hang").await;
    assert_eq!(reply, Err(TurnTrouble::TimedOut(trial.limits.turn)));
    gone(&stopped);
}

#[tokio::test]
async fn what_cannot_be_read_as_a_reply_is_told_with_its_beginning() {
    let mut trial = Trial::new("bad", &[]);
    trial.limits.body = 50_000;
    for (turn, part) in [
        ("status", "500 Internal Server Error: `no such thing`"),
        ("garbage", "`<html>`"),
        ("long", "longer than 50000 bytes"),
    ] {
        let (reply, _) = trial.turn(turn).await;
        let Err(TurnTrouble::BadReply { why }) = reply else { panic!("{turn}: {reply:?}") };
        assert!(why.contains(part), "{why}");
    }
    let missing = trial.talking(post("/chat", ReplyAt::Pointer("/answer".into())));
    let (reply, _) = missing.turn("hello").await;
    assert!(matches!(reply, Err(TurnTrouble::BadReply { why }) if why.contains("/answer")));
}

#[tokio::test]
async fn replies_are_read_from_json_streams_and_whole_bodies() {
    for talk in [
        post("/chat", ReplyAt::Pointer("/reply".into())),
        post("/chat", ReplyAt::Pointer("/asked/message".into())),
        post("/sse", ReplyAt::Sse("/delta".into())),
        post("/plain", ReplyAt::Body),
    ] {
        let (reply, _) = Trial::new("reads", &[]).talking(talk).turn("né").await;
        assert!(reply.as_deref().is_ok_and(|text| text.ends_with("né")), "{reply:?}");
    }
    let none = post("/sse", ReplyAt::Sse("/other".into()));
    let (reply, _) = Trial::new("reads", &[]).talking(none).turn("hello").await;
    assert!(matches!(reply, Err(TurnTrouble::BadReply { .. })), "{reply:?}");
}

#[tokio::test]
async fn the_history_is_a_list_where_it_stands_alone() {
    let trial =
        Trial::new("history", &[]).talking(post("/chat", ReplyAt::Pointer("/asked/before/1/content".into())));
    let mut running = trial.started().await;
    let history = [Said::User("one".into()), Said::App("${turn}".into())];
    let reply = running.turn(2, "two", &history, Moment(u64::MAX)).await;
    assert_eq!(reply.map(|reply| reply.text).as_deref(), Ok("${turn}"));
}

#[tokio::test]
async fn chat_completions_carry_the_history_plain_and_streamed() {
    let history = [Said::User("one".into()), Said::App("two".into())];
    for stream in [false, true] {
        let url = "http://127.0.0.1:${port}/v1/".into();
        let talk = Talk::OpenAiChat { url, model: "m".into(), stream };
        let trial = Trial::new("chat", &[]).talking(talk);
        let mut running = trial.started().await;
        let reply = running.turn(2, "three", &history, Moment(u64::MAX)).await;
        let reply = reply.map(|reply| reply.text);
        assert_eq!(reply.as_deref(), Ok("user: one | assistant: two | user: three"));
        if stream {
            let half = running.turn(3, "half", &history, Moment(u64::MAX)).await;
            assert!(matches!(half, Err(TurnTrouble::BadReply { .. })), "{half:?}");
        }
    }
}

#[tokio::test]
async fn a_conversation_by_lines_skips_what_is_no_reply_to_this_turn() {
    let mut trial = Trial::new("lines", &[]).talking(Talk::Stdio);
    trial.app.start = vec!["python3".into(), "lines.py".into()];
    trial.app.ready = None;
    let mut running = trial.started().await;
    let reply = running.turn(3, "hello", &[], Moment(u64::MAX)).await;
    assert_eq!(reply.map(|reply| reply.text).as_deref(), Ok("3: hello (lines/0-1)"));
    let number = running.turn(4, "number", &[], Moment(u64::MAX)).await;
    assert!(matches!(number, Err(TurnTrouble::BadReply { .. })), "{number:?}");
    let closed = running.turn(5, "close", &[], Moment(u64::MAX)).await;
    assert_eq!(closed, Err(TurnTrouble::Exited(Exit::Status(0))));
    let stopped = running.stop().await;
    gone(&stopped);
    assert!(stopped.output[0].text.starts_with("ready when you are\nthinking\n"));
}

#[tokio::test]
async fn only_the_tail_of_a_flood_is_kept() {
    let mut trial = Trial::new("flood", &["flood"]);
    trial.limits.output = 100;
    let stopped = trial.started().await.stop().await;
    let stdout = &stopped.output[0];
    assert_eq!(stdout.stream, "stdout");
    assert!(stdout.cut && stdout.text.len() == 100 && stdout.text.ends_with("xthe end"));
}

#[tokio::test]
async fn output_passes_the_callers_filter_before_it_is_kept() {
    let mut trial = Trial::new("filter", &["noise"]);
    trial.filter = Arc::new(|| -> Filter {
        let mut held = Vec::new();
        Box::new(move |bytes| {
            held.extend_from_slice(bytes);
            if !bytes.is_empty() {
                return Vec::new();
            }
            String::from_utf8_lossy(&held).replace("hunter2", "***").into_bytes()
        })
    });
    let stopped = trial.started().await.stop().await;
    assert_eq!(stopped.output[0].text, "my key is ***\n");
}

#[tokio::test]
async fn an_app_finds_only_what_it_was_given() {
    let mut trial = Trial::new("env", &[]);
    trial.app.env = BTreeMap::from([
        ("BOTH".into(), "app".into()),
        ("ALL".into(), "app".into()),
        ("WHERE".into(), "${trial} at ${port}".into()),
    ]);
    trial.app.env_pass = BTreeSet::from(["CARGO_MANIFEST_DIR".into()]);
    trial.scenario_env =
        BTreeMap::from([("BOTH".into(), "scenario".into()), ("ALL".into(), "scenario".into())]);
    trial.harness_env = vec![("ALL".into(), "harness".into())];
    trial.app.start = vec!["env".into()];
    let printed = trial.not_started().await.stopped.expect("it ran").output;
    let pairs = printed[0].text.lines().filter_map(|line| line.split_once('='));
    let env: BTreeMap<&str, &str> = pairs.collect();
    let port = env["PORT"];
    assert_eq!(env["BOTH"], "scenario");
    assert_eq!(env["ALL"], "harness");
    assert_eq!(env["WHERE"], format!("env/0-1 at {port}"));
    assert_eq!(env["CARGO_MANIFEST_DIR"], env!("CARGO_MANIFEST_DIR"));
    let may = [
        "PATH",
        "HOME",
        "LANG",
        "TZ",
        "TMPDIR",
        "PORT",
        "WHERE",
        "BOTH",
        "ALL",
        "MOCKTRIAL_TRIAL",
        "CARGO_MANIFEST_DIR",
    ];
    let stray: Vec<_> = env.keys().filter(|name| !may.contains(name) && !name.starts_with("LC_")).collect();
    assert!(stray.is_empty(), "{stray:?}");
    assert!(std::env::vars().any(|(name, _)| name == "CARGO_PKG_NAME"), "nothing could stray");
}

#[tokio::test]
async fn an_app_that_ignores_its_signal_is_killed_after_its_grace() {
    let trial = Trial::new("deaf", &["deaf"]).grace(Duration::from_millis(50));
    let stopped = trial.started().await.stop().await;
    gone(&stopped);
    assert!(stopped.killed, "{stopped:?}");
    assert_eq!(stopped.exit, Some(Exit::Signal(9)));
    assert!(stopped.outlived.is_empty(), "{stopped:?}");
}

#[tokio::test]
async fn a_grandchild_that_stays_is_killed_and_named() {
    let trial = Trial::new("child", &["child"]).grace(Duration::from_millis(200));
    let stopped = trial.started().await.stop().await;
    gone(&stopped);
    assert!(!stopped.killed);
    assert!(stopped.outlived.iter().any(|one| one.command.contains("trap")), "{stopped:?}");
    assert_eq!(trial.alive(), [""; 0]);
}

#[tokio::test]
async fn a_grandchild_has_the_grace_as_well() {
    let stopped = Trial::new("tidy", &["tidy"]).started().await.stop().await;
    gone(&stopped);
    assert!(stopped.outlived.is_empty(), "{stopped:?}");
}

#[tokio::test]
async fn escapees_are_killed_without_a_grace_and_named() {
    for (way, command) in [("escape", "sleep 62"), ("daemon", "sleep 63")] {
        let trial = Trial::new(way, &[way]);
        let stopped = trial.started().await.stop().await;
        gone(&stopped);
        assert_eq!(stopped.outlived.len(), 1, "{stopped:?}");
        assert!(stopped.outlived[0].command.contains(command), "{stopped:?}");
        assert_eq!(trial.alive(), [""; 0]);
    }
}

#[tokio::test]
async fn a_trial_does_not_end_anothers_escapees() {
    let (one, two) = (Trial::new("one", &["daemon"]), Trial::new("two", &["daemon"]));
    let (first, second) = (one.started().await, two.started().await);
    let stopped = first.stop().await;
    assert_eq!(stopped.outlived.len(), 1, "{stopped:?}");
    assert_eq!(two.alive().len(), 2, "{:?}", two.alive());
    let stopped = second.stop().await;
    assert_eq!(stopped.outlived.len(), 1, "{stopped:?}");
}

#[tokio::test]
async fn a_trial_given_up_in_mid_turn_leaves_nothing() {
    let trial = Trial::new("dropped", &["child", "daemon"]);
    let story = async {
        let mut running = trial.started().await;
        assert!(trial.alive().len() > 2);
        let _ = running.turn(1, "hang", &[], Moment(u64::MAX)).await;
    };
    let given_up = tokio::time::timeout(Duration::from_secs(2), story).await;
    assert!(given_up.is_err());
    soon_gone(|| trial.alive()).await;
}

/// SIGKILL is on its way to all of them; a process that is being torn down may still be listed.
async fn soon_gone(alive: impl Fn() -> Vec<String>) {
    for _ in 0..500 {
        if alive().is_empty() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("{:?}", alive());
}

#[tokio::test]
async fn a_harness_that_is_killed_in_mid_trial_leaves_nothing() {
    const NAME: &str = "a_harness_that_is_killed_in_mid_trial_leaves_nothing";
    let trial = Trial::new("killed", &["child", "escape"]);
    if std::env::var_os("HARNESS_TO_BE_KILLED").is_some() {
        let _running = trial.started().await;
        println!("\nstarted");
        return std::future::pending().await;
    }
    let mut harness = Command::new(std::env::current_exe().expect("this test"))
        .args(["--exact", NAME, "--nocapture"])
        .env("HARNESS_TO_BE_KILLED", "1")
        .stdout(Stdio::piped())
        .spawn()
        .expect("a harness");
    let said = BufReader::new(harness.stdout.take().expect("piped")).lines();
    assert!(said.map_while(Result::ok).any(|line| line == "started"));
    assert!(trial.alive_under(harness.id()).len() > 2);
    harness.kill().expect("killed");
    harness.wait().expect("reaped");
    soon_gone(|| trial.alive_under(harness.id())).await;
}

#[tokio::test]
async fn an_app_that_is_not_our_child_stops_by_its_own_command() {
    let mut trial = Trial::new("elsewhere", &[]);
    let folder = tempfile::tempdir().expect("a folder");
    let stopped_file = folder.path().join("stopped");
    trial.app.start = ["sh", "-c", "python3 app.py >/dev/null 2>&1 & echo up"].map(Into::into).into();
    let end = format!("echo ${{port}} >{}", stopped_file.display());
    trial.app.stop = Stop::Run(["sh", "-c", end.as_str()].map(Into::into).into());
    let mut running = trial.started().await;
    let port = running.port();
    let reply = running.turn(1, "hello", &[], Moment(u64::MAX)).await;
    assert_eq!(reply.map(|reply| reply.text).as_deref(), Ok("you said hello"));
    let stop = running.stop().await;
    assert_eq!(stop.trouble, None);
    assert_eq!(std::fs::read_to_string(stopped_file).expect("it ran").trim(), port.to_string());
    assert_eq!(trial.alive(), [""; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn many_at_a_time_never_share_a_port() {
    let started = (0..12).map(|n| {
        tokio::spawn(async move {
            let trial = Trial::new(&format!("many{n}"), &[]);
            let (reply, stopped) = trial.turn("hello").await;
            assert_eq!(reply.as_deref(), Ok("you said hello"));
            gone(&stopped);
        })
    });
    for one in started.collect::<Vec<_>>() {
        one.await.expect("no panic");
    }
}

fn contract(setup: &[&str]) -> Contract {
    let mut app = Trial::new("setup", &[]).app;
    app.setup = setup.iter().map(|line| ["sh", "-c", line].map(Into::into).into()).collect();
    Contract {
        source: Source { path: PathBuf::new(), text: "".into() },
        files: Vec::new(),
        folder: app.cwd.clone(),
        app,
        shared_address_env: None,
        workers: Vec::new(),
        world: WorldSpec::default(),
        peers: BTreeMap::new(),
        model: ModelSpec::default(),
        limits: Limits::default(),
    }
}

#[tokio::test]
async fn setup_runs_in_order_in_the_apps_folder_until_one_fails() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("steps");
    let step = |text: &str| format!("{text} >>{}", file.display());
    let (one, two, never) = (step("basename $PWD"), step("echo $CARGO_PKG_NAME"), step("echo 3"));
    let filter: Filters = Arc::new(|| Box::new(<[u8]>::to_vec));
    let steps = [one.as_str(), &two, "echo no space left >&2; exit 5", &never];
    let error = setup(&contract(&steps), &filter).await.expect_err("a step fails");
    assert_eq!(std::fs::read_to_string(&file).expect("steps"), "apps\nmocktrial\n");
    assert!(error.to_string().contains("exited with status 5\nstderr:\nno space left"), "{error}");
    setup(&contract(&steps[..2]), &filter).await.expect("both succeed");
}
