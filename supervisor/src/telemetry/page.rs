//! A log as one page that needs nothing else: no script, no font, no picture from anywhere.

use std::fmt::Write as _;

use super::history::{History, NotedCall, NotedRun};

/// Runs that are drawn; a page of thousands is read by nobody.
const MAX_RUNS: usize = 500;
/// Bars of one run, and rows of a list.
const MAX_BARS: usize = 500;
/// The width of a timeline.
const WIDTH: f64 = 760.0;
/// The height of a bar and the space below it.
const BAR: f64 = 18.0;

const STYLE: &str = "body{font:15px/1.45 system-ui,sans-serif;color:#1c2330;background:#f6f7f9;margin:2rem auto;max-width:62rem;padding:0 1rem}\
h1{font-size:1.5rem}h2{font-size:1.15rem;margin-top:2rem}section{background:#fff;border:1px solid #dde1e8;border-radius:8px;padding:1rem 1.25rem;margin:1rem 0}\
table{border-collapse:collapse;width:100%}td,th{text-align:left;padding:.3rem .6rem;border-bottom:1px solid #eceff3;vertical-align:top}th{font-weight:600;color:#5a6475}\
td.n,th.n{text-align:right;font-variant-numeric:tabular-nums}code{font:13px ui-monospace,monospace;overflow-wrap:anywhere}svg text{font:11px system-ui,sans-serif;fill:#1c2330}\
.ok{fill:#3d8b63}.bad{fill:#c4553b}.other{fill:#8a93a3}.search{fill:#6a7fc9}.describe{fill:#a98bd0}.sent{fill:#3d8b63}.direct{fill:#c9ced8}\
.big{font-size:1.6rem;font-weight:600}.facts{display:flex;gap:2.5rem;flex-wrap:wrap}.facts div span{display:block;color:#5a6475}.advice{border-left:4px solid #c4953b;padding-left:.8rem}";

