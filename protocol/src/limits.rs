//! The limits of one run: a default, a hard cap and a reason each.
//!
//! A value of [`RunLimits`] is always inside the caps, so nothing that takes one checks again.

use std::fmt;

use serde::Serialize;

use crate::frame::FrameLimit;

const KIB: u64 = 1024;
const MIB: u64 = 1024 * KIB;

/// Requests above the budget that are still answered, with `call_limit`; the next one ends the run.
///
/// Enough for a body that fires a thousand calls at once and then reads why, and few enough that a flood is over soon.
pub const REFUSALS: u64 = 1_024;

/// What a frame has besides the thing that it carries: the envelope, and the message, stack and names of an error.
pub const ENVELOPE_BYTES: u64 = 64 * KIB;

/// JSON writes a control character as six bytes (`\u0001`), so text of the caller can grow by this factor on the wire.
pub const ESCAPE_FACTOR: u64 = 6;

/// What a limit bounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Limit {
    /// Milliseconds from the first byte of the body; waiting for a human may stop this clock.
    WallMs,
    /// Milliseconds that one approval may take.
    ApprovalMs,
    /// Milliseconds after which a run ends, whatever it waits for.
    CeilingMs,
    /// Milliseconds between asking a child to end and killing it.
    KillGraceMs,
    /// Bytes of memory above what the armed child has before the body.
    MemoryBytes,
    /// Bytes of the body, as UTF-8.
    BodyBytes,
    /// Bytes of the JSON text of one call's arguments.
    ArgsBytes,
    /// Bytes of the JSON text of one tool's value.
    ResultBytes,
    /// Bytes of the JSON text of the body's value.
    ValueBytes,
    /// Bytes of UTF-8 that a run's console keeps.
    ConsoleBytes,
    /// Bytes of UTF-8 that one console entry keeps.
    ConsoleEntryBytes,
    /// Bytes of UTF-8 that a body may print before the run ends.
    ConsoleFloodBytes,
    /// Requests of the child that may be open at once.
    InFlight,
    /// Requests that a run may make; what comes above is refused.
    Requests,
}

struct Bounds {
    name: &'static str,
    least: u64,
    default: u64,
    cap: u64,
}

const fn bounds(name: &'static str, least: u64, default: u64, cap: u64) -> Bounds {
    Bounds { name, least, default, cap }
}

impl Limit {
    /// Every limit, in the order of reports.
    pub const ALL: [Self; 14] = [
        Self::WallMs,
        Self::ApprovalMs,
        Self::CeilingMs,
        Self::KillGraceMs,
        Self::MemoryBytes,
        Self::BodyBytes,
        Self::ArgsBytes,
        Self::ResultBytes,
        Self::ValueBytes,
        Self::ConsoleBytes,
        Self::ConsoleEntryBytes,
        Self::ConsoleFloodBytes,
        Self::InFlight,
        Self::Requests,
    ];

    const fn bounds(self) -> Bounds {
        match self {
            // A model waits for the answer: ten seconds is long for glue code, a minute is the most a turn can bear. Configuration files begin at
            // `WALL_CONFIG_LEAST_MS`; an embedder and the command line may go below.
            Self::WallMs => bounds("wallMs", 1, 10_000, 60_000),
            // A human at a screen answers within two minutes or not at all. More than the ceiling can never be used.
            Self::ApprovalMs => bounds("approvalMs", 1, 120_000, 600_000),
            // Bounds the pause of the wall clock: a child must not live for hours because nobody looks at an approval.
            Self::CeilingMs => bounds("ceilingMs", 1, 600_000, 600_000),
            // An honest child ends within a millisecond of end-of-file; the rest is for a loaded machine. A hostile one gains nothing from more.
            Self::KillGraceMs => bounds("killGraceMs", 1, 100, 1_000),
            // Holds the largest result several times over, as text, as objects and as garbage. Below 8 MiB a collection alone can fail.
            Self::MemoryBytes => bounds("memoryBytes", 8 * MIB, 128 * MIB, 1024 * MIB),
            // Models write kilobytes. The parser is linear, and a megabyte still parses within the clock under jitless.
            Self::BodyBytes => bounds("bodyBytes", 1, 256 * KIB, MIB),
            // A file's content passed to a tool.
            Self::ArgsBytes => bounds("argsBytes", 2, MIB, 4 * MIB),
            // A tool may return far more than a model ever sees: filtering it is what a body is for.
            Self::ResultBytes => bounds("resultBytes", 4, 4 * MIB, 16 * MIB),
            // This goes into a model's context, where a megabyte is already too much.
            Self::ValueBytes => bounds("valueBytes", 4, MIB, 8 * MIB),
            // The same context, beside the value.
            Self::ConsoleBytes => bounds("consoleBytes", 0, 64 * KIB, MIB),
            // Eight entries fill the default console. At the cap an entry of control characters still fits into a frame of its own.
            Self::ConsoleEntryBytes => bounds("consoleEntryBytes", 16, 8 * KIB, 64 * KIB),
            // 256 times what is kept: a body that prints more is in a loop.
            Self::ConsoleFloodBytes => bounds("consoleFloodBytes", KIB, 16 * MIB, 16 * MIB),
            // As many as a backend with a few connections can use; each open one may hold a whole result.
            Self::InFlight => bounds("inFlight", 1, 32, 128),
            // A loop over a page of rows with a call for each. Zero is a run without tools.
            Self::Requests => bounds("requests", 0, 1_024, 10_000),
        }
    }

    /// The name in reports and in errors.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.bounds().name
    }

    /// The smallest value that makes sense.
    #[must_use]
    pub const fn least(self) -> u64 {
        self.bounds().least
    }

    /// The value of a run that says nothing.
    #[must_use]
    pub const fn default_value(self) -> u64 {
        self.bounds().default
    }

    /// The value that nobody can go above.
    #[must_use]
    pub const fn cap(self) -> u64 {
        self.bounds().cap
    }
}

