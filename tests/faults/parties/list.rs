//! Who they are.

use super::{approver, backend, child, gateway, hook, launch, mcp, source, template};
use crate::table::Party;

/// Every party, the slowest first.
pub fn all() -> Vec<Box<dyn Party>> {
    vec![
        Box::new(launch::Launch),
        Box::new(template::Template),
        Box::new(gateway::Gateways::default()),
        Box::new(mcp::McpServers),
        Box::new(child::Child),
        Box::new(source::Servers),
        Box::new(backend::Backend),
        Box::new(hook::Hook),
        Box::new(approver::Person),
    ]
}
