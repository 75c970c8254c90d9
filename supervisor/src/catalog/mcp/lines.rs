//! Lines of a stream that may be endless, cut anywhere, and not text.

use std::io;

use tokio::io::{AsyncRead, AsyncReadExt};

/// Bytes of a line at most: the largest value of a tool that any limit allows (16 MiB), and room for the message around it.
pub(super) const LINE_BYTES: usize = (16 << 20) + (64 << 10);
/// Bytes of one line that are read and thrown away before the stream is given up: a result of 100 MB fails the call that it answers, a line without an end
/// ends the connection.
const MOST_SKIPPED: u64 = 256 << 20;
/// Bytes that are asked for at a time: what a pipe holds.
const READ_BYTES: usize = 64 << 10;

/// What a stream gave.
#[derive(Debug, Eq, PartialEq)]
pub(super) enum Line {
    /// A whole line, without its end.
    Whole(Vec<u8>),
    /// A line above the limit. `id`: that of the message in it, where one could be seen in passing.
    TooLong { id: Option<i64>, bytes: u64 },
}

/// Why there will be no further line.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum NoMore {
    /// The stream is at its end.
    Closed,
    /// It cannot be read.
    Unreadable(io::ErrorKind),
    /// A line went on for so many bytes.
    Endless(u64),
}

/// Reads lines. [`Lines::next`] is cancel-safe: what was read stays here.
#[derive(Debug)]
pub(super) struct Lines<R> {
    from: R,
    buffer: Vec<u8>,
    /// Where the next line begins.
    start: usize,
    /// Up to where there is no end of a line.
    searched: usize,
    skipping: Option<Skipping>,
}

#[derive(Debug, Default)]
struct Skipping {
    bytes: u64,
    finder: IdFinder,
}

impl<R: AsyncRead + Unpin> Lines<R> {
    pub(super) fn of(from: R) -> Lines<R> {
        Lines { from, buffer: Vec::new(), start: 0, searched: 0, skipping: None }
    }

    /// The next line.
    pub(super) async fn next(&mut self) -> Result<Line, NoMore> {
        loop {
            if let Some(line) = self.buffered()? {
                return Ok(line);
            }
            self.make_room();
            match self.from.read_buf(&mut self.buffer).await {
                // A last line without an end is half a message at best.
                Ok(0) => return Err(NoMore::Closed),
                Ok(_) => {}
                Err(error) => return Err(NoMore::Unreadable(error.kind())),
            }
        }
    }

    fn buffered(&mut self) -> Result<Option<Line>, NoMore> {
        let end = self.buffer[self.searched..].iter().position(|byte| *byte == b'\n').map(|at| self.searched + at);
        let upto = end.unwrap_or(self.buffer.len());
        if self.skipping.is_none() && upto - self.start > LINE_BYTES {
            self.skipping = Some(Skipping::default());
        }
        if let Some(skipping) = &mut self.skipping {
            let piece = &self.buffer[self.start..upto];
            skipping.bytes += piece.len() as u64;
            skipping.finder.feed(piece);
            if skipping.bytes > MOST_SKIPPED {
                return Err(NoMore::Endless(skipping.bytes));
            }
        }
        let Some(end) = end else {
            self.searched = self.buffer.len();
            if self.skipping.is_some() {
                self.start = self.searched;
            }
            return Ok(None);
        };
        let line = match self.skipping.take() {
            Some(skipped) => Line::TooLong { id: skipped.finder.found, bytes: skipped.bytes },
            None => {
                let line = &self.buffer[self.start..end];
                Line::Whole(line.strip_suffix(b"\r").unwrap_or(line).to_vec())
            }
        };
        self.start = end + 1;
        self.searched = self.start;
        Ok(Some(line))
    }

    /// Moves what is left to the front, and gives back what a long line took.
    fn make_room(&mut self) {
        self.buffer.drain(..self.start);
        self.searched -= self.start;
        self.start = 0;
        if self.buffer.len() < READ_BYTES && self.buffer.capacity() > 4 * READ_BYTES {
            self.buffer.shrink_to(READ_BYTES);
        }
        self.buffer.reserve(READ_BYTES);
    }
}

/// Looks for the outermost `id` of a JSON text that passes by in pieces, without keeping it.
#[derive(Debug, Default)]
struct IdFinder {
    depth: u64,
    in_string: bool,
    escaped: bool,
    /// The string or number that was read last at the outermost level, as far as it matters.
    word: Vec<u8>,
    is_id: bool,
    found: Option<i64>,
}

impl IdFinder {
    /// Letters of a word that matter: the largest number has nineteen digits and a sign.
    const WORD: usize = 20;

    fn feed(&mut self, piece: &[u8]) {
        for &byte in piece {
            self.take(byte);
        }
    }

