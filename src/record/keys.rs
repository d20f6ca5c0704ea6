//! Ed25519 keys and their text form: `mocktrial-secret-key:BASE64` and `mocktrial-public-key:BASE64`, one a line.
//!
//! The prefix keeps the two from being taken for each other. A secret key is shown by nothing here but [`keygen`].

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ed25519_dalek::Signer;

const SECRET: &str = "mocktrial-secret-key:";
const PUBLIC: &str = "mocktrial-public-key:";

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
        ed25519_dalek::VerifyingKey::from_bytes(&bytes)
            .map(Self)
            .map_err(|_| KeyError::Shape)
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

fn decode(text: &str, prefix: &str) -> Option<Result<[u8; 32], KeyError>> {
    let inner = text.trim().strip_prefix(prefix)?;
    let bytes = STANDARD
        .decode(inner)
        .ok()
        .and_then(|bytes| bytes.try_into().ok());
    Some(bytes.ok_or(KeyError::Shape))
}
