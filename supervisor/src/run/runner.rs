//! Whoever runs bodies.

use std::fmt;
use std::sync::Arc;

use super::request::RunRequest;
use super::supervisor::{RunHandle, Supervisor};
use crate::catalog::Catalog;

/// Runs bodies: a [`Supervisor`] on this machine, or a [`FleetExecutor`](crate::fleet::FleetExecutor) on others. What takes one takes either, and a caller
/// changes the one line that makes it.
pub trait Runner: fmt::Debug + Send + Sync {
    /// Starts a run and gives the handle to it. Calls are answered by `catalog` and pass the gate of `request` where the caller is, whoever runs the body.
    ///
    /// # Panics
    ///
    /// Outside a tokio runtime.
    fn start(&self, request: RunRequest, catalog: Arc<dyn Catalog>) -> RunHandle;
}

impl Runner for Supervisor {
    fn start(&self, request: RunRequest, catalog: Arc<dyn Catalog>) -> RunHandle {
        Supervisor::start(self, request, catalog)
    }
}

impl<R: Runner + ?Sized> Runner for Arc<R> {
    fn start(&self, request: RunRequest, catalog: Arc<dyn Catalog>) -> RunHandle {
        (**self).start(request, catalog)
    }
}
