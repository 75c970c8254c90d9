//! Frames: a 4-byte big-endian length, then that many bytes of UTF-8 text.
//!
//! The reader believes no length: it checks the prefix before it takes a byte of the text, and its buffer grows with what has arrived.
//! It does not know JSON; [`crate::message`] does.

use std::fmt;

use serde::Serialize;

/// Bytes of the length in front of each frame.
pub const PREFIX_BYTES: usize = 4;

/// The least room that [`Decoder::space`] gives: large enough that a small frame is one read, small enough for thousands of waiting runs.
const MIN_SPACE: usize = 8 * 1024;

/// How many bytes the text of one frame may have.
///
/// Not zero, and not above [`FrameLimit::MAX`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FrameLimit(u32);

impl FrameLimit {
    /// 64 MiB: three times the largest frame that the hard caps allow, and far from where 32-bit offsets end.
    pub const MAX: u32 = 64 * 1024 * 1024;

    /// The largest limit there is.
    pub const LARGEST: Self = Self(Self::MAX);

    /// A limit of so many bytes; `None` for 0 and above [`FrameLimit::MAX`].
    #[must_use]
    pub const fn new(bytes: u32) -> Option<Self> {
        if bytes == 0 || bytes > Self::MAX { None } else { Some(Self(bytes)) }
    }

    /// The limit in bytes.
    #[must_use]
    pub const fn bytes(self) -> usize {
        self.0 as usize
    }
}

/// The bytes are no frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FrameError {
    /// The length is 0.
    Empty,
    /// The length is above the limit.
    TooLong {
        /// The length of the frame, or what its prefix claims.
        length: u64,
        /// The limit of the run.
        limit: u64,
    },
    /// The text is not UTF-8.
    NotUtf8,
    /// End of file inside a frame.
    Truncated {
        /// Bytes of the frame that have come, with the prefix.
        have: u64,
        /// Bytes that the frame has, with the prefix; [`PREFIX_BYTES`] when not even that has come.
        want: u64,
    },
}

impl fmt::Display for FrameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => write!(f, "a frame of length 0"),
            Self::TooLong { length, limit } => {
                write!(f, "a frame of {length} bytes, the limit is {limit}")
            }
            Self::NotUtf8 => write!(f, "the text of a frame is not UTF-8"),
            Self::Truncated { have, want } => {
                write!(f, "end of file after {have} of the {want} bytes of a frame")
            }
        }
    }
}

impl std::error::Error for FrameError {}

/// The text of one complete frame, still in the buffer of its [`Decoder`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Frame<'a>(&'a str);

impl<'a> Frame<'a> {
    /// A frame that came by another way than a [`Decoder`], as tests have it.
    #[must_use]
    pub fn from_text(text: &'a str) -> Self {
        Self(text)
    }

    /// The text: UTF-8, not yet known to be JSON.
    #[must_use]
    pub fn text(&self) -> &'a str {
        self.0
    }
}

/// Cuts a stream of bytes into frames.
///
/// Read into [`space`](Self::space), say how much with [`filled`](Self::filled), and take frames with [`next`](Self::next) until it gives
/// `None`. Whoever keeps to that order never holds more than one unfinished frame and one read. After an error every later call gives the same error: a
/// stream that was broken once has no boundaries any more.
///
/// ```
/// use codemode_protocol::frame::{Decoder, FrameLimit, encode};
///
/// let limit = FrameLimit::new(1024).expect("1024 is a limit");
/// let mut decoder = Decoder::new(limit);
/// decoder.push(&encode(b"{}", limit)?);
/// assert_eq!(decoder.next()?.map(|frame| frame.text().len()), Some(2));
/// assert!(decoder.next()?.is_none());
/// decoder.finish()?;
/// # Ok::<(), codemode_protocol::frame::FrameError>(())
/// ```
pub struct Decoder {
    limit: FrameLimit,
    /// Initialised throughout; the bytes not yet taken are `start..end`.
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    broken: Option<FrameError>,
}

impl Decoder {
    /// An empty decoder; it allocates with the first byte.
    #[must_use]
    pub fn new(limit: FrameLimit) -> Self {
        Self { limit, buffer: Vec::new(), start: 0, end: 0, broken: None }
    }

    /// Room for the next read; never empty.
    ///
    /// It grows by what has already come, never by what a length prefix says.
    pub fn space(&mut self) -> &mut [u8] {
        let live = self.end - self.start;
        if live == 0 {
            (self.start, self.end) = (0, 0);
        }
        if self.buffer.len() - self.end < MIN_SPACE {
            if self.start >= live && self.buffer.len() - live >= MIN_SPACE {
                self.buffer.copy_within(self.start..self.end, 0);
            } else {
                let bound = live.max(PREFIX_BYTES + self.limit.bytes()) + 2 * MIN_SPACE;
                let mut larger = vec![0; (live * 2).clamp(live + 2 * MIN_SPACE, bound)];
                larger[..live].copy_from_slice(&self.buffer[self.start..self.end]);
                self.buffer = larger;
            }
            (self.start, self.end) = (0, live);
        }
        &mut self.buffer[self.end..]
    }