    fn take(&mut self, byte: u8) {
        if self.in_string {
            match byte {
                _ if self.escaped => self.escaped = false,
                b'\\' => self.escaped = true,
                b'"' => {
                    self.in_string = false;
                    return;
                }
                _ => {}
            }
            return self.keep(byte);
        }
        match byte {
            b'"' => {
                self.in_string = true;
                if self.depth == 1 {
                    self.word.clear();
                }
            }
            b'{' | b'[' => self.depth += 1,
            b'}' | b']' => {
                self.value_ends();
                self.depth = self.depth.saturating_sub(1);
            }
            b':' if self.depth == 1 => {
                self.is_id = self.word == b"id";
                self.word.clear();
            }
            b',' => self.value_ends(),
            b' ' | b'\t' | b'\r' => {}
            _ => self.keep(byte),
        }
    }

    fn keep(&mut self, byte: u8) {
        if self.depth == 1 && self.word.len() <= Self::WORD {
            self.word.push(byte);
        }
    }

    fn value_ends(&mut self) {
        if self.depth != 1 {
            return;
        }
        if self.is_id {
            self.found = std::str::from_utf8(&self.word).ok().and_then(|word| word.parse().ok()).or(self.found);
        }
        self.is_id = false;
        self.word.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn together<T>(future: impl Future<Output = T>) -> T {
        tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future)
    }

    /// A reader that gives so many bytes at a time.
    struct Pieces<'a>(&'a [u8], usize);

    impl AsyncRead for Pieces<'_> {
        fn poll_read(
            mut self: std::pin::Pin<&mut Self>,
            _: &mut std::task::Context<'_>,
            into: &mut tokio::io::ReadBuf<'_>,
        ) -> std::task::Poll<io::Result<()>> {
            let take = self.1.min(self.0.len()).min(into.remaining());
            let (now, later) = self.0.split_at(take);
            into.put_slice(now);
            self.0 = later;
            std::task::Poll::Ready(Ok(()))
        }
    }

    fn all(text: &[u8], piece: usize) -> (Vec<Line>, NoMore) {
        together(async {
            let mut lines = Lines::of(Pieces(text, piece));
            let mut got = Vec::new();
            loop {
                match lines.next().await {
                    Ok(line) => got.push(line),
                    Err(end) => return (got, end),
                }
            }
        })
    }

    #[test]
    fn lines_are_the_same_however_the_stream_is_cut() {
        let text = "— é\n日本 😀\r\n\n{\"a\":1}\nhalf".as_bytes();
        let expected: Vec<Line> = ["— é", "日本 😀", "", "{\"a\":1}"].iter().map(|line| Line::Whole(line.as_bytes().to_vec())).collect();
        for piece in [1, 2, 3, 7, 1000] {
            assert_eq!(
                all(text, piece),
                (
                    expected
                        .iter()
                        .map(|line| match line {
                            Line::Whole(text) => Line::Whole(text.clone()),
                            Line::TooLong { .. } => unreachable!(),
                        })
                        .collect(),
                    NoMore::Closed
                )
            );
        }
    }

    #[test]
    fn a_line_at_the_limit_passes_and_one_above_it_is_left_out_with_its_id() {
        let fits = [vec![b'x'; LINE_BYTES], b"\nnext\n".to_vec()].concat();
        let (lines, _) = all(&fits, READ_BYTES);
        assert!(matches!(&lines[..], [Line::Whole(long), Line::Whole(next)] if long.len() == LINE_BYTES && next == b"next"));

        let text = format!("{{\"result\":{{\"id\":9,\"text\":\"{}\"}},\"jsonrpc\":\"2.0\",\"id\":7}}", "\\\"}".repeat(LINE_BYTES / 3));
        let (lines, _) = all(&[text.as_bytes(), b"\nnext\n"].concat(), READ_BYTES - 1);
        assert_eq!(lines, [Line::TooLong { id: Some(7), bytes: text.len() as u64 }, Line::Whole(b"next".to_vec())]);
    }

    #[test]
    fn an_id_is_found_first_last_as_text_and_not_where_there_is_none() {
        for (text, id) in [
            (r#"{"id":3,"result":"#, Some(3)),
            (r#"{"result":[{"id":1},"id",{"x":{"id":2}}],"id" : "12" }"#, Some(12)),
            (r#"{"result":{"id":1}}"#, None),
            (r#"{"id":"x","result":1}"#, None),
            (r#"[{"id":1}]"#, None),
            (r#"{"a":"\",\"id\":5","id":-4}"#, Some(-4)),
        ] {
            let mut finder = IdFinder::default();
            text.as_bytes().chunks(2).for_each(|piece| finder.feed(piece));
            assert_eq!(finder.found, id, "{text}");
        }
    }

    #[test]
    fn a_line_without_an_end_ends_the_stream_and_takes_no_memory() {
        together(async {
            let mut lines = Lines::of(tokio::io::repeat(b'x'));
            assert!(matches!(lines.next().await, Err(NoMore::Endless(bytes)) if bytes > MOST_SKIPPED));
            assert!(lines.buffer.capacity() < 3 * LINE_BYTES, "{}", lines.buffer.capacity());
        });
    }
}
