//! Numbers with a range, and what was done to those outside.

use std::fmt;

use super::raw::Fault;
use super::reader::At;
use crate::catalog::Place;

/// A number that was outside its range and is now at its end.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Clamp {
    /// The path of the key.
    pub path: String,
    /// Where it stands.
    pub place: Place,
    /// What stood there.
    pub given: i64,
    /// What is used.
    pub used: u64,
    /// The range.
    pub range: (u64, u64),
}

impl fmt::Display for Clamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Clamp { path, place, given, used, range: (least, most) } = self;
        write!(f, "{}:{}: {path} is {given} and may be {least} to {most}; {used} is used", place.line, place.column)
    }
}

/// Reads a whole number and puts it into its range; tells when that changed it.
pub(super) fn ranged(at: &At<'_>, range: (u64, u64), clamps: &mut Vec<Clamp>, place: impl Fn(usize) -> Place) -> Result<u64, Fault> {
    let given = at.whole_number()?;
    let (least, most) = range;
    let used = u64::try_from(given).unwrap_or(0).clamp(least, most);
    if i64::try_from(used) != Ok(given) {
        clamps.push(Clamp { path: at.path.clone(), place: place(at.node.at), given, used, range });
    }
    Ok(used)
}
