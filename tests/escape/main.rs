//! Attack bodies against the walls, each beside a control that shows that the attack is one.
//!
//! `bodies/` holds the bodies; `expected.json` what is expected of those that do not simply say that they were held, with the reason.

mod corpus;
mod guest_realm;
mod listed;
mod lost_realm;
mod plain_node;
mod reach;
