//! `run.start`: one body and how it is to be run.

use std::collections::BTreeMap;
use std::fmt;

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use super::hello::{line, object};
use super::{ApprovalRule, MOST_TOOLS, ToolText};
use crate::fields::{Fields, MAX_INTEGER, string};
use crate::json::{Entry, Outline};
use crate::limits::Limit;
use crate::violation::{Violation, ViolationKind as Kind};

/// Bytes of the name of a run, and of an id of its context.
const MOST_NAME: usize = 128;
/// Rules for approvals of one run.
const MOST_RULES: usize = 1_024;
/// Bytes of the pattern of one rule: it can be a whole id.
const MOST_PATTERN: usize = 1_024;

/// The gateway's name for a run: one line of 1 to 128 bytes.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct RunName(String);

impl RunName {
    /// `None` for what is no name.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Option<Self> {
        let name = name.into();
        let fits = !name.is_empty() && name.len() <= MOST_NAME && !name.chars().any(char::is_control);
        fits.then_some(Self(name))
    }

    /// The name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub(super) fn read(fields: &mut Fields<'_>) -> Result<Self, Violation> {
        line(fields.required("run", "params.run")?, MOST_NAME, "params.run").map(Self)
    }
}

impl fmt::Display for RunName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// For whom a run is, for logs and traces.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[expect(missing_docs, reason = "the names are those of a run's context")]
pub struct Context {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub channel: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub runtime: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub harness: Option<String>,
}

impl Context {
    fn read(entry: Entry<'_>) -> Result<Self, Violation> {
        let outline = object(entry.value, "params.context")?;
        let mut fields = Fields::root(&outline, "params.context")?;
        let mut take = |name| fields.optional(name).map(|id| line(id, MOST_NAME, "params.context")).transpose();
        let context = Self {
            agent: take("agent")?,
            profile: take("profile")?,
            session: take("session")?,
            channel: take("channel")?,
            runtime: take("runtime")?,
            harness: take("harness")?,
        };
        fields.finish()?;
        Ok(context)
    }
}

/// Who answers what the body searches and describes. Calls go to the gateway in either case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CatalogChoice {
    /// The gateway, each time.
    Gateway,
    /// This end, from this list.
    Tools(Vec<ToolText>),
}

impl CatalogChoice {
    fn read(entry: Entry<'_>) -> Result<Self, Violation> {
        if entry.value.starts_with('"') {
            return match string(entry, "params.catalog")?.as_str() {
                "gateway" => Ok(Self::Gateway),
                _ => Err(Violation::new(Kind::BadValue, "params.catalog")),
            };
        }
        let outline = object(entry.value, "params.catalog")?;
        let mut fields = Fields::root(&outline, "params.catalog")?;
        let tools = fields.required("tools", "params.catalog.tools")?.value;
        fields.finish()?;
        ToolText::list(tools, MOST_TOOLS).map(Self::Tools)
    }
}

impl Serialize for CatalogChoice {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Gateway => serializer.serialize_str("gateway"),
            Self::Tools(tools) => {
                let mut map = serializer.serialize_map(Some(1))?;
                map.serialize_entry("tools", tools)?;
                map.end()
            }
        }
    }
}

/// What the gateway wants to hear and be asked about a run. Absent is no.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Wants {
    /// `approval.request` for calls that a rule says `ask` about. Without it such a call is refused.
    pub approvals: bool,
    /// `hook.beforeToolCall` for each call that policy and schema let pass.
    pub hooks: bool,
    /// `run.log` for what the body prints.
    pub logs: bool,
    /// `run.call` for what the body asks for.
    pub calls: bool,
}

