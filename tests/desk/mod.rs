//! A returns desk behind a door: what the tests of the channels stand on. Real sockets, a record in memory.
#![allow(dead_code, reason = "each test file uses its part")]

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use mocktrial::clock::Clock;
use mocktrial::journal::{Journal, RedactionKey, Redactor, Storage};
use mocktrial::name::{Token, TrialId};
use mocktrial::proxy::{Channels, ChannelsSpec, Door, Started, Tokens};
use mocktrial::scenario::{Case, Contract, Scenario, Source, contract_from, scenario_from};
use mocktrial::world::Frozen;
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

pub mod upstream;

/// The contract most tests use; `EXTRA` lines go under `workers`, `LIMITS` under `limits`.
pub const CONTRACT: &str = r#"
contract: 1
app: { name: desk, start: ["true"], talk: stdio }
limits: { body: 64KB }
workers:
  - { id: order_lookup, agent: Lookup, allowed_tools: [get_order], binding: separate, address_env: LOOKUP_URL }
  - { id: refund, agent: Refund, allowed_tools: [get_order, issue_refund, sleepless], binding: separate, address_env: REFUND_URL }
world:
  sqlite: { schema: world.sql }
  tools:
    get_order:
      http: GET /orders/{order_id}
      effect: read
      args: { order_id: string }
      refuse: [{ unless: "SELECT 1 FROM orders WHERE id = :order_id", code: order_not_found, status: 404 }]
      returns: { row: "SELECT id, status, total_cents FROM orders WHERE id = :order_id" }
    issue_refund:
      http: POST /refunds
      effect: write
      args: { order_id: string, amount_cents: integer }
      run: ["INSERT INTO refunds(order_id, amount_cents) VALUES (:order_id, :amount_cents)"]
      returns: { row: "SELECT count(*) AS refunds FROM refunds" }
    sleepless:
      http: POST /numbers/{n}
      effect: write
      args: { n: integer }
      run: ["INSERT INTO numbers VALUES (:n)"]
      returns: { value: { n: ":n" } }
"#;

/// Its world.
pub const SCHEMA: &str = "
CREATE TABLE orders (id TEXT PRIMARY KEY, status TEXT NOT NULL, total_cents INTEGER NOT NULL);
CREATE TABLE refunds (order_id TEXT NOT NULL, amount_cents INTEGER NOT NULL);
CREATE TABLE numbers (n INTEGER PRIMARY KEY);
INSERT INTO orders VALUES ('1042', 'delivered', 5990);
";

/// A scenario that asks for nothing beyond what the format wants; `extra` is added.
pub fn scenario_text(extra: &str) -> String {
    format!(
        "scenario: s\ntests: channels\nturns: [{{ user: hello }}]\nsub_goals: [{{ id: g, reply: {{ contains: x }} }}]\n{extra}\n"
    )
}

/// A record in memory.
#[derive(Clone, Default)]
pub struct Memory {
    bytes: Arc<Mutex<Vec<u8>>>,
    pub full: Arc<AtomicBool>,
}

impl Storage for Memory {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.full.load(Ordering::SeqCst) {
            return Err(io::Error::from(io::ErrorKind::StorageFull));
        }
        self.bytes.lock().expect("lock").extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn truncate(&mut self, length: u64) -> io::Result<()> {
        self.bytes.lock().expect("lock").truncate(usize::try_from(length).expect("small"));
        Ok(())
    }

    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// One trial's channels behind a door of their own.
pub struct Desk {
    pub door: Arc<Door>,
    pub channels: Channels,
    pub clock: Clock,
    pub memory: Memory,
    pub world: Arc<mocktrial::world::World>,
    pub tokens: Tokens,
}

/// What a desk is made of.
pub struct Plan {
    pub contract: String,
    pub scenario: String,
    pub started: BTreeMap<String, String>,
    pub seed: u64,
}

impl Default for Plan {
    fn default() -> Self {
        Self { contract: CONTRACT.to_owned(), scenario: scenario_text(""), started: BTreeMap::new(), seed: 7 }
    }
}

fn source(path: &str, text: &str) -> Source {
    Source { path: path.into(), text: text.into() }
}

pub fn contract(text: &str) -> Contract {
    let read = |_: &std::path::Path| Ok(SCHEMA.to_owned());
    contract_from(source("/desk/contract.yaml", text), &read).unwrap_or_else(|e| panic!("{e:#?}"))
}

pub fn scenario(text: &str, contract: &Contract) -> Scenario {
    scenario_from(source("/desk/s.scenario.yaml", text), contract).unwrap_or_else(|e| panic!("{e:#?}"))
}

impl Desk {
    pub fn open() -> Self {
        Self::with(Plan::default())
    }

    /// The usual contract under a scenario with `extra`.
    pub fn under(extra: &str) -> Self {
        Self::with(Plan { scenario: scenario_text(extra), ..Plan::default() })
    }

