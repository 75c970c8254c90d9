//! The caller's span, as W3C Trace Context writes it.

use std::fmt;
use std::sync::Arc;

/// A `traceparent` of version 00: `00-TRACE-SPAN-FLAGS`, 32, 16 and 2 lower-case hexadecimal digits, neither id all zeros. It says to which span of the caller a run
/// belongs, and nothing is done with it but to pass it on.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct TraceParent(Arc<str>);

impl TraceParent {
    /// `None` for what is none.
    pub fn new(text: &str) -> Option<TraceParent> {
        let parts: Vec<&str> = text.splitn(5, '-').collect();
        let [version, trace, span, flags] = parts[..] else { return None };
        let is_hex = |part: &str, digits| part.len() == digits && part.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        let is_id = |part: &str, digits| is_hex(part, digits) && part.bytes().any(|byte| byte != b'0');
        (version == "00" && is_id(trace, 32) && is_id(span, 16) && is_hex(flags, 2)).then(|| TraceParent(text.into()))
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for TraceParent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_whole_one_of_this_version_is_one() {
        let good = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
        assert_eq!(TraceParent::new(good).map(|parent| parent.to_string()).as_deref(), Some(good));
        for bad in [
            "",
            "00",
            "01-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
            "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-x",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-1\n",
        ] {
            assert_eq!(TraceParent::new(bad), None, "{bad}");
        }
    }
}
