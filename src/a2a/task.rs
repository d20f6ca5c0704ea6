//! What a task was told to be, update by update, and the one thing it came to.

use super::state::{State, Version};

/// A time as an agent wrote it: RFC 3339 in UTC. Kept to compare with others of the same task, and for nothing else.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Stamp {
    /// `YYYY-MM-DDTHH:MM:SS`, which sorts as time does.
    second: String,
    nanos: u32,
}

impl Stamp {
    /// None for what is no time in UTC.
    pub fn read(text: &str) -> Option<Self> {
        let text = text.strip_suffix('Z').or_else(|| text.strip_suffix("+00:00"))?;
        let (second, fraction) = text.split_once('.').unwrap_or((text, "0"));
        let shape = b"0000-00-00T00:00:00";
        let fits = second.len() == shape.len()
            && second.bytes().zip(shape).all(|(byte, form)| match form {
                b'0' => byte.is_ascii_digit(),
                form => byte == *form,
            });
        let digits = !fraction.is_empty() && fraction.bytes().all(|byte| byte.is_ascii_digit());
        if !fits || !digits {
            return None;
        }
        let nanos = fraction.bytes().chain(std::iter::repeat(b'0')).take(9);
        let nanos = nanos.fold(0, |sum, digit| sum * 10 + u32::from(digit - b'0'));
        Some(Self { second: second.to_owned(), nanos })
    }
}

/// How a status came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Told {
    /// As news: in a stream, a push, or the answer to a message.
    News,
    /// As the state of things, at the beginning of a subscription: it may have been told before.
    Snapshot,
}

/// One status of a task as it stood on the wire.
#[derive(Clone, Copy, Debug)]
pub struct Status<'a> {
    /// Its `state`.
    pub state: &'a str,
    /// Its `timestamp`.
    pub timestamp: Option<&'a str>,
    /// How it came.
    pub told: Told,
}

/// What a status was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seen {
    /// Something new.
    Change,
    /// Told before: no progress.
    Replayed,
    /// News of a task that has ended, whose state stays (finding `a2a.state_after_terminal`).
    AfterTerminal,
    /// No state that the version knows (finding `a2a.unknown_state`).
    UnknownState,
}

impl Seen {
    /// The finding it is worth.
    pub fn finding(self) -> Option<&'static str> {
        match self {
            Self::Change => None,
            Self::Replayed => Some("a2a.replayed"),
            Self::AfterTerminal => Some("a2a.state_after_terminal"),
            Self::UnknownState => Some("a2a.unknown_state"),
        }
    }
}

/// What a delegation came to. Each comes to one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Disposition {
    /// The task ended so.
    Ended(State),
    /// A message was the whole answer, without a task.
    Answered,
    /// The task waits for input.
    ParkedInput,
    /// The task waits for credentials.
    ParkedAuth,
    /// The task was still running when it was looked at last.
    LeftRunning,
    /// Nobody can say.
    Lost,
    /// Refused by us, before anything was contacted.
    Refused,
}

impl Disposition {
    /// Its word in records.
    pub fn word(self) -> &'static str {
        match self {
            Self::Ended(state) => state.word(Version::V03),
            Self::Answered => "answered",
            Self::ParkedInput => "parked_input",
            Self::ParkedAuth => "parked_auth",
            Self::LeftRunning => "left_running",
            Self::Lost => "lost",
            Self::Refused => "refused",
        }
    }
}

/// One delegation, followed. What it holds does not grow with what it is told.
#[derive(Clone, Debug)]
pub struct Task {
    version: Version,
    state: Option<State>,
    stamp: Option<Stamp>,
    /// The last news was of no known state, and nothing followed.
    adrift: bool,
    answered: bool,
}

impl Task {
    /// Of which nothing is known yet.
    pub fn new(version: Version) -> Self {
        Self { version, state: None, stamp: None, adrift: false, answered: false }
    }

    /// The last state that counted.
    pub fn state(&self) -> Option<State> {
        self.state
    }

    /// A message answered, and no task came of it.
    pub fn answered(&mut self) {
        self.answered = true;
    }

    /// Takes in a status.
    pub fn see(&mut self, status: Status<'_>) -> Seen {
        let Some(state) = State::read(status.state, self.version) else {
            self.adrift |= !self.state.is_some_and(State::is_terminal);
            return Seen::UnknownState;
        };
        let stamp = status.timestamp.and_then(Stamp::read);
        if let Some(last) = self.state {
            if self.is_replay(last, state, stamp.as_ref(), status.told) {
                return Seen::Replayed;
            }
            if last.is_terminal() {
                return Seen::AfterTerminal;
            }
        }
        self.state = Some(state);
        self.stamp = stamp.or(self.stamp.take());
        self.adrift = false;
        Seen::Change
    }

    fn is_replay(&self, last: State, state: State, stamp: Option<&Stamp>, told: Told) -> bool {
        match (stamp, &self.stamp) {
            (Some(now), Some(before)) if now < before => true,
            // Clocks are coarse: an end within the same tick is an end.
            (Some(now), Some(before)) if now == before => !state.is_later_than(last),
            (Some(_), _) => false,
            (None, _) => match told {
                Told::Snapshot => !state.is_later_than(last),
                Told::News => state == last && last.is_terminal(),
            },
        }
    }

