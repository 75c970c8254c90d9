//! The one error of reading: the peer broke the wire.

use std::fmt;

use crate::frame::FrameError;

/// Which rule of `docs/wire.md` the peer broke.
///
/// The names that [`ViolationKind::as_str`] gives are the ones that the vectors use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ViolationKind {
    /// A frame of length 0.
    FrameEmpty,
    /// A frame longer than the limit of the run.
    FrameTooLong,
    /// End of file inside a frame.
    FrameTruncated,
    /// The text of a frame is not UTF-8.
    NotUtf8,
    /// The text is not one complete JSON value.
    BadJson,
    /// The text is JSON, but not an object: a batch, a number, a string.
    NotAnObject,
    /// Nested deeper than [`crate::MAX_DEPTH`].
    TooDeep,
    /// The same key twice in one object, at any depth.
    DuplicateKey,
    /// An escape that is half of a surrogate pair.
    LoneSurrogate,
    /// A number that no double can hold.
    NumberOutOfRange,
    /// `jsonrpc` is not exactly `"2.0"`.
    BadVersion,
    /// A method that this direction does not have.
    UnknownMethod,
    /// A field that the message does not have, also `id` in a notification.
    UnknownField,
    /// A field that the message must have is absent.
    MissingField,
    /// A field has another JSON type than the wire says.
    WrongType,
    /// The right type, but none of the values that are allowed.
    BadValue,
    /// An id that is not an integer from 1 to 2^53 - 1 in plain digits.
    BadId,
    /// A message whose time has not come: before `hello`, or before the run request.
    TooEarly,
    /// `hello` or `run` for the second time.
    Repeated,
    /// A message after the answer to `run`, or after the end of the run.
    TooLate,
    /// A request whose id is not the last one + 1.
    IdOutOfOrder,
    /// An answer to a request that was never made or is already answered.
    Unasked,
    /// The answer to `run` while requests of the child are still open.
    OpenRequests,
}

impl ViolationKind {
    /// Every kind.
    pub const ALL: [Self; 23] = [
        Self::FrameEmpty,
        Self::FrameTooLong,
        Self::FrameTruncated,
        Self::NotUtf8,
        Self::BadJson,
        Self::NotAnObject,
        Self::TooDeep,
        Self::DuplicateKey,
        Self::LoneSurrogate,
        Self::NumberOutOfRange,
        Self::BadVersion,
        Self::UnknownMethod,
        Self::UnknownField,
        Self::MissingField,
        Self::WrongType,
        Self::BadValue,
        Self::BadId,
        Self::TooEarly,
        Self::Repeated,
        Self::TooLate,
        Self::IdOutOfOrder,
        Self::Unasked,
        Self::OpenRequests,
    ];

    /// The name in the vectors, the telemetry and the docs.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::FrameEmpty => "frame_empty",
            Self::FrameTooLong => "frame_too_long",
            Self::FrameTruncated => "frame_truncated",
            Self::NotUtf8 => "not_utf8",
            Self::BadJson => "bad_json",
            Self::NotAnObject => "not_an_object",
            Self::TooDeep => "too_deep",
            Self::DuplicateKey => "duplicate_key",
            Self::LoneSurrogate => "lone_surrogate",
            Self::NumberOutOfRange => "number_out_of_range",
            Self::BadVersion => "bad_version",
            Self::UnknownMethod => "unknown_method",
            Self::UnknownField => "unknown_field",
            Self::MissingField => "missing_field",
            Self::WrongType => "wrong_type",
            Self::BadValue => "bad_value",
            Self::BadId => "bad_id",
            Self::TooEarly => "too_early",
            Self::Repeated => "repeated",
            Self::TooLate => "too_late",
            Self::IdOutOfOrder => "id_out_of_order",
            Self::Unasked => "unasked",
            Self::OpenRequests => "open_requests",
        }
    }
}

impl fmt::Display for ViolationKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The peer broke the wire: which rule, and where in the message.
///
/// It is made of constants of this crate and of numbers, never of text of the peer, so it may be shown and logged as it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    kind: ViolationKind,
    place: &'static str,
    numbers: Option<(u64, u64)>,
}

impl Violation {
    /// `place` names the part of the frame, the message or the session that was wrong.
    pub(crate) fn new(kind: ViolationKind, place: &'static str) -> Self {
        Self { kind, place, numbers: None }
    }

    /// For who reads messages and knows more about when they may come: this kind, for the message as a whole.
    #[must_use]
    pub fn of_message(kind: ViolationKind) -> Self {
        Self::new(kind, "message")
    }

    /// With what was found and what was the limit or the expectation.
    pub(crate) fn with_numbers(mut self, found: u64, wanted: u64) -> Self {
        self.numbers = Some((found, wanted));
        self
    }

    /// The rule that was broken.
    #[must_use]
    pub fn kind(&self) -> ViolationKind {
        self.kind
    }

    /// The part of the frame, the message or the session that was wrong.
    #[must_use]
    pub fn place(&self) -> &'static str {
        self.place
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.kind, self.place)?;
        match self.numbers {
            Some((found, wanted)) => write!(f, ": got {found} where {wanted} is the bound"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Violation {}

impl From<FrameError> for Violation {
    fn from(error: FrameError) -> Self {
        match error {
            FrameError::Empty => Self::new(ViolationKind::FrameEmpty, "frame length"),
            FrameError::TooLong { length, limit } => Self::new(ViolationKind::FrameTooLong, "frame length").with_numbers(length, limit),
            FrameError::NotUtf8 => Self::new(ViolationKind::NotUtf8, "frame text"),
            FrameError::Truncated { have, want } => Self::new(ViolationKind::FrameTruncated, "end of file").with_numbers(have, want),
        }
    }
}
