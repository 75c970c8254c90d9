//! `codemode doctor`: the examination, for people and as JSON.
//!
//! Exit codes: 0 when a run with the default walls would start on this host, 4 when it would not, as `codemode run` itself would end with 4.

use std::process::ExitCode;

use super::arguments::DoctorArguments;
use super::paint::Paint;
use super::{exit, show};
use crate::catalog::visible::visible_line;
use crate::doctor::{ActRow, Examination, Start, Verdict, WallFinding, examine};
use crate::launch::{LaunchConfig, LaunchError, NodeError};

/// No run would start.
const NO_RUN: u8 = 4;

/// Every line fits a terminal of the usual width.
const COLUMNS: usize = 80;
/// Widths of a row of the table, and of the names above it.
const ACT: usize = 31;
const CONTROL: usize = 9;
const RESULT: usize = 23;
const KEY: usize = 12;
/// Where the verdicts stand: after the indent and three cells with a blank behind each.
const VERDICT: usize = 2 + ACT + 1 + CONTROL + 1 + RESULT + 1;

/// Examines this host.
pub(super) fn main(arguments: &DoctorArguments) -> ExitCode {
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            show::error(&format!("cannot start: {error}\nThis process is out of descriptors: raise `ulimit -n`."));
            return ExitCode::from(NO_RUN);
        }
    };
    #[allow(clippy::needless_update, reason = "with the feature `danger` there is a further field")]
    let config = LaunchConfig { node: arguments.node.clone(), ..LaunchConfig::default() };
    match runtime.block_on(examine(&config)) {
        Ok(found) => {
            print(&found, arguments.json);
            if found.runs.default.starts { ExitCode::SUCCESS } else { ExitCode::from(NO_RUN) }
        }
        Err(error) => {
            if arguments.json {
                show::json_line(&refusal(&error).to_string());
            }
            show::error(&error.to_string());
            ExitCode::from(if matches!(error, LaunchError::Internal(_)) { exit::INTERNAL } else { NO_RUN })
        }
    }
}

/// What a program reads when there was nothing to examine.
fn refusal(error: &LaunchError) -> serde_json::Value {
    let code = match error {
        LaunchError::Node(NodeError::NotFound { .. }) => "node_not_found",
        LaunchError::Node(_) => "node_unusable",
        LaunchError::Isolation(_) => "isolation_unavailable",
        LaunchError::Host { .. } => "host",
        LaunchError::Internal(_) => "internal_error",
    };
    serde_json::json!({ "error": { "code": code, "message": error.to_string() } })
}

fn print(found: &Examination, as_json: bool) {
    if as_json {
        match serde_json::to_string(found) {
            Ok(json) => show::json_line(&json),
            // Names, numbers and text: there is nothing in it that JSON cannot say.
            Err(error) => show::error(&error.to_string()),
        }
        return;
    }
    show::to_stdout(page(found, Paint::stdout()).join("\n"));
}

fn page(found: &Examination, paint: Paint) -> Vec<String> {
    let mut lines = facts(found, paint);
    lines.push(String::new());
    let head = row("Alone, each wall against", "without", "with it", "verdict");
    lines.push(paint.strong(head.trim_end()));
    for wall in &found.walls {
        lines.extend(section(wall, paint));
    }
    if !found.advice.is_empty() {
        lines.push(String::new());
        lines.push(paint.strong("What is missing, and what to do"));
        for advice in &found.advice {
            lines.extend(wrapped("- ", &advice.what));
            for way in &advice.ways {
                lines.extend(wrapped("    ", way));
            }
        }
    }
    lines.push(String::new());
    for (walls, start) in [("default", &found.runs.default), ("strict", &found.runs.strict)] {
        lines.extend(verdict(walls, start, paint));
    }
    lines
}

fn facts(found: &Examination, paint: Paint) -> Vec<String> {
    let (host, node) = (&found.host, &found.node);
    let landlock = match (host.landlock.abi, &host.landlock.reason) {
        (Some(abi), _) if abi < host.landlock.whole => format!("ABI {abi}; whole from {}", host.landlock.whole),
        (Some(abi), _) => format!("ABI {abi}"),
        (None, reason) => format!("no: {}", reason.as_deref().unwrap_or("refused")),
    };
    let filters = match host.seccomp_filters {
        0 => "none before ours".to_owned(),
        count => format!("{count} before ours: a container's, or another supervisor's"),
    };
    let yes_or = |yes: bool, word: &str, reason: &Option<String>| match (yes, reason) {
        (true, _) => word.to_owned(),
        (false, reason) => format!("no: {}", reason.as_deref().unwrap_or("refused")),
    };
    let cgroup = &found.resources.cgroup;
    let user = if host.uid == 0 { "0 (root)".to_owned() } else { host.uid.to_string() };
    let facts = [
        ("node", format!("{} {}", node.version, node.path.display())),
        ("", node.support.to_string()),
        ("kernel", host.kernel.clone()),
        ("user", user),
        ("filters", filters),
        ("landlock", landlock),
        ("user ns", yes_or(host.user_namespaces.allowed, "allowed", &host.user_namespaces.reason)),
        ("cgroup v2", yes_or(cgroup.delegated, "delegated", &cgroup.reason)),
        ("template", yes_or(found.template.passes, "passes its self-test", &found.template.reason)),
    ];
    let mut lines = Vec::new();
    for (name, text) in facts {
        let name = format!("{name:KEY$}");
        let mut fact = wrapped(&" ".repeat(KEY), &visible_line(&text));
        if let Some(first) = fact.first_mut() {
            *first = format!("{}{}", paint.name(&name), first.trim_start());
        }
        lines.extend(fact);
    }
    lines
}

