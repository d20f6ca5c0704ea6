//! Scenarios proved without the app: is each ready, solvable, not vacuous, and what would its goals notice?
//!
//! The solution is played through the very permits and the very world that a trial would use, an idle app is played
//! beside it, and both are graded like a trial. Then the solution is spoilt step by step, and what changes is told. No
//! process is started and nothing is guessed: scripts and judges are not asked, and their goals are named as open.

mod play;

use crate::scenario::{Case, Contract, Pos, Scenario, StepKind, Subject};
use crate::verdict::Gate;
use crate::world::Frozen;

pub use play::Trouble;
use play::{Played, Stand};

/// What was found out about one case of a scenario.
#[derive(Clone, Debug)]
pub struct Proof {
    /// Index of the case.
    pub case: usize,
    /// Why it is no proof; empty where the case is proved.
    pub faults: Vec<Fault>,
    /// Sub-goals that only a script or a judge can settle.
    pub open: Vec<String>,
    /// What each gated sub-goal would notice; empty where the case is not solvable.
    pub notices: Vec<Notice>,
    /// Steps of the solution that no sub-goal would miss.
    pub unnoticed: Vec<Pos>,
}

/// Why a case is not proved, and where to look.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// In the scenario file.
    pub pos: Pos,
    /// `not_ready`, `forbidden`, `unsolvable` or `vacuous`.
    pub code: &'static str,
    /// What is wrong, and what to do.
    pub what: String,
}

/// What one sub-goal would notice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// The sub-goal.
    pub sub_goal: String,
    /// Steps whose absence it would notice.
    pub absence: Vec<Pos>,
    /// Steps whose repetition it would notice.
    pub repetition: Vec<Pos>,
    /// Steps with a wrong argument that it would notice.
    pub argument: Vec<Pos>,
}

impl Proof {
    /// Ready, solvable and not vacuous.
    pub fn holds(&self) -> bool {
        self.faults.is_empty()
    }
}

/// Proves one case.
pub fn prove(contract: &Contract, frozen: &Frozen, scenario: &Scenario, case: usize) -> Proof {
    let stand = Stand { contract, frozen, scenario, case: &scenario.cases[case] };
    let mut proof = Proof {
        case,
        faults: Vec::new(),
        open: stand.asked_of_others(),
        notices: Vec::new(),
        unnoticed: Vec::new(),
    };
    let solved = match stand.play(&scenario.solution, &[]) {
        Ok(played) => played,
        Err(Trouble { pos, code, what }) => {
            proof.faults.push(Fault { pos, code, what });
            return proof;
        }
    };
    unsolved(scenario, &solved, &proof.open, &mut proof.faults);
    match stand.idle() {
        Ok(idle) if idle.fails(scenario, &proof.open) => {}
        Ok(_) => proof.faults.push(Fault {
            pos: scenario.turns.first().map_or_else(Pos::default, |turn| turn.pos),
            code: "vacuous",
            what: "an app that answers nothing and calls nothing would fail no goal but `answered`; add a goal that asks for something to be done"
                .to_owned(),
        }),
        Err(Trouble { pos, code, what }) => proof.faults.push(Fault { pos, code, what }),
    }
    if proof.holds() {
        spoil(&stand, &solved, &mut proof);
    }
    proof
}

fn unsolved(scenario: &Scenario, solved: &Played, open: &[String], faults: &mut Vec<Fault>) {
    for step in &solved.refused {
        faults.push(Fault { pos: step.0, code: "forbidden", what: step.1.clone() });
    }
    for row in &solved.verdicts {
        if row.gate == Gate::Report || row.verdict == "passed" || open.contains(&row.sub_goal) {
            continue;
        }
        let goal = scenario.sub_goals.iter().find(|goal| {
            let subject = match &goal.subject {
                Subject::Task => "task".to_owned(),
                Subject::Worker(id) => format!("worker:{id}"),
            };
            goal.id == row.sub_goal && subject == row.subject
        });
        let pos = goal.map_or_else(Pos::default, |goal| goal.pos);
        let what = format!("the solution leaves `{}` {}; {}", row.sub_goal, row.verdict, row.detail);
        faults.push(Fault { pos, code: "unsolvable", what });
    }
}

/// Leaves each step out, does it twice, and does it with a wrong argument.
fn spoil(stand: &Stand<'_>, solved: &Played, proof: &mut Proof) {
    let steps = &stand.scenario.solution;
    let mut missed = vec![false; steps.len()];
    let gated = solved.verdicts.iter().filter(|row| row.gate != Gate::Report);
    proof.notices = gated
        .map(|row| Notice {
            sub_goal: row.sub_goal.clone(),
            absence: Vec::new(),
            repetition: Vec::new(),
            argument: Vec::new(),
        })
        .collect();
    for (at, step) in steps.iter().enumerate() {
        let mut without = steps.clone();
        without.remove(at);
        let mut twice = steps.clone();
        twice.insert(at, step.clone());
        // A hand-off or a reply done twice is another conversation, not a spoilt one.
        let call = matches!(step.kind, StepKind::Call { .. });
        let wrong = play::with_wrong_argument(steps, at).filter(|_| call);
        let without = stand.play(&without, &[]);
        let twice = call.then(|| stand.play(&twice, &[]));
        let wrong = wrong.map(|wrong| stand.play(&wrong, &[]));
        for notice in &mut proof.notices {
            let noticed = |played: &Result<Played, Trouble>| match played {
                Ok(played) => played.verdict(&notice.sub_goal) != Some("passed"),
                Err(_) => false,
            };
            if noticed(&without) {
                missed[at] = true;
                notice.absence.push(step.pos);
            }
            if twice.as_ref().is_some_and(noticed) {
                notice.repetition.push(step.pos);
            }
            if wrong.as_ref().is_some_and(noticed) {
                notice.argument.push(step.pos);
            }
        }
    }
    proof.unnoticed =
        steps.iter().zip(missed).filter(|(_, missed)| !missed).map(|(step, _)| step.pos).collect();
}

/// The case's values, for a reader.
pub fn case_text(case: &Case) -> String {
    let values: Vec<_> = case.iter().map(|(name, value)| format!("{name}: {value}")).collect();
    values.join(", ")
}