/// The least wall clock that a configuration file may set; below it the value is raised to this.
pub const WALL_CONFIG_LEAST_MS: u64 = 1_000;

/// A limit outside its bounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LimitError {
    /// The limit.
    pub limit: Limit,
    /// The value that it was to have.
    pub value: u64,
}

impl fmt::Display for LimitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { limit, value } = self;
        write!(f, "{} cannot be {value}: it goes from {} to {}", limit.name(), limit.least(), limit.cap())
    }
}

impl std::error::Error for LimitError {}

/// The limits of one run.
///
/// ```
/// use codemode_protocol::{Limit, RunLimits};
///
/// let limits = RunLimits::default().with(Limit::WallMs, 2_000)?;
/// assert_eq!(limits.wall_ms(), 2_000);
/// assert!(limits.with(Limit::WallMs, 60_001).is_err());
/// # Ok::<(), codemode_protocol::LimitError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunLimits {
    values: [u64; Limit::ALL.len()],
}

impl Default for RunLimits {
    fn default() -> Self {
        Self { values: Limit::ALL.map(Limit::default_value) }
    }
}

macro_rules! getters {
    ($($(#[$doc:meta])* $name:ident: $limit:ident,)*) => {
        impl RunLimits {
            $($(#[$doc])* #[must_use] pub const fn $name(&self) -> u64 { self.values[Limit::$limit as usize] })*
        }
    };
}

getters! {
    /// [`Limit::WallMs`]
    wall_ms: WallMs,
    /// [`Limit::ApprovalMs`]
    approval_ms: ApprovalMs,
    /// [`Limit::CeilingMs`]
    ceiling_ms: CeilingMs,
    /// [`Limit::KillGraceMs`]
    kill_grace_ms: KillGraceMs,
    /// [`Limit::MemoryBytes`]
    memory_bytes: MemoryBytes,
    /// [`Limit::BodyBytes`]
    body_bytes: BodyBytes,
    /// [`Limit::ArgsBytes`]
    args_bytes: ArgsBytes,
    /// [`Limit::ResultBytes`]
    result_bytes: ResultBytes,
    /// [`Limit::ValueBytes`]
    value_bytes: ValueBytes,
    /// [`Limit::ConsoleBytes`]
    console_bytes: ConsoleBytes,
    /// [`Limit::ConsoleEntryBytes`]
    console_entry_bytes: ConsoleEntryBytes,
    /// [`Limit::ConsoleFloodBytes`]
    console_flood_bytes: ConsoleFloodBytes,
    /// [`Limit::InFlight`]
    in_flight: InFlight,
    /// [`Limit::Requests`]
    requests: Requests,
}

impl RunLimits {
    /// Every limit at its hard cap: what nobody goes above, for who has to be ready for any run.
    #[must_use]
    pub fn capped() -> Self {
        Self { values: Limit::ALL.map(Limit::cap) }
    }

    /// The value of a limit, for who goes through [`Limit::ALL`].
    #[must_use]
    pub const fn get(&self, limit: Limit) -> u64 {
        self.values[limit as usize]
    }

    /// The same limits with one of them changed.
    ///
    /// # Errors
    ///
    /// When the value is outside the bounds of the limit. It is never clamped: who wants that asks [`Limit::cap`] first, and says so to its user.
    pub const fn with(mut self, limit: Limit, value: u64) -> Result<Self, LimitError> {
        if value < limit.least() || value > limit.cap() {
            return Err(LimitError { limit, value });
        }
        self.values[limit as usize] = value;
        Ok(self)
    }

    /// How long a frame of this run may be, in either direction.
    ///
    /// The largest thing that the run may carry and 64 KiB for what is around it. Arguments, results and values are counted as JSON text already; the body and
    /// a console entry are counted as UTF-8 and may be six times as long on the wire.
    #[must_use]
    pub fn frame_limit(&self) -> FrameLimit {
        let plain = self.args_bytes().max(self.result_bytes()).max(self.value_bytes());
        let escaped = self.body_bytes().max(self.console_entry_bytes()) * ESCAPE_FACTOR;
        // The caps keep this at 16 MiB + 64 KiB, and a test holds them to it; the fallback is never taken.
        u32::try_from(plain.max(escaped) + ENVELOPE_BYTES).ok().and_then(FrameLimit::new).unwrap_or(FrameLimit::LARGEST)
    }

    /// The limits that the child keeps itself.
    #[must_use]
    pub fn wire(&self) -> WireLimits {
        WireLimits {
            in_flight: self.in_flight(),
            requests: self.requests(),
            args_bytes: self.args_bytes(),
            value_bytes: self.value_bytes(),
            body_bytes: self.body_bytes(),
            console_entry_bytes: self.console_entry_bytes(),
            console_flood_bytes: self.console_flood_bytes(),
        }
    }
}

/// The `limits` object of the run frame: what an honest child keeps by itself, so that a body is told kindly before the supervisor ends it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct WireLimits {
    /// [`Limit::InFlight`]
    pub in_flight: u64,
    /// [`Limit::Requests`]
    pub requests: u64,
    /// [`Limit::ArgsBytes`]
    pub args_bytes: u64,
    /// [`Limit::ValueBytes`]
    pub value_bytes: u64,
    /// [`Limit::BodyBytes`]
    pub body_bytes: u64,
    /// [`Limit::ConsoleEntryBytes`]
    pub console_entry_bytes: u64,
    /// [`Limit::ConsoleFloodBytes`]
    pub console_flood_bytes: u64,
}
