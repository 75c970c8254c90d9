//! Numbers on the command line: whole, decimal, without a unit, or refused. Nothing is read in part.

use codemode_protocol::Limit;

/// Bytes of a MiB, the unit of `--memory`.
pub(super) const MIB: u64 = 1 << 20;

/// Rows that a search gives at most.
const MOST_ROWS: u64 = 20;

/// A value that is no number of the wanted kind. The first line is what, the second what to do.
#[derive(Debug, Eq, PartialEq, thiserror::Error)]
#[error("{what}\n{advice}")]
pub(super) struct NumberError {
    what: String,
    advice: String,
}

/// What a flag counts, and how far.
struct Kind {
    flag: &'static str,
    unit: &'static str,
    least: u64,
    most: u64,
    usual: u64,
    /// Other units that people write, each with its worth as a fraction.
    units: &'static [(&'static str, u64, u64)],
}

const TIMEOUT: Kind = Kind {
    flag: "--timeout",
    unit: "milliseconds",
    least: Limit::WallMs.least(),
    most: Limit::WallMs.cap(),
    usual: Limit::WallMs.default_value(),
    units: &[
        ("ms", 1, 1),
        ("msec", 1, 1),
        ("s", 1_000, 1),
        ("sec", 1_000, 1),
        ("m", 60_000, 1),
        ("min", 60_000, 1),
        ("h", 3_600_000, 1),
        ("us", 1, 1_000),
    ],
};

const MEMORY: Kind = Kind {
    flag: "--memory",
    unit: "MiB",
    least: Limit::MemoryBytes.least() / MIB,
    most: Limit::MemoryBytes.cap() / MIB,
    usual: Limit::MemoryBytes.default_value() / MIB,
    units: &[
        ("m", 1, 1),
        ("mb", 1, 1),
        ("mib", 1, 1),
        ("k", 1, 1_024),
        ("kb", 1, 1_024),
        ("kib", 1, 1_024),
        ("g", 1_024, 1),
        ("gb", 1_024, 1),
        ("gib", 1_024, 1),
    ],
};

const ROWS: Kind = Kind { flag: "--limit", unit: "rows", least: 1, most: MOST_ROWS, usual: 8, units: &[] };

/// Each run that goes on is a process of up to some hundred MiB; more than a thousand of them is a misprint.
const CONCURRENCY: Kind = Kind { flag: "--concurrency", unit: "runs", least: 1, most: 1_024, usual: 32, units: &[] };

/// What ends services kills after minutes at most.
const DRAIN: Kind = Kind {
    flag: "--drain",
    unit: "seconds",
    least: 0,
    most: 600,
    usual: 15,
    units: &[("s", 1, 1), ("sec", 1, 1), ("m", 60, 1), ("min", 60, 1), ("ms", 1, 1_000)],
};

/// The value of `--drain`.
pub(super) fn drain(text: &str) -> Result<u64, NumberError> {
    DRAIN.read(text)
}

/// The value of `--concurrency`.
pub(super) fn concurrency(text: &str) -> Result<u64, NumberError> {
    CONCURRENCY.read(text)
}

/// The value of `--timeout`.
pub(super) fn milliseconds(text: &str) -> Result<u64, NumberError> {
    TIMEOUT.read(text)
}

/// The value of `--memory`.
pub(super) fn mebibytes(text: &str) -> Result<u64, NumberError> {
    MEMORY.read(text)
}

/// The value of `--limit`.
pub(super) fn rows(text: &str) -> Result<u64, NumberError> {
    ROWS.read(text)
}

impl Kind {
    fn read(&self, text: &str) -> Result<u64, NumberError> {
        let Some(number) = whole(text) else {
            let what = format!("{} takes a whole number of {}, not {text:?}", self.flag, self.unit);
            return Err(NumberError { what, advice: self.advice(self.meant(text)) });
        };
        match number {
            Some(number) if (self.least..=self.most).contains(&number) => Ok(number),
            _ => Err(NumberError {
                what: format!("{} takes {} to {} {}, not {text}", self.flag, self.least, self.most, self.unit),
                advice: self.advice(None),
            }),
        }
    }

    fn advice(&self, meant: Option<u64>) -> String {
        match meant {
            Some(number) => format!("write `{} {number}`", self.flag),
            None => format!("write a number from {} to {}, for example `{} {}`", self.least, self.most, self.flag, self.usual),
        }
    }

    /// What a number with a unit, or with a point, comes to; only when that is whole and within bounds.
    fn meant(&self, text: &str) -> Option<u64> {
        let text = text.trim().to_ascii_lowercase();
        let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
        let number = whole(&text[..digits])??;
        let unit = text[digits..].trim();
        let (times, parts) = if unit.is_empty() {
            (1, 1)
        } else {
            self.units.iter().find(|(name, ..)| *name == unit).map(|(_, times, parts)| (*times, *parts))?
        };
        let number = number.checked_mul(times)?;
        let fits = number.is_multiple_of(parts) && (self.least..=self.most).contains(&(number / parts));
        fits.then_some(number / parts)
    }
}

/// `None`: not digits alone. `Some(None)`: larger than any number here.
fn whole(text: &str) -> Option<Option<u64>> {
    (!text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())).then(|| text.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn advice(read: Result<u64, NumberError>) -> String {
        read.unwrap_err().advice
    }

    #[test]
    fn only_clean_numbers_count() {
        assert_eq!(milliseconds("8000"), Ok(8000));
        assert_eq!(milliseconds("1"), Ok(1));
        assert_eq!(milliseconds("60000"), Ok(60_000));
        assert_eq!(mebibytes("8"), Ok(8));
        for other in
            ["10ms", "1.5", "", "true", "null", "8000.7", "+5", "-5", "0", "60001", "1e3", "0x10", "1_000", "٣", "99999999999999999999999"]
        {
            assert!(milliseconds(other).is_err(), "{other:?}");
        }
    }

    #[test]
    fn a_unit_is_answered_with_what_to_write() {
        assert_eq!(advice(milliseconds("30s")), "write `--timeout 30000`");
        assert_eq!(advice(milliseconds("10ms")), "write `--timeout 10`");
        assert_eq!(advice(milliseconds(" 1 MIN ")), "write `--timeout 60000`");
        assert_eq!(advice(mebibytes("256MB")), "write `--memory 256`");
        assert_eq!(advice(mebibytes("1g")), "write `--memory 1024`");
        for other in ["2h", "1.5s", "0s", "s", "", "5us", "99999999999999999999s", "18446744073709551615h"] {
            assert_eq!(advice(milliseconds(other)), "write a number from 1 to 60000, for example `--timeout 10000`", "{other}");
        }
    }
}
