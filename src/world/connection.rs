//! One guarded connection to one database in memory: how every world, and every set of closed tables, is held.

use rusqlite::{Connection, MAIN_DB, Result};

use super::cell::Cell;
use super::functions::{self, Dice};
use super::guard::{Bounds, Guard, Policy};
use super::statement::bind;
use crate::clock::Clock;
use crate::scenario::Limits;

pub(super) struct Link {
    pub conn: Connection,
    pub guard: Guard,
    pub dice: Dice,
}

/// Statements kept prepared per connection: more than most worlds have.
const CACHED: usize = 256;
const PAGE: u64 = 4096;

impl Link {
    /// A copy of `image`, or an empty database where the image is empty. Without a seed nothing in it is random.
    pub fn open(image: &[u8], now: Option<&str>, limits: &Limits, seed: Option<u64>) -> Result<Self> {
        let mut conn = Connection::open_in_memory()?;
        conn.set_prepared_statement_cache_capacity(CACHED);
        let bounds = Bounds { time: limits.sql, value: limits.body };
        let guard = Guard::install(&mut conn, Clock::start(), bounds)?;
        // Before the image: its schema may call them.
        let dice = Dice::new(seed.unwrap_or_default());
        match seed {
            Some(_) => functions::install_dice(&conn, &dice)?,
            None => functions::install_refusals(&conn)?,
        }
        functions::install_time(&conn, now)?;
        if !image.is_empty() {
            conn.deserialize_read_exact(MAIN_DB, image, image.len(), false)?;
        }
        // The whole world is to fit into the record.
        conn.pragma_update(None, "max_page_count", i64::try_from(limits.record / PAGE).unwrap_or(i64::MAX))?;
        Ok(Self { conn, guard, dice })
    }

    /// The database as its file would be.
    pub fn image(&mut self) -> Result<Vec<u8>> {
        Ok(self.conn.serialize(MAIN_DB)?.to_vec())
    }

    /// Runs one statement to its end and lets its rows go.
    pub fn run(&self, policy: Policy, sql: &str, value: impl Fn(&str) -> Option<Cell>) -> Result<()> {
        self.guard.begin();
        self.guard.under(policy, || {
            let mut stmt = self.conn.prepare_cached(sql)?;
            bind(&mut stmt, &value)?;
            let mut rows = stmt.raw_query();
            while rows.next()?.is_some() {}
            Ok(())
        })
    }
}
