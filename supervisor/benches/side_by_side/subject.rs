//! One Node under measurement.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use codemode::catalog::Catalog;
use codemode::launch::{LaunchConfig, LauncherChoice, LauncherKind, WallStatus};
use codemode::{RunEvent, RunReport, Supervisor};

use crate::PAUSE;
use crate::catalogs::Catalogs;
use crate::figures::Figures;
use crate::processes::{self, Identity};
use crate::sustained;
use crate::table::{Row, Target, Unit};
use crate::work::Work;

/// Before anything counts.
const WARM_UP_ROUNDS: usize = 5;

/// A template and its first forks are there by then.
const READY_WITHIN: Duration = Duration::from_secs(10);

/// The pool is as large as the load has made it by then.
const SETTLES_WITHIN: Duration = Duration::from_millis(300);

/// The target is for one child of as many as this, or more: what it is compared with is one of eight idle Nodes.
const COMPARED: usize = 8;

/// One in so many runs with unusual limits may find that the host lends them to a waiting fork after all, before none of its runs counts as forked on demand.
const LENT_AT_MOST: f64 = 0.05;

/// A Node, supervisors of both ways with it, and what was measured.
#[derive(Debug)]
pub struct Subject {
    node: PathBuf,
    version: String,
    template: Supervisor,
    spawn: Supervisor,
    /// Until the value is there, and until the report is: the child has been reaped by then.
    times: BTreeMap<Work, [Figures; 2]>,
    /// By how many of them wait: the fewer there are, the fewer share what all have.
    memory: BTreeMap<usize, Figures>,
    rates: BTreeMap<usize, Figures>,
    spawn_rate: Figures,
    /// Processes that have served a run and are gone.
    used: BTreeSet<Identity>,
    lent: usize,
    demanded: usize,
}

impl Subject {
    /// Starts its template.
    pub fn new(node: &Path) -> Subject {
        let output = Command::new(node).arg("--version").output().unwrap_or_else(|error| panic!("{}: {error}", node.display()));
        let build = |choice| {
            let config = LaunchConfig { node: Some(node.to_owned()), ..LaunchConfig::default() };
            Supervisor::builder().launch(config).launcher_choice(choice).build().unwrap_or_else(|error| panic!("{error}"))
        };
        Subject {
            node: node.to_owned(),
            version: String::from_utf8_lossy(&output.stdout).trim().trim_start_matches('v').to_owned(),
            template: build(LauncherChoice::Template),
            spawn: build(LauncherChoice::Spawn),
            times: BTreeMap::new(),
            memory: BTreeMap::new(),
            rates: BTreeMap::new(),
            spawn_rate: Figures::default(),
            used: BTreeSet::new(),
            lent: 0,
            demanded: 0,
        }
    }

    /// The program.
    pub fn node(&self) -> &Path {
        &self.node
    }

    /// Its version.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// Does everything a few times without counting.
    pub async fn warm_up(&mut self, catalogs: &Catalogs) {
        for _ in 0..WARM_UP_ROUNDS {
            for work in Work::ALL {
                tokio::time::sleep(PAUSE).await;
                self.once(work, catalogs).await;
            }
        }
        self.times.clear();
        (self.lent, self.demanded) = (0, 0);
    }

    /// Does one piece of work, with the clock on.
    pub async fn once(&mut self, work: Work, catalogs: &Catalogs) {
        let took = if work == Work::Plain { [plain(&self.node); 2] } else { self.run(work, catalogs).await };
        for (figures, took) in self.times.entry(work).or_default().iter_mut().zip(took) {
            figures.add(took * 1e3);
        }
    }

    async fn run(&mut self, work: Work, catalogs: &Catalogs) -> [f64; 2] {
        let supervisor = if work.way() == LauncherKind::Spawn { &self.spawn } else { &self.template };
        let catalog: Arc<dyn Catalog> = if work == Work::ThreeRequests { catalogs.large.clone() } else { catalogs.demo.clone() };
        let (request, value) = work.request();
        let forks = self.waiting().await;
        let started = processes::started_as(&self.node);
        let began = Instant::now();
        let mut run = supervisor.start(request, catalog);
        let mut until_value = None;
        while let Some(event) = run.event().await {
            if matches!(event, RunEvent::Concluded { .. }) {
                until_value = Some(began.elapsed().as_secs_f64());
            }
        }
        let report = run.report().await;
        let until_report = began.elapsed().as_secs_f64();
        check(&report, work, value);
        let gone: Vec<Identity> = forks.difference(&processes::forks_of(&self.node)).copied().collect();
        // Whatever served a run is reaped when the report is there.
        match work {
            Work::Spawn => {
                let left = processes::started_as(&self.node);
                let more: Vec<_> = left.difference(&started).collect();
                assert!(gone.is_empty(), "a Node start took a waiting fork: {gone:?}");
                // A template may be renewed meanwhile.
                assert!(more.len() <= 1, "left of a Node start: {more:?}");
            }
            Work::OnDemand => {
                self.demanded += 1;
                self.lent += usize::from(!gone.is_empty());
            }
            // One that waited is gone. There can be more of them: those that nobody needed lately.
            _ => assert!(!gone.is_empty(), "{work:?} was served by none of the forks that waited: {forks:?}"),
        }
        for identity in gone {
            assert!(self.used.insert(identity), "{identity:?} was there, gone, and there again");
        }
        [until_value.expect("every run is concluded"), until_report]
    }

