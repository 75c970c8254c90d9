//! The part of `supervisor/docs/walls.md` that is measured.

use std::fmt::Write;
use std::fs;

use codemode_tests::host;

use crate::cells::{Around, Came};
use crate::rows::{Attack, Claimed};
use crate::table::{Cell, Line, letter};

const BEGIN: &str = "<!-- MATRIX BEGIN: written by a test run, not by hand -->";
const END: &str = "<!-- MATRIX END -->";

/// Puts what was measured in its place.
///
/// # Panics
///
/// When the page or its place is not there.
pub fn write(rows: &[Attack], lines: &[Line]) {
    let path = host::repository().join("supervisor/docs/walls.md");
    let page = fs::read_to_string(&path).expect("the page of the walls");
    let (before, rest) = page.split_once(BEGIN).expect("the place begins");
    let (_, after) = rest.split_once(END).expect("the place ends");
    fs::write(&path, format!("{before}{BEGIN}\n\n{}\n{END}{after}", text(rows, lines))).expect("the page can be written");
}

fn text(rows: &[Attack], lines: &[Line]) -> String {
    let mut page = String::new();
    let versions: Vec<&str> = lines.iter().map(|line| line.version.as_str()).collect();
    let user = if lines.iter().all(|line| line.root) { "root" } else { "an ordinary user" };
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let _ = writeln!(
        page,
        "{} attacks, tried on Node {} on Linux {} as {user}, the spawn way and the template way. Written by `cargo test -p codemode-tests --test matrix -- --write`.\n",
        rows.len(),
        versions.join(", "),
        kernel.trim()
    );
    page.push_str(WORDS);
    let mut group = "";
    for (index, row) in rows.iter().enumerate() {
        if row.group() != group {
            group = row.group();
            let _ = write!(page, "\n### {group}\n\n| attack | control | stopped by this wall alone | all walls |\n|---|---|---|---|\n");
        }
        let walls: Vec<String> = Claimed::all().into_iter().filter_map(|claimed| wall(row, index, claimed, lines)).collect();
        let _ = writeln!(
            page,
            "| `{}` {} | {} | {} | {} |",
            row.id,
            cell_text(&row.what),
            control(row, index, lines),
            walls.join(", "),
            all(index, lines)
        );
    }
    let reasons: Vec<String> = rows.iter().flat_map(|row| row.no_control.iter().map(move |why| format!("- `{}`: {why}", row.id))).collect();
    let _ = write!(page, "\n### Where no control can succeed\n\n{}\n", reasons.join("\n"));
    let notes: Vec<String> = rows.iter().filter(|row| !row.note.is_empty()).map(|row| format!("- `{}`: {}", row.id, row.note)).collect();
    let _ = write!(page, "\n### What is not claimed\n\n{}\n", notes.join("\n"));
    page.push_str(&sums(rows, lines));
    page
}

const WORDS: &str = "The control is the attack with no wall (for attacks on the guest realm: in a plain `node:vm` context; for those on the wire: before a host that \
believes its child). A wall stands in the third column when, alone, it kept every witness untouched on every Node where the control got through; lines of Node in \
parentheses when it claims that only there, or when it could be shown only there.\n";

fn cell_text(text: &str) -> String {
    text.replace('|', "\\|")
}

fn control(row: &Attack, index: usize, lines: &[Line]) -> String {
    let through = |line: &&Line| line.ways(index).iter().any(|way| matches!(line.control(index, *way), Some(Came::Through(_))));
    let on: Vec<&Line> = lines.iter().filter(through).collect();
    match on.len() {
        0 => "n/a".to_owned(),
        count if count == lines.len() => row.witness.split(' ').next().unwrap_or_default().to_owned(),
        _ => format!("{} ({})", row.witness.split(' ').next().unwrap_or_default(), numbers(&on)),
    }
}

fn numbers(lines: &[&Line]) -> String {
    let numbers: Vec<String> = lines.iter().map(|line| line.line.to_string()).collect();
    numbers.join(" ")
}

fn wall(row: &Attack, index: usize, claimed: Claimed, lines: &[Line]) -> Option<String> {
    let claiming: Vec<&Line> = lines.iter().filter(|line| row.claims_on(line.line).contains(&claimed)).collect();
    if claiming.is_empty() {
        return None;
    }
    let of = |cell| lines.iter().filter(|line| line.worst(index, Around::One(claimed)) == Some(cell)).collect::<Vec<_>>();
    let (held, holes) = (of(Cell::Held), of(Cell::Hole));
    if !holes.is_empty() {
        return Some(format!("**{} HOLE ({})**", claimed.name(), numbers(&holes)));
    }
    Some(if held.len() == lines.len() {
        claimed.name().to_owned()
    } else if held.is_empty() {
        format!("{} (n/a)", claimed.name())
    } else {
        format!("{} ({})", claimed.name(), numbers(&held))
    })
}

fn all(index: usize, lines: &[Line]) -> String {
    let cells: Vec<Option<Cell>> = lines.iter().map(|line| line.worst(index, Around::All)).collect();
    let worst = [Cell::Hole, Cell::NoTrial, Cell::Held, Cell::NotApplicable].into_iter().find(|cell| cells.contains(&Some(*cell)));
    letter(worst).to_owned()
}

fn sums(rows: &[Attack], lines: &[Line]) -> String {
    let mut page = "\n### Sums\n\n| Node | cells | held | n/a | holes |\n|---|---|---|---|---|\n".to_owned();
    for line in lines {
        let mut counts = [0; 4];
        for (index, around) in line.results.keys().map(|(index, around, _)| (*index, *around)).collect::<std::collections::BTreeSet<_>>() {
            if around == Around::Nothing || index >= rows.len() {
                continue;
            }
            counts[0] += 1;
            match line.worst(index, around) {
                Some(Cell::Held) => counts[1] += 1,
                Some(Cell::NotApplicable) => counts[2] += 1,
                _ => counts[3] += 1,
            }
        }
        let [cells, held, not_applicable, holes] = counts;
        let _ = writeln!(page, "| {} | {cells} | {held} | {not_applicable} | {holes} |", line.version);
    }
    page
}
