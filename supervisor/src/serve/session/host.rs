//! What all sessions of a program share.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use codemode_protocol::RunLimits;

use super::Admission;
use crate::run::Runner;
use crate::telemetry::Recorder;

/// How much gateways may have here.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct HostLimits {
    /// Runs that go on at once, all sessions together. Each is a process of at most some hundred MiB.
    pub at_once: usize,
    /// Runs that one session may have, going on or waiting.
    pub runs: usize,
    /// Bytes of `run.start` that the runs of one session may hold while they go on or wait. One frame always fits.
    pub held_bytes: usize,
}

impl Default for HostLimits {
    /// 32 at once, the number of requests that one run may have in flight: a machine that can do the one can do the other. 1,024 runs a session: a gateway that has
    /// more waiting than that is better told so. 32 MiB: that many bodies of the usual size, or two of the largest frames.
    fn default() -> HostLimits {
        HostLimits { at_once: 32, runs: 1_024, held_bytes: 32 << 20 }
    }
}

/// What all sessions of a program share. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Host {
    pub(super) runner: Arc<dyn Runner>,
    pub(super) recorder: Recorder,
    pub(super) admission: Admission,
    pub(super) limits: HostLimits,
    pub(super) usual: RunLimits,
    draining: Arc<AtomicBool>,
}

impl Host {
    /// Runs bodies with this supervisor, or this fleet.
    pub fn new(runner: impl Runner + 'static, limits: HostLimits) -> Host {
        let admission = Admission::new(limits.at_once);
        Host {
            runner: Arc::new(runner),
            recorder: Recorder::default(),
            admission,
            limits,
            usual: RunLimits::default(),
            draining: Arc::default(),
        }
    }

    /// The same, whose runs have these limits where they say nothing.
    #[must_use]
    pub fn with_usual(mut self, usual: RunLimits) -> Host {
        self.usual = usual;
        self
    }

    /// The same, which notes what happens.
    #[must_use]
    pub fn with_recorder(mut self, recorder: Recorder) -> Host {
        self.recorder = recorder;
        self
    }

    /// From here on no run is taken.
    pub fn drain(&self) {
        self.draining.store(true, Ordering::SeqCst);
    }

    /// Whether it takes no run any more.
    pub fn is_draining(&self) -> bool {
        self.draining.load(Ordering::SeqCst)
    }
}
