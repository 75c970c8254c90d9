//! What was measured, and what is wrong with it.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::time::Duration;

use crate::cells::{Around, Came};
use crate::rows::{Attack, Claimed, LINES};

/// Cells by row, configuration, and whether the child was forked from a template.
pub type Results = BTreeMap<(usize, Around, bool), Came>;

/// Everything measured on one Node.
#[derive(Debug)]
pub struct Line {
    /// Its version.
    pub version: String,
    /// The line it is of.
    pub line: u32,
    /// Whether the supervisor was root.
    pub root: bool,
    /// The cells.
    pub results: Results,
    /// How long it took.
    pub took: Duration,
}

/// One cell of the table, both launchers put together.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Cell {
    /// The attack did not succeed, and its control did.
    Held,
    /// It did: a hole.
    Hole,
    /// The control does not succeed here: nothing is shown.
    NotApplicable,
    /// It could not be tried.
    NoTrial,
}

impl Line {
    /// Words for `no_control`.
    pub fn circumstances(&self, template: bool) -> [String; 3] {
        let user = if self.root { "root" } else { "user" };
        [self.line.to_string(), user.to_owned(), if template { "template" } else { "spawn" }.to_owned()]
    }

    /// Which ways a row was tried.
    pub fn ways(&self, row: usize) -> Vec<bool> {
        let ways = [false, true].into_iter();
        let tried = ways.filter(|way| self.results.keys().any(|(index, _, template)| (*index, *template) == (row, *way)));
        tried.collect()
    }

    /// The control of a row: one that needs no launcher serves both.
    pub fn control(&self, row: usize, template: bool) -> Option<&Came> {
        let of = |way| self.results.get(&(row, Around::Nothing, way));
        of(template).or_else(|| of(false))
    }

    /// A cell, one way.
    pub fn cell(&self, row: usize, around: Around, template: bool) -> Option<Cell> {
        let came = self.results.get(&(row, around, template))?;
        let control = matches!(self.control(row, template), Some(Came::Through(_)));
        Some(match came {
            Came::Through(_) => Cell::Hole,
            Came::NoTrial(_) => Cell::NoTrial,
            Came::Held(_) if control => Cell::Held,
            Came::Held(_) => Cell::NotApplicable,
        })
    }

    /// A cell, the worse of both ways.
    pub fn worst(&self, row: usize, around: Around) -> Option<Cell> {
        let cells: Vec<Cell> = [false, true].into_iter().filter_map(|way| self.cell(row, around, way)).collect();
        [Cell::Hole, Cell::NoTrial, Cell::Held, Cell::NotApplicable].into_iter().find(|cell| cells.contains(cell))
    }
}

/// The letter of a cell.
pub fn letter(cell: Option<Cell>) -> &'static str {
    match cell {
        None => ".",
        Some(Cell::Held) => "held",
        Some(Cell::Hole) => "HOLE",
        Some(Cell::NotApplicable) => "n/a",
        Some(Cell::NoTrial) => "FAIL",
    }
}

/// The table of one Node, for a terminal.
pub fn print(rows: &[Attack], line: &Line, explore: bool) -> String {
    let mut page = String::new();
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for (index, row) in rows.iter().enumerate() {
        let mut words = Vec::new();
        for around in
            line.results.keys().filter(|(of, ..)| *of == index).map(|(_, around, _)| *around).collect::<std::collections::BTreeSet<_>>()
        {
            let name = match around {
                Around::Nothing => {
                    let way = |way: &bool| match (line.control(index, *way), *way) {
                        (Some(Came::Through(_)), _) => "through",
                        (_, false) => "n/a by spawn",
                        (_, true) => "n/a by template",
                    };
                    let ways: Vec<&str> = line.ways(index).iter().map(way).collect();
                    words.push(format!("control {}", ways.join(" ")));
                    continue;
                }
                Around::One(claimed) => claimed.name(),
                Around::All => "all",
            };
            let cell = letter(line.worst(index, around));
            *counts.entry(cell).or_default() += 1;
            words.push(format!("{name} {cell}"));
        }
        let _ = writeln!(page, "{:<34} {}", row.id, words.join(", "));
        if explore {
            for ((_, around, template), came) in line.results.iter().filter(|((of, ..), _)| *of == index) {
                let _ = writeln!(page, "      {around:?} {} {came:?}", if *template { "template" } else { "spawn" });
            }
        }
    }
    let _ = writeln!(page, "Node {}, {} rows, {:.0} s; cells: {counts:?}", line.version, rows.len(), line.took.as_secs_f64());
    page
}

/// Everything that must not be.
pub fn faults(rows: &[Attack], lines: &[Line]) -> Vec<String> {
    let mut faults = Vec::new();
    for line in lines {
        for (index, row) in rows.iter().enumerate() {
            of_row(row, index, line, &mut faults);
        }
    }
    if LINES.iter().all(|wanted| lines.iter().any(|line| line.line == *wanted)) {
        faults.extend(unshown(rows, lines).into_iter().map(|claim| format!("no line shows the claim {claim}")));
    }
    faults
}

fn of_row(row: &Attack, index: usize, line: &Line, faults: &mut Vec<String>) {
    for ((_, around, template), came) in line.results.iter().filter(|((of, ..), _)| *of == index) {
        let way = if *template { "template" } else { "spawn" };
        let place = format!("Node {} {way}: {}", line.version, row.id);
        let circumstances = line.circumstances(*template);
        let excuse = row.excuse(&circumstances.each_ref().map(String::as_str));
        match (around, came) {
            (Around::Nothing, Came::Through(what)) if excuse.is_some() => {
                faults.push(format!("{place}: the control was said not to succeed, and did: {what}"));
            }
            (Around::Nothing, Came::Through(_)) => {}
            (Around::Nothing, came) => {
                if excuse.is_none() {
                    faults.push(format!("{place}: the control fails, and nobody said why: {}", came.words()));
                }
            }
            (around, Came::Through(what)) => faults.push(format!("{place}: {} got past {}", what, names(*around))),
            (around, Came::NoTrial(why)) => faults.push(format!("{place}: not tried behind {}: {why}", names(*around))),
            (_, Came::Held(_)) => {}
        }
    }
}

fn names(around: Around) -> &'static str {
    match around {
        Around::Nothing => "nothing",
        Around::One(claimed) => claimed.name(),
        Around::All => "every wall",
    }
}

/// Claims that no line shows: each wants a control somewhere.
fn unshown(rows: &[Attack], lines: &[Line]) -> Vec<String> {
    let mut unshown = Vec::new();
    for (index, row) in rows.iter().enumerate() {
        for claimed in Claimed::all() {
            let claiming: Vec<&Line> = lines.iter().filter(|line| row.claims_on(line.line).contains(&claimed)).collect();
            let shown = |line: &&Line| line.worst(index, Around::One(claimed)) == Some(Cell::Held);
            if !claiming.is_empty() && !claiming.iter().any(shown) {
                unshown.push(format!("{}: {}", row.id, claimed.name()));
            }
        }
    }
    unshown
}
