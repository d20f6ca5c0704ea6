//! Ed25519 keys and their text form: `mocktrial-secret-key:BASE64` and `mocktrial-public-key:BASE64`, one a line.
//!
//! The prefix keeps the two from being taken for each other. A secret key is shown by nothing here but [`keygen`].

use std::fmt;
use std::fs::File;
use std::io::Read;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ed25519_dalek::Signer;

const SECRET: &str = "mocktrial-secret-key:";
const PUBLIC: &str = "mocktrial-public-key:";
/// No key's file is longer, in bytes; what follows is not read.
const LONGEST: u64 = 4096;

/// Why a text is no key. Never shows the text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// A secret key was asked for.
    #[error("not a secret key: it starts with `{SECRET}`")]
    NotSecret,
    /// A public key was asked for.
    #[error("not a public key: it starts with `{PUBLIC}`")]
    NotPublic,
    /// No base64, a wrong length, or no point of the curve.
    #[error("a key of the wrong shape: 32 bytes in base64 are asked for")]
    Shape,
    /// The secret key itself stands where its place was asked for: others can read a command line.
    #[error("a secret key is read from a file or `env:NAME`, and never given as an argument")]
    Literal,
    /// The file or variable could not be read.
    #[error("cannot read the key from {place}: {why}")]
    Unread {
        /// As asked for.
        place: String,
        /// Why.
        why: String,
    },
    /// The system has no randomness to give.
    #[error("no randomness: {0}")]
    Random(String),
}

/// A key that signs seals.
#[derive(Clone)]
pub struct SigningKey(ed25519_dalek::SigningKey);

/// A key that signatures are checked with.
#[derive(Clone, PartialEq, Eq)]
pub struct VerifyingKey(ed25519_dalek::VerifyingKey);

/// Makes a key: the text to keep secret, and the public key.
pub fn keygen() -> Result<(String, VerifyingKey), KeyError> {
    let mut seed = [0; 32];
    getrandom::fill(&mut seed).map_err(|error| KeyError::Random(error.to_string()))?;
    let key = SigningKey(ed25519_dalek::SigningKey::from_bytes(&seed));
    Ok((format!("{SECRET}{}", STANDARD.encode(seed)), key.public()))
}

impl SigningKey {
    /// Reads the text form, from a file's content or a variable's.
    pub fn parse(text: &str) -> Result<Self, KeyError> {
        let seed = decode(text, SECRET).ok_or(KeyError::NotSecret)??;
        Ok(Self(ed25519_dalek::SigningKey::from_bytes(&seed)))
    }

    /// Reads it from `place`: `env:NAME`, or the path of a file.
    pub fn load(place: &str) -> Result<Self, KeyError> {
        if place.contains(SECRET) {
            return Err(KeyError::Literal);
        }
        Self::parse(&fetch(place)?)
    }

    /// The key its signatures are checked with.
    pub fn public(&self) -> VerifyingKey {
        VerifyingKey(self.0.verifying_key())
    }

    /// 64 bytes in base64.
    pub(super) fn sign(&self, message: &[u8]) -> String {
        STANDARD.encode(self.0.sign(message).to_bytes())
    }
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SigningKey(…)")
    }
}

impl VerifyingKey {
    /// Reads the text form.
    pub fn parse(text: &str) -> Result<Self, KeyError> {
        let bytes = decode(text, PUBLIC).ok_or(KeyError::NotPublic)??;
        ed25519_dalek::VerifyingKey::from_bytes(&bytes).map(Self).map_err(|_| KeyError::Shape)
    }

    /// Reads it from `place`: the key's own text, `env:NAME`, or the path of a file.
    pub fn load(place: &str) -> Result<Self, KeyError> {
        if place.starts_with(PUBLIC) || place.contains(SECRET) {
            return Self::parse(place);
        }
        Self::parse(&fetch(place)?)
    }

    /// Whether `signature` (base64) is of this key over `message`; strict, so that a signature has one form and weak
    /// keys sign nothing.
    pub(super) fn holds(&self, message: &[u8], signature: &str) -> bool {
        let Ok(bytes) = STANDARD.decode(signature) else {
            return false;
        };
        ed25519_dalek::Signature::from_slice(&bytes)
            .is_ok_and(|signature| self.0.verify_strict(message, &signature).is_ok())
    }
}

impl fmt::Display for VerifyingKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{PUBLIC}{}", STANDARD.encode(self.0.as_bytes()))
    }
}

impl fmt::Debug for VerifyingKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

fn fetch(place: &str) -> Result<String, KeyError> {
    let unread = |why: String| KeyError::Unread { place: place.to_owned(), why };
    if let Some(name) = place.strip_prefix("env:") {
        // The system's own words would show a value that is no Unicode.
        return std::env::var(name).map_err(|_| unread("no such variable, or no text".to_owned()));
    }
    let mut text = String::new();
    File::open(place)
        .and_then(|file| file.take(LONGEST).read_to_string(&mut text))
        .map_err(|error| unread(error.to_string()))?;
    Ok(text)
}

fn decode(text: &str, prefix: &str) -> Option<Result<[u8; 32], KeyError>> {
    let inner = text.trim().strip_prefix(prefix)?;
    let bytes = STANDARD.decode(inner).ok().and_then(|bytes| bytes.try_into().ok());
    Some(bytes.ok_or(KeyError::Shape))
}
