//! The directory: names and short descriptions of everything a model may ask for, in a text of bounded length.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

use crate::catalog::{Source, Tool, ToolSet, cleaned_line};

/// Characters of the whole text: about 4,500 tokens, a tenth of what the schemas of a large catalog take.
pub(super) const MOST_CHARS: usize = 18_000;
/// Characters of each description, tried in turn until the text fits. The last one is none.
const DESCRIPTION_CHARS: [usize; 4] = [160, 80, 40, 0];
/// Characters of a name or id in a line. The longest of known tools have 64.
const NAME_CHARS: usize = 128;
/// Room for the last line, which says how many are not listed.
const TAIL_CHARS: usize = 120;

const HEAD: &str = "Further tools. Only their names are listed here. To use one: read its schema with tool_describe, then call it with tool_call \
                    (or by its own name). If you do not see what you need, ask tool_search.\n";

/// The text for these tools; the same for the same tools, whatever their order.
pub(super) fn text(set: &ToolSet, tools: &[&Arc<Tool>]) -> String {
    if tools.is_empty() {
        return String::new();
    }
    let groups = groups(tools);
    for chars in DESCRIPTION_CHARS {
        let whole = write(set, &groups, chars, usize::MAX);
        if whole.chars().count() <= MOST_CHARS {
            return whole;
        }
    }
    // Not even the names fit: so many of every source that they do, found by halving.
    let (mut fits, mut too_many) = (0, groups.values().map(Vec::len).max().unwrap_or(0));
    while fits + 1 < too_many {
        let middle = fits.midpoint(too_many);
        if write(set, &groups, 0, middle).chars().count() <= MOST_CHARS - TAIL_CHARS {
            fits = middle;
        } else {
            too_many = middle;
        }
    }
    cut(write(set, &groups, 0, fits), tools.len())
}

type Groups<'a> = BTreeMap<(Source, &'a str), Vec<&'a Arc<Tool>>>;

fn groups<'a>(tools: &[&'a Arc<Tool>]) -> Groups<'a> {
    let mut groups: Groups<'a> = BTreeMap::new();
    for tool in tools {
        groups.entry((tool.source, tool.source_name.as_str())).or_default().push(tool);
    }
    for group in groups.values_mut() {
        group.sort_by(|a, b| (&a.name, &a.id).cmp(&(&b.name, &b.id)));
    }
    groups
}

fn write(set: &ToolSet, groups: &Groups<'_>, description_chars: usize, most: usize) -> String {
    let mut text = HEAD.to_owned();
    for ((source, name), tools) in groups {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "\n{} {} ({}):", source.as_str(), cleaned_line(name, NAME_CHARS), tools.len());
        for tool in tools.iter().take(most) {
            let _ = write!(text, "- {}", cleaned_line(called(set, tool), NAME_CHARS));
            if description_chars > 0 && !tool.description.trim().is_empty() {
                let _ = write!(text, ": {}", cleaned_line(&tool.description, description_chars));
            }
            text.push('\n');
        }
        if tools.len() > most {
            let _ = writeln!(text, "- and {} more", tools.len() - most);
        }
    }
    text
}

/// What a model calls it: its name if nobody else has it.
fn called<'a>(set: &ToolSet, tool: &'a Tool) -> &'a str {
    if set.is_called_by_name(tool) { &tool.name } else { &tool.id }
}

/// Headings alone can be too many: thousands of sources with a tool each.
fn cut(text: String, tools: usize) -> String {
    let limit = MOST_CHARS - TAIL_CHARS;
    let Some((end, _)) = text.char_indices().nth(limit) else {
        return text;
    };
    let end = text[..end].rfind('\n').map_or(end, |at| at + 1);
    format!("{}\n{tools} tools in all; the others are found with tool_search.\n", &text[..end])
}
