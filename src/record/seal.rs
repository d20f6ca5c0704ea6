//! The end of a record: the verdicts, what they come to, and the seal over everything before.
//!
//! The seal's `self` is the SHA-256 of the row's own form without that field. A signature covers the row's form
//! without `signature` and `self`: that is its head, and so every row, its count and its verdicts. What is signed is
//! DSSE's pre-authentication encoding of that form under [`PAYLOAD_TYPE`], so it can never be taken for anything else.

use std::collections::BTreeMap;

use super::keys::SigningKey;
use crate::journal::canonical::CanonicalError;
use crate::journal::{EndRow, FORMAT, Head, Journal, JournalError, SealRow, VerdictRow};

/// The type of what a signature covers.
pub const PAYLOAD_TYPE: &str = "application/vnd.mocktrial.seal.v1+json";

/// A record that is complete and on the disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sealed {
    /// Rows of the record, the seal included.
    pub rows: u64,
    /// The digest of the row before the seal, hex: the head of the chain.
    pub head: String,
    /// The seal's own digest (`self`), hex: it binds the head and the seal's other fields, and anchors the record.
    pub seal: String,
}

/// Why a record was not sealed.
#[derive(Debug, thiserror::Error)]
pub enum SealError {
    /// A row could not be written.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// Two verdicts for one sub-goal of one subject.
    #[error("two verdicts for `{0}`")]
    TwoVerdicts(String),
}

impl From<CanonicalError> for SealError {
    fn from(error: CanonicalError) -> Self {
        Self::Journal(error.into())
    }
}

/// Writes the verdicts, the end and the seal, and puts the record on the disk. The journal takes no row afterwards.
pub fn seal(
    journal: &Journal,
    verdicts: &[VerdictRow],
    end: &EndRow,
    key: Option<&SigningKey>,
) -> Result<Sealed, SealError> {
    let map = verdict_map(verdicts).map_err(SealError::TwoVerdicts)?;
    for row in verdicts {
        journal.append(row)?;
    }
    journal.append(end)?;
    let row = journal.seal_with(|place| {
        let mut row = SealRow {
            rows: place.seq,
            head: place.prev(),
            verdicts: map,
            format: FORMAT,
            signature: None,
            own: String::new(),
        };
        if let Some(key) = key {
            let message = signed_message(&place.form(&row, &["self", "signature"])?);
            row.signature = Some(serde_json::json!({
                "alg": "ed25519",
                "key": key.public().to_string(),
                "sig": key.sign(&message),
            }));
        }
        row.own = Head::of(&place.form(&row, &["self"])?).hex();
        Ok::<_, SealError>(row)
    })?;
    Ok(Sealed { rows: row.rows, head: row.head, seal: row.own })
}

/// Sub-goal id to verdict: `passed`, `failed` or `unknown: REASON`. An id that several subjects have (built-in goals)
/// stands once for each, as `ID (SUBJECT)`. The error names a sub-goal with two verdicts.
pub(super) fn verdict_map(rows: &[VerdictRow]) -> Result<BTreeMap<String, String>, String> {
    let mut uses: BTreeMap<&str, u32> = BTreeMap::new();
    for row in rows {
        *uses.entry(&row.sub_goal).or_default() += 1;
    }
    let mut map = BTreeMap::new();
    for row in rows {
        let name = match uses.get(row.sub_goal.as_str()) {
            Some(1) | None => row.sub_goal.clone(),
            Some(_) => format!("{} ({})", row.sub_goal, row.subject),
        };
        let verdict = match &row.reason {
            Some(reason) => format!("{}: {reason}", row.verdict),
            None => row.verdict.clone(),
        };
        if map.insert(name.clone(), verdict).is_some() {
            return Err(name);
        }
    }
    Ok(map)
}

/// DSSE v1 pre-authentication encoding.
pub(super) fn signed_message(body: &[u8]) -> Vec<u8> {
    pre_authentication_encoding(PAYLOAD_TYPE, body)
}

pub(super) fn pre_authentication_encoding(kind: &str, body: &[u8]) -> Vec<u8> {
    let head = format!("DSSEv1 {} {kind} {} ", kind.len(), body.len());
    [head.as_bytes(), body].concat()
}
