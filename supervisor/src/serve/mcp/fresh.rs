//! Keeping what is shown true: sources change their lists, and those that were not there come.

use std::future::pending;
use std::sync::Weak;
use std::time::Duration;

use futures_util::future::select_all;
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

use super::server::Shared;
use crate::catalog::Catalog;

/// How often a source that is missing is looked for. Sources are asked no more often than they themselves allow.
const LOOK_AGAIN: Duration = Duration::from_secs(2);
/// A source that changes its list all the time is followed at this pace.
const PACE: Duration = Duration::from_millis(100);
/// How often it is seen whether there still is a server.
const STILL_THERE: Duration = Duration::from_secs(30);

/// Makes the plan again whenever a source says that something has changed, or is missing, as long as there is a server.
pub(super) async fn keep(server: Weak<Shared>, mut changes: Vec<watch::Receiver<u64>>) {
    loop {
        let is_missing = match server.upgrade() {
            Some(shared) => !shared.plan().catalog.summary().unavailable.is_empty(),
            None => return,
        };
        let wait = if is_missing { LOOK_AGAIN } else { STILL_THERE };
        let changed = match timeout(wait, next(&mut changes)).await {
            Ok(Some(())) => true,
            Ok(None) | Err(_) => false,
        };
        if (changed || is_missing)
            && let Some(shared) = server.upgrade()
        {
            shared.plan_again().await;
        }
        sleep(PACE).await;
    }
}

/// Waits for the next change; `None`: a source is gone, and says nothing any more.
async fn next(changes: &mut Vec<watch::Receiver<u64>>) -> Option<()> {
    if changes.is_empty() {
        return pending().await;
    }
    let (said, which, _) = select_all(changes.iter_mut().map(|change| Box::pin(change.changed()))).await;
    if said.is_err() {
        drop(changes.swap_remove(which));
    }
    said.ok()
}
