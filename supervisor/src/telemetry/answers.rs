//! The questions that a log answers, answered.

use super::history::{History, NotedSurface};

impl History {
    /// What the model saw, searched and called, in lines for a person. Texts in them are as the log has them.
    pub fn answers(&self) -> Vec<String> {
        let mut lines = Vec::new();
        for surface in &self.surfaces {
            lines.push(format!(
                "shown      {}: {} definitions, {} of {} tools with their schemas up front; {} bytes where direct exposure sends {}{}",
                surface.shown,
                surface.definitions,
                surface.schemas_up_front,
                surface.catalog_size,
                surface.bytes_sent,
                surface.bytes_direct,
                surface.reason.as_ref().map(|reason| format!(" ({reason})")).unwrap_or_default(),
            ));
        }
        let bodies = self.runs.iter().filter(|run| run.is_body);
        lines.push(format!(
            "made       {} bodies, {} searches, {} descriptions, {} calls",
            bodies.count(),
            self.count("search"),
            self.count("describe"),
            self.count("call")
        ));
        lines.push(match self.final_call() {
            Some(call) => format!(
                "final call {}, answered by {} with {} bytes in {:.1} ms",
                call.id.as_deref().unwrap_or("?"),
                call.source.as_deref().unwrap_or("?"),
                call.result_bytes,
                call.duration_ms
            ),
            None => "final call none that was answered with a value".to_owned(),
        });
        for call in self.calls().filter(|call| call.method == "call" && call.state != "ok") {
            let code = call.code.as_deref().map(|code| format!(" ({code})")).unwrap_or_default();
            lines.push(format!("not ok     {}: {}{code}", call.id.as_deref().unwrap_or("?"), call.state));
        }
        lines.extend(self.fruitless().map(|search| format!("not found  {}", search.query)));
        for run in self.runs.iter().filter(|run| run.is_body && run.verdict.as_deref() != Some("ok")) {
            lines.push(format!("ended by   {} (run {})", run.verdict.as_deref().unwrap_or("nothing the log knows"), run.id));
        }
        lines.extend(self.advice());
        if self.lost > 0 {
            lines.push(format!("missing    {} events could not be written to the log", self.lost));
        }
        if self.unreadable > 0 {
            lines.push(format!("unreadable {} lines", self.unreadable));
        }
        lines
    }

    /// Where direct exposure would have been smaller.
    pub fn advice(&self) -> Option<String> {
        let is_smaller = |surface: &&NotedSurface| {
            surface.shown != "direct" && surface.shown != "handed_over" && surface.bytes_direct <= surface.bytes_sent
        };
        let worse = self.surfaces.iter().rfind(is_smaller)?;
        Some(format!(
            "advice     show the tools directly (toolSearch: false): all {} of them take {} bytes, mode {} sends {}",
            worse.catalog_size, worse.bytes_direct, worse.shown, worse.bytes_sent
        ))
    }
}
