//! A world's time and randomness, in the place of SQLite's: same names, same results for the same trial.
//!
//! Time stands still: `now` of a world is what the contract says, from the first statement of a trial to the last, so
//! that nothing hangs on how fast an app is. `date('now')`, `CURRENT_TIMESTAMP` and their like give that time. What
//! would read the machine (its clock, its time zone) is an error. All other date arithmetic is SQLite's own, asked of
//! a connection that is there for nothing else.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use rusqlite::functions::{Context, FunctionFlags};
use rusqlite::types::Value;
use rusqlite::{Connection, Error, Result, params_from_iter};

use super::statement::CONSTANT;
use super::tokens::{DATE_FUNCTIONS, INCONSTANT, WALL_CLOCK, ZONED};

/// The randomness of one trial (SplitMix64). Copies share the state.
#[derive(Clone, Debug)]
pub(super) struct Dice(Arc<AtomicU64>);

impl Dice {
    pub fn new(seed: u64) -> Self {
        Self(Arc::new(AtomicU64::new(seed)))
    }

    /// What [`Dice::restore`] goes back to.
    pub fn state(&self) -> u64 {
        self.0.load(Relaxed)
    }

    /// A call that is rolled back takes its draws with it.
    pub fn restore(&self, state: u64) {
        self.0.store(state, Relaxed);
    }

    fn draw(&self) -> u64 {
        const STEP: u64 = 0x9e37_79b9_7f4a_7c15;
        let state = self.0.fetch_add(STEP, Relaxed).wrapping_add(STEP);
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}

/// Longest answer of `randomblob`.
const MAX_RANDOM_BLOB: usize = 1 << 16;

/// Puts `random()` and `randomblob(n)` on `conn`.
pub(super) fn install_dice(conn: &Connection, dice: &Dice) -> Result<()> {
    let flags = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_INNOCUOUS;
    let drawn = dice.clone();
    conn.create_scalar_function("random", 0, flags, move |_| Ok(drawn.draw().cast_signed()))?;
    let drawn = dice.clone();
    conn.create_scalar_function("randomblob", 1, flags, move |ctx| {
        // As SQLite has it, fewer than one byte is one byte.
        let length = usize::try_from(ctx.get::<i64>(0)?).unwrap_or(1).max(1);
        if length > MAX_RANDOM_BLOB {
            return Err(failure(format!("randomblob({length}) is over {MAX_RANDOM_BLOB} bytes")));
        }
        let mut bytes = Vec::with_capacity(length + 8);
        while bytes.len() < length {
            bytes.extend(drawn.draw().to_be_bytes());
        }
        bytes.truncate(length);
        Ok(bytes)
    })
}

/// Puts refusals in the place of every function whose answer is not the same each time, however it is reached.
pub(super) fn install_refusals(conn: &Connection) -> Result<()> {
    let flags = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_INNOCUOUS;
    for name in INCONSTANT {
        conn.create_scalar_function(*name, -1, flags, move |_| -> Result<Value> {
            Err(failure(format!("{name} is refused: {CONSTANT}")))
        })?;
    }
    Ok(())
}

/// Puts the date functions and `CURRENT_…` on `conn`. Without `now`, or where `now` may not be read, they say so.
pub(super) fn install_time(conn: &Connection, now: Option<&str>) -> Result<()> {
    // Deterministic: the same arguments give the same result as long as the connection lives, so that they may stand
    // in CHECK constraints and indexes as SQLite's own may.
    let flags =
        FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_INNOCUOUS | FunctionFlags::SQLITE_DETERMINISTIC;
    let dates = Arc::new(Dates { now: now.map(str::to_owned), scratch: OnceLock::new() });
    for (name, time_values) in DATE_FUNCTIONS {
        let dates = Arc::clone(&dates);
        conn.create_scalar_function(*name, -1, flags, move |ctx| {
            dates.ask(name, time_values, arguments(ctx)?)
        })?;
    }
    for (name, function) in
        [("current_date", "date"), ("current_time", "time"), ("current_timestamp", "datetime")]
    {
        let dates = Arc::clone(&dates);
        conn.create_scalar_function(name, 0, flags, move |_| dates.ask(function, &[0], Vec::new()))?;
    }
    Ok(())
}

fn arguments(ctx: &Context<'_>) -> Result<Vec<Value>> {
    (0..ctx.len()).map(|i| ctx.get(i)).collect()
}

struct Dates {
    now: Option<String>,
    scratch: OnceLock<Mutex<Connection>>,
}

impl Dates {
    fn ask(&self, name: &str, time_values: &[usize], mut arguments: Vec<Value>) -> Result<Value> {
        // An absent time value means `now`; SQLite's own count of arguments is kept otherwise.
        if let [only] = time_values
            && arguments.len() == *only
        {
            arguments.push(Value::Text("now".into()));
        }
        for (i, argument) in arguments.iter_mut().enumerate() {
            let Value::Text(text) = &argument else {
                continue;
            };
            let is = |words: &[&str]| words.iter().any(|word| text.eq_ignore_ascii_case(word));
            if !time_values.contains(&i) {
                if is(ZONED) {
                    return Err(failure(format!(
                        "{name}(…, '{text}') is refused: it reads the machine's time zone"
                    )));
                }
            } else if text.eq_ignore_ascii_case("now") {
                let now = self.now.clone().ok_or_else(|| {
                    failure(format!("{name}('now') is refused: no time of the world is known here"))
                })?;
                *argument = Value::Text(now);
            } else if is(WALL_CLOCK) {
                return Err(failure(format!("{name}('{text}') is refused: it reads the machine's clock")));
            }
        }
        let places = vec!["?"; arguments.len()].join(",");
        let scratch = match self.scratch.get() {
            Some(scratch) => scratch,
            None => {
                let opened = Mutex::new(Connection::open_in_memory()?);
                self.scratch.get_or_init(|| opened)
            }
        };
        let scratch = scratch.lock().unwrap_or_else(PoisonError::into_inner);
        scratch
            .prepare_cached(&format!("SELECT {name}({places})"))?
            .query_one(params_from_iter(arguments), |row| row.get(0))
    }
}

fn failure(why: String) -> Error {
    Error::UserFunctionError(why.into())
}