fn section(wall: &WallFinding, paint: Paint) -> Vec<String> {
    let status = painted(wall.status, paint);
    let name = format!("{:VERDICT$}", wall.name.name());
    let mut lines = vec![format!("{}{status}", paint.strong(&name))];
    if let Some(reason) = &wall.reason {
        lines.extend(wrapped("    ", &visible_line(reason)));
    }
    for act in &wall.acts {
        lines.push(painted_row(act, paint));
        // What the wall's own line says already is not said again.
        if let Some(reason) = act.reason.as_ref().filter(|reason| wall.reason.as_ref() != Some(reason)) {
            lines.extend(wrapped("      ", &visible_line(reason)).iter().map(|line| paint.aside(line)));
        }
    }
    lines
}

fn painted_row(act: &ActRow, paint: Paint) -> String {
    format!("{}{}", row(act.act, &act.control, &act.result, ""), painted(act.verdict, paint))
}

fn row(act: &str, control: &str, result: &str, verdict: &str) -> String {
    let (act, control, result) = (short(act, ACT), short(control, CONTROL), short(result, RESULT));
    format!("  {act:ACT$} {control:CONTROL$} {result:RESULT$} {verdict}")
}

fn painted(verdict: Verdict, paint: Paint) -> String {
    let word = verdict.as_str();
    match verdict {
        Verdict::Enforced => word.to_owned(),
        Verdict::Partial | Verdict::Untested => paint.warning(word),
        Verdict::Unavailable => paint.error(word),
    }
}

fn verdict(walls: &str, start: &Start, paint: Paint) -> Vec<String> {
    let name = format!("--walls {walls:8}");
    if start.starts {
        return vec![format!("{} a run starts", paint.name(&name))];
    }
    let mut lines = vec![format!("{} {}", paint.name(&name), paint.error("no run starts"))];
    lines.extend(wrapped("    ", &visible_line(start.reason.as_deref().unwrap_or("refused"))));
    lines
}

/// Within so many columns; what is cut shows as dots. Words of ours and names of errors: one column a letter.
fn short(text: &str, columns: usize) -> String {
    let text = visible_line(text);
    if text.chars().count() <= columns {
        return text;
    }
    text.chars().take(columns.saturating_sub(3)).chain("...".chars()).collect()
}

/// Lines of at most the usual width, broken between words; the first word of a line may be longer (a path is copied whole).
fn wrapped(indent: &str, text: &str) -> Vec<String> {
    let rest = " ".repeat(indent.len());
    let mut lines: Vec<String> = Vec::new();
    let mut line = indent.to_owned();
    let mut empty = true;
    for word in text.split_whitespace() {
        if !empty && line.chars().count() + 1 + word.chars().count() > COLUMNS {
            lines.push(std::mem::replace(&mut line, rest.clone()));
            empty = true;
        }
        if !empty {
            line.push(' ');
        }
        line.push_str(word);
        empty = false;
    }
    lines.push(line);
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_break_between_words_and_keep_their_indent() {
        let lines = wrapped("- ", &"word ".repeat(40));
        assert!(lines.len() > 2 && lines.iter().all(|line| line.len() <= COLUMNS), "{lines:#?}");
        assert!(lines[0].starts_with("- word") && lines[1].starts_with("  word"));
        let long = "x".repeat(100);
        assert_eq!(wrapped("", &format!("a {long} b")), ["a".to_owned(), long, "b".to_owned()]);
    }

    #[test]
    fn a_row_fits_whatever_stands_in_it() {
        let long = "a result that nobody foresaw \u{1b}[2J ".repeat(9);
        assert!(row(&long, &long, &long, "unavailable").chars().count() <= COLUMNS);
        assert!(!row(&long, &long, &long, "").contains('\u{1b}'));
    }
}
