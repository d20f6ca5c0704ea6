//! One plan run in shares and put together again: the whole plan or nothing.

#[path = "support/desk.rs"]
mod desk;

use std::fs;

use desk::Desk;
use serde_json::Value;

fn shards(desk: &Desk, of: u32, more: &[&str]) -> Vec<String> {
    let outs: Vec<_> = (1..=of).map(|index| format!("out-{index}")).collect();
    for (index, out) in (1..=of).zip(&outs) {
        let shard = format!("{index}/{of}");
        desk.told(&[&["run", ".", "--shard", &shard, "--out", out], more].concat(), 0);
    }
    outs
}

fn planned(run: &Value) -> Vec<String> {
    let trials = run["trials"].as_object().expect("trials");
    let own = trials.iter().filter(|(_, trial)| trial.get("binding_proof").is_none());
    own.map(|(id, _)| id.clone()).collect()
}

#[test]
fn shards_put_together_come_to_what_the_whole_comes_to() {
    let desk = Desk::returns();
    desk.told(&["run", ".", "--out", "whole"], 0);
    let outs = shards(&desk, 3, &[]);
    desk.told(&["merge", &outs[2], &outs[0], &outs[1], "--out", "merged"], 0);
    let (whole, merged) = (desk.run_file("whole"), desk.run_file("merged"));
    assert_eq!(whole["scenarios"], merged["scenarios"]);
    assert_eq!(planned(&whole), planned(&merged));
    desk.told(&["verify", "merged"], 0);
    // Evenly by the times of the run before: again the same trials, each once.
    for out in &outs {
        fs::remove_dir_all(desk.at(out)).expect("removed");
    }
    let outs = shards(&desk, 3, &["--times", "whole"]);
    desk.told(&["merge", &outs[0], &outs[1], &outs[2], "--out", "even"], 0);
    assert_eq!(desk.run_file("even")["scenarios"], whole["scenarios"]);
}

#[test]
fn a_merge_names_what_is_missing_twice_changed_or_of_another_plan() {
    let desk = Desk::returns();
    let outs = shards(&desk, 2, &[]);
    let refused = |folders: &[&str], told: &str| {
        let said = desk.told(&[&["merge", "--out", "merged"], folders].concat(), 2);
        assert!(said.contains(told), "{told}: {said}");
        assert!(!desk.at("merged/run.json").exists());
    };
    let missing = planned(&desk.run_file(&outs[1])).remove(0);
    refused(&[&outs[0]], &missing);
    refused(&[&outs[0], &outs[0], &outs[1]], "stands in out-1 and in out-1");
    desk.told(&["run", ".", "--out", "whole"], 0);
    refused(&[&outs[0], "whole"], "a whole run, no shard of one");
    desk.told(&["run", ".", "--shard", "2/2", "--seed", "7", "--out", "other"], 0);
    refused(&[&outs[0], "other"], "a shard of another plan");
    desk.change(&format!("{}/trials/{missing}.jsonl", outs[1]), "1042", "1043");
    refused(&[&outs[0], &outs[1]], &missing);
}

#[test]
fn no_shard_is_told_how_one_is_written() {
    let said = Desk::returns().told(&["run", ".", "--shard", "3/2"], 2);
    assert!(said.contains("write I/N, as in 2/3"), "{said}");
}
