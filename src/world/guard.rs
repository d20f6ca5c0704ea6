//! What a statement may do: SQLite's authorizer, and a bound on how long it may run.
//!
//! An author's statement never reaches outside its world: no file, no pragma, no extension, no transaction of its own.
//! What else it may do depends on where it stands ([`Policy`]). Everything not named here is denied.

use std::sync::atomic::{AtomicU8, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::hooks::{AuthAction, AuthContext, Authorization};
use rusqlite::limits::Limit;
use rusqlite::{Connection, Result};

use crate::clock::Clock;

/// Whose statement it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Policy {
    /// Ours: transactions, the schema's own tables.
    Own,
    /// A schema file: may also make tables, views, indexes and triggers.
    Schema,
    /// A tool or a seed: reads and writes rows.
    Tool,
    /// A check: reads rows, and gives the same answer whenever it is asked.
    Check,
}

/// How much one statement may take.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    /// `limits.sql`.
    pub time: Duration,
    /// Bytes of one value or row.
    pub value: u64,
}

/// Instructions of SQLite's virtual machine in one statement: a bound that does not hang on how fast the machine is.
pub(super) const MAX_STEPS: u64 = 20_000_000;
const STEPS_BETWEEN_LOOKS: u32 = 1000;

/// The guard of one connection.
#[derive(Clone)]
pub(super) struct Guard(Arc<State>);

struct State {
    policy: AtomicU8,
    steps: AtomicU64,
    deadline: AtomicU64,
    why: Mutex<Option<String>>,
    clock: Clock,
    bounds: Bounds,
}

impl Guard {
    /// Puts a guard on `conn`. It starts under [`Policy::Own`].
    pub fn install(conn: &mut Connection, clock: Clock, bounds: Bounds) -> Result<Self> {
        let state = Arc::new(State {
            policy: AtomicU8::new(Policy::Own as u8),
            steps: AtomicU64::new(0),
            deadline: AtomicU64::new(u64::MAX),
            why: Mutex::new(None),
            clock,
            bounds,
        });
        // "text" in double quotes would be taken for a column when there is one, and for a text when there is none.
        conn.set_db_config(DbConfig::SQLITE_DBCONFIG_DQS_DML, false)?;
        conn.set_db_config(DbConfig::SQLITE_DBCONFIG_DQS_DDL, false)?;
        conn.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
        conn.set_limit(Limit::SQLITE_LIMIT_LENGTH, i32::try_from(bounds.value).unwrap_or(i32::MAX))?;
        let looking = Arc::clone(&state);
        conn.progress_handler(
            i32::try_from(STEPS_BETWEEN_LOOKS).unwrap_or(1),
            Some(move || looking.is_spent()),
        )?;
        let deciding = Arc::clone(&state);
        conn.authorizer(Some(move |asked: AuthContext<'_>| match decide(deciding.policy(), asked.action) {
            Ok(()) => Authorization::Allow,
            Err(why) => {
                deciding.note(why);
                Authorization::Deny
            }
        }))?;
        Ok(Self(state))
    }

    /// Runs `work` under `policy`, then goes back to what was.
    pub fn under<T>(&self, policy: Policy, work: impl FnOnce() -> T) -> T {
        let before = self.0.policy.swap(policy as u8, Relaxed);
        let done = work();
        self.0.policy.store(before, Relaxed);
        done
    }

    /// A statement begins: its bounds count from here.
    pub fn begin(&self) {
        let deadline = self.0.clock.now().plus(self.0.bounds.time);
        self.0.deadline.store(deadline.0, Relaxed);
        self.0.steps.store(0, Relaxed);
        *self.0.why.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// What is wrong, told in the author's terms: the guard's own reason where it has one, else SQLite's message.
    pub fn explain(&self, error: &rusqlite::Error) -> String {
        let mut why = self.0.why.lock().unwrap_or_else(PoisonError::into_inner);
        why.take().unwrap_or_else(|| match error {
            // The variant's own text repeats the statement.
            rusqlite::Error::SqlInputError { msg, .. } => msg.clone(),
            rusqlite::Error::MultipleStatement => "more than one statement".to_owned(),
            rusqlite::Error::Empty => "no statement".to_owned(),
            other => other.to_string(),
        })
    }
}

impl State {
    fn policy(&self) -> Policy {
        [Policy::Own, Policy::Schema, Policy::Tool]
            .into_iter()
            .find(|policy| *policy as u8 == self.policy.load(Relaxed))
            .unwrap_or(Policy::Check)
    }

