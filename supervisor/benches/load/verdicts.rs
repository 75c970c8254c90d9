//! The table, and what is right about it.

use crate::arguments::Arguments;
use crate::lanes::{self, Measured};
use crate::process::Holdings;
use crate::way::{Way, WayName};

/// A well-behaved run may take so many times longer at its 99th percentile when one in ten is hostile.
const SLOWED_AT_MOST: f64 = 3.0;

/// The rate of many callers against that of these.
const COMPARED: usize = 8;

/// A rate is as good as another within this: two measurements of the same thing differ by as much here.
const NOISE: f64 = 0.05;

/// Measures every row, prints it, and says whether all is as it should be, or was not asked to be.
pub async fn measure(arguments: &Arguments) -> bool {
    let mut all_met = true;
    for name in &arguments.ways {
        all_met &= measure_way(*name, arguments).await;
    }
    all_met || !arguments.strict
}

async fn measure_way(name: WayName, arguments: &Arguments) -> bool {
    let way = Way::open(name, arguments).await;
    println!("\n{name:?}: {} s each; times of well-behaved runs in ms", arguments.each.as_secs());
    println!("  callers  bodies        runs/s    p50     p95     p99     max   runs of a caller   RSS MiB  descriptors  children");
    let mut all_met = true;
    let mut compared = None;
    for callers in &arguments.callers {
        let quiet = lanes::measure(&way, *callers, false, arguments.each).await;
        row(*callers, "well-behaved", &quiet, &way);
        let mixed = lanes::measure(&way, *callers, true, arguments.each).await;
        row(*callers, "1 in 10 bad", &mixed, &way);
        let slowed = mixed.good.quantile(0.99) / quiet.good.quantile(0.99);
        all_met &= said(
            slowed <= SLOWED_AT_MOST,
            &format!("p99 beside hostile runs is {slowed:.2} times that without (at most {SLOWED_AT_MOST})"),
        );
        all_met &= said(quiet.fewest > 0, "every caller was served");
        if *callers == COMPARED {
            compared = Some(quiet.rate);
        } else if let Some(rate) = compared.filter(|_| *callers > COMPARED) {
            let part = quiet.rate / rate;
            all_met &=
                said(part >= 1.0 - NOISE, &format!("throughput is {part:.2} times that of {COMPARED} callers (at least 1, ± {NOISE})"));
        }
    }
    all_met
}

fn row(callers: usize, bodies: &str, measured: &Measured, way: &Way) {
    assert!(!measured.good.is_empty(), "no well-behaved run has ended");
    let p50 = measured.good.median();
    let [p95, p99, max] = [0.95, 0.99, 1.0].map(|of| measured.good.quantile(of));
    let Holdings { rss_kib, descriptors, children, .. } = Holdings::of(way.pid());
    let Measured { rate, fewest, most, .. } = measured;
    let rss = rss_kib / 1024;
    println!(
        "  {callers:>7}  {bodies:<12} {rate:>7.0} {p50:>7.2} {p95:>7.2} {p99:>7.2} {max:>7.1}   {fewest:>6} to {most:<6}   {rss:>7}  {descriptors:>11}  {children:>8}"
    );
}

fn said(met: bool, what: &str) -> bool {
    println!("           {}: {what}", if met { "met" } else { "NOT met" });
    met
}
