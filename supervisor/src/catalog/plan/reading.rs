//! Reading the whole list of one source, within bounds.

use std::collections::HashSet;
use std::sync::Arc;

use super::super::{ListFailure, Tool, ToolSource, quoted};

/// Pages of one list at most: a server that never stops is not believed.
const MAX_PAGES: usize = 1_000;
/// Tools of one source at most. The largest known server has 240.
const MAX_TOOLS: usize = 20_000;
/// Bytes of a tool's name, as in a catalog file. The MCP specification asks for 128 characters at most.
const MAX_NAME_BYTES: usize = 256;

/// A list as a source gave it, and what was wrong with it.
#[derive(Debug)]
pub(super) struct Whole {
    pub(super) tools: Vec<Arc<Tool>>,
    /// Tools that were left out, in words.
    pub(super) complaints: Vec<String>,
}

/// Follows the pages to the end.
pub(super) async fn whole(source: &dyn ToolSource) -> Result<Whole, ListFailure> {
    let mut whole = Whole { tools: Vec::new(), complaints: Vec::new() };
    let mut ids: HashSet<String> = HashSet::new();
    let mut cursors: HashSet<String> = HashSet::new();
    let mut cursor: Option<String> = None;
    for _ in 0..MAX_PAGES {
        let page = source.list(cursor.as_deref()).await?;
        for tool in page.tools {
            if whole.tools.len() == MAX_TOOLS {
                return Err(ListFailure::new(format!("it lists more than {MAX_TOOLS} tools")));
            }
            match unusable(source, &tool) {
                Some(complaint) => whole.complaints.push(complaint),
                None if !ids.insert(tool.id.clone()) => {
                    whole.complaints.push(format!("{} is listed twice; the first is used", quoted(&tool.id)))
                }
                None => whole.tools.push(tool),
            }
        }
        match page.next {
            None => return Ok(whole),
            Some(next) if !cursors.insert(next.clone()) => return Err(ListFailure::new("its pages go round in a circle")),
            next => cursor = next,
        }
    }
    Err(ListFailure::new(format!("its list has more than {MAX_PAGES} pages")))
}

/// Names are strangers' own and stay as they are (`a/b`, `sök`); only what could not be called, or is not the source's to give, is left out.
fn unusable(source: &dyn ToolSource, tool: &Tool) -> Option<String> {
    let name = &tool.name;
    if name.is_empty() || name.len() > MAX_NAME_BYTES || name.trim() != name || name.chars().any(char::is_control) {
        return Some(format!("the name {} is not usable", quoted(name)));
    }
    (tool.source != source.source()).then(|| format!("{} says that it comes from another kind of source", quoted(&tool.id)))
}