    fn is_spent(&self) -> bool {
        // What we ask ourselves is bounded by the size of the world.
        if self.policy() == Policy::Own {
            return false;
        }
        let between = u64::from(STEPS_BETWEEN_LOOKS);
        let steps = self.steps.fetch_add(between, Relaxed);
        if steps > MAX_STEPS {
            self.note(format!("took more than {MAX_STEPS} steps"));
        } else if self.clock.now().0 > self.deadline.load(Relaxed) {
            self.note(format!("ran longer than {:?}", self.bounds.time));
        } else {
            return false;
        }
        true
    }

    fn note(&self, why: String) {
        *self.why.lock().unwrap_or_else(PoisonError::into_inner) = Some(why);
    }
}

/// Functions that reach outside the database file.
const OUTSIDE: &[&str] = &["load_extension", "fts3_tokenizer"];

const FIXED: &str = "the schema is fixed before the trial: only schema files may change it";

fn decide(policy: Policy, action: AuthAction<'_>) -> std::result::Result<(), String> {
    use AuthAction as A;
    if policy == Policy::Own {
        return Ok(());
    }
    match action {
        // FTS5 asks this of its own tables on every read.
        A::Select | A::Recursive | A::Pragma { pragma_name: "data_version", pragma_value: None } => Ok(()),
        A::Function { function_name } => may_call(function_name),
        A::Read { table_name, .. } => may_see(policy, table_name),
        A::Insert { table_name } | A::Update { table_name, .. } | A::Delete { table_name } => {
            if policy == Policy::Check {
                return Err(format!("a check may only read, and this writes to {table_name}"));
            }
            if policy == Policy::Tool && is_inner(table_name) {
                // Making or dropping a table begins with a write to `sqlite_schema`.
                return Err(FIXED.into());
            }
            Ok(())
        }
        A::Attach { .. } | A::Detach { .. } => {
            Err("a world has one database: ATTACH and DETACH are refused".into())
        }
        A::Pragma { pragma_name, .. } => {
            Err(format!("PRAGMA {pragma_name} is refused: a world's settings are fixed"))
        }
        A::Transaction { .. } | A::Savepoint { .. } => {
            Err("transactions are the world's own: BEGIN, COMMIT, ROLLBACK and SAVEPOINT are refused".into())
        }
        A::CreateTempIndex { .. }
        | A::CreateTempTable { .. }
        | A::CreateTempTrigger { .. }
        | A::CreateTempView { .. }
        | A::DropTempIndex { .. }
        | A::DropTempTable { .. }
        | A::DropTempTrigger { .. }
        | A::DropTempView { .. } => {
            Err("temporary tables, views and triggers are refused: they would not be in the record".into())
        }
        A::CreateVtable { module_name, .. } | A::DropVtable { module_name, .. }
            if !module_name.eq_ignore_ascii_case("fts5") =>
        {
            Err(format!("the virtual table module {module_name} is refused: fts5 is the only one"))
        }
        A::CreateVtable { .. }
        | A::DropVtable { .. }
        | A::CreateIndex { .. }
        | A::CreateTable { .. }
        | A::CreateTrigger { .. }
        | A::CreateView { .. }
        | A::DropIndex { .. }
        | A::DropTable { .. }
        | A::DropTrigger { .. }
        | A::DropView { .. }
        | A::AlterTable { .. }
        | A::Reindex { .. }
        | A::Analyze { .. } => {
            if policy == Policy::Schema {
                Ok(())
            } else {
                Err(FIXED.into())
            }
        }
        _ => Err("not allowed in a world".into()),
    }
}

// Which functions a check may call is not asked here: SQLite also asks about the functions in the default of every
// column that is read. See `tokens::inconstant`.
fn may_call(name: &str) -> std::result::Result<(), String> {
    if OUTSIDE.iter().any(|known| known.eq_ignore_ascii_case(name)) {
        return Err(format!("{name}() is refused: it reaches outside the world"));
    }
    Ok(())
}

fn may_see(policy: Policy, table: &str) -> std::result::Result<(), String> {
    if policy != Policy::Schema && is_inner(table) {
        return Err(format!("{table} is SQLite's own, and no table of the world"));
    }
    Ok(())
}

fn is_inner(table: &str) -> bool {
    let table = table.to_ascii_lowercase();
    table.starts_with("sqlite_") || table.starts_with("pragma_") || table == "dbstat"
}
