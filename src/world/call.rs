//! One trial's world: opened as a copy, called with a permit, read when the trial is over.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Map, Value, json};

use super::answer::{self, Crash};
use super::arguments::Misfit;
use super::cell::Cell;
use super::change;
use super::connection::Link;
use super::freeze::{Frozen, Plan};
use super::guard::Policy;
use super::prepare::placeholder;
use super::statement::NOW;
use crate::journal::{ChangeRow, TableRow};
use crate::name::ToolName;
use crate::permit::Permit;
use crate::scenario::{Answer, Case, Pos, RefusalWhen, Sql, SqliteTool, WorldRefusal};

/// Why there is no world.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WorldError {
    /// A statement of the seed did not run: the author's to mend.
    #[error("the seed does not apply: {what}")]
    Seed {
        /// In the scenario file.
        pos: Pos,
        /// What SQLite said.
        what: String,
    },
    /// SQLite failed us.
    #[error("the world failed: {0}")]
    Failed(String),
}

/// What the world answered.
#[derive(Clone, Debug, PartialEq)]
pub struct WorldAnswer {
    /// Done, refused or crashed: three different things.
    pub kind: AnswerKind,
    /// HTTP status.
    pub status: u16,
    /// Response headers beside the body's own.
    pub headers: BTreeMap<String, String>,
    /// JSON; `None` is no body at all.
    pub body: Option<Value>,
}

/// How a call of the world came out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AnswerKind {
    /// The world did it.
    Done,
    /// The world said no, and is as it was.
    Refused {
        /// The code the contract gives, `invalid_arguments` or `not_found`.
        code: String,
    },
    /// Somebody's defect. The world is as it was.
    Crashed {
        /// Always `world_crashed`.
        code: &'static str,
        /// For people, with the line of the contract; not sent to the app.
        message: String,
    },
}

/// The world of one trial. Calls from many threads take turns; each is one transaction.
pub struct World {
    plan: Arc<Plan>,
    held: Mutex<Held>,
}

struct Held {
    link: Link,
    /// The image after the seed; none where there was no seed, and the frozen image is meant.
    before: Option<Vec<u8>>,
}

impl Frozen {
    /// A fresh copy with `seed` run on it, the values of `case` bound by name. `random` seeds everything random in it.
    pub fn open(&self, seed: &[Sql], case: &Case, random: u64) -> Result<World, WorldError> {
        let plan = &self.0;
        let failed = |e: rusqlite::Error| WorldError::Failed(e.to_string());
        let mut link =
            Link::open(&plan.image, plan.now.as_deref(), &plan.limits, Some(random)).map_err(failed)?;
        let mut before = None;
        if !seed.is_empty() {
            let value = |name: &str| match name {
                NOW => plan.now.clone().map(|now| Cell::Text(now.into_bytes())),
                _ => Cell::of_argument(case.get(name)?).ok(),
            };
            link.conn.execute_batch("BEGIN").map_err(failed)?;
            for sql in seed {
                link.run(Policy::Tool, &sql.text, value)
                    .map_err(|e| WorldError::Seed { pos: sql.pos, what: link.guard.explain(&e) })?;
            }
            link.conn
                .execute_batch("COMMIT")
                .map_err(|e| WorldError::Seed { pos: seed[seed.len() - 1].pos, what: e.to_string() })?;
            before = Some(link.image().map_err(failed)?);
        }
        Ok(World { plan: Arc::clone(plan), held: Mutex::new(Held { link, before }) })
    }

    /// Whether `args` fit what `tool` takes; for tools that an upstream answers as well.
    pub fn fits(&self, tool: &ToolName, args: &Value) -> Result<(), Misfit> {
        match self.0.tools.get(tool).and_then(|prepared| prepared.schema.as_ref()) {
            Some(schema) => schema.fit(args),
            None => Ok(()),
        }
    }
}

impl World {
    /// One call of the tool that `permit` is for. `args` is an object, or null for none.
    pub fn call(&self, permit: Permit, args: &Value) -> WorldAnswer {
        let none = Map::new();
        let (args, whole) = match args {
            Value::Object(fields) => (fields, args),
            Value::Null => (&none, &Value::Object(Map::new())),
            _ => {
                return WorldAnswer::misfit(&Misfit {
                    at: String::new(),
                    what: "an object is wanted".into(),
                });
            }
        };
        let prepared = self.plan.tools.get(permit.tool());
        let Some(tool) = prepared.and_then(|prepared| prepared.tool.as_ref()) else {
            return WorldAnswer::crashed(format!("{} is no tool of this world", permit.tool()));
        };
        if let Some(schema) = prepared.and_then(|prepared| prepared.schema.as_ref())
            && let Err(misfit) = schema.fit(whole)
        {
            return WorldAnswer::misfit(&misfit);
        }
        if let Some(name) = args.iter().find_map(|(name, value)| Cell::of_argument(value).err().map(|_| name))
        {
            return WorldAnswer::misfit(&Misfit {
                at: format!("/{name}"),
                what: "an integer beyond 64 bits".into(),
            });
        }
        let held = self.held();
        let call =
            Call { link: &held.link, args, now: self.plan.now.as_deref(), bytes: self.plan.limits.body };
        call.in_transaction(tool)
    }

