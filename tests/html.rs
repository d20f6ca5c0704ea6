//! The HTML report, as a browser shows it.

#[path = "support/desk.rs"]
mod desk;
mod support;

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use desk::Desk;
use serde_json::json;
use support::skip;

/// What no report may run. It would change the page's title, which is in the DOM that is looked at.
const CANARY: &str = r#"</style></script><script>document.title='canary ran'</script><img src=x onerror="document.title='canary ran'">"#;

/// A desk after a run of all scenarios, one of them with hostile texts, and one that fails.
fn ran() -> Desk {
    let desk = Desk::returns();
    let scenario = format!(
        "scenario: hostile\ntests: texts that would be markup\nturns:\n  - user: {}\n    expects_reply: true\nsub_goals:\n  - {{ id: never_said, reply: {{ contains: never }} }}\n",
        json!(CANARY)
    );
    desk.write("hostile.scenario.yaml", &scenario);
    let said = desk.told(&["run", ".", "--out", "out", "--html", "report.html"], 1);
    assert!(said.contains("1 failed"), "{said}");
    desk
}

fn chromium(desk: &Desk, page: &Path, args: &[&str]) -> Output {
    Command::new("chromium")
        .current_dir(desk.path())
        .args([
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--hide-scrollbars",
        ])
        .args(["--no-first-run", "--enable-logging=stderr", "--log-level=0"])
        .arg(format!("--user-data-dir={}", desk.at("profile").display()))
        .args(args)
        .arg(format!("file://{}", page.display()))
        .output()
        .expect("chromium starts")
}

#[test]
fn a_browser_shows_lanes_and_hand_offs_and_runs_nothing_that_the_app_said() {
    let desk = ran();
    let page = desk.at("report.html");
    let html = fs::read_to_string(&page).expect("a page");
    assert!(html.contains("document.title=&"), "the canary is on the page, as text");
    let links = html.matches("href=\"").count() - html.matches("href=\"#").count();
    assert_eq!((links, html.matches("src=\"").count(), html.matches("@import").count()), (0, 0, 0));
    if Command::new("chromium").arg("--version").output().is_err() {
        skip("html::a_browser_shows_lanes", "there is no chromium here");
        return;
    }
    let shown = chromium(&desk, &page, &["--dump-dom"]);
    let (dom, log) = (String::from_utf8_lossy(&shown.stdout), String::from_utf8_lossy(&shown.stderr));
    assert!(shown.status.success(), "{log}");
    assert!(!dom.contains("<title>canary ran"), "what the app said was run");
    assert!(!log.contains("CONSOLE"), "the browser complains: {log}");
    for lane in ["user", "coordinator", "order_lookup", "refund"] {
        assert!(dom.contains(&format!("data-lane=\"{lane}\"")), "no lane of {lane}");
    }
    assert!(dom.contains("class=\"hand-off observed\""), "no hand-off");
    assert!(dom.contains("class=\"bar done\"") && dom.contains("class=\"bar refused\""), "no bars");
    assert!(dom.contains("not_permitted") && dom.contains("hostile.scenario.yaml:7"), "no code, no line");

    // The same page with its style let go is another picture, and neither is one colour: there is something to see.
    let plain = desk.at("plain.html");
    let start = html.find("<style>").expect("a style");
    let end = html.find("</style>").expect("a style");
    fs::write(&plain, format!("{}{}", &html[..start], &html[end..])).expect("written");
    let mut sizes = Vec::new();
    for (page, name) in [(&page, "page.png"), (&plain, "plain.png")] {
        let shot = chromium(&desk, page, &[&format!("--screenshot={name}"), "--window-size=1280,2400"]);
        assert!(shot.status.success(), "{}", String::from_utf8_lossy(&shot.stderr));
        sizes.push(fs::read(desk.at(name)).expect("a screenshot").len());
    }
    // One colour compresses to some 10 KB at this size.
    assert!(sizes.iter().all(|size| *size > 40_000), "blank: {sizes:?}");
    assert_ne!(sizes[0], sizes[1], "the page's policy keeps its own style away");
    if let Some(kept) = std::env::var_os("MOCKTRIAL_SCREENSHOT") {
        fs::copy(desk.at("page.png"), &kept).expect("kept");
        fs::copy(desk.at("report.html"), Path::new(&kept).with_extension("html")).expect("kept");
    }
}

#[test]
fn the_page_printed_again_from_the_records_is_the_same() {
    let desk = ran();
    desk.told(&["report", "out", "--html", "again.html"], 1);
    let page = |name: &str| fs::read_to_string(desk.at(name)).expect("a page");
    let main = |name: &str| {
        let page = page(name);
        page[page.find("<main>").expect("a main")..].to_owned()
    };
    assert_eq!(main("report.html").replace(".&#x2f;", ""), main("again.html"));
}
