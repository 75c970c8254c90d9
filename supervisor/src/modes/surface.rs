//! What a model is shown of a run's catalog.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::control::Control;
use super::definition::ToolDefinition;
use super::directory;
use super::names::{assigned, is_takeable};
use crate::catalog::{CallCode, CallFailure, RunCatalog, Source, Tool, json_bytes, quoted};
use crate::config::{Mode, ToolSearch};

/// Bytes of the full schemas in a directory, together: four usual ones have 6 KiB, and one giant must not bring back what the directory saves.
const SCHEMA_BYTES: usize = 16 * 1024;
/// Harnesses with a tool search of their own. Two of them in one prompt would fight.
const NATIVE_SEARCH: [&str; 1] = ["codex"];

/// What is shown in the end.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Shown {
    /// One tool that runs JavaScript.
    Code,
    /// Three tools.
    Tools,
    /// Three tools, a directory and some schemas.
    Directory,
    /// Every tool with its schema.
    Direct,
    /// Every tool with its schema, for a harness that does its own search over them.
    HandedOver,
}

impl Shown {
    /// The word for it in logs.
    pub fn as_str(self) -> &'static str {
        match self {
            Shown::Code => "code",
            Shown::Tools => "tools",
            Shown::Directory => "directory",
            Shown::Direct => "direct",
            Shown::HandedOver => "handed_over",
        }
    }
}

/// What is known when a surface is made.
#[derive(Clone, Copy, Debug, Default)]
pub struct SurfaceRequest<'a> {
    /// The configuration's word; `None`: direct exposure.
    pub tool_search: Option<ToolSearch>,
    /// The harness that drives the model.
    pub harness: Option<&'a str>,
    /// Why no isolated child can be started, if none can.
    pub no_isolation: Option<&'a str>,
    /// Tools whose schemas a model has to have, by id or unique name.
    pub required: &'a [String],
    /// What the user wants, in the user's words: tools that this finds are likely.
    pub prompt: &'a str,
}

/// What a name stands for.
#[derive(Clone, Debug)]
pub enum Target {
    /// A tool of ours.
    Control(Control),
    /// A tool of the catalog.
    Tool(Arc<Tool>),
}

/// A tool of the client that is not shown under its name.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct RefusedName {
    /// Its id.
    pub id: String,
    /// Why, in one line.
    pub reason: String,
}

/// Sizes of JSON text in bytes.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct SurfaceBytes {
    /// Definitions and directory, as they are sent.
    pub sent: usize,
    /// What the definitions of all tools would take.
    pub direct: usize,
}

/// What a model is shown of a run's catalog.
#[derive(Clone, Debug)]
pub struct Surface {
    /// What it is.
    pub shown: Shown,
    /// The tools that the provider is told of. Their names are unique.
    pub definitions: Vec<ToolDefinition>,
    /// A text for the system prompt.
    pub directory: Option<String>,
    /// Why it is not what the configuration says.
    pub reason: Option<String>,
    /// Tools of the client that cannot be shown under their names.
    pub refused: Vec<RefusedName>,
    /// Sizes.
    pub bytes: SurfaceBytes,
    catalog: Arc<RunCatalog>,
    targets: HashMap<String, Target>,
}

/// How a catalog will be shown, known before it is compacted.
pub(super) fn decided(request: &SurfaceRequest<'_>) -> (Shown, Option<String>) {
    let Some(search) = request.tool_search else { return (Shown::Direct, None) };
    if let Some(harness) = request.harness.filter(|harness| NATIVE_SEARCH.contains(harness)) {
        let reason =
            format!("the harness {harness} has a tool search of its own: the tools are handed over to it, and none of ours is added");
        return (Shown::HandedOver, Some(reason));
    }
    match (search.mode, request.no_isolation) {
        (Mode::Code, Some(why)) => {
            (Shown::Tools, Some(format!("mode code needs an isolated child, and none can be started ({why}): mode tools in its place")))
        }
        (Mode::Code, None) => (Shown::Code, None),
        (Mode::Tools, _) => (Shown::Tools, None),
        (Mode::Directory, _) => (Shown::Directory, None),
    }
}

impl Surface {
    /// The surface of a catalog.
    pub fn of(catalog: Arc<RunCatalog>, request: &SurfaceRequest<'_>) -> Surface {
        let (shown, reason) = decided(request);
        let mut surface = Surface {
            shown,
            definitions: Vec::new(),
            directory: None,
            reason,
            refused: Vec::new(),
            bytes: SurfaceBytes::default(),
            catalog,
            targets: HashMap::new(),
        };
        match shown {
            Shown::Code => surface.add_controls(&[Control::Code]),
            Shown::Tools => surface.add_controls(&Control::STRUCTURED),
            Shown::Directory => surface.fill_directory(request),
            Shown::Direct | Shown::HandedOver => surface.add_all(),
        }
        surface.bytes.sent = json_bytes(&surface.definitions) + surface.directory.as_ref().map_or(0, String::len);
        surface.bytes.direct = surface.catalog.tools().direct_bytes(direct_bytes);
        surface
    }

    /// What a name of a definition stands for.
    pub fn target(&self, name: &str) -> Option<&Target> {
        self.targets.get(name)
    }

    /// The catalog that it is made of.
    pub fn catalog(&self) -> &Arc<RunCatalog> {
        &self.catalog
    }

    /// How many tools of the catalog are shown with their schemas.
    pub fn schemas_up_front(&self) -> usize {
        self.targets.values().filter(|target| matches!(target, Target::Tool(_))).count()
    }

