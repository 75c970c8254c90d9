//! Texts of the rows.

use std::fs;

use codemode_tests::host;

use crate::rows::{Attack, Means};

/// What bodies of the corpus do with an object that may be of another realm: here they show its mark.
const FOREIGN: &str = "const foreign = (o) => { let seen = ''; try { seen = o.realmMark || ''; } catch {} \
    if (!seen) try { seen = o.constructor.realmMark || o.constructor.constructor.realmMark || ''; } catch {} return seen ? 'main foreign ' + seen : ''; };";

/// The text of a row, its aims not filled in.
///
/// # Panics
///
/// When a row names a file that is not there.
pub fn text(row: &Attack) -> String {
    match &row.means {
        Means::GuestFile(name) => {
            let path = host::repository().join("tests/escape/bodies").join(name);
            let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            with_own_words(&text)
        }
        Means::Guest(text) => format!("{FOREIGN}\n{text}"),
        Means::Lost(text) | Means::Main(text) | Means::Act(text) | Means::Calls(text) | Means::Wire(text) | Means::Pair(text) => {
            text.clone()
        }
    }
}

/// The body with `foreign` replaced: three lines of its head.
fn with_own_words(text: &str) -> String {
    let begin = text.find("const foreign = ").expect("every guest body has it");
    let end = begin + text[begin..].find("\nconst call = ").expect("it stands before the next word");
    format!("{}{FOREIGN}{}", &text[..begin], &text[end..])
}