    /// Another contract.
    pub fn of(contract: &str) -> Self {
        Self::with(Plan { contract: contract.to_owned(), ..Plan::default() })
    }

    pub fn with(plan: Plan) -> Self {
        let local: SocketAddr = ([127, 0, 0, 1], 0).into();
        let door = Arc::new(Door::bind(local).expect("a port"));
        Self::behind(&door, plan, 1)
    }

    /// One more trial behind a door.
    pub fn behind(door: &Arc<Door>, plan: Plan, number: u32) -> Self {
        let contract = contract(&plan.contract);
        let scenario = scenario(&plan.scenario, &contract);
        let frozen = Frozen::build(&contract).unwrap_or_else(|e| panic!("{e:#?}"));
        let world = Arc::new(frozen.open(&[], &Case::new(), plan.seed).expect("a world"));
        let tokens = Tokens::new(&contract).expect("randomness");
        let clock = Clock::start();
        let memory = Memory::default();
        let secrets = tokens.all().map(Token::expose);
        let redactor =
            Redactor::new(RedactionKey::random().expect("randomness"), secrets).expect("a redactor");
        let journal =
            Journal::over(Box::new(memory.clone()), clock, contract.limits.record, Arc::new(redactor));
        let spec = ChannelsSpec {
            trial: TrialId::new("s", 0, number, false),
            contract: &contract,
            scenario: Some(&scenario),
            tokens: tokens.clone(),
            world: Some(Arc::clone(&world)),
            upstreams: plan.started.into_iter().map(|(name, url)| (name, Started::At(url))).collect(),
            journal,
            clock,
            seed: plan.seed,
        };
        Self {
            channels: Channels::open(door, spec).expect("channels"),
            door: Arc::clone(door),
            clock,
            memory,
            world,
            tokens,
        }
    }

    /// The address a worker reads in this variable.
    pub fn at(&self, variable: &str) -> Address {
        let (_, url) =
            self.channels.env().iter().find(|(name, _)| name == variable).expect("the variable is set");
        Address::parse(url)
    }

    /// A token of the app's environment.
    pub fn variable(&self, variable: &str) -> String {
        let found = self.channels.env().iter().find(|(name, _)| name == variable);
        found.expect("the variable is set").1.clone()
    }

    /// The record, row by row.
    pub fn rows(&self) -> Vec<Value> {
        let bytes = self.memory.bytes.lock().expect("lock").clone();
        let text = String::from_utf8(bytes).expect("UTF-8");
        text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
    }

    /// Rows of one kind.
    pub fn rows_of(&self, kind: &str) -> Vec<Value> {
        self.rows().into_iter().filter(|row| row["row"] == kind).collect()
    }

    /// The record as text.
    pub fn text(&self) -> String {
        String::from_utf8(self.memory.bytes.lock().expect("lock").clone()).expect("UTF-8")
    }

    /// Rows of a table of the world.
    pub fn table(&self, name: &str) -> Vec<Vec<Value>> {
        let tables = self.world.tables().expect("tables");
        tables.into_iter().find(|table| table.table == name).expect("the table").rows
    }

    /// Each attempt as `worker tool decision code`.
    pub fn attempts(&self) -> Vec<String> {
        let word = |value: &Value| value.as_str().unwrap_or("-").to_owned();
        self.rows_of("attempt")
            .iter()
            .map(|row| ["worker", "tool", "decision", "code"].map(|field| word(&row[field])).join(" "))
            .collect()
    }

    /// Each outcome as `kind code status`.
    pub fn outcomes(&self) -> Vec<String> {
        self.rows_of("outcome")
            .iter()
            .map(|row| {
                let code = row["code"].as_str().unwrap_or("-");
                format!("{} {code} {}", row["kind"].as_str().unwrap_or("-"), row["status"])
            })
            .collect()
    }
}

/// Where to send a request.
#[derive(Clone, Debug)]
pub struct Address {
    pub socket: SocketAddr,
    /// Before every path; `/token` or nothing.
    pub prefix: String,
}

impl Address {
    pub fn parse(url: &str) -> Self {
        let rest = url.strip_prefix("http://").expect("http");
        let (socket, prefix) =
            rest.split_once('/').map_or((rest, String::new()), |(s, p)| (s, format!("/{p}")));
        Self { socket: socket.parse().expect("a socket address"), prefix }
    }

    pub fn token(&self) -> &str {
        self.prefix.trim_start_matches('/')
    }

    /// Another path prefix at the same door.
    pub fn with_prefix(&self, prefix: &str) -> Self {
        Self { socket: self.socket, prefix: prefix.to_owned() }
    }

