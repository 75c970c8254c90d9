//! Any policy, any hooks, any rules: what a call may be sure of.