    /// The forks that wait now: at least one, for that is what the pause is for.
    async fn waiting(&self) -> BTreeSet<Identity> {
        let began = Instant::now();
        loop {
            let forks = processes::forks_of(&self.node);
            if !forks.is_empty() {
                return forks;
            }
            assert!(began.elapsed() < READY_WITHIN, "no fork of {} waits", self.node.display());
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// Weighs the forks that wait now.
    pub fn weigh(&mut self) {
        let forks = processes::forks_of(&self.node);
        let figures = self.memory.entry(forks.len()).or_default();
        for bytes in forks.iter().filter_map(|fork| processes::pss_bytes(fork.pid)) {
            figures.add(bytes as f64 / f64::from(1 << 20));
        }
    }

    /// Measures rates.
    pub async fn sustain(&mut self, catalogs: &Catalogs) {
        for at_a_time in [8, 32] {
            let rate = sustained::rate(&self.template, Work::Waiting, catalogs.demo.clone(), at_a_time).await;
            self.rates.insert(at_a_time, rate);
        }
        tokio::time::sleep(SETTLES_WITHIN).await;
        self.weigh();
        self.spawn_rate = sustained::rate(&self.spawn, Work::Spawn, catalogs.demo.clone(), 8).await;
    }

    /// What came of it.
    pub fn rows(&self) -> Vec<Row> {
        let major = self.version.split('.').next().and_then(|major| major.parse().ok()).unwrap_or(0);
        let mut rows = Vec::new();
        for (work, figures) in &self.times {
            let target = work.target(major).map_or(Target::None, Target::AtMost);
            let lends = self.lent as f64 > LENT_AT_MOST * self.demanded as f64;
            if *work == Work::OnDemand && lends {
                rows.push(Row::missing(
                    work.words(),
                    Unit::Milliseconds,
                    Target::None,
                    "not here: this host lends limits to a waiting fork",
                ));
                continue;
            }
            let [value, report] = figures;
            if matches!(work, Work::Spawn | Work::Plain) {
                rows.push(Row::of(work.words(), Unit::Milliseconds, report, target));
            } else {
                rows.push(Row::of(work.words(), Unit::Milliseconds, value, target));
                rows.push(Row::of("  and its report, the child reaped", Unit::Milliseconds, report, target));
            }
        }
        let median = |work| self.times.get(&work).map_or(f64::NAN, |[_, report]| report.median());
        let mut ratio = Figures::default();
        ratio.add(median(Work::Spawn) / median(Work::Plain));
        rows.push(Row::of("return 1, spawn way / node -e 0 (of medians)", Unit::Times, &ratio, Target::AtMost(1.25)));
        let at_8 = self.rates.get(&8).map_or(f64::NAN, Figures::median);
        for (at_a_time, rate) in &self.rates {
            let least = if *at_a_time == 8 { 1_000.0 } else { at_8.max(1_000.0) };
            rows.push(Row::of(format!("runs a second, {at_a_time} at a time"), Unit::PerSecond, rate, Target::AtLeast(least)));
        }
        rows.push(Row::of("runs a second, 8 at a time, spawn way", Unit::PerSecond, &self.spawn_rate, Target::None));
        let measured: Vec<_> = self.memory.iter().filter(|(_, figures)| !figures.is_empty()).collect();
        for (count, figures) in &measured {
            let target = if **count >= COMPARED { Target::AtMost(4.0) } else { Target::None };
            rows.push(Row::of(format!("memory of a waiting child (PSS), one of {count}"), Unit::Mebibytes, figures, target));
        }
        if !measured.iter().any(|(count, _)| **count >= COMPARED) {
            let why =
                if measured.is_empty() { "not measured: the kernel shows it to root alone" } else { "not measured: never so many waited" };
            rows.push(Row::missing(format!("the same, one of {COMPARED}"), Unit::Mebibytes, Target::AtMost(4.0), why));
        }
        rows
    }
}

/// What a run has to be for its time to count.
pub fn check(report: &RunReport, work: Work, value: &str) {
    assert!(report.ok && report.value.text() == value, "{work:?}: {report:?}");
    let isolation = report.isolation.as_ref().expect("there was a child");
    assert_eq!(isolation.launcher, work.way(), "{work:?}");
    let lower: Vec<_> = isolation.walls.iter().filter(|wall| wall.status != WallStatus::Enforced).collect();
    assert!(lower.is_empty(), "figures are for all walls, and here some are missing: {lower:?}");
}

fn plain(node: &Path) -> f64 {
    let mut command = Command::new(node);
    command.args(["-e", "0"]).env_clear().stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let began = Instant::now();
    let status = command.status().expect("Node starts");
    let took = began.elapsed().as_secs_f64();
    assert!(status.success(), "{status}");
    took
}
