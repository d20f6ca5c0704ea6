//! The names things go by: newtypes that can only hold what they say, and the secret token of a channel.
//!
//! A name is never evidence (promise 2), so nothing here looks inside one; ids compare exactly and by case.

use std::fmt;
use std::sync::Arc;

use subtle::ConstantTimeEq;

/// One agent of the app, coordinator included. `[a-z0-9][a-z0-9_-]{0,63}`, never `self`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WorkerId(Arc<str>);

/// Why a text is no worker id.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WorkerIdError {
    /// Nothing, or nothing but white space.
    #[error("a worker id may not be blank")]
    Blank,
    /// The one word that would read as "the worker itself".
    #[error("`self` is not a worker id: it would read as the worker that asks")]
    Reserved,
    /// Longer than 64 characters, or a character outside the set.
    #[error("a worker id is 1 to 64 of a-z, 0-9, `_` and `-`, and starts with a letter or digit")]
    Shape,
}

impl WorkerId {
    /// Checks `text` and takes it as an id. No folding, no trimming: what is written is what is meant.
    pub fn new(text: &str) -> Result<Self, WorkerIdError> {
        if text.trim().is_empty() {
            return Err(WorkerIdError::Blank);
        }
        if text == "self" {
            return Err(WorkerIdError::Reserved);
        }
        let head = text.as_bytes()[0];
        let starts = head.is_ascii_lowercase() || head.is_ascii_digit();
        let rest =
            text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_' || b == b'-');
        if text.len() > 64 || !starts || !rest {
            return Err(WorkerIdError::Shape);
        }
        Ok(Self(text.into()))
    }

    /// The id as written.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A tool as the contract names it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ToolName(Arc<str>);

impl ToolName {
    /// Takes any text: which tools exist is the contract's to say.
    pub fn new(text: &str) -> Self {
        Self(text.into())
    }

    /// The name as written.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// One trial of a run: `SCENARIO/CASE-NUMBER`, with `-retry` where it is one, and `-resumeN` where it stands for one that
/// was cut off.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TrialId(Arc<str>);

impl TrialId {
    /// `case` is the index of the case, 0 where the scenario has none; `number` counts repeats from 1.
    pub fn new(scenario: &str, case: usize, number: u32, retry: bool) -> Self {
        let tail = if retry { "-retry" } else { "" };
        Self(format!("{scenario}/{case}-{number}{tail}").into())
    }

    /// A trial that is run beside the plan, only to show which workers' calls come through their channels.
    pub fn binding(scenario: &str, case: usize) -> Self {
        Self(format!("{scenario}/{case}-binding").into())
    }

    /// The same trial, run again in the run's resumption of that number; 0 is the run itself.
    pub fn resumed(self, resumption: u32) -> Self {
        match resumption {
            0 => self,
            n => Self(format!("{self}-resume{n}").into()),
        }
    }

    /// The id as a run file lists it.
    pub fn listed(id: &str) -> Self {
        Self(id.into())
    }

    /// The id as it stands in file names and reports.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

macro_rules! shown {
    ($($name:ident),*) => {$(
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(&*self.0, f)
            }
        }
    )*};
}
shown!(WorkerId, ToolName, TrialId);

/// The secret in an address that says which channel, or which trial's receiver, is meant.
///
/// 128 random bits as 32 hex digits. Compared in constant time; `Debug` never shows it, and there is no `Display`:
/// whoever writes it somewhere calls [`Token::expose`] and answers for that.
#[derive(Clone)]
pub struct Token(Arc<str>);

impl Token {
    /// A new one from the operating system's randomness; an error where the system has none to give.
    pub fn random() -> Result<Self, getrandom::Error> {
        use fmt::Write;
        let mut bytes = [0u8; 16];
        getrandom::fill(&mut bytes)?;
        let mut text = String::with_capacity(32);
        for byte in bytes {
            let _ = write!(text, "{byte:02x}");
        }
        Ok(Self(text.into()))
    }

    /// Whether `claim` is this token, in time that depends on its length alone.
    pub fn matches(&self, claim: &str) -> bool {
        self.0.as_bytes().ct_eq(claim.as_bytes()).into()
    }

    /// The token itself, for an address handed to the app and for the redactor.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn worker_ids_are_exact_and_never_self() {
        for good in ["a", "0", "order_lookup", "a-b", &"x".repeat(64)] {
            assert!(WorkerId::new(good).is_ok(), "{good}");
        }
        for bad in ["Order", "_a", "-a", "a b", "é", "a.b", &"x".repeat(65)] {
            assert_eq!(WorkerId::new(bad), Err(WorkerIdError::Shape), "{bad}");
        }
        assert_eq!(WorkerId::new(""), Err(WorkerIdError::Blank));
        assert_eq!(WorkerId::new(" \t"), Err(WorkerIdError::Blank));
        assert_eq!(WorkerId::new("self"), Err(WorkerIdError::Reserved));
    }

    #[test]
    fn a_token_shows_itself_only_when_exposed() {
        let token = Token::random().expect("randomness");
        assert_eq!(token.expose().len(), 32);
        assert!(!format!("{token:?}").contains(token.expose()));
        assert!(token.matches(token.expose()));
        assert!(!token.matches(&token.expose()[..31]));
        assert!(!token.matches(&format!("{0}{0}", token.expose())));
    }
}