impl Wants {
    fn read(entry: Entry<'_>) -> Result<Self, Violation> {
        let outline = object(entry.value, "params.wants")?;
        let mut fields = Fields::root(&outline, "params.wants")?;
        let mut take = |name: &str| match fields.optional(name).map(|entry| entry.value) {
            Some("true") => Ok(true),
            Some("false") | None => Ok(false),
            Some(_) => Err(Violation::new(Kind::WrongType, "params.wants")),
        };
        let wants = Self { approvals: take("approvals")?, hooks: take("hooks")?, logs: take("logs")?, calls: take("calls")? };
        fields.finish()?;
        Ok(wants)
    }
}

/// The params of `run.start`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RunStart {
    /// The name of the run, not that of another one that goes on.
    pub run: RunName,
    /// The body.
    pub body: String,
    /// Limits that are not the defaults. Whether a value is inside its bounds is not asked here.
    #[serde(serialize_with = "limits_text", skip_serializing_if = "BTreeMap::is_empty")]
    pub limits: BTreeMap<Limit, u64>,
    /// For whom it is.
    pub context: Context,
    /// Its tools.
    pub catalog: CatalogChoice,
    /// Rules for approvals by pattern of tool ids.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub approvals: BTreeMap<String, ApprovalRule>,
    /// What the gateway wants to hear.
    pub wants: Wants,
}

impl RunStart {
    pub(super) fn read(outline: &Outline<'_>, params: Entry<'_>) -> Result<Self, Violation> {
        let mut fields = Fields::inside(outline, params, "run.start params")?;
        let run = RunName::read(&mut fields)?;
        let body = string(fields.required("body", "params.body")?, "params.body")?;
        let limits = fields.optional("limits").map(read_limits).transpose()?.unwrap_or_default();
        let context = fields.optional("context").map(Context::read).transpose()?.unwrap_or_default();
        let catalog = CatalogChoice::read(fields.required("catalog", "params.catalog")?)?;
        let approvals = fields.optional("approvals").map(read_rules).transpose()?.unwrap_or_default();
        let wants = fields.optional("wants").map(Wants::read).transpose()?.unwrap_or_default();
        fields.finish()?;
        Ok(Self { run, body, limits, context, catalog, approvals, wants })
    }
}

fn read_limits(entry: Entry<'_>) -> Result<BTreeMap<Limit, u64>, Violation> {
    const PLACE: &str = "params.limits";
    let given = members::<u64>(entry, PLACE)?;
    let named = |(name, value): (String, u64)| {
        let limit = Limit::ALL.into_iter().find(|limit| limit.name() == name).ok_or(Violation::new(Kind::UnknownField, PLACE))?;
        if value > MAX_INTEGER { Err(Violation::new(Kind::BadValue, PLACE)) } else { Ok((limit, value)) }
    };
    given.into_iter().map(named).collect()
}

fn read_rules(entry: Entry<'_>) -> Result<BTreeMap<String, ApprovalRule>, Violation> {
    const PLACE: &str = "params.approvals";
    let given = members::<String>(entry, PLACE)?;
    if given.len() > MOST_RULES || given.keys().any(|pattern| pattern.len() > MOST_PATTERN) {
        return Err(Violation::new(Kind::BadValue, PLACE));
    }
    let ruled = |(pattern, word): (String, String)| {
        ApprovalRule::from_word(&word).map(|rule| (pattern, rule)).ok_or(Violation::new(Kind::BadValue, PLACE))
    };
    given.into_iter().map(ruled).collect()
}

/// The members of an object whose keys are data. The text has passed, so no key comes twice.
fn members<T: for<'a> serde::Deserialize<'a>>(entry: Entry<'_>, place: &'static str) -> Result<BTreeMap<String, T>, Violation> {
    let wrong = || Violation::new(Kind::WrongType, place);
    if !entry.value.starts_with('{') {
        return Err(wrong());
    }
    serde_json::from_str(entry.value).map_err(|_| wrong())
}

fn limits_text<S: Serializer>(limits: &BTreeMap<Limit, u64>, to: S) -> Result<S::Ok, S::Error> {
    to.collect_map(limits.iter().map(|(limit, value)| (limit.name(), value)))
}
