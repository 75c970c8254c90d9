//! Callers, each of whom always wants something.

use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};

use crate::figures::Figures;
use crate::mix::{Bodies, Pieces};
use crate::spent::Spent;
use crate::way::Way;

/// What is left out at the start: a pool fits itself to the load, and hostile bodies have their whole clock.
const WARM_UP: Duration = Duration::from_secs(1);

/// What came of it.
#[derive(Clone, Debug, Default)]
pub struct Measured {
    /// What well-behaved runs took, as their callers saw them.
    pub good: Vec<Duration>,
    /// Ends of each caller's runs.
    pub callers: Vec<Ends>,
    /// How long runs were counted.
    pub took: Duration,
    /// Meanwhile.
    pub spent: Spent,
}

/// Ends of one caller's runs.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ends {
    /// Of well-behaved ones.
    pub good: usize,
    /// Of all.
    pub all: usize,
}

impl Measured {
    /// All ends.
    pub fn runs(&self) -> usize {
        self.callers.iter().map(|caller| caller.all).sum()
    }

    /// All ends a second.
    pub fn rate(&self) -> f64 {
        self.runs() as f64 / self.took.as_secs_f64()
    }

    /// Milliseconds of well-behaved runs.
    pub fn milliseconds(&self) -> Figures {
        let mut figures = Figures::default();
        self.good.iter().for_each(|took| figures.add(took.as_secs_f64() * 1e3));
        figures
    }

    /// More of the same, by the same callers.
    pub fn add(&mut self, more: &Measured) {
        self.good.extend_from_slice(&more.good);
        self.callers.resize(more.callers.len(), Ends::default());
        for (caller, more) in self.callers.iter_mut().zip(&more.callers) {
            caller.good += more.good;
            caller.all += more.all;
        }
        self.took += more.took;
        self.spent += more.spent;
    }
}

/// What callers do.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    /// So many of them.
    pub callers: usize,
    /// The well-behaved part.
    pub bodies: Bodies,
    /// Whether there is another.
    pub with_hostile: bool,
}

/// For this long, the `round`th time.
pub async fn measure(way: &Way, load: Load, each: Duration, round: usize) -> Measured {
    let Load { callers, bodies, with_hostile } = load;
    let began = Instant::now() + WARM_UP;
    let end = began + each;
    let mut lanes = JoinSet::new();
    for caller in 0..callers {
        let way = way.clone();
        lanes.spawn(async move {
            let mut pieces = Pieces::of(round * callers + caller, bodies, with_hostile);
            let (mut good, mut ends) = (Vec::new(), Ends::default());
            while Instant::now() < end {
                let (piece, behaves) = pieces.next();
                let start = Instant::now();
                piece.check(&way.run(&piece).await);
                // By their ends: a row of slow runs would else lose those that cross its edge.
                if (began..=end).contains(&Instant::now()) {
                    ends.all += 1;
                    ends.good += usize::from(behaves);
                    good.extend(behaves.then(|| start.elapsed()));
                }
            }
            (good, ends)
        });
    }
    let spent_at = |at| async move {
        sleep_until(at).await;
        Spent::now(way.pid())
    };
    let before = spent_at(began).await;
    let after = spent_at(end).await;
    let mut measured = Measured { took: each, spent: after - before, ..Measured::default() };
    for (good, ends) in lanes.join_all().await {
        measured.good.extend(good);
        measured.callers.push(ends);
    }
    measured
}
