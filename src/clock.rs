//! The only file that reads the time.
//!
//! A trial's times are harness time: monotonic, started once, never compared with the app's clock. A [`Moment`] is a
//! distance from that start, so two moments of one [`Clock`] can always be compared. `tokio`'s instant is used, so
//! that a test with a paused clock decides deadlines without sleeping.

use std::time::Duration;

use tokio::time::Instant;

/// Nanoseconds since the clock was started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Moment(pub u64);

impl Moment {
    /// The moment `by` later; stays at the end of time rather than wrap.
    pub fn plus(self, by: Duration) -> Self {
        Self(self.0.saturating_add(nanos(by)))
    }

    /// How long after `earlier` this is; zero where it is not after.
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }
}

/// A started clock. Copies share the start.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    start: Instant,
    wall_start: u64,
}

impl Clock {
    /// Starts now.
    #[expect(clippy::disallowed_methods, reason = "the one place that reads the wall clock")]
    pub fn start() -> Self {
        let wall = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, nanos);
        Self { start: Instant::now(), wall_start: wall }
    }

    /// Now, as a distance from the start.
    pub fn now(&self) -> Moment {
        Moment(nanos(self.start.elapsed()))
    }

    /// A moment as Unix nanoseconds: the wall clock read once at the start, plus monotonic time since.
    pub fn unix_nanos(&self, moment: Moment) -> u64 {
        self.wall_start.saturating_add(moment.0)
    }

    /// Sleeps until `moment`; returns at once where it has passed.
    pub async fn sleep_until(&self, moment: Moment) {
        tokio::time::sleep_until(self.start + Duration::from_nanos(moment.0)).await;
    }
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
