//! Which subject is for what.
//!
//! ```text
//! SUBJECT                 offers, to the queue group `workers`
//! SUBJECT.w.NAME.ID       one run at the worker NAME
//! SUBJECT.g.NAME.ID       one offer or run at the gateway NAME
//! SUBJECT.status          asks every worker for its status
//! SUBJECT.workers.NAME    the status of the worker NAME
//! ```

use super::id::Id;

/// Bytes of a subject at most: it stands in every message, and NATS advises to stay below 256.
const MOST_SUBJECT: usize = 128;
/// Bytes of a name at most.
const MOST_NAME: usize = 64;

/// Which end of a run somebody is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum End {
    Gateway,
    Worker,
}

impl End {
    fn token(self) -> &'static str {
        match self {
            End::Gateway => "g",
            End::Worker => "w",
        }
    }

    pub(super) fn other(self) -> End {
        match self {
            End::Gateway => End::Worker,
            End::Worker => End::Gateway,
        }
    }
}

/// The queue group of all workers: each offer goes to one of them.
pub(super) const GROUP: &str = "workers";

/// The subjects of one fleet.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Subjects(String);

impl Subjects {
    /// `None` for what is no subject: tokens of letters, digits, `-` and `_` with dots between.
    pub(super) fn new(root: &str) -> Option<Subjects> {
        (root.len() <= MOST_SUBJECT && root.split('.').all(is_token)).then(|| Subjects(root.to_owned()))
    }

    pub(super) fn offers(&self) -> String {
        self.0.clone()
    }

    pub(super) fn inbox(&self, end: End, name: &Name, id: &Id) -> String {
        format!("{}.{}.{}.{}", self.0, end.token(), name.0, id.hex())
    }

    /// Every inbox of one end.
    pub(super) fn inboxes(&self, end: End, name: &Name) -> String {
        format!("{}.{}.{}.*", self.0, end.token(), name.0)
    }

    /// Whether this is an inbox of such an end of this fleet: the only subjects that a worker or gateway writes to because a stranger said so.
    pub(super) fn is_inbox(&self, end: End, subject: &str) -> bool {
        let rest = subject.strip_prefix(self.0.as_str()).and_then(|rest| rest.strip_prefix('.'));
        let parts: Vec<&str> = rest.unwrap_or_default().splitn(4, '.').collect();
        matches!(parts[..], [token, name, id] if token == end.token() && Name::new(name).is_some() && Id::from_hex(id).is_some())
    }

    pub(super) fn ask_status(&self) -> String {
        format!("{}.status", self.0)
    }

    pub(super) fn status(&self, name: &Name) -> String {
        format!("{}.workers.{}", self.0, name.0)
    }
}

/// The name of a worker or gateway: one token of a subject, at most 64 bytes.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Name(String);

impl Name {
    pub(super) fn new(name: &str) -> Option<Name> {
        (name.len() <= MOST_NAME && is_token(name)).then(|| Name(name.to_owned()))
    }

    pub(super) fn as_str(&self) -> &str {
        &self.0
    }
}

fn is_token(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_stranger_names_is_an_inbox_of_this_fleet_or_nothing() {
        let subjects = Subjects::new("codemode.runs").unwrap();
        let id = Id::random().unwrap();
        let inbox = subjects.inbox(End::Gateway, &Name::new("gw-1").unwrap(), &id);
        assert!(subjects.is_inbox(End::Gateway, &inbox));
        assert!(!subjects.is_inbox(End::Worker, &inbox));
        for bad in [
            "codemode.runs".to_owned(),
            "$SYS.REQ.SERVER.PING".to_owned(),
            format!("codemode.runs.g.*.{}", id.hex()),
            "codemode.runs.g.gw.>".to_owned(),
            format!("codemode.runs.g.gw.x.{}", id.hex()),
            format!("codemode.runs.g.gw.{}.x", id.hex()),
            format!("codemode.runsx.g.gw.{}", id.hex()),
        ] {
            assert!(!subjects.is_inbox(End::Gateway, &bad), "{bad}");
        }
    }

    #[test]
    fn no_wildcard_and_no_blank_is_a_subject_or_a_name() {
        for bad in ["", ".", "a..b", "a.*", "a.>", "a b", "é", &"x".repeat(129)] {
            assert_eq!(Subjects::new(bad), None, "{bad}");
        }
        for bad in ["", "a.b", "*", ">", &"x".repeat(65)] {
            assert_eq!(Name::new(bad), None, "{bad}");
        }
    }
}
