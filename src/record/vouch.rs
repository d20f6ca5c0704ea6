//! What `verify` says: what a record that holds can be trusted for, or the first bad row and why it is bad.

use std::fmt;
use std::io;

use super::keys::VerifyingKey;
use crate::journal::canonical::NotCanonical;
use crate::verdict::Outcome;

/// What a record is compared with.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options<'a> {
    /// The key that must have signed the seal.
    pub key: Option<&'a VerifyingKey>,
    /// What the run file says of the record.
    pub anchor: Option<&'a Anchor>,
}

/// A record as known from elsewhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Anchor {
    /// The seal's own digest, hex.
    pub seal: String,
}

/// What a record that holds can be trusted for. Its `Display` also says what is not proven.
#[must_use]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Vouched {
    /// Rows, the seal included.
    pub rows: u64,
    /// The head of the chain, hex.
    pub head: String,
    /// The seal's own digest, hex.
    pub seal: String,
    /// The seal is the one known from elsewhere.
    pub anchored: bool,
    /// Whose valid signature the seal has.
    pub signed_by: Option<VerifyingKey>,
    /// That key is the one that was asked for.
    pub key_known: bool,
    /// The trial's outcome.
    pub outcome: Outcome,
}

impl fmt::Display for Vouched {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "self-consistent: {} rows, seal {}", self.rows, self.seal)?;
        if self.anchored {
            writeln!(f, "anchored: the run file names this seal")?;
        }
        match &self.signed_by {
            Some(key) if self.key_known => writeln!(f, "signed by {key}, the key asked for")?,
            Some(key) => writeln!(f, "signed by {key}; whose key that is was not asked (--key)")?,
            None => {}
        }
        f.write_str("not proven: ")?;
        f.write_str(match (self.key_known, self.anchored) {
            (true, _) => {
                "that the holder of the key recorded the truth, or that this is the only record of the trial"
            }
            (false, true) => "that nobody wrote record and run file anew, together",
            (false, false) => {
                "that nobody wrote the whole record anew: for that, compare the seal with one kept elsewhere, or sign"
            }
        })
    }
}

/// The first bad row, and why it is bad.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("row {row}: {why}")]
pub struct Broken {
    /// Its number, from 1; rows and lines count alike. One more than there are rows where one is missing at the end.
    pub row: u64,
    /// What is wrong.
    pub why: Flaw,
}

/// What is wrong with a row.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Flaw {
    /// No newline at the end of the file.
    #[error("cut off")]
    Cut,
    /// Longer than any row is.
    #[error("too long")]
    TooLong,
    /// Not the one form that a row has.
    #[error("not in canonical form, {0}")]
    NotCanonical(#[from] NotCanonical),
    /// A field is missing or of the wrong shape.
    #[error("`{0}` is missing or malformed")]
    Field(&'static str),
    /// Another row stands in this place: one was deleted, inserted, repeated or swapped.
    #[error("row {found} stands in its place")]
    OutOfPlace {
        /// The `seq` that stands here.
        found: u64,
    },
    /// The row after it holds another digest.
    #[error("changed: the row after it holds the digest of another")]
    Changed,
    /// Its own `prev` is not the digest of the row before.
    #[error("`prev` is not the digest of the row before")]
    Prev,
    /// Earlier than the row before.
    #[error("earlier than the row before")]
    TimeBack,
    /// The first row is no `trial`, or another is one.
    #[error("the first row, and no other, is a `trial`")]
    Trial,
    /// A format this program does not know.
    #[error("format {0} is not known here")]
    Format(u64),
    /// No end, two, or one that does not follow from the verdicts.
    #[error("the end does not follow from the verdicts: {0}")]
    End(&'static str),
    /// The file ends without a seal.
    #[error("not sealed: the record ends here")]
    NotSealed,
    /// The seal does not say what the record says.
    #[error("the seal is wrong: {0}")]
    Seal(&'static str),
    /// The signature is not over this seal.
    #[error("the signature does not hold")]
    Signature,
    /// A key was asked for, and the seal has no signature.
    #[error("not signed")]
    NotSigned,
    /// Signed, but not by the key that was asked for.
    #[error("signed by another key")]
    OtherKey,
    /// The seal is not the one known from elsewhere.
    #[error("this is not the record that the run file names")]
    OtherRecord,
    /// Something follows the seal.
    #[error("a row after the seal")]
    AfterSeal,
}

/// Why a record does not hold, or could not be looked at.
#[derive(Debug, thiserror::Error)]
pub enum VerifyError {
    /// It does not hold.
    #[error(transparent)]
    Broken(#[from] Broken),
    /// It could not be read.
    #[error("cannot read the record: {0}")]
    Io(#[from] io::Error),
}
