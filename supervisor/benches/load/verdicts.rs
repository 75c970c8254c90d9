//! The table, and what is right about it.

use crate::arguments::Arguments;
use crate::figures::Figures;
use crate::lanes::{self, Ends, Load, Measured};
use crate::process::Holdings;
use crate::way::{Way, WayName};

/// A well-behaved run may take so many times longer at its 99th percentile when one in ten is hostile.
const SLOWED_AT_MOST: f64 = 3.0;

/// The rate of many callers against that of these.
const COMPARED: usize = 8;

/// A rate is as good as another within this: two measurements of the same thing differ by as much here.
const NOISE: f64 = 0.05;

/// Milliseconds for each run that others take on a machine without other work: what the kernel spends on a child's end after its parent has been told is on nobody's
/// account, 0.6 here. With more than this, a row says more about them.
const ELSEWHERE_MS: f64 = 1.0;

/// Measures every row, prints it, and says whether all is as it should be, or was not asked to be.
pub async fn measure(arguments: &Arguments) -> bool {
    let mut all_met = true;
    for name in &arguments.ways {
        all_met &= measure_way(*name, arguments).await;
    }
    all_met || !arguments.strict
}

/// So many callers.
struct Row {
    callers: usize,
    quiet: Measured,
    mixed: Measured,
    /// Runs a second of well-behaved bodies, round by round.
    rates: Vec<f64>,
    quiet_holdings: Option<Holdings>,
    mixed_holdings: Option<Holdings>,
}

async fn measure_way(name: WayName, arguments: &Arguments) -> bool {
    let way = Way::open(name, arguments).await;
    let Arguments { each, rounds, .. } = arguments;
    println!("\n{name:?}: {:.1} s each, in {rounds} rounds; times of well-behaved runs in ms", each.as_secs_f64());
    println!(
        "  callers  bodies        runs/s  CPU ms a run  its callers'  elsewhere  idle     p50     p95     p99     max   runs of a caller   RSS MiB  descriptors  children"
    );
    let mut rows: Vec<Row> = arguments.callers.iter().map(|callers| Row::of(*callers)).collect();
    for round in 0..*rounds {
        for row in &mut rows {
            row.measure(&way, arguments, round).await;
        }
    }
    let compared = rows.iter().find(|row| row.callers == COMPARED).map(|row| row.rates.clone());
    let mut all_met = true;
    for row in &rows {
        all_met &= row.judge(compared.as_deref());
    }
    all_met
}

impl Row {
    fn of(callers: usize) -> Row {
        Row {
            callers,
            quiet: Measured::default(),
            mixed: Measured::default(),
            rates: Vec::new(),
            quiet_holdings: None,
            mixed_holdings: None,
        }
    }

    async fn measure(&mut self, way: &Way, arguments: &Arguments, round: usize) {
        let Arguments { each, rounds, bodies, well_behaved, .. } = *arguments;
        let load = Load { callers: self.callers, bodies, with_hostile: false };
        let each = each.div_f64(rounds as f64);
        let quiet = lanes::measure(way, load, each, round).await;
        self.quiet_holdings = Some(Holdings::of(way.pid()));
        self.rates.push(quiet.rate());
        self.quiet.add(&quiet);
        if !well_behaved {
            self.mixed.add(&lanes::measure(way, Load { with_hostile: true, ..load }, each, round).await);
            self.mixed_holdings = Some(Holdings::of(way.pid()));
        }
    }

    /// Prints it, and says whether all is as it should be. `compared` are the rates of [`COMPARED`] callers.
    fn judge(&self, compared: Option<&[f64]>) -> bool {
        let Row { callers, quiet, mixed, rates, .. } = self;
        line(*callers, "well-behaved", quiet, self.quiet_holdings);
        let served = |measured: &Measured| measured.callers.iter().all(|Ends { all, .. }| *all > 0);
        let mut all_met = said(served(quiet) && served(mixed), "every caller was served");
        if self.mixed_holdings.is_some() {
            line(*callers, "1 in 10 bad", mixed, self.mixed_holdings);
            let slowed = mixed.milliseconds().quantile(0.99) / quiet.milliseconds().quantile(0.99);
            all_met &= said(
                slowed <= SLOWED_AT_MOST,
                &format!("p99 beside hostile runs is {slowed:.2} times that without (at most {SLOWED_AT_MOST})"),
            );
        }
        if let Some(compared) = compared.filter(|_| *callers > COMPARED) {
            // Each round by itself: what else this machine does changes between them.
            let mut parts = Figures::default();
            rates.iter().zip(compared).for_each(|(rate, compared)| parts.add(rate / compared));
            let part = parts.median();
            all_met &= said(
                part >= 1.0 - NOISE,
                &format!("throughput is {part:.2} times that of {COMPARED} callers (median of the rounds; at least 1, ± {NOISE})"),
            );
        }
        all_met
    }
}

fn line(callers: usize, bodies: &str, measured: &Measured, holdings: Option<Holdings>) {
    let times = measured.milliseconds();
    assert!(!times.is_empty(), "no well-behaved run has ended");
    let [p50, p95, p99, max] = [0.5, 0.95, 0.99, 1.0].map(|of| times.quantile(of));
    let Holdings { rss_kib, descriptors, children, .. } = holdings.expect("the row was measured");
    let (rate, runs) = (measured.rate(), measured.runs());
    let [way_ms, callers_ms, elsewhere_ms] = measured.spent.ms_each(runs);
    let idle = measured.spent.idle();
    let good = || measured.callers.iter().map(|caller| caller.good);
    let (fewest, most) = (good().min().unwrap_or_default(), good().max().unwrap_or_default());
    println!(
        "  {callers:>7}  {bodies:<12} {rate:>7.0}  {way_ms:>12.2}  {callers_ms:>12.2}  {elsewhere_ms:>9.2} {:>4.0}% {p50:>7.2} {p95:>7.2} {p99:>7.2} {max:>7.1}   {fewest:>6} to {most:<6}   {:>7}  {descriptors:>11}  {children:>8}",
        idle * 1e2,
        rss_kib / 1024,
    );
    if elsewhere_ms > ELSEWHERE_MS {
        println!("           others were at work on this machine: measure again");
    }
}

fn said(met: bool, what: &str) -> bool {
    println!("           {}: {what}", if met { "met" } else { "NOT met" });
    met
}
