//! What is left after a cell.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use codemode_tests::census::{Census, is_alive, members_of};
use codemode_tests::patience::PACE;
use nix::sys::wait::{WaitPidFlag, waitpid};
use nix::unistd::Pid;

/// How long what was ended may take to be gone.
const GONE_WITHIN: Duration = Duration::from_secs(1);

/// Where the cells of one party happen: this process's own place for temporary files.
#[derive(Debug)]
pub struct Place {
    folder: PathBuf,
}

/// What there was before a cell.
#[derive(Debug)]
pub struct Before {
    census: Census,
    files: BTreeSet<PathBuf>,
}

impl Place {
    /// Makes it.
    pub fn new() -> Place {
        // Orphans of a cell become children of this process, so that none can hide.
        nix::sys::prctl::set_child_subreaper(true).expect("Linux lets every process ask for it");
        Place { folder: std::env::temp_dir() }
    }

    /// The folder. What a cell puts there itself it takes away itself.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    fn files(&self) -> BTreeSet<PathBuf> {
        let entries = fs::read_dir(&self.folder).into_iter().flatten();
        entries.filter_map(|entry| Some(entry.ok()?.path())).collect()
    }

    /// Looks.
    pub fn look(&self) -> Before {
        Before { census: Census::take(), files: self.files() }
    }

    /// What is there and was not, in words. With `living` processes and descriptors may be others than before, but not more.
    pub async fn left_since(&self, before: &Before, living: bool) -> Vec<String> {
        let began = Instant::now();
        loop {
            let left = self.left(before, living);
            if left.is_empty() || began.elapsed() > GONE_WITHIN {
                return left;
            }
            tokio::time::sleep(PACE).await;
        }
    }

    fn left(&self, before: &Before, living: bool) -> Vec<String> {
        reap_orphans(&before.census);
        let now = Census::take();
        let mut left = Vec::new();
        let new: Vec<i32> = now.children.difference(&before.census.children).copied().collect();
        if if living { now.children.len() > before.census.children.len() } else { !new.is_empty() } {
            left.push(format!("processes {new:?}"));
        }
        if now.descriptors > before.census.descriptors {
            left.push(format!("{} descriptors where there were {}", now.descriptors, before.census.descriptors));
        }
        let files = self.files();
        left.extend(files.difference(&before.files).map(|file| format!("file {}", file.display())));
        left
    }
}

/// Ended orphans are reaped as the init of a host would. Whoever leads a group is a child by birth and has an owner who reaps it.
fn reap_orphans(before: &Census) {
    for pid in Census::take().children.difference(&before.children) {
        if !is_alive(*pid) && !members_of(*pid).contains(pid) {
            // It may have been its owner's after all, and gone by now.
            let _ = waitpid(Pid::from_raw(*pid), Some(WaitPidFlag::WNOHANG));
        }
    }
}