impl History {
    /// The page. Every text of a log is escaped in it.
    pub fn page(&self) -> String {
        let mut page = String::new();
        // The policy says it again: nothing is loaded and nothing is run, whatever a name holds.
        page.push_str("<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">");
        let _ = write!(
            page,
            "<meta name=\"viewport\" content=\"width=device-width\"><title>codemode session</title><style>{STYLE}</style></head><body><h1>Session</h1>"
        );
        self.facts(&mut page);
        self.sizes(&mut page);
        self.fruitless_searches(&mut page);
        self.timeline(&mut page);
        page.push_str("</body></html>\n");
        page
    }

    fn facts(&self, page: &mut String) {
        let (sent, direct) = self.bytes();
        let saved = direct.saturating_sub(sent);
        page.push_str("<section class=\"facts\">");
        for (value, name) in [
            (self.runs.iter().filter(|run| run.is_body).count().to_string(), "bodies run"),
            (self.count("search").to_string(), "searches"),
            (self.count("describe").to_string(), "descriptions"),
            (self.count("call").to_string(), "calls"),
            (bytes(saved), "saved in prompts"),
        ] {
            let _ = write!(page, "<div><b class=\"big\">{}</b><span>{name}</span></div>", escaped(&value));
        }
        page.push_str("</section>");
        if let Some(call) = self.final_call() {
            let _ = write!(
                page,
                "<p>Final call: <code>{}</code>, answered by {} with {}.</p>",
                escaped(call.id.as_deref().unwrap_or("?")),
                escaped(call.source.as_deref().unwrap_or("?")),
                bytes(call.result_bytes)
            );
        }
        if let Some(advice) = self.advice() {
            let _ = write!(page, "<p class=\"advice\">{}</p>", escaped(advice.trim_start_matches("advice").trim()));
        }
        if self.lost > 0 || self.unreadable > 0 {
            let _ = write!(page, "<p class=\"advice\">{} events were lost, {} lines are unreadable.</p>", self.lost, self.unreadable);
        }
    }

    fn sizes(&self, page: &mut String) {
        page.push_str("<h2>What the model was shown</h2><section>");
        if self.surfaces.is_empty() {
            page.push_str("The log does not say.");
        } else {
            page.push_str("<table><tr><th>shown</th><th class=\"n\">definitions</th><th class=\"n\">schemas</th><th class=\"n\">tools</th><th class=\"n\">sent</th><th class=\"n\">direct</th><th></th></tr>");
            for surface in self.surfaces.iter().take(MAX_BARS) {
                let most = surface.bytes_sent.max(surface.bytes_direct).max(1) as f64;
                let width = |bytes: u64| 160.0 * bytes as f64 / most;
                let _ = write!(
                    page,
                    "<tr><td>{}{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td><svg width=\"160\" height=\"18\"><rect class=\"direct\" width=\"{:.1}\" height=\"8\" y=\"10\"/><rect class=\"sent\" width=\"{:.1}\" height=\"8\"/></svg></td></tr>",
                    escaped(&surface.shown),
                    surface.reason.as_ref().map(|reason| format!("<br>{}", escaped(reason))).unwrap_or_default(),
                    surface.definitions,
                    surface.schemas_up_front,
                    surface.catalog_size,
                    bytes(surface.bytes_sent),
                    bytes(surface.bytes_direct),
                    width(surface.bytes_direct),
                    width(surface.bytes_sent),
                );
            }
            page.push_str("</table>");
        }
        page.push_str("</section>");
    }

    fn fruitless_searches(&self, page: &mut String) {
        page.push_str("<h2>Searched and not found</h2><section>");
        let mut queries: Vec<&str> = self.fruitless().map(|search| search.query.as_str()).collect();
        queries.sort_unstable();
        queries.dedup();
        if queries.is_empty() {
            page.push_str("Every search found something.");
        } else {
            page.push_str("<table>");
            for query in queries.into_iter().take(MAX_BARS) {
                let _ = write!(page, "<tr><td><code>{}</code></td></tr>", escaped(query));
            }
            page.push_str("</table>");
        }
        page.push_str("</section>");
    }

    fn timeline(&self, page: &mut String) {
        page.push_str("<h2>Timeline</h2>");
        let first = self.runs.iter().map(|run| run.at).min().unwrap_or_default();
        for run in self.runs.iter().take(MAX_RUNS) {
            timeline_of(run, first, page);
        }
        if self.runs.len() > MAX_RUNS {
            let _ = write!(page, "<p>and {} more</p>", self.runs.len() - MAX_RUNS);
        }
    }
}

fn timeline_of(run: &NotedRun, first: u64, page: &mut String) {
    let what = if run.is_body { "body" } else { "structured calls" };
    let verdict = run.verdict.as_deref().unwrap_or(if run.is_body { "no end in the log" } else { "" });
    let _ = write!(
        page,
        "<section><b>{what}</b> <code>{}</code> {} at +{:.1} s, {:.1} ms{}",
        escaped(&run.id),
        escaped(verdict),
        run.at.saturating_sub(first) as f64 / 1_000.0,
        run.total_ms,
        if run.logs > 0 { format!(", {} console lines", run.logs) } else { String::new() }
    );
    let end = run.calls.iter().map(|call| call.start_ms + call.duration_ms).fold(run.total_ms, f64::max).max(0.001);
    let mut calls: Vec<&NotedCall> = run.calls.iter().collect();
    calls.sort_by_key(|call| call.seq);
    let shown = &calls[..calls.len().min(MAX_BARS)];
    let _ = write!(
        page,
        "<br><svg width=\"{WIDTH}\" height=\"{:.0}\" role=\"img\" aria-label=\"requests over time\">",
        BAR * (shown.len() as f64 + 1.0)
    );
    for (row, call) in shown.iter().enumerate() {
        let (x, width) = (WIDTH * call.start_ms / end, (WIDTH * call.duration_ms / end).max(2.0));
        let class = match (call.state.as_str(), call.method.as_str()) {
            ("ok", "search") => "search",
            ("ok", "describe") => "describe",
            ("ok", _) => "ok",
            ("cancelled" | "unknown", _) => "other",
            _ => "bad",
        };
        let label = format!(
            "{} {} {}{} {:.1} ms",
            call.method,
            call.id.as_deref().unwrap_or(""),
            call.state,
            call.code.as_deref().map(|code| format!(" ({code})")).unwrap_or_default(),
            call.duration_ms
        );
        // A label stands where there is more room for it: behind its bar, before it, or on it.
        let (before, behind) = (x, WIDTH - x - width);
        let (text_x, anchor) = if width > before.max(behind) {
            (x + 4.0, "start")
        } else if behind >= before {
            (x + width + 4.0, "start")
        } else {
            (x - 4.0, "end")
        };
        let y = BAR * row as f64;
        let _ = write!(
            page,
            "<rect class=\"{class}\" x=\"{x:.1}\" y=\"{:.1}\" width=\"{width:.1}\" height=\"12\" rx=\"2\"><title>{}</title></rect><text x=\"{text_x:.1}\" y=\"{:.1}\" text-anchor=\"{anchor}\">{}</text>",
            y + 2.0,
            escaped(&label),
            y + 12.0,
            escaped(&label)
        );
    }
    page.push_str("</svg>");
    if calls.len() > MAX_BARS {
        let _ = write!(page, "<p>and {} more</p>", calls.len() - MAX_BARS);
    }
    page.push_str("</section>");
}

fn bytes(count: u64) -> String {
    match count {
        0..10_000 => format!("{count} B"),
        10_000..10_000_000 => format!("{:.1} KiB", count as f64 / 1024.0),
        _ => format!("{:.1} MiB", count as f64 / (1024.0 * 1024.0)),
    }
}

/// Text as it may stand in HTML, in an attribute too. Signs that are obeyed by screens are shown as a replacement.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            letter if letter.is_control() || matches!(letter, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}') => out.push('\u{fffd}'),
            letter => out.push(letter),
        }
    }
    out
}
