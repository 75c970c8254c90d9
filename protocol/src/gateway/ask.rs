//! What codemode asks a gateway.

use serde::Serialize;

use super::hello::object;
use super::{Hello, RunName, ToolSource};
use crate::fields::{Fields, integer, object as any_object, string};
use crate::json::{Entry, JsonText, Outline};
use crate::violation::{Violation, ViolationKind as Kind};

/// The tool of a call that waits for somebody's word.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CalledTool {
    /// Its id.
    pub id: String,
    /// The kind of its source.
    pub source: ToolSource,
    /// Which one of that kind.
    pub source_name: String,
    /// Its own name.
    pub name: String,
}

impl CalledTool {
    fn read(entry: Entry<'_>) -> Result<Self, Violation> {
        let outline = object(entry.value, "params.tool")?;
        let mut fields = Fields::root(&outline, "params.tool")?;
        let tool = Self {
            id: string(fields.required("id", "params.tool.id")?, "params.tool.id")?,
            source: ToolSource::read(fields.required("source", "params.tool.source")?, "params.tool.source")?,
            source_name: string(fields.required("sourceName", "params.tool.sourceName")?, "params.tool.sourceName")?,
            name: string(fields.required("name", "params.tool.name")?, "params.tool.name")?,
        };
        fields.finish()?;
        Ok(tool)
    }
}

/// A request of codemode. All but `hello` name the run that they are for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Ask {
    /// `hello`: only where codemode has connected.
    Hello(Hello),
    /// `catalog.search`
    Search {
        /// The run.
        run: RunName,
        /// The body's words.
        query: String,
        /// Rows at most, as the body asked.
        #[serde(skip_serializing_if = "Option::is_none")]
        limit: Option<u64>,
    },
    /// `catalog.describe`
    Describe {
        /// The run.
        run: RunName,
        /// An id or a bare name.
        id: String,
    },
    /// `catalog.call`
    Call {
        /// The run.
        run: RunName,
        /// The call's number in the run's ledger.
        seq: u64,
        /// The id of the tool.
        id: String,
        /// The arguments: the text of an object that fits the tool's schema.
        args: JsonText,
    },
    /// `approval.request`
    Approve {
        /// The run.
        run: RunName,
        /// The call's number.
        seq: u64,
        /// The tool.
        tool: CalledTool,
        /// The arguments as the tool gets them.
        args: JsonText,
    },
    /// `hook.beforeToolCall`
    Hook {
        /// The run.
        run: RunName,
        /// The call's number.
        seq: u64,
        /// The tool.
        tool: CalledTool,
        /// The arguments as the tool would get them.
        args: JsonText,
    },
}

impl Ask {
    /// The methods, and what of a message of this direction they are.
    pub(super) const METHODS: [&str; 6] =
        ["hello", "catalog.search", "catalog.describe", "catalog.call", "approval.request", "hook.beforeToolCall"];

    /// The method of the wire.
    #[must_use]
    pub fn method(&self) -> &'static str {
        let [hello, search, describe, call, approve, hook] = Self::METHODS;
        match self {
            Self::Hello(_) => hello,
            Self::Search { .. } => search,
            Self::Describe { .. } => describe,
            Self::Call { .. } => call,
            Self::Approve { .. } => approve,
            Self::Hook { .. } => hook,
        }
    }

    pub(super) fn read(method: &str, outline: &Outline<'_>, params: Entry<'_>) -> Result<Self, Violation> {
        if method == "hello" {
            return Hello::read(outline, params).map(Self::Hello);
        }
        let mut fields = Fields::inside(outline, params, "params")?;
        let run = RunName::read(&mut fields)?;
        let seq = |fields: &mut Fields<'_>| integer(fields.required("seq", "params.seq")?, 1, "params.seq");
        let args = |fields: &mut Fields<'_>| any_object(fields.required("args", "params.args")?, "params.args");
        let id = |fields: &mut Fields<'_>| string(fields.required("id", "params.id")?, "params.id");
        let tool = |fields: &mut Fields<'_>| CalledTool::read(fields.required("tool", "params.tool")?);
        let ask = match method {
            "catalog.search" => {
                let query = string(fields.required("query", "params.query")?, "params.query")?;
                let limit = fields.optional("limit").map(|limit| integer(limit, 0, "params.limit")).transpose()?;
                Self::Search { run, query, limit }
            }
            "catalog.describe" => Self::Describe { run, id: id(&mut fields)? },
            "catalog.call" => Self::Call { run, seq: seq(&mut fields)?, id: id(&mut fields)?, args: args(&mut fields)? },
            "approval.request" => Self::Approve { run, seq: seq(&mut fields)?, tool: tool(&mut fields)?, args: args(&mut fields)? },
            "hook.beforeToolCall" => Self::Hook { run, seq: seq(&mut fields)?, tool: tool(&mut fields)?, args: args(&mut fields)? },
            _ => return Err(Violation::new(Kind::UnknownMethod, "method")),
        };
        fields.finish()?;
        Ok(ask)
    }
}
