//! Code of others, called so that its panic is an answer and not our end.

use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use tokio::time::{Instant, timeout};

/// It broke down.
#[derive(Debug)]
pub(super) struct Panicked;

/// Awaits a future; its panic is an error. It is made by `make`, so that a panic before the first await is one too.
pub(super) async fn caught<F: Future>(make: impl FnOnce() -> F) -> Result<F::Output, Panicked> {
    // What has panicked is dropped and never polled again, so nobody sees what it left half done.
    let future = catch_unwind(AssertUnwindSafe(make)).map_err(|_| Panicked)?;
    let mut future = pin!(future);
    poll_fn(|context| match catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(context))) {
        Ok(Poll::Ready(output)) => Poll::Ready(Ok(output)),
        Ok(Poll::Pending) => Poll::Pending,
        Err(_) => Poll::Ready(Err(Panicked)),
    })
    .await
}

/// The same for at most `limit`; nothing when it took longer. Also when it answered then: one that keeps its thread busy cannot be interrupted, and its answer
/// is as late as any.
pub(super) async fn caught_within<F: Future>(limit: Duration, make: impl FnOnce() -> F) -> Option<Result<F::Output, Panicked>> {
    let until = Instant::now() + limit;
    let answer = timeout(limit, caught(make)).await.ok()?;
    // To break down is no answer, however late.
    (answer.is_err() || Instant::now() <= until).then_some(answer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn an_answer_that_comes_too_late_is_none_whatever_kept_it() {
        const LIMIT: Duration = Duration::from_millis(20);
        let busy = || async { std::thread::sleep(2 * LIMIT) };
        let waits = || tokio::time::sleep(2 * LIMIT);
        assert!(caught_within(LIMIT, busy).await.is_none());
        assert!(caught_within(LIMIT, waits).await.is_none());
        assert!(caught_within(100 * LIMIT, waits).await.is_some_and(|answer| answer.is_ok()));
    }

    #[tokio::test]
    async fn a_panic_is_an_error_wherever_it_happens() {
        assert_eq!(caught(|| async { 7 }).await.unwrap(), 7);
        assert!(caught(|| async { panic!("later") }).await.is_err());
        assert!(caught(|| if true { panic!("at once") } else { async {} }).await.is_err());
    }
}