    /// So many bytes were read into [`space`](Self::space). More than it had are not counted.
    pub fn filled(&mut self, bytes: usize) {
        self.end = self.end.saturating_add(bytes).min(self.buffer.len());
    }

    /// Takes bytes that already lie somewhere else.
    pub fn push(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let space = self.space();
            let count = space.len().min(bytes.len());
            let (now, later) = bytes.split_at(count);
            space[..count].copy_from_slice(now);
            self.filled(count);
            bytes = later;
        }
    }

    /// The next complete frame, if one has come.
    ///
    /// # Errors
    ///
    /// The first [`FrameError`] of the stream, from then on always.
    #[expect(clippy::should_implement_trait, reason = "a frame borrows from the decoder, which an Iterator cannot say")]
    pub fn next(&mut self) -> Result<Option<Frame<'_>>, FrameError> {
        if let Some(error) = self.broken {
            return Err(error);
        }
        let Some(length) = self.length() else {
            return Ok(None);
        };
        let checked = check_length(length, self.limit);
        if let Err(error) = checked {
            self.broken = Some(error);
            return Err(error);
        }
        let from = self.start + PREFIX_BYTES;
        // The length is at most FrameLimit::MAX here, so neither the cast nor the sum can wrap.
        let to = from + length as usize;
        if to > self.end {
            return Ok(None);
        }
        self.start = to;
        match std::str::from_utf8(&self.buffer[from..to]) {
            Ok(text) => Ok(Some(Frame(text))),
            Err(_) => {
                self.broken = Some(FrameError::NotUtf8);
                Err(FrameError::NotUtf8)
            }
        }
    }

    /// Bytes that have come and are in no frame yet.
    #[must_use]
    pub fn pending(&self) -> usize {
        self.end - self.start
    }

    /// The stream has ended: fine between frames, an error inside one.
    ///
    /// # Errors
    ///
    /// [`FrameError::Truncated`], or the error that the stream already had.
    pub fn finish(&self) -> Result<(), FrameError> {
        if let Some(error) = self.broken {
            return Err(error);
        }
        if self.pending() == 0 {
            return Ok(());
        }
        let want = self.length().map_or(0, u64::from) + PREFIX_BYTES as u64;
        Err(FrameError::Truncated { have: self.pending() as u64, want })
    }

    fn length(&self) -> Option<u32> {
        let prefix = self.buffer[self.start..self.end].first_chunk::<PREFIX_BYTES>()?;
        Some(u32::from_be_bytes(*prefix))
    }
}

impl fmt::Debug for Decoder {
    /// Without the bytes: they are the peer's, and can be megabytes.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Decoder")
            .field("limit", &self.limit)
            .field("pending", &self.pending())
            .field("broken", &self.broken)
            .finish_non_exhaustive()
    }
}

fn check_length(length: u32, limit: FrameLimit) -> Result<(), FrameError> {
    match length {
        0 => Err(FrameError::Empty),
        _ if length > limit.0 => Err(FrameError::TooLong { length: u64::from(length), limit: u64::from(limit.0) }),
        _ => Ok(()),
    }
}

/// The frame around a text.
///
/// # Errors
///
/// [`FrameError::Empty`] or [`FrameError::TooLong`].
pub fn encode(text: &[u8], limit: FrameLimit) -> Result<Vec<u8>, FrameError> {
    let mut out = Vec::with_capacity(PREFIX_BYTES + text.len().min(limit.bytes()));
    encode_into(&mut out, text, limit)?;
    Ok(out)
}

/// Appends the frame around a text; on an error nothing was appended.
///
/// # Errors
///
/// [`FrameError::Empty`] or [`FrameError::TooLong`].
pub fn encode_into(out: &mut Vec<u8>, text: &[u8], limit: FrameLimit) -> Result<(), FrameError> {
    let prefix = prefix(text.len(), limit)?;
    out.extend_from_slice(&prefix);
    out.extend_from_slice(text);
    Ok(())
}

/// Why a message of our own could not become a frame.
#[derive(Debug)]
pub(crate) enum EncodeError {
    Frame(FrameError),
    /// The value has no JSON, such as a map with keys that are no strings.
    Json,
}

/// The frame of a message, written once: the prefix goes in when the length is known.
pub(crate) fn encode_message<T: Serialize + ?Sized>(message: &T, hint: usize, limit: FrameLimit) -> Result<Vec<u8>, EncodeError> {
    let mut out = Vec::with_capacity(PREFIX_BYTES + hint.min(limit.bytes()));
    out.extend_from_slice(&[0; PREFIX_BYTES]);
    serde_json::to_writer(&mut out, message).map_err(|_| EncodeError::Json)?;
    let prefix = prefix(out.len() - PREFIX_BYTES, limit).map_err(EncodeError::Frame)?;
    out[..PREFIX_BYTES].copy_from_slice(&prefix);
    Ok(out)
}

fn prefix(length: usize, limit: FrameLimit) -> Result<[u8; PREFIX_BYTES], FrameError> {
    let length = u32::try_from(length).map_err(|_| FrameError::TooLong { length: length as u64, limit: u64::from(limit.0) })?;
    check_length(length, limit)?;
    Ok(length.to_be_bytes())
}
