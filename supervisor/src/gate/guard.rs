//! Code of others, called so that its panic is an answer and not our end.

use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::task::Poll;

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

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_panic_is_an_error_wherever_it_happens() {
        assert_eq!(caught(|| async { 7 }).await.unwrap(), 7);
        assert!(caught(|| async { panic!("later") }).await.is_err());
        assert!(caught(|| if true { panic!("at once") } else { async {} }).await.is_err());
    }
}
