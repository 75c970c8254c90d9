//! Where the processors' time goes meanwhile.
//!
//! A rate alone does not tell whether runs became dearer or somebody else was at work; processor time a run does.

use std::fs;
use std::ops::{AddAssign, Sub};

use crate::process::children;

/// Ticks of the kernel's accounts a second: `USER_HZ`, the same on every processor that codemode runs on.
const TICKS: f64 = 100.0;

/// Processor time in ticks, since each process's start; of two looks, the difference.
#[derive(Clone, Copy, Debug, Default)]
pub struct Spent {
    /// By the process that supervises, and by its children.
    way: u64,
    /// By this program, where that is another.
    callers: u64,
    /// By everybody on this machine.
    busy: u64,
    /// What there was.
    all: u64,
}

impl Spent {
    /// Until now. `way` is the process that supervises.
    ///
    /// # Panics
    ///
    /// When it is not there.
    pub fn now(way: u32) -> Spent {
        let own = std::process::id();
        let of_way = children(way).into_iter().filter_map(ticks).sum::<u64>() + ticks(way).expect("the process is there");
        let callers = if way == own { 0 } else { ticks(own).expect("this process is there") };
        let (busy, all) = machine();
        Spent { way: of_way, callers, busy, all }
    }

    /// Milliseconds for each of so many runs: of supervisor and children together, of whoever asks where that is another process, and of everybody else.
    pub fn ms_each(&self, runs: usize) -> [f64; 3] {
        let elsewhere = self.busy.saturating_sub(self.way + self.callers);
        [self.way, self.callers, elsewhere].map(|ticks| ticks as f64 * 1e3 / TICKS / runs as f64)
    }

    /// The part of the machine that nobody took.
    pub fn idle(&self) -> f64 {
        (self.all - self.busy) as f64 / self.all.max(1) as f64
    }
}

impl Sub for Spent {
    type Output = Spent;

    /// A child that ended between its own look and its parent's makes a small difference: never one below nothing.
    fn sub(self, before: Spent) -> Spent {
        Spent {
            way: self.way.saturating_sub(before.way),
            callers: self.callers.saturating_sub(before.callers),
            busy: self.busy.saturating_sub(before.busy),
            all: self.all.saturating_sub(before.all),
        }
    }
}

impl AddAssign for Spent {
    fn add_assign(&mut self, more: Spent) {
        self.way += more.way;
        self.callers += more.callers;
        self.busy += more.busy;
        self.all += more.all;
    }
}

/// Of a process and of the children it has reaped.
fn ticks(pid: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // Fields 14 to 17 of proc_pid_stat(5): utime, stime, cutime, cstime. The name before them may hold blanks, its end is the last bracket.
    let fields = stat.rsplit_once(')')?.1.split_ascii_whitespace().skip(11).take(4);
    Some(fields.filter_map(|field| field.parse::<u64>().ok()).sum())
}

/// Busy and all, of proc_stat(5): user, nice, system, idle, iowait, irq, softirq, steal.
fn machine() -> (u64, u64) {
    let stat = fs::read_to_string("/proc/stat").expect("/proc is there");
    let fields: Vec<u64> =
        stat.lines().next().unwrap_or_default().split_ascii_whitespace().skip(1).take(8).filter_map(|field| field.parse().ok()).collect();
    let all = fields.iter().sum();
    let idle: u64 = fields.iter().skip(3).take(2).sum();
    (all - idle, all)
}
