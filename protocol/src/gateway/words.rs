//! The closed sets of words of this wire.

use crate::message::words;

words! {
    /// What an end can do besides the least. Words that are not known are passed over: that is what they are for.
    Capability, 4:
    /// It runs bodies: `run.start`, `run.cancel`.
    Runs = "runs",
    /// It answers `catalog.search`, `catalog.describe` and `catalog.call`.
    Catalog = "catalog",
    /// It answers `approval.request`.
    Approvals = "approvals",
    /// It answers `hook.beforeToolCall`.
    Hooks = "hooks",
}

words! {
    /// Where a tool comes from.
    ToolSource, 4:
    /// Built into the gateway.
    Openclaw = "openclaw",
    /// Brought by a plug-in of the gateway.
    Plugin = "plugin",
    /// Offered by an MCP server.
    Mcp = "mcp",
    /// Offered by the client of this session.
    Client = "client",
}

words! {
    /// What a rule for approvals says about the tools that its pattern fits.
    ApprovalRule, 3:
    /// Nobody is asked.
    Allow = "allow",
    /// A person is asked, each time.
    Ask = "ask",
    /// Nobody is asked, and the answer is no.
    Deny = "deny",
}

words! {
    /// What a body asked for.
    RequestMethod, 3:
    /// `openclaw.tools.search`
    Search = "search",
    /// `openclaw.tools.describe`
    Describe = "describe",
    /// `openclaw.tools.call`
    Call = "call",
}

words! {
    /// How far a request of a body came.
    RequestState, 8:
    /// Taken from the body.
    Queued = "queued",
    /// The backend is asked.
    Sent = "sent",
    /// Answered with a value.
    Ok = "ok",
    /// Answered with an error after dispatch.
    Error = "error",
    /// Stopped by policy, approval or hook before dispatch.
    Denied = "denied",
    /// Stopped before dispatch by anything else.
    Refused = "refused",
    /// The run ended before dispatch.
    Cancelled = "cancelled",
    /// The run ended after dispatch and before an answer.
    Unknown = "unknown",
}

impl RequestState {
    /// Whether nothing can follow.
    #[must_use]
    pub const fn is_final(self) -> bool {
        !matches!(self, Self::Queued | Self::Sent)
    }
}

words! {
    /// Why a request of the gateway is not done. The connection goes on.
    RefusalCode, 7:
    /// The `hello` names a version that is not spoken here. The connection ends behind it.
    UnsupportedProtocol = "unsupported_protocol",
    /// As many runs as one connection may have are there already.
    Busy = "busy",
    /// This end is about to go.
    Draining = "draining",
    /// A run with this name goes on.
    RunExists = "run_exists",
    /// A limit is outside its bounds.
    InvalidLimits = "invalid_limits",
    /// A static catalog has a tool that cannot be used.
    InvalidCatalog = "invalid_catalog",
    /// The run wants what the gateway did not offer in its `hello`.
    NotOffered = "not_offered",
}

words! {
    /// Why a connection ends.
    GoodbyeCode, 7:
    /// The gateway broke the wire.
    ProtocolViolation = "protocol_violation",
    /// Nothing that makes a `hello` came in time.
    HelloTimeout = "hello_timeout",
    /// The gateway does not take what is sent to it.
    Unread = "unread",
    /// The gateway owes more answers to requests that nobody waits for than anybody remembers.
    Unanswered = "unanswered",
    /// There are as many connections as there may be.
    TooManyConnections = "too_many_connections",
    /// The process at the other end belongs to somebody else.
    NotPermitted = "not_permitted",
    /// This end goes.
    Draining = "draining",
}
