//! `Math.random` of one run says nothing about another's.

use std::collections::BTreeMap;

use codemode::RunRequest;
use codemode_tests::rig::{self, demo};

use super::witness::{is_a_fork, supervisor, template};

const RUNS: usize = 1_000;
/// As long as any pattern that somebody could hope to know again.
const WINDOW: usize = 4;

/// Values as text: each double has one shortest form.
const BODY: &str = "return Array.from({ length: 8 }, () => String(Math.random()))";

/// What all runs together gave more than once.
fn repeated(runs: &[Vec<String>]) -> Vec<Vec<String>> {
    let mut seen = BTreeMap::<&[String], u32>::new();
    for window in runs.iter().flat_map(|values| values.windows(WINDOW)) {
        *seen.entry(window).or_default() += 1;
    }
    seen.into_iter().filter(|(_, times)| *times > 1).map(|(window, _)| window.to_vec()).collect()
}

async fn values(supervisor: &codemode::Supervisor, request: RunRequest) -> Vec<String> {
    let report = supervisor.run(request, demo()).await;
    assert!(report.ok, "{report:?}");
    is_a_fork(&report);
    serde_json::from_value(rig::json(&report)).expect("a list of texts")
}

#[test]
fn no_random_sequence_comes_twice_among_a_thousand_forks_of_one_template() {
    rig::alone(async {
        let supervisor = supervisor().await;
        let template_before = template();
        let mut runs = Vec::new();
        for _ in 0..RUNS {
            runs.push(values(&supervisor, RunRequest::new(BODY)).await);
        }
        assert_eq!(template(), template_before, "all of one template");
        assert!(runs.iter().flatten().all(|text| text.parse().is_ok_and(|value: f64| (0.0..1.0).contains(&value))));
        let repeated = repeated(&runs);
        assert!(repeated.is_empty(), "{repeated:?}");
    });
}

#[test]
fn without_the_seed_of_each_run_the_same_sequence_comes_in_every_fork() {
    rig::alone(async {
        // The control of the test above: the same look at the same body, and only the seed is the same.
        let supervisor = supervisor().await;
        let mut runs = Vec::new();
        for _ in 0..3 {
            runs.push(values(&supervisor, RunRequest::new(BODY).danger_seed([7; 16])).await);
        }
        assert_eq!(repeated(&runs).len(), 8 - WINDOW + 1);
        assert_eq!(runs[0], runs[2]);
    });
}
