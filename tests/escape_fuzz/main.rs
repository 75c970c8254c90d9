//! The escape fuzzer: what it has found stays found, it still finds, and a few of its bodies touch nothing.

use std::sync::Arc;
use std::time::Duration;

use codemode::launch::{Hole, LauncherChoice, LauncherKind};
use codemode_escape::body::Body;
use codemode_escape::configuration::{Configuration, Walls};
use codemode_escape::corpus::{self, Kept};
use codemode_escape::hunt::{Plan, hunt};
use codemode_escape::range::{Find, Range};
use codemode_tests::rig;

/// Of the bodies of the grammar, the part that has to be compiled and run, in percent.
const MUST_RUN: f64 = 80.0;

/// Bodies of each configuration. A campaign runs a hundred thousand.
const A_FEW: u64 = 150;

/// How long the fuzzer may look for a hole that is open.
const MUST_FIND_WITHIN: Duration = Duration::from_secs(300);

fn open(configuration: Configuration) -> Arc<Range> {
    let launcher = match rig::way() {
        LauncherKind::Spawn => LauncherChoice::Spawn,
        LauncherKind::Template => LauncherChoice::Template,
    };
    let range = Range::open(configuration, launcher, None);
    Arc::new(range.unwrap_or_else(|error| panic!("bodies can be tried on this host: {error}")))
}

fn kept(hole: Option<Hole>) -> Vec<Kept> {
    let all = corpus::all(&corpus::folder()).expect("the corpus");
    all.into_iter().map(|(_, kept)| kept).filter(|kept| kept.configuration.reopen == hole).collect()
}

#[test]
fn every_find_reaches_out_where_its_hole_is_open_and_nothing_where_it_is_closed() {
    rig::together(async {
        for hole in [Hole::Import, Hole::Stack] {
            let finds = kept(Some(hole));
            assert!(finds.len() >= 3, "{hole:?}: {}", finds.len());
            let control = open(Configuration { walls: Walls::Realm, reopen: Some(hole) });
            for kept in &finds {
                assert!(control.find(&kept.body).await.is_some(), "the control: {}", kept.origin);
            }
            for walls in Walls::ALL {
                let range = open(Configuration { walls, reopen: None });
                for kept in &finds {
                    assert_eq!(range.find(&kept.body).await, None, "{}: {}", walls.name(), kept.origin);
                }
            }
        }
    });
}

/// Holes of ours that it found and that are closed since: a lost main realm was handed the buffers of the frames.
#[test]
fn what_it_found_is_closed() {
    rig::together(async {
        let finds = kept(None);
        assert!(finds.len() >= 3, "{}", finds.len());
        for kept in &finds {
            let range = open(kept.configuration);
            assert_eq!(range.find(&kept.body).await, None, "{}: {}", kept.configuration.walls.name(), kept.origin);
        }
    });
}

#[test]
fn it_finds_each_hole_that_is_open() {
    rig::together(async {
        for hole in [Hole::Import, Hole::Stack] {
            let range = open(Configuration { walls: Walls::Realm, reopen: Some(hole) });
            let plan = Plan { seed: 11, first: 0, time: MUST_FIND_WITHIN, bodies: u64::MAX, until_found: true };
            let statistics = hunt(range, plan).await;
            println!("{hole:?}: {:?} after {} bodies", statistics.first_find_after, statistics.bodies);
            assert!(!statistics.finds.is_empty(), "{hole:?}: {statistics:?}");
        }
    });
}

#[test]
fn a_few_bodies_of_it_touch_nothing_and_most_of_them_run() {
    rig::together(async {
        for walls in Walls::ALL {
            let range = open(Configuration { walls, reopen: None });
            let plan = Plan { seed: 2, first: 0, time: MUST_FIND_WITHIN, bodies: A_FEW, until_found: false };
            let statistics = hunt(range, plan).await;
            println!("{}: {} bodies, {:.1} % ran", walls.name(), statistics.bodies, statistics.share_that_ran());
            assert_eq!(statistics.bodies, A_FEW, "{statistics:?}");
            assert!(statistics.finds.is_empty() && statistics.unexplained == 0, "{statistics:?}");
            assert!(statistics.share_that_ran() >= MUST_RUN, "{statistics:?}");
        }
    });
}

/// Bodies that do get out, so that a witness which sees nothing would be noticed.
#[test]
fn each_witness_sees() {
    rig::together(async {
        let range = open(Configuration { walls: Walls::Realm, reopen: Some(Hole::Import) });
        let with =
            |end: &str| Body { statements: vec!["try { await import(\"x:y\") } catch (e) { keep(e) }".to_owned()], end: end.to_owned() };
        // With what it has of the main realm a body can say what it likes, or say nothing and touch the file alone.
        let says = with("const e = K[0]; return e.realmMark;");
        assert_eq!(range.find(&says).await, Some(Find::MainRealm));
        let reads = with("const e = K[0]; return e.constructor.constructor('return require')()('fs').readFileSync('$FILE', 'utf8');");
        assert_eq!(range.find(&reads).await, Some(Find::Canary));
        let writes = with("const e = K[0]; e.constructor.constructor('return require')()('fs').writeFileSync('$FILE', 'x'); return 1;");
        assert_eq!(range.find(&writes).await, Some(Find::Witness));
        let dials = with(
            "const b = K[0].constructor.constructor('return process')().binding('tcp_wrap'); new b.TCP(0).connect(new b.TCPConnectWrap(), '127.0.0.1', $TCP); return 1;",
        );
        assert_eq!(range.find(&dials).await, Some(Find::Witness));
        let forges = with("K.splice; keep(K[0]); out(); return 1;");
        assert!(matches!(range.find(&forges).await, Some(Find::Forged | Find::Canary)));
        assert_eq!(range.find(&with("return 1;")).await, None);
    });
}
