//! The closed sets of words: each written here once.

macro_rules! words {
    ($(#[$doc:meta])* $name:ident, $count:literal: $($(#[$word_doc:meta])* $variant:ident = $word:literal,)*) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name { $($(#[$word_doc])* $variant,)* }

        impl $name {
            /// Every word of the set.
            pub const ALL: [Self; $count] = [$(Self::$variant,)*];

            /// The word as the wire has it.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word,)* }
            }

            /// The member of the set with this word.
            #[must_use]
            pub fn from_word(word: &str) -> Option<Self> {
                match word { $($word => Some(Self::$variant),)* _ => None }
            }

            #[allow(dead_code, reason = "some sets stand only where keys are data")]
            pub(crate) fn read(entry: crate::json::Entry<'_>, place: &'static str) -> Result<Self, crate::violation::Violation> {
                let word = crate::fields::string(entry, place)?;
                Self::from_word(&word).ok_or(crate::violation::Violation::new(crate::violation::ViolationKind::BadValue, place))
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }
    };
}

pub(crate) use words;

words! {
    /// The level of a console entry.
    Level, 3:
    /// `console.log`
    Log = "log",
    /// `console.warn`
    Warn = "warn",
    /// `console.error`
    Error = "error",
}

words! {
    /// What the body's value was before it became JSON.
    ValueType, 10:
    /// Nothing was returned.
    Undefined = "undefined",
    /// `null`
    Null = "null",
    /// true or false
    Boolean = "boolean",
    /// A number, also one that JSON does not have.
    Number = "number",
    /// A string.
    String = "string",
    /// A bigint.
    Bigint = "bigint",
    /// A symbol.
    Symbol = "symbol",
    /// A function or class.
    Function = "function",
    /// Any other object.
    Object = "object",
    /// An array.
    Array = "array",
}

words! {
    /// The verdicts that a child may claim. Every other verdict is the supervisor's own.
    ChildVerdict, 8:
    /// The body threw, or its promise was rejected.
    BodyError = "body_error",
    /// A rejection that nobody handled.
    UnhandledRejection = "unhandled_rejection",
    /// The body waits for nothing that can come.
    NeverSettles = "never_settles",
    /// The body does not parse.
    SyntaxError = "syntax_error",
    /// The body is empty, too long, or in several fences.
    InvalidBody = "invalid_body",
    /// An allocation failed at the limit.
    MemoryLimit = "memory_limit",
    /// The value or the console was too large.
    OutputLimit = "output_limit",
    /// Too many requests.
    CallLimit = "call_limit",
}

words! {
    /// Why a request of the child was not answered with a value.
    CallCode, 16:
    /// No tool has this id or name.
    UnknownTool = "unknown_tool",
    /// Several tools have this bare name.
    AmbiguousTool = "ambiguous_tool",
    /// Policy does not allow it.
    Denied = "denied",
    /// It needs an approval, and nobody can give one.
    ApprovalUnavailable = "approval_unavailable",
    /// A human said no.
    ApprovalDenied = "approval_denied",
    /// No human answered in time.
    ApprovalTimeout = "approval_timeout",
    /// A hook refused the call.
    HookBlocked = "hook_blocked",
    /// A hook did not work.
    HookFailed = "hook_failed",
    /// The arguments do not fit the tool's schema.
    InvalidArguments = "invalid_arguments",
    /// The tool's value does not fit its schema, or is no JSON that a frame can carry.
    InvalidResult = "invalid_result",
    /// The tool itself failed.
    ToolError = "tool_error",
    /// The tool's source cannot be reached.
    ToolUnavailable = "tool_unavailable",
    /// The tool did not answer in time.
    ToolTimeout = "tool_timeout",
    /// The arguments or the value were above the limit.
    TooLarge = "too_large",
    /// The run has used up its requests.
    CallLimit = "call_limit",
    /// The call or the run was cancelled.
    Cancelled = "cancelled",
}
