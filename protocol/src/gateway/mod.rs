//! The wire between codemode and a gateway: JSON-RPC 2.0 in the frames of [`crate::frame`], both ends asking and answering.
//!
//! Who connects says [`Ask::Hello`] first, then everything goes both ways at once. [`FromGateway`] and [`ToGateway`] are two types, as for the child's wire: neither end
//! can say what only the other may. [`Exchange`] knows which ids may come now. What a result holds depends on what was asked, so it is carried as text and read by
//! whoever asked ([`HelloAnswer`], [`ToolText::list`], [`ApprovalWord`], [`HookWord`]). The contract is `docs/gateway.md`; every rule has a vector in `vectors/gateway`.

mod answers;
mod ask;
mod exchange;
mod from_gateway;
mod hello;
mod notice;
pub(crate) mod property;
mod start;
mod to_gateway;
mod tools;
mod words;

pub use answers::{ApprovalWord, Cancelled, HookWord};
pub use ask::{Ask, CalledTool};
pub use exchange::{Exchange, Settled};
pub use from_gateway::{FromGateway, GatewayAsk};
pub use hello::{Capabilities, Hello, HelloAnswer};
pub use notice::{CallNotice, Notice};
pub use start::{CatalogChoice, Context, RunName, RunStart, Wants};
pub use to_gateway::{Refusal, RequestText, ToGateway};
pub use tools::{MOST_TOOLS, ToolText};
pub use words::{ApprovalRule, Capability, GoodbyeCode, RefusalCode, RequestMethod, RequestState, ToolSource};

/// The version of this wire; both ends name it in `hello`.
pub const GATEWAY_PROTOCOL: u64 = 1;
