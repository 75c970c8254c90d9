//! What the doctor found: plain values that serialise to the JSON of `codemode doctor --json`.

use serde::Serialize;

use crate::launch::{Wall, WallReport, WallStatus};

/// How much of a wall, or of a claim, was shown to stand.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The act succeeded without the wall and was stopped by it as expected.
    Enforced,
    /// The wall stands without a part; the reason says which.
    Partial,
    /// The wall cannot be raised here, or did not stop the act.
    Unavailable,
    /// Nothing was shown: the act fails on this host without the wall too, or failed in another way than the wall's.
    Untested,
}

impl Verdict {
    /// The word in reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Verdict::Enforced => "enforced",
            Verdict::Partial => "partial",
            Verdict::Unavailable => "unavailable",
            Verdict::Untested => "untested",
        }
    }
}

/// One act, without a wall and with it alone.
#[derive(Clone, Debug, Serialize)]
pub struct ActRow {
    /// The act, in words.
    pub act: &'static str,
    /// What came of it without the wall.
    pub control: String,
    /// What came of it with the wall alone.
    pub result: String,
    /// What that shows.
    pub verdict: Verdict,
    /// Why it is not `enforced`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The wall was there and the act was done.
    #[serde(skip)]
    pub(super) got_through: bool,
}

/// One wall and what was tried against it.
#[derive(Clone, Debug, Serialize)]
pub struct WallFinding {
    /// Which.
    pub name: Wall,
    /// How much of it stands: as a run's report says, unless the acts show otherwise.
    pub status: Verdict,
    /// Why not all of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What was tried.
    pub acts: Vec<ActRow>,
}

impl WallFinding {
    /// Brings together what the acts show and what the report of a real run says (nothing when no run was possible).
    pub(super) fn new(name: Wall, acts: Vec<ActRow>, told: Option<&WallReport>) -> WallFinding {
        let (status, reason) = judge(&acts, told);
        WallFinding { name, status, reason, acts }
    }
}

fn judge(acts: &[ActRow], told: Option<&WallReport>) -> (Verdict, Option<String>) {
    if let Some(row) = acts.iter().find(|row| row.got_through && row.verdict == Verdict::Unavailable) {
        return (Verdict::Unavailable, Some(format!("it did not stop the act: {}", row.act)));
    }
    let first = |verdict: Verdict| acts.iter().find(|row| row.verdict == verdict);
    let reason = |row: &ActRow| row.reason.clone();
    match told.map(|told| (told.status, told.reason.clone())) {
        Some((WallStatus::Unavailable | WallStatus::Off, reason)) => return (Verdict::Unavailable, reason),
        Some((WallStatus::Partial, reason)) => return (Verdict::Partial, reason),
        // A run had it, and alone it could not be built: then nothing was shown of it.
        Some((WallStatus::Enforced, _)) => {
            if let Some(row) = first(Verdict::Unavailable) {
                return (Verdict::Untested, reason(row));
            }
        }
        None => {
            if let Some(row) = first(Verdict::Unavailable).or_else(|| first(Verdict::Partial)) {
                return (row.verdict, reason(row));
            }
        }
    }
    match first(Verdict::Enforced) {
        Some(_) => (Verdict::Enforced, None),
        None => (Verdict::Untested, acts.first().and_then(reason).or_else(|| Some("nothing could be tried".to_owned()))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(verdict: Verdict, got_through: bool) -> ActRow {
        let reason = (verdict != Verdict::Enforced).then(|| "why".to_owned());
        ActRow { act: "act", control: String::new(), result: String::new(), verdict, reason, got_through }
    }

    fn told(status: WallStatus) -> WallReport {
        WallReport { name: Wall::Landlock, status, reason: Some("host".to_owned()) }
    }

    #[test]
    fn a_failed_control_is_never_enforced() {
        let told = told(WallStatus::Enforced);
        assert_eq!(judge(&[row(Verdict::Untested, false)], Some(&told)).0, Verdict::Untested);
        assert_eq!(judge(&[], Some(&told)).0, Verdict::Untested);
        assert_eq!(judge(&[row(Verdict::Untested, false), row(Verdict::Enforced, false)], Some(&told)).0, Verdict::Enforced);
    }

    #[test]
    fn an_act_that_got_through_outweighs_every_report() {
        for status in [WallStatus::Enforced, WallStatus::Partial] {
            let acts = [row(Verdict::Enforced, false), row(Verdict::Unavailable, true)];
            assert_eq!(judge(&acts, Some(&told(status))).0, Verdict::Unavailable);
        }
    }

    #[test]
    fn status_and_reason_are_those_of_a_run() {
        let host = Some("host".to_owned());
        assert_eq!(judge(&[row(Verdict::Enforced, false)], Some(&told(WallStatus::Partial))), (Verdict::Partial, host.clone()));
        assert_eq!(judge(&[row(Verdict::Unavailable, false)], Some(&told(WallStatus::Unavailable))), (Verdict::Unavailable, host));
        // Without a run the acts alone tell.
        assert_eq!(judge(&[row(Verdict::Unavailable, false)], None).0, Verdict::Unavailable);
    }
}
