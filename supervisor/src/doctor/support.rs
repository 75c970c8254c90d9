//! How long a Node line is supported: the release schedule of the Node.js project, as data.

use std::time::{SystemTime, UNIX_EPOCH};

use serde::Serialize;

/// Line, its first day as LTS (none: it never becomes one), its last day. From the project's schedule of October 2026; "dates are subject to change".
const SCHEDULE: &[(u32, Option<Day>, Day)] = &[
    (20, Some(Day(2023, 10, 24)), Day(2026, 4, 30)),
    (21, None, Day(2024, 6, 1)),
    (22, Some(Day(2024, 10, 29)), Day(2027, 4, 30)),
    (23, None, Day(2025, 6, 1)),
    (24, Some(Day(2025, 10, 28)), Day(2028, 4, 30)),
    (25, None, Day(2026, 6, 1)),
    (26, Some(Day(2026, 10, 28)), Day(2029, 4, 30)),
];

/// Year, month, day: in this order they compare as time does.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
struct Day(u32, u32, u32);

impl std::fmt::Display for Day {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:04}-{:02}-{:02}", self.0, self.1, self.2)
    }
}

/// The state of a Node line.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SupportState {
    /// No security fixes any more.
    EndOfLife,
    /// Long-term support.
    Lts,
    /// Supported, and not yet (or never) for long.
    Current,
    /// Newer than this program's data.
    Unknown,
}

/// The support of a Node line on this day.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct Support {
    /// Its state today.
    pub state: SupportState,
    /// The last day of its support, as `YYYY-MM-DD`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
}

impl Support {
    /// Of the line that `version` (`v24.1.2`) belongs to, by the clock of this host.
    pub fn of(version: &str) -> Support {
        Support::on(version, today())
    }

    fn on(version: &str, day: Day) -> Support {
        let line = version.trim_start_matches('v').split('.').next().and_then(|line| line.parse::<u32>().ok());
        let Some((_, lts, end)) = SCHEDULE.iter().find(|(known, ..)| Some(*known) == line) else {
            return Support { state: SupportState::Unknown, until: None };
        };
        let state = if day > *end {
            SupportState::EndOfLife
        } else if lts.is_some_and(|lts| day >= lts) {
            SupportState::Lts
        } else {
            SupportState::Current
        };
        Support { state, until: Some(end.to_string()) }
    }
}

impl std::fmt::Display for Support {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let until = self.until.as_deref().unwrap_or("?");
        match self.state {
            SupportState::EndOfLife => write!(f, "end-of-life since {until}"),
            SupportState::Lts => write!(f, "LTS, supported until {until}"),
            SupportState::Current => write!(f, "current, supported until {until}"),
            SupportState::Unknown => write!(f, "newer than this codemode knows"),
        }
    }
}

fn today() -> Day {
    // A clock before 1970 is a wrong clock: then nothing is end-of-life.
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    day_of(seconds / 86_400)
}

/// The civil date of a day number since 1970-01-01.
fn day_of(mut days: u64) -> Day {
    let leap = |year: u32| year.is_multiple_of(4) && !year.is_multiple_of(100) || year.is_multiple_of(400);
    let mut year = 1970;
    loop {
        let length = if leap(year) { 366 } else { 365 };
        if days < length {
            break;
        }
        days -= length;
        year += 1;
    }
    let february = if leap(year) { 29 } else { 28 };
    let mut month = 1;
    for length in [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] {
        if days < length {
            break;
        }
        days -= length;
        month += 1;
    }
    Day(year, month, days as u32 + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_goes_from_current_over_lts_to_its_end() {
        let state = |version, day| Support::on(version, day).state;
        assert_eq!(state("v26.1.0", Day(2026, 10, 27)), SupportState::Current);
        assert_eq!(state("v26.1.0", Day(2026, 10, 28)), SupportState::Lts);
        assert_eq!(state("v20.20.2", Day(2026, 4, 30)), SupportState::Lts);
        assert_eq!(state("v20.20.2", Day(2026, 5, 1)), SupportState::EndOfLife);
        assert_eq!(state("v31.0.0", Day(2026, 5, 1)), SupportState::Unknown);
    }

    #[test]
    fn days_are_counted_from_1970() {
        assert_eq!(day_of(0), Day(1970, 1, 1));
        assert_eq!(day_of(11_016), Day(2000, 2, 29));
        assert_eq!(day_of(20_787), Day(2026, 11, 30));
        assert_eq!(day_of(20_818), Day(2026, 12, 31));
    }
}
