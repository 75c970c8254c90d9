//! A find, made as short as it can be while it stays one.

use crate::body::Body;
use crate::range::Range;

/// Runs that must all succeed before a statement is taken to be needless: finds that depend on timing stay whole.
const TWICE: usize = 2;

/// Leaves out statements, halves first and then one by one, as long as the rest still touches something.
pub async fn minimise(range: &Range, body: &Body) -> Body {
    let mut least = body.clone();
    let plain = Body { end: "return out();".to_owned(), ..least.clone() };
    if holds(range, &plain).await {
        least = plain;
    }
    let mut size = least.statements.len().div_ceil(2);
    while size > 0 {
        let mut at = 0;
        while at < least.statements.len() {
            let mut fewer = least.clone();
            fewer.statements.drain(at..(at + size).min(least.statements.len()));
            if holds(range, &fewer).await {
                least = fewer;
            } else {
                at += size;
            }
        }
        size /= 2;
    }
    least
}

async fn holds(range: &Range, body: &Body) -> bool {
    for _ in 0..TWICE {
        if range.find(body).await.is_none() {
            return false;
        }
    }
    true
}
