//! Runs a second, when there is always another one.

use std::sync::Arc;
use std::time::{Duration, Instant};

use codemode::Supervisor;
use codemode::catalog::Catalog;

use crate::figures::Figures;
use crate::subject::check;
use crate::work::Work;

/// How long it goes on, after as long again as one window for the start.
const FOR: Duration = Duration::from_secs(3);

/// Runs are counted over pieces of time, so that a rate has a median and a tail, too.
const WINDOW: Duration = Duration::from_millis(250);

/// `return 1`, `at_a_time` of them at any moment: the rates.
pub async fn rate(supervisor: &Supervisor, work: Work, catalog: Arc<dyn Catalog>, at_a_time: usize) -> Figures {
    let began = Instant::now();
    let end = began + WINDOW + FOR;
    let mut lanes = tokio::task::JoinSet::new();
    for _ in 0..at_a_time {
        let (supervisor, catalog) = (supervisor.clone(), Arc::clone(&catalog));
        lanes.spawn(async move {
            let mut ended = Vec::new();
            while Instant::now() < end {
                let (request, value) = work.request();
                let report = supervisor.run(request, Arc::clone(&catalog)).await;
                check(&report, work, value);
                ended.push(began.elapsed());
            }
            ended
        });
    }
    let windows = (FOR.as_millis() / WINDOW.as_millis()) as usize;
    let mut counts = vec![0_u32; windows];
    for ended in lanes.join_all().await.into_iter().flatten() {
        // The first window is the start, and the last runs end after the last window.
        let window = (ended.as_micros() / WINDOW.as_micros()) as usize;
        if let Some(count) = window.checked_sub(1).and_then(|at| counts.get_mut(at)) {
            *count += 1;
        }
    }
    let mut figures = Figures::default();
    for count in counts {
        figures.add(f64::from(count) / WINDOW.as_secs_f64());
    }
    figures
}
