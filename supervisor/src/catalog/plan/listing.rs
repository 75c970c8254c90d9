//! The tools of a run before policy: lists of sources, one kind after the other.

use std::collections::HashMap;
use std::sync::Arc;

use super::super::{Permission, Source, Tool, ToolSource, Unavailable, quoted};
use super::shelf::{List, Shelved, Sources};
use super::view::{RunCatalog, SearchLimits};

/// What a run's sources offer, in the order in which they were listed.
#[derive(Debug)]
pub struct Listing {
    sources: Arc<Sources>,
    tools: Vec<(Arc<Tool>, Arc<Shelved>)>,
    /// Which source an id is from.
    taken: HashMap<String, usize>,
    shelved: Vec<Arc<Shelved>>,
    unavailable: Vec<Unavailable>,
    notes: Vec<String>,
}

impl Listing {
    /// Nothing yet, of these sources.
    pub fn of(sources: &Arc<Sources>) -> Listing {
        let sources = Arc::clone(sources);
        Listing { sources, tools: Vec::new(), taken: HashMap::new(), shelved: Vec::new(), unavailable: Vec::new(), notes: Vec::new() }
    }

    /// Lists the gateway's own tools and those of its plug-ins.
    pub async fn add_own(&mut self) {
        let listed = self.sources.listed(&[Source::Openclaw, Source::Plugin]).await;
        self.add(listed);
    }

    /// Lists the tools of MCP servers.
    pub async fn add_mcp(&mut self) {
        let listed = self.sources.listed(&[Source::Mcp]).await;
        self.add(listed);
    }

    /// Adds the tools of this run's client.
    pub async fn add_client(&mut self, client: &[Arc<dyn ToolSource>]) {
        let mut listed = self.sources.listed(&[Source::Client]).await;
        let own = client.iter().filter(|source| source.source() == Source::Client);
        let own = own.map(|source| Arc::new(Shelved::new(Arc::clone(source), true))).collect();
        listed.extend(self.sources.lists(own).await);
        self.add(listed);
    }

    /// What people who run the gateway should know: tools that were left out, and why.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// The catalog of the run: what policy leaves, ready to be searched.
    pub fn index(self, policy: &dyn Permission, limits: SearchLimits) -> RunCatalog {
        let (visible, hidden): (Vec<_>, Vec<_>) = self.tools.into_iter().partition(|(tool, _)| policy.permits(&tool.id));
        let origins = visible.iter().map(|(tool, shelved)| (tool.id.clone(), Arc::clone(shelved))).collect();
        let only_tools = |tools: Vec<(Arc<Tool>, Arc<Shelved>)>| tools.into_iter().map(|(tool, _)| tool).collect();
        let visible = self.sources.set_of(only_tools(visible));
        let hidden = self.sources.set_of(only_tools(hidden));
        RunCatalog { sources: self.sources, visible, hidden, origins, shelved: self.shelved, unavailable: self.unavailable, limits }
    }

    fn add(&mut self, listed: Vec<(Arc<Shelved>, List)>) {
        for (shelved, list) in listed {
            let name = shelved.source.name().to_owned();
            if let Some(reason) = list.problem {
                let stale = if list.tools.is_some() { " (an older list is used)" } else { "" };
                self.unavailable.push(Unavailable { server: name.clone(), reason: format!("{reason}{stale}") });
            }
            self.notes.extend(list.complaints.iter().map(|complaint| format!("{name}: {complaint}")));
            for tool in list.tools.iter().flat_map(|tools| tools.iter()) {
                // Ids are never two alike: who was listed first keeps his, and nobody replaces another in silence.
                match self.taken.get(&tool.id) {
                    Some(first) => {
                        let (kind, owner) = self.shelved.get(*first).map_or((tool.source, ""), |shelved| shelved.place());
                        self.notes.push(format!("{name}: {} is {} {owner}'s already; it is left out", quoted(&tool.id), kind.as_str()));
                    }
                    None => {
                        self.taken.insert(tool.id.clone(), self.shelved.len());
                        self.tools.push((Arc::clone(tool), Arc::clone(&shelved)));
                    }
                }
            }
            self.shelved.push(shelved);
        }
    }
}
