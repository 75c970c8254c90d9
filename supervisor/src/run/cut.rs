//! Cutting text to a number of bytes, always at whole characters.

/// Stands where text was cut out.
pub(crate) const MARK: &str = "…";

/// How much of a limit goes to the beginning when both ends are kept: three quarters, since a text names its subject first and its
/// outcome last.
pub(crate) fn head_share(limit: usize) -> usize {
    limit / 4 * 3
}

/// The longest beginning of at most `limit` bytes.
pub(crate) fn head(text: &str, limit: usize) -> &str {
    let mut end = limit.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// The longest end of at most `limit` bytes.
pub(crate) fn tail(text: &str, limit: usize) -> &str {
    let mut start = text.len().saturating_sub(limit);
    while !text.is_char_boundary(start) {
        start += 1;
    }
    &text[start..]
}

/// Keeps both ends of a text that is longer than `limit`; gives the bytes left out as well.
pub(crate) fn middle(text: String, limit: usize) -> (String, u64) {
    if text.len() <= limit {
        return (text, 0);
    }
    let room = limit.saturating_sub(MARK.len());
    let head = head(&text, head_share(room));
    let tail = tail(&text, room - head.len());
    let lost = text.len() - head.len() - tail.len();
    (format!("{head}{MARK}{tail}"), lost as u64)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_character_is_kept_whole_or_not_at_all() {
        assert_eq!(head("aé", 2), "a");
        assert_eq!(tail("éa", 2), "a");
        assert_eq!(head("aé", 3), "aé");
        assert_eq!(head("", 3), "");
    }

    proptest! {
        #[test]
        fn both_ends_stay_within_the_limit(text in "\\PC{0,80}", limit in 8usize..60) {
            let bytes = text.len();
            let (kept, lost) = middle(text, limit);
            prop_assert!(kept.len() <= limit);
            let mark = if lost > 0 { MARK.len() } else { 0 };
            prop_assert_eq!(kept.len() - mark + lost as usize, bytes);
        }
    }
}
