//! The states of a task, and their words in both versions.

/// A version of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// 0.3: what a request without `A2A-Version` speaks.
    V03,
    /// 1.0.
    V1,
}

impl Version {
    /// Of an `A2A-Version` header: 0.3 where there is none, and any minor version of 1. None for another version.
    pub fn of_header(value: Option<&str>) -> Option<Self> {
        match value.map(str::trim) {
            None | Some("" | "0.3") => Some(Self::V03),
            Some(value) if value == "1" || value.starts_with("1.") => Some(Self::V1),
            Some(_) => None,
        }
    }
}

/// The state of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Taken on.
    Submitted,
    /// Being worked on.
    Working,
    /// Waits for the one who asked.
    InputRequired,
    /// Waits for credentials.
    AuthRequired,
    /// Done.
    Completed,
    /// Not done.
    Failed,
    /// Called off.
    Canceled,
    /// Not taken on.
    Rejected,
}

const WORDS: [(State, &str, &str); 8] = [
    (State::Submitted, "TASK_STATE_SUBMITTED", "submitted"),
    (State::Working, "TASK_STATE_WORKING", "working"),
    (State::InputRequired, "TASK_STATE_INPUT_REQUIRED", "input-required"),
    (State::AuthRequired, "TASK_STATE_AUTH_REQUIRED", "auth-required"),
    (State::Completed, "TASK_STATE_COMPLETED", "completed"),
    (State::Failed, "TASK_STATE_FAILED", "failed"),
    (State::Canceled, "TASK_STATE_CANCELED", "canceled"),
    (State::Rejected, "TASK_STATE_REJECTED", "rejected"),
];

impl State {
    /// The state of that word. A word of the other version is none: the official client reads it as unspecified.
    pub fn read(word: &str, version: Version) -> Option<Self> {
        WORDS.iter().find_map(|(state, v1, v03)| {
            let own = if version == Version::V1 { v1 } else { v03 };
            (*own == word).then_some(*state)
        })
    }

    /// Its word.
    pub fn word(self, version: Version) -> &'static str {
        WORDS.iter().find(|(state, ..)| *state == self).map_or("", |(_, v1, v03)| match version {
            Version::V1 => v1,
            Version::V03 => v03,
        })
    }

    /// Whether nothing can follow.
    pub fn is_terminal(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Canceled | Self::Rejected)
    }

    /// Whether `self` comes later in a task's life than `other`: taken on, worked on, waiting, ended.
    pub fn is_later_than(self, other: Self) -> bool {
        let stage = |state| match state {
            Self::Submitted => 0,
            Self::Working => 1,
            Self::InputRequired | Self::AuthRequired => 2,
            _ => 3,
        };
        stage(self) > stage(other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_state_has_a_word_in_each_version_and_the_others_word_is_none() {
        for (state, v1, v03) in WORDS {
            for (version, own, other) in [(Version::V1, v1, v03), (Version::V03, v03, v1)] {
                assert_eq!(state.word(version), own);
                assert_eq!(State::read(own, version), Some(state));
                assert_eq!(State::read(other, version), None);
            }
        }
        assert_eq!(State::read("unknown", Version::V03), None);
    }

    #[test]
    fn a_request_without_a_version_speaks_03_and_a_minor_one_is_no_matter() {
        assert_eq!(Version::of_header(None), Some(Version::V03));
        assert_eq!(Version::of_header(Some("1.1")), Some(Version::V1));
        assert_eq!(Version::of_header(Some("2.0")), None);
        assert_eq!(Version::of_header(Some("10.0")), None);
    }
}
