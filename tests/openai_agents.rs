//! The returns desk on the real OpenAI Agents SDK with OpenInference, installed by the contract's own `setup`.

mod support;

use std::path::Path;
use std::process::Command;

#[test]
fn an_agents_sdk_app_passes_with_its_hand_offs_observed() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let out = tempfile::tempdir().expect("a folder");
    let run = Command::new(env!("CARGO_BIN_EXE_mocktrial"))
        .current_dir(root)
        .args(["run", "scenarios/openai_agents", "-j", "2", "--out"])
        .arg(out.path())
        .output()
        .expect("mocktrial starts");
    let said = String::from_utf8_lossy(&run.stdout);
    let trouble = String::from_utf8_lossy(&run.stderr);
    if trouble.contains("setup `") {
        return support::skip("an_agents_sdk_app_passes_with_its_hand_offs_observed", &trouble);
    }
    assert_eq!(run.status.code(), Some(0), "{said}{trouble}");
    assert!(said.contains("2 trials: 2 passed, 0 failed, 0 unknown, 0 error"), "{said}");
}
