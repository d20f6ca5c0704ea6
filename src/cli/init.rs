//! `mocktrial init`: from nothing, from an OpenAPI file, or from an app that is watched once, to a contract and a first
//! green scenario. What is drafted is plain, and meant to be edited; nothing that is there is overwritten.

mod draft;
mod watch;

use std::fs;
use std::path::{Path, PathBuf};

use super::Told;
use super::print::say;
use crate::scenario::{CONTRACT_FILE, openapi};
use crate::verdict::Exit;
use draft::{Draft, Tool, quoted};

/// From nothing to a first green
#[derive(clap::Args)]
pub struct Args {
    /// Where the files go
    #[arg(value_name = "DIR", default_value = ".")]
    dir: PathBuf,
    /// Draft the tools from this OpenAPI 3 file
    #[arg(long, value_name = "FILE", conflicts_with = "command")]
    openapi: Option<PathBuf>,
    /// The service behind the drafted tools, where it is not the file's first server
    #[arg(long, value_name = "URL", requires = "openapi")]
    upstream: Option<String>,
    /// Draft a world in SQLite behind the tools, whatever servers the file names
    #[arg(long, requires = "openapi", conflicts_with = "upstream")]
    sqlite: bool,
    /// A variable in which the app reads the address of a service; the service is where that points now, or at URL
    #[arg(long = "service", value_name = "VARIABLE[=URL]", requires = "command")]
    services: Vec<String>,
    /// A variable of yours that the app needs
    #[arg(long = "pass", value_name = "VARIABLE", requires = "command")]
    passed: Vec<String>,
    /// What the user says, a turn each [default: Hello.]
    #[arg(long = "say", value_name = "TEXT", requires = "command")]
    says: Vec<String>,
    /// Talk to the app by POST to this URL, in which ${port} may stand; without it by lines of JSON on its standard input
    #[arg(long, value_name = "URL", requires = "command")]
    post: Option<String>,
    /// The body of each POST
    #[arg(long, value_name = "JSON", requires = "post", default_value = r#"{"message":"${turn}"}"#)]
    body: String,
    /// Where the reply stands in the answer: a JSON pointer; without it the whole body is the reply
    #[arg(long, value_name = "POINTER", requires = "post")]
    reply: Option<String>,
    /// The app's command: it is started once, with channels that let everything through to its services
    #[arg(last = true, value_name = "CMD")]
    command: Vec<String>,
}

impl Args {
    pub(super) fn run(self) -> Result<Exit, Told> {
        let contract = self.dir.join(CONTRACT_FILE);
        if contract.exists() {
            let path = contract.display();
            return Err(Told::usage(format!("{path} is there already; name another folder")));
        }
        fs::create_dir_all(&self.dir).map_err(|error| told(&self.dir, &error))?;
        if let Some(file) = &self.openapi {
            return self.draft_tools(file);
        }
        if self.command.is_empty() {
            self.sample()?;
        } else {
            watch::watch(&self)?;
        }
        self.try_it()
    }

    /// The drafted tools; the app, its workers and the scenarios are the reader's to write.
    fn draft_tools(&self, file: &Path) -> Result<Exit, Told> {
        let text = fs::read_to_string(file).map_err(|error| told(file, &error))?;
        let described =
            openapi::describe(&text).map_err(|error| Told::usage(format!("{}: {error}", file.display())))?;
        if described.operations.is_empty() {
            return Err(Told::usage(format!("{} has no operations", file.display())));
        }
        let url = self.upstream.clone().or(described.server).filter(|_| !self.sqlite);
        let upstream = url.as_ref().map(|_| "service".to_owned());
        let tools = described.operations.into_iter().map(|operation| Tool {
            name: operation.name,
            description: operation.description,
            route: operation.route,
            is_read: operation.is_safe,
            args: operation.args,
            upstream: upstream.clone(),
        });
        let draft = Draft {
            name: "app".to_owned(),
            start: vec!["your".to_owned(), "app".to_owned()],
            talk: "stdio".to_owned(),
            workers: vec![("worker".to_owned(), "TOOLS_URL".to_owned())],
            upstreams: url.map(|url| ("service".to_owned(), url)).into_iter().collect(),
            tools: tools.collect(),
            ..Draft::default()
        };
        self.write(CONTRACT_FILE, &draft.contract())?;
        if draft.upstreams.is_empty() {
            self.write("world.sql", &draft.schema())?;
        }
        let path = self.dir.join(CONTRACT_FILE);
        say!(
            "{}: {} tools; say how your app starts, and who its workers are",
            path.display(),
            draft.tools.len()
        );
        Ok(Exit::Passed)
    }

    /// A contract that runs as it is: an app of one line, and a world of one table.
    fn sample(&self) -> Result<(), Told> {
        self.write(CONTRACT_FILE, SAMPLE)?;
        self.write("world.sql", SAMPLE_WORLD)?;
        self.write("first.scenario.yaml", SAMPLE_SCENARIO)
    }

    fn write(&self, name: &str, text: &str) -> Result<(), Told> {
        let path = self.dir.join(name);
        fs::write(&path, text).map_err(|error| told(&path, &error))?;
        say!("wrote {}", path.display());
        Ok(())
    }

    /// Runs what was written, as the reader would.
    fn try_it(&self) -> Result<Exit, Told> {
        let program = std::env::current_exe().map_err(Told::trouble)?;
        let status =
            std::process::Command::new(program).arg("run").arg(&self.dir).status().map_err(Told::trouble)?;
        Ok(match status.code() {
            Some(0) => Exit::Passed,
            Some(1) => Exit::Failed,
            Some(2) => Exit::Usage,
            Some(3) => Exit::Unknown,
            Some(130) => Exit::Interrupted,
            _ => Exit::Error,
        })
    }

    /// How the app is talked to, as a contract says it.
    fn talk(&self) -> String {
        let Some(post) = &self.post else { return "stdio".to_owned() };
        let reply = self.reply.as_ref().map(|at| format!(", reply: {}", quoted(at))).unwrap_or_default();
        format!("{{ http: {{ post: {}, body: {}{reply} }} }}", quoted(post), self.body)
    }
}

fn told(path: &Path, error: &std::io::Error) -> Told {
    Told::usage(format!("{}: {error}", path.display()))
}

const SAMPLE: &str = r#"# yaml-language-server: $schema=contract.schema.json     (printed by `mocktrial schema contract`)
contract: 1
app:
  name: hello
  # Put your app here. This one reads a turn a line, and answers each with a line.
  start: [sh, -c, 'while read -r turn; do echo "{\"reply\":\"Hello. What can I do for you?\"}"; done']
  talk: stdio
  telemetry: { flush: none }
workers:
  # The app finds the address of its tools in TOOLS_URL: over HTTP there, over MCP at $TOOLS_URL/mcp.
  - { id: worker, allowed_tools: [get_order], binding: separate, address_env: TOOLS_URL }
world:
  sqlite: { schema: world.sql }
  tools:
    get_order:
      description: Look up one order.
      http: GET /orders/{order_id}
      effect: read
      args: { order_id: string }
      returns: { row: "SELECT id, status FROM orders WHERE id = :order_id" }
"#;

const SAMPLE_WORLD: &str = "CREATE TABLE orders (id TEXT PRIMARY KEY, status TEXT NOT NULL);
INSERT INTO orders VALUES ('1042', 'delivered');
";

const SAMPLE_SCENARIO: &str = "scenario: first
tests: the app greets whoever comes
turns:
  - user: Hello.
solution:
  - { reply: Hello. }
sub_goals:
  - { id: greets, reply: { contains: Hello } }
";
