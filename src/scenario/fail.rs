//! Errors that a scripted model answers with.

/// An error instead of an answer.
#[derive(Clone, Debug)]
pub enum Fail {
    /// A body that is no JSON.
    Malformed,
    /// As the provider tells it.
    Status {
        /// None: the provider's own for being overloaded.
        status: Option<u16>,
        /// For people.
        message: Option<String>,
        /// Seconds.
        retry_after: Option<u64>,
        /// What a client's retry gets.
        retry: Retry,
    },
}

/// What a client's retry gets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Retry {
    /// The client is told not to retry.
    #[default]
    Never,
    /// The same error.
    Same,
    /// The rule's answer.
    Answered,
}
