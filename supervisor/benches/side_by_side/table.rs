//! Rows as text.

use std::fmt::Write;

use crate::figures::Figures;

/// What a figure counts.
#[derive(Clone, Copy, Debug)]
pub enum Unit {
    Milliseconds,
    PerSecond,
    Mebibytes,
    Times,
}

/// What a median should be.
#[derive(Clone, Copy, Debug)]
pub enum Target {
    AtMost(f64),
    AtLeast(f64),
    /// There only to compare with.
    None,
}

/// One line.
#[derive(Clone, Debug)]
pub struct Row {
    work: String,
    unit: Unit,
    median: f64,
    /// 95 of 100 samples are no worse than this.
    tail: f64,
    target: Target,
    /// Why there is no figure.
    missing: Option<&'static str>,
}

impl Row {
    /// A line for these samples. The tail is on the bad side: the slowest, the largest, but of rates the lowest.
    pub fn of(work: impl Into<String>, unit: Unit, figures: &Figures, target: Target) -> Row {
        let bad = if matches!(unit, Unit::PerSecond) { 0.05 } else { 0.95 };
        Row { work: work.into(), unit, median: figures.median(), tail: figures.quantile(bad), target, missing: None }
    }

    /// A line for what this host does not let be measured.
    pub fn missing(work: impl Into<String>, unit: Unit, target: Target, why: &'static str) -> Row {
        Row { work: work.into(), unit, median: f64::NAN, tail: f64::NAN, target, missing: Some(why) }
    }

    /// Whether the median is as it should be. What was not measured is not met.
    pub fn is_met(&self) -> bool {
        match self.target {
            Target::AtMost(target) => self.median <= target,
            Target::AtLeast(target) => self.median >= target,
            Target::None => true,
        }
    }

    fn shown(&self, value: f64) -> String {
        match self.unit {
            _ if value.is_nan() => "-".to_owned(),
            Unit::Milliseconds => format!("{value:.3} ms"),
            Unit::PerSecond => format!("{value:.0} /s"),
            Unit::Mebibytes => format!("{value:.2} MiB"),
            Unit::Times => format!("{value:.2} x"),
        }
    }

    fn cells(&self) -> [String; 5] {
        let target = match self.target {
            Target::AtMost(target) => format!("<= {}", self.shown(target)),
            Target::AtLeast(target) => format!(">= {}", self.shown(target)),
            Target::None => String::new(),
        };
        let verdict = match (self.target, self.missing) {
            (_, Some(why)) => why,
            (Target::None, None) => "",
            _ if self.is_met() => "met",
            _ => "NOT met",
        };
        [self.work.clone(), self.shown(self.median), self.shown(self.tail), target, verdict.to_owned()]
    }
}

/// All lines under a head, in columns.
pub fn text(rows: &[Row]) -> String {
    let head = ["work", "median", "p95", "target", ""].map(str::to_owned);
    let lines: Vec<[String; 5]> = std::iter::once(head).chain(rows.iter().map(Row::cells)).collect();
    let widths: [usize; 5] = std::array::from_fn(|at| lines.iter().map(|line| line[at].chars().count()).max().unwrap_or(0));
    let mut text = String::new();
    for [work, median, tail, target, verdict] in &lines {
        let [first, second, third, fourth, _] = widths;
        // Writing to a string cannot fail.
        let _ = writeln!(text, "  {work:first$}  {median:>second$}  {tail:>third$}  {target:>fourth$}  {verdict}");
    }
    text
}
