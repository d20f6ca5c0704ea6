//! An app that is kept for many trials: started once, its addresses kept, its trials apart all the same.

#[path = "support/desk.rs"]
mod desk;

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::sync::Arc;

use desk::Desk;
use mocktrial::clock::Clock;
use mocktrial::journal::RedactionKey;
use mocktrial::scenario::load;
use mocktrial::scheduler::{Selection, plan};
use mocktrial::trial::{Ended, Kept, Stage, run_kept};
use mocktrial::verdict::Outcome;
use mocktrial::world::Frozen;
use tokio_util::sync::CancellationToken;

const PAYS: &str = r#"scenario: pays
tests: an order that came broken is paid back, and its order is looked up by the lookup worker alone
turns:
  - user: Order 1042 came broken. I'd like my money back.
  - user: Yes, please go ahead.
seed: ["INSERT INTO orders VALUES ('1042', 'delivered', 5990)"]
sub_goals:
  - { id: paid, changed: { refunds: { added: 1 } } }
  - { id: lookup_never_pays, never: { worker: order_lookup, tool: issue_refund } }
  - { id: handed_over, delegated: { from: coordinator, to: refund, times: 1 } }
"#;

/// The desk in slots; each start of the app leaves a line in `starts`, and the lookup worker's address.
fn desk() -> Desk {
    let desk = Desk::after("echo $$ >> starts; echo $ORDER_LOOKUP_URL > address;");
    desk.change("contract.yaml", "  stop:", "  per: slot\n  stop:");
    desk.write("pays.scenario.yaml", PAYS);
    desk
}

fn starts(desk: &Desk) -> usize {
    fs::read_to_string(desk.at("starts")).expect("starts").lines().count()
}

#[test]
fn forty_trials_take_as_many_starts_as_there_are_slots() {
    let desk = desk();
    let said = desk.told(&["run", ".", "--trials", "40", "-j", "2", "--out", "out"], 0);
    assert!(said.contains("40 trials: 40 passed"), "{said}");
    // Two slots, and one start of its own for the trial that shows the bindings.
    assert!((2..=3).contains(&starts(&desk)), "{} starts", starts(&desk));
    desk.told(&["verify", "out"], 0);
    let paid = |trial: &str| {
        let rows = desk.record("out", trial);
        rows.iter().filter(|row| row["row"] == "change" && row["table"] == "refunds").count()
    };
    for number in 1..=40 {
        assert_eq!(paid(&format!("pays/0-{number}")), 1);
    }
}

#[test]
fn another_environment_needs_another_start() {
    let desk = desk();
    desk.write(
        "lies.scenario.yaml",
        &PAYS.replace("scenario: pays", "scenario: lies\nenv: { MISBEHAVE: lies }"),
    );
    let said = desk.told(&["run", ".", "--trials", "3", "-j", "1", "--out", "out"], 1);
    assert!(said.contains("6 trials: 3 passed, 3 failed"), "{said}");
}

#[test]
fn an_app_that_dies_is_not_kept_and_costs_only_its_own_trial() {
    let desk = desk();
    desk.write(
        "dies.scenario.yaml",
        &PAYS.replace("scenario: pays", "scenario: dies\nenv: { MISBEHAVE: dies }"),
    );
    let said = desk.told(&["run", ".", "--trials", "3", "-j", "1", "--out", "out"], 1);
    assert!(said.contains("6 trials: 3 passed, 3 failed"), "{said}");
    assert!(said.contains("app_exited"), "{said}");
}

/// One trial after the other in one kept app, by hand.
struct Slot {
    stage: Stage,
    kept: Option<Kept>,
    next: u32,
}

impl Slot {
    fn open(desk: &Desk) -> Self {
        let suites = load(&[desk.path().to_owned()]).expect("a suite");
        let contract = Arc::clone(&suites[0].contract);
        let frozen = Frozen::build(&contract).expect("a world");
        let key = RedactionKey::random().expect("a key");
        let stage = Stage::new(contract, frozen, desk.at("out"), Clock::start(), key, None).expect("a stage");
        Self { stage, kept: None, next: 0 }
    }

    async fn run(&mut self, desk: &Desk) -> Vec<Ended> {
        self.next += 1;
        let suites = load(&[desk.path().to_owned()]).expect("a suite");
        let plan = plan(&suites, &Selection { trials: Some(9), ..Selection::default() });
        let (_, planned) = plan.trials.into_iter().nth(self.next as usize - 1).expect("a trial");
        let (ended, kept) = run_kept(&self.stage, self.kept.take(), planned, &CancellationToken::new()).await;
        self.kept = kept;
        ended
    }

    async fn release(&mut self) -> Ended {
        self.kept.take().expect("a kept app").release(&self.stage).await
    }
}

/// What a trial came to, and whether its record says that something came between.
fn told(ended: &Ended) -> (Outcome, bool, String) {
    let finished = ended.finished.as_ref().expect("a record");
    let record = fs::read_to_string(PathBuf::from(&finished.path)).expect("a record");
    let never = finished.verdicts.iter().find(|row| row.sub_goal == "lookup_never_pays").expect("a verdict");
    let never = format!("{} {}", never.verdict, never.reason.clone().unwrap_or_default());
    (finished.end.outcome, record.contains("between_trials"), never)
}

fn call(desk: &Desk) -> String {
    let address = fs::read_to_string(desk.at("address")).expect("an address");
    let address = address.trim().strip_prefix("http://").expect("an address");
    let (host, path) = address.split_once('/').expect("a path");
    let mut stream = TcpStream::connect(host).expect("a connection");
    write!(stream, "GET /{path}/orders/1042 HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n")
        .expect("sent");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    answer
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_between_two_trials_is_refused_and_taints_both() {
    let desk = desk();
    let mut slot = Slot::open(&desk);
    assert!(slot.run(&desk).await.is_empty(), "the first trial waits for the next");
    let first = slot.run(&desk).await;
    assert_eq!(told(&first[0]), (Outcome::Passed, false, "passed ".to_owned()));
    let answer = call(&desk);
    assert!(answer.contains("trial_closed"), "{answer}");
    let second = slot.run(&desk).await;
    let unknown = "unknown record_incomplete".to_owned();
    assert_eq!(told(&second[0]), (Outcome::Unknown, true, unknown.clone()));
    let fourth = slot.run(&desk).await;
    assert_eq!(told(&fourth[0]), (Outcome::Unknown, true, unknown), "the trial after it as well");
    assert_eq!(told(&slot.release().await), (Outcome::Passed, false, "passed ".to_owned()), "and no other");
    assert_eq!(starts(&desk), 1);
}