    /// Every table as it is now.
    pub fn tables(&self) -> Result<Vec<TableRow>, WorldError> {
        let held = self.held();
        let rows = self.plan.tables.iter().map(|table| table.to_row(&held.link.conn));
        rows.collect::<rusqlite::Result<_>>().map_err(|e| WorldError::Failed(e.to_string()))
    }

    /// What is different from the world after the seed, one row per table that changed.
    pub fn changes(&self) -> Result<Vec<ChangeRow>, WorldError> {
        let held = self.held();
        let before = held.before.as_deref().unwrap_or(&self.plan.image);
        change::between(&self.plan, before, &held.link.conn).map_err(|e| WorldError::Failed(e.to_string()))
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl WorldAnswer {
    fn misfit(misfit: &Misfit) -> Self {
        let code = "invalid_arguments";
        let body = json!({ "error": { "code": code, "message": misfit.to_string(), "at": misfit.at } });
        Self::refused(code, 400, Some(body))
    }

    fn refused(code: &str, status: u16, body: Option<Value>) -> Self {
        Self {
            kind: AnswerKind::Refused { code: code.to_owned() },
            status,
            headers: BTreeMap::new(),
            body: Some(body.unwrap_or_else(|| json!({ "error": { "code": code } }))),
        }
    }

    fn crashed(message: String) -> Self {
        let code = "world_crashed";
        Self {
            kind: AnswerKind::Crashed { code, message },
            status: 500,
            headers: BTreeMap::new(),
            body: Some(json!({ "error": { "code": code } })),
        }
    }
}

/// One call, while the world is held for it.
struct Call<'a> {
    link: &'a Link,
    args: &'a Map<String, Value>,
    now: Option<&'a str>,
    bytes: u64,
}

impl Call<'_> {
    /// Only a call that is done is kept: a refusal and a crash leave the world, its dice included, as it was.
    fn in_transaction(&self, tool: &SqliteTool) -> WorldAnswer {
        let draws = self.link.dice.state();
        let own = |sql: &str| self.link.run(Policy::Own, sql, |_| None);
        if let Err(e) = own("BEGIN") {
            return WorldAnswer::crashed(e.to_string());
        }
        let answer = self.answer(tool).unwrap_or_else(|crash| WorldAnswer::crashed(crash.to_string()));
        let kept = answer.kind == AnswerKind::Done;
        let answer = match kept.then(|| own("COMMIT")) {
            Some(Err(e)) => WorldAnswer::crashed(e.to_string()),
            _ => answer,
        };
        if answer.kind != AnswerKind::Done {
            self.link.dice.restore(draws);
            if !self.link.conn.is_autocommit()
                && let Err(e) = own("ROLLBACK")
            {
                return WorldAnswer::crashed(e.to_string());
            }
        }
        answer
    }

    fn answer(&self, tool: &SqliteTool) -> Result<WorldAnswer, Crash> {
        for refusal in &tool.refuse {
            let found = answer::exists(self.link, &refusal.sql, &|name| self.value(name))?;
            if found == (refusal.condition == RefusalWhen::When) {
                return self.refusal(refusal);
            }
        }
        for sql in &tool.run {
            let ran = self.link.run(Policy::Tool, &sql.text, |name| self.value(name));
            ran.map_err(|e| Crash::new(self.link, sql, &e))?;
        }
        let returns = &tool.returns;
        let body = match &returns.answer {
            Answer::Row(sql) => match self.rows(sql, true)?.pop() {
                Some(row) => Some(row),
                None => return Ok(WorldAnswer::refused("not_found", 404, None)),
            },
            other => self.body(other)?,
        };
        Ok(WorldAnswer {
            kind: AnswerKind::Done,
            status: returns.status,
            headers: returns.headers.clone(),
            body,
        })
    }

    fn refusal(&self, refusal: &WorldRefusal) -> Result<WorldAnswer, Crash> {
        let body = refusal.body.as_ref().map(|body| self.body(body)).transpose()?.flatten();
        Ok(WorldAnswer::refused(&refusal.code, refusal.status, body))
    }

    fn body(&self, answer: &Answer) -> Result<Option<Value>, Crash> {
        Ok(match answer {
            Answer::Row(sql) => self.rows(sql, true)?.pop(),
            Answer::Rows(sql) => Some(Value::Array(self.rows(sql, false)?)),
            Answer::Value(value) => Some(self.filled(value)),
            Answer::Nothing => None,
        })
    }

    fn rows(&self, sql: &Sql, only_first: bool) -> Result<Vec<Value>, Crash> {
        answer::rows(self.link, sql, only_first, self.bytes, &|name| self.value(name))
    }

    fn value(&self, name: &str) -> Option<Cell> {
        match name {
            NOW => self.now.map(|now| Cell::Text(now.as_bytes().to_vec())),
            _ => Cell::of_argument(self.args.get(name)?).ok(),
        }
    }

    /// A fixed answer with arguments in the place of their names; null for one that was not given.
    fn filled(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => match placeholder(text) {
                Some(NOW) => self.now.into(),
                Some(name) => self.args.get(name).cloned().unwrap_or(Value::Null),
                None => value.clone(),
            },
            Value::Array(items) => items.iter().map(|item| self.filled(item)).collect(),
            Value::Object(fields) => {
                let filled = fields.iter().map(|(name, field)| (name.clone(), self.filled(field)));
                Value::Object(filled.collect())
            }
            other => other.clone(),
        }
    }
}