    /// Sends `METHOD target` with these header lines and this body, on a connection of its own.
    pub async fn send(&self, method: &str, target: &str, headers: &[&str], body: &[u8]) -> Answer {
        let mut head = format!(
            "{method} {}{target} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\n",
            self.prefix, self.socket
        );
        for header in headers {
            head += header;
            head += "\r\n";
        }
        let framed = headers.iter().any(|h| {
            let h = h.to_ascii_lowercase();
            h.starts_with("content-length") || h.starts_with("transfer-encoding")
        });
        if !framed && !body.is_empty() {
            head += &format!("content-length: {}\r\n", body.len());
        }
        let mut bytes = (head + "\r\n").into_bytes();
        bytes.extend_from_slice(body);
        self.raw(&bytes).await
    }

    /// Sends bytes, and reads until the other side closes.
    pub async fn raw(&self, bytes: &[u8]) -> Answer {
        let mut stream = TcpStream::connect(self.socket).await.expect("a connection");
        stream.write_all(bytes).await.expect("sent");
        let mut all = Vec::new();
        let read = tokio::time::timeout(Duration::from_secs(20), stream.read_to_end(&mut all)).await;
        // A reset after the answer is an end like any other.
        let reset = read.expect("an end").is_err();
        Answer::parse(&all, reset)
    }

    pub async fn get(&self, target: &str) -> Answer {
        self.send("GET", target, &[], b"").await
    }

    pub async fn post(&self, target: &str, body: &str) -> Answer {
        self.send("POST", target, &["content-type: application/json"], body.as_bytes()).await
    }
}

/// What came back. Status 0: nothing did.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Answer {
    pub status: u16,
    /// Names lower-case, in the order received.
    pub headers: Vec<(String, Vec<u8>)>,
    /// As framed, decoded.
    pub body: Vec<u8>,
    pub trailers: Vec<(String, Vec<u8>)>,
    /// Whether the body came to its end.
    pub whole: bool,
    pub reset: bool,
}

impl Answer {
    fn parse(bytes: &[u8], reset: bool) -> Self {
        let mut rest = bytes;
        loop {
            let Some(end) = find(rest, b"\r\n\r\n") else {
                return Self { reset, ..Self::default() };
            };
            let (head, after) = (&rest[..end], &rest[end + 4..]);
            let mut lines = head.split(|b| *b == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line));
            let status = String::from_utf8_lossy(lines.next().unwrap_or_default());
            let status: u16 = status.split(' ').nth(1).and_then(|s| s.parse().ok()).expect("a status");
            let headers = fields(lines);
            rest = after;
            if (100..200).contains(&status) {
                continue;
            }
            let mut answer = Self { status, headers, reset, ..Self::default() };
            answer.frame(rest);
            return answer;
        }
    }

    fn frame(&mut self, mut rest: &[u8]) {
        if self.header("transfer-encoding").as_deref() == Some("chunked") {
            loop {
                let Some(end) = find(rest, b"\r\n") else {
                    return;
                };
                let size = String::from_utf8_lossy(&rest[..end]);
                let size = usize::from_str_radix(size.split(';').next().unwrap_or_default(), 16)
                    .expect("a chunk's size");
                rest = &rest[end + 2..];
                if size == 0 {
                    let end = find(rest, b"\r\n\r\n").unwrap_or(0);
                    let lines = rest[..end]
                        .split(|b| *b == b'\n')
                        .map(|line| line.strip_suffix(b"\r").unwrap_or(line));
                    self.trailers = fields(lines.filter(|line| !line.is_empty()));
                    self.whole = true;
                    return;
                }
                let here = size.min(rest.len());
                self.body.extend_from_slice(&rest[..here]);
                if rest.len() < size + 2 {
                    return;
                }
                rest = &rest[size + 2..];
            }
        }
        self.body = rest.to_vec();
        let length = self.header("content-length").and_then(|l| l.parse::<usize>().ok());
        self.whole = length.is_none_or(|length| length == rest.len());
    }

    pub fn header(&self, name: &str) -> Option<String> {
        let found = self.headers.iter().find(|(n, _)| n == name);
        found.map(|(_, value)| String::from_utf8_lossy(value).into_owned())
    }

    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|e| panic!("{e}: {self:?}"))
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The refusal's code, checked to be the same in header and body.
    pub fn refusal(&self) -> Option<String> {
        let code = self.header("mocktrial-refusal")?;
        assert_eq!(self.status, 403);
        assert_eq!(self.json()["error"]["code"], code.as_str());
        assert_eq!(self.json()["error"]["retryable"], false);
        Some(code)
    }
}

fn fields<'a>(lines: impl Iterator<Item = &'a [u8]>) -> Vec<(String, Vec<u8>)> {
    lines
        .filter_map(|line| {
            let colon = line.iter().position(|b| *b == b':')?;
            let name = String::from_utf8_lossy(&line[..colon]).to_ascii_lowercase();
            Some((name, line[colon + 1..].trim_ascii().to_vec()))
        })
        .collect()
}

pub fn find(haystack: &[u8], needle: &[u8]) -> Option<usize> {
    haystack.windows(needle.len()).position(|window| window == needle)
}
