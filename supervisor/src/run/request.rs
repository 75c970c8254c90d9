//! What a caller asks for.

use std::sync::Arc;

use codemode_protocol::RunLimits;

use super::report::{ErrorCode, RunError};
use super::trace::TraceParent;
use crate::catalog::RunContext;
use crate::gate::Gate;

/// A body that is not worth a child.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
pub enum InvalidBody {
    /// Nothing, or nothing but blanks.
    #[error("the body is empty\ngive it at least one expression")]
    Empty,
    /// Above the limit.
    #[error("the body has {bytes} bytes, the limit is {limit}\nshorten it, or let tools bring the data")]
    TooLong {
        /// What it has.
        bytes: u64,
        /// What it may have.
        limit: u64,
    },
    /// Not text.
    #[error("the body is not UTF-8: byte {at} begins no character\nsave it as UTF-8")]
    NotUtf8 {
        /// The offset of the first bad byte, from 0.
        at: usize,
    },
    /// UTF-16, by its byte-order mark.
    #[error("the body is UTF-16\nsave it as UTF-8")]
    Utf16,
}

impl From<InvalidBody> for RunError {
    fn from(problem: InvalidBody) -> Self {
        RunError::new(ErrorCode::InvalidBody, problem.to_string())
    }
}

/// One body and how it is to be run.
#[derive(Clone, Debug)]
pub struct RunRequest {
    /// The body's bytes: JavaScript, UTF-8.
    pub body: Vec<u8>,
    /// The limits of this run.
    pub limits: RunLimits,
    /// The name of this run in a backend's log; made up when there is none.
    pub run_id: Option<Arc<str>>,
    /// For whom it is. What follows from it (policy, catalog) was decided before the run; here it is for logs and traces.
    pub context: RunContext,
    /// The span of the caller that it belongs to; the run's own span names it.
    pub trace_parent: Option<TraceParent>,
    /// What its calls pass on their way to the catalog.
    pub gate: Arc<Gate>,
    #[cfg(any(test, feature = "danger"))]
    fixed_seed: Option<[u8; 16]>,
}

impl RunRequest {
    /// A run at the default limits.
    pub fn new(body: impl Into<Vec<u8>>) -> Self {
        RunRequest {
            body: body.into(),
            limits: RunLimits::default(),
            run_id: None,
            context: RunContext::default(),
            trace_parent: None,
            gate: Arc::default(),
            #[cfg(any(test, feature = "danger"))]
            fixed_seed: None,
        }
    }

    /// The same with this seed of `Math.random`, in place of one that nobody can guess.
    #[cfg(any(test, feature = "danger"))]
    #[must_use]
    pub fn danger_seed(mut self, seed: [u8; 16]) -> Self {
        self.fixed_seed = Some(seed);
        self
    }

    /// The seed that a test has fixed.
    pub(crate) fn fixed_seed(&self) -> Option<[u8; 16]> {
        #[cfg(any(test, feature = "danger"))]
        let fixed = self.fixed_seed;
        #[cfg(not(any(test, feature = "danger")))]
        let fixed = None;
        fixed
    }

    /// The same for this agent, session and so on.
    #[must_use]
    pub fn with_context(mut self, context: RunContext) -> Self {
        self.context = context;
        self
    }

    /// The same as a part of this span.
    #[must_use]
    pub fn with_trace_parent(mut self, parent: TraceParent) -> Self {
        self.trace_parent = Some(parent);
        self
    }

    /// The same with other rules between the body and its tools.
    #[must_use]
    pub fn with_gate(mut self, gate: Arc<Gate>) -> Self {
        self.gate = gate;
        self
    }

    /// The same at other limits.
    #[must_use]
    pub fn with_limits(mut self, limits: RunLimits) -> Self {
        self.limits = limits;
        self
    }

    /// The body as text, if it is worth a child. What it means is for the child to find out.
    pub(crate) fn take_body(&mut self) -> Result<String, InvalidBody> {
        let bytes = std::mem::take(&mut self.body);
        let limit = self.limits.body_bytes();
        if bytes.len() as u64 > limit {
            return Err(InvalidBody::TooLong { bytes: bytes.len() as u64, limit });
        }
        if bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]) {
            return Err(InvalidBody::Utf16);
        }
        let body = String::from_utf8(bytes).map_err(|error| InvalidBody::NotUtf8 { at: error.utf8_error().valid_up_to() })?;
        if body.trim_matches(|c: char| c.is_whitespace() || c == '\u{feff}').is_empty() {
            return Err(InvalidBody::Empty);
        }
        Ok(body)
    }
}

#[cfg(test)]
mod tests {
    use codemode_protocol::Limit;

    use super::*;

    fn problem(body: &[u8]) -> Option<InvalidBody> {
        let limits = RunLimits::default().with(Limit::BodyBytes, 8).unwrap();
        RunRequest::new(body).with_limits(limits).take_body().err()
    }

    #[test]
    fn what_is_not_worth_a_child_is_found_before_one_is_started() {
        assert_eq!(problem(b"return 1"), None);
        assert_eq!(problem(b"\xef\xbb\xbf1"), None);
        assert_eq!(problem(b"return 12"), Some(InvalidBody::TooLong { bytes: 9, limit: 8 }));
        assert_eq!(problem(b""), Some(InvalidBody::Empty));
        assert_eq!(problem(b"\xef\xbb\xbf \n\t"), Some(InvalidBody::Empty));
        assert_eq!(problem(b"ab\xff"), Some(InvalidBody::NotUtf8 { at: 2 }));
        assert_eq!(problem(b"\xff\xfe1\0"), Some(InvalidBody::Utf16));
    }
}