    /// The definition of a hidden tool that a model calls by its exact id or name, before it runs. Only a directory hides tools under names that can be called.
    ///
    /// # Errors
    /// As for any tool that is not there or not permitted: it is looked for in the catalog of this run and nowhere else.
    pub fn hydrate(&self, name: &str) -> Result<(Arc<Tool>, ToolDefinition), CallFailure> {
        if self.shown != Shown::Directory {
            return Err(CallFailure::new(
                CallCode::UnknownTool,
                name,
                format!("there is no tool {}; use one that you were given", quoted(name)),
            ));
        }
        let names = assigned(self.catalog.tools().tools().iter().map(|tool| &**tool), &HashSet::new());
        let shown_as = |tool: &Arc<Tool>| self.catalog.tools().position(&tool.id).and_then(|index| names.get(index).cloned());
        let tool = match self.catalog.resolve(name) {
            // The name that a provider would take for a tool whose own it does not.
            Err(failure) if failure.code == CallCode::UnknownTool => {
                let index = names.iter().position(|one| one == name.trim()).ok_or(failure)?;
                Arc::clone(&self.catalog.tools().tools()[index])
            }
            found => found?,
        };
        let definition = ToolDefinition::of(shown_as(&tool).unwrap_or_else(|| tool.name.clone()), &tool);
        Ok((tool, definition))
    }

    fn add_controls(&mut self, controls: &[Control]) {
        let (tools, limits) = (self.catalog.tools().tools().len(), self.catalog.limits());
        for control in controls {
            self.targets.insert(control.as_str().to_owned(), Target::Control(*control));
            self.definitions.push(control.definition(tools, limits));
        }
    }

    fn add_tool(&mut self, name: String, tool: &Arc<Tool>) {
        self.definitions.push(ToolDefinition::of(name.clone(), tool));
        self.targets.insert(name, Target::Tool(Arc::clone(tool)));
    }

    fn add_all(&mut self) {
        let catalog = Arc::clone(&self.catalog);
        let own: Vec<&Arc<Tool>> = catalog.tools().tools().iter().filter(|tool| tool.source != Source::Client).collect();
        for (name, tool) in assigned(own.iter().map(|tool| &***tool), &HashSet::new()).into_iter().zip(own) {
            self.add_tool(name, tool);
        }
        self.add_clients(&catalog);
    }

    /// A client is answered under the name it knows its tool by, so that name it is, or none.
    fn add_clients(&mut self, catalog: &RunCatalog) {
        let tools = catalog.tools().tools();
        let gateways: HashSet<&str> = tools.iter().filter(|tool| tool.source != Source::Client).map(|tool| tool.name.as_str()).collect();
        for tool in tools.iter().filter(|tool| tool.source == Source::Client) {
            let name = &tool.name;
            let problem = if !is_takeable(name) {
                Some("is no name that a provider takes: 1 to 64 of A-Z, a-z, 0-9, _ and -")
            } else if Control::named(name).is_some() {
                Some("is the name of a tool of ours")
            } else if gateways.contains(name.as_str()) {
                Some("is the name of a tool of the gateway")
            } else if self.targets.contains_key(name) {
                Some("is the name of another tool that is shown")
            } else {
                None
            };
            match problem {
                Some(problem) => self.refused.push(RefusedName { id: tool.id.clone(), reason: format!("{} {problem}", quoted(name)) }),
                None => self.add_tool(name.clone(), tool),
            }
        }
    }

    fn fill_directory(&mut self, request: &SurfaceRequest<'_>) {
        let catalog = Arc::clone(&self.catalog);
        self.add_controls(&Control::STRUCTURED);
        self.add_clients(&catalog);
        let most = request.tool_search.unwrap_or_default().directory_schemas;
        let taken: HashSet<String> = self.targets.keys().cloned().collect();
        let picks = picks(&catalog, request, most);
        let names = assigned(catalog.tools().tools().iter().map(|tool| &**tool), &HashSet::new());
        for tool in picks {
            let index = catalog.tools().position(&tool.id).unwrap_or(usize::MAX);
            // A client's tool that is shown may have this name.
            if let Some(name) = names.get(index).filter(|name| !taken.contains(*name)) {
                self.add_tool(name.clone(), &tool);
            }
        }
        let listed: Vec<&Arc<Tool>> = catalog.tools().tools().iter().filter(|tool| tool.source != Source::Client).collect();
        self.directory = Some(directory::text(catalog.tools(), &listed));
    }
}

/// Tools whose schemas are shown with a directory: those that are required, then those that are likely, as long as there is room.
fn picks(catalog: &RunCatalog, request: &SurfaceRequest<'_>, most: usize) -> Vec<Arc<Tool>> {
    let required = request.required.iter().filter_map(|id| catalog.resolve(id).ok());
    let likely = catalog.tools().best(request.prompt, most.max(1) as u64);
    let mut room = SCHEMA_BYTES;
    let mut picked: Vec<Arc<Tool>> = Vec::new();
    for tool in required.chain(likely) {
        if picked.len() == most {
            break;
        }
        if tool.source == Source::Client || picked.iter().any(|one| one.id == tool.id) {
            continue;
        }
        let bytes = ToolDefinition::of(tool.name.clone(), &tool).bytes();
        if let Some(left) = room.checked_sub(bytes) {
            room = left;
            picked.push(tool);
        }
    }
    picked
}

/// What the definitions of these tools take as a JSON list.
fn direct_bytes(tools: &[Arc<Tool>]) -> usize {
    let names = assigned(tools.iter().map(|tool| &**tool), &HashSet::new());
    let definitions = names.into_iter().zip(tools).map(|(name, tool)| ToolDefinition::of(name, tool).bytes() + 1);
    definitions.sum::<usize>() + 1
}
