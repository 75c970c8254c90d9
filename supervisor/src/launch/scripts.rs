//! Test-only: probes for tests outside the crate, and scripts of system calls.

use std::time::Duration;

use codemode_jail::wire::{
    Call, Event, PLAN_MAX, RECORD_LEN, Record, SCRIPT_ARMED, SCRIPT_COPIES, SCRIPT_FOREIGN, SCRIPT_STARTUP, Script, Step,
};
use tokio::time::timeout;

use super::probe::{Act, Given, Outcome, Prober, Trial};
use super::{LaunchConfig, LaunchError, Node, WallSet};

/// How long one sweep may take: thousands of copies of a small process, at half a millisecond each.
const PATIENCE: Duration = Duration::from_secs(20);

/// Starts probes of one Node: processes behind chosen walls that do one act and never come to `main()`.
#[derive(Debug)]
pub struct Probes {
    prober: Prober,
}

/// The filters around each copy of a sweep.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Filtered {
    /// The start-up filter alone.
    Startup,
    /// A template's start-up filter alone.
    Template,
    /// The start-up filter and the armed ones, as in a spawned child.
    Armed,
    /// A template's and the armed ones, as in a fork.
    ArmedFork,
}

/// What became of one call of a sweep.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Swept {
    /// The call came back: 0, or the error number.
    pub errno: Option<u32>,
    /// The jail's handler was reached, and named this call.
    pub off_list: Option<u32>,
    /// How the copy ended, as `wait` has it: nothing when it was not heard of.
    pub status: Option<u32>,
}

impl Swept {
    /// Whether the kernel ended the process for a call.
    pub fn ended(&self) -> bool {
        self.status.is_some_and(|status| status & 0x7f == libc::SIGSYS.unsigned_abs())
    }
}

impl Probes {
    /// Probes with the filters of a child without machine code, or with it.
    ///
    /// # Errors
    ///
    /// When there is no usable Node, or the host refuses what every launch needs.
    pub fn new(node: Option<&std::path::Path>, jit: bool) -> Result<Probes, LaunchError> {
        let config = LaunchConfig { jit, ..LaunchConfig::default() };
        Ok(Probes { prober: Prober::with(Node::find(node)?, &config)? })
    }

    /// Tries one act behind `walls`. `path` is a text for the act, without its end.
    ///
    /// # Errors
    ///
    /// When the host does not let a process be started.
    pub async fn act(&self, walls: WallSet, given: Given, act: Act, number: u64, path: &str) -> Result<Outcome, LaunchError> {
        let path = [path.as_bytes(), b"\0"].concat();
        self.prober.attempt(&Trial { walls, given, act, number, path }).await
    }

    /// Makes calls one after the other behind `walls`; done when the last is.
    ///
    /// # Errors
    ///
    /// When the host does not let a process be started.
    pub async fn calls(&self, walls: WallSet, given: Given, calls: &[Call], data: &[u8]) -> Result<Outcome, LaunchError> {
        self.prober.attempt(&Trial { walls, given, act: Act::Script, number: 0, path: script(calls, data)? }).await
    }

    /// Makes each call in a process of its own behind filters alone. `foreign`: by the gate of 32-bit programs.
    ///
    /// # Errors
    ///
    /// When the host does not let a process be started.
    pub async fn sweep(&mut self, filtered: Filtered, foreign: bool, calls: &[Call], data: &[u8]) -> Result<Vec<Swept>, LaunchError> {
        let armed = matches!(filtered, Filtered::Armed | Filtered::ArmedFork);
        self.prober.blueprint.probes_template = matches!(filtered, Filtered::Template | Filtered::ArmedFork);
        let mut number = SCRIPT_COPIES | SCRIPT_STARTUP;
        number |= if armed { SCRIPT_ARMED } else { 0 } | if foreign { SCRIPT_FOREIGN } else { 0 };
        let trial = Trial { walls: WallSet::NONE, given: Given::Nothing, act: Act::Script, number, path: script(calls, data)? };
        let steps = Step::Descriptors.bit() | Step::NoNewPrivs.bit();
        let (mut child, _bridge, nonce) = self.prober.start(&trial, steps, None).await?;
        let mut swept = vec![Swept::default(); calls.len()];
        let mut off_list = None;
        let records = async {
            let mut buffer = [0; RECORD_LEN + 1];
            while let Some(length) = child.record(&mut buffer).await {
                let Some(record) = Record::decode(&buffer[..length]).filter(|record| record.nonce == nonce) else { continue };
                let at = |index: u64| usize::try_from(index).ok();
                match record.event {
                    Event::OffList => off_list = u32::try_from(record.detail).ok(),
                    Event::Act => {
                        if let Some(slot) = at(record.detail >> 32).and_then(|index| swept.get_mut(index)) {
                            slot.errno.get_or_insert(record.errno);
                        }
                    }
                    Event::Forked => {
                        if let Some(slot) = at(record.detail).and_then(|index| swept.get_mut(index)) {
                            slot.status = Some(record.errno);
                            slot.off_list = off_list.take();
                        }
                    }
                    _ => {}
                }
            }
        };
        // What was not heard of by then has no status, and the test says so.
        let _ = timeout(PATIENCE, records).await;
        child.finish().await;
        Ok(swept)
    }
}

fn script(calls: &[Call], data: &[u8]) -> Result<Vec<u8>, LaunchError> {
    let mut bytes = vec![0; PLAN_MAX];
    let length = Script::encode(calls, data, &mut bytes).ok_or_else(|| LaunchError::Internal("the script is too large".to_owned()))?;
    bytes.truncate(length);
    Ok(bytes)
}
