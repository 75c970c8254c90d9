//! A template that has served long enough makes room for another one.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use codemode_tests::census::Census;
use codemode_tests::rig;

use super::witness::{allowed, is_a_fork, ready, supervisor_of, templates};

const FORKS: u32 = 200;
const AT_A_TIME: usize = 8;
const FOR: Duration = Duration::from_secs(5);

#[test]
fn renewal_under_load_fails_no_run_and_makes_no_pause() {
    rig::alone(async {
        let empty = Census::take();
        let supervisor = ready(supervisor_of(rig::config(|config| config.danger.forks_per_template = Some(FORKS)))).await;
        let ends = Arc::new(Mutex::new(Vec::new()));
        let end = Instant::now() + FOR;
        let lanes: Vec<_> = (0..AT_A_TIME)
            .map(|_| {
                let (supervisor, ends) = (supervisor.clone(), Arc::clone(&ends));
                tokio::spawn(async move {
                    while Instant::now() < end {
                        let report = rig::run(&supervisor, "return 1").await;
                        assert!(report.ok, "{report:?}");
                        is_a_fork(&report);
                        ends.lock().expect("nobody panics with it").push(Instant::now());
                    }
                })
            })
            .collect();
        let mut seen = BTreeSet::new();
        while Instant::now() < end {
            seen.extend(templates());
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        for lane in lanes {
            lane.await.expect("no run fails");
        }
        assert!(seen.len() >= 3, "{seen:?}");
        let ends = std::mem::take(&mut *ends.lock().expect("nobody panics with it"));
        let pause = ends.windows(2).map(|pair| pair[1].saturating_duration_since(pair[0])).max().expect("many runs");
        println!("{} runs, {} templates, longest pause {pause:?}", ends.len(), seen.len());
        assert!(pause <= allowed(50, 500), "{pause:?}");
        drop(supervisor);
        empty.settles("renewals").await;
    });
}