    /// What it came to, now that nothing follows.
    pub fn disposition(&self) -> Disposition {
        match self.state {
            Some(state) if state.is_terminal() => Disposition::Ended(state),
            _ if self.adrift => Disposition::Lost,
            Some(State::InputRequired) => Disposition::ParkedInput,
            Some(State::AuthRequired) => Disposition::ParkedAuth,
            Some(_) => Disposition::LeftRunning,
            None if self.answered => Disposition::Answered,
            None => Disposition::Lost,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn see(task: &mut Task, state: State, second: Option<u32>, told: Told) -> Seen {
        let timestamp = second.map(|second| format!("2026-03-01T00:00:{second:02}.5Z"));
        let state = state.word(Version::V1);
        task.see(Status { state, timestamp: timestamp.as_deref(), told })
    }

    fn news(task: &mut Task, state: State, second: u32) -> Seen {
        see(task, state, Some(second), Told::News)
    }

    #[test]
    fn history_told_again_is_no_progress() {
        let mut task = Task::new(Version::V1);
        assert_eq!(see(&mut task, State::Submitted, None, Told::News), Seen::Change);
        assert_eq!(news(&mut task, State::Working, 2), Seen::Change);
        assert_eq!(news(&mut task, State::Working, 2), Seen::Replayed);
        assert_eq!(news(&mut task, State::InputRequired, 1), Seen::Replayed);
        assert_eq!(see(&mut task, State::Submitted, None, Told::Snapshot), Seen::Replayed);
        assert_eq!(see(&mut task, State::Working, None, Told::Snapshot), Seen::Replayed);
        assert_eq!(see(&mut task, State::Completed, None, Told::Snapshot), Seen::Change);
        assert_eq!(task.disposition().word(), "completed");
    }

    #[test]
    fn an_end_within_the_same_tick_is_an_end() {
        let mut task = Task::new(Version::V1);
        news(&mut task, State::Working, 2);
        assert_eq!(news(&mut task, State::Failed, 2), Seen::Change);
        assert_eq!(task.disposition().word(), "failed");
    }

    #[test]
    fn news_after_the_end_changes_nothing_and_is_named() {
        let mut task = Task::new(Version::V1);
        news(&mut task, State::Completed, 2);
        assert_eq!(news(&mut task, State::Working, 3), Seen::AfterTerminal);
        assert_eq!(news(&mut task, State::Failed, 4), Seen::AfterTerminal);
        assert_eq!(see(&mut task, State::Completed, None, Told::News), Seen::Replayed);
        assert_eq!(task.disposition().word(), "completed");
    }

    #[test]
    fn a_state_nobody_knows_is_lost_unless_something_follows() {
        let status = |state| Status { state, timestamp: None, told: Told::News };
        let mut task = Task::new(Version::V1);
        news(&mut task, State::Working, 1);
        assert_eq!(task.see(status("completed")), Seen::UnknownState);
        assert_eq!(task.disposition(), Disposition::Lost);
        news(&mut task, State::Working, 2);
        assert_eq!(task.disposition(), Disposition::LeftRunning);
    }

    #[test]
    fn what_did_not_end_is_parked_running_answered_or_lost() {
        let mut task = Task::new(Version::V1);
        assert_eq!(task.disposition().word(), "lost");
        task.answered();
        assert_eq!(task.disposition().word(), "answered");
        for (state, word) in [
            (State::Working, "left_running"),
            (State::InputRequired, "parked_input"),
            (State::Working, "left_running"),
            (State::AuthRequired, "parked_auth"),
        ] {
            see(&mut task, state, None, Told::News);
            assert_eq!(task.disposition().word(), word);
        }
    }

    #[test]
    fn stamps_compare_as_times_whatever_the_digits_of_their_fraction() {
        let stamp = |text| Stamp::read(text).expect(text);
        assert_eq!(stamp("2026-03-01T00:00:00Z"), stamp("2026-03-01T00:00:00.000+00:00"));
        assert!(stamp("2026-03-01T00:00:00.5Z") > stamp("2026-03-01T00:00:00.499999999Z"));
        for wrong in
            ["", "Z", "2026-03-01", "2026-03-01T00:00:00", "2026-03-01T00:00:00.Z", "2026-03-01t00:00:00Z"]
        {
            assert_eq!(Stamp::read(wrong), None, "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn an_end_is_kept_whatever_follows(
            told in prop::collection::vec((0usize..9, prop::option::of(0u32..9), any::<bool>()), 0..12),
        ) {
            let mut task = Task::new(Version::V1);
            let mut end = None;
            for (state, second, snapshot) in told {
                let timestamp = second.map(|second| format!("2026-03-01T00:00:0{second}Z"));
                let words = ["TASK_STATE_SUBMITTED", "TASK_STATE_WORKING", "TASK_STATE_INPUT_REQUIRED",
                    "TASK_STATE_AUTH_REQUIRED", "TASK_STATE_COMPLETED", "TASK_STATE_FAILED",
                    "TASK_STATE_CANCELED", "TASK_STATE_REJECTED", "TASK_STATE_UNSPECIFIED"];
                let told = if snapshot { Told::Snapshot } else { Told::News };
                let seen = task.see(Status { state: words[state], timestamp: timestamp.as_deref(), told });
                prop_assert!(end.is_none() || seen != Seen::Change);
                end = end.or(task.state().filter(|state| state.is_terminal()));
                prop_assert_eq!(end.is_some(), matches!(task.disposition(), Disposition::Ended(_)));
            }
        }
    }
}
